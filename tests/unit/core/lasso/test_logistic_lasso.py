"""The logistic lasso: its optimality conditions and a literal twin."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from plaggm.core.lasso.logistic_lasso import TOL, glmnet_parts, logistic_lasso, path_aic

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
@pytest.mark.parametrize("mixing", [1.0, 0.5, 0.1])
def test_optimality_conditions(n, k, effect, mixing):
    x, y = problem(n, k, effect, seed=1)
    path = logistic_lasso(x, y, PARTS, mixing)
    largest = np.abs(x.T @ (y - y.mean())).max()
    np.testing.assert_allclose(path.levels, PARTS * largest / mixing)
    for weights, intercept, part in zip(path.weights, path.intercepts, PARTS, strict=True):
        residual = expit(x @ weights + intercept) - y
        slope, level = x.T @ residual, part * largest
        # The ridge's slope; the lasso's part of the penalty is the level.
        slope = slope + (1.0 - mixing) / mixing * level * weights
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


@pytest.mark.parametrize("mixing", [0.3, 0.8])
def test_elastic_net_is_that_of_scikit_learn(mixing):
    # The name of the penalty follows from l1_ratio since 1.8.
    named = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)
    x, y = problem(60, 8, 1.0, seed=3)
    path = logistic_lasso(x, y, PARTS, mixing)
    for step in (0, 4, 7):
        other = LogisticRegression(
            solver="saga",
            l1_ratio=mixing,
            C=1.0 / path.levels[step],
            tol=1e-10,
            max_iter=100_000,
            random_state=0,
            **({"penalty": "elasticnet"} if named else {}),
        ).fit(x, y)
        np.testing.assert_allclose(path.weights[step], other.coef_[0], atol=1e-5)
        assert path.intercepts[step] == pytest.approx(other.intercept_[0], abs=1e-5)


def test_mixing_is_checked():
    x, y = problem(20, 3, 1.0, seed=1)
    with pytest.raises(ValueError, match="mixing must be above 0"):
        logistic_lasso(x, y, PARTS, 0.0)


def test_aic_counts_the_coefficients_in_use():
    x, y = problem(60, 8, 1.0, seed=4)
    path = logistic_lasso(x, y, PARTS)
    for step, found in enumerate(path_aic(x, y, path)):
        chance = expit(x @ path.weights[step] + path.intercepts[step])
        loss = -np.sum(np.log(np.where(y == 1, chance, 1.0 - chance)))
        used = np.count_nonzero(path.weights[step])
        assert found == pytest.approx(2.0 * loss + 2.0 * (1 + used))


def test_aic_of_the_elastic_net_charges_less_for_shrunk_coefficients():
    x, y = problem(60, 8, 1.0, seed=4)
    path = logistic_lasso(x, y, PARTS, 0.5)
    step = len(PARTS) - 1
    eta = x @ path.weights[step] + path.intercepts[step]
    curvature = expit(eta) * expit(-eta)
    used = path.weights[step] != 0.0
    # The trace of the hat matrix of the last weighted ridge regression, its intercept included.
    design = np.column_stack([np.ones(len(x)), x[:, used]])
    gram = design.T @ (curvature[:, None] * design)
    penalty = np.diag(np.append(0.0, np.full(used.sum(), 0.5 * path.levels[step])))
    trace = np.trace(np.linalg.solve(gram + penalty, gram))
    loss = np.sum(np.logaddexp(0.0, eta) - y * eta)
    assert path_aic(x, y, path)[step] == pytest.approx(2.0 * loss + 2.0 * trace, rel=1e-6)
    assert trace < 1 + used.sum()


def test_grid_is_that_of_glmnet():
    few, many = glmnet_parts(50, 100), glmnet_parts(100, 100)
    assert len(few) == len(many) == 100
    assert few[0] == many[0] == 1.0
    np.testing.assert_allclose([few[-1], many[-1]], [1e-2, 1e-4])


def test_path_ends_where_the_deviance_is_explained():
    x, y = problem(20, 8, 20.0, seed=1)
    parts = np.geomspace(1.0, 1e-4, 40)
    whole = logistic_lasso(x, y, parts[:25])
    path = logistic_lasso(x, y, parts, most_explained=0.9)
    eta = path.weights @ x.T + path.intercepts[:, None]
    explained = 1.0 - np.sum(np.logaddexp(0.0, eta) - y * eta, axis=1) / (len(y) * np.log(2.0))
    end = int(np.argmax(explained >= 0.9))
    assert 0 < end < 25
    np.testing.assert_allclose(path.weights[: end + 1], whole.weights[: end + 1], atol=1e-10)
    np.testing.assert_array_equal(path.weights[end:], np.tile(path.weights[end], (40 - end, 1)))
    assert path.violation <= 1.001 * TOL
