"""Independent fits side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from joblib import Parallel, delayed, effective_n_jobs

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
    with single_threaded_blas():
        return list(
            Parallel(n_jobs=n_jobs, prefer="threads", verbose=verbose)(
                delayed(function)(piece) for piece in pieces
            )
        )
