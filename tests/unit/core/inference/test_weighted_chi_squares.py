"""Tail probabilities of weighted chi-squares against exact distributions, numerical inversion and draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from plaggm.core.inference.weighted_chi_squares import ratio_tail

# Relative error of the saddlepoint approximation over the weights of this file, as measured.
APPROXIMATE = 0.06


def imhof(weights: np.ndarray, x: float, degrees: float) -> float:
    """P(sum w chi2(1) - x chi2(nu) / nu > 0) by inverting the characteristic function."""
    lam = np.append(weights, -x / degrees)
    freedom = np.append(np.ones(len(weights)), degrees)

    def integrand(t: float) -> float:
        angle = 0.5 * np.sum(freedom * np.arctan(lam * t))
        size = 0.25 * np.sum(freedom * np.log1p((lam * t) ** 2))
        return float(np.sin(angle) / t * np.exp(-size))

    value, _ = integrate.quad(integrand, 0.0, np.inf, limit=2000)
    return 0.5 + value / np.pi


@pytest.mark.parametrize("degrees", [12.0, 400.0])
@pytest.mark.parametrize("level", [0.9, 0.5, 0.1, 0.01])
@pytest.mark.parametrize(
    "weights", [(2.0, 0.5), (5.0, 1.0, 1.0, 0.3), (1.0, 0.9, 0.8, 0.7), (1.0, 1e-3)]
)
def test_tails_are_those_of_the_characteristic_function(weights, level, degrees) -> None:
    w = np.array(weights)
    x = w.sum() * stats.f.isf(level, len(w), degrees)
    found = ratio_tail(w[None], np.array([x]), np.array([degrees]))[0]
    assert found == pytest.approx(imhof(w, x, degrees), rel=APPROXIMATE)


def test_equal_weights_are_fishers_distribution() -> None:
    x = np.array([0.5, 3.0, 20.0])
    found = ratio_tail(np.full((3, 4), 2.0), 4.0 * 2.0 * x, np.full(3, 30.0))
    assert found == pytest.approx(stats.f.sf(x, 4, 30), rel=1e-12)
    # Weights of zero do not count.
    single = ratio_tail(np.array([[3.0, 0.0]]), np.array([6.0]), np.array([30.0]))
    assert single[0] == pytest.approx(stats.f.sf(2.0, 1, 30), rel=1e-12)


def test_tails_fall_with_the_statistic_through_the_mean() -> None:
    x = np.linspace(0.0, 12.0, 4001)
    found = ratio_tail(np.tile([2.0, 1.0, 0.5], (len(x), 1)), x, np.full(len(x), 60.0))
    assert found[0] == 1.0
    assert np.all(np.diff(found) < 0.0)
    assert np.max(-np.diff(found)) < 2e-3


def test_far_tails_are_probabilities() -> None:
    found = ratio_tail(np.array([[1.0, 0.5]] * 2), np.array([1e6, 1e-300]), np.full(2, 1e4))
    assert found.tolist() == [0.0, 1.0]
