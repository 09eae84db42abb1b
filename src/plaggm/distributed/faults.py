"""Errors of a cluster, with messages that name the partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

_TASK_PREFIX = "plaggm-partition"


def partition_key(place: int) -> str:
    """A new key for a task on one partition, whose number follows the last dash."""
    return f"{_TASK_PREFIX}-{uuid4().hex}-{place}"


class PartitionError(RuntimeError):
    """One partition of a table could not be processed.

    Attributes
    ----------
    partition : str
        Number of the partition, and its file if there is one.

    Examples
    --------
    >>> PartitionError("part 3 does not fit into memory", "3").partition
    '3'
    """

    def __init__(self, message: str, partition: str) -> None:
        super().__init__(message)
        self.partition = partition

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.partition)


def out_of_memory(where: str) -> PartitionError:
    """The error for a partition that does not fit into a worker's memory."""
    return PartitionError(
        f"Out of memory in {where}. Divide the table into smaller partitions, or give each worker "
        "more memory or fewer threads.",
        where,
    )


@contextmanager
def naming_partition(where: str) -> Iterator[None]:
    """Add the name of the partition to errors; for use on the worker."""
    try:
        yield
    except MemoryError as error:
        raise out_of_memory(where) from error
    except (ValueError, OSError) as error:
        error.add_note(f"In {where}.")
        raise


@contextmanager
def naming_killer(tasks: Sequence[Any], names: Sequence[str], kept: str) -> Iterator[None]:
    """Name the partition whose processing killed its workers; for use on the client.

    Parameters
    ----------
    tasks : sequence of dask.delayed.Delayed
        Tasks that are computed in the ``with`` block.
    names : sequence of str
        Names of the partitions.
    kept : str
        A sentence about where finished work is stored.
    """
    try:
        from distributed import KilledWorker
    except ImportError:
        # Without distributed there are only Dask's schedulers for one machine, which have no workers.
        yield
        return
    try:
        yield
    except KilledWorker as error:
        where = partition_of(error.task, tasks, names)
        raise PartitionError(
            f"Every worker that was given {where} died, most likely because it ran out of memory. Divide "
            "the table into smaller partitions, or give each worker more memory or fewer threads. "
            f"{kept}",
            where,
        ) from error


def partition_of(blamed: Any, tasks: Sequence[Any], names: Sequence[str]) -> str:
    """Name of the partition to which a task of the graph belongs.

    Tasks of Dask's collections, which read or make a partition, are found by the tasks that depend on them.

    Parameters
    ----------
    blamed : str or tuple
        Key of a task.
    tasks : sequence of dask.delayed.Delayed
        Tasks that are computed, which include or depend on the blamed task.
    names : sequence of str
        Names of the partitions.
    """
    from dask.core import get_deps
    from dask.highlevelgraph import HighLevelGraph

    graph = HighLevelGraph.merge(*(task.__dask_graph__() for task in tasks)).to_dict()
    dependencies, dependents = get_deps(graph)
    needing = _places(blamed, dependents)
    if len(needing) == 1:
        return names[needing[0]]
    if needing:
        return f"data that {len(needing)} partitions need, {names[needing[0]]} among them,"
    summed = _places(blamed, dependencies)
    if summed:
        return f"the sums of {names[summed[0]]} to {names[summed[-1]]}"
    return f"task {blamed}"


def _places(start: Any, following: Mapping[Any, Set[Any]]) -> list[int]:
    """Numbers of the partitions that are processed by a task or by any that follows it."""
    seen, todo = {start}, [start]
    while todo:
        new = set(following.get(todo.pop(), ())) - seen
        seen |= new
        todo.extend(new)
    return sorted(
        {
            int(key.rsplit("-", 1)[-1])
            for key in seen
            if isinstance(key, str) and key.startswith(_TASK_PREFIX)
        }
    )
