"""The logistic lasso: its optimality conditions and a literal twin."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from plaggm.core.logistic_lasso import TOL, logistic_lasso

PARTS = np.geomspace(0.9, 0.05, 8)


def problem(n: int, k: int, effect: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [n // 2, n - n // 2])
    x = rng.standard_normal((n, k))
    x[:, 0] += effect * y
    return x - x.mean(axis=0), y


def proximal_gradient(x: np.ndarray, y: np.ndarray, level: float) -> tuple[np.ndarray, float]:
    """The textbook's steps of fixed length, until they no longer move."""
    design = np.column_stack([x, np.ones(len(x))])
    length = 4.0 / np.linalg.norm(design, 2) ** 2
    b = np.zeros(design.shape[1])
    for _ in range(200_000):
        new = b - length * design.T @ (expit(design @ b) - y)
        new[:-1] = np.sign(new[:-1]) * np.maximum(np.abs(new[:-1]) - length * level, 0.0)
        if np.abs(new - b).max() < 1e-12:
            break
        b = new
    return b[:-1], b[-1]


# More rows than columns, more columns than rows, and classes that one column separates.
@pytest.mark.parametrize(("n", "k", "effect"), [(60, 5, 1.0), (40, 300, 0.5), (20, 8, 20.0)])
def test_optimality_conditions(n, k, effect):
    x, y = problem(n, k, effect, seed=1)
    path = logistic_lasso(x, y, PARTS)
    largest = np.abs(x.T @ (y - y.mean())).max()
    for weights, intercept, part in zip(path.weights, path.intercepts, PARTS, strict=True):
        residual = expit(x @ weights + intercept) - y
        slope, level = x.T @ residual, part * largest
        used = weights != 0.0
        # Twice, since the sums are formed in another order.
        assert abs(residual.sum()) <= 2 * TOL * largest
        assert np.all(np.abs(slope[~used]) <= level + 2 * TOL * largest)
        assert np.abs(slope[used] + level * np.sign(weights[used])).max() <= 2 * TOL * largest
    assert path.violation <= TOL
    assert np.count_nonzero(path.weights[-1]) >= np.count_nonzero(path.weights[0]) > 0


def test_literal_twin():
    x, y = problem(30, 6, 1.0, seed=2)
    path = logistic_lasso(x, y, PARTS)
    largest = np.abs(x.T @ (y - y.mean())).max()
    for step in (0, 4, 7):
        weights, intercept = proximal_gradient(x, y, PARTS[step] * largest)
        np.testing.assert_allclose(path.weights[step], weights, atol=1e-5)
        assert path.intercepts[step] == pytest.approx(intercept, abs=1e-5)


def test_columns_that_say_nothing():
    y = np.array([0, 0, 0, 1])
    path = logistic_lasso(np.zeros((4, 3)), y, PARTS)
    assert not path.weights.any()
    np.testing.assert_allclose(expit(path.intercepts), 0.25)
