"""The arithmetic of the calibration in benchmarks/, and its cells."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="benchmarks/ is not shipped")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


def test_shares_of_one_data_set(load: Any) -> None:
    omega = np.zeros((3, 3))
    omega[0, 1] = omega[1, 0] = 0.3
    tests = pd.DataFrame(
        {"p_value": [0.001, 0.04, 0.5], "low": [0.1, 0.05, -0.1], "high": [0.4, 0.2, 0.1]}
    )
    row = load("calibration").judged(tests, omega)
    assert row["null_05"] == 0.5
    assert row["null_001"] == 0.0
    assert row["covered"] == pytest.approx(2 / 3)
    assert row["covered_edges"] == 1.0
    # Two discoveries at .1 (q = .003 and .06), one of them false.
    assert (row["fdp_0.05"], row["fdp_0.1"], row["power_0.1"]) == (0.0, 0.5, 1.0)
    assert sum(row["histogram"]) == 2
    # Declared at .05: the edge alone.
    assert row["f1"] == 1.0


def cell(**figures: float) -> dict[str, Any]:
    usual = {"null_05": 0.05, "covered": 0.95, "covered_edges": 0.95, "fdp_0.05": 0.02}
    usual |= {"fdp_0.1": 0.05, "power_0.1": 0.5, "null_001": 0.001}
    return {**usual, **figures, "histogram": [1] * 20, "source": "x"}


@pytest.mark.parametrize(
    ("figures", "rival", "missed"),
    [
        ({}, {}, []),
        ({"null_05": 0.08}, {}, [0]),
        ({"covered": 0.99}, {}, [1]),
        ({"fdp_0.1": 0.12}, {}, [4]),
        ({"power_0.1": 0.44}, {}, [5]),
        ({}, {"clean": {"power_0.1": 0.6}}, [7]),
        ({}, {"clean": {"power_0.1": 0.6, "null_05": 0.2}}, []),
    ],
)
def test_bars(
    load: Any, figures: dict[str, float], rival: dict[str, Any], missed: list[int]
) -> None:
    report = load("calibration_report")
    cases = [one for one in load("calibration_designs").CASES if one.name == "none"]
    row = {
        "spline": cell(**figures),
        "pooled": cell(),
        "clean": cell(**{"power_0.1": 0.2, **rival.get("clean", {})}),
    }
    found = report.summaries({("none", seed): row for seed in range(3)}, cases)
    verdicts = report.verdicts(found, cases, "spline")
    assert [place for place, (_, names, _) in enumerate(verdicts) if names] == missed


def test_a_stopped_run_goes_on_and_every_kind_of_rows_is_made(
    load: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="the report has figures")
    calibration = load("calibration")
    arguments = ["--cases", "p40-n60,no-confounder", "--methods", "pooled", "--seeds", "7:8"]
    calibration.main([*arguments, "--cache", str(tmp_path)])
    cells = sorted(tmp_path.rglob("*.json"))
    assert len(cells) == 2
    before = [path.stat().st_mtime_ns for path in cells]
    page = tmp_path / "page.md"
    arguments[-1] = "7:9"
    calibration.main([*arguments, "--cached", "--cache", str(tmp_path), "--output", str(page)])
    assert sorted(tmp_path.rglob("*.json")) == cells
    assert [path.stat().st_mtime_ns for path in cells] == before
    assert list(json.loads(cells[0].read_text())) == ["pooled"]
    assert "| no-confounder |" in page.read_text()
    assert page.with_suffix(".png").stat().st_size > 0
    assert "| p40-n60 |" in capsys.readouterr().out
    designs = load("calibration_designs")
    kinds = {}
    for case in designs.CASES:
        kinds.setdefault(case.rows, case)
    for case in kinds.values():
        data = case.data(1, None)
        assert np.isfinite(data.x).all()
        assert (data.confounder is None) == (case.rows == "without confounder")
        assert (data.groups is None) == (case.rows != "series")
