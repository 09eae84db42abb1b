"""What must hold for any data: invariances of the profile and of the lasso path."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.kernel.indicators import INDICATORS, evaluate_indicator
from plaggm.core.kernel.kernels import KERNELS
from plaggm.core.kernel.literal import literal_objective
from plaggm.core.kernel.local_systems import invert_local_system
from plaggm.core.kernel.moments import Rows
from plaggm.core.lasso.optimality import kkt_residual
from plaggm.core.lasso.path import lambda_grid, lambda_max, solve_path
from plaggm.core.profile.kernel import (
    KernelSmoother,
    SingularLocalSystemError,
    kernel_smoother,
    profile_kernel,
)
from plaggm.core.profile.pooled import profile_pooled

# Gram matrices of the same rows in another order, sign or unit: rounding times the condition number of
# the local systems, which the examples keep below 1e6.
GRAMS = 1e-8
WORST_RCOND = 1e-6
# Solutions are stopped at this gap; coefficients follow as its square root over the curvature.
TIGHT = 1e-14
COEFFICIENTS = 1e-5
# Optimality conditions at that gap, of lambda_max.
KKT = 1e-5
# Sums that may differ by rounding only.
ROUNDING = 1e-10

few = settings(max_examples=50)


@dataclass(frozen=True)
class Sample:
    """Rows, and how the nuisance is to be removed from them."""

    z: np.ndarray
    g: np.ndarray
    kernel: str
    indicator: str
    form: str
    bandwidth: np.ndarray
    threshold: np.ndarray
    ridge: float

    def smoother(self) -> KernelSmoother:
        indicator = evaluate_indicator(INDICATORS[self.indicator], self.g, self.threshold)
        rows = Rows(np.column_stack([self.z, np.ones(len(self.z))]), self.g, indicator)
        return kernel_smoother(
            rows,
            kernel=KERNELS[self.kernel],
            bandwidth=self.bandwidth,
            form=self.form,
            ridge=self.ridge,
        )

    def profile(self) -> NodeGrams:
        return profile_kernel(self.smoother(), n_threads=1)

    def worst_rcond(self) -> float:
        """Smallest reciprocal condition number of a local system."""
        points = self.g[np.argsort(self.g[:, 0])]
        squared, linear = self.smoother().source.evaluate(points)
        return min(
            invert_local_system(squared[:, i], linear[:, i], self.ridge)[2]
            for i in range(len(self.g))
        )

    def grams(self) -> np.ndarray:
        return self.profile().grams


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    """Some dozens of rows of correlated columns with means of their own."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p = draw(st.integers(2, 5))
    n = draw(st.integers(50, 80))
    common = draw(st.floats(0.0, 1.5)) * rng.normal(size=(n, 1)) * rng.choice([-1, 1], p)
    return rng.normal(size=(n, p)) + common + rng.normal(size=p)


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    """Tables with one or two confounders, some repeated values, and a wide enough bandwidth."""
    z = draw(tables())
    m = draw(st.sampled_from([1, 1, 2]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    g = rng.uniform(-1.0, 1.0, (len(z), m))
    if draw(st.booleans()):
        g = g.round(1)
    kernel = draw(st.sampled_from(sorted(KERNELS)))
    return Sample(
        z=z,
        g=g,
        kernel=kernel,
        indicator=draw(st.sampled_from(["soft", "ramp", "hard"])),
        form=draw(st.sampled_from(["lemma", "supplement"])),
        bandwidth=np.full(m, (0.6 if kernel == "gaussian" else 1.3) * draw(st.floats(0.9, 1.5))),
        threshold=np.full(m, draw(st.floats(0.25, 0.45)) * np.sqrt(m)),
        ridge=draw(st.sampled_from([0.0, 1e-2])),
    )


def healthy(sample: Sample) -> NodeGrams:
    """The profile, where its systems are far enough from singular for a comparison."""
    try:
        profile = sample.profile()
    except SingularLocalSystemError:
        reject()
    assume(sample.worst_rcond() > WORST_RCOND)
    return profile


def assert_same_grams(got: np.ndarray, expected: np.ndarray) -> None:
    # Of the largest entry, a response's energy: a transformed column may vanish altogether.
    np.testing.assert_allclose(got, expected, rtol=0, atol=GRAMS * np.abs(expected).max())


def pooled(z: np.ndarray) -> NodeGrams:
    return profile_pooled(np.column_stack([z, np.ones(len(z))]))


def penalties(node_grams: NodeGrams) -> np.ndarray:
    return np.array([0.9, 0.5, 0.2, 0.05, 0.005]) * lambda_max(node_grams)


class TestProfile:
    @few
    @given(samples(), st.randoms(use_true_random=False))
    def test_permuted_nodes_permute_the_grams(self, sample: Sample, random) -> None:
        order = list(range(sample.z.shape[1]))
        random.shuffle(order)
        before = healthy(sample)
        after = replace(sample, z=sample.z[:, order]).profile()
        columns = [*order, len(order)]
        assert_same_grams(after.grams, before.grams[order][:, columns][:, :, columns])
        np.testing.assert_allclose(
            after.smoother_trace, before.smoother_trace[order], rtol=0, atol=1e-6
        )

    @few
    @given(samples(), st.integers(0, 1000))
    def test_the_order_of_the_rows_does_not_matter(self, sample: Sample, seed: int) -> None:
        order = np.random.default_rng(seed).permutation(len(sample.z))
        before = healthy(sample)
        after = replace(sample, z=sample.z[order], g=sample.g[order]).profile()
        assert_same_grams(after.grams, before.grams)

    @few
    @given(samples())
    def test_every_row_twice_changes_nothing(self, sample: Sample) -> None:
        once = healthy(sample)
        twice = replace(
            sample, z=np.repeat(sample.z, 2, axis=0), g=np.repeat(sample.g, 2, axis=0)
        ).profile()
        assert twice.n == 2 * once.n
        assert_same_grams(twice.grams, once.grams)
        # Each row's own weight halves, but there are twice as many.
        np.testing.assert_allclose(twice.smoother_trace, once.smoother_trace, rtol=0, atol=1e-6)

    @few
    @given(samples(), st.floats(1e-3, 1e3))
    def test_units_of_the_confounder_cancel(self, sample: Sample, unit: float) -> None:
        if sample.kernel == "uniform" or sample.indicator == "hard":
            unit = 2.0 ** round(np.log2(unit))  # exact, so that no row crosses an edge by rounding
        before = healthy(sample)
        after = replace(
            sample,
            g=unit * sample.g,
            bandwidth=unit * sample.bandwidth,
            threshold=unit * sample.threshold,
        ).profile()
        assert_same_grams(after.grams, before.grams)

    @few
    @given(samples())
    def test_a_mirrored_confounder_changes_nothing(self, sample: Sample) -> None:
        before = healthy(sample)
        assert_same_grams(replace(sample, g=-sample.g).grams(), before.grams)

    @few
    @given(samples(), st.integers(0, 4), st.floats(0.01, 100.0), st.sampled_from([-1.0, 1.0]))
    def test_a_columns_unit_and_sign_pass_through(
        self, sample: Sample, column: int, unit: float, sign: float
    ) -> None:
        scale = np.ones(sample.z.shape[1])
        scale[column % len(scale)] = sign * unit
        before = healthy(sample)
        after = replace(sample, z=sample.z * scale).profile()
        back = after.rescaled(scale)
        assert_same_grams(back.grams, before.grams)

    @few
    @given(tables(), st.sampled_from(sorted(KERNELS)), st.sampled_from(["lemma", "supplement"]))
    def test_a_constant_confounder_below_the_threshold_is_no_confounder(
        self, z: np.ndarray, kernel: str, form: str
    ) -> None:
        sample = Sample(
            z, np.full((len(z), 1), 0.3), kernel, "hard", form, np.ones(1), np.ones(1), 0.0
        )
        profile = sample.profile()
        expected = pooled(z).grams[0]
        for gram in profile.grams:
            np.testing.assert_allclose(gram, expected, rtol=ROUNDING, atol=ROUNDING)
        np.testing.assert_array_equal(profile.smoother_trace, 0.0)


class TestPath:
    @few
    @given(tables(), st.randoms(use_true_random=False), st.sampled_from(["joint", "and", "or"]))
    def test_permuted_nodes_permute_the_network(self, z: np.ndarray, random, rule: str) -> None:
        order = list(range(z.shape[1]))
        random.shuffle(order)
        alphas = penalties(pooled(z))
        before = solve_path(pooled(z), alphas, symmetry=rule, tol=TIGHT, n_threads=1).omega
        after = solve_path(pooled(z[:, order]), alphas, symmetry=rule, tol=TIGHT, n_threads=1).omega
        np.testing.assert_allclose(after, before[:, order][:, :, order], rtol=0, atol=COEFFICIENTS)

    @few
    @given(tables(), st.integers(0, 4), st.sampled_from(["joint", "and", "or"]))
    def test_a_flipped_column_flips_its_edges(self, z: np.ndarray, column: int, rule: str) -> None:
        sign = np.ones(z.shape[1])
        sign[column % z.shape[1]] = -1.0
        alphas = penalties(pooled(z))
        before = solve_path(pooled(z), alphas, symmetry=rule, tol=TIGHT, n_threads=1).omega
        after = solve_path(pooled(z * sign), alphas, symmetry=rule, tol=TIGHT, n_threads=1).omega
        expected = before * np.outer(sign, sign)
        # An intercept has the sign of its own column.
        index = np.arange(z.shape[1])
        expected[:, index, index] *= sign
        np.testing.assert_allclose(after, expected, rtol=0, atol=COEFFICIENTS)

    @few
    @given(tables(), st.floats(0.05, 20.0))
    def test_a_common_unit_scales_the_penalty_by_its_square(
        self, z: np.ndarray, unit: float
    ) -> None:
        grams, scaled = pooled(z), pooled(unit * z)
        np.testing.assert_allclose(lambda_max(scaled), unit**2 * lambda_max(grams), rtol=ROUNDING)
        alphas = penalties(grams)
        before = solve_path(grams, alphas, tol=TIGHT).omega
        after = solve_path(scaled, unit**2 * alphas, tol=TIGHT).omega
        index = np.arange(z.shape[1])
        before[:, index, index] *= unit
        np.testing.assert_allclose(after, before, rtol=0, atol=COEFFICIENTS * max(1.0, unit))

    @few
    @given(tables(), st.floats(-10.0, 10.0))
    def test_a_shift_moves_the_intercepts_only(self, z: np.ndarray, shift: float) -> None:
        alphas = penalties(pooled(z))
        before = solve_path(pooled(z), alphas, tol=TIGHT).omega
        after = solve_path(pooled(z + shift), alphas, tol=TIGHT).omega
        off = ~np.eye(z.shape[1], dtype=bool)
        np.testing.assert_allclose(after[:, off], before[:, off], rtol=0, atol=COEFFICIENTS)
        others = np.sum(before * off, axis=1)
        diagonal = np.arange(z.shape[1])
        np.testing.assert_allclose(
            after[:, diagonal, diagonal],
            before[:, diagonal, diagonal] + shift * (1.0 - others),
            rtol=0,
            atol=100 * COEFFICIENTS,
        )

    @few
    @given(tables(), st.sampled_from(["joint", "and", "or"]))
    def test_lambda_max_is_where_the_network_empties(self, z: np.ndarray, rule: str) -> None:
        grams = pooled(z)
        largest = lambda_max(grams, rule)
        off = ~np.eye(z.shape[1], dtype=bool)
        for factor in (1.0, 1.001, 5.0):
            above = solve_path(grams, np.array([factor * largest]), symmetry=rule, n_threads=1)
            assert not np.any(above.omega[0][off])
        below = solve_path(
            grams, np.array([0.999 * largest]), symmetry=rule, n_threads=1, tol=TIGHT
        )
        # The AND rule needs both of a pair's nodes, and the second may come later.
        if rule != "and":
            assert np.any(below.omega[0][off])

    @few
    @given(tables())
    def test_the_objective_falls_and_the_network_grows_with_a_smaller_penalty(
        self, z: np.ndarray
    ) -> None:
        grams = pooled(z)
        n, p = z.shape
        alphas = lambda_grid(lambda_max(grams), 15, n, p)
        omega = solve_path(grams, alphas, tol=TIGHT).omega
        full = grams.grams[grams.node_index()]
        total = np.array(
            [literal_objective(full, o, a) for o, a in zip(omega, alphas, strict=True)]
        )
        loss = np.array([literal_objective(full, o, 0.0) for o in omega])
        size = np.abs(np.triu(omega, 1)).sum(axis=(1, 2))
        assert np.all(np.diff(total) <= ROUNDING * total[0])
        assert np.all(np.diff(loss) <= ROUNDING * loss[0])
        assert np.all(np.diff(size) >= -COEFFICIENTS)
        assert total[-1] < total[0]

    @few
    @given(tables())
    def test_no_neighbour_has_a_lower_objective(self, z: np.ndarray) -> None:
        grams = pooled(z)
        full = grams.grams[grams.node_index()]
        alphas = penalties(grams)
        rng = np.random.default_rng(0)
        for omega, alpha in zip(solve_path(grams, alphas, tol=TIGHT).omega, alphas, strict=True):
            here = literal_objective(full, omega, alpha)
            for size in (1e-1, 1e-3):
                step = size * rng.normal(size=omega.shape)
                assert literal_objective(full, omega + step + step.T, alpha) >= here * (
                    1.0 - ROUNDING
                )

    @few
    @given(samples())
    def test_conditions_and_gap_on_profiled_grams(self, sample: Sample) -> None:
        grams = healthy(sample)
        largest = lambda_max(grams)
        # Where nothing is left of the columns, as with the hard indicator in the lemma's form, there is
        # only rounding to fit.
        assume(largest > 1e-6)
        alphas = penalties(grams)
        solution = solve_path(grams, alphas, tol=1e-9)
        tight = solve_path(grams, alphas, tol=1e-13)
        assert np.all(solution.gaps <= 1e-9)
        for omega, alpha in zip(tight.omega, alphas, strict=True):
            np.testing.assert_array_equal(omega, omega.T)
            assert kkt_residual(grams, omega, alpha) <= KKT * largest
