"""Shrunk networks against the literal solution over all pairs."""

import numpy as np
import pytest

from plaggm.core.grams.common_grams import CommonGrams
from plaggm.core.grams.node_grams import NodeGrams, path_residuals
from plaggm.core.lasso.symmetric_ridge import ridge_path

N, P = 60, 5


@pytest.fixture(scope="module")
def grams():
    """Weighted regressions of responses on other columns, which do not have mean zero."""
    rng = np.random.default_rng(3)
    b = np.column_stack([rng.standard_normal((N, P)) + 0.5, np.ones(N)])
    y, w = b[:, :P] + 0.3 * rng.standard_normal((N, P)), rng.random(N) + 0.5
    weighted = b * w[:, None]
    own = np.mean(w[:, None] * y**2, axis=0)
    return CommonGrams(weighted.T @ b / N, y.T @ weighted / N, own, N, np.zeros(P))


def literal(formed, strength, target):
    """Least squares over all pairs and intercepts, one row of the normal equations for each."""
    pairs = [(j, k) for j in range(P) for k in range(j + 1, P)]
    size = len(pairs) + P
    gram, right = np.zeros((size, size)), np.zeros(size)
    for j in range(P):
        place = {P: len(pairs) + j}
        place |= {k: pairs.index((min(j, k), max(j, k))) for k in range(P) if k != j}
        node = formed.node(j)
        for k, row in place.items():
            right[row] += node[k, j]
            for other, column in place.items():
                gram[row, column] += node[k, other]
    for row, (j, k) in enumerate(pairs):
        gram[row, row] += 2.0 * strength
        right[row] += 2.0 * strength * target[j, k]
    solved = np.linalg.solve(gram, right)
    omega = np.diag(solved[len(pairs) :])
    for value, (j, k) in zip(solved, pairs, strict=False):
        omega[j, k] = omega[k, j] = value
    return omega


def test_the_path_solves_the_normal_equations(grams):
    rng = np.random.default_rng(4)
    target = rng.standard_normal((P, P))
    target += target.T
    strengths = np.array([5.0, 0.1, 1e-3])
    for given in (grams, grams.formed()):
        found = ridge_path(given, strengths, target, tol=1e-12)
        for omega, strength in zip(found, strengths, strict=True):
            np.testing.assert_allclose(omega, literal(grams.formed(), strength, target), atol=1e-9)


def test_one_matrix_serves_all_nodes_where_the_response_is_the_column():
    rng = np.random.default_rng(5)
    b = np.column_stack([rng.standard_normal((N, P)), np.ones(N)])
    single = NodeGrams((b.T @ b / N)[None], N, np.zeros(P))
    found = ridge_path(single, np.array([0.2]), tol=1e-12)[0]
    np.testing.assert_allclose(found, literal(single, 0.2, np.zeros((P, P))), atol=1e-9)


def test_strong_penalties_give_the_target(grams):
    target = np.full((P, P), 0.2)
    found = ridge_path(grams, np.array([1e8]), target)[0]
    off = ~np.eye(P, dtype=bool)
    np.testing.assert_allclose(found[off], target[off], atol=1e-6)


def test_common_grams_are_those_that_are_formed(grams):
    formed, scale = grams.formed(), np.linspace(0.5, 2.0, P)
    for ours, theirs in ((grams, formed), (grams.rescaled(scale), formed.rescaled(scale))):
        np.testing.assert_allclose(ours.formed().grams, theirs.grams)
        np.testing.assert_allclose(ours.last_rows(), theirs.last_rows())
        np.testing.assert_allclose(ours.responses(), theirs.responses())
        np.testing.assert_allclose(ours.diagonals(), theirs.diagonals())
        np.testing.assert_allclose(ours.node(2), theirs.node(2))
        omega = ridge_path(ours, np.array([0.3, 0.1]))
        np.testing.assert_allclose(path_residuals(ours, omega), path_residuals(theirs, omega))
    assert grams.with_trace(np.ones(P)).smoother_trace.sum() == P
