"""What workers do: one partition's rows in, its sums out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaggm.chunks import ChunkLabels
from plaggm.core.binned_variance import row_weights
from plaggm.core.row_hash import empty_sample, row_hash
from plaggm.core.spline_design import SplineDesign
from plaggm.core.variance_function import VarianceFunction
from plaggm.data import join_confounders, new_confounder, variable_names
from plaggm.distributed.faults import naming_partition
from plaggm.distributed.partitions import ColumnNames, open_piece
from plaggm.estimators.row_sums import RowSums
from plaggm.estimators.stream import Stream
from plaggm.estimators.streaming_methods import REMEMBERED

Array = NDArray[np.float64]
Index = NDArray[np.integer[Any]]

# A worker runs as many tasks at once as it has threads: each keeps to its own.
THREADS = 1


@dataclass(frozen=True, slots=True)
class PartitionLabels:
    """Confounders and groups of one partition.

    Attributes
    ----------
    chunks : tuple of ChunkLabels
    """

    chunks: tuple[ChunkLabels, ...]

    @property
    def n(self) -> int:
        """Rows."""
        return sum(chunk.n for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be summed, the same for all partitions.

    Attributes
    ----------
    estimator : PLAGGM
        Unfitted.
    columns : ColumnNames
    names : tuple of str
        Of the variables.
    design : SplineDesign
    streamed : bool
        Whether rows are divided as ``partial_fit`` divides them, rather than by given labels.
    grouped : bool
    variance : VarianceFunction, optional
        Under which rows are weighted.
    """

    estimator: Any
    columns: ColumnNames
    names: tuple[str, ...]
    design: SplineDesign
    streamed: bool
    grouped: bool
    variance: VarianceFunction | None = None

    def nothing(self) -> Stream:
        """No rows yet."""
        sums = RowSums(self.design, self.names, THREADS)
        return Stream(sums, empty_sample(self.design.m, REMEMBERED), self.streamed and self.grouped)


def read_labels(piece: Any, columns: ColumnNames, where: str) -> PartitionLabels:
    """Confounders and groups of a piece."""
    with naming_partition(where):
        return PartitionLabels(tuple(open_piece(piece, columns).labels()))


def count_rows(piece: Any, columns: ColumnNames, where: str) -> int:
    """Rows of a piece."""
    return read_labels(piece, columns, where).n


def read_head(piece: Any, columns: ColumnNames, where: str) -> Any:
    """The first row of a piece, for names and kinds of its columns; None of an empty one."""
    with naming_partition(where):
        first = next(iter(open_piece(piece, columns, chunk_rows=1).rows()), None)
        return None if first is None else first.x[:1]


def take_rows(
    piece: Any, columns: ColumnNames, where: str, numbers: Index, start: int, estimator: Any
) -> Array:
    """Variables of some rows of a piece, all of which are checked.

    Parameters
    ----------
    piece : path, DataFrame or tuple of arrays
    columns : ColumnNames
    where : str
        Name of the partition.
    numbers : ndarray of int
        Of the rows in the piece, increasing.
    start : int
        Number of the piece's first row.
    estimator : PLAGGM
        Unfitted.

    Returns
    -------
    ndarray of shape (len(numbers), p)
    """
    from sklearn.base import clone

    model = clone(estimator)
    found, done = [], 0
    with naming_partition(where):
        for chunk in open_piece(piece, columns).rows():
            x = model._validate_x(chunk.x, reset=not done, fewest=1, first_row=start + done)
            inside = numbers[(numbers >= done) & (numbers < done + len(x))] - done
            found.append(x[inside])
            done += len(x)
    return np.concatenate(found)


def sample_confounder(
    piece: Any, columns: ColumnNames, where: str, start: int, part: float
) -> tuple[Array, Array, Array] | None:
    """A random part of a piece's confounders, with the smallest and the largest values.

    Parameters
    ----------
    piece : path, DataFrame or tuple of arrays
    columns : ColumnNames
    where : str
        Name of the partition.
    start : int
        Number of the first row: rows are drawn by their numbers.
    part : float
        Share of the rows to draw.

    Returns
    -------
    values : ndarray of shape (k, m)
    low, high : ndarray of shape (m,)
    """
    with naming_partition(where):
        chunks = list(open_piece(piece, columns).labels())
        if not chunks:
            return None
        rows = [chunk.n for chunk in chunks]
        values = join_confounders([chunk.confounder for chunk in chunks], rows).values
        drawn = values
        if part < 1.0:
            drawn = values[row_hash(start, len(values)) < np.uint64(part * 2.0**64)]
        return drawn, values.min(axis=0), values.max(axis=0)


def sum_piece(piece: Any, labels: Index | None, start: int, task: Task, where: str) -> Stream:
    """Statistics of one partition.

    Parameters
    ----------
    piece : path, DataFrame or tuple of arrays
    labels : ndarray of int of shape (n,), optional
        Set of every row; told by the estimator where the task is streamed.
    start : int
        Number of the first row.
    task : Task
    where : str
        Name of the partition.

    Returns
    -------
    Stream
    """
    from sklearn.base import clone

    stream = task.nothing()
    design, sums = task.design, stream.sums
    with naming_partition(where):
        model = clone(task.estimator)
        done = 0
        for chunk in open_piece(piece, task.columns).rows():
            x = model._validate_x(chunk.x, reset=not done, fewest=1, first_row=start + done)
            _check_names(variable_names(chunk.x, x.shape[1]), task.names)
            values = np.zeros((len(x), 0))
            if design.m:
                values = new_confounder(chunk.confounder, design.names, chunk.x, len(x))
                model._check_range(values, design)
            parts = None if labels is None else labels[done : done + len(x)].astype(np.intp)
            if task.streamed:
                numbers = stream.numbers(chunk.groups, len(x)) if task.grouped else None
                parts = model._stream_parts(start + done, len(x), numbers)
                stream.sample = stream.sample.extended(start + done, values)
            weights = None if task.variance is None else row_weights(design, task.variance, values)
            sums.add(x, values, parts, weights)
            done += len(x)
    return stream


def join_sums(streams: Sequence[Stream], task: Task) -> Stream:
    """Sums of several sets of rows, added in order; none of them is changed."""
    total = task.nothing()
    for stream in streams:
        if stream.sums.n:
            total.absorb(stream)
    return total


def _check_names(found: tuple[str, ...], expected: tuple[str, ...]) -> None:
    if found != expected:
        odd = sorted(set(found) ^ set(expected))
        raise ValueError(
            f"Its variables differ from those of the first partition, or stand in another order: "
            f"{odd or 'same names'}. Name them: variables=[...]."
        )
