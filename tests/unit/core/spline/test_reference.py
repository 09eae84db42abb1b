"""Distances from where R vanishes, and the samples that are there."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.spline.reference import ZERO, Reference, at_reference, deviations

AVERAGE = Reference("average")
NONE = np.nan


@pytest.mark.parametrize(
    ("reference", "has"),
    [
        (ZERO, True),
        (Reference("value", 30.0), True),
        (AVERAGE, False),
        (Reference("level", 1.0, 3), False),
        (Reference("average", levels=3), False),
    ],
)
def test_which_references_have_a_threshold(reference: Reference, has: bool) -> None:
    assert reference.has_threshold is has


class TestDeviations:
    def test_an_amount_stays_as_it_is(self) -> None:
        g = np.array([[-1.0], [0.5], [2.0]])
        columns, limits = deviations(g, np.array([0.3]), (ZERO,))
        np.testing.assert_array_equal(columns, g)
        np.testing.assert_array_equal(limits, [0.3])

    def test_distance_from_a_value_with_its_threshold(self) -> None:
        g = np.array([[20.0], [30.0], [50.0]])
        columns, limits = deviations(g, np.array([5.0]), (Reference("value", 30.0),))
        np.testing.assert_array_equal(columns[:, 0], [-10.0, 0.0, 20.0])
        np.testing.assert_array_equal(limits, [5.0])

    def test_distance_from_the_median(self) -> None:
        g = np.array([[20.0], [30.0], [90.0]])
        columns, limits = deviations(g, np.array([NONE]), (AVERAGE,))
        np.testing.assert_array_equal(columns[:, 0], [-10.0, 0.0, 60.0])
        np.testing.assert_array_equal(limits, [0.0])

    def test_a_factor_becomes_its_levels_but_the_most_frequent(self) -> None:
        g = np.array([0.0, 1.0, 1.0, 2.0])[:, None]
        columns, limits = deviations(g, np.array([NONE]), (Reference("average", levels=3),))
        np.testing.assert_array_equal(columns, [[1, 0], [0, 0], [0, 0], [0, 1]])
        np.testing.assert_array_equal(limits, [0.0, 0.0])

    def test_a_factor_becomes_its_levels_but_the_reference(self) -> None:
        g = np.array([0.0, 1.0, 1.0, 2.0])[:, None]
        columns, _ = deviations(g, np.array([NONE]), (Reference("level", 2.0, 3),))
        np.testing.assert_array_equal(columns, [[1, 0], [0, 1], [0, 1], [0, 0]])

    def test_levels_without_samples_have_no_column(self) -> None:
        g = np.array([0.0, 0.0, 3.0])[:, None]
        columns, limits = deviations(g, np.array([NONE]), (Reference("average", levels=5),))
        assert columns.shape == (3, 1)
        assert limits.shape == (1,)

    def test_several_side_by_side(self) -> None:
        g = np.column_stack([[0.1, 0.2, 3.0], [20.0, 30.0, 40.0], [0.0, 1.0, 1.0]])
        kinds = (ZERO, AVERAGE, Reference("level", 0.0, 2))
        columns, limits = deviations(g, np.array([0.5, NONE, NONE]), kinds)
        np.testing.assert_array_equal(columns[:, 0], g[:, 0])
        np.testing.assert_array_equal(columns[:, 1], [-10.0, 0.0, 10.0])
        np.testing.assert_array_equal(columns[:, 2], [0.0, 1.0, 1.0])
        np.testing.assert_array_equal(limits, [0.5, 0.0, 0.0])


class TestAtReference:
    def test_within_the_threshold_of_a_value(self) -> None:
        g = np.array([[24.9], [25.0], [35.0], [35.1]])
        inside = at_reference(g, np.array([5.0]), (Reference("value", 30.0),))
        np.testing.assert_array_equal(inside, [False, True, True, False])

    def test_at_a_level(self) -> None:
        g = np.array([[0.0], [1.0], [2.0]])
        inside = at_reference(g, np.array([NONE]), (Reference("level", 1.0, 3),))
        np.testing.assert_array_equal(inside, [False, True, False])

    @pytest.mark.parametrize("reference", [AVERAGE, Reference("average", levels=3)])
    def test_an_average_is_nowhere_in_particular(self, reference: Reference) -> None:
        g = np.array([[0.0], [1.0], [2.0]])
        assert at_reference(g, np.array([NONE]), (reference,)).all()

    def test_all_confounders_at_once(self) -> None:
        g = np.column_stack([[0.1, 0.9, 0.1], [1.0, 1.0, 0.0]])
        kinds = (ZERO, Reference("level", 1.0, 2))
        inside = at_reference(g, np.array([0.5, NONE]), kinds)
        np.testing.assert_array_equal(inside, [True, False, False])
