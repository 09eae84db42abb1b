"""Tests of changing pairs: what is refused, factors with rare levels, heavy tails."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from plaggm.core.inference.moderation_tests import known_part, moderation_tests
from plaggm.core.inference.score_tests import direction_weights, quadratic_tests
from plaggm.core.spline.statistics import spline_statistics, split_statistics


def functions(owners: list[int]) -> Any:
    """What the tests know of a basis."""
    return SimpleNamespace(
        size=len(owners), confounders=np.array(owners, dtype=np.intp), terms=(), slices=list
    )


def rows(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    g = rng.uniform(0.0, 1.0, n)
    z = rng.standard_normal((n, p))
    return z, g


def table(z: np.ndarray) -> np.ndarray:
    return np.column_stack([z, np.ones(len(z))])


def test_a_pair_that_changes_is_found_among_those_that_do_not() -> None:
    z, g = rows(600, 5, 1)
    z[:, 3] += 0.8 * g * z[:, 1]
    found = moderation_tests(spline_statistics(table(z), g[:, None]), functions([0]))
    j, k = np.triu_indices(5, 1)
    assert (j[found.p_value[0].argmin()], k[found.p_value[0].argmin()]) == (1, 3)
    assert found.q_value[0].min() < 1e-6
    assert np.count_nonzero(found.q_value <= 0.05) == 1
    assert found.degrees_of_freedom == pytest.approx(np.ones((1, 10)))


@pytest.mark.parametrize("coding", ["every level", "all but one", "centred"])
def test_a_factor_of_thirty_levels_does_not_depend_on_its_coding(coding: str) -> None:
    rng = np.random.default_rng(5)
    # Rare levels: two rows in the last.
    sizes = np.r_[np.full(10, 60), np.full(19, 8), 2]
    level = np.repeat(np.arange(30), sizes)
    z = rng.standard_normal((len(level), 6))
    effect = rng.standard_normal(30)
    z[:, 0] += 0.7 * effect[level] * z[:, 1]
    indicators = (level[:, None] == np.arange(30)).astype(float)
    reference = moderation_tests(
        spline_statistics(table(z), indicators[:, 1:]), functions([0] * 29)
    )
    phi = indicators
    if coding == "all but one":
        phi = np.delete(indicators, 17, axis=1)
    elif coding == "centred":
        phi = indicators - indicators.mean(axis=0)
    found = moderation_tests(spline_statistics(table(z), phi), functions([0] * phi.shape[1]))
    assert found.p_value[0].argmin() == 0
    assert found.q_value[0, 0] < 1e-4
    assert np.count_nonzero(found.q_value <= 0.05) == 1
    # The prior of the other pairs, not the hypothesis, knows which level has no function.
    assert np.log(found.p_value) == pytest.approx(np.log(reference.p_value), rel=0.05, abs=0.7)


def test_two_confounders_that_say_the_same_leave_nothing_to_test() -> None:
    z, g = rows(500, 4, 2)
    z[:, 0] += g * z[:, 1]
    both = np.column_stack([g, 2.0 * g + 1.0])
    found = moderation_tests(spline_statistics(table(z), both), functions([0, 1]))
    assert np.all(np.isfinite(found.p_value))
    assert np.all(found.p_value > 1e-3)


def test_functions_that_vanish_are_not_tested() -> None:
    z, g = rows(300, 4, 3)
    alone = moderation_tests(spline_statistics(table(z), g[:, None]), functions([0]))
    nothing = np.column_stack([g, np.zeros_like(g)])
    found = moderation_tests(spline_statistics(table(z), nothing), functions([0, 0]))
    # But for one degree of freedom of the noise.
    assert found.p_value == pytest.approx(alone.p_value, rel=0.02)


def test_heavy_tails_are_seen_in_blocks() -> None:
    rng = np.random.default_rng(4)
    z, g = rows(1000, 8, 4)
    phi = np.column_stack([g, g**2])
    blocks = rng.integers(0, 10, 1000)

    def factor(z: np.ndarray) -> float:
        parts = split_statistics(table(z), phi, blocks, 10)
        total = spline_statistics(table(z), phi)
        return moderation_tests(total, functions([0, 0]), blocks=parts).dispersion

    assert factor(z) == 1.0
    assert factor(z * np.sqrt(4.0 / rng.chisquare(4, (1000, 1)))) > 1.5


def test_what_cannot_be_tested_is_refused() -> None:
    z, g = rows(100, 4, 6)
    b = table(z)
    total = spline_statistics(b, g[:, None])
    with pytest.raises(ValueError, match="No function of a confounder"):
        moderation_tests(spline_statistics(b, np.zeros((100, 0))), functions([]))
    with pytest.raises(ValueError, match="belong to one group"):
        moderation_tests(total, functions([0]), groups=(total,))
    with pytest.raises(ValueError, match="8 samples are too few"):
        moderation_tests(spline_statistics(b[:8], g[:8, None]), functions([0]))
    parts = split_statistics(b, g[:, None], np.arange(100) % 4, 4)
    with pytest.warns(UserWarning, match="rest on 4 groups"):
        moderation_tests(total, functions([0]), groups=parts)


def test_directions_are_learnt_from_the_other_pairs() -> None:
    u = np.zeros((5, 2))
    u[1:, 0] = 4.0
    weights = direction_weights(u, np.broadcast_to(np.eye(2), (5, 2, 2)))
    assert weights[0] == pytest.approx(np.diag([46.0, 1.0]))
    assert weights[1] == pytest.approx(np.diag([34.0, 1.0]))
    # A single pair has no others.
    assert direction_weights(u[:1], np.eye(2)[None])[0] == pytest.approx(np.eye(2))


def test_no_function_left_is_no_evidence() -> None:
    found = quadratic_tests(np.zeros((3, 0)), np.zeros((3, 0, 0)), None, 10.0)
    assert found[2].tolist() == [1.0, 1.0, 1.0]


def test_pairs_are_known_of_the_rows_that_observe_both() -> None:
    # The second function is zero but for rows in which the first variable is missing.
    one, other = np.r_[np.ones(6), np.zeros(4)], np.r_[np.zeros(6), np.ones(4)]
    there = np.column_stack([one, np.ones(10), np.ones(10)])
    seen = spline_statistics(np.column_stack([there, np.ones(10)]), np.column_stack([one, other]))
    rotation = np.diag([(10 / 6) ** 0.5, (10 / 4) ** 0.5])
    found = known_part(seen, 0.8, rotation, np.zeros(2, dtype=np.intp))
    np.testing.assert_allclose(found[:2], [np.diag([0.8**-0.5, 0.0])] * 2, atol=1e-12)
    np.testing.assert_allclose(found[2], np.eye(2) / 0.8**0.5, atol=1e-12)
