"""Memory is judged before the work: close to what a fit takes, and at once."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plaggm import PLAGGM, PLAGGMCV
from plaggm.core.cost.fit_memory import FitSize, InsufficientMemoryError, PathSize, check_fit_memory
from plaggm.estimators import walk
from plaggm.memory import GIGABYTES
from plaggm.related import GGM, TVGGM

N, P = 300, 60
# Small fits have parts that do not grow with p^3; see docs/decisions.md for larger ones.
LEAST, MOST = 0.9, 1.7


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((N, P))


@pytest.fixture(scope="module")
def g() -> np.ndarray:
    return np.random.default_rng(1).standard_normal(N)


@pytest.mark.filterwarnings("ignore:The lasso did not reach")
@pytest.mark.parametrize(
    ("model", "confounded"),
    [
        (PLAGGM(0.3, threshold=0.7, n_jobs=1), True),
        (PLAGGMCV(alphas=3, cv=3, threshold=0.7, max_iter=20, n_jobs=1), True),
        (PLAGGM(0.3, smoother="kernel", threshold=0.7, bandwidth=3.0, ridge=0.01, n_jobs=1), True),
        (PLAGGMCV(alphas=100, cv=3, max_iter=3, n_jobs=1), False),
        (PLAGGM(0.3, threshold=0.7, family="binomial", n_jobs=1), True),
    ],
    ids=["spline", "folds", "kernel", "plain", "family"],
)
def test_the_estimate_is_close(
    x: np.ndarray, g: np.ndarray, model: Any, confounded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = g if confounded else None
    if model.family != "gaussian":
        x = (x[:, :40] > 0.0).astype(float)
    # Compiled and cached before it counts.
    model.fit(x[:, :4], confounder=values)
    asked: list[FitSize] = []
    monkeypatch.setattr(walk, "check_fit_memory", asked.append)
    tracemalloc.start()
    try:
        model.fit(x, confounder=values)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert LEAST * peak <= asked[0].peak_bytes() <= MOST * peak


class TestRefusal:
    @pytest.fixture(autouse=True)
    def _little_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(GIGABYTES, "0.001")

    def test_what_would_fit_is_said(self, x: np.ndarray, g: np.ndarray) -> None:
        with pytest.raises(InsufficientMemoryError) as caught:
            PLAGGMCV().fit(x, confounder=g)
        message = str(caught.value)
        assert message.startswith("A fit of 60 variables takes about ")
        assert "and 1 MB are free: about " in message
        assert "PLAGGM_MEMORY_GB" in message
        # Both kinds of handlers find it.
        assert isinstance(caught.value, MemoryError)
        assert isinstance(caught.value, ValueError)

    def test_every_way_to_fit_asks_first(self, x: np.ndarray, g: np.ndarray) -> None:
        halves = [(x[:150], g[:150]), (x[150:], g[150:])]
        for refused in (
            lambda: PLAGGM(threshold=0.7).fit_chunks(halves),
            lambda: PLAGGM(threshold=0.7).partial_fit(x, confounder=g),
            lambda: GGM().fit(x),
            lambda: TVGGM(target="average").fit(x, confounder=g),
            lambda: PLAGGM(smoother="kernel").fit(x, confounder=g),
        ):
            with pytest.raises(InsufficientMemoryError):
                refused()

    def test_small_fits_are_not_refused(self, x: np.ndarray) -> None:
        PLAGGM(0.3).fit(x[:40, :5])


class TestSizes:
    size = FitSize(
        500, 400, True, PathSize(alphas=100, splits=10, jobs=8), functions=2, formed=True
    )

    def test_the_number_of_variables_is_the_largest(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(GIGABYTES, "2")
        with pytest.raises(InsufficientMemoryError) as caught:
            check_fit_memory(self.size)
        fits = int(str(caught.value).split("about ")[-1].split()[0])
        assert replace(self.size, p=fits).peak_bytes() <= 2e9
        assert replace(self.size, p=fits + 1).peak_bytes() > 2e9

    def test_fewer_jobs_or_no_folds_are_named_where_they_help(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for free, expected in (
            ("6", "with n_jobs=1 it would take"),
            ("3", "with criterion='ebic'"),
        ):
            monkeypatch.setenv(GIGABYTES, free)
            with pytest.raises(InsufficientMemoryError, match=expected):
                check_fit_memory(self.size)

    def test_enough_memory_is_no_matter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(GIGABYTES, "1000")
        check_fit_memory(self.size)

    def test_factors_take_a_small_part_of_formed_matrices(self) -> None:
        for p in (200, 400, 1000):
            formed = replace(self.size, p=p)
            assert replace(formed, formed=False).peak_bytes() < 0.6 * formed.peak_bytes()
        # docs/scale.md promises a thousand variables in 4 GB.
        path = PathSize(alphas=50)
        assert FitSize(1000, 1000, True, path, functions=1, bins=32).peak_bytes() < 4e9
