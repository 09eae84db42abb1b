"""What a cluster may do to a computation, in words that say which part of the table it was."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError as FutureCancelled
from contextlib import contextmanager
from typing import Any

# Begins the name of every task that works on one partition; its number follows the last dash.
TASK_PREFIX = "plaggm-partition"


class PartitionError(RuntimeError):
    """One partition of a table could not be worked on.

    Attributes
    ----------
    partition : str
        Number, and file where there is one.
    """

    def __init__(self, message: str, partition: str) -> None:
        super().__init__(message)
        self.partition = partition

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.partition)


class ClusterLostError(ConnectionError):
    """The scheduler went away before the computation was done."""


def out_of_memory(where: str) -> PartitionError:
    """The error for a partition that a worker's memory does not hold."""
    return PartitionError(
        f"Out of memory in {where}. Divide the table into smaller partitions, or give each worker "
        "more memory or fewer threads.",
        where,
    )


@contextmanager
def naming_partition(where: str) -> Iterator[None]:
    """Say in which partition an error arose; for use on the worker."""
    try:
        yield
    except MemoryError as error:
        raise out_of_memory(where) from error
    except (ValueError, OSError) as error:
        error.add_note(f"In {where}.")
        raise


@contextmanager
def explaining_faults(names: Sequence[str], kept: str) -> Iterator[None]:
    """Turn the cluster's own exceptions into one clear error; for use on the client.

    Parameters
    ----------
    names : sequence of str
        Of the partitions.
    kept : str
        What became of finished work, in a sentence.
    """
    try:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError
        from distributed.comm import CommClosedError
    except ImportError:
        # Dask's own schedulers of one machine have no workers to lose.
        yield
        return
    lost = (CommClosedError, FutureCancelledError, FutureCancelled, asyncio.CancelledError)
    try:
        yield
    except KilledWorker as error:
        where = _partition_of(error.task, names)
        raise PartitionError(
            f"The worker died each time it came to {where}, most likely for want of memory. Divide the "
            f"table into smaller partitions, or give each worker more memory or fewer threads. {kept}",
            where,
        ) from error
    except lost as error:
        raise ClusterLostError(
            f"The connection to the Dask scheduler was lost, and with it the work under way. {kept}"
        ) from error


def _partition_of(task: Any, names: Sequence[str]) -> str:
    # Tasks of Dask's own collections are called ("read-parquet-…", 3), or ("load-…", 3, 0) for arrays.
    place = task[1] if isinstance(task, tuple) and len(task) > 1 else None
    if isinstance(task, str) and task.startswith(TASK_PREFIX):
        place = int(task.rsplit("-", 1)[-1])
    if isinstance(place, int) and place < len(names):
        return names[place]
    return f"task {task}"
