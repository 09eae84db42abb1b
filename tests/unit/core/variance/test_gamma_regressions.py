"""Gamma regressions of many columns against their optimality conditions and a general optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from plaggm.array_types import Array
from plaggm.core.variance import gamma_regressions as module
from plaggm.core.variance.gamma_regressions import SHRINKAGE, TOLERANCE, GammaRegressions


def objective(slopes: Array, design: Array, energy: Array) -> float:
    fitted = design @ slopes
    return float(
        np.sum(energy * np.exp(-fitted) + fitted) + SHRINKAGE / 2.0 * slopes[1:] @ slopes[1:]
    )


@pytest.fixture
def design() -> Array:
    draw = np.random.default_rng(0)
    return np.column_stack([np.ones(300), draw.normal(size=300), draw.exponential(size=300)])


def test_true_slopes_are_found() -> None:
    draw = np.random.default_rng(1)
    design = np.column_stack([np.ones(50_000), draw.uniform(size=50_000)])
    slopes = np.array([[0.3, -1.0], [0.0, 2.0]])
    energy = np.exp(design @ slopes) * draw.chisquare(1, (50_000, 2))
    found = GammaRegressions.on(design).slopes(energy)
    np.testing.assert_allclose(design @ found, design @ slopes, atol=0.1)


def test_every_column_is_at_the_minimum(design: Array) -> None:
    draw = np.random.default_rng(2)
    energy = draw.standard_t(4, size=(300, 5)) ** 2 * np.exp(design[:, 1:2])
    found = GammaRegressions.on(design).slopes(energy)
    for column in range(5):
        best = minimize(
            objective, np.zeros(3), args=(design, energy[:, column]), method="BFGS", tol=1e-9
        )
        np.testing.assert_allclose(found[:, column], best.x, atol=10.0 * TOLERANCE)


def test_a_start_changes_nothing(design: Array) -> None:
    energy = np.random.default_rng(3).chisquare(1, (300, 4))
    regressions = GammaRegressions.on(design)
    found = regressions.slopes(energy)
    other = regressions.slopes(energy, found + 0.5)
    np.testing.assert_allclose(other, found, atol=10.0 * TOLERANCE)


def test_columns_far_from_the_expected_hessian_are_finished_by_the_actual_one() -> None:
    """A function that one row with a large square shares with many rows whose squares are tiny."""
    n = 31
    design = np.column_stack([np.ones(400), np.r_[40.0, np.full(n, 12.0), np.zeros(400 - n - 1)]])
    energy = np.ones((400, 2))
    energy[0, 0], energy[1 : n + 1, 0] = 10.0, 1e-6
    found = GammaRegressions.on(design).slopes(energy)
    for column in range(2):
        ratio = energy[:, column] * np.exp(-design @ found[:, column])
        shrunk = np.array([0.0, SHRINKAGE]) * found[:, column]
        gradient = design.T @ (1.0 - ratio) + shrunk
        assert np.abs(gradient).max() < 1e-3 * np.abs(design).sum(axis=0).max()


def test_columns_left_by_few_steps_are_the_same(
    design: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    energy = np.random.default_rng(4).chisquare(1, (300, 4))
    expected = GammaRegressions.on(design).slopes(energy)
    monkeypatch.setattr(module, "SCORING_STEPS", 1)
    found = GammaRegressions.on(design).slopes(energy)
    np.testing.assert_allclose(found, expected, atol=10.0 * TOLERANCE)
