"""Tests for plaggm.core.families.confounding_test."""

import numpy as np
import pytest

from plaggm import PLAGGM
from plaggm.core.confounding.confounding_test import ConfoundingTest
from plaggm.core.families.confounding_test import SIGN_FLIPS, few_decide, flipped_test
from plaggm.simulate import simulate_family


def result_of(prevalence: float, groups: np.ndarray | None = None) -> ConfoundingTest:
    data = simulate_family(5, 400, seed=3, prevalence=prevalence, shape="none", threshold=60.0)
    model = PLAGGM(0.1, family="binomial", threshold=60.0)
    return model.fit(data.x, confounder=data.confounder, groups=groups).confounding_test()


def test_sign_flips_match_a_literal_sum_over_pairs_of_rows() -> None:
    scores = np.random.default_rng(0).standard_t(3, (30, 4))
    total, squares = scores.sum(axis=0), np.sum(scores**2, axis=1)
    chunks = [(slice(0, 12), scores[:12]), (slice(12, 30), scores[12:])]
    found = flipped_test(chunks, total, squares, count=50, seed=7)

    signs = np.random.default_rng(7).choice([-1.0, 1.0], size=(50, 30))
    products = (scores - scores.mean(axis=0)) @ (scores - scores.mean(axis=0)).T
    np.fill_diagonal(products, 0.0)
    flipped = np.array([one @ products @ one for one in signs])
    actual = scores @ scores.T
    value = actual.sum() - np.trace(actual)
    assert found.p_value == (1 + np.sum(flipped >= value)) / 51
    assert found.statistic == pytest.approx((value - flipped.mean()) / flipped.std())
    assert (found.method, found.n_rearranged) == (SIGN_FLIPS, 50)


def test_a_common_mean_of_the_scores_is_found() -> None:
    scores = np.random.default_rng(1).standard_t(3, (200, 4)) + 0.5
    total, squares = scores.sum(axis=0), np.sum(scores**2, axis=1)
    assert flipped_test([(slice(0, 200), scores)], total, squares).p_value == 1 / 200


def test_few_rows_decide_where_one_outweighs_the_others() -> None:
    squares = np.ones(100)
    assert not few_decide(squares, 5)
    squares[0] = 1000.0
    assert few_decide(squares, 5)
    assert not few_decide(np.zeros(100), 5)


def test_rare_categories_ask_for_sign_flips_and_balanced_ones_do_not() -> None:
    rare = result_of(0.06)
    assert (rare.method, rare.n_rearranged) == (SIGN_FLIPS, 199)
    assert np.isnan(rare.degrees_of_freedom)
    again = result_of(0.06)
    assert (again.p_value, again.statistic) == (rare.p_value, rare.statistic)
    balanced = result_of(0.5)
    assert (balanced.method, balanced.n_rearranged) == ("cumulants", 0)


def test_single_rows_as_groups_are_nearly_rows_without_groups() -> None:
    alone, grouped = result_of(0.06), result_of(0.06, np.arange(400))
    assert grouped.method == SIGN_FLIPS
    # Sums of groups do not have their leverage taken off.
    assert grouped.statistic == pytest.approx(alone.statistic, abs=1.0)


def test_groups_are_flipped_as_a_whole() -> None:
    """Two copies of every row, as a group, are no more evidence than one."""
    scores = np.random.default_rng(2).standard_t(3, (60, 4))
    squares = np.sum(scores**2, axis=1)
    once = flipped_test([(slice(0, 60), scores)], scores.sum(axis=0), squares)
    twice = flipped_test([(slice(0, 60), 2 * scores)], 2 * scores.sum(axis=0), 4 * squares)
    assert twice.p_value == once.p_value
