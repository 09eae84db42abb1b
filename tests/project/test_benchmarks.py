"""Benchmarks that run for long are tried on small problems, so that changes of the package reach them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="benchmarks/ is not shipped")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


@cache
def measured(rate: Callable[[], float]) -> float:
    """Operations a second of this machine: a second of large matrix products."""
    return rate()


@pytest.mark.parametrize(("indicator", "form"), [("ramp", "supplement"), ("soft", "lemma")])
def test_profile_and_path_are_set_beside_the_flop_limit(
    load: Any, monkeypatch: pytest.MonkeyPatch, indicator: str, form: str
) -> None:
    run = load("run")
    monkeypatch.setattr(run, "gemm_rate", partial(measured, run.gemm_rate))
    found = run.bench_fit(6, 150, 100.0, indicator, form)
    assert found["path not converged"] == 0
    assert found["(profile + path) / limit"] > found["profile / limit"] > 0.0


class TestFewRows:
    def test_a_hub_has_as_many_edges_as_it_says(self, load: Any) -> None:
        few = load("few_rows")
        design = few.Design(24, 60, "batch", "hub", "factor")
        edges = few.make(design, 1).support.sum(axis=0)
        assert edges[[0, 8, 16]].tolist() == [few.HUB - 1] * 3
        assert np.delete(edges, [0, 8, 16]).tolist() == [1] * 21

    def test_departures_from_the_average_over_ages_cancel(self, load: Any) -> None:
        few = load("few_rows")
        design = few.Design(5, 40_000, "age", "scale-free", "sparse")
        data = few.make(design, 1)
        slope = np.polyfit(data.confounder["age"], data.x, 1)[0]
        assert np.abs(data.x.mean(axis=0)).max() < 0.05
        assert np.abs(slope).max() > 0.005

    def test_cells_are_read_back_into_the_table(
        self, load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        few = load("few_rows")
        design = replace(few.DESIGNS[1], p=16, n=200)
        monkeypatch.setattr(few, "DESIGNS", (design,))
        monkeypatch.setattr(few, "PENALTIES", 5)
        few.run(design, 1, tmp_path)
        before = (tmp_path / f"{design.name}-1.json").read_text()
        few.run(design, 1, tmp_path)
        assert (tmp_path / f"{design.name}-1.json").read_text() == before
        heading, _, row = few.summary(tmp_path, range(1, 3))
        assert row.startswith(f"| {design.name} | 1 |")
        assert heading.count("|") == row.count("|")
