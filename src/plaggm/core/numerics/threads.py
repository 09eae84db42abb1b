"""Threads over independent tasks on arrays, with BLAS limited to one thread in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock
from typing import TypeVar

import numba
from threadpoolctl import ThreadpoolController

T = TypeVar("T")


def available_threads() -> int:
    """Number of threads that numba may use in this process, as set by the environment or by joblib."""
    return int(numba.get_num_threads())


@cache
def _blas() -> ThreadpoolController:
    # numba uses SciPy's BLAS, which must be loaded before the controller looks for libraries.
    import scipy.linalg.cython_blas  # noqa: F401

    return ThreadpoolController()


_lock = Lock()
_limit = ExitStack()
_holders = 0


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread in the whole process.

    The context may be nested and entered from several threads: the first one sets the limit and the last
    one removes it.
    """
    global _holders
    with _lock:
        if _holders == 0:
            _limit.enter_context(_blas().limit(limits=1, user_api="blas"))
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0:
                _limit.close()


class Threads:
    """Run a function over tasks, on several threads or one after another."""

    def __init__(self, executor: Executor | None, count: int) -> None:
        self._executor = executor
        self.count = count

    def run(self, function: Callable[[T], None], tasks: list[T]) -> None:
        """Apply the function to every task; the first exception is raised."""
        if self._executor is None or len(tasks) < 2:
            for task in tasks:
                function(task)
            return
        for _ in self._executor.map(function, tasks):
            pass


@contextmanager
def threads(count: int) -> Iterator[Threads]:
    """Threads for the body of a ``with``, in which BLAS is single-threaded."""
    with single_threaded_blas():
        if count < 2:
            yield Threads(None, 1)
            return
        with ThreadPoolExecutor(count) as executor:
            yield Threads(executor, count)
