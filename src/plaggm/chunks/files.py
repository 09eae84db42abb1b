"""Chunks of CSV and Parquet files."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from plaggm.chunks.columns import Chunk, ChunkLabels, ColumnNames, quoted
from plaggm.read_errors import path_problem, reason_in_words
from plaggm.tables.names import MORE_MISSING, TableError, arrow_names, checked_names
from plaggm.tables.text import decimal_mark, delimiter_of

_TEXT = (".csv", ".tsv", ".tab", ".txt")
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
# A delimiter that no text holds, by which whole lines are read.
NO_DELIMITER = "\x1f"
# Bytes of each Parquet column that are read at a time.
BUFFER = 65_536
# Message of pandas about a row with too many values.
TOO_LONG = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")


@dataclass(frozen=True, slots=True)
class FileChunks:
    """Files with the same columns, read one after the other.

    Attributes
    ----------
    paths : tuple of Path
    columns : ColumnNames
        Roles of the columns, with explicit names of the variables.
    read : callable
        Yields DataFrames of some columns of a path. If its last argument is True, every column of the file
        is read, so that rows with too many values raise an error.
    """

    paths: tuple[Path, ...]
    columns: ColumnNames
    read: Callable[[Path, list[str], bool], Iterator[pd.DataFrame]]

    def rows(self) -> Iterator[Chunk]:
        """See :class:`RowChunks`."""
        columns = self.columns
        wanted = [*(columns.variables or ()), *columns.labels]
        for path in self.paths:
            for frame in self.read(path, wanted, True):
                yield columns.split(frame)

    def labels(self) -> Iterator[ChunkLabels]:
        """See :class:`RowChunks`."""
        columns = self.columns
        p = len(columns.variables or ())
        # At least one column is needed to count rows.
        some = list(columns.labels or (columns.variables or ())[:1])
        for path in self.paths:
            for frame in self.read(path, some, False):
                chunk = ColumnNames(columns.confounder, (), columns.groups).split(frame)
                yield ChunkLabels(len(frame), p, chunk.confounder, chunk.groups)


def file_chunks(path: Path, columns: ColumnNames, chunk_rows: int) -> FileChunks:
    """A source of chunks from a CSV file, a Parquet file or a folder of Parquet files."""
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
            f"{path.name} is neither CSV (.csv, .tsv, .tab, .txt) nor Parquet (.parquet), to judge by its "
            "file extension."
        )
    return _text_chunks(path, columns, chunk_rows, kind)


def _text_chunks(path: Path, columns: ColumnNames, chunk_rows: int, extension: str) -> FileChunks:
    first_line, second_line = _first_lines(path)
    delimiter = delimiter_of(extension, first_line)
    fields = next(csv.reader([second_line], delimiter=delimiter), [])
    layout: dict[str, Any] = dict(sep=delimiter, encoding="utf-8-sig", skipinitialspace=True)
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
                na_values=list(MORE_MISSING),
                decimal=decimal_mark(delimiter, fields),
                **layout,
            )
        with reader:
            for frame in _each(path, reader):
                yield frame[wanted]

    return FileChunks((path,), columns.settled(present, path.name), read)


def _first_lines(path: Path) -> tuple[str, str]:
    """The first two lines of a text file that are not blank; empty where there are fewer."""
    with _reading(path):
        lines = pd.read_csv(
            path,
            header=None,
            nrows=2,
            dtype=str,
            keep_default_na=False,
            sep=NO_DELIMITER,
            quoting=csv.QUOTE_NONE,
            encoding="utf-8-sig",
        )
    first, second = [*lines[0], ""][:2]
    return str(first), str(second)


def _parquet_chunks(paths: tuple[Path, ...], columns: ColumnNames, chunk_rows: int) -> FileChunks:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("Reading Parquet needs pyarrow: pip install 'plaggm[parquet]'") from error

    def read(path: Path, wanted: list[str], every_column: bool) -> Iterator[pd.DataFrame]:
        with _reading(path):
            # Columns are read through a buffer; otherwise whole row groups would be held in memory.
            file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER)
        with file:
            batches = file.iter_batches(batch_size=chunk_rows, columns=wanted)
            # Without the metadata of pandas, an index is a column like any other.
            plain = (batch.replace_schema_metadata(None).to_pandas() for batch in batches)
            yield from _each(path, plain)

    settled = [columns.settled(_parquet_columns(path), path.name) for path in paths]
    for path, found in zip(paths, settled, strict=True):
        if set(found.variables or ()) != set(settled[0].variables or ()):
            odd = sorted(set(found.variables or ()) ^ set(settled[0].variables or ()))
            raise ValueError(
                f"{path.name} and {paths[0].name} have different columns: {quoted(odd)} is in one of them "
                "only. Name the variables that all files have: variables=[...]."
            )
    return FileChunks(paths, settled[0], read)


def _parquet_columns(path: Path) -> list[str]:
    from pyarrow import parquet

    with _reading(path):
        names = parquet.read_schema(path).names
    return arrow_names(names, path)


def _each(path: Path, chunks: Iterator[Any]) -> Iterator[Any]:
    """Yield chunks of a file, turning errors into messages about the file."""
    while True:
        with _reading(path):
            chunk = next(chunks, None)
        if chunk is None:
            return
        yield chunk


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn errors of a file that cannot be read into messages about the file."""
    try:
        with warnings.catch_warnings():
            # pandas only warns about a first row with too many values.
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
        # Damaged files cause errors of many kinds in the readers.
        raise TableError(f"{path} cannot be read ({reason_in_words(error)}).") from error
