"""What must hold for any data: invariances and bounds of the spline's parts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from plaggm.core.nuisance.focused import focused_penalty, reml_penalty
from plaggm.core.nuisance.prior import PriorForm
from plaggm.core.profile.spline import (
    ProfiledSpline,
    held_out_node_grams,
    profile_spline,
    smoothing_penalty,
    spline_node_grams,
)
from plaggm.core.spline.basis import SplineBasis, spline_basis
from plaggm.core.spline.statistics import SplineStatistics, spline_statistics
from plaggm.core.spline.system import SplineSystem, smooth_system
from plaggm.core.variance.variance_function import gamma_regression

# Of the largest entry: the same sums in another order.
ROUNDING = 1e-10
# Of the largest entry: solutions of penalised systems whose smallest penalties are 1e-8, the free mean's.
GRAMS = 1e-8
# Eigenvalues of differences of such Gram matrices may be that much below zero.
ORDERED = 1e-10
# Sums of traces and logarithms of such solutions.
CRITERION = 1e-7
# Newton's method stops at steps of 1e-8.
NEWTON = 1e-6


few = settings(max_examples=40)


@dataclass(frozen=True)
class Sample:
    """Rows with their confounders and weights, and how the nuisance is to be removed."""

    z: np.ndarray
    g: np.ndarray
    weights: np.ndarray
    threshold: np.ndarray
    functions: int
    degree: int
    tau: float
    smoothness: float

    @property
    def basis(self) -> SplineBasis:
        return spline_basis(self.g, self.threshold, functions=self.functions, degree=self.degree)

    def statistics(self) -> SplineStatistics:
        b = np.column_stack([self.z, np.ones(len(self.z))])
        return spline_statistics(b, self.basis.evaluate(self.g), self.weights)

    def fit(
        self, statistics: SplineStatistics | None = None
    ) -> tuple[SplineSystem, ProfiledSpline]:
        chosen = self.statistics() if statistics is None else statistics
        system, roughness = smooth_system(chosen, self.basis)
        penalty = smoothing_penalty(roughness, self.tau, self.smoothness)
        return system, profile_spline(system, penalty)

    def grams(self) -> np.ndarray:
        return spline_node_grams(*self.fit()).grams


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    """Some dozens of rows of correlated columns, one or two confounders of one or both signs."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(40, 90)), draw(st.integers(2, 5))
    m = draw(st.sampled_from([1, 1, 2]))
    g = rng.uniform(-1.0, 1.0, (n, m))
    if draw(st.booleans()):
        g = np.abs(g)
    if draw(st.booleans()):
        g = g.round(2)
    common = draw(st.floats(0.0, 1.5)) * rng.normal(size=(n, 1)) * rng.choice([-1, 1], p)
    z = rng.normal(size=(n, p)) * (1.0 + np.abs(g[:, :1])) + common + g[:, :1]
    return Sample(
        z=z,
        g=g,
        weights=rng.uniform(0.5, 1.5, n),
        threshold=np.full(m, draw(st.floats(0.1, 0.5))),
        functions=draw(st.integers(1, 4)),
        degree=draw(st.integers(1, 3)),
        tau=10.0 ** draw(st.floats(-2.0, 2.0)),
        smoothness=draw(st.sampled_from([0.0, 3.0, 300.0])),
    )


def assert_close(found: np.ndarray, expected: np.ndarray, tolerance: float = GRAMS) -> None:
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * np.abs(expected).max())


def shuffled(sample: Sample, order: np.ndarray) -> Sample:
    return replace(sample, z=sample.z[order], g=sample.g[order], weights=sample.weights[order])


def smallest_eigenvalue(grams: np.ndarray) -> float:
    """Of the worst node, as a part of the largest."""
    values = np.linalg.eigvalsh(grams)
    return float(values.min() / np.abs(values).max())


class TestBasis:
    @few
    @given(samples())
    def test_between_zero_and_one_and_zero_where_nothing_is_confounded(
        self, sample: Sample
    ) -> None:
        values = sample.basis.evaluate(sample.g)
        assert np.all((values >= 0.0) & (values <= 1.0 + ROUNDING))
        assert np.all(values[np.all(np.abs(sample.g) <= sample.threshold, axis=1)] == 0.0)
        for part in sample.basis.slices():
            assert np.all(values[:, part].sum(axis=1) <= 1.0 + ROUNDING)

    @few
    @given(samples(), st.floats(-6.0, 6.0))
    def test_units_of_the_confounder(self, sample: Sample, power: float) -> None:
        unit = 10.0**power
        scaled = spline_basis(
            unit * sample.g,
            unit * sample.threshold,
            functions=sample.functions,
            degree=sample.degree,
        )
        np.testing.assert_allclose(
            scaled.evaluate(unit * sample.g), sample.basis.evaluate(sample.g), atol=1e-9
        )

    @few
    @given(samples())
    def test_functions_never_outnumber_what_was_asked_for(self, sample: Sample) -> None:
        for side in sample.basis.terms:
            assert 1 <= side.size <= sample.functions
            assert side.degree <= sample.degree
            beyond = side.sign * sample.g[:, side.confounder] > side.threshold
            assert np.count_nonzero(beyond) >= 5 * side.size


class TestStatistics:
    @few
    @given(samples(), st.integers(1, 39))
    def test_any_two_parts_add_up(self, sample: Sample, cut: int) -> None:
        b = np.column_stack([sample.z, np.ones(len(sample.z))])
        phi, w = sample.basis.evaluate(sample.g), sample.weights
        left = spline_statistics(b[:cut], phi[:cut], w[:cut])
        right = spline_statistics(b[cut:], phi[cut:], w[cut:])
        total = sample.statistics()
        assert (left + right).n == total.n
        assert_close((left + right).sums, total.sums, ROUNDING)
        assert_close((total - left).sums, right.sums, ROUNDING)

    @few
    @given(samples(), st.integers(0, 2**32 - 1))
    def test_order_of_rows(self, sample: Sample, seed: int) -> None:
        order = np.random.default_rng(seed).permutation(len(sample.z))
        assert_close(shuffled(sample, order).statistics().sums, sample.statistics().sums, ROUNDING)


class TestGrams:
    @few
    @given(samples(), st.permutations(range(5)))
    def test_order_of_nodes(self, sample: Sample, permutation: list[int]) -> None:
        p = sample.z.shape[1]
        order = np.array([k for k in permutation if k < p])
        moved = replace(sample, z=sample.z[:, order]).grams()
        full = np.append(order, p)
        assert_close(moved, sample.grams()[order][:, full][:, :, full])

    @few
    @given(samples(), st.lists(st.sampled_from([-1.0, 1.0]), min_size=5, max_size=5))
    def test_signs_of_nodes(self, sample: Sample, signs: list[float]) -> None:
        sign = np.array(signs[: sample.z.shape[1]])
        turned = np.append(sign, 1.0)
        expected = sample.grams() * turned[:, None] * turned[None, :]
        assert_close(replace(sample, z=sample.z * sign).grams(), expected)

    @few
    @given(samples())
    def test_sign_of_the_confounder(self, sample: Sample) -> None:
        assert_close(replace(sample, g=-sample.g).grams(), sample.grams())

    @few
    @given(samples())
    def test_order_of_confounders(self, sample: Sample) -> None:
        assert_close(replace(sample, g=sample.g[:, ::-1]).grams(), sample.grams())

    @few
    @given(samples(), st.floats(-2.0, 2.0))
    def test_units_of_the_weights(self, sample: Sample, power: float) -> None:
        """Functions are turned to unit mean square, weights included: the penalty keeps its meaning."""
        assume(sample.basis.terms)
        unit = 10.0**power
        scaled = replace(sample, weights=unit * sample.weights)
        # The ridge of the mean, 1e-8, is not scaled.
        assert_close(scaled.grams(), unit * sample.grams(), 1e-6)

    @few
    @given(samples(), st.floats(-5.0, 5.0))
    def test_the_origin_of_the_variables_does_not_matter(
        self, sample: Sample, shift: float
    ) -> None:
        """After the intercept is minimised out."""
        centred = []
        for one in (sample, replace(sample, z=sample.z + shift)):
            grams = one.grams()
            constant = grams[:, -1]
            centred.append(
                grams - constant[:, :, None] * constant[:, None, :] / constant[:, -1, None, None]
            )
        # The ridge of the mean, 1e-8, is not invariant, and is divided by what the constant has left.
        assert_close(centred[1], centred[0], 1e-6)

    @few
    @given(samples(), st.floats(1.1, 100.0))
    def test_between_zero_and_pooled_and_growing_with_the_penalty(
        self, sample: Sample, factor: float
    ) -> None:
        root = np.sqrt(sample.weights)[:, None]
        b = root * np.column_stack([sample.z, np.ones(len(sample.z))])
        loose, tight = sample.grams(), replace(sample, tau=factor * sample.tau).grams()
        assert smallest_eigenvalue(loose) > -ORDERED
        for difference in (tight - loose, b.T @ b / len(b) - tight):
            smallest = np.linalg.eigvalsh(difference).min()
            assert smallest > -ORDERED * np.abs(loose).max()

    @few
    @given(samples())
    def test_smoothness_is_a_penalty_too(self, sample: Sample) -> None:
        rough, smooth = (replace(sample, smoothness=value).grams() for value in (3.0, 300.0))
        smallest = np.linalg.eigvalsh(smooth - rough).min()
        assert smallest > -ORDERED * np.abs(rough).max()

    @few
    @given(samples())
    def test_a_row_twice_is_a_row_of_twice_the_weight(self, sample: Sample) -> None:
        """With the same functions, and the mean over the rows halved."""
        basis = sample.basis
        b = np.column_stack([sample.z, np.ones(len(sample.z))])
        phi, w = basis.evaluate(sample.g), sample.weights
        twice = spline_statistics(np.repeat(b, 2, 0), np.repeat(phi, 2, 0), np.repeat(w, 2))
        once = spline_statistics(b, phi, w)
        found = []
        for statistics in (once, twice):
            found.append(spline_node_grams(*sample.fit(statistics)).grams)
        assert_close(found[1], found[0])

    @few
    @given(samples())
    def test_held_out_residuals_of_the_rows_themselves(self, sample: Sample) -> None:
        """Their mean squares: the profiled ones less the penalty's part, hence never larger."""
        system, fit = sample.fit()
        held_out = held_out_node_grams(fit, system)
        residual = np.array([held_out.node(j) for j in range(held_out.p)])
        profiled = spline_node_grams(system, fit).grams
        assert smallest_eigenvalue(residual) > -ORDERED
        assert np.linalg.eigvalsh(profiled - residual).min() > -ORDERED * np.abs(profiled).max()


class TestChoice:
    @settings(max_examples=10)
    @given(samples(), st.permutations(range(5)))
    @pytest.mark.parametrize("rule", ["focused", "reml"])
    def test_order_of_nodes_and_rows(
        self, rule: str, sample: Sample, permutation: list[int]
    ) -> None:
        p = sample.z.shape[1]
        # With about as many coefficients as rows the reference fit interpolates.
        assume(len(sample.z) > 1.5 * (1 + sample.basis.size) * p)
        order = np.array([k for k in permutation if k < p])
        rows = np.random.default_rng(0).permutation(len(sample.z))
        moved = shuffled(replace(sample, z=sample.z[:, order]), rows)
        systems = [smooth_system(one.statistics(), one.basis) for one in (sample, moved)]
        first, second = (
            reml_penalty(*system)
            if rule == "reml"
            else focused_penalty(*system, PriorForm(sample.basis.confounders))
            for system in systems
        )
        size = np.abs(first.criterion).max()
        np.testing.assert_allclose(second.criterion, first.criterion, atol=CRITERION * size)


class TestGammaRegression:
    @few
    @given(samples(), st.floats(-3.0, 3.0))
    def test_units_of_the_energy(self, sample: Sample, power: float) -> None:
        psi = spline_basis(sample.g, sample.threshold, functions=2, degree=1).evaluate(sample.g)
        energy = np.mean(sample.z**2, axis=1)
        np.testing.assert_allclose(
            gamma_regression(psi, 10.0**power * energy), gamma_regression(psi, energy), atol=NEWTON
        )

    @few
    @given(samples())
    def test_optimality(self, sample: Sample) -> None:
        psi = spline_basis(sample.g, sample.threshold, functions=2, degree=1).evaluate(sample.g)
        energy = np.mean(sample.z**2, axis=1)
        slopes = gamma_regression(psi, energy)
        # The free intercept makes the ratios average to one.
        ratio = energy * np.exp(-psi @ slopes)
        ratio /= ratio.mean()
        np.testing.assert_allclose(psi.T @ (1.0 - ratio) + 5.0 * slopes, 0.0, atol=1e-5)
