"""Functions that vanish at a value or a level, or average to zero."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import eigh

from plaggm.core.spline.anchored_terms import (
    RANGE_POINTS,
    AnchoredSpline,
    FactorLevels,
    anchored_spline,
    factor_levels,
)
from plaggm.core.spline.basis import SAMPLES_PER_FUNCTION

ROUNDING = 1e-12


def ages(n: int = 300, seed: int = 0) -> np.ndarray:
    """Skewed values that never come near zero: shape (n, 1)."""
    return 18.0 + np.random.default_rng(seed).gamma(2.0, 10.0, (n, 1))


def hat(values: np.ndarray) -> np.ndarray:
    """Projection on the span of a constant and some functions (n, k): shape (n, n)."""
    orthonormal, _ = np.linalg.qr(np.column_stack([np.ones(len(values)), values]))
    return np.asarray(orthonormal @ orthonormal.T)


def column(values: list[float] | np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)[:, None]


class TestSplineReference:
    @pytest.mark.parametrize(("functions", "degree"), [(1, 1), (3, 2), (4, 3), (2, 1)])
    def test_functions_average_to_zero_over_the_samples(self, functions: int, degree: int) -> None:
        g = ages()
        term = anchored_spline(g, 0, functions, degree)
        assert term.size == functions
        np.testing.assert_allclose(term.evaluate(g).mean(axis=0), 0.0, atol=ROUNDING)
        assert np.all(term.evaluate(g).std(axis=0) > 0.01)

    @pytest.mark.parametrize("place", [0.0, 0.3, 1.0])
    def test_functions_vanish_at_the_reference_value(self, place: float) -> None:
        g = ages()
        value = float(np.quantile(g, place))
        term = anchored_spline(g, 0, 4, 3, value)
        np.testing.assert_array_equal(term.evaluate(column([value])), np.zeros((1, 4)))
        assert np.all(np.abs(term.evaluate(g).mean(axis=0)) > 1e-3)

    def test_only_its_own_column_counts(self) -> None:
        rng = np.random.default_rng(1)
        g = np.hstack([rng.normal(size=(200, 1)), ages(200), rng.normal(size=(200, 1))])
        term = anchored_spline(g, 1, 3, 2)
        other = g.copy()
        other[:, [0, 2]] = 7.0
        np.testing.assert_array_equal(term.evaluate(other), term.evaluate(g))
        alone = anchored_spline(g[:, [1]], 0, 3, 2)
        np.testing.assert_array_equal(alone.evaluate(g[:, [1]]), term.evaluate(g))

    @pytest.mark.parametrize("reference", [None, 40.0])
    def test_the_reference_does_not_change_the_span(self, reference: float | None) -> None:
        """Whatever is subtracted is a constant; lines and parabolas are in the span of both."""
        g = ages()
        values = anchored_spline(g, 0, 3, 2, reference).evaluate(g)
        bare = anchored_spline(g, 0, 3, 2, 25.0).evaluate(g)
        np.testing.assert_allclose(hat(values), hat(bare), atol=1e-10)
        for power in (g, g**2):
            np.testing.assert_allclose(hat(values) @ power, power, rtol=1e-9)

    def test_beyond_the_range_they_are_constant(self) -> None:
        g = ages()
        term = anchored_spline(g, 0, 3, 2)
        ends = term.evaluate(column([g.min(), g.max()]))
        np.testing.assert_array_equal(term.evaluate(column([-1e9, 1e9])), ends)
        assert term.stretched(np.array([0.0]), np.array([1e6])) is term

    def test_nan_stands_for_no_effect(self) -> None:
        term = anchored_spline(ages(), 0, 3, 2)
        values = term.evaluate(column([np.nan, 30.0]))
        assert not values[0].any()
        assert values[1].any()


class TestSplineSize:
    def test_two_values_have_one_line(self) -> None:
        sex = column(np.repeat([1.0, 2.0], [40, 60]))
        term = anchored_spline(sex, 0, 3, 2)
        assert (term.size, term.degree, term.inner_knots) == (1, 1, ())
        np.testing.assert_allclose(np.unique(term.evaluate(sex)), [-0.6, 0.4])

    @pytest.mark.parametrize(
        ("n", "functions", "size", "degree"),
        [(4, 3, 1, 1), (11, 3, 2, 2), (15, 3, 3, 2), (100, 5, 5, 2)],
    )
    def test_few_samples_bear_few_functions(
        self, n: int, functions: int, size: int, degree: int
    ) -> None:
        term = anchored_spline(column(np.arange(n)), 0, functions, 2)
        assert (term.size, term.degree) == (size, degree)
        assert term.size == max(1, min(functions, n // SAMPLES_PER_FUNCTION))

    def test_a_few_values_have_one_function_less(self) -> None:
        grade = column(np.repeat([1.0, 2.0, 5.0], 50))
        assert anchored_spline(grade, 0, 4, 3).size == 2

    def test_values_that_pile_up_leave_no_knot_at_the_ends(self) -> None:
        g = column(np.concatenate([np.zeros(90), np.linspace(0.1, 1.0, 10)]))
        term = anchored_spline(g, 0, 5, 2)
        assert all(0.0 < knot < 1.0 for knot in term.inner_knots)
        assert term.size == len(term.inner_knots) + term.degree
        assert np.all(np.isfinite(term.evaluate(g)))


class TestSplineMeasures:
    @pytest.mark.parametrize("degree", [2, 3])
    def test_roughness_is_zero_for_lines_only(self, degree: int) -> None:
        term = anchored_spline(ages(), 0, 4, degree)
        sizes = np.linalg.eigvalsh(term.roughness())
        assert abs(sizes[0]) < 1e-8 * sizes[-1]
        assert sizes[1] > 1e-4 * sizes[-1]
        line = np.linspace(term.low, term.high, 50)[:, None]
        values = term.evaluate(line) - term.evaluate(line).mean(axis=0)
        slope, *_ = np.linalg.lstsq(values, (line - line.mean())[:, 0])
        assert slope @ term.roughness() @ slope < 1e-8 * sizes[-1] * (slope @ slope)

    def test_roughness_of_a_parabola(self) -> None:
        """The integral over the range, mapped to [0, 1], of the squared second derivative of t^2."""
        term = anchored_spline(ages(), 0, 3, 2)
        t = np.linspace(0.0, 1.0, 80)
        values = term.evaluate(column(term.low + t * (term.high - term.low)))
        coefficients, *_ = np.linalg.lstsq(np.column_stack([np.ones(80), values]), t**2)
        assert coefficients[1:] @ term.roughness() @ coefficients[1:] == pytest.approx(4.0)

    def test_mean_square_is_the_integral_over_the_range(self) -> None:
        term = anchored_spline(ages(), 0, 3, 2)
        width = term.high - term.low

        def product(share: float, a: int, b: int) -> float:
            (values,) = term.evaluate(column([term.low + share * width]))
            return float(values[a] * values[b])

        literal = np.array(
            [[quad(product, 0.0, 1.0, args=(a, b))[0] for b in range(3)] for a in range(3)]
        )
        np.testing.assert_allclose(term.mean_square(), literal, atol=2.0 / RANGE_POINTS)
        assert np.all(np.linalg.eigvalsh(term.mean_square()) > 0.0)

    def test_no_covariance_is_known(self) -> None:
        assert anchored_spline(ages(), 0, 3, 2).exchangeable() is None


class TestSplineInvariance:
    @pytest.mark.parametrize(
        ("unit", "origin"), [(1e-3, 0.0), (7.0, -400.0), (-1.0, 0.0), (-2.0, 9.0)]
    )
    @pytest.mark.parametrize("at", [None, 35.0])
    def test_unit_origin_and_direction(self, unit: float, origin: float, at: float | None) -> None:
        """The span is the same, and so are the measures of every function in it."""
        g = ages()
        moved = None if at is None else unit * at + origin
        one = anchored_spline(g, 0, 4, 2, at)
        other = anchored_spline(unit * g + origin, 0, 4, 2, moved)
        mine, theirs = one.evaluate(g), other.evaluate(unit * g + origin)
        change, *_ = np.linalg.lstsq(mine, theirs)
        np.testing.assert_allclose(mine @ change, theirs, atol=1e-9)
        for measure in ("roughness", "mean_square"):
            first, second = (getattr(term, measure)() for term in (one, other))
            size = np.abs(second).max()
            np.testing.assert_allclose(change.T @ first @ change, second, atol=1e-8 * size)

    def test_smoothness_order_survives_reversal(self) -> None:
        g = ages()
        orders = []
        for sign in (1.0, -1.0):
            term = anchored_spline(sign * g, 0, 4, 2)
            values = term.evaluate(sign * g)
            orders.append(eigh(term.roughness(), values.T @ values / len(g))[0])
        np.testing.assert_allclose(orders[0], orders[1], rtol=1e-7, atol=1e-7 * orders[0][-1])


def sites(counts: list[int], seed: int = 0) -> np.ndarray:
    """Level numbers in random order: shape (n, 1)."""
    codes = np.repeat(np.arange(float(len(counts))), counts)
    return np.random.default_rng(seed).permutation(codes)[:, None]


def made(g: np.ndarray, levels: int, reference: int | None = None) -> FactorLevels:
    term = factor_levels(g, 0, levels, reference)
    assert term is not None
    return term


class TestLevels:
    def test_indicators_of_the_other_levels(self) -> None:
        g = sites([30, 10, 20])
        term = made(g, 3, reference=1)
        assert (term.size, term.count, term.frequencies) == (2, 3, ())
        # Cell 0 is the reference, then the others by their number of samples.
        assert term.cells == (1, 0, 2)
        literal = np.column_stack([g == 0.0, g == 2.0]).astype(float)
        np.testing.assert_array_equal(term.evaluate(g), literal)
        assert not term.evaluate(column([1.0])).any()

    @pytest.mark.parametrize("counts", [[30, 10, 20], [7, 7], [40, 3, 3, 8], [50, 20, 2]])
    def test_average_over_the_samples_is_zero(self, counts: list[int]) -> None:
        g = sites(counts)
        values = made(g, len(counts)).evaluate(g)
        np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=ROUNDING)
        assert np.all(values.std(axis=0) > 0.0)

    def test_coefficients_are_differences_from_the_first_cell(self) -> None:
        """Effects of levels less their frequency-weighted mean, for any effects."""
        counts = [30, 10, 20]
        g = sites(counts)
        term = made(g, 3)
        effects = np.array([0.4, -1.0, 2.5])
        by_cell = np.empty(3)
        by_cell[list(term.cells)] = effects
        found = term.evaluate(column([0.0, 1.0, 2.0])) @ (by_cell[1:] - by_cell[0])
        centred = effects - np.average(effects, weights=counts)
        np.testing.assert_allclose(found, centred, atol=ROUNDING)

    def test_exchangeable_is_the_covariance_of_contrasts(self) -> None:
        term = made(sites([30, 10, 20, 9]), 4)
        contrasts = np.column_stack([-np.ones(3), np.eye(3)])
        np.testing.assert_allclose(term.exchangeable(), contrasts @ contrasts.T)
        np.testing.assert_allclose(term.roughness() @ term.exchangeable(), np.eye(3), atol=ROUNDING)
        np.testing.assert_array_equal(term.mean_square(), term.roughness())

    @pytest.mark.parametrize("reference", [None, 2])
    def test_effects_of_levels_do_not_depend_on_the_first_cell(self, reference: int | None) -> None:
        """Under the exchangeable prior any two levels differ with the same variance."""
        term = made(sites([30, 10, 20, 9]), 4, reference)
        at = term.evaluate(column(np.arange(4.0)))
        spread = at @ term.exchangeable() @ at.T
        variances = np.diagonal(spread)
        differences = variances[:, None] + variances - 2.0 * spread
        np.testing.assert_allclose(differences, 2.0 * (1.0 - np.eye(4)), atol=1e-10)

    def test_rare_levels_share_a_cell(self) -> None:
        term = made(sites([40, 3, 30, 4]), 4)
        assert term.count == 3
        assert term.cells[1] == term.cells[3] == 2
        values = term.evaluate(column([1.0, 3.0, 0.0]))
        np.testing.assert_array_equal(values[0], values[1])
        assert not np.array_equal(values[0], values[2])

    @pytest.mark.parametrize("reference", [None, 0])
    def test_too_few_rare_samples_have_no_effect(self, reference: int | None) -> None:
        term = made(sites([40, 1, 30, 2]), 4, reference)
        assert (term.count, term.cells[1], term.cells[3]) == (2, -1, -1)
        assert not term.evaluate(column([1.0, 3.0])).any()

    def test_a_rare_reference_keeps_its_own_cell(self) -> None:
        term = made(sites([40, 2, 30]), 3, reference=1)
        assert term.cells == (1, 0, 2)

    @pytest.mark.parametrize("counts", [[40, 2], [3, 2, 1], [60]])
    def test_nothing_to_compare(self, counts: list[int]) -> None:
        assert factor_levels(sites(counts), 0, len(counts)) is None

    @pytest.mark.parametrize("reference", [None, 1])
    def test_levels_that_are_not_known_have_no_effect(self, reference: int | None) -> None:
        term = made(sites([30, 10, 20]), 3, reference)
        assert not term.evaluate(column([-1.0, 3.0, np.nan])).any()
        assert term.stretched(np.zeros(1), np.ones(1)) is term

    @pytest.mark.parametrize("counts", [[30, 10, 20], [12, 12, 12], [40, 3, 3, 8]])
    def test_numbers_of_levels_do_not_matter(self, counts: list[int]) -> None:
        """Ties in the number of samples among them."""
        g = sites(counts)
        order = np.roll(np.arange(len(counts)), 1)
        other = order[g.astype(int)].astype(float)
        first, second = made(g, len(counts)), made(other, len(counts))
        mine, theirs = first.evaluate(g), second.evaluate(other)
        # The prior of every sample's effect, and the projection, are the same.
        np.testing.assert_allclose(hat(mine), hat(theirs), atol=1e-10)
        np.testing.assert_allclose(
            mine @ first.exchangeable() @ mine.T,
            theirs @ second.exchangeable() @ theirs.T,
            atol=1e-10,
        )


def test_two_levels_are_a_line() -> None:
    g = sites([30, 50])
    line = anchored_spline(g, 0, 3, 2).evaluate(g)
    levels = made(g, 2).evaluate(g)
    # The more frequent level is cell 0.
    np.testing.assert_allclose(levels, -line, atol=ROUNDING)


def test_terms_can_be_compared() -> None:
    """Designs are the same if their terms are."""
    g = ages()
    assert anchored_spline(g, 0, 3, 2) == anchored_spline(g, 0, 3, 2)
    assert anchored_spline(g, 0, 3, 2) != anchored_spline(g, 0, 3, 2, 40.0)
    assert isinstance(hash(anchored_spline(g, 0, 3, 2)), int)
    assert AnchoredSpline(0, 0.0, 1.0, (), 1, (0.0,)).size == 1
