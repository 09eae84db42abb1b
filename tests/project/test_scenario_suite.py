"""The arithmetic of the scenario suite in benchmarks/, and its cache."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="benchmarks/ is not shipped")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


@pytest.fixture
def report(load: Any) -> ModuleType:
    return load("scenario_report")


def cells_of(scores: dict[str, list[float]]) -> dict[tuple[str, int, str], dict[str, Any]]:
    return {
        ("one", seed, method): {"best": value, "selected": value - 0.1}
        for method, values in scores.items()
        for seed, value in enumerate(values)
        if np.isfinite(value)
    }


class TestGains:
    def test_the_best_related_method_is_that_with_the_largest_mean(
        self, report: ModuleType
    ) -> None:
        cells = cells_of({"spline": [0.9, 0.8], "lr": [0.95, 0.6], "tv": [0.8, 0.8]})
        (gain,) = report.gains(cells, "spline", ["one"], ["lr", "tv"], {"one": [0, 1]}, "best")
        assert gain.related == "tv"
        assert gain.mean == pytest.approx(0.05)
        # Differences 0.1 and 0: standard deviation 0.1 / sqrt(2), of a mean of two.
        assert gain.standard_error == pytest.approx(0.05)

    def test_a_related_method_that_failed_once_is_none(self, report: ModuleType) -> None:
        cells = cells_of({"spline": [0.9, 0.9], "lr": [0.99, np.nan], "tv": [0.8, 0.8]})
        (gain,) = report.gains(cells, "spline", ["one"], ["lr", "tv"], {"one": [0, 1]}, "best")
        assert gain.related == "tv"

    def test_no_bar_forgives_a_failure_of_the_method_itself(self, report: ModuleType) -> None:
        cells = cells_of({"spline": [0.9, np.nan], "tv": [0.8, 0.8]})
        found = {
            score: report.gains(cells, "spline", ["one"], ["tv"], {"one": [0, 1]}, score)
            for score in report.SCORES
        }
        assert [met for _, met in report.verdicts(found)] == [False, False, False]


def test_default_networks_are_counted_against_the_best_related_method(report: ModuleType) -> None:
    f1 = {"spline": (0.5, 0.4), "lr": (0.3, 0.3), "tv": (0.5, 0.6)}
    cells = {
        (scenario, 0, method): {"f1": value}
        for method, values in f1.items()
        for scenario, value in zip(("even", "behind"), values, strict=True)
    }
    seeds = {"even": [0], "behind": [0]}
    said = report.network_verdict(cells, "spline", list(seeds), ["lr", "tv"], seeds)
    assert "in 1 of 2 scenarios" in said
    assert "behind -0.200 ± nan (tv)" in said
    assert "even" not in said


@pytest.mark.parametrize(
    ("best", "selected", "met"),
    [
        ([0.05, -0.009], [0.0, -0.009], [True, True, True]),
        ([0.05, -0.011], [0.0, 0.0], [False, False, True]),
        ([0.02, 0.01], [0.0, -0.02], [True, False, False]),
    ],
)
def test_verdicts(
    report: ModuleType, best: list[float], selected: list[float], met: list[bool]
) -> None:
    found = {
        score: [report.Gain(str(k), "tv", value, 0.0) for k, value in enumerate(values)]
        for score, values in {"best": best, "selected": selected}.items()
    }
    assert [passed for _, passed in report.verdicts(found)] == met


def test_scenarios_have_both_kinds_of_samples(load: Any) -> None:
    designs = load("scenario_designs")
    names = [scenario.name for scenario in designs.SCENARIOS]
    assert len(set(names)) == len(names)
    assert set(designs.QUICK) <= set(names)
    for scenario in designs.SCENARIOS:
        if scenario.needs_files or scenario.settings["p"] > 20:
            continue
        data = scenario.data(200, None)
        g = data.confounder.reshape(len(data.x), -1)
        clean = np.all(np.abs(g) <= data.threshold, axis=1)
        assert 10 <= clean.sum() < len(g), scenario.name
        assert 0 < data.support.sum() < data.support.size - len(data.support), scenario.name


def test_smaller_networks_have_more_seeds(load: Any) -> None:
    scenarios, designs = load("scenarios"), load("scenario_designs")
    by_name = {scenario.name: scenario for scenario in designs.SCENARIOS}
    options = scenarios.arguments([])
    assert scenarios.seeds_of(by_name["strong"], options) == list(range(500, 510))
    # 45 pairs against 190.
    assert len(scenarios.seeds_of(by_name["small"], options)) == 43
    assert scenarios.seeds_of(by_name["small"], scenarios.arguments(["--seeds", "3,2"])) == [2, 3]
    assert len(scenarios.seeds_of(by_name["small"], scenarios.arguments(["--quick"]))) == 2


class TestCommand:
    def run(self, load: Any, folder: Path, *more: str) -> list[Path]:
        fixed = ["--scenarios", "small", "--seeds", "200", "--methods", "pooled"]
        load("scenarios").main([*fixed, "--cache", str(folder), *more])
        return sorted(folder.rglob("*.json"))

    def test_cells_are_kept_and_labelled(
        self, load: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (cell,) = self.run(load, tmp_path)
        row = json.loads(cell.read_text())
        assert row["f1"] > 0.0
        assert row["fdp"] == pytest.approx(1.0 - row["precision"])
        assert row["f1"] == pytest.approx(
            2.0 * row["precision"] * row["recall"] / (row["precision"] + row["recall"])
        )
        written = cell.stat().st_mtime_ns
        assert self.run(load, tmp_path) == [cell]
        assert cell.stat().st_mtime_ns == written
        assert len(self.run(load, tmp_path, "--tag", "again")) == 2
        # Nothing has changed, so the labelled cell agrees.
        assert "+0.000 ± nan" in capsys.readouterr().out
        self.run(load, tmp_path, "--fresh")
        assert cell.stat().st_mtime_ns > written

    def test_real_motion_is_skipped_with_a_word(
        self, load: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        more = ["--scenarios", "cobre-fd", "--data", str(tmp_path)]
        assert self.run(load, tmp_path, *more) == []
        assert "Skipped cobre-fd" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "wrong",
        [
            ["--scenarios", "nowhere"],
            ["--methods", ""],
            ["--seeds", "a"],
            ["--tag", "a/b"],
            ["--jobs", "0"],
        ],
    )
    def test_wrong_arguments(self, load: Any, tmp_path: Path, wrong: list[str]) -> None:
        with pytest.raises(SystemExit) as caught:
            self.run(load, tmp_path, *wrong)
        assert caught.value.code not in (0, None)
