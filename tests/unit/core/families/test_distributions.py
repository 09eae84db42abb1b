"""Families of nodes: means, variances and likelihoods are those of SciPy's distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from plaggm.core.families.distributions import FAMILIES

ETA = np.linspace(-4.0, 3.0, 15)


@pytest.mark.parametrize(
    ("name", "distribution", "values"),
    [
        ("gaussian", lambda mean: stats.norm(mean), (-1.3, 0.0, 2.5)),
        ("binomial", lambda mean: stats.bernoulli(mean), (0.0, 1.0)),
        ("poisson", lambda mean: stats.poisson(mean), (0.0, 1.0, 7.0)),
    ],
)
def test_the_likelihood_is_that_of_the_distribution(name, distribution, values):
    family = FAMILIES[name]
    known = distribution(family.mean(ETA))
    np.testing.assert_allclose(family.variance(family.mean(ETA)), known.var(), rtol=1e-12)
    log_density = known.logpdf if name == "gaussian" else known.logpmf
    for y in values:
        np.testing.assert_allclose(
            family.log_likelihood(np.full_like(ETA, y), ETA), log_density(y), rtol=1e-12
        )


@pytest.mark.parametrize("name", FAMILIES)
def test_slope_and_curvature_of_the_likelihood_are_residual_and_variance(name):
    family, y, step = FAMILIES[name], np.ones_like(ETA), 1e-4
    below, at, above = (family.log_likelihood(y, ETA + move) for move in (-step, 0.0, step))
    mean = family.mean(ETA)
    np.testing.assert_allclose((above - below) / (2 * step), y - mean, atol=1e-6)
    np.testing.assert_allclose(
        -(above - 2 * at + below) / step**2, family.variance(mean), atol=1e-5
    )
    np.testing.assert_allclose(family.natural(mean), ETA, atol=1e-12)


def test_neighbours_see_counts_on_a_logarithm_with_unit_slope_at_the_centre():
    family, centre = FAMILIES["poisson"], 3.0
    near = family.neighbour(np.array([centre - 1e-5, centre, centre + 1e-5]), centre)
    assert near[1] == pytest.approx(centre)
    assert (near[2] - near[0]) / 2e-5 == pytest.approx(1.0, abs=1e-6)
    counts = np.arange(1.0, 5.0)
    seen = family.neighbour(counts, centre)
    np.testing.assert_allclose(np.diff(seen), (1 + centre) * np.diff(np.log1p(counts)), rtol=1e-12)


def test_large_natural_parameters_stay_finite():
    for family in FAMILIES.values():
        assert np.isfinite(family.mean(np.array([-1e4, 1e4]))).all()
        assert np.isfinite(family.log_likelihood(np.zeros(2), np.array([-1e4, 1e4]))).all()
