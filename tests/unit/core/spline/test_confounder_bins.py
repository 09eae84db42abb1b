"""Bins of the confounder, and the variance's factor that is learnt from them."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.spline.anchored_terms import anchored_spline, factor_levels
from plaggm.core.spline.basis import SplineBasis, spline_basis, spline_sides
from plaggm.core.spline.confounder_bins import ConfounderBins, confounder_bins, one_bin
from plaggm.core.spline.design import SplineDesign, plain_design
from plaggm.core.spline.reference import ZERO
from plaggm.core.spline.statistics import spline_statistics, split_statistics
from plaggm.core.spline.system import smooth_system
from plaggm.core.variance.binned import BinnedVariance, row_weights, weighted_total
from plaggm.core.variance.variance_function import (
    Pilot,
    VarianceFunction,
    fit_variance_function,
    learn_variance,
    pilot_fit,
)

# Quadratic forms of a bin against sums over its rows.
ROUNDING = 1e-9


def design_of(g: np.ndarray, threshold: float) -> SplineDesign:
    limits = np.full(g.shape[1], threshold)
    noise = spline_basis(g, limits, functions=2, degree=1)
    basis = spline_basis(g, limits, functions=3, degree=2)
    bins = confounder_bins(g, noise)
    m = g.shape[1]
    kinds = tuple(f"g{k}" for k in range(m)), (None,) * m, (ZERO,) * m
    return SplineDesign(*kinds, limits, basis, noise, bins, g.min(axis=0), g.max(axis=0))


def inflated(n: int, p: int, seed: int, slope: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    g = rng.normal(size=(n, 1))
    x = rng.normal(size=(n, p)) * np.exp(0.5 * slope * np.maximum(np.abs(g) - 0.5, 0.0))
    x[:, 0] += 0.5 * x[:, 1]
    return np.column_stack([x / x.std(axis=0), np.ones(n)]), g


class TestBins:
    @pytest.mark.parametrize("threshold", [0.0, 0.3])
    def test_the_unconfounded_have_a_bin_of_their_own(self, threshold: float) -> None:
        g = np.random.default_rng(0).normal(size=(500, 1))
        g[:4, 0] = [threshold, -threshold, np.nextafter(threshold, 9.0), 0.0]
        g[4] = -np.nextafter(threshold, 9.0)
        bins = design_of(g, threshold).bins
        clean = np.abs(g[:, 0]) <= threshold
        label = bins.labels(g)
        own = label[3]
        np.testing.assert_array_equal(label == own, clean)
        assert bins.centres[own, 0] == 0.0

    def test_bins_are_narrow_and_their_centres_inside(self) -> None:
        g = np.random.default_rng(1).lognormal(size=(2000, 1))
        bins = design_of(g, 0.4).bins
        spread = np.array(
            [np.ptp(g[bins.labels(g) == k]) for k in np.unique(bins.labels(g)) if k > 0]
        )
        assert spread.max() <= (g.max() - 0.4) / 16 + 1e-12
        away = np.abs(bins.centres[bins.labels(g)] - g)[bins.labels(g) > 0]
        assert away.max() <= spread.max()

    def test_a_bin_without_samples_stands_at_its_middle(self) -> None:
        g = np.concatenate([np.linspace(0.0, 1.0, 50), [10.0]])[:, None]
        bins = design_of(g, 0.5).bins
        filled = np.unique(bins.labels(g))
        empty = np.setdiff1d(np.arange(bins.count), filled)
        assert len(empty)
        inner = empty[(empty > 0) & (empty < bins.count - 1)]
        middle = 0.5 * (bins.edges[inner - 1] + bins.edges[inner])
        np.testing.assert_allclose(bins.centres[inner, 0], middle)

    def test_only_the_confounder_with_functions_is_divided(self) -> None:
        rng = np.random.default_rng(2)
        g = np.column_stack([rng.uniform(-0.1, 0.1, 300), rng.normal(size=300)])
        bins = design_of(g, 0.4).bins
        alone = design_of(g[:, 1:], 0.4).bins
        assert bins.column == 1
        np.testing.assert_array_equal(bins.labels(g), alone.labels(g[:, 1:]))
        assert not bins.centres[:, 0].any()

    def test_around_another_origin_than_zero(self) -> None:
        g = np.random.default_rng(3).normal(size=(500, 1))
        shifted = SplineBasis(tuple(spline_sides(g + 40.0, 0, 0.3, 2, 1, 40.0)))
        bins, plain = confounder_bins(g + 40.0, shifted), design_of(g, 0.3).bins
        np.testing.assert_array_equal(bins.labels(g + 40.0), plain.labels(g))
        np.testing.assert_allclose(bins.centres, plain.centres + 40.0)

    def test_levels_of_a_factor(self) -> None:
        g = np.random.default_rng(4).permutation(np.repeat(np.arange(4.0), [30, 3, 20, 40]))[
            :, None
        ]
        term = factor_levels(g, 0, 4)
        assert term is not None
        bins = confounder_bins(g, SplineBasis((term,)))
        np.testing.assert_array_equal(bins.labels(g), g[:, 0])
        np.testing.assert_array_equal(bins.centres[:, 0], np.arange(4.0))

    def test_few_values_have_a_bin_each(self) -> None:
        g = np.random.default_rng(5).integers(1, 8, (300, 1)).astype(float)
        bins = confounder_bins(g, SplineBasis((anchored_spline(g, 0, 2, 1),)))
        np.testing.assert_array_equal(bins.centres[bins.labels(g)], g)
        assert bins.count == 7

    def test_many_values_have_narrow_bins(self) -> None:
        g = np.random.default_rng(6).gamma(1.5, 10.0, (2000, 1))
        bins = confounder_bins(g, SplineBasis((anchored_spline(g, 0, 2, 1),)))
        label = bins.labels(g)
        assert bins.count <= 64 + 1
        for one in np.unique(label):
            assert np.ptp(g[label == one]) <= np.ptp(g) / 32 + 1e-9
            assert np.mean(label == one) <= 1 / 32 + 2e-3
        assert not np.isin(bins.edges, g).any()

    @pytest.mark.parametrize(("unit", "origin"), [(-1.0, 0.0), (0.3, 7.0), (-1e4, -3.0)])
    @pytest.mark.parametrize("digits", [0, 12])
    def test_unit_and_direction_do_not_matter(
        self, unit: float, origin: float, digits: int
    ) -> None:
        """Few values and many; a quantile that is a value of the confounder among them."""
        g = np.round(np.random.default_rng(7).gamma(1.5, 50.0, (2001, 1)), digits)
        other = unit * g + origin
        first, second = (
            confounder_bins(one, SplineBasis((anchored_spline(one, 0, 2, 1),))).labels(one)
            for one in (g, other)
        )
        if unit < 0.0:
            second = second.max() - second
        np.testing.assert_array_equal(first, second)

    def test_one_bin(self) -> None:
        assert one_bin(3).count == 1
        np.testing.assert_array_equal(one_bin(2).labels(np.ones((4, 2))), 0)


class TestBinnedVariance:
    def test_forms_are_sums_over_the_rows_of_a_bin(self) -> None:
        """One round by hand, from the rows."""
        b, g = inflated(600, 4, 0, 1.0)
        design = design_of(g, 0.5)
        phi, labels = design.basis.evaluate(g), design.bins.labels(g)
        pilot = pilot_fit(*smooth_system(spline_statistics(b, phi), design.basis))
        variance = VarianceFunction(design.variance_basis, np.zeros(design.variance_basis.size))
        bins = split_statistics(b, phi, labels, design.bins.count)
        psi, found, counts = BinnedVariance(bins, design).energies(variance, pilot)

        energy, kept = self.forms(pilot, b, phi)
        filled = np.unique(labels)
        expected = [energy[labels == k].sum() / kept[labels == k].sum() for k in filled]
        np.testing.assert_allclose(found, expected, rtol=ROUNDING)
        np.testing.assert_array_equal(counts, np.bincount(labels)[filled])
        np.testing.assert_array_equal(
            psi, design.variance_basis.evaluate(design.bins.centres[filled])
        )

    @staticmethod
    def forms(pilot: Pilot, b: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Energy of the residual of every row, and the part of its noise that is left in it."""
        products = np.hstack([b, *(one[:, None] * b for one in phi.T)])
        energy = np.sum((products @ pilot.residual) ** 2, axis=1)
        return energy, 1.0 - np.sum((products @ pilot.leverage) * products, axis=1) / len(b)

    @pytest.mark.parametrize("slope", [0.0, 1.0])
    def test_close_to_what_the_rows_say(self, slope: float) -> None:
        b, g = inflated(3000, 6, 1, slope)
        design = design_of(g, 0.5)
        labels = design.bins.labels(g)
        bins = split_statistics(b, design.basis.evaluate(g), labels, design.bins.count)
        found = learn_variance(
            BinnedVariance(bins, design), design.basis, design.variance_basis
        ).log_variance(g)
        rows = fit_variance_function(b, g, design.basis, design.threshold).log_variance(g)
        assert np.sqrt(np.mean((found - rows) ** 2)) < 0.02
        truth = slope * np.maximum(np.abs(g[:, 0]) - 0.5, 0.0)
        assert np.sqrt(np.mean((found - truth) ** 2)) < 0.1

    def test_weights_are_level_within_bins(self) -> None:
        b, g = inflated(800, 4, 2, 1.0)
        design = design_of(g, 0.5)
        labels = design.bins.labels(g)
        phi = design.basis.evaluate(g)
        bins = split_statistics(b, phi, labels, design.bins.count)
        variance = VarianceFunction(design.variance_basis, np.array([0.5, 1.0, 0.2, 0.7]))
        weights = row_weights(design, variance, g)
        for label in np.unique(labels):
            assert len(np.unique(weights[labels == label])) == 1
        assert np.all(weights[np.abs(g[:, 0]) <= 0.5] == 1.0)
        total = weighted_total(bins, variance.weights(design.bins.centres))
        expected = spline_statistics(b, phi, weights).sums
        np.testing.assert_allclose(total.sums, expected, atol=1e-10 * np.abs(expected).max())

    def test_nothing_to_learn(self) -> None:
        b, _ = inflated(100, 3, 3, 0.0)
        design = plain_design()
        statistics = split_statistics(b, np.zeros((100, 0)), np.zeros(100, dtype=np.intp), 1)
        data = BinnedVariance(statistics, design)
        found = learn_variance(data, design.basis, design.variance_basis)
        assert found.basis == SplineBasis(())
        np.testing.assert_array_equal(data.statistics(found).sums, statistics[0].sums)
        assert design.one_pass

    def test_one_pass_or_not(self) -> None:
        rng = np.random.default_rng(4)
        g = rng.normal(size=(300, 2))
        noise = spline_basis(g, np.full(2, 0.4), functions=2, degree=1)
        kinds = (("a", "b"), (None, None), (ZERO, ZERO))
        ends = g.min(axis=0), g.max(axis=0)
        both = SplineDesign(*kinds, np.full(2, 0.4), noise, noise, one_bin(2), *ends)
        assert not both.one_pass
        first = SplineBasis(noise.terms[:2])
        halves = ConfounderBins(0, np.zeros(1), np.array([[-1.0, 0.0], [1.0, 0.0]]))
        single = SplineDesign(*kinds, np.full(2, 0.4), noise, first, halves, *ends)
        assert single.one_pass
        without_bins = SplineDesign(*kinds, np.full(2, 0.4), noise, first, one_bin(2), *ends)
        assert not without_bins.one_pass


def test_labels_need_no_order() -> None:
    bins = ConfounderBins(0, np.array([-1.0, 1.0]), np.array([[-2.0], [0.0], [2.0]]))
    np.testing.assert_array_equal(
        bins.labels(np.array([[3.0], [0.0], [-1.0], [1.0]])), [2, 1, 0, 1]
    )
