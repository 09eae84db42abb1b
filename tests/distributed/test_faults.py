"""Real worker processes that die, and a scheduler that is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import joblib
import numpy as np
import pandas as pd
import pytest

from plaggm import PLAGGM, PLAGGMCV
from plaggm.distributed import ClusterLostError, PartitionError, fit_dask, reduction
from plaggm.distributed.faults import partition_key, partition_of
from plaggm.selection.cluster import SETTING
from plaggm.selection.parallel import in_turn, run_parallel
from plaggm.simulate import simulate_paper

pytestmark = pytest.mark.distributed

VARIABLES = list("abcdef")
AGREEMENT = 1e-10
EXACT = dict(tol=1e-13, max_iter=20_000)
# Given, so that every piece is looked at once.
THRESHOLD = 60.0
PARTS = 20
# A place that no piece has.
NOBODY = -1


def spread(x: np.ndarray, load: Callable[[np.ndarray, int], np.ndarray], parts: int = PARTS) -> Any:
    """A Dask array whose pieces are made by a function of their rows and their number."""
    rows = np.array_split(np.arange(len(x)), parts)
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
        self, mortal: Any, table: pd.DataFrame, tmp_path: Path
    ) -> None:
        mortal.resize(2)
        x, g = table[VARIABLES].to_numpy(), table["motion"].to_numpy()
        whole = PLAGGM(0.05, threshold=THRESHOLD, **EXACT).fit(x, confounder=g)
        quiet, found = (
            fit_dask(
                PLAGGM(0.05, threshold=THRESHOLD, **EXACT),
                spread(x, load),
                confounder=g,
                client=mortal.client,
            )
            for load in (deadly_load(tmp_path, place, always=False) for place in (NOBODY, 11))
        )
        assert (tmp_path / "killed").exists()
        np.testing.assert_array_equal(found.omega_, quiet.omega_)
        np.testing.assert_allclose(found.omega_, whole.omega_, atol=AGREEMENT)

    def test_many_fits_survive_a_killed_worker(self, mortal: Any, tmp_path: Path) -> None:
        mortal.resize(2)
        (tmp_path / "killed").touch()
        expected = [deadly_fit(tmp_path, 3)(number) for number in range(8)]
        (tmp_path / "killed").unlink()
        with joblib.parallel_config("dask", client=mortal.client):
            found = run_parallel(deadly_fit(tmp_path, 3), range(8), n_jobs=None)
        assert (tmp_path / "killed").exists()
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)

    def test_partition_that_kills_every_worker_is_named(
        self, mortal: Any, table: pd.DataFrame, tmp_path: Path
    ) -> None:
        mortal.resize(2)
        settings = sixteen_of_seventeen(table, tmp_path / "kept")
        deadly = spread(settings.pop("x"), deadly_load(tmp_path, 16, always=True), 17)
        with pytest.raises(PartitionError, match=r"partition 16 died.*ran out of memory.*kept in"):
            fit_dask(PLAGGM(0.05, threshold=THRESHOLD), deadly, client=mortal.client, **settings)

    def test_no_worker_is_left(self, mortal: Any, table: pd.DataFrame, tmp_path: Path) -> None:
        mortal.resize(1)
        settings = sixteen_of_seventeen(table, tmp_path / "kept")
        deadly = spread(settings.pop("x"), deadly_load(tmp_path, 16, always=True), 17)
        with (
            dask.config.set({SETTING: "1s"}),
            pytest.raises(ClusterLostError, match=r"no worker for 1 seconds.*kept in.*again"),
        ):
            fit_dask(PLAGGM(0.05, threshold=THRESHOLD), deadly, client=mortal.client, **settings)
        assert not mortal.alive

    def test_piece_that_kills_every_worker_is_named(self, mortal: Any, tmp_path: Path) -> None:
        mortal.resize(2)
        deadly = deadly_load(tmp_path, 2, always=True)

        def call(number: int) -> int:
            import time

            # What is finished but not yet told dies with the worker: wait until it is told.
            while number == 2 and not (tmp_path / "go").exists():
                time.sleep(0.02)
            deadly(np.array([]), number)
            return number

        names = [f"sub-{number}" for number in range(5)]
        with joblib.parallel_config("dask", client=mortal.client):
            work = in_turn(None, names)(joblib.delayed(call)(number) for number in range(5))
            assert [next(work), next(work)] == [0, 1]
            (tmp_path / "go").touch()
            with pytest.raises(RuntimeError, match="given sub-2 died"):
                next(work)


def sixteen_of_seventeen(table: pd.DataFrame, kept: Path) -> dict[str, Any]:
    """Arguments of a fit whose last of 17 partitions alone is left: no other can be blamed."""
    x, g = table[VARIABLES].to_numpy(), table["motion"].to_numpy()
    with dask.config.set(scheduler="threads"):
        whole = spread(x, deadly_load(kept, NOBODY, always=False), 17)
        fit_dask(PLAGGM(0.05, threshold=THRESHOLD), whole, confounder=g, checkpoint=kept)
    *_, last = sorted(kept.rglob("*.npz"))
    last.unlink()
    return dict(x=x, confounder=g, checkpoint=kept)


def test_settings_are_no_task_of_their_own(
    table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that all partitions depend on would be blamed for the workers that one of them kills."""
    seen: set[str] = set()

    def look(tasks: Any, client: Any) -> Any:
        for task in tasks:
            seen.update(str(key) for key in task.__dask_graph__())
        return original(tasks, client)

    original = reduction._as_finished
    monkeypatch.setattr(reduction, "_as_finished", look)
    table.iloc[:300].to_parquet(tmp_path / "0.parquet")
    table.iloc[300:].to_parquet(tmp_path / "1.parquet")
    with dask.config.set(scheduler="threads"):
        columns = dict(confounder="motion", variables=VARIABLES)
        fit_dask(PLAGGM(0.05, threshold=THRESHOLD), tmp_path, **columns)
    others = {key for key in seen if not key.startswith("plaggm-partition-")}
    # What adds up the two partitions.
    assert len(others) == 1


class TestPartitionOf:
    """What a killed worker is blamed on, by any of the tasks that it may have been given."""

    names = ("partition 0", "partition 1", "partition 2")

    def tasks(self) -> tuple[list[Any], list[Any], Any]:
        shared = dask.delayed(list)((), dask_key_name="shared")
        reads = [dask.delayed(list)(shared, dask_key_name=("read", place)) for place in range(3)]
        sums = [
            dask.delayed(list)(read, dask_key_name=partition_key(place))
            for place, read in enumerate(reads)
        ]
        return reads, sums, dask.delayed(list)(sums, dask_key_name="joined")

    def test_one_partition(self) -> None:
        _, sums, joined = self.tasks()
        for blamed in (sums[1].key, ("read", 1)):
            assert partition_of(blamed, [joined], self.names) == "partition 1"

    def test_several_partitions(self) -> None:
        *_, joined = self.tasks()
        assert partition_of("shared", [joined], self.names) == (
            "data that 3 partitions need, partition 0 among them,"
        )
        assert partition_of("joined", [joined], self.names) == (
            "the sums of partition 0 to partition 2"
        )


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


def test_lost_scheduler_leaves_what_was_finished(
    fragile: tuple[Any, Any],
    table: pd.DataFrame,
    tmp_path: Path,
    wait_until: Callable[[Callable[[], bool]], None],
) -> None:
    client, scheduler = fragile
    x, g = table[VARIABLES].to_numpy(), table["motion"].to_numpy()
    kept = tmp_path / "kept"
    # Two of three blocks can be finished; the pieces of the last one wait.
    patient = spread(x, patient_load(tmp_path, 16))

    def lose_scheduler() -> None:
        wait_until(lambda: any(kept.rglob("*.npz")))
        scheduler.kill()

    watcher = threading.Thread(target=lose_scheduler)
    watcher.start()
    settings = dict(confounder=g, checkpoint=kept)
    with pytest.raises(ClusterLostError, match=r"scheduler was lost.*kept in"):
        fit_dask(PLAGGM(0.05, threshold=THRESHOLD, **EXACT), patient, client=client, **settings)
    watcher.join()
    finished = [int(path.stem.split("-")[0]) for path in kept.rglob("*.npz")]
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
