"""Rows distributed over many machines, of which workers send only sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.chunks import ColumnNames
from plaggm.core.numerics.row_hash import empty_sample
from plaggm.core.spline.design import SplineDesign
from plaggm.core.variance.variance_function import VarianceFunction
from plaggm.distributed.checkpoint import FORMAT_VERSION, Checkpoint
from plaggm.distributed.faults import partition_key
from plaggm.distributed.partition_sums import (
    Subsets,
    Task,
    count_rows,
    read_head,
    read_labels,
    take_rows,
)
from plaggm.distributed.partitions import Partitions
from plaggm.distributed.reduction import gather, sum_partitions
from plaggm.estimators.chunk_rows import join_labels
from plaggm.estimators.columns import Columns, read_columns
from plaggm.estimators.row_sums import RowSums
from plaggm.estimators.rows import RowLabels
from plaggm.estimators.spec import FitSpec
from plaggm.estimators.stream import Stream, need_one_pass
from plaggm.resume import Store, digest

# Threads of each task: a worker runs one task on each of its threads.
THREADS = 1


@dataclass(frozen=True, slots=True)
class ClusterRows:
    """Rows of the partitions of a table; see `plaggm.estimators.rows.Rows`.

    Attributes
    ----------
    partitions : Partitions
    columns : Columns
        The variables.
    starts : list of int
        Number of the first row of every partition, and number of all rows.
    client : distributed.Client or None
        Client of the cluster; by default Dask's default scheduler.
    checkpoint : path, optional
        Folder in which finished sums are stored.
    known : RowLabels, optional
        Confounders and groups of all rows, if they were gathered at the client.
    """

    partitions: Partitions
    columns: Columns
    starts: list[int]
    client: Any
    checkpoint: str | Path | None = None
    known: RowLabels | None = None

    @property
    def complete(self) -> bool:
        """True: missing cells are refused."""
        return True

    @property
    def labels(self) -> RowLabels:
        """Confounders and groups of all rows; raises ValueError if they were not gathered."""
        if self.known is None:
            raise ValueError("Confounders and groups were not gathered from the workers.")
        return self.known

    def take(self, index: Index) -> Array:
        """Variables of some rows, which workers send to the client."""
        from dask import delayed

        ends = np.searchsorted(index, self.starts)
        tasks = []
        for place, (partition, name) in enumerate(
            zip(self.partitions.tables, self.partitions.names, strict=True)
        ):
            first = self.starts[place]
            numbers = index[ends[place] : ends[place + 1]] - first
            if len(numbers):
                settings = (self.partitions.columns, name, numbers, first, self.columns)
                key = partition_key(place)
                tasks.append(
                    delayed(take_rows, pure=False)(partition, *settings, dask_key_name=key)
                )
        return np.concatenate(gather(tasks, self.client, self.partitions.names))

    def read(self) -> Iterator[tuple[Array, Array]]:
        """Raise ValueError: rows stay on the workers."""
        raise ValueError("The rows of a cluster can be summed but not read one after the other.")

    def reduce(
        self,
        design: SplineDesign,
        subsets: Index | None = None,
        variance: VarianceFunction | None = None,
    ) -> RowSums:
        """Sum all rows on the workers."""
        need_one_pass(design)
        sums = RowSums(design, self.columns.names, THREADS)
        empty = Stream(self.columns, sums, empty_sample(design.m, 0), False, 1)
        task = Task(self.partitions.columns, empty, False, variance)
        # Sent to the workers in the smallest type.
        narrow = None
        if subsets is not None:
            narrow = subsets.astype(np.min_scalar_type(int(subsets.max())))
        return self._sum(task, narrow).sums

    def sum_stream(self, empty: Stream) -> Stream:
        """Sum all rows as ``partial_fit`` divides them.

        Parameters
        ----------
        empty : Stream
            A stream without rows.
        """
        n_threads, empty.sums.n_threads = empty.sums.n_threads, THREADS
        stream = self._sum(Task(self.partitions.columns, empty, True), None)
        stream.sums.n_threads = n_threads
        return stream

    def each(self, function: Any, extra: Sequence[tuple[Any, ...]] = ()) -> list[Any]:
        """Results of a function of the confounders and groups of every partition."""
        return _each(self.partitions, self.client, function, extra)

    def _sum(self, task: Task, subsets: Subsets | None) -> Stream:
        kept = None
        if self.checkpoint is not None:
            store = Store(Path(self.checkpoint), compress=False)
            kept = Checkpoint(store, self._key(task, subsets))
        return sum_partitions(self.partitions, task, subsets, self.starts, self.client, kept)

    def _key(self, task: Task, subsets: Subsets | None) -> str:
        """Digest of everything on which these sums depend."""
        design, variance = task.design, task.variance
        return digest(
            FORMAT_VERSION,
            *(self.columns.names, self.partitions.names, task.source, design.names, design.basis),
            *(design.levels, design.references),
            *(task.streamed, design.threshold, design.bins.edges, design.bins.centres),
            *(np.array(self.starts), task.empty.grouped, task.empty.folds),
            *(() if subsets is None else (subsets,)),
            *(() if variance is None else (variance.basis, variance.coefficients)),
        )


def open_partitions(
    partitions: Partitions,
    owner: type,
    client: Any,
    checkpoint: str | Path | None = None,
    *,
    spec: FitSpec | None = None,
) -> ClusterRows:
    """Count the rows of all partitions, and read the names of the variables from the first row.

    Parameters
    ----------
    partitions : Partitions
    owner : type
        Class of the estimator.
    client : distributed.Client or None
        Client of the cluster; by default the one that Dask is set to use.
    checkpoint : path, optional
    spec : FitSpec, optional
        Specification of the fit, with which confounders and groups of all rows are sent to the client.
    """
    from dask import delayed

    client = _default_client() if client is None else client
    found = _each(partitions, client, count_rows if spec is None else read_labels)
    counts = found if spec is None else [sum(chunk.n for chunk in chunks) for chunks in found]
    starts = [0, *np.cumsum(counts, dtype=np.int64).tolist()]
    if not starts[-1]:
        raise ValueError("There are no rows to fit: all partitions are empty.")
    place = int(np.flatnonzero(np.diff(starts))[0])
    task = delayed(read_head, pure=False)(
        partitions.tables[place],
        partitions.columns,
        partitions.names[place],
        dask_key_name=partition_key(place),
    )
    head = gather([task], client, partitions.names)[0]
    columns = read_columns(owner, head, fewest=1)[1]
    known = None
    if spec is not None:
        n, confounder, groups = join_labels(
            (chunk for chunks in found for chunk in chunks), spec.categorical
        )
        confounder = None if confounder is None else spec.referred(confounder)
        known = RowLabels(n, columns, confounder, groups)
    return ClusterRows(partitions, columns, starts, client, checkpoint, known)


def _each(
    partitions: Partitions, client: Any, function: Any, extra: Sequence[tuple[Any, ...]] = ()
) -> list[Any]:
    from dask import delayed

    columns = ColumnNames(partitions.columns.confounder, None, partitions.columns.groups)
    more = extra or [()] * len(partitions.labels)
    tasks = [
        delayed(function, pure=False)(
            partition, columns, name, *rest, dask_key_name=partition_key(place)
        )
        for place, (partition, name, rest) in enumerate(
            zip(partitions.labels, partitions.names, more, strict=True)
        )
    ]
    return gather(tasks, client, partitions.names)


def _default_client() -> Any:
    """The client that Dask is set to use, else the latest one of this process, else None."""
    import dask

    try:
        from distributed import Client, default_client
    except ImportError:
        return None
    chosen = dask.config.get("scheduler", None)
    if isinstance(chosen, Client):
        return chosen
    try:
        return default_client()
    except ValueError:
        return None
