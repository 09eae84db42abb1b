"""The fast kernel profile against the estimator as the paper prints it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.kernel import moments
from plaggm.core.kernel.indicators import INDICATORS, Indicator, evaluate_indicator
from plaggm.core.kernel.kernels import KERNELS, Kernel
from plaggm.core.kernel.literal import literal_node_grams, literal_nuisance, transform_node
from plaggm.core.kernel.local_systems import invert_local_system
from plaggm.core.kernel.moments import InterpolatedMoments, Rows
from plaggm.core.kernel.prefix_moments import LEAF_ROWS, PrefixMoments
from plaggm.core.profile import kernel as kernel_module
from plaggm.core.profile.kernel import (
    BATCH_POINTS,
    SingularLocalSystemError,
    effective_samples,
    kernel_smoother,
    local_nuisance,
    profile_kernel,
)

# Of the transformed columns' own size: condition numbers stay below 1e4, so two ways of solving the same
# systems agree far better than this.
AGREEMENT = 1e-9
# Of the raw columns' size: x' = x - S X is a difference, and no smaller x' than its rounding can agree.
CANCELLATION = 1e-13
# Rows far from all others have systems with condition numbers of 1e5 and rows x' of many times x.
ISOLATED = 1e-8

P = 3


def quadratic(ratio: np.ndarray) -> np.ndarray:
    """An indicator of the user's own, neither zero at zero nor one at the threshold's half."""
    return np.minimum(1.0, 0.2 + 0.8 * ratio * ratio)


EVERY_INDICATOR: dict[str, Indicator] = {**INDICATORS, "callable": quadratic}
# Where each indicator changes within the range [-1, 1] of the confounders below.
THRESHOLD = {"soft": 0.6, "ramp": 0.25, "hard": 0.25, "callable": 0.6}


@dataclass(frozen=True)
class Problem:
    z: np.ndarray
    g: np.ndarray
    indicator: np.ndarray
    kernel: Kernel
    bandwidth: np.ndarray
    form: str
    ridge: float = 0.0

    @property
    def settings(self) -> dict:
        return dict(kernel=self.kernel, bandwidth=self.bandwidth, form=self.form, ridge=self.ridge)

    @property
    def rows(self) -> Rows:
        return as_rows(self.z, self.g, self.indicator)

    def profile(self, at: Rows | None = None, n_threads: int | None = None) -> NodeGrams:
        return profile_kernel(kernel_smoother(self.rows, **self.settings), at, n_threads=n_threads)

    def worst_rcond(self) -> float:
        """Smallest reciprocal condition number of a local system."""
        points = self.g[np.argsort(self.g[:, 0])]
        squared, linear = kernel_smoother(self.rows, **self.settings).source.evaluate(points)
        return min(
            invert_local_system(squared[:, i], linear[:, i], self.ridge)[2]
            for i in range(len(self.g))
        )

    def literal_grams(self, at: Rows | None = None) -> np.ndarray:
        held_out = None if at is None else (at.b[:, :-1], at.confounder, at.indicator)
        return literal_node_grams(self.z, self.g, self.indicator, **self.settings, at=held_out)

    def literal_trace(self) -> np.ndarray:
        return np.array(
            [
                transform_node(self.z, self.g, self.indicator, j, **self.settings).self_weight.sum()
                for j in range(self.z.shape[1])
            ]
        )


def as_rows(z: np.ndarray, g: np.ndarray, indicator: np.ndarray) -> Rows:
    return Rows(np.column_stack([z, np.ones(len(z))]), g, indicator)


def observations(rng: np.random.Generator, g: np.ndarray, p: int = P) -> np.ndarray:
    """Columns whose means and relations move with the confounder."""
    z = rng.normal(size=(len(g), p)) + 0.3
    z[:, 0] += 0.5 * g[:, 0]
    z[:, 1] += 0.4 * z[:, 0] * (1.0 + g[:, 0])
    return z


def make_problem(
    kernel: str, form: str, indicator: str, m: int, *, ridge: float = 0.0, n: int | None = None
) -> Problem:
    """Half of the confounder values are rounded to one decimal, so that many repeat."""
    rng = np.random.default_rng(21)
    n = (70 if m == 1 else 110) if n is None else n
    g = rng.uniform(-1.0, 1.0, (n, m))
    g[n // 2 :] = g[n // 2 :].round(1)
    g[-10:] = g[-20:-10]
    threshold = np.full(m, THRESHOLD[indicator])
    return Problem(
        observations(rng, g),
        g,
        evaluate_indicator(EVERY_INDICATOR[indicator], g, threshold),
        KERNELS[kernel],
        np.array([0.5, 0.6] if kernel == "gaussian" else [1.1, 1.2])[:m],
        form,
        ridge,
    )


def assert_grams_equal(
    fast: np.ndarray, literal: np.ndarray, raw: Rows, tolerance: float = AGREEMENT
) -> None:
    """Entry (a, b) to a part of the columns' own sizes, plus what cancellation leaves uncertain."""
    size = np.sqrt(np.einsum("jaa->ja", literal))
    raw_size = np.sqrt(np.mean(raw.b**2, axis=0))
    allowed = tolerance * size[:, :, None] * size[:, None, :]
    allowed += CANCELLATION * np.outer(raw_size, raw_size)
    worst = np.max(np.abs(fast - literal) / allowed)
    assert worst <= 1.0, f"{worst:.1e} times the allowed difference"


every_kernel = pytest.mark.parametrize("kernel", KERNELS)
both_forms = pytest.mark.parametrize("form", ["lemma", "supplement"])


@every_kernel
@both_forms
@pytest.mark.parametrize("indicator", EVERY_INDICATOR)
@pytest.mark.parametrize("m", [1, 2])
def test_grams_equal_the_literal_ones(kernel: str, form: str, indicator: str, m: int) -> None:
    problem = make_problem(kernel, form, indicator, m)
    profile = problem.profile()
    assert profile.n == len(problem.z)
    assert problem.worst_rcond() > 1e-4, "a tight comparison needs a well-conditioned problem"
    assert_grams_equal(profile.grams, problem.literal_grams(), problem.rows)


@every_kernel
@both_forms
@pytest.mark.parametrize("m", [1, 2])
def test_trace_is_the_sum_of_the_literal_self_weights(kernel: str, form: str, m: int) -> None:
    problem = make_problem(kernel, form, "ramp", m)
    trace = problem.profile().smoother_trace
    np.testing.assert_allclose(trace, problem.literal_trace(), rtol=AGREEMENT)


@every_kernel
@both_forms
@pytest.mark.parametrize("m", [1, 2])
def test_ridge(kernel: str, form: str, m: int) -> None:
    problem = make_problem(kernel, form, "soft", m, ridge=0.02)
    without = make_problem(kernel, form, "soft", m)
    fast = problem.profile()
    assert_grams_equal(fast.grams, problem.literal_grams(), problem.rows)
    np.testing.assert_allclose(fast.smoother_trace, problem.literal_trace(), rtol=AGREEMENT)
    assert np.max(np.abs(fast.grams - without.profile().grams)) > 1e-4


@every_kernel
@both_forms
@pytest.mark.parametrize("m", [1, 2])
def test_held_out_rows(kernel: str, form: str, m: int) -> None:
    problem = make_problem(kernel, form, "callable", m)
    rng = np.random.default_rng(5)
    g = rng.uniform(-0.9, 0.9, (17, m))
    g[3] = problem.g[3]  # a value that the smoother has seen
    g[5] = g[4]
    threshold = np.full(m, THRESHOLD["callable"])
    at = as_rows(observations(rng, g), g, evaluate_indicator(quadratic, g, threshold))
    profile = problem.profile(at)
    assert profile.n == 17
    assert_grams_equal(profile.grams, problem.literal_grams(at), at)
    # Rows that the smoother has not learnt from have no weight in their own fit.
    np.testing.assert_array_equal(profile.smoother_trace, 0.0)


@pytest.mark.parametrize(("kernel", "m"), [("gaussian", 1), ("epanechnikov", 1), ("gaussian", 2)])
def test_the_number_of_threads_changes_no_bit(kernel: str, m: int) -> None:
    problem = make_problem(kernel, "supplement", "ramp", m, n=9 * BATCH_POINTS)
    one = problem.profile(n_threads=1)
    for count in (2, 3, 5):
        several = problem.profile(n_threads=count)
        np.testing.assert_array_equal(several.grams, one.grams)
        np.testing.assert_array_equal(several.smoother_trace, one.smoother_trace)


def test_blocks_of_any_size_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem("epanechnikov", "lemma", "soft", 1, n=4 * BATCH_POINTS + 5)
    whole = problem.profile()
    monkeypatch.setattr(kernel_module, "BLOCK_BYTES", 1)  # one batch of points in each block
    apart = problem.profile()
    np.testing.assert_allclose(apart.grams, whole.grams, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(apart.smoother_trace, whole.smoother_trace, rtol=1e-12)


class TestLargeSamples:
    """Sizes at which the moments come from panels, leaves or the direct fallback."""

    N = 32 * LEAF_ROWS + 9

    def problem(self, kernel: str, form: str, bandwidth: float, g: np.ndarray) -> Problem:
        rng = np.random.default_rng(31)
        return Problem(
            observations(rng, g),
            g,
            np.clip(np.abs(g[:, 0]) / 0.6, 0.2, 1.0),
            KERNELS[kernel],
            np.array([bandwidth]),
            form,
        )

    @both_forms
    @pytest.mark.parametrize(("bandwidth", "panels"), [(0.5, 1), (0.05, 5)])
    def test_gaussian_panels(self, form: str, bandwidth: float, panels: int) -> None:
        g = np.random.default_rng(32).uniform(-1.0, 1.0, (self.N, 1))
        problem = self.problem("gaussian", form, bandwidth, g)
        source = kernel_smoother(problem.rows, **problem.settings).source
        assert isinstance(source, InterpolatedMoments)
        assert not source.exact
        assert moments.choose_panels(float(np.ptp(g)), bandwidth, self.N) == panels
        assert_grams_equal(problem.profile().grams, problem.literal_grams(), problem.rows)

    @pytest.mark.parametrize("kernel", [k.name for k in KERNELS.values() if k.pieces])
    def test_prefix_sums(self, kernel: str) -> None:
        g = np.random.default_rng(33).uniform(-1.0, 1.0, (self.N, 1))
        problem = self.problem(kernel, "lemma", 0.3, g)
        source = kernel_smoother(problem.rows, **problem.settings).source
        assert isinstance(source, PrefixMoments)
        assert len(source.centres) > 5
        assert len(source.leaf_panel) > 2 * len(source.centres)
        assert_grams_equal(problem.profile().grams, problem.literal_grams(), problem.rows)

    def test_heavy_tails(self) -> None:
        # Normal in the middle, and a few rows so far out that only the ridge solves their systems.
        rng = np.random.default_rng(34)
        g = rng.normal(size=(self.N, 1))
        g[:6, 0] = [-6.0, -5.2, 4.9, 5.1, 6.4, 6.5]
        problem = self.problem("gaussian", "supplement", 0.5, g)
        problem = Problem(**{**vars(problem), "ridge": 1e-3})
        assert not kernel_smoother(problem.rows, **problem.settings).source.exact
        assert_grams_equal(problem.profile().grams, problem.literal_grams(), problem.rows)

    def test_thin_windows_are_summed_directly(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # Held-out rows four to eight bandwidths beyond the data: weights down to 1e-14 of the height.
        rng = np.random.default_rng(35)
        g = rng.uniform(-1.0, 1.0, (self.N, 1))
        problem = self.problem("gaussian", "lemma", 0.2, g)
        far = np.array([[-2.6], [-2.2], [0.1], [1.8], [2.2], [2.6]])
        at = as_rows(observations(rng, far), far, np.full(len(far), 0.9))
        asked: list[float] = []
        original = moments.direct_moments

        def spy(rows: Rows, kernel: Kernel, bandwidth: np.ndarray, points: np.ndarray):
            asked.extend(points[:, 0])
            return original(rows, kernel, bandwidth, points)

        monkeypatch.setattr(moments, "direct_moments", spy)
        fast = problem.profile(at).grams
        assert {-2.6, -2.2, 2.2, 2.6} <= set(asked)
        assert 0.1 not in asked
        assert_grams_equal(fast, problem.literal_grams(at), at, ISOLATED)


class TestEmptyWindows:
    @pytest.mark.parametrize("kernel", ["epanechnikov", "uniform", "gaussian"])
    @both_forms
    def test_rows_whose_window_holds_no_weight_pass_unchanged(self, kernel: str, form: str) -> None:
        # I = 0 for all rows near zero; the gaussian kernel reaches everywhere, so there all are zero.
        rng = np.random.default_rng(41)
        middle, sides = rng.uniform(-0.5, 0.5, 40), rng.uniform(3.0, 4.0, 60)
        g = np.concatenate([middle, sides])[:, None]
        indicator = np.where(g[:, 0] > 2.0, 0.8, 0.0)
        if kernel == "gaussian":
            indicator[:] = 0.0
        problem = Problem(
            observations(rng, g), g, indicator, KERNELS[kernel], np.array([0.9]), form
        )
        profile = problem.profile()
        assert_grams_equal(profile.grams, problem.literal_grams(), problem.rows)
        at = problem.rows.take(slice(0, 40))
        np.testing.assert_allclose(
            problem.profile(at).grams,
            np.broadcast_to(at.b.T @ at.b / 40, (P, P + 1, P + 1)),
            rtol=1e-13,
        )

    def test_no_system_at_all_is_perfectly_healthy(self) -> None:
        problem = make_problem("gaussian", "supplement", "hard", 1)
        at = problem.rows.take(slice(0, 9))
        at.indicator[:] = 0.0
        profile = problem.profile(at)
        np.testing.assert_array_equal(profile.smoother_trace, 0.0)
        np.testing.assert_allclose(profile.grams[0], at.b.T @ at.b / 9, rtol=1e-13)


class TestNuisance:
    OMEGA = np.array([[0.3, 0.2, -0.1], [0.2, -0.2, 0.15], [-0.1, 0.15, 0.1]])

    @every_kernel
    @pytest.mark.parametrize("m", [1, 2])
    @pytest.mark.parametrize("ridge", [0.0, 0.03])
    def test_equals_the_literal_one(self, kernel: str, m: int, ridge: float) -> None:
        problem = make_problem(kernel, "lemma", "callable", m, ridge=ridge)
        # Not sorted, with a repeat: the caller's order must come back.
        points = np.array([[0.4, -0.3], [-0.7, 0.2], [0.0, 0.0], [0.4, -0.3], [-0.2, 0.6]])[:, :m]
        smoother = kernel_smoother(problem.rows, **problem.settings)
        fast = local_nuisance(smoother, self.OMEGA, points)
        assert fast.shape == (5, P, P)
        for estimate, point in zip(fast, points, strict=True):
            literal = literal_nuisance(
                problem.z,
                problem.g,
                problem.indicator,
                self.OMEGA,
                point,
                kernel=problem.kernel,
                bandwidth=problem.bandwidth,
                ridge=ridge,
            )
            np.testing.assert_allclose(estimate, literal, rtol=AGREEMENT, atol=AGREEMENT)

    def test_more_points_than_a_batch(self) -> None:
        problem = make_problem("gaussian", "lemma", "soft", 1)
        smoother = kernel_smoother(problem.rows, **problem.settings)
        points = np.random.default_rng(1).uniform(-0.8, 0.8, (2 * BATCH_POINTS + 3, 1))
        together = local_nuisance(smoother, self.OMEGA, points)
        for i in (0, BATCH_POINTS, 2 * BATCH_POINTS + 2):
            alone = local_nuisance(smoother, self.OMEGA, points[i : i + 1])
            np.testing.assert_allclose(together[i], alone[0], rtol=AGREEMENT, atol=AGREEMENT)

    def test_zero_where_the_window_is_empty(self) -> None:
        problem = make_problem("epanechnikov", "lemma", "soft", 1)
        smoother = kernel_smoother(problem.rows, **problem.settings)
        nuisance = local_nuisance(smoother, self.OMEGA, np.array([[0.1], [50.0]]))
        assert np.all(nuisance[0] != 0.0)
        np.testing.assert_array_equal(nuisance[1], 0.0)

    def test_singular_windows_are_named(self) -> None:
        problem = make_problem("epanechnikov", "lemma", "soft", 1)
        smoother = kernel_smoother(problem.rows, **problem.settings)
        edge = problem.g.max() + 0.999 * problem.bandwidth[0]
        with pytest.raises(SingularLocalSystemError, match=f"confounder = {edge:.6g}"):
            local_nuisance(smoother, self.OMEGA, np.array([[0.0], [edge]]))


class TestSingularSystems:
    def problem(self, ridge: float = 0.0) -> Problem:
        """Three rows near g = 7, for eight unknowns."""
        rng = np.random.default_rng(51)
        g = np.append(rng.uniform(-1.0, 1.0, 60), [7.0, 7.25, 7.375])[:, None]
        return Problem(
            observations(rng, g),
            g,
            np.ones(63),
            KERNELS["uniform"],
            np.array([0.8]),
            "supplement",
            ridge,
        )

    def test_message_says_where_how_many_and_what_to_change(self) -> None:
        with pytest.raises(SingularLocalSystemError) as caught:
            self.problem().profile()
        message = str(caught.value)
        assert "confounder = 7" in message
        assert "about 3 effective samples" in message
        assert "for 8 unknowns" in message
        assert "3 of 63 confounder values" in message
        for remedy in ("larger bandwidth", "fewer variables", "another threshold", "ridge > 0"):
            assert remedy in message

    def test_every_confounder_is_named(self) -> None:
        one = self.problem()
        g = np.column_stack([one.g[:, 0], np.full(63, 0.125)])
        g[:60, 1] = np.random.default_rng(52).uniform(-1.0, 1.0, 60)
        problem = Problem(**{**vars(one), "g": g, "bandwidth": np.array([0.8, 5.0])})
        with pytest.raises(
            SingularLocalSystemError, match=r"confounder = 7\S*, 0\.125 .* 12 unknowns"
        ):
            problem.profile()

    def test_is_a_value_error(self) -> None:
        assert issubclass(SingularLocalSystemError, ValueError)

    def test_the_ridge_is_a_way_out(self) -> None:
        problem = self.problem(ridge=1e-3)
        profile = problem.profile()
        assert_grams_equal(profile.grams, problem.literal_grams(), problem.rows, ISOLATED)
        assert 1e-5 < problem.worst_rcond() < 1e-2

    @pytest.mark.parametrize(
        ("kernel", "n"),
        [
            ("uniform", 60),
            ("uniform", 1200),
            ("gaussian", 60),
            ("gaussian", 1200),
        ],
    )
    def test_the_ridge_is_a_way_out_for_rows_alone_in_their_windows(
        self, kernel: str, n: int
    ) -> None:
        rng = np.random.default_rng(53)
        g = rng.uniform(-1.0, 1.0, (n, 1))
        g[:5, 0] = [-30.0, -24.0, -19.0, 18.5, 24.3]
        settings = dict(kernel=KERNELS[kernel], bandwidth=np.array([0.5]), form="supplement")
        problem = Problem(observations(rng, g), g, np.full(n, 0.9), ridge=1e-3, **settings)
        alone = problem.rows.take(slice(0, 5))
        fast = problem.profile(alone).grams
        assert_grams_equal(fast, problem.literal_grams(alone), alone, ISOLATED)

    def test_a_duplicated_column_is_singular_everywhere(self) -> None:
        problem = make_problem("gaussian", "lemma", "soft", 1)
        problem.z[:, 2] = problem.z[:, 0]
        distinct = len(np.unique(problem.g))
        with pytest.raises(SingularLocalSystemError, match=rf"of {distinct} confounder values"):
            problem.profile()

    def test_effective_samples_are_kishs(self) -> None:
        problem = self.problem()
        smoother = kernel_smoother(problem.rows, **problem.settings)
        assert effective_samples(smoother, np.array([7.0])) == pytest.approx(3.0)
        assert effective_samples(smoother, np.array([400.0])) == 0.0
        # The systems' own weights: w I^2 with I = 1, 1 and 1/2.
        halved = Problem(**{**vars(problem), "indicator": np.append(np.ones(62), 0.5)})
        smoother = kernel_smoother(halved.rows, **halved.settings)
        assert effective_samples(smoother, np.array([7.0])) == pytest.approx(2.25**2 / 2.0625)
