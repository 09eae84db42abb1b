"""What a fit usually takes is told from its sizes."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm import PLAGGM, PLAGGMCV
from plaggm.core.cost.fit_memory import FitSize, PathSize
from plaggm.core.cost.fit_time import duration, fit_seconds, usual_seconds


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 second"), (95.0, "2 minutes"), (5500.0, "2 hours")]
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize("kernel", [False, True])
def test_more_work_takes_longer(kernel: bool) -> None:
    for p in (20, 50, 500):
        usual = usual_seconds(1000, p, kernel=kernel)
        assert usual.single < usual.path < usual.adjusted
        assert usual.adjusted < usual_seconds(1000, 2 * p, kernel=kernel).adjusted


@pytest.mark.parametrize(
    ("path", "expected"),
    [(PathSize(), "single"), (PathSize(alphas=50), "path"), (PathSize(50, 10), "adjusted")],
)
def test_a_fit_is_counted_by_its_path(path: PathSize, expected: str) -> None:
    size = FitSize(800, 40, True, path)
    assert fit_seconds(size) == getattr(usual_seconds(800, 40, kernel=False), expected)


@pytest.mark.parametrize("estimator", [PLAGGM, PLAGGMCV])
def test_a_fit_says_what_it_takes_before_it_works(estimator, capsys) -> None:
    x = np.random.default_rng(0).standard_normal((60, 4))
    estimator(verbose=1).fit(x)
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(f"[{estimator.__name__}] usually takes about 1 second on two cores")
    assert "of memory" in first
