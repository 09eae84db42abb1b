"""Independent fits side by side."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from plaggm.core.threads import available_threads, single_threaded_blas

T = TypeVar("T")
R = TypeVar("R")


def inner_threads(n_jobs: int | None) -> int:
    """Threads that each of ``n_jobs`` workers may use without oversubscribing the cores."""
    return max(1, available_threads() // effective_n_jobs(n_jobs))


def run_parallel(
    function: Callable[[T], R], pieces: Iterable[T], *, n_jobs: int | None, verbose: int = 0
) -> list[R]:
    """Apply a function to every piece with joblib, results in order.

    Threads by default, since the kernels run without the interpreter lock; any joblib backend that is
    active (``joblib.parallel_config``) is used instead.
    """
    # Pieces are bound, not passed: joblib's Dask backend would put passed arrays on one worker, and a
    # piece that is lost with its worker cannot be made again.
    with single_threaded_blas():
        return list(
            Parallel(n_jobs=n_jobs, prefer="threads", verbose=verbose)(
                delayed(partial(function, piece))() for piece in pieces
            )
        )


def in_turn(
    n_jobs: int | None, names: Sequence[str] | None = None, *, prefer: str | None = "threads"
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Something that runs what ``joblib.delayed`` made, and yields results in order as they come.

    In threads unless told otherwise, or by the active joblib backend. That of Dask cannot yield results
    one by one, so its cluster is then asked directly.

    Parameters
    ----------
    n_jobs : int, optional
    names : sequence of str, optional
        What to call each piece of work should it kill its worker.
    prefer : {"threads", "processes", None}
        What joblib uses unless a backend is active; None is its own choice, processes.

    Examples
    --------
    >>> list(in_turn(2)(delayed(abs)(number) for number in (-1, -2)))
    [1, 2]
    """
    backend, _ = get_active_backend(prefer=prefer)
    client = getattr(backend, "client", None)
    if client is None:
        return Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")
    return partial(_on_cluster, client, names)


def _on_cluster(client: Any, names: Sequence[str] | None, calls: Iterable[Any]) -> Iterator[Any]:
    from distributed import KilledWorker

    token = uuid4().hex
    with warnings.catch_warnings():
        # Everything a piece needs goes with it, so that another worker can do it again.
        warnings.filterwarnings("ignore", message="Sending large graph")
        futures = [
            client.submit(
                partial(function, *arguments, **options),
                key=f"{_name(names, number)}-{token}-{number}",
                pure=False,
            )
            for number, (function, arguments, options) in enumerate(calls)
        ]
    futures.reverse()
    done = 0
    while futures:
        try:
            result = futures.pop().result()
        except KilledWorker as error:
            raise RuntimeError(
                f"The worker died each time it came to {_name(names, done)}, most likely for want of "
                "memory. Give each worker more memory or fewer threads."
            ) from error
        yield result
        done += 1


def _name(names: Sequence[str] | None, number: int) -> str:
    return f"piece {number}" if names is None else names[number]
