"""The shared filter: against the Cholesky factor of the series' covariance, and what it is fitted to."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_triangular, toeplitz
from scipy.signal import lfilter

from plaggm.core.preparation.autoregression import (
    block_length,
    contiguous_blocks,
    fit_autoregression,
    lag_sums,
    most_order,
    run_positions,
    tapered_correlations,
)

RUNS = np.repeat([0, 1, 2, 3], [40, 1, 3, 60])


def autocorrelated(n: int, p: int, coefficients: tuple[float, ...], seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal((n + 100, p))
    return lfilter([1.0], [1.0, *(-c for c in coefficients)], noise, axis=0)[100:]


def literally_whitened(series: np.ndarray, correlations: np.ndarray, left: float) -> np.ndarray:
    """One run times the inverse Cholesky factor of its covariance, at the variance of the prediction."""
    lower = np.linalg.cholesky(toeplitz(correlations[: len(series)]))
    return np.sqrt(left) * solve_triangular(lower, series, lower=True)


def process_correlations(found, n: int) -> np.ndarray:
    """Autocorrelations of the fitted process, by its own recursion beyond the order."""
    r = list(found.correlations[: found.order + 1])
    while len(r) < n:
        r.append(sum(a * r[-lag] for lag, a in enumerate(found.coefficients, start=1)))
    return np.array(r)


@pytest.mark.parametrize("order", [0, 1, 4])
def test_filter_is_the_inverse_root_of_the_covariance(order):
    x = autocorrelated(len(RUNS), 3, (0.6, 0.2))
    position = run_positions(RUNS)
    found = fit_autoregression(*lag_sums(x, position, 6), order)
    assert found.order == order
    whitened = found.apply(x, position)
    r = process_correlations(found, 60)
    for run in range(4):
        rows = run == RUNS
        expected = literally_whitened(x[rows], r, found.variances[-1])
        np.testing.assert_allclose(whitened[rows], expected, atol=1e-10)


def test_sums_of_lags_stay_within_runs():
    x = autocorrelated(len(RUNS), 2, (0.5,))
    sums, counts = lag_sums(x, run_positions(RUNS), 3)
    for lag in range(4):
        pairs = [
            (t, t - lag) for t in range(lag, len(x)) if (RUNS[t - lag : t + 1] == RUNS[t]).all()
        ]
        assert counts[lag] == len(pairs)
        np.testing.assert_allclose(sums[lag], sum(x[a] * x[b] for a, b in pairs))


@pytest.mark.parametrize(("coefficients", "order"), [((), 0), ((0.7,), 1), ((1.2, -0.5), 2)])
def test_bic_finds_the_order(coefficients, order):
    x = autocorrelated(600, 6, coefficients)
    lags = most_order(600, 600)
    found = fit_autoregression(*lag_sums(x, np.arange(600), lags), None)
    assert found.order == order
    np.testing.assert_allclose(found.coefficients, coefficients, atol=0.06)
    left = tapered_correlations(*lag_sums(found.apply(x, np.arange(600)), np.arange(600), 3))
    assert np.abs(left[1:].mean(axis=1)).max() < 0.04


def test_share_of_independent_rows():
    x = autocorrelated(20_000, 2, (0.8,))
    found = fit_autoregression(*lag_sums(x, np.arange(20_000), 2), 1)
    r = found.coefficients[0]
    # The sum of r^(2 l) over both directions.
    assert found.sample_share() == pytest.approx((1 - r**2) / (1 + r**2), rel=1e-3)
    white = fit_autoregression(*lag_sums(x, np.arange(20_000), 2), 0)
    assert white.sample_share() == 1.0


def test_short_runs_and_constant_series_have_a_filter():
    lone = fit_autoregression(*lag_sums(np.ones((3, 2)), np.zeros(3, dtype=int), 2), None)
    assert lone.order == 0
    still = fit_autoregression(*lag_sums(np.zeros((5, 2)), np.arange(5), 2), None)
    np.testing.assert_array_equal(still.apply(np.zeros((5, 2)), np.arange(5)), np.zeros((5, 2)))


def test_blocks_are_contiguous_and_whole():
    runs = np.repeat(np.arange(4), [100, 3, 2, 55])
    blocks = contiguous_blocks(runs, 10, 40)
    assert (np.diff(blocks) >= 0).all()
    assert (np.diff(blocks) <= 1).all()
    assert np.bincount(blocks).min() >= 5
    assert len(np.unique(contiguous_blocks(np.arange(1000), 5, 40))) == 40
    whole = contiguous_blocks(np.repeat([0, 1], 50), 10, 40)
    assert len(np.unique(whole)) == 10
    assert not set(whole[:50]) & set(whole[50:])


def test_longer_memory_asks_for_longer_blocks():
    n = 2000
    lengths = []
    for rho in (0.0, 0.6, 0.9):
        x = autocorrelated(n, 2, (rho,))
        lengths.append(block_length(tapered_correlations(*lag_sums(x, np.arange(n), 30)), n))
    assert lengths[0] < 5.0 < lengths[1] < lengths[2]
