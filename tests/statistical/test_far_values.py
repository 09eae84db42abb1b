"""Does robust="winsor" keep the tests' promises, on seeds that nothing was settled on?"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER.exists(), reason="benchmarks/ is not shipped"),
]

SETS = 15


@pytest.fixture
def scores(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("far_values").scores


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "design", ["t rows, strong", "t noise, none", "1 % of cells, mean + variance"]
)
def test_null_share_and_false_discoveries_hold(scores, design):
    found = np.array([scores(design, 31_000 + seed, "winsor") for seed in range(SETS)])
    null, _, false, _ = found.mean(axis=0)
    assert 0.02 <= null <= 0.07
    assert false <= 0.05 + 2.0 * found[:, 2].std() / np.sqrt(SETS)


@pytest.mark.filterwarnings("ignore")
def test_edges_that_outliers_make_go_and_those_that_they_hide_return(scores):
    spoilt, mended = (
        np.mean([scores("splits, none", 32_000 + seed, robust) for seed in range(SETS)], axis=0)
        for robust in (None, "winsor")
    )
    assert spoilt[2] > 0.2
    assert mended[2] < 0.08
    assert mended[1] > 1.5 * spoilt[1]


def test_gaussian_data_lose_next_to_nothing(scores):
    for design in ("Gaussian, none", "Gaussian, strong"):
        plain, pulled = (
            np.mean([scores(design, 33_000 + seed, robust) for seed in range(SETS)], axis=0)
            for robust in (None, "winsor")
        )
        assert pulled[3] > 0.98 * plain[3]
        assert pulled[1] > 0.98 * plain[1] - 0.005
