"""``plaggm study --scheduler``: the same study from a cluster, one of whose workers dies on the way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

pytest.importorskip("nilearn")
pytest.importorskip("click")

from plaggm.cli import cluster
from plaggm.cli.group import commands

pytestmark = pytest.mark.distributed


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Eight people in two groups: a table, region series and confounds."""
    draw = np.random.default_rng(0)
    rows = []
    for number in range(8):
        moved = draw.gamma(0.5, 0.4, size=60)
        x = draw.standard_normal((60, 5))
        x[:, 1] += 0.8 * x[:, 0]
        x += np.outer(moved, draw.standard_normal(5))
        series, confounds = f"s{number}.tsv", f"c{number}.tsv"
        regions = [f"region {place}" for place in range(5)]
        pd.DataFrame(x, columns=regions).to_csv(tmp_path / series, sep="\t", index=False)
        frame = pd.DataFrame({"framewise_displacement": moved})
        frame.to_csv(tmp_path / confounds, sep="\t", index=False)
        group = "control" if number % 2 else "patient"
        rows.append(
            dict(subject=f"p{number}", diagnosis=group, timeseries=series, confounds=confounds)
        )
    pd.DataFrame(rows).to_csv(tmp_path / "participants.tsv", sep="\t", index=False)
    return tmp_path


def run(folder: Path, output: str, *more: str) -> Any:
    arguments = [
        *("study", str(folder / "participants.tsv"), "--group", "diagnosis"),
        *("--confounder", "framewise_displacement", "--method", "pla", "--permutations", "20"),
        *("--repeats", "0", "--criterion", "ebic", "--output", str(folder / output), *more),
    ]
    return CliRunner().invoke(commands, arguments)


def test_same_study_though_a_worker_dies(
    mortal: Any,
    study: Path,
    monkeypatch: pytest.MonkeyPatch,
    wait_until: Callable[[Callable[[], bool]], None],
) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    # A loaded machine answers late.
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 300)
    here = run(study, "here", "--jobs", "1")
    assert here.exit_code == 0, here.output
    mortal.resize(2)
    victim = next(iter(mortal.alive.values()))
    there = study / "there"

    def kill_after_first_piece() -> None:
        wait_until(lambda: any(there.rglob("*.npz")))
        victim.kill()

    watcher = threading.Thread(target=kill_after_first_piece)
    watcher.start()
    done = run(study, "there", "--scheduler", mortal.client.scheduler.address)
    watcher.join()
    assert done.exit_code == 0, done.output
    for name in ("subject_networks-pla.npz", "edges_compared-pla.csv"):
        ours, theirs = (study / part / name for part in ("there", "here"))
        if name.endswith("csv"):
            assert ours.read_text() == theirs.read_text()
            continue
        with np.load(ours) as one, np.load(theirs) as other:
            assert set(one.files) == set(other.files)
            for key in one.files:
                np.testing.assert_array_equal(one[key], other[key])


def test_nobody_at_the_address(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    done = run(study, "out", "--scheduler", "tcp://127.0.0.1:9")
    assert done.exit_code == 2
    assert "No Dask scheduler answers at 'tcp://127.0.0.1:9'" in done.output
