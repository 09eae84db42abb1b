"""Sources of chunks from anything that yields them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plaggm.arguments import check_count
from plaggm.chunks.columns import Chunk, ChunkLabels, ColumnNames, RowChunks, named_columns
from plaggm.chunks.files import file_chunks

CHUNK_ROWS = 65_536


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
        A text table (``.csv``, ``.tsv``, ``.tab`` or ``.txt``, separated by comma, semicolon or tab; also
        compressed), a Parquet file or a folder of Parquet files, read in the order of their names; or an
        iterable, or a function that returns one, of chunks. A chunk is a DataFrame, or
        ``(X, confounder)``, or ``(X, confounder, groups)``.
    confounder : str or list of str, optional
        Columns of the file or of the DataFrames that hold the confounders.
    variables : list of str, optional
        Columns of the variables; by default all others, except a first column without name.
    groups : str, optional
        Column that names the group of every row.
    chunk_rows : int, default=65536
        Rows of a file that are held in memory at a time.

    Examples
    --------
    >>> halves = [(np.zeros((2, 3)), np.zeros(2)), (np.ones((1, 3)), np.ones(1))]
    >>> [chunk.n for chunk in as_chunks(halves).labels()]
    [2, 1]
    """
    check_count("chunk_rows", chunk_rows, 1)
    names = named_columns(confounder, variables, groups)
    if isinstance(data, str | os.PathLike):
        return file_chunks(Path(data), names, int(chunk_rows))
    if isinstance(data, np.ndarray | pd.DataFrame | pd.Series):
        raise ValueError(
            f"fit_chunks takes a path or an iterable of chunks, not one {type(data).__name__}. Use fit for "
            "a table in memory."
        )
    if callable(data):
        return GivenChunks(data, names)
    if not isinstance(data, Iterable):
        raise ValueError(
            f"fit_chunks takes a path or an iterable of chunks; got {type(data).__name__}."
        )
    if isinstance(data, Iterator):
        raise ValueError(
            "The data are read more than once, but a generator can be read only once. Pass a list of "
            "chunks, a path, or the function that makes the generator: fit_chunks(make_chunks) instead "
            "of fit_chunks(make_chunks())."
        )
    return GivenChunks(lambda: data, names)


@dataclass(frozen=True, slots=True)
class GivenChunks:
    """Chunks from an iterable or a callable of the user.

    Attributes
    ----------
    make : callable
        Returns a new iterable of chunks.
    columns : ColumnNames
    """

    make: Callable[[], Iterable[Any]]
    columns: ColumnNames

    def rows(self) -> Iterator[Chunk]:
        """See :class:`RowChunks`."""
        for number, given in enumerate(self.make()):
            chunk = self._chunk(given, number)
            if len(chunk.x):
                yield chunk

    def labels(self) -> Iterator[ChunkLabels]:
        """See :class:`RowChunks`."""
        for chunk in self.rows():
            n, p = np.shape(chunk.x)
            yield ChunkLabels(n, p, chunk.confounder, chunk.groups)

    def _chunk(self, given: Any, number: int) -> Chunk:
        if isinstance(given, tuple | list):
            if self.columns.given:
                raise ValueError(
                    f"Chunk {number} holds its own confounder, so that columns cannot be named as well. "
                    "Leave confounder=, variables= and groups= out, or yield DataFrames."
                )
            if len(given) not in (2, 3):
                raise ValueError(
                    f"Chunk {number} must be (X, confounder) or (X, confounder, groups); got "
                    f"{len(given)} parts."
                )
            chunk = Chunk(given[0], given[1], given[2] if len(given) == 3 else None)
        elif isinstance(given, pd.DataFrame):
            present = [str(name) for name in given.columns]
            frame = given.set_axis(present, axis=1)
            chunk = self.columns.settled(present, f"Chunk {number}").split(frame)
        elif self.columns.given:
            raise ValueError(
                f"Chunk {number} has no column names ({type(given).__name__}); yield DataFrames, or "
                "(X, confounder)."
            )
        else:
            chunk = Chunk(given, None, None)
        try:
            shape: Any = np.shape(chunk.x)
        except ValueError:
            shape = "rows of different lengths"
        if isinstance(shape, str) or len(shape) != 2:
            found = shape if isinstance(shape, str) else f"shape {shape}"
            raise ValueError(f"X of chunk {number} must have rows and columns; got {found}.")
        return chunk
