"""Models of missing cells from sums over complete rows."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.missing.cell_regressions import learn_cells, learn_prior
from plaggm.core.missing.cells import CellModel
from plaggm.core.spline.basis import SplineBasis
from plaggm.core.spline.statistics import spline_statistics


def model_of(x: np.ndarray) -> CellModel:
    b = np.column_stack([x, np.ones(len(x))])
    total, basis = spline_statistics(b, np.zeros((len(x), 0))), SplineBasis(())
    prior = learn_prior(total, basis, x.std(axis=0), 1.0)
    return learn_cells(total, basis, x.std(axis=0), prior)


def draws(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    precision = np.eye(5) + np.diag(np.full(4, -0.4), 1) + np.diag(np.full(4, -0.4), -1)
    rows = np.random.default_rng(seed).multivariate_normal(
        np.arange(5.0), np.linalg.inv(precision), n
    )
    return rows, precision


def test_many_rows_give_partial_correlations() -> None:
    x, precision = draws(4000)
    found = model_of(x)
    empirical = np.linalg.inv(np.cov(x.T))
    scale = np.sqrt(np.diagonal(empirical))
    expected = np.eye(5) - empirical / np.outer(scale, scale)
    np.testing.assert_allclose(found.effects[0], expected, atol=1e-6)
    np.testing.assert_allclose(found.deviation, 1.0, atol=0.05)
    # Means are reproduced: (I - P) mean = t in units of the deviations.
    mean = x.mean(axis=0) / found.deviation
    np.testing.assert_allclose(mean - found.effects[0] @ mean, found.shifts[0], atol=1e-8)
    assert precision.shape == (5, 5)


@pytest.mark.parametrize("n", [4, 8])
def test_few_rows_have_a_proper_model(n: int) -> None:
    x, _ = draws(n, seed=2)
    found = model_of(x)
    assert np.all(np.isfinite(found.effects))
    assert np.all(found.deviation > 0.0)
    assert np.abs(found.effects).max() < 1.0
