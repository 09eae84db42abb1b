from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.grams.node_grams import NodeGrams, profile_intercepts
from plaggm.core.lasso.path import (
    combine_nodewise,
    informative_rows,
    lambda_grid,
    lambda_max,
    pair_gradient,
    pair_noise,
)


def test_grid_is_glmnets() -> None:
    grid = lambda_grid(2.0, 5, n=100, p=10)
    np.testing.assert_allclose(grid, [2.0, 0.2, 0.02, 0.002, 0.0002])
    assert grid[0] == 2.0


def test_grid_ends_earlier_with_fewer_rows_than_coefficients() -> None:
    # n p rows against p (p + 1) / 2 coefficients.
    assert lambda_grid(1.0, 3, n=6, p=10)[-1] == pytest.approx(1e-4)
    assert lambda_grid(1.0, 3, n=5, p=10)[-1] == pytest.approx(1e-2)


def test_grid_ends_at_a_quarter_of_the_noise_with_few_rows_for_each_variable() -> None:
    assert lambda_grid(1.0, 3, n=19, p=10, noise=0.01)[-1] == pytest.approx(0.0025)
    assert lambda_grid(1.0, 3, n=4, p=10, noise=0.01)[-1] == pytest.approx(0.0025)
    assert lambda_grid(1.0, 3, n=19, p=10, noise=1e-6)[-1] == pytest.approx(1e-4)
    assert lambda_grid(1.0, 3, n=19, p=10, noise=1.0)[-1] == pytest.approx(0.05)
    assert lambda_grid(1.0, 3, n=20, p=10, noise=1.0)[-1] == pytest.approx(1e-4)


def test_noise_is_the_spread_of_gradients_without_edges() -> None:
    z = np.random.default_rng(0).standard_normal((400, 30))
    b = np.column_stack([z, np.ones(400)])
    grams = NodeGrams((b.T @ b / 400)[None], 400, np.zeros(30))
    slope = pair_gradient(profile_intercepts(grams), np.zeros((30, 30)))
    pairs = (slope + slope.T)[np.triu_indices(30, 1)]
    # Of independent variables both regressions have the same gradient: its variance is twice as large.
    assert pair_noise(grams) == pytest.approx(pairs.std() / np.sqrt(2.0), rel=0.1)


def test_grid_of_one_is_the_largest() -> None:
    np.testing.assert_array_equal(lambda_grid(0.7, 1, n=10, p=3), [0.7])


def test_and_keeps_the_smaller_and_or_the_larger() -> None:
    beta = np.array([[0.0, 0.3, 0.0], [-0.5, 0.0, 0.2], [0.1, 0.2, 0.0]])
    np.testing.assert_array_equal(
        combine_nodewise(beta, "and"), [[0.0, 0.3, 0.0], [0.3, 0.0, 0.2], [0.0, 0.2, 0.0]]
    )
    np.testing.assert_array_equal(
        combine_nodewise(beta, "or"), [[0.0, -0.5, 0.1], [-0.5, 0.0, 0.2], [0.1, 0.2, 0.0]]
    )


@pytest.mark.parametrize("rule", ["and", "or"])
def test_opposite_signs_of_one_size_still_give_a_symmetric_matrix(rule: str) -> None:
    beta = np.array([[0.0, 0.4], [-0.4, 0.0]])
    combined = combine_nodewise(beta[None], rule)[0]
    np.testing.assert_array_equal(combined, combined.T)
    assert abs(combined[0, 1]) == 0.4


@pytest.fixture
def grams() -> NodeGrams:
    t = np.random.default_rng(5).normal(size=(3, 30, 4))
    return NodeGrams(np.einsum("jia,jib->jab", t, t) / 30, 30, np.zeros(3))


def test_pair_gradient_by_its_definition(grams: NodeGrams) -> None:
    omega = np.random.default_rng(6).normal(size=(3, 3))
    centred = profile_intercepts(grams)
    gradient = pair_gradient(centred, omega)
    for j in range(3):
        coefficients = omega[:, j].copy()
        coefficients[j] = 0.0
        g = centred.grams[j]
        np.testing.assert_allclose(gradient[j], g @ coefficients - g[:, j], rtol=1e-12)


def test_lambda_max_is_the_steepest_slope_at_zero(grams: NodeGrams) -> None:
    gradient = pair_gradient(profile_intercepts(grams), np.zeros((3, 3)))
    both = [abs(gradient[j, k] + gradient[k, j]) for j in range(3) for k in range(j)]
    single = [abs(gradient[j, k]) for j in range(3) for k in range(3) if j != k]
    assert lambda_max(grams) == pytest.approx(max(both))
    # Node-wise problems carry half the penalty.
    assert lambda_max(grams, "or") == pytest.approx(2 * max(single))


def test_informative_rows_are_all_where_every_direction_is_seen() -> None:
    z = np.random.default_rng(0).standard_normal((60, 8))
    full = NodeGrams(np.cov(z.T, bias=True)[None].repeat(8, axis=0), 60, np.zeros(8))
    padded = np.zeros((8, 9, 9))
    padded[:, :8, :8] = full.grams
    assert informative_rows(NodeGrams(padded, 60, np.zeros(8))) == 60


def test_informative_rows_count_the_directions_that_are_left() -> None:
    # Three rows carry everything; the others were all removed.
    z = np.zeros((60, 8))
    z[:3] = 5.0 * np.random.default_rng(0).standard_normal((3, 8))
    grams = np.zeros((8, 9, 9))
    grams[:, :8, :8] = z.T @ z / 60
    assert informative_rows(NodeGrams(grams, 60, np.zeros(8))) == 3
