"""Worker processes on this machine, reachable from nowhere else."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from plaggm.simulate import simulate_paper

pytest.importorskip("dask.array")
pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

N, P = 700, 6
# Longest wait for another process, in seconds: a loaded machine may take long to start one.
PATIENCE = 300.0
# How long a worker tries to reach another that is dead. One that only is slow is asked again.
UNREACHABLE = "5s"
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["distributed.cli.dask_worker", "plaggm.distributed", "plaggm.related"]
)


def _wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "another process did not do its part"
        time.sleep(0.02)


class Crew:
    """A scheduler in this process, and single-threaded worker processes that nobody restarts.

    A task may kill one worker without being blamed, but not two.
    """

    def __init__(self, cluster: Any, client: Any) -> None:
        self.cluster = cluster
        self.client = client
        self._started: dict[str, Started] = {}

    def resize(self, count: int) -> None:
        """Start or kill workers, and wait until the scheduler knows just those that are left.

        A worker that an earlier test has killed may still count as alive when this begins: those that end
        meanwhile are replaced, each once.
        """
        for process in list(self.alive.values())[count:]:
            process.kill()
        last = len(self._started) + 2 * count

        def complete() -> bool:
            while len(self.alive) < count:
                assert len(self._started) < last, "workers end as soon as they are started"
                name = f"worker-{len(self._started)}"
                self._started[name] = start_worker(self.cluster.scheduler_address, name)
            return self._known(count)

        _wait_until(complete)

    @property
    def alive(self) -> dict[str, Started]:
        return {name: one for name, one in self._started.items() if one.poll() is None}

    def _known(self, count: int) -> bool:
        workers = self.client.scheduler_info()["workers"].values()
        alive = self.alive
        return len(alive) == count and sorted(worker["name"] for worker in workers) == sorted(alive)

    def end(self) -> None:
        for process in self._started.values():
            process.kill()


class Started:
    """A process of Dask, forked from one that has loaded the libraries: that takes seconds of a start."""

    def __init__(self, module: str, *arguments: str) -> None:
        code = (
            "import os, runpy, sys, dask\n"
            "silence = os.open(os.devnull, os.O_WRONLY)\n"
            "os.dup2(silence, 1), os.dup2(silence, 2)\n"
            f"dask.config.set({{'distributed.comm.timeouts.connect': {UNREACHABLE!r}}})\n"
            f"sys.argv = {[module, *arguments]!r}\n"
            f"runpy.run_module({module!r}, run_name='__main__')\n"
        )
        # Workers cannot import the tests, but know this function.
        self._process = FORKS.Process(target=exec, args=(code, {}), daemon=True)
        self._process.start()

    def poll(self) -> int | None:
        """Status with which it ended; None while it runs."""
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()
        self._process.join()


def start_worker(address: str, name: str, threads: int = 1) -> Started:
    return Started(
        *("distributed.cli.dask_worker", address, "--name", name, "--nthreads", str(threads)),
        *("--no-nanny", "--no-dashboard", "--memory-limit", "0"),
        *("--host", "127.0.0.1", "--death-timeout", str(PATIENCE)),
    )


@contextmanager
def started_crew() -> Iterator[Crew]:
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            n_workers=0,
            processes=False,
            protocol="tcp://",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        distributed.Client(cluster, set_as_default=False, timeout=PATIENCE) as client,
    ):
        crew = Crew(cluster, client)
        try:
            yield crew
        finally:
            crew.end()


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """A client of two workers, which no test may kill."""
    with started_crew() as crew:
        crew.resize(2)
        yield crew.client


@pytest.fixture(scope="session")
def mortal() -> Iterator[Crew]:
    """A cluster whose workers may be killed; a test first says how many it needs."""
    with started_crew() as crew:
        yield crew


@pytest.fixture
def fragile(tmp_path: Path) -> Iterator[tuple[Any, Started]]:
    """A client, and the process of its scheduler."""
    address = tmp_path / "scheduler.json"
    scheduler = Started(
        *("distributed.cli.dask_scheduler", "--no-dashboard", "--host", "127.0.0.1", "--port", "0"),
        *("--scheduler-file", str(address)),
    )
    worker = None
    try:
        _wait_until(address.exists)
        with distributed.Client(
            scheduler_file=str(address), set_as_default=False, timeout=PATIENCE
        ) as client:
            # More threads than pieces that wait.
            worker = start_worker(client.scheduler.address, "worker", threads=6)
            client.wait_for_workers(1, timeout=PATIENCE)
            yield client, scheduler
    finally:
        for process in filter(None, (worker, scheduler)):
            process.kill()


@pytest.fixture(scope="session")
def wait_until() -> Callable[[Callable[[], bool]], None]:
    """A function that waits for what another process does, not for ever."""
    return _wait_until


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    """Columns a to f, the confounder motion and the group subject; rows in random order."""
    made = simulate_paper(P, n=N, seed=0, even=True, threshold=60.0)
    beyond = np.maximum(np.abs(made.confounder) - 60.0, 0.0)
    x = made.x * np.exp(0.002 * beyond)[:, None] + 0.003 * beyond[:, None]
    frame = pd.DataFrame(x * [1.0, 5.0, 0.1, 1.0, 1.0, 2.0] + 30.0, columns=list("abcdef"))
    frame = frame.assign(motion=made.confounder, subject=[f"s{i % 12}" for i in range(N)])
    order = np.random.default_rng(0).permutation(N)
    return frame.iloc[order].reset_index(drop=True)
