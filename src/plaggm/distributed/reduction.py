"""Sums over all partitions, which workers add up in a tree; the client receives a few of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any

import numpy as np

from plaggm.array_types import Index
from plaggm.distributed.checkpoint import Checkpoint
from plaggm.distributed.faults import naming_killer, partition_key
from plaggm.distributed.partition_sums import Subsets, Task, join_sums, sum_partition
from plaggm.distributed.partitions import Partitions
from plaggm.estimators.stream import Stream
from plaggm.selection.cluster import keeping, results_as_finished

# Largest number of sums that one task adds up.
SPLIT_EVERY = 8
# Largest number of batches of partitions, whose sums the client receives and a checkpoint stores.
BATCHES = 32

_NOTHING_KEPT = (
    "Nothing was kept; run the same again with checkpoint='FOLDER' to keep finished sums and to continue "
    "from them."
)


def batch_ends(count: int) -> Index:
    """Ends of the batches of consecutive partitions, which have almost equal size.

    Examples
    --------
    >>> batch_ends(20)
    array([ 8, 16, 20])
    """
    size = max(SPLIT_EVERY, -(-count // BATCHES))
    return np.minimum(np.arange(size, count + size, size), count)


def sum_partitions(
    partitions: Partitions,
    task: Task,
    subsets: Subsets | None,
    starts: Sequence[int],
    client: Any,
    checkpoint: Checkpoint | None,
) -> Stream:
    """Statistics of all rows.

    Sums are added in the order of the partitions, so that the result depends neither on the number of
    workers nor on which of them were lost on the way.

    Parameters
    ----------
    partitions : Partitions
    task : Task
    subsets : ndarray of int of shape (n,), optional
        Subset of every row.
    starts : sequence of int
        Number of the first row of every partition, and number of all rows.
    client : distributed.Client or None
        Client of the cluster; None for Dask's default scheduler.
    checkpoint : Checkpoint, optional
    """
    stored: dict[int, Stream] = {}
    roots, numbers = [], []
    ends = batch_ends(len(partitions.tables)).tolist()
    for number, (first, end) in enumerate(pairwise([0, *ends])):
        kept = None if checkpoint is None else checkpoint.load(number, task)
        if kept is not None:
            stored[number] = kept
        else:
            leaves = _leaves(partitions, range(first, end), task, subsets, starts)
            roots.append(_tree(leaves, task))
            numbers.append(number)
    kept_words = _NOTHING_KEPT
    if checkpoint is not None:
        kept_words = (
            f"Finished sums are kept in {checkpoint.store.folder}; run the same again to continue."
        )

    def computed() -> Iterator[tuple[int, Stream]]:
        for place, stream in _as_finished(roots, client):
            if checkpoint is not None:
                checkpoint.save(numbers[place], stream)
            yield numbers[place], stream

    total, upcoming = task.new_stream(), 0
    waiting: dict[int, Stream] = {}
    with keeping(kept_words), naming_killer(roots, partitions.names, kept_words):
        for number, stream in chain(stored.items(), computed()):
            waiting[number] = stream
            while upcoming in waiting:
                total = join_sums([total, waiting.pop(upcoming)], task)
                upcoming += 1
    return total


def gather(tasks: Sequence[Any], client: Any, names: Sequence[str]) -> list[Any]:
    """Results of all tasks, in order."""
    found: list[Any] = [None] * len(tasks)
    kept = "Nothing was summed yet; start workers and run the same again."
    with keeping(kept), naming_killer(tasks, names, kept):
        for place, result in _as_finished(tasks, client):
            found[place] = result
    return found


def _leaves(
    partitions: Partitions,
    places: range,
    task: Task,
    subsets: Subsets | None,
    starts: Sequence[int],
) -> list[Any]:
    """Delayed sums of some partitions.

    Each call holds the settings: a task on which all others depend would be lost with every worker that
    dies, and be blamed for it.
    """
    from dask import delayed

    calls = [
        partial(
            sum_partition,
            subsets=None if subsets is None else subsets[starts[place] : starts[place + 1]],
            start=starts[place],
            task=task,
            where=partitions.names[place],
        )
        for place in places
    ]
    return [
        delayed(call, pure=False)(partitions.tables[place], dask_key_name=partition_key(place))
        for place, call in zip(places, calls, strict=True)
    ]


def _tree(leaves: list[Any], task: Task) -> Any:
    """Delayed sum of delayed sums, added up in a tree."""
    from dask import delayed

    join = partial(join_sums, task=task)
    while len(leaves) > 1:
        leaves = [
            delayed(join, pure=False)(leaves[start : start + SPLIT_EVERY])
            for start in range(0, len(leaves), SPLIT_EVERY)
        ]
    return leaves[0]


def _as_finished(tasks: Sequence[Any], client: Any) -> Iterator[tuple[int, Any]]:
    """Yield the place of each task and its result, in the order in which they finish on a cluster."""
    if client is None:
        import dask

        yield from enumerate(dask.compute(*tasks))
        return
    yield from results_as_finished(client, client.compute(list(tasks)))
