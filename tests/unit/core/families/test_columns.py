"""Common units of several families, and what rows in them add up to."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.families.columns import family_columns
from plaggm.core.families.distributions import FAMILIES

FAMILIES_OF_COLUMNS = ("gaussian", "binomial", "poisson")


@pytest.fixture
def x():
    rng = np.random.default_rng(0)
    return np.column_stack(
        [rng.normal(5.0, 2.0, 300), rng.uniform(size=300) < 0.1, rng.poisson(3.0, 300)]
    ).astype(float)


def test_columns_as_neighbours_see_them_have_mean_zero_and_unit_variance(x):
    seen = family_columns(x, FAMILIES_OF_COLUMNS).seen(x)
    np.testing.assert_allclose(seen.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(seen.std(axis=0), 1.0, rtol=1e-12)


def test_slopes_and_curvatures_are_those_of_the_likelihood_in_common_units(x):
    columns = family_columns(x, FAMILIES_OF_COLUMNS)
    eta = np.random.default_rng(1).normal(0.0, 0.3, x.shape)
    step = 1e-4
    below, at, above = (columns.log_likelihood(x, eta + move) for move in (-step, 0.0, step))
    slope, curvature = columns.slopes(x, eta)
    np.testing.assert_allclose(slope, (above - below) / (2 * step), atol=1e-5)
    np.testing.assert_allclose(curvature, -(above - 2 * at + below) / step**2, atol=1e-4)


def test_the_likelihood_of_a_gaussian_column_is_in_its_own_units(x):
    columns = family_columns(x, FAMILIES_OF_COLUMNS)
    eta = np.zeros_like(x)
    z = (x[:, 0] - x[:, 0].mean()) / x[:, 0].std()
    expected = FAMILIES["gaussian"].log_likelihood(z, eta[:, 0]) - np.log(x[:, 0].std())
    np.testing.assert_allclose(columns.log_likelihood(x, eta)[:, 0], expected, rtol=1e-12)


def test_at_the_start_every_column_has_its_mean(x):
    columns = family_columns(x, FAMILIES_OF_COLUMNS)
    start = np.broadcast_to(columns.mean_responses(x), x.shape)
    slope, curvature = columns.slopes(x, np.ascontiguousarray(start))
    np.testing.assert_allclose(slope.mean(axis=0), 0.0, atol=1e-12)
    # A binary column's curvature is one at its mean; that of counts is their mean over their variance.
    np.testing.assert_allclose(curvature[:, :2].mean(axis=0), 1.0, rtol=1e-12)
