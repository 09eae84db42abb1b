"""Real worker processes that die, and a scheduler that is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import dask
import dask.array as da
import distributed
import joblib
import numpy as np
import pandas as pd
import pytest

from plaggm import PLAGGM, PLAGGMCV
from plaggm.cli.study import on_cluster
from plaggm.distributed import ClusterLostError, PartitionError, fit_dask
from plaggm.selection.parallel import in_turn, run_parallel
from plaggm.simulate import simulate_paper

pytestmark = pytest.mark.distributed

VARIABLES = list("abcdef")
AGREEMENT = 1e-10
EXACT = dict(tol=1e-13, max_iter=20_000)
# Given, so that every piece is looked at once.
THRESHOLD = 60.0
PARTS = 20
# Longest wait for another process, after which the test fails instead of hanging.
PATIENCE = 60.0


def spread(x: np.ndarray, load: Callable[[np.ndarray, int], np.ndarray]) -> Any:
    """A Dask array whose pieces are made by a function of their rows and their number."""
    rows = np.array_split(np.arange(len(x)), PARTS)
    pieces = [
        da.from_delayed(dask.delayed(load)(x[part], number), (len(part), x.shape[1]), float)
        for number, part in enumerate(rows)
    ]
    return da.concatenate(pieces)


# Functions that workers run are made by functions here: those are sent by value, and workers need not
# be able to import the tests.


def deadly_load(folder: Path, place: int, *, always: bool) -> Callable[[np.ndarray, int], Any]:
    """Kills the process that comes to a place: the first one, or each of them."""

    def load(rows: np.ndarray, number: int) -> np.ndarray:
        import os
        import signal

        mark = folder / "killed"
        if number == place and (always or not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return rows

    return load


def patient_load(folder: Path, place: int) -> Callable[[np.ndarray, int], Any]:
    """Counts how often each piece is made, and waits for a file before those from a place on."""

    def load(rows: np.ndarray, number: int) -> np.ndarray:
        import time

        with (folder / f"made-{number}").open("a") as file:
            file.write("x")
        while number >= place and not (folder / "go").exists():
            time.sleep(0.02)
        return rows

    return load


def deadly_fit(folder: Path, place: int) -> Callable[[int], Any]:
    def fit(number: int) -> np.ndarray:
        import os
        import signal

        mark = folder / "killed"
        if number == place and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        made = simulate_paper(5, n=200, seed=number, threshold=60.0, even=True)
        return PLAGGM(0.05, threshold=60.0).fit(made.x, confounder=made.confounder).omega_

    return fit


class TestWorkers:
    def test_reduction_survives_a_killed_worker(
        self, client: Any, table: pd.DataFrame, tmp_path: Path
    ) -> None:
        x, g = table[VARIABLES].to_numpy(), table["motion"].to_numpy()
        whole = PLAGGM(0.05, threshold=THRESHOLD, **EXACT).fit(x, confounder=g)
        quiet = fit_dask(
            PLAGGM(0.05, threshold=THRESHOLD, **EXACT),
            da.from_array(x, chunks=(35, 6)),
            confounder=g,
            client=client,
        )
        deadly = spread(x, deadly_load(tmp_path, 11, always=False))
        found = fit_dask(
            PLAGGM(0.05, threshold=THRESHOLD, **EXACT), deadly, confounder=g, client=client
        )
        assert (tmp_path / "killed").exists()
        np.testing.assert_array_equal(found.omega_, quiet.omega_)
        np.testing.assert_allclose(found.omega_, whole.omega_, atol=AGREEMENT)

    def test_many_fits_survive_a_killed_worker(self, client: Any, tmp_path: Path) -> None:
        (tmp_path / "killed").touch()
        expected = [deadly_fit(tmp_path, 3)(number) for number in range(8)]
        (tmp_path / "killed").unlink()
        with joblib.parallel_config("dask", client=client):
            found = run_parallel(deadly_fit(tmp_path, 3), range(8), n_jobs=None)
        assert (tmp_path / "killed").exists()
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)

    def test_partition_that_kills_every_worker_is_named(
        self, client: Any, table: pd.DataFrame, tmp_path: Path
    ) -> None:
        x, g = table[VARIABLES].to_numpy(), table["motion"].to_numpy()
        deadly = spread(x, deadly_load(tmp_path, 9, always=True))
        settings = dict(confounder=g, client=client, checkpoint=tmp_path / "kept")
        with pytest.raises(PartitionError, match=r"partition 9.*want of memory.*kept in"):
            fit_dask(PLAGGM(0.05, threshold=THRESHOLD), deadly, **settings)


def deadly_call(folder: Path, *, always: bool) -> Callable[[int], Any]:
    load = deadly_load(folder, 2, always=always)

    def call(number: int) -> Any:
        return load(np.array([number]), number)

    return call


class TestInTurn:
    def test_a_killed_worker_changes_nothing(self, client: Any, tmp_path: Path) -> None:
        call = deadly_call(tmp_path, always=False)
        with joblib.parallel_config("dask", client=client):
            found = list(in_turn(None)(joblib.delayed(call)(number) for number in range(5)))
        assert (tmp_path / "killed").exists()
        assert np.concatenate(found).tolist() == [0, 1, 2, 3, 4]

    def test_who_kills_every_worker_is_named(self, client: Any, tmp_path: Path) -> None:
        call = deadly_call(tmp_path, always=True)
        names = [f"sub-{number}" for number in range(5)]
        with (
            joblib.parallel_config("dask", client=client),
            pytest.raises(RuntimeError, match="came to sub-2"),
        ):
            list(in_turn(None, names)(joblib.delayed(call)(number) for number in range(5)))


class TestJoblib:
    @pytest.mark.parametrize(
        "settings",
        [
            dict(cv=3),
            dict(criterion="stars", n_subsamples=4),
            dict(cv=3, smoother="kernel"),
        ],
        ids=["spline", "stars", "kernel"],
    )
    def test_selection_is_bit_identical(
        self, client: Any, table: pd.DataFrame, settings: dict[str, Any]
    ) -> None:
        few = table.iloc[:300]
        make = partial(PLAGGMCV, alphas=8, threshold=60.0, random_state=0, **settings)
        here = make().fit(few[VARIABLES], confounder=few["motion"])
        with joblib.parallel_config("dask", client=client):
            there = make().fit(few[VARIABLES], confounder=few["motion"])
        np.testing.assert_array_equal(there.criterion_path_, here.criterion_path_)
        np.testing.assert_array_equal(there.omega_, here.omega_)

    def test_bootstrap_is_bit_identical(self, client: Any, table: pd.DataFrame) -> None:
        model = PLAGGM(0.05, threshold=60.0)
        model.fit(table[VARIABLES], confounder=table["motion"], groups=table["subject"])
        here = model.bootstrap(6)
        with joblib.parallel_config("dask", client=client):
            there = model.bootstrap(6)
        np.testing.assert_array_equal(there.mean, here.mean)


@pytest.fixture
def fragile(tmp_path: Path) -> Iterator[tuple[Any, subprocess.Popen[bytes]]]:
    """A client, and the process of its scheduler."""
    address = tmp_path / "scheduler.json"
    run = partial(
        subprocess.Popen,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "DASK_DISTRIBUTED__WORKER__DAEMON": "False"},
    )
    module = [sys.executable, "-m", "distributed.cli"]
    scheduler = run(
        [
            *(f"{' '.join(module)}.dask_scheduler".split()),
            *("--host", "127.0.0.1", "--port", "0", "--no-dashboard"),
            *("--scheduler-file", str(address)),
        ]
    )
    worker = run(
        [
            *(f"{' '.join(module)}.dask_worker".split()),
            *("--scheduler-file", str(address), "--nthreads", "1", "--no-nanny"),
            *("--no-dashboard", "--death-timeout", "20", "--memory-limit", "0"),
        ]
    )
    try:
        wait_for(address.exists)
        # A lost scheduler is given up soon.
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
            distributed.Client(
                scheduler_file=str(address), set_as_default=False, timeout="30s"
            ) as client,
        ):
            client.wait_for_workers(1, timeout=PATIENCE)
            yield client, scheduler
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "another process did not do its part"
        time.sleep(0.02)


def test_lost_scheduler_leaves_what_was_finished(
    fragile: tuple[Any, subprocess.Popen[bytes]], table: pd.DataFrame, tmp_path: Path
) -> None:
    client, scheduler = fragile
    x, g = table[VARIABLES].to_numpy(), table["motion"].to_numpy()
    kept = tmp_path / "kept"
    # Two of three blocks can be finished; the pieces of the last one wait.
    patient = spread(x, patient_load(tmp_path, 16))

    def lose_scheduler() -> None:
        wait_for(lambda: any(kept.glob("*.npz")))
        scheduler.kill()

    watcher = threading.Thread(target=lose_scheduler)
    watcher.start()
    settings = dict(confounder=g, checkpoint=kept)
    with pytest.raises(ClusterLostError, match=r"scheduler was lost.*kept in"):
        fit_dask(PLAGGM(0.05, threshold=THRESHOLD, **EXACT), patient, client=client, **settings)
    watcher.join()
    finished = [int(path.stem.rsplit("-", 1)[-1]) for path in kept.glob("*.npz")]
    assert set(finished) <= {0, 1}
    assert finished
    (tmp_path / "go").touch()
    with dask.config.set(scheduler="threads"):
        found = fit_dask(PLAGGM(0.05, threshold=THRESHOLD, **EXACT), patient, **settings)
    whole = PLAGGM(0.05, threshold=THRESHOLD, **EXACT).fit(x, confounder=g)
    np.testing.assert_allclose(found.omega_, whole.omega_, atol=AGREEMENT)
    # Piece 0 is looked at for the names as well; all others of a finished block are not made again.
    for block in finished:
        for number in range(max(8 * block, 1), 8 * block + 8):
            assert (tmp_path / f"made-{number}").read_text() == "x"


def test_lost_scheduler_during_a_study(
    fragile: tuple[Any, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    client, scheduler = fragile
    load = patient_load(tmp_path, 1)

    def lose_scheduler() -> None:
        work = in_turn(None)(joblib.delayed(load)(np.array([n]), n) for n in range(3))
        assert next(work) == 0
        scheduler.kill()
        list(work)

    address = client.scheduler.address
    with (
        pytest.raises(click.ClickException, match=r"was lost.*kept in out: run the same"),
        on_cluster(address, Path("out")),
    ):
        lose_scheduler()
