"""Gibbs sampling against exact distributions of small networks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import nbinom, poisson

from plaggm.core.families.distributions import FAMILIES
from plaggm.core.families.gibbs import gibbs_rows

ROWS = 40_000
# Standard errors by which a frequency may be off; some dozens are looked at.
STANDARD_ERRORS = 4.5


def draw(omega, intercepts, families, centres, dispersion=0.0, rows=ROWS, first=0):
    p = len(families)
    return gibbs_rows(
        np.asarray(omega, dtype=float)[None],
        np.asarray(intercepts, dtype=float)[None],
        np.zeros(rows, dtype=int),
        families,
        np.asarray(centres, dtype=float),
        np.full(p, dispersion),
        first + np.arange(rows),
    )


def assert_frequencies(found, expected):
    error = np.sqrt(np.maximum(expected * (1.0 - expected), 1.0 / ROWS) / ROWS)
    assert np.abs((found - expected) / error).max() < STANDARD_ERRORS


def test_ising_rows_have_the_exact_distribution():
    draw_from = np.random.default_rng(0)
    omega = np.triu(draw_from.normal(0.0, 1.2, (4, 4)), 1)
    omega += omega.T
    theta = draw_from.normal(0.0, 0.7, 4)
    states = np.array(list(itertools.product([0.0, 1.0], repeat=4)))
    energy = states @ theta + 0.5 * np.einsum("sj,jk,sk->s", states, omega, states)
    exact = np.exp(energy) / np.exp(energy).sum()
    x = draw(omega, theta, ["binomial"] * 4, [0.5] * 4)
    found = np.bincount((x @ [8, 4, 2, 1]).astype(int), minlength=16) / ROWS
    assert_frequencies(found, exact)


@pytest.mark.parametrize("dispersion", [0.0, 0.5])
def test_counts_have_the_stationary_distribution_of_their_scan(dispersion):
    # Both conditionals come from no joint distribution; the scan of both has a stationary one.
    coupling, theta, centre, most = 0.25, 0.3, 2.0, 60
    values = np.arange(most)
    seen = FAMILIES["poisson"].neighbour(values.astype(float), centre)
    mean = np.exp(theta + coupling * seen)

    if dispersion:
        size = 1.0 / dispersion
        given = nbinom.pmf(values, size, (size / (size + mean))[:, None])
    else:
        given = poisson.pmf(values, mean[:, None])
    # From the second count to the first and back; given[a, b] is the chance of b beside a.
    step = np.linalg.matrix_power(given @ given, 200)
    second = step[0] / step[0].sum()
    joint = (second[:, None] * given).T  # first by second before its own draw
    first = joint.sum(axis=1)
    exact = first[:, None] * given
    omega = [[0.0, coupling], [coupling, 0.0]]
    x = draw(omega, [theta, theta], ["poisson"] * 2, [centre] * 2, dispersion).astype(int)
    for a, b in itertools.product(range(4), repeat=2):
        found = np.mean((x[:, 0] == a) & (x[:, 1] == b))
        assert_frequencies(found, exact[a, b])


def test_gaussian_and_binary_nodes_have_their_joint_distribution():
    coupling, theta = 1.3, np.array([0.2, -0.8])
    x = draw([[0.0, coupling], [coupling, 0.0]], theta, ["gaussian", "binomial"], [0.0, 0.5])
    weight = np.exp(0.5 * theta[0] ** 2), np.exp(theta[1] + 0.5 * (theta[0] + coupling) ** 2)
    share = weight[1] / sum(weight)
    assert_frequencies(x[:, 1].mean(), share)
    for value in (0.0, 1.0):
        inside = x[x[:, 1] == value, 0]
        error = (inside.mean() - theta[0] - coupling * value) * np.sqrt(len(inside))
        assert abs(error) < STANDARD_ERRORS
        assert inside.std() == pytest.approx(1.0, abs=0.03)


def test_rows_depend_on_their_seed_alone():
    omega, theta = [[0.0, 0.4], [0.4, 0.0]], [0.1, 0.2]
    whole = draw(omega, theta, ["poisson", "binomial"], [2.0, 0.5], rows=100)
    part = draw(omega, theta, ["poisson", "binomial"], [2.0, 0.5], rows=40, first=60)
    assert np.array_equal(whole[60:], part)


def test_rows_take_the_network_that_they_are_given():
    omegas = np.zeros((2, 2, 2))
    intercepts = np.array([[-30.0, 30.0], [30.0, -30.0]])
    which = np.array([0, 1, 1, 0])
    x = gibbs_rows(
        omegas, intercepts, which, ["binomial"] * 2, np.full(2, 0.5), np.zeros(2), np.arange(4)
    )
    assert np.array_equal(x, [[0, 1], [1, 0], [1, 0], [0, 1]])
