"""Tables that are read piece by piece, because they need not fit into memory.

A source of chunks can be read any number of times. It is made by :func:`as_chunks` from a file (CSV or
Parquet), from a folder of Parquet files, or from anything that can be iterated over again.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from plaggm.arguments import check_count
from plaggm.read_errors import path_problem, reason_in_words
from plaggm.tables.names import ROW_LABELS, TableError, checked_names
from plaggm.wording import listed, shown

CHUNK_ROWS = 65_536
# ColumnNames that a message lists.
SHOWN = 8

_TEXT = (".csv", ".tsv", ".txt")
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
# Bytes of each Parquet column that are read at a time.
BUFFER = 65_536
# What pandas says of a row with too many values.
TOO_LONG = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a table.

    Attributes
    ----------
    x : array or DataFrame of shape (n, p)
    confounder : array, Series or DataFrame of shape (n,) or (n, m), or None
    groups : array or Series of shape (n,), or None
    """

    x: Any
    confounder: Any
    groups: Any


@dataclass(frozen=True, slots=True)
class ChunkLabels:
    """What can be known of some rows without their variables.

    Attributes
    ----------
    n : int
        Rows.
    p : int
        Variables.
    confounder, groups
        As in :class:`Chunk`.
    """

    n: int
    p: int
    confounder: Any
    groups: Any


class RowChunks(Protocol):
    """A table that can be read again and again, always in the same order."""

    def rows(self) -> Iterator[Chunk]:
        """All rows."""
        ...

    def labels(self) -> Iterator[ChunkLabels]:
        """Confounders and groups of all rows; variables are not read where that can be avoided."""
        ...


def as_chunks(
    data: Any,
    *,
    confounder: Any = None,
    variables: Sequence[str] | None = None,
    groups: str | None = None,
    chunk_rows: int = CHUNK_ROWS,
) -> RowChunks:
    """A source of chunks from a path, or from something that yields chunks.

    Parameters
    ----------
    data : path, iterable or callable
        A CSV file (``.csv``; ``.tsv`` and ``.txt`` with tabs; also compressed), a Parquet file or a folder
        of Parquet files, read in the order of their names; or an iterable, or a function that returns
        one, of chunks. A chunk is a DataFrame, or ``(X, confounder)``, or ``(X, confounder, groups)``.
    confounder : str or list of str, optional
        ColumnNames of the file or of the DataFrames that hold the confounders.
    variables : list of str, optional
        ColumnNames of the variables; all others when absent, but for a first column without a name.
    groups : str, optional
        Column that names the group of every row.
    chunk_rows : int, default=65536
        Rows of a file that are held at a time.

    Returns
    -------
    RowChunks

    Examples
    --------
    >>> halves = [(np.zeros((2, 3)), np.zeros(2)), (np.ones((1, 3)), np.ones(1))]
    >>> [chunk.n for chunk in as_chunks(halves).labels()]
    [2, 1]
    """
    check_count("chunk_rows", chunk_rows, 1)
    names = named_columns(confounder, variables, groups)
    if isinstance(data, str | os.PathLike):
        return _file_chunks(Path(data), names, int(chunk_rows))
    if isinstance(data, np.ndarray | pd.DataFrame | pd.Series):
        raise ValueError(
            f"fit_chunks takes a path or an iterable of chunks, not one {type(data).__name__}. Use fit for "
            "a table in memory."
        )
    if callable(data):
        return GivenChunks(data, names)
    if not isinstance(data, Iterable):
        raise ValueError(f"fit_chunks takes a path or an iterable of chunks; got {type(data)}.")
    if isinstance(data, Iterator):
        raise ValueError(
            "The data are read more than once, but a generator can be read only once. Pass a list of "
            "chunks, a path, or the function that makes the generator: fit_chunks(make_chunks) instead "
            "of fit_chunks(make_chunks())."
        )
    return GivenChunks(lambda: data, names)


def named_columns(confounder: Any, variables: Any, groups: Any) -> ColumnNames:
    """Check the names of columns that a caller gave.

    Parameters
    ----------
    confounder : str, list of str or None
    variables : list of str or None
    groups : str or None

    Returns
    -------
    ColumnNames
    """
    if isinstance(variables, str):
        raise ValueError(f"variables must be a list of column names; got {shown(variables)}.")
    if groups is not None and not isinstance(groups, str):
        raise ValueError(
            "With chunks, groups is the name of a column; labels go into the chunks themselves, as "
            f"(X, confounder, groups). Got {shown(groups)}."
        )
    confounders = _names(confounder)
    if confounders is None:
        raise ValueError(
            "With chunks, confounder is the name of a column or a list of such names; values go into the "
            f"chunks themselves, as (X, confounder). Got {shown(confounder)}."
        )
    found = None if variables is None else _names(variables)
    if found is None and variables is not None:
        raise ValueError(f"variables must be a list of column names; got {shown(variables)}.")
    return ColumnNames(confounders, found, groups)


def _names(given: Any) -> tuple[str, ...] | None:
    """One name or several as a tuple, empty for None; None for what holds no names."""
    if given is None:
        return ()
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable) or not all(isinstance(name, str) for name in given):
        return None
    return tuple(given)


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Which column is what.

    Attributes
    ----------
    confounder : tuple of str
    variables : tuple of str, optional
        All others when absent.
    groups : str, optional
    """

    confounder: tuple[str, ...]
    variables: tuple[str, ...] | None
    groups: str | None

    @property
    def given(self) -> bool:
        """Whether any column was named."""
        return bool(self.confounder or self.variables or self.groups)

    def settled(self, present: Sequence[str], where: str) -> ColumnNames:
        """The same with the variables named, all columns checked to be there."""
        special = (*self.confounder, *(() if self.groups is None else (self.groups,)))
        wanted = (*special, *(self.variables or ()))
        missing = [name for name in wanted if name not in set(present)]
        if missing:
            raise ValueError(
                f"{where} has no column {_quoted(missing)}. Its columns are {_quoted(present)}."
            )
        both = [name for name in self.variables or () if name in special]
        if both:
            raise ValueError(
                f"Column {_quoted(both)} is named as a variable and as confounder or groups."
            )
        if self.variables is not None:
            return self
        rest = present[1:] if present and present[0] == ROW_LABELS else present
        variables = tuple(name for name in rest if name not in special)
        return ColumnNames(self.confounder, variables, self.groups)

    def split(self, frame: pd.DataFrame) -> Chunk:
        """A frame's columns by what they are."""
        return Chunk(
            frame[list(self.variables or ())],
            frame[list(self.confounder)] if self.confounder else None,
            None if self.groups is None else frame[self.groups],
        )


@dataclass(frozen=True, slots=True)
class GivenChunks:
    """Chunks that someone else makes.

    Attributes
    ----------
    make : callable
        Returns an iterable of chunks, every time anew.
    columns : ColumnNames
    """

    make: Callable[[], Iterable[Any]]
    columns: ColumnNames

    def rows(self) -> Iterator[Chunk]:
        """See :class:`RowChunks`."""
        for number, piece in enumerate(self.make()):
            chunk = self._chunk(piece, number)
            if len(chunk.x):
                yield chunk

    def labels(self) -> Iterator[ChunkLabels]:
        """See :class:`RowChunks`."""
        for chunk in self.rows():
            n, p = np.shape(chunk.x)
            yield ChunkLabels(n, p, chunk.confounder, chunk.groups)

    def _chunk(self, piece: Any, number: int) -> Chunk:
        if isinstance(piece, tuple | list):
            if self.columns.given:
                raise ValueError(
                    f"Chunk {number} holds its own confounder, so that columns cannot be named as well. "
                    "Leave confounder=, variables= and groups= out, or yield DataFrames."
                )
            if len(piece) not in (2, 3):
                raise ValueError(
                    f"Chunk {number} must be (X, confounder) or (X, confounder, groups); got "
                    f"{len(piece)} parts."
                )
            chunk = Chunk(piece[0], piece[1], piece[2] if len(piece) == 3 else None)
        elif isinstance(piece, pd.DataFrame):
            present = [str(name) for name in piece.columns]
            frame = piece.set_axis(present, axis=1)
            chunk = self.columns.settled(present, f"Chunk {number}").split(frame)
        elif self.columns.given:
            raise ValueError(
                f"Chunk {number} has no column names ({type(piece).__name__}); yield DataFrames, or "
                "(X, confounder)."
            )
        else:
            chunk = Chunk(piece, None, None)
        try:
            shape: Any = np.shape(chunk.x)
        except ValueError:
            shape = "rows of different lengths"
        if isinstance(shape, str) or len(shape) != 2:
            found = shape if isinstance(shape, str) else f"shape {shape}"
            raise ValueError(f"X of chunk {number} must have rows and columns; got {found}.")
        return chunk


@dataclass(frozen=True, slots=True)
class FileChunks:
    """Files with the same columns, read one after the other.

    Attributes
    ----------
    paths : tuple of Path
    columns : ColumnNames
        Settled.
    read : callable
        Yields DataFrames of some columns of a path; its last argument says whether every column of the
        file is to be read, so that rows with too many values are noticed.
    """

    paths: tuple[Path, ...]
    columns: ColumnNames
    read: Callable[[Path, list[str], bool], Iterator[pd.DataFrame]]

    def rows(self) -> Iterator[Chunk]:
        """See :class:`RowChunks`."""
        columns = self.columns
        wanted = [*(columns.variables or ()), *columns.confounder]
        if columns.groups is not None:
            wanted.append(columns.groups)
        for path in self.paths:
            for frame in self.read(path, wanted, True):
                yield columns.split(frame)

    def labels(self) -> Iterator[ChunkLabels]:
        """See :class:`RowChunks`."""
        columns = self.columns
        p = len(columns.variables or ())
        wanted = list(columns.confounder)
        if columns.groups is not None:
            wanted.append(columns.groups)
        # Rows can only be counted in some column.
        some = wanted or list(columns.variables or ())[:1]
        for path in self.paths:
            for frame in self.read(path, some, False):
                chunk = ColumnNames(columns.confounder, (), columns.groups).split(frame)
                yield ChunkLabels(len(frame), p, chunk.confounder, chunk.groups)


def _file_chunks(path: Path, columns: ColumnNames, chunk_rows: int) -> FileChunks:
    if problem := path_problem(path):
        raise ValueError(f"Cannot read {path} ({problem}).")
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    if path.is_dir():
        paths = tuple(sorted(path.glob("*.parquet")))
        if not paths:
            raise ValueError(f"The folder {path} holds no .parquet file.")
        return _parquet_chunks(paths, columns, chunk_rows)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    kind = suffixes[-1] if suffixes else ""
    if kind == ".parquet":
        return _parquet_chunks((path,), columns, chunk_rows)
    if kind not in _TEXT:
        raise ValueError(
            f"{path.name} is neither CSV (.csv, .tsv, .txt) nor Parquet (.parquet); its kind is told by "
            "the end of its name."
        )
    return _text_chunks(path, columns, chunk_rows, "," if kind == ".csv" else "\t")


def _text_chunks(path: Path, columns: ColumnNames, chunk_rows: int, separator: str) -> FileChunks:
    layout: dict[str, Any] = dict(sep=separator, encoding="utf-8-sig", skipinitialspace=True)
    with _reading(path):
        first = pd.read_csv(
            path, header=None, nrows=1, dtype=str, keep_default_na=False, **layout
        ).iloc[0]
    present = checked_names([name.strip() for name in first], path)

    def read(path: Path, wanted: list[str], every_column: bool) -> Iterator[pd.DataFrame]:
        with _reading(path):
            reader = pd.read_csv(
                path,
                header=0,
                names=present,
                index_col=False,
                usecols=None if every_column else wanted,
                chunksize=chunk_rows,
                **layout,
            )
        with reader:
            for frame in _each(path, reader):
                yield frame[wanted]

    return FileChunks((path,), columns.settled(present, path.name), read)


def _parquet_chunks(paths: tuple[Path, ...], columns: ColumnNames, chunk_rows: int) -> FileChunks:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("Reading Parquet needs pyarrow: pip install 'plaggm[parquet]'") from error

    def read(path: Path, wanted: list[str], every_column: bool) -> Iterator[pd.DataFrame]:
        with _reading(path):
            # ColumnNames are streamed: read ahead, or whole, a group of rows would be held in memory.
            file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER)
        with file:
            batches = file.iter_batches(batch_size=chunk_rows, columns=wanted)
            # What pandas noted beside the columns is of no use here: an index is a column.
            plain = (batch.replace_schema_metadata(None).to_pandas() for batch in batches)
            yield from _each(path, plain)

    settled = [columns.settled(_parquet_columns(path), path.name) for path in paths]
    for path, found in zip(paths, settled, strict=True):
        if set(found.variables or ()) != set(settled[0].variables or ()):
            odd = sorted(set(found.variables or ()) ^ set(settled[0].variables or ()))
            raise ValueError(
                f"{path.name} and {paths[0].name} have different columns: {_quoted(odd)} is in one of them "
                "only. Name the variables that all files have: variables=[...]."
            )
    return FileChunks(paths, settled[0], read)


def _parquet_columns(path: Path) -> list[str]:
    from pyarrow import parquet

    with _reading(path):
        names = parquet.read_schema(path).names
    # Row labels that pandas stored beside the columns.
    return checked_names([name for name in names if not name.startswith("__index_level_")], path)


def _each(path: Path, pieces: Iterator[Any]) -> Iterator[Any]:
    """Pieces of a file; what is wrong with it may show at any of them."""
    while True:
        with _reading(path):
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Say what is wrong with a file that cannot be read, in words about the file."""
    try:
        with warnings.catch_warnings():
            # A first row that is too long is only worth a warning to pandas.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except pd.errors.EmptyDataError as error:
        raise TableError(f"{path} is empty.") from error
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        found = TOO_LONG.search(str(error))
        if found is not None:
            reason = f"line {found[2]} has {found[3]} values, and there are {found[1]} names"
        elif isinstance(error, pd.errors.ParserWarning):
            reason = "its first row has more values than there are names"
        else:
            reason = "a quote is opened in it and never closed"
        raise TableError(f"{path} cannot be read ({reason}).") from error
    except Exception as error:
        # Damage shows itself in any of the readers below, in errors of many kinds.
        raise TableError(f"{path} cannot be read ({reason_in_words(error)}).") from error


def _quoted(names: Iterable[str]) -> str:
    return listed(map(repr, names), SHOWN)
