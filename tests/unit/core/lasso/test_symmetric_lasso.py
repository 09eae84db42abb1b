"""Long grids are followed in two halves."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.lasso import symmetric_lasso
from plaggm.core.lasso.optimality import kkt_residual
from plaggm.core.lasso.path import lambda_grid, lambda_max, solve_path


@pytest.fixture(scope="module")
def grams() -> NodeGrams:
    """Nodes with Grams of their own, as many as two threads are worth."""
    draw = np.random.default_rng(0)
    p, n = symmetric_lasso.FEW_VARIABLES, 150
    b = np.column_stack([draw.standard_normal((n, p)), np.ones(n)])
    b[:, 1:p] += 0.4 * b[:, : p - 1]
    weights = draw.uniform(0.5, 1.5, size=(p, n))
    return NodeGrams(np.einsum("jn,na,nb->jab", weights, b, b) / n, n, np.zeros(p))


def grid(grams: NodeGrams, count: int) -> np.ndarray:
    return lambda_grid(lambda_max(grams), count, grams.n, grams.p)


def test_threads_do_not_matter(grams: NodeGrams) -> None:
    alphas = grid(grams, symmetric_lasso.LONG_GRID)
    one, two = (solve_path(grams, alphas, n_threads=count) for count in (1, 2))
    np.testing.assert_array_equal(one.omega, two.omega)
    np.testing.assert_array_equal(one.gaps, two.gaps)


def test_halves_solve_the_same_problem(grams: NodeGrams, monkeypatch: pytest.MonkeyPatch) -> None:
    alphas = grid(grams, symmetric_lasso.LONG_GRID)
    cut = solve_path(grams, alphas, tol=1e-12)
    monkeypatch.setattr(symmetric_lasso, "LONG_GRID", len(alphas) + 1)
    whole = solve_path(grams, alphas, tol=1e-12)
    np.testing.assert_allclose(cut.omega, whole.omega, atol=1e-6)
    for omega, alpha in zip(cut.omega, alphas, strict=True):
        assert kkt_residual(grams, omega, alpha) < 1e-5 * alphas[0]
