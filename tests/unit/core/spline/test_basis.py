"""The functions of the confounder against B-splines written out by their recursion."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from plaggm.core.spline.basis import (
    SAMPLES_PER_FUNCTION,
    SplineBasis,
    SplineSide,
    spline_basis,
    spline_sides,
)

# A handful of products and sums of numbers of order one.
ROUNDING = 1e-12
# Adaptive quadrature of a polynomial over each piece, as a part of the largest integral.
INTEGRAL = 1e-9

# First knots as skewed confounders have them: half of the samples in the first hundredth of the range.
KNOTS = [(), (0.5,), (0.1,), (0.01,), (0.3, 0.6), (0.2, 0.25, 0.9)]


def side(knots: tuple[float, ...] = (0.4,), degree: int = 2, **settings: float) -> SplineSide:
    place = {**dict(confounder=0, sign=1.0, threshold=2.0, reach=8.0), **settings}
    return SplineSide(**place, inner_knots=knots, degree=degree)


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)[:, None]


def recursion(t: float, knots: np.ndarray, degree: int, index: int) -> float:
    """One B-spline at t in [0, 1) by the recursion of Cox and de Boor."""
    if degree == 0:
        return float(knots[index] <= t < knots[index + 1])
    total = 0.0
    rise = knots[index + degree] - knots[index]
    fall = knots[index + degree + 1] - knots[index + 1]
    if rise > 0.0:
        total += (t - knots[index]) / rise * recursion(t, knots, degree - 1, index)
    if fall > 0.0:
        total += (knots[index + degree + 1] - t) / fall * recursion(t, knots, degree - 1, index + 1)
    return total


def second_derivative(spline: SplineSide, t: float, index: int) -> float:
    """By the derivative's own recursion, twice."""
    knots, degree = spline.knots, spline.degree

    def slope(order: int, power: int, at: int) -> float:
        if order == 0:
            return recursion(t, knots, power, at)
        out = 0.0
        if knots[at + power] > knots[at]:
            out += power / (knots[at + power] - knots[at]) * slope(order - 1, power - 1, at)
        if knots[at + power + 1] > knots[at + 1]:
            out -= (
                power
                / (knots[at + power + 1] - knots[at + 1])
                * slope(order - 1, power - 1, at + 1)
            )
        return out

    return slope(2, degree, index)


class TestSide:
    @pytest.mark.parametrize("degree", [1, 2, 3])
    @pytest.mark.parametrize("knots", KNOTS)
    def test_the_recursion(self, degree: int, knots: tuple[float, ...]) -> None:
        spline = side(knots, degree)
        t = np.linspace(0.001, 0.999, 41)
        values = spline.evaluate(2.0 + 8.0 * t[:, None])
        literal = [
            [recursion(at, spline.knots, degree, index) for index in range(1, spline.size + 1)]
            for at in t
        ]
        assert values.shape == (41, len(knots) + degree)
        np.testing.assert_allclose(values, literal, atol=ROUNDING)

    @pytest.mark.parametrize("degree", [1, 2, 3])
    def test_nothing_up_to_the_threshold(self, degree: int) -> None:
        g = column(-1e9, -10.0, -2.0, 0.0, 1.999, 2.0)
        assert np.all(side(degree=degree).evaluate(g) == 0.0)
        assert np.all(side(degree=degree).evaluate(column(2.001)).any(axis=1))

    @pytest.mark.parametrize("degree", [1, 2, 3])
    @pytest.mark.parametrize("knots", KNOTS)
    def test_the_last_function_is_all_there_is_at_the_reach(
        self, degree: int, knots: tuple[float, ...]
    ) -> None:
        expected = np.zeros(len(knots) + degree)
        expected[-1] = 1.0
        np.testing.assert_allclose(
            side(knots, degree).evaluate(column(10.0))[0], expected, atol=ROUNDING
        )

    def test_beyond_the_reach_they_stay_as_they_are_there(self) -> None:
        values = side().evaluate(column(10.0, 10.1, 1e12))
        np.testing.assert_array_equal(values[1:], values[[0, 0]])

    @pytest.mark.parametrize("degree", [1, 2, 3])
    @pytest.mark.parametrize("knots", KNOTS)
    def test_with_the_one_left_out_they_add_up_to_one(
        self, degree: int, knots: tuple[float, ...]
    ) -> None:
        t = np.linspace(0.0, 1.0, 101)
        values = side(knots, degree).evaluate(2.0 + 8.0 * t[:, None])
        left_out = np.maximum(1.0 - t / (knots[0] if knots else 1.0), 0.0) ** degree
        np.testing.assert_allclose(values.sum(axis=1) + left_out, 1.0, atol=ROUNDING)
        assert values.min() >= 0.0

    def test_the_negative_side_is_the_mirror_of_the_positive(self) -> None:
        g = np.linspace(-12.0, 12.0, 49)[:, None]
        np.testing.assert_array_equal(side(sign=-1.0).evaluate(g), side().evaluate(-g))

    def test_the_column_of_its_confounder(self) -> None:
        g = np.random.default_rng(0).uniform(-12.0, 12.0, (20, 3))
        np.testing.assert_array_equal(side(confounder=2).evaluate(g), side().evaluate(g[:, 2:]))

    def test_linear_ramps_interpolate_between_the_knots(self) -> None:
        t = np.linspace(0.0, 1.0, 21)
        heights = np.array([3.0, -1.0])
        curve = side((0.4,), degree=1).evaluate(2.0 + 8.0 * t[:, None]) @ heights
        np.testing.assert_allclose(
            curve, np.interp(t, [0.0, 0.4, 1.0], [0.0, 3.0, -1.0]), atol=ROUNDING
        )


class TestRoughness:
    @pytest.mark.parametrize("degree", [2, 3])
    @pytest.mark.parametrize("knots", KNOTS)
    def test_integrals_of_second_derivatives(self, degree: int, knots: tuple[float, ...]) -> None:
        spline = side(knots, degree)
        pieces = np.array([0.0, *knots, 1.0])

        def product(t: float, a: int, c: int) -> float:
            return second_derivative(spline, t, a) * second_derivative(spline, t, c)

        literal = np.array(
            [
                [
                    sum(quad(product, low, high, args=(a, c))[0] for low, high in pairwise(pieces))
                    for c in range(1, spline.size + 1)
                ]
                for a in range(1, spline.size + 1)
            ]
        )
        np.testing.assert_allclose(
            spline.roughness(), literal, atol=INTEGRAL * np.abs(literal).max()
        )

    @pytest.mark.parametrize("knots", KNOTS)
    def test_changes_of_slope_of_linear_ramps(self, knots: tuple[float, ...]) -> None:
        spline = side(knots, degree=1)
        heights = np.random.default_rng(1).normal(size=spline.size)
        at = np.array([0.0, *knots, 1.0])
        slopes = np.diff(np.append(0.0, heights)) / np.diff(at)
        bends = np.sum(np.diff(slopes) ** 2)
        assert heights @ spline.roughness() @ heights == pytest.approx(bends, abs=ROUNDING)

    @pytest.mark.parametrize("degree", [1, 2, 3])
    @pytest.mark.parametrize("knots", KNOTS)
    def test_a_straight_line_has_none(self, degree: int, knots: tuple[float, ...]) -> None:
        spline = side(knots, degree)
        t = np.linspace(0.0, 1.0, 200)
        line, *_ = np.linalg.lstsq(spline.evaluate(2.0 + 8.0 * t[:, None]), t)
        size = np.abs(spline.roughness()).max()
        assert line @ spline.roughness() @ line == pytest.approx(0.0, abs=INTEGRAL * (1.0 + size))

    def test_a_single_ramp(self) -> None:
        np.testing.assert_array_equal(side((), degree=1).roughness(), [[0.0]])


class TestPlacement:
    def test_both_sides_with_knots_at_quantiles(self) -> None:
        g = np.random.default_rng(2).normal(size=(400, 1)) * 3.0
        basis = spline_basis(g, np.array([0.5]), functions=6, degree=3)
        assert [one.sign for one in basis.terms] == [1.0, -1.0]
        for one in basis.terms:
            excess = one.sign * g[:, 0] - 0.5
            excess = excess[excess > 0.0]
            assert one.reach == excess.max()
            expected = np.quantile(excess, [0.25, 0.5, 0.75]) / excess.max()
            np.testing.assert_allclose(one.inner_knots, expected, rtol=ROUNDING)
            assert (one.size, one.degree, one.threshold) == (6, 3, 0.5)

    def test_functions_of_all_sides_stand_side_by_side(self) -> None:
        g = np.random.default_rng(3).normal(size=(300, 2))
        basis = spline_basis(g, np.array([0.2, 0.4]), functions=3, degree=2)
        values = basis.evaluate(g)
        assert basis.size == 12
        assert values.shape == (300, 12)
        for one, part in zip(basis.terms, basis.slices(), strict=True):
            np.testing.assert_array_equal(values[:, part], one.evaluate(g))
            beyond = one.sign * g[:, one.confounder] > one.threshold
            np.testing.assert_array_equal(values[:, part].any(axis=1), beyond)
        assert [(one.confounder, one.sign) for one in basis.terms] == [
            (0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)
        ]  # fmt: skip

    def test_zero_exactly_where_all_confounders_are_within(self) -> None:
        g = np.random.default_rng(4).normal(size=(300, 2))
        threshold = np.array([0.5, 1.0])
        busy = spline_basis(g, threshold).evaluate(g).any(axis=1)
        np.testing.assert_array_equal(busy, np.any(np.abs(g) > threshold, axis=1))

    def test_a_confounder_of_one_sign_has_one_side(self) -> None:
        g = np.linspace(0.0, 5.0, 200)[:, None]
        assert [one.sign for one in spline_basis(g, np.array([1.0])).terms] == [1.0]
        assert [one.sign for one in spline_basis(-g, np.array([1.0])).terms] == [-1.0]

    @pytest.mark.parametrize(
        ("beyond", "size", "degree"),
        [(4, None, None), (5, 1, 1), (9, 1, 1), (10, 2, 2), (15, 3, 3), (20, 4, 3), (99, 4, 3)],
    )
    def test_few_samples_bear_few_functions(
        self, beyond: int, size: int | None, degree: int | None
    ) -> None:
        assert SAMPLES_PER_FUNCTION == 5
        g = np.append(np.zeros(10), np.linspace(2.0, 3.0, beyond))[:, None]
        basis = spline_basis(g, np.array([1.0]), functions=4, degree=3)
        if size is None:
            assert basis.terms == ()
        else:
            assert [(one.size, one.degree) for one in basis.terms] == [(size, degree)]

    @pytest.mark.parametrize("levels", [2, 3, 5])
    def test_a_few_levels_such_as_batches_have_one_ramp(self, levels: int) -> None:
        g = np.repeat(np.arange(levels, dtype=float), 20)[:, None]
        basis = spline_basis(g, np.array([0.0]), functions=4, degree=3)
        assert [(one.sign, one.size, one.degree) for one in basis.terms] == [(1.0, 1, 1)]
        np.testing.assert_allclose(basis.evaluate(g), g / (levels - 1), atol=ROUNDING)

    def test_values_that_pile_up_at_the_end_leave_no_knot_there(self) -> None:
        g = np.minimum(np.linspace(0.0, 4.0, 400), 1.0)[:, None]
        (one,) = spline_basis(g, np.array([0.1]), functions=4, degree=2).terms
        assert all(0.0 < knot < 1.0 for knot in one.inner_knots)
        assert np.all(np.diff(one.inner_knots) > 0.0)
        assert np.linalg.matrix_rank(one.evaluate(g)) == one.size

    def test_nothing_beyond_the_threshold(self) -> None:
        basis = spline_basis(np.linspace(-1.0, 1.0, 50)[:, None], np.array([1.0]))
        assert basis == SplineBasis(())
        assert (basis.size, basis.slices()) == (0, [])
        assert basis.evaluate(np.zeros((7, 1))).shape == (7, 0)

    def test_new_values_are_evaluated_where_the_old_ones_put_the_knots(self) -> None:
        g = np.random.default_rng(5).normal(size=(200, 1))
        basis = spline_basis(g, np.array([0.3]))
        np.testing.assert_array_equal(basis.evaluate(g[:7]), basis.evaluate(g)[:7])


class TestOrigin:
    """Sides of another value than zero."""

    def test_functions_move_with_the_origin(self) -> None:
        g = np.random.default_rng(6).normal(size=(300, 1))
        plain = SplineBasis(tuple(spline_sides(g, 0, 0.25, 3, 2)))
        moved = SplineBasis(tuple(spline_sides(g + 64.0, 0, 0.25, 3, 2, 64.0)))
        assert [one.origin for one in moved.terms] == [64.0, 64.0]
        np.testing.assert_allclose(moved.evaluate(g + 64.0), plain.evaluate(g), atol=1e-12)
        np.testing.assert_array_equal(moved.evaluate(column(63.75, 64.0, 64.25)), 0.0)

    def test_the_last_knot_moves_to_the_end_of_a_range(self) -> None:
        g = np.random.default_rng(7).uniform(50.0, 80.0, (300, 1))
        basis = SplineBasis(tuple(spline_sides(g, 0, 2.0, 3, 2, 60.0)))
        wide = basis.stretched(np.array([20.0]), np.array([120.0]))
        assert [one.threshold + one.reach for one in wide.terms] == [60.0, 40.0]
        at_ends = wide.evaluate(column(120.0, 20.0))
        assert (at_ends == 1.0).sum() == 2


class TestStretched:
    def test_the_end_moves_and_the_knots_stay(self) -> None:
        g = np.random.default_rng(0).normal(size=(400, 2))
        basis = spline_basis(g, np.array([0.3, 0.5]), functions=4, degree=2)
        low, high = np.array([-10.0, -20.0]), np.array([30.0, 40.0])
        ends = {(0, 1.0): 30.0, (0, -1.0): 10.0, (1, 1.0): 40.0, (1, -1.0): 20.0}
        wide = basis.stretched(low, high)
        for one, other in zip(basis.terms, wide.terms, strict=True):
            assert other.threshold + other.reach == ends[other.confounder, other.sign]
            np.testing.assert_allclose(
                np.multiply(other.inner_knots, other.reach), np.multiply(one.inner_knots, one.reach)
            )
        at_ends = wide.evaluate(np.array([[30.0, 0.0], [-10.0, 0.0]]))
        assert (at_ends == 1.0).sum() == 2

    def test_to_its_own_range_it_stays_as_it_is(self) -> None:
        g = np.random.default_rng(1).normal(size=(400, 1))
        basis = spline_basis(g, np.array([0.3]), functions=3, degree=2)
        same = basis.stretched(g.min(axis=0), g.max(axis=0))
        np.testing.assert_allclose(same.evaluate(g), basis.evaluate(g), atol=ROUNDING)
