"""Normal scores: mid-ranks, mixtures of Gaussians along the confounder, and back."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from plaggm.core.preparation.normal_scores import (
    mid_distribution,
    normal_scores,
    score_moments,
)

# Scores are inverted on a grid.
GRID = 2e-3


def distribution(x):
    values, at = np.unique(x, return_counts=True)
    return mid_distribution(values, np.cumsum(at) - at, at, len(x))


def along(n, size=2):
    g = np.linspace(0.0, 1.0, n)
    return g, np.column_stack([np.ones(n), *(g**power for power in range(1, size))])


def test_mid_ranks_are_those_of_scipy():
    x = np.random.default_rng(0).poisson(2.0, 300).astype(float)
    found = distribution(x)
    literal = (rankdata(x) - 0.5) / 300
    np.testing.assert_allclose(found.middle[np.searchsorted(found.values, x)], literal, atol=1e-14)
    assert found.largest_tie == np.bincount(x.astype(int)).max() / 300


def test_without_functions_scores_are_standardised_quantiles_of_mid_ranks():
    x = np.random.default_rng(1).integers(1, 6, 500).astype(float)
    scores = normal_scores(x[:, None], [distribution(x)], np.ones((500, 1)))[0].apply(x)
    literal = ndtri((rankdata(x) - 0.5) / 500)
    literal = (literal - literal.mean()) / literal.std()
    np.testing.assert_allclose(scores, literal, atol=1e-12)


def test_a_shift_and_a_spread_along_the_confounder_are_not_flattened():
    n, draw = 4000, np.random.default_rng(2)
    g, functions = along(n, 3)
    z = 2.5 * g + np.exp(0.8 * g) * draw.standard_normal(n)
    z = (z - z.mean()) / z.std()
    x = np.exp(2.0 * z)
    found = normal_scores(x[:, None], [distribution(x)], functions)[0].apply(x)
    pooled = normal_scores(x[:, None], [distribution(x)], np.ones((n, 1)))[0].apply(x)

    def error(scores):
        return np.sqrt(np.mean((scores - z) ** 2))

    assert error(found) < 0.05
    assert error(found) < 0.5 * error(pooled)


def test_at_the_solution_all_rows_have_the_distribution_of_the_mixture():
    n, draw = 3000, np.random.default_rng(3)
    g, functions = along(n)
    x = (2.0 * g + draw.standard_normal(n)) ** 3
    one = distribution(x)
    scores = normal_scores(x[:, None], [one], functions)[0]
    z = scores.apply(x)
    mean, log_variance = score_moments(z, functions, np.linalg.pinv(functions))
    spread = np.exp(0.5 * functions @ log_variance)
    mixture = ndtr((scores.scores[:, None] - functions @ mean) / spread).mean(axis=1)
    assert np.abs(mixture - one.middle).max() < GRID


def test_log_variances_maximise_the_likelihood():
    n, draw = 2000, np.random.default_rng(4)
    g, functions = along(n, 3)
    z = draw.standard_normal(n) * np.exp(g - g**2)
    mean, log_variance = score_moments(z, functions, np.linalg.pinv(functions))
    squares = (z - functions @ mean) ** 2
    gradient = functions.T @ (squares * np.exp(-functions @ log_variance) - 1.0) / n
    assert np.abs(gradient).max() < 1e-5


@pytest.mark.parametrize("levels", [2, 5])
def test_values_come_back_from_their_scores(levels):
    draw = np.random.default_rng(5)
    _, functions = along(800)
    x = np.floor(levels * ndtr(draw.standard_normal(800) + 0.3))
    found = normal_scores(x[:, None], [distribution(x)], functions)[0]
    assert np.array_equal(found.inverse(found.apply(x)), x)
    shares = np.bincount(found.inverse(draw.standard_normal(200_000)).astype(int)) / 200_000
    assert np.abs(shares - np.bincount(x.astype(int)) / 800).max() < 0.01


def test_values_beyond_those_known_have_the_last_score_and_missing_ones_stay():
    x = np.array([1.0, 2.0, 3.0])
    found = normal_scores(x[:, None], [distribution(x)], np.ones((3, 1)))[0]
    at = found.apply(np.array([-9.0, 1.5, 99.0, np.nan]))
    assert at[0] == found.scores[0]
    assert at[2] == found.scores[2]
    assert np.isnan(at[3])
    assert at[1] == pytest.approx(found.scores[:2].mean())
