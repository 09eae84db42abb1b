from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, ttest_ind_from_stats

from plaggm.core.inference.network_differences import combined, network_differences

FOR_SURE = np.full(2, np.inf)


def test_two_networks_are_the_textbook_test() -> None:
    r, n = np.array([[0.3, -0.1, 0.0], [0.1, -0.1, 0.5]]), np.array([103.0, 403.0])
    errors = np.sqrt((1.0 - r**2) / (n - 2.0)[:, None])
    found = network_differences(r, errors, FOR_SURE)
    z = (np.arctanh(r[0]) - np.arctanh(r[1])) / np.sqrt(1.0 / 100.0 + 1.0 / 400.0)
    np.testing.assert_allclose(found.p_value, 2.0 * norm.sf(np.abs(z)), rtol=1e-9)
    np.testing.assert_allclose(found.statistic, z**2, atol=1e-12)
    assert found.distance[0, 1] > 0.0
    assert np.isnan(found.unusual).all()


def test_few_degrees_of_freedom_are_those_of_welch() -> None:
    # Small correlations: the Fisher scale is that of the estimates.
    r, errors = np.array([[1e-3], [-2e-3]]), np.array([[1e-3], [1.5e-3]])
    degrees = np.array([9.0, 19.0])
    found = network_differences(r, errors, degrees).p_value[0]
    spread = errors[:, 0] * np.sqrt(degrees + 1.0)
    welch = ttest_ind_from_stats(r[0, 0], spread[0], 10, r[1, 0], spread[1], 20, equal_var=False)
    assert found == pytest.approx(welch.pvalue, rel=1e-3)


def test_spread_and_heterogeneity_of_many_networks() -> None:
    rng = np.random.default_rng(0)
    count, pairs, error, spread = 200, 50, 0.05, 0.1
    equal = np.tanh(0.2 + error * rng.standard_normal((count, pairs)))
    errors = (1.0 - equal**2) * error / np.sqrt(1.0 + (1.0 - equal**2) * error**2)
    degrees = np.full(count, np.inf)
    same = network_differences(equal, errors, degrees)
    assert same.overall > 0.01
    assert same.heterogeneity < 0.05
    other = np.tanh(np.arctanh(equal) + spread * rng.standard_normal((count, pairs)))
    differ = network_differences(other, errors, degrees)
    assert differ.overall < 1e-6
    assert differ.heterogeneity == pytest.approx(spread**2 / (spread**2 + error**2), abs=0.05)
    assert float(np.mean(differ.spread)) == pytest.approx(spread, rel=0.1)
    assert float(np.mean(differ.distance)) == pytest.approx(np.sqrt(2.0) * spread, rel=0.1)
    # Given how much they differ nobody stands out, until somebody does.
    assert differ.unusual.min() > 1e-4
    other[3, :10] = -0.6
    assert network_differences(other, errors, degrees).unusual.argmin() == 3


def test_pairs_of_which_nothing_is_known_differ_from_nothing() -> None:
    found = network_differences(
        np.array([[0.3, 0.9], [0.3, -0.9]]), np.array([[0.1, np.inf], [0.1, 0.1]]), FOR_SURE
    )
    assert found.p_value[1] == pytest.approx(1.0)
    assert 0.0 <= found.overall <= 1.0


def test_combined_p_values_are_valid_and_symmetric() -> None:
    rng = np.random.default_rng(1)
    shared = rng.standard_normal((4000, 1))
    z = np.sqrt(0.6) * shared + np.sqrt(0.4) * rng.standard_normal((4000, 30))
    found = np.array([combined(row) for row in 2.0 * norm.sf(np.abs(z))])
    assert np.mean(found <= 0.05) < 0.065
    assert combined(np.array([])) == 1.0
    assert combined(np.array([0.2])) == pytest.approx(0.2)
    assert combined(np.array([1.0, 1e-9])) < 1e-6


def test_one_network_differs_from_none() -> None:
    with pytest.raises(ValueError, match="need two"):
        network_differences(np.zeros((1, 3)), np.ones((1, 3)), np.ones(1))
