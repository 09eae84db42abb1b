"""Location and spread that far values hardly move."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.preparation.robust_scale import NORMAL_MEDIAN, robust_moments, robust_spread

N = 4000


@pytest.fixture
def noise():
    return np.random.default_rng(0).standard_normal((N, 2))


def test_without_functions_it_is_the_median_and_the_median_absolute_deviation(noise):
    noise[:40, 0] = 1e6
    found = robust_moments(noise, np.ones((N, 1)))
    centre = np.median(noise, axis=0)
    spread = np.median(np.abs(noise - centre), axis=0) / NORMAL_MEDIAN
    np.testing.assert_allclose(found.location[0], centre, rtol=1e-12)
    np.testing.assert_allclose(np.exp(found.log_spread[0]), spread, rtol=1e-12)
    np.testing.assert_allclose(robust_spread(noise), [centre, spread], rtol=1e-12)


def test_location_and_spread_follow_the_functions(noise):
    t = np.linspace(0.0, 1.0, N)
    functions = np.column_stack([np.ones(N), t])
    x = 3.0 * t[:, None] + np.exp(1.5 * t)[:, None] * noise
    x[::50] += 40.0
    found = robust_moments(x, functions)
    z = found.standardised(x, functions)
    # Two percent of far values move both by a few percent.
    early, late = t < 0.3, t > 0.7
    for part in (early, late):
        assert np.abs(np.median(z[part], axis=0)).max() < 0.12
        assert np.abs(np.median(np.abs(z[part]), axis=0) / NORMAL_MEDIAN - 1.0).max() < 0.12


def test_values_within_the_limit_stay_as_they_are(noise):
    noise[7, 1] = 90.0
    functions = np.ones((N, 1))
    found = robust_moments(noise, functions)
    pulled = found.pulled_in(noise, functions, 3.0)
    inside = np.abs(found.standardised(noise, functions)) <= 3.0
    assert np.array_equal(pulled[inside], noise[inside])
    assert np.abs(found.standardised(pulled, functions)).max() <= 3.0 + 1e-12
    assert pulled[7, 1] == pytest.approx(
        found.location[0, 1] + 3.0 * np.exp(found.log_spread[0, 1])
    )


def test_a_column_of_mostly_equal_values_has_no_spread_and_is_left_alone():
    x = np.zeros((50, 1))
    x[:10, 0] = np.arange(10)
    found = robust_moments(x, np.ones((50, 1)))
    assert np.isinf(found.log_spread[0, 0])
    assert np.array_equal(found.pulled_in(x, np.ones((50, 1)), 3.0), x)
    assert robust_spread(x)[1][0] == pytest.approx(np.sqrt(np.pi / 2.0) * x.mean())


def test_missing_values_are_left_out_and_stay(noise):
    holed = noise.copy()
    holed[::3, 0] = np.nan
    found = robust_moments(holed, np.ones((N, 1)))
    kept = robust_moments(
        noise[np.isfinite(holed[:, 0])], np.ones((np.isfinite(holed[:, 0]).sum(), 1))
    )
    assert found.location[0, 0] == kept.location[0, 0]
    assert np.array_equal(np.isnan(found.pulled_in(holed, np.ones((N, 1)), 3.0)), np.isnan(holed))
