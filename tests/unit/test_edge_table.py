from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm, t

from plaggm.edge_table import POWER, EdgeTable, samples_needed

# Draws of a Monte-Carlo check, and four of its standard errors.
DRAWS = 200_000
CHANCE = 4.0 * np.sqrt(POWER * (1.0 - POWER) / DRAWS)


def test_needed_samples_give_the_stated_power() -> None:
    estimate, error, n, limit = 0.06, 0.05, 300, 0.05 / 45
    needed = samples_needed(estimate, error, n, limit)
    drawn = np.random.default_rng(0).normal(estimate, error * np.sqrt(n / needed), DRAWS)
    p_value = 2.0 * norm.sf(np.abs(drawn) / (error * np.sqrt(n / needed)))
    assert abs(np.mean(p_value <= limit) - POWER) < CHANCE


def test_needed_samples_at_the_place_of_the_pair(edge_tests: Any) -> None:
    estimate = np.array([[0.0, 0.1, 0.0], [0.1, 0.0, -0.05], [0.0, -0.05, 0.0]])
    tests = edge_tests(estimate, 100)
    assert not tests.declared(0.05).any()
    assert tests.candidates(2).tolist() == [0, 2]
    first, second = (tests.samples_needed(pair, 100, 0.05) for pair in (0, 2))
    assert first == samples_needed(tests.z[0], 1.0, 100, 0.05 / 3)
    assert second == samples_needed(tests.z[2], 1.0, 100, 2 * 0.05 / 3)
    assert 100 < first < second
    assert tests.samples_needed(1, 100, 0.05) == float("inf")


def test_a_pair_that_does_not_pass_needs_more_samples_than_there_are(edge_tests: Any) -> None:
    """Few clusters make p-values larger than estimate and standard error say."""
    estimate = np.array([[0.0, 0.4, 0.0], [0.4, 0.0, 0.0], [0.0, 0.0, 0.0]])
    tests = edge_tests(estimate, 100)
    p_value = 2.0 * t.sf(np.abs(tests.estimate / tests.standard_error), df=2)
    few = replace(tests, p_value=p_value, q_value=p_value * 3.0, z=norm.isf(0.5 * p_value))
    assert tests.declared(0.05)[0]
    assert not few.declared(0.05).any()
    assert few.samples_needed(0, 100, 0.05) > 110


def test_arrays_must_belong_together(edge_tests: Any) -> None:
    tests = edge_tests(np.zeros((3, 3)), 100)
    with pytest.raises(ValueError, match=r"z must have shape \(3,\); got \(2,\)"):
        replace(tests, z=np.zeros(2))
    with pytest.raises(ValueError, match="must be given together"):
        replace(tests, change_p_value=np.ones(3))


def test_infinite_standard_errors_have_no_evidence() -> None:
    numbers = dict(low=-1.0, high=1.0, z=0.0, q_value=1.0, standard_error=np.inf)
    arrays = {name: np.array([value]) for name, value in numbers.items()}
    assert EdgeTable(np.zeros(1), p_value=np.ones(1), **arrays).unobserved() == [(0, 1)]
    with pytest.raises(ValueError, match="infinite standard error must be one"):
        EdgeTable(np.zeros(1), p_value=np.full(1, 0.01), **arrays)
