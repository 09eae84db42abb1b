"""Sums over the rows of one partition, computed by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from plaggm.array_types import Array, Index
from plaggm.chunks import ChunkLabels, ColumnNames
from plaggm.core.numerics.row_hash import row_hash
from plaggm.core.spline.design import SplineDesign
from plaggm.core.variance.binned import row_weights
from plaggm.core.variance.variance_function import VarianceFunction
from plaggm.data import column_numbers, join_frames, variable_names
from plaggm.distributed.faults import naming_partition
from plaggm.distributed.partitions import open_partition
from plaggm.estimators.columns import Columns
from plaggm.estimators.stream import Stream, chunk_confounder

# Subset of every row, in the narrowest integer type, in which it is sent to the workers.
Subsets: TypeAlias = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Task:
    """Specification of the sums, the same for all partitions.

    Attributes
    ----------
    source : ColumnNames
        Roles of the columns of the partitions.
    empty : Stream
        A stream without rows.
    streamed : bool
        Whether rows are divided as by ``partial_fit``, rather than by given labels.
    variance : VarianceFunction, optional
        Variance function by which rows are weighted.
    """

    source: ColumnNames
    empty: Stream
    streamed: bool
    variance: VarianceFunction | None = None

    @property
    def design(self) -> SplineDesign:
        """The design of the sums."""
        return self.empty.sums.design

    def new_stream(self) -> Stream:
        """A new stream without rows."""
        return deepcopy(self.empty)


def read_labels(partition: Any, columns: ColumnNames, where: str) -> list[ChunkLabels]:
    """Confounders and groups of a partition, chunk by chunk."""
    with naming_partition(where):
        return list(open_partition(partition, columns).labels())


def count_rows(partition: Any, columns: ColumnNames, where: str) -> int:
    """Number of rows of a partition."""
    return sum(chunk.n for chunk in read_labels(partition, columns, where))


def read_head(partition: Any, columns: ColumnNames, where: str) -> Any:
    """The first row of a partition, for names and types of its columns; None if it is empty."""
    with naming_partition(where):
        first = next(iter(open_partition(partition, columns, chunk_rows=1).rows()), None)
        return None if first is None else first.x[:1]


def take_rows(
    partition: Any, source: ColumnNames, where: str, numbers: Index, start: int, columns: Columns
) -> Array:
    """Variables of some rows of a partition, after validating all of its rows.

    Parameters
    ----------
    partition : path, DataFrame or tuple of arrays
    source : ColumnNames
    where : str
        Name of the partition.
    numbers : ndarray of int
        Numbers of the wanted rows within the partition, increasing.
    start : int
        Number of the partition's first row.
    columns : Columns
        The variables.

    Returns
    -------
    ndarray of shape (len(numbers), p)
    """
    found, done = [], 0
    with naming_partition(where):
        for chunk in open_partition(partition, source).rows():
            x = columns.values(chunk.x, start + done)
            inside = numbers[(numbers >= done) & (numbers < done + len(x))] - done
            found.append(x[inside])
            done += len(x)
    return np.concatenate(found)


def sample_confounder(
    partition: Any,
    columns: ColumnNames,
    where: str,
    start: int,
    share: float,
) -> tuple[pd.DataFrame, Array, Array] | None:
    """A random sample of a partition's confounders, and their smallest and largest values.

    Parameters
    ----------
    partition : path, DataFrame or tuple of arrays
    columns : ColumnNames
    where : str
        Name of the partition.
    start : int
        Number of the first row, on which the sample depends.
    share : float
        Share of the rows to draw.

    Returns
    -------
    values : DataFrame of shape (k, m)
    low, high : ndarray of shape (m,)
        NaN for text.
    """
    with naming_partition(where):
        chunks = read_labels(partition, columns, where)
        if not chunks:
            return None
        rows = [chunk.n for chunk in chunks]
        frame = join_frames([chunk.confounder for chunk in chunks], rows)
        drawn = frame
        if share < 1.0:
            drawn = frame[row_hash(start, len(frame)) < np.uint64(share * 2.0**64)]
        # Whether a column is a factor is decided from all partitions together; text has no range.
        numbers = np.column_stack([column_numbers(frame[name]) for name in frame])
        ends = (np.fmin.reduce(numbers), np.fmax.reduce(numbers))
        return drawn, *ends


def sum_partition(
    partition: Any, subsets: Subsets | None, start: int, task: Task, where: str
) -> Stream:
    """Statistics of one partition.

    Parameters
    ----------
    partition : path, DataFrame or tuple of arrays
    subsets : ndarray of int of shape (n,), optional
        Subset of every row; only if the task is not streamed.
    start : int
        Number of the first row.
    task : Task
    where : str
        Name of the partition.
    """
    stream, design = task.new_stream(), task.design
    with naming_partition(where):
        done = 0
        for chunk in open_partition(partition, task.source).rows():
            columns, first = stream.columns, start + done
            _check_names(variable_names(chunk.x, np.shape(chunk.x)[1]), columns.names)
            x = columns.values(chunk.x, first)
            values = chunk_confounder(design, chunk.x, chunk.confounder, len(x))
            if task.streamed:
                stream.add(x, values, chunk.groups if stream.grouped else None, first)
            else:
                own = None if subsets is None else subsets[done : done + len(x)].astype(np.intp)
                weights = None
                if task.variance is not None:
                    weights = row_weights(design, task.variance, values)
                stream.sums.add(x, values, own, weights)
            done += len(x)
    return stream


def join_sums(streams: Sequence[Stream], task: Task) -> Stream:
    """The sum of several streams, added in order; none of them is changed."""
    total = task.new_stream()
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
