"""Node Grams in factors are the same matrices as formed ones, and give the same network and tests."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.grams.factored_grams import FactoredGrams, LowRankGrams
from plaggm.core.grams.node_grams import (
    NodeGrams,
    intercepts,
    path_residuals,
    profile_intercepts,
)
from plaggm.core.grams.unexplained_energy import unexplained_energy
from plaggm.core.inference.desparsified import desparsified_tests
from plaggm.core.lasso.path import informative_rows, lambda_max, pair_gradient, solve_path
from plaggm.core.profile.spline import factored_node_grams, formed_node_grams, profile_spline
from plaggm.core.spline.statistics import spline_statistics
from plaggm.core.spline.system import SplineSystem, spline_system
from plaggm.core.variance.conditional import conditional_scale

P, N = 9, 240
# Of entries of size one: the factors are rounded in another order.
SAME = 1e-10


@pytest.fixture(scope="module")
def system() -> SplineSystem:
    draw = np.random.default_rng(3)
    g = draw.uniform(-1.0, 1.0, N)
    z = draw.standard_normal((N, P))
    z[:, 1:] += 0.4 * z[:, :-1] + 0.5 * np.maximum(g, 0.0)[:, None] * z[:, :1] + 0.3
    phi = np.column_stack([np.maximum(g, 0.0), np.maximum(-g, 0.0)])
    return spline_system(spline_statistics(np.column_stack([z, np.ones(N)]), phi), np.eye(2))


@pytest.fixture(scope="module")
def both(system: SplineSystem) -> tuple[NodeGrams, FactoredGrams]:
    fit = profile_spline(system, np.array([0.05, 0.4]))
    return formed_node_grams(system, fit), factored_node_grams(system, fit)


def test_the_matrices_are_the_same(both: tuple[NodeGrams, FactoredGrams]) -> None:
    formed, factored = both
    vectors = np.random.default_rng(0).standard_normal((3, P + 1, P))
    for j in range(P):
        np.testing.assert_allclose(factored.node(j), formed.node(j), atol=SAME)
    for member in ("responses", "diagonals", "last_rows"):
        np.testing.assert_allclose(
            getattr(factored, member)(), getattr(formed, member)(), atol=SAME
        )
    np.testing.assert_allclose(
        factored.quadratic_forms(vectors), formed.quadratic_forms(vectors), rtol=SAME
    )
    np.testing.assert_array_equal(factored.smoother_trace, formed.smoother_trace)


def test_they_are_rescaled_and_centred_alike(both: tuple[NodeGrams, FactoredGrams]) -> None:
    scale = np.linspace(0.5, 2.0, P)
    formed, factored = (one.rescaled(scale) for one in both)
    dense, thin = profile_intercepts(formed), profile_intercepts(factored)
    columns = np.array([0, 2, 5])
    vector = np.linspace(-1.0, 1.0, P)
    for j in range(P):
        np.testing.assert_allclose(thin.node(j), dense.node(j), atol=SAME)
        np.testing.assert_allclose(thin.block(j, columns), dense.block(j, columns), atol=SAME)
        np.testing.assert_allclose(
            thin.node_product(j, vector), dense.node_product(j, vector), atol=SAME
        )
    omega = np.random.default_rng(1).standard_normal((P, P))
    np.testing.assert_allclose(thin.mean(), dense.grams.mean(axis=0), atol=SAME)
    np.testing.assert_allclose(pair_gradient(thin, omega), pair_gradient(dense, omega), atol=SAME)
    np.testing.assert_allclose(unexplained_energy(thin), unexplained_energy(dense), atol=SAME)
    np.testing.assert_allclose(thin.responses(), dense.responses(), atol=SAME)
    np.testing.assert_allclose(intercepts(factored, omega), intercepts(formed, omega), atol=SAME)
    np.testing.assert_allclose(
        path_residuals(factored, omega[None]), path_residuals(formed, omega[None]), rtol=SAME
    )


def test_networks_and_tests_agree(both: tuple[NodeGrams, FactoredGrams]) -> None:
    formed, factored = both
    largest = lambda_max(formed)
    assert lambda_max(factored) == pytest.approx(largest, rel=SAME)
    assert informative_rows(factored) == informative_rows(formed)
    alphas = largest * np.array([0.9, 0.5, 0.1, 0.01])
    for symmetry in ("joint", "and"):
        one, other = (
            solve_path(grams, alphas, symmetry=symmetry, tol=1e-13) for grams in (formed, factored)
        )
        np.testing.assert_allclose(other.omega, one.omega, atol=1e-6)
        assert other.gaps.max() <= 1e-13
    np.testing.assert_allclose(
        conditional_scale(factored, "joint"), conditional_scale(formed, "joint"), rtol=1e-3
    )
    np.testing.assert_allclose(
        desparsified_tests(factored).p_value, desparsified_tests(formed).p_value, atol=1e-6
    )


def test_sparse_and_dense_vectors_have_the_same_products() -> None:
    draw = np.random.default_rng(2)
    gram = draw.standard_normal((40, 40))
    factor = draw.standard_normal((40, 2, 40))
    grams = LowRankGrams(gram + gram.T, factor, factor)
    vectors = np.where(draw.uniform(size=(40, 40)) < 0.03, 1.5, 0.0)
    expected = np.stack([grams.node(j) @ vectors[j] for j in range(40)])
    np.testing.assert_allclose(grams.products(vectors), expected, atol=SAME)


def test_a_column_that_only_rounding_is_left_of_is_removed() -> None:
    draw = np.random.default_rng(4)
    b = np.column_stack([draw.standard_normal((50, 3)), np.full(50, 2.0), np.ones(50)])
    none = np.zeros((4, 0, 5))
    grams = FactoredGrams(LowRankGrams(b.T @ b / 50, none, none), 50, np.zeros(4))
    centred = profile_intercepts(grams)
    assert not centred.node(0)[3].any()
    assert np.all(centred.diagonals()[:, :3] > 0.5)
