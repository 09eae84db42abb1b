from __future__ import annotations

import subprocess
import sys
import threading

import numba
import pytest

from plaggm.core.numerics.threads import available_threads, threads


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("pieces", [0, 1, 7])
def test_every_piece_is_run_once(count: int, pieces: int) -> None:
    done: list[int] = []
    with threads(count) as pool:
        assert pool.count == count
        pool.run(done.append, list(range(pieces)))
    assert sorted(done) == list(range(pieces))


def test_several_threads_work_at_the_same_time() -> None:
    # Each piece waits for the other: in turn, this would break the barrier.
    barrier = threading.Barrier(2, timeout=300)
    with threads(2) as pool:
        pool.run(lambda _: barrier.wait() and None, [0, 1])


def test_one_thread_runs_in_the_callers_own() -> None:
    seen: list[int] = []
    with threads(1) as pool:
        pool.run(lambda _: seen.append(threading.get_ident()), [0, 1, 2])
    assert set(seen) == {threading.get_ident()}


@pytest.mark.parametrize("count", [1, 3])
def test_an_exception_reaches_the_caller(count: int) -> None:
    def fail(piece: int) -> None:
        if piece == 2:
            raise KeyError("piece two")

    with pytest.raises(KeyError, match="piece two"), threads(count) as pool:
        pool.run(fail, list(range(5)))


LIMITS = """
import sys
from threadpoolctl import threadpool_info, threadpool_limits
from plaggm.core.numerics.threads import single_threaded_blas, threads

def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

with single_threaded_blas():
    pass  # loads the libraries that are counted
inside = []
with threadpool_limits(2, user_api="blas"):
    before = blas_threads()
    with threads(int(sys.argv[1])) as pool:
        pool.run(lambda _: inside.append(blas_threads()), [0, 1])
    assert set(before) == {2}, before
    assert len(inside) == 2
    assert all(counts == [1] * len(before) for counts in inside), inside
    assert blas_threads() == before
"""


@pytest.mark.parametrize("count", [1, 2])
def test_blas_is_single_threaded_inside_and_restored_after(count: int) -> None:
    # Limits belong to the process: threads that other tests have left behind would change them meanwhile.
    subprocess.run([sys.executable, "-c", LIMITS, str(count)], check=True, timeout=300)


def test_available_threads_follow_numba() -> None:
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        assert available_threads() == 1
    finally:
        numba.set_num_threads(before)
    assert available_threads() == before
