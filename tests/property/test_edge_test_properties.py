"""What must hold of the tests of edges for any data: units, order, signs and chunks do not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plaggm.core.inference.change_tests import change_tests
from plaggm.core.inference.edge_tests import edge_tests, enough_rows
from plaggm.core.inference.pair_statistics import EdgeTests, mixture_tests
from plaggm.core.profile.pooled import profile_pooled
from plaggm.core.spline.basis import spline_basis
from plaggm.core.spline.statistics import no_rows, split_statistics

# Sums in another order, and inverses of matrices whose condition stays below 1e4.
SAME = 1e-7

P, N = 4, 120
few = settings(max_examples=15)


def data(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    g = rng.uniform(-2.0, 2.0, (N, 1))
    z = rng.standard_normal((N, P)) @ (np.eye(P) + 0.3 * rng.standard_normal((P, P)))
    z[:, 0] += z[:, 1] * np.maximum(np.abs(g[:, 0]) - 0.7, 0.0)
    return z, g


def run(z: np.ndarray, g: np.ndarray, chunks: int = 1) -> tuple[EdgeTests, np.ndarray]:
    """Tests of the edges, and the p-values of what adjusting changes."""
    basis = spline_basis(g, np.array([0.7]), functions=2, degree=2)
    b = np.column_stack([z, np.ones(len(z))])
    labels = np.arange(len(z)) % chunks
    parts = split_statistics(b, basis.evaluate(g), labels, chunks)
    total = sum(parts, no_rows(basis.size, P + 1))
    assert enough_rows(total)
    return edge_tests(total, basis, profile_pooled(b)), change_tests(total, basis).p_value


@few
@given(st.integers(0, 10_000), st.lists(st.floats(-3.0, 3.0), min_size=P, max_size=P))
def test_units_signs_and_chunks_do_not_matter(seed, exponents):
    z, g = data(seed)
    first, changes = run(z, g)
    sign = np.where(np.arange(P) % 2, -1.0, 1.0)
    second, other = run(z * 10.0 ** np.array(exponents) * sign, g, chunks=5)
    upper = np.triu_indices(P, 1)
    turned = np.outer(sign, sign)[upper]
    np.testing.assert_allclose(second.p_value, first.p_value, rtol=SAME, atol=SAME)
    np.testing.assert_allclose(turned * second.estimate, first.estimate, rtol=SAME, atol=SAME)
    np.testing.assert_allclose(other, changes, rtol=SAME, atol=SAME)


@few
@given(st.integers(0, 10_000), st.permutations(range(P)))
def test_order_of_rows_and_columns_does_not_matter(seed, order):
    z, g = data(seed)
    first, changes = run(z, g)
    rows = np.random.default_rng(seed).permutation(N)
    second, other = run(z[rows][:, order], g[rows])
    for one, two in (
        (first.p_value, second.p_value),
        (first.low, second.low),
        (first.q_value, second.q_value),
        (changes, other),
    ):
        moved = first.matrix(one)[np.ix_(order, order)]
        np.testing.assert_allclose(second.matrix(two), moved, rtol=SAME, atol=SAME)


@few
@given(st.integers(0, 10_000))
def test_intervals_hold_their_estimates_and_agree_with_the_tests(seed):
    tests, _ = run(*data(seed))
    assert np.all((tests.low < tests.estimate) & (tests.estimate < tests.high))
    assert np.all(np.abs(tests.low) <= 1.0)
    clear = (tests.p_value < 0.03) | (tests.p_value > 0.08)
    excludes_zero = (tests.low > 0.0) | (tests.high < 0.0)
    np.testing.assert_array_equal(excludes_zero[clear], (tests.p_value < 0.05)[clear])
    np.testing.assert_array_equal(np.sign(tests.z), np.sign(tests.estimate))


def test_an_unknown_pair_has_no_edge_and_every_value():
    tests = mixture_tests(
        np.array([[0.5, 0.5]]), np.array([[np.inf, 0.001]]), np.ones(1), 2, degrees=50, method="x"
    )
    assert (tests.estimate[0], tests.z[0], tests.p_value[0]) == (0.0, 0.0, 1.0)
    assert tests.estimate[1] == 0.5
    assert (tests.low[0], tests.high[0]) == (-1.0, 1.0)
    assert tests.p_value[1] < 1e-3


def test_a_mixture_of_one_component_twice_is_that_component():
    estimates, variances = np.array([[0.2, -0.4]]), np.array([[0.01, 0.02]])
    once = mixture_tests(estimates, variances, np.ones(1), 2, degrees=30, method="x")
    twice = mixture_tests(
        np.repeat(estimates, 2, axis=0),
        np.repeat(variances, 2, axis=0),
        np.array([0.3, 0.7]),
        2,
        degrees=30,
        method="x",
    )
    for name in ("estimate", "standard_error", "low", "high", "z", "p_value", "q_value"):
        assert getattr(twice, name) == pytest.approx(getattr(once, name), rel=1e-12)
