"""Parallel execution of independent fits."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar
from uuid import uuid4

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from plaggm.core.numerics.threads import available_threads, single_threaded_blas
from plaggm.selection.cluster import count_threads, results_as_finished
from plaggm.selection.orphans import end_with_parent

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")
R = TypeVar("R")
# A call made by ``joblib.delayed``, and a function that runs such calls.
Call: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
Runner: TypeAlias = Callable[[Iterable[Call]], Iterator[Any]]


class DaskBackend(Protocol):
    """The attributes of joblib's Dask backend that are used here."""

    client: Client
    submit_kwargs: dict[str, Any]

    def retrieval_context(self) -> AbstractContextManager[None]:
        """Context in which other tasks may use the thread while this one waits."""
        ...


def concurrent_jobs(n_jobs: int | None) -> int:
    """Number of tasks that run at the same time, in this process or on the active Dask cluster.

    Not joblib's count, which would wait for the workers of an empty cluster.
    """
    backend = _dask_backend("threads")
    if backend is None:
        return int(effective_n_jobs(n_jobs))
    return max(1, count_threads(backend.client))


def local_threads(n_jobs: int | None) -> int:
    """Number of threads in this process for ``n_jobs``; None is one unless joblib is configured otherwise.

    With a Dask cluster, which does the other work, these are all available threads.
    """
    if _dask_backend("threads") is not None:
        return available_threads()
    return int(effective_n_jobs(n_jobs))


def local_jobs(n_jobs: int | None) -> int:
    """Number of tasks that run at the same time in this process: zero if a cluster runs them."""
    return int(effective_n_jobs(n_jobs)) if _dask_backend("threads") is None else 0


def inner_threads(n_jobs: int | None, tasks: int) -> int:
    """Threads for each of some tasks that ``n_jobs`` workers share."""
    if _dask_backend("threads") is not None:
        # A worker of a cluster runs one task on each of its threads.
        return 1
    return max(1, int(effective_n_jobs(n_jobs)) // tasks)


def run_parallel(
    function: Callable[[T], R], items: Iterable[T], *, n_jobs: int | None, verbose: int = 0
) -> list[R]:
    """Apply a function to every item with joblib, results in order.

    Threads by default, since the kernels run without the interpreter lock; any joblib backend that is
    active (``joblib.parallel_config``) is used instead.
    """
    # Items are bound, not passed: joblib would scatter passed arrays to one worker of a cluster, with which
    # they could be lost.
    calls = [delayed(partial(_alone, function, item))() for item in items]
    with single_threaded_blas():
        backend = _dask_backend("threads")
        if backend is None:
            return list(Parallel(n_jobs=n_jobs, prefer="threads", verbose=verbose)(calls))
        found = []
        for result in _on_cluster(backend, None, calls):
            found.append(result)
            if verbose:
                print(f"[Dask] {len(found)} of {len(calls)} tasks are done")
        return found


@single_threaded_blas()
def _alone(function: Callable[[T], R], item: T) -> R:
    """Apply a function with one BLAS thread, in any process."""
    return function(item)


def in_turn(
    n_jobs: int | None, names: Sequence[str] | None = None, *, prefer: str | None = "threads"
) -> Runner:
    """A function that runs calls of ``joblib.delayed`` in parallel and yields their results in order.

    Calls run in threads by default, or by the active joblib backend. Joblib's Dask backend cannot yield
    results one by one, so that calls are submitted to its cluster directly.

    Parameters
    ----------
    n_jobs : int, optional
    names : sequence of str, optional
        Name of each task, for the error if it kills its worker.
    prefer : {"threads", "processes", None}
        Backend hint for joblib, used unless a backend is active; None is joblib's default, processes.

    Examples
    --------
    >>> list(in_turn(2)(delayed(abs)(number) for number in (-1, -2)))
    [1, 2]
    """
    backend = _dask_backend(prefer)
    if backend is not None:
        return partial(_on_cluster, backend, names)
    # loky issues this warning in the thread that feeds its workers. As an error it would end that thread,
    # and results would never arrive.
    warnings.filterwarnings("default", "A worker stopped while some jobs", UserWarning)
    runner: Runner = Parallel(
        n_jobs=n_jobs,
        prefer=prefer,
        return_as="generator",
        initializer=end_with_parent,
        initargs=(os.getpid(),),
    )
    return runner


def _dask_backend(prefer: str | None) -> DaskBackend | None:
    """joblib's active backend if it is that of Dask, otherwise None."""
    backend, _ = get_active_backend(prefer=prefer)
    return backend if hasattr(backend, "client") else None


def _on_cluster(
    backend: DaskBackend, names: Sequence[str] | None, calls: Iterable[Call]
) -> Iterator[Any]:
    from distributed import KilledWorker

    client = backend.client
    token = uuid4().hex
    with warnings.catch_warnings():
        # Each task holds all its data, so that another worker can repeat it.
        warnings.filterwarnings("ignore", message="Sending large graph")
        futures = [
            client.submit(
                partial(function, *arguments, **options),
                key=f"{_name(names, number)}-{token}-{number}",
                pure=False,
                **backend.submit_kwargs,
            )
            for number, (function, arguments, options) in enumerate(calls)
        ]
    futures.reverse()
    done = 0
    try:
        # If this is itself a task of a worker, other tasks may use its thread meanwhile.
        with backend.retrieval_context():
            while futures:
                ((_, result),) = results_as_finished(client, [futures.pop()])
                yield result
                done += 1
    except KilledWorker as error:
        raise RuntimeError(
            f"Every worker that was given {_name(names, done)} died, most likely because it ran out of "
            "memory. Give each worker more memory or fewer threads."
        ) from error
    finally:
        # Cancels tasks whose results are no longer needed.
        futures.clear()


def _name(names: Sequence[str] | None, number: int) -> str:
    return f"task {number}" if names is None else names[number]
