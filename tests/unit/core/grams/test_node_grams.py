from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.grams.node_grams import (
    NodeGrams,
    fill_intercepts,
    intercepts,
    path_residuals,
    profile_intercepts,
    residual_variances,
)
from plaggm.core.grams.unexplained_energy import unexplained_energy
from plaggm.core.profile.pooled import profile_pooled

# Well-conditioned least squares by normal equations.
ACCURACY = 1e-11
N, P = 60, 4


@pytest.fixture(scope="module")
def designs() -> np.ndarray:
    """Transformed columns T_j of every node, shape (p, n, q); node j's column j is its response."""
    rng = np.random.default_rng(11)
    t = rng.normal(size=(P, N, P + 1)) @ rng.normal(size=(P + 1, P + 1)) + 0.5
    t[:, :, -1] = rng.uniform(0.2, 1.0, (P, N))
    return t


@pytest.fixture(scope="module")
def grams(designs: np.ndarray) -> NodeGrams:
    return NodeGrams(np.einsum("jia,jib->jab", designs, designs) / N, N, np.zeros(P))


@pytest.fixture(scope="module")
def omega() -> np.ndarray:
    a = np.random.default_rng(12).normal(size=(P, P))
    return a + a.T


def test_pooled_serves_every_node_with_one_matrix(designs: np.ndarray) -> None:
    b = designs[0]
    pooled = profile_pooled(b)
    assert pooled.p == P
    assert pooled.n == N
    np.testing.assert_array_equal(pooled.node_index(), np.zeros(P))
    np.testing.assert_array_equal(pooled.smoother_trace, np.zeros(P))
    np.testing.assert_allclose(pooled.grams[0], sum(np.outer(r, r) for r in b) / N, rtol=ACCURACY)


def test_every_node_has_its_own_matrix(grams: NodeGrams) -> None:
    np.testing.assert_array_equal(grams.node_index(), np.arange(P))


def test_rescaled_equals_dividing_the_columns(designs: np.ndarray, grams: NodeGrams) -> None:
    scale = np.array([0.5, 2.0, 3.0, 0.1])
    divided = designs / np.append(scale, 1.0)
    rescaled = grams.rescaled(scale)
    np.testing.assert_allclose(
        rescaled.grams, np.einsum("jia,jib->jab", divided, divided) / N, rtol=ACCURACY
    )
    assert rescaled.n == grams.n
    assert rescaled.smoother_trace is grams.smoother_trace


def test_profiled_intercept_is_a_least_squares_fit(designs: np.ndarray, grams: NodeGrams) -> None:
    centred = profile_intercepts(grams)
    for j, t in enumerate(designs):
        constant = t[:, -1:]
        rest = t[:, :-1] - constant @ np.linalg.lstsq(constant, t[:, :-1], rcond=None)[0]
        np.testing.assert_allclose(
            centred.grams[centred.index[j]], rest.T @ rest / N, rtol=ACCURACY, atol=ACCURACY
        )


def test_profiled_pooled_gram_is_the_covariance(designs: np.ndarray) -> None:
    b = designs[0].copy()
    b[:, -1] = 1.0
    centred = profile_intercepts(profile_pooled(b))
    assert centred.grams.shape == (1, P, P)
    np.testing.assert_allclose(
        centred.grams[0], np.cov(b[:, :-1].T, bias=True), rtol=ACCURACY, atol=ACCURACY
    )


def test_a_constant_that_was_removed_leaves_no_intercept(
    designs: np.ndarray, omega: np.ndarray
) -> None:
    t = designs.copy()
    t[1, :, -1] = 1e-9
    grams = NodeGrams(np.einsum("jia,jib->jab", t, t) / N, N, np.zeros(P))
    centred = profile_intercepts(grams)
    np.testing.assert_array_equal(centred.grams[1], grams.grams[1, :-1, :-1])
    found = intercepts(grams, omega)
    assert found[1] == 0.0
    assert np.all(found[[0, 2, 3]] != 0.0)


def test_intercepts_minimise_the_loss(
    designs: np.ndarray, grams: NodeGrams, omega: np.ndarray
) -> None:
    found = intercepts(grams, np.stack([omega, 2.0 * omega]))
    assert found.shape == (2, P)
    for step, scale in enumerate((1.0, 2.0)):
        for j, t in enumerate(designs):
            others = np.delete(np.arange(P), j)
            rest = t[:, j] - t[:, others] @ (scale * omega[others, j])
            expected = np.linalg.lstsq(t[:, -1:], rest, rcond=None)[0][0]
            assert found[step, j] == pytest.approx(expected, rel=1e-9)


def test_intercepts_use_the_columns_of_an_asymmetric_matrix(
    designs: np.ndarray, grams: NodeGrams
) -> None:
    beta = np.zeros((P, P))
    beta[2, 0] = 0.7  # node 0 regresses on node 2, not the other way round
    t = designs[0]
    rest = t[:, 0] - 0.7 * t[:, 2]
    expected = intercepts(grams, np.zeros((P, P)))
    expected[0] = (t[:, -1] @ rest) / (t[:, -1] @ t[:, -1])
    np.testing.assert_allclose(intercepts(grams, beta), expected, rtol=ACCURACY)


def test_filling_leaves_the_argument_alone(grams: NodeGrams, omega: np.ndarray) -> None:
    before = omega.copy()
    filled = fill_intercepts(grams, omega)
    np.testing.assert_array_equal(omega, before)
    np.testing.assert_array_equal(np.diagonal(filled), intercepts(grams, omega))
    off = ~np.eye(P, dtype=bool)
    np.testing.assert_array_equal(filled[off], omega[off])


@pytest.mark.parametrize("shared", [False, True])
def test_residual_variances_are_mean_squares(
    designs: np.ndarray, grams: NodeGrams, omega: np.ndarray, shared: bool
) -> None:
    node_grams = profile_pooled(designs[0]) if shared else grams
    expected = []
    for j in range(P):
        t = designs[0 if shared else j]
        x = t[:, :-1].copy()
        x[:, j] = t[:, -1]
        expected.append(np.mean((t[:, j] - x @ omega[:, j]) ** 2))
    np.testing.assert_allclose(residual_variances(node_grams, omega), expected, rtol=ACCURACY)


def test_unexplained_energy_is_what_least_squares_leaves(
    designs: np.ndarray, grams: NodeGrams
) -> None:
    for j, t in enumerate(designs):
        x = np.delete(t, j, axis=1)  # the others and the constant
        rest = t[:, j] - x @ np.linalg.lstsq(x, t[:, j], rcond=None)[0]
        assert unexplained_energy(profile_intercepts(grams))[j] == pytest.approx(
            rest @ rest / N, rel=1e-9
        )


def test_unexplained_energy_is_zero_where_columns_depend(designs: np.ndarray) -> None:
    b = designs[0].copy()
    b[:, 1] = b[:, 0]
    energy = unexplained_energy(profile_intercepts(profile_pooled(b)))
    # Nodes 2 and 3 have the equal columns among their regressors; 0 and 1 explain one another.
    np.testing.assert_allclose(energy, 0.0, atol=ACCURACY)


@pytest.mark.parametrize("shared", [False, True])
def test_residuals_of_a_path_are_those_of_its_steps(grams: NodeGrams, shared: bool) -> None:
    one = NodeGrams(grams.grams[:1], N, np.zeros(P)) if shared else grams
    a = np.random.default_rng(13).normal(size=(7, P, P))
    found = path_residuals(one, a + a.transpose(0, 2, 1))
    expected = [residual_variances(one, step + step.T) for step in a]
    np.testing.assert_allclose(found, expected, rtol=ACCURACY)
