from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram
from sklearn.model_selection import KFold, TimeSeriesSplit

from plaggm import PLAGGM, PLAGGMCV
from plaggm.core.kernel.bandwidth import assumption_bandwidth
from plaggm.core.kernel.indicators import INDICATORS, evaluate_indicator
from plaggm.core.kernel.kernels import KERNELS
from plaggm.core.kernel.literal import literal_node_grams
from plaggm.estimators.kernel_problem import BANDWIDTH_FACTORS
from plaggm.selection import check_alphas
from plaggm.simulate import Simulated, simulate_paper

from .kernel_models import EXACT, ROUNDING, SAME_OMEGA, THRESHOLD, by_kernel, by_kernel_cv

# Losses are quadratic in that error, but their value at a held-out row is not at its minimum.
SAME_LOSS = 1e-6


@pytest.fixture(scope="module")
def data() -> Simulated:
    return simulate_paper(
        5, n=300, seed=3, even=True, threshold=THRESHOLD, density=0.5, target_radius=0.5,
        nuisance_radius=0.4,
    )  # fmt: skip


@pytest.fixture(scope="module")
def fitted(data: Simulated) -> PLAGGMCV:
    model = by_kernel_cv(alphas=25, cv=5, threshold=THRESHOLD, **EXACT)
    return model.fit(data.x, confounder=data.confounder)


def off_diagonal(path: np.ndarray) -> np.ndarray:
    upper = np.triu_indices(path.shape[-1], 1)
    return path[..., upper[0], upper[1]]


def solve_grams(grams: np.ndarray, alpha: float) -> np.ndarray:
    """The symmetric lasso on node Gram matrices by least angle regression."""
    p = len(grams)
    pairs = list(combinations(range(p), 2))
    hessian, slope = np.zeros((len(pairs), len(pairs))), np.zeros(len(pairs))
    centred = [
        g[:p, :p] - np.outer(g[:p, p], g[p, :p]) / g[p, p] for g in grams
    ]  # intercepts minimised out
    for j in range(p):
        mine = [position for position, pair in enumerate(pairs) if j in pair]
        others = [sum(pairs[position]) - j for position in mine]
        hessian[np.ix_(mine, mine)] += centred[j][np.ix_(others, others)]
        slope[mine] += centred[j][others, j]
    _, _, path = lars_path_gram(slope, hessian, n_samples=1, alpha_min=alpha, method="lasso")
    omega = np.zeros((p, p))
    for (j, k), value in zip(pairs, path[:, -1], strict=True):
        omega[j, k] = omega[k, j] = value
    for j in range(p):
        others = np.delete(np.arange(p), j)
        g = grams[j]
        omega[j, j] = (g[p, j] - g[p, others] @ omega[others, j]) / g[p, p]
    return omega


def residual_energies(grams: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Mean squared residual of every node."""
    p = len(omega)
    out = np.empty(p)
    for j in range(p):
        v = np.append(-omega[:, j], -omega[j, j])
        v[j] = 1.0
        out[j] = v @ grams[j] @ v
    return out


def grams_of(
    model: PLAGGM, data: Simulated, train: np.ndarray, test: np.ndarray | None = None
) -> np.ndarray:
    """Literal Grams of the training rows, or of test rows, in the scale of a fitted model."""
    z, g = (data.x - model.location_) / model.scale_, data.confounder[:, None]
    indicator = evaluate_indicator(INDICATORS[model.indicator], g, np.atleast_1d(model.threshold_))
    return literal_node_grams(
        z[train],
        g[train],
        indicator[train],
        kernel=KERNELS[model.kernel],
        bandwidth=np.atleast_1d(model.bandwidth_),
        form="lemma" if model.indicator == "soft" else "supplement",
        at=None if test is None else (z[test], g[test], indicator[test]),
    )


class TestPath:
    def test_the_chosen_step_is_the_fit(self, fitted: PLAGGMCV) -> None:
        chosen = int(np.flatnonzero(fitted.alphas_ == fitted.alpha_)[0])
        assert 0 < chosen < 24
        np.testing.assert_array_equal(fitted.omega_path_[chosen], fitted.omega_)
        assert fitted.dual_gaps_[chosen] == fitted.dual_gap_
        assert chosen == np.argmin(fitted.criterion_path_)

    def test_shapes(self, fitted: PLAGGMCV) -> None:
        assert fitted.alphas_.shape == fitted.criterion_path_.shape == (25,)
        assert fitted.omega_path_.shape == (25, 5, 5)
        assert fitted.cv_loss_.shape == (25, 5)
        assert fitted.cv_standard_error_.shape == fitted.dual_gaps_.shape == (25,)

    def test_glmnets_grid(self, fitted: PLAGGMCV) -> None:
        ratios = fitted.alphas_[1:] / fitted.alphas_[:-1]
        np.testing.assert_allclose(ratios, ratios[0], rtol=ROUNDING)
        assert fitted.alphas_[-1] / fitted.alphas_[0] == pytest.approx(1e-4)
        assert not off_diagonal(fitted.omega_path_[0]).any()
        assert off_diagonal(fitted.omega_path_[1]).any()

    def test_every_step_is_converged(self, fitted: PLAGGMCV) -> None:
        assert fitted.dual_gaps_.max() <= EXACT["tol"]

    @pytest.mark.parametrize(
        "settings",
        [
            {"bandwidth": 150.0},
            {"bandwidth": 150.0, "indicator": "soft", "variance": "unit", "standardize": False},
            {"bandwidth": 150.0, "symmetry": "or"},
            {"bandwidth": 150.0, "kernel": "epanechnikov", "ridge": 1e-3},
            {"smoother": "spline"},
            {"smoother": "spline", "variance": "function"},
        ],
        ids=["conditional", "paper", "or", "ridge", "spline", "variance function"],
    )
    def test_a_single_fit_at_the_chosen_penalty_is_the_same(
        self, data: Simulated, settings: dict[str, Any]
    ) -> None:
        shared = dict(threshold=THRESHOLD, **settings, **EXACT)
        chosen = by_kernel_cv(alphas=10, cv=3, **shared).fit(data.x, confounder=data.confounder)
        single = by_kernel(chosen.alpha_, **shared).fit(data.x, confounder=data.confounder)
        np.testing.assert_allclose(single.omega_, chosen.omega_, atol=SAME_OMEGA)
        # The folds' sums are added up where one fit sums all rows, and a pilot path stops at 1e-5.
        np.testing.assert_allclose(single.scale_, chosen.scale_, rtol=1e-9)
        np.testing.assert_allclose(
            single.nuisance(200.0), chosen.nuisance(200.0), atol=10 * SAME_OMEGA
        )

    def test_given_alphas(self, data: Simulated) -> None:
        alphas = [0.3, 0.1, 0.05, 0.01]
        model = by_kernel_cv(alphas=alphas, cv=3, threshold=THRESHOLD, **EXACT)
        model.fit(data.x, confounder=data.confounder)
        np.testing.assert_array_equal(model.alphas_, alphas)
        assert model.alpha_ in alphas
        for alpha, omega in zip(alphas, model.omega_path_, strict=True):
            single = by_kernel(alpha, threshold=THRESHOLD, **EXACT)
            single.fit(data.x, confounder=data.confounder)
            np.testing.assert_allclose(omega, single.omega_, atol=SAME_OMEGA)

    def test_one_alpha(self, data: Simulated) -> None:
        model = by_kernel_cv(alphas=[0.05], cv=2).fit(data.x)
        assert model.alpha_ == 0.05
        assert model.omega_path_.shape == (1, 5, 5)
        empty = by_kernel_cv(alphas=1, cv=2, edges="penalty").fit(data.x)
        assert not empty.adjacency_.any()

    def test_check_alphas_takes_any_sequence(self) -> None:
        np.testing.assert_array_equal(check_alphas((2, 1)), [2.0, 1.0])
        assert check_alphas(range(3, 0, -1)).dtype == np.float64

    def test_a_path_that_stops_too_early_says_where(self, data: Simulated) -> None:
        model = by_kernel_cv(alphas=4, cv=2, max_iter=1, tol=1e-12)
        with pytest.warns(ConvergenceWarning, match=r"at [1-4] of 4 penalties"):
            model.fit(data.x)
        assert model.to_result().diagnostics["largest_dual_gap"] == model.dual_gaps_.max()

    def test_without_confounder(self, data: Simulated) -> None:
        model = by_kernel_cv(alphas=10, cv=3, bandwidth="cv").fit(data.x)
        assert model.threshold_ is None
        assert model.bandwidth_ is None


class TestCrossValidation:
    @pytest.mark.parametrize("indicator", ["soft", "ramp"])
    def test_loss_equals_the_literal_one(self, data: Simulated, indicator: str) -> None:
        folds = list(KFold(3, shuffle=True, random_state=1).split(data.x))
        alphas = [0.2, 0.02]
        model = by_kernel_cv(
            alphas=alphas, cv=folds, indicator=indicator, threshold=THRESHOLD, bandwidth=150.0,
            **EXACT,
        )  # fmt: skip
        model.fit(data.x, confounder=data.confounder)
        expected = np.empty((2, 3))
        for fold, (train, test) in enumerate(folds):
            trained = grams_of(model, data, train)
            held_out = grams_of(model, data, train, test)
            for step, alpha in enumerate(alphas):
                omega = solve_grams(trained, alpha)
                expected[step, fold] = residual_energies(held_out, omega).sum()
        np.testing.assert_allclose(model.cv_loss_, expected, rtol=SAME_LOSS)
        np.testing.assert_allclose(model.criterion_path_, expected.mean(axis=1), rtol=SAME_LOSS)
        error = expected.std(axis=1, ddof=1) / np.sqrt(3)
        np.testing.assert_allclose(model.cv_standard_error_, error, rtol=1e-4)

    def test_large_folds_count_more(self, data: Simulated) -> None:
        rows = np.arange(300)
        folds = [(rows[50:], rows[:50]), (rows[:50], rows[50:])]
        model = by_kernel_cv(alphas=5, cv=folds).fit(data.x)
        weighted = (50 * model.cv_loss_[:, 0] + 250 * model.cv_loss_[:, 1]) / 300
        np.testing.assert_allclose(model.criterion_path_, weighted, rtol=ROUNDING)

    def test_splitter_iterable_and_number_agree(self, data: Simulated) -> None:
        splitter = KFold(4, shuffle=True, random_state=5)
        settings = dict(alphas=6, threshold=THRESHOLD)
        by_number = by_kernel_cv(cv=4, random_state=5, **settings)
        by_splitter = by_kernel_cv(cv=splitter, **settings)
        by_list = by_kernel_cv(cv=list(splitter.split(data.x)), **settings)
        by_generator = by_kernel_cv(cv=splitter.split(data.x), **settings)
        losses = [
            model.fit(data.x, confounder=data.confounder).cv_loss_
            for model in (by_number, by_splitter, by_list, by_generator)
        ]
        for loss in losses[1:]:
            np.testing.assert_array_equal(loss, losses[0])

    def test_folds_that_do_not_cover_the_rows(self, data: Simulated) -> None:
        model = by_kernel_cv(alphas=6, cv=TimeSeriesSplit(3)).fit(data.x)
        assert model.cv_loss_.shape == (6, 3)

    def test_a_custom_splitter(self, data: Simulated) -> None:
        class OddEven:
            """Leaves out the odd rows, then the even ones."""

            def split(self, x: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:
                rows = np.arange(len(x))
                for part in (1, 0):
                    yield rows[rows % 2 != part], rows[rows % 2 == part]

            def get_n_splits(self, *args: Any) -> int:
                return 2

        model = by_kernel_cv(alphas=[0.1, 0.01], cv=OddEven(), variance="unit", standardize=False)
        model.fit(data.x)
        single = by_kernel(0.1, variance="unit", standardize=False).fit(data.x[::2])
        # With unit variance the held-out loss is minus two log pseudo-likelihoods, but for a constant.
        expected = -2.0 * single.score(data.x[1::2]) - 5 * np.log(2.0 * np.pi)
        assert model.cv_loss_[0, 0] == pytest.approx(expected, rel=1e-5)

    def test_one_standard_error(self, data: Simulated) -> None:
        best = by_kernel_cv(alphas=25, cv=5).fit(data.x)
        cautious = by_kernel_cv(alphas=25, cv=5, one_se=True).fit(data.x)
        assert cautious.alpha_ > best.alpha_
        np.testing.assert_array_equal(cautious.cv_loss_, best.cv_loss_)
        smallest = int(np.argmin(best.criterion_path_))
        limit = best.criterion_path_[smallest] + best.cv_standard_error_[smallest]
        chosen = int(np.flatnonzero(cautious.alphas_ == cautious.alpha_)[0])
        assert chosen > 0
        assert best.criterion_path_[chosen] <= limit < best.criterion_path_[chosen - 1]

    def test_random_state(self, data: Simulated) -> None:
        def losses(random_state: Any) -> np.ndarray:
            return by_kernel_cv(alphas=5, cv=3, random_state=random_state).fit(data.x).cv_loss_

        np.testing.assert_array_equal(losses(0), losses(0))
        np.testing.assert_array_equal(losses(4), losses(np.random.RandomState(4)))
        assert not np.array_equal(losses(0), losses(1))
        assert losses(None).shape == (5, 3)

    def test_the_held_out_rows_do_not_train(self, data: Simulated) -> None:
        # A wild row must spoil its own fold's loss only where it is held out.
        wild = data.x.copy()
        wild[10] = 50.0
        rows = np.arange(300)
        folds = [(rows[rows >= 20], rows[:20])]
        settings = dict(alphas=[0.1], cv=folds, threshold=THRESHOLD, variance="unit",
                        standardize=False)  # fmt: skip
        clean = by_kernel_cv(**settings).fit(data.x, confounder=data.confounder)
        spoilt = by_kernel_cv(**settings).fit(wild, confounder=data.confounder)
        model = by_kernel(0.1, threshold=THRESHOLD, variance="unit", standardize=False)
        model.set_params(bandwidth=clean.bandwidth_)
        model.fit(data.x[20:], confounder=data.confounder[20:])
        constant = 5 * np.log(2.0 * np.pi)
        for fit, table in ((clean, data.x), (spoilt, wild)):
            expected = -2.0 * model.score(table[:20], confounder=data.confounder[:20]) - constant
            assert fit.cv_loss_[0, 0] == pytest.approx(expected, rel=1e-4)


class TestInformationCriteria:
    @pytest.mark.parametrize("variance", ["unit", "conditional"])
    @pytest.mark.parametrize("criterion", ["aic", "bic", "ebic"])
    def test_equals_the_formula(self, data: Simulated, variance: str, criterion: str) -> None:
        gamma = {"ebic_gamma": 0.7} if criterion == "ebic" else {}
        model = by_kernel_cv(
            criterion=criterion, variance=variance, alphas=8, threshold=THRESHOLD, **gamma
        )
        model.fit(data.x, confounder=data.confounder)
        n, p = 300, 5
        grams = grams_of(model, data, np.arange(n))
        assert model._network.problem.model is not None
        spent = model._network.problem.model.node_grams.smoother_trace
        assert np.all((spent > 1.0) & (spent < n / 2))
        expected = []
        for omega in model.omega_path_:
            energies = residual_energies(grams, omega)
            left = n - spent
            fit = n * energies.sum() if variance == "unit" else np.sum(left * np.log(energies))
            edges = np.count_nonzero(off_diagonal(omega))
            price = {"aic": 2.0, "bic": np.log(n), "ebic": np.log(n)}[criterion]
            extra = 4.0 * 0.7 * np.log(p) * edges if criterion == "ebic" else 0.0
            expected.append(fit + price * (edges + p + spent.sum()) + extra)
        np.testing.assert_allclose(model.criterion_path_, expected, rtol=1e-8)
        assert model.alpha_ == model.alphas_[int(np.argmin(expected))]

    def test_stricter_criteria_keep_fewer_edges(self, data: Simulated) -> None:
        edges = [
            np.count_nonzero(by_kernel_cv(criterion=criterion, alphas=40).fit(data.x).omega_)
            for criterion in ("aic", "bic", "ebic")
        ]
        assert edges[0] >= edges[1] >= edges[2]
        assert edges[0] > edges[2]


class TestStars:
    # Wide enough for every subsample's own largest penalty.
    ALPHAS = np.geomspace(2.0, 0.01, 20)

    def test_instability_grows_and_is_obeyed(self, data: Simulated) -> None:
        model = by_kernel_cv(criterion="stars", alphas=self.ALPHAS, n_subsamples=10)
        model.fit(data.x)
        assert np.all(np.diff(model.criterion_path_) >= 0.0)
        assert model.criterion_path_[0] == 0.0
        chosen = int(np.flatnonzero(model.alphas_ == model.alpha_)[0])
        assert model.criterion_path_[chosen] <= 0.05 < model.criterion_path_[chosen + 1]

    def test_a_larger_limit_keeps_more_edges(self, data: Simulated) -> None:
        settings = dict(criterion="stars", alphas=self.ALPHAS, n_subsamples=10)
        strict = by_kernel_cv(instability=0.02, **settings).fit(data.x)
        loose = by_kernel_cv(instability=0.2, **settings).fit(data.x)
        assert loose.alpha_ < strict.alpha_

    def test_edge_stability_is_a_frequency(self, data: Simulated) -> None:
        model = by_kernel_cv(
            criterion="stars", alphas=self.ALPHAS, n_subsamples=10, threshold=THRESHOLD,
            instability=0.3,
        )  # fmt: skip
        model.fit(data.x, confounder=data.confounder)
        stability = model.edge_stability_
        assert stability.shape == (5, 5)
        np.testing.assert_array_equal(stability, stability.T)
        np.testing.assert_array_equal(np.diag(stability), np.zeros(5))
        np.testing.assert_allclose(10 * stability, np.round(10 * stability), atol=ROUNDING)
        assert 0.0 < stability.max() <= 1.0

    def test_random_state(self, data: Simulated) -> None:
        def path(random_state: Any) -> np.ndarray:
            model = by_kernel_cv(criterion="stars", alphas=self.ALPHAS, n_subsamples=5)
            return model.set_params(random_state=random_state).fit(data.x).criterion_path_

        np.testing.assert_array_equal(path(0), path(0))
        assert not np.array_equal(path(0), path(1))

    @pytest.mark.parametrize("with_confounder", [False, True])
    def test_the_automatic_grid(self, with_confounder: bool) -> None:
        data = simulate_paper(5, n=400, seed=0, even=True, threshold=THRESHOLD)
        model = by_kernel_cv(criterion="stars", alphas=10, threshold=THRESHOLD)
        model.fit(data.x, confounder=data.confounder if with_confounder else None)
        assert model.alpha_ in model.alphas_

    def test_only_small_penalties(self, data: Simulated) -> None:
        model = by_kernel_cv(criterion="stars", alphas=[0.05, 0.01], instability=0.001)
        assert model.fit(data.x).alpha_ == 0.05

    def test_a_subsample_of_no_rows(self, data: Simulated) -> None:
        model = by_kernel_cv(criterion="stars", subsample=0.001, alphas=self.ALPHAS)
        with pytest.raises(ValueError, match="subsample"):
            model.fit(data.x)


class TestBandwidth:
    def test_the_smallest_loss_wins(self, data: Simulated) -> None:
        settings = dict(alphas=8, cv=3, threshold=THRESHOLD, variance="unit")
        model = by_kernel_cv(bandwidth="cv", **settings).fit(data.x, confounder=data.confounder)
        automatic = by_kernel_cv(**settings).fit(data.x, confounder=data.confounder).bandwidth_
        losses = []
        for factor in BANDWIDTH_FACTORS:
            fixed = by_kernel_cv(bandwidth=factor * automatic, **settings)
            losses.append(fixed.fit(data.x, confounder=data.confounder).criterion_path_.min())
        best = BANDWIDTH_FACTORS[int(np.argmin(losses))]
        assert best != 1.0
        assert model.bandwidth_ == pytest.approx(best * automatic, rel=ROUNDING)
        assert model.criterion_path_.min() == pytest.approx(min(losses), rel=ROUNDING)

    def test_with_another_criterion(self, data: Simulated) -> None:
        settings = dict(alphas=8, cv=3, threshold=THRESHOLD, bandwidth="cv")
        by_bic = by_kernel_cv(criterion="bic", **settings).fit(data.x, confounder=data.confounder)
        by_cv = by_kernel_cv(**settings).fit(data.x, confounder=data.confounder)
        assert by_bic.bandwidth_ == by_cv.bandwidth_

    @staticmethod
    def narrow(n: int, p: int) -> tuple[np.ndarray, np.ndarray, float]:
        """A table and a confounder whose automatic windows are tight, and the automatic bandwidth."""
        x = np.random.default_rng(0).standard_normal((n, p))
        return x, np.linspace(-1.0, 1.0, n), assumption_bandwidth(n, p).bandwidth

    def test_multiples_that_are_too_narrow_are_passed_over(self) -> None:
        x, g, automatic = self.narrow(140, 6)
        half = by_kernel(kernel="uniform", threshold=0.2, bandwidth=0.5 * automatic)
        with pytest.raises(ValueError, match="singular"):
            half.fit(x, confounder=g)
        model = by_kernel_cv(bandwidth="cv", kernel="uniform", alphas=4, cv=10, threshold=0.2)
        assert model.fit(x, confounder=g).bandwidth_ > 0.6 * automatic

    def test_a_wider_multiple_is_found_where_the_automatic_one_is_too_narrow(self) -> None:
        x, g, automatic = self.narrow(100, 8)
        wide = by_kernel(kernel="uniform", threshold=0.2, bandwidth=2.0 * automatic)
        assert np.isfinite(wide.fit(x, confounder=g).omega_).all()
        model = by_kernel_cv(bandwidth="cv", kernel="uniform", alphas=4, cv=10, threshold=0.2)
        assert model.fit(x, confounder=g).bandwidth_ > automatic

    def test_a_single_fit_at_the_chosen_values_is_the_same(self, data: Simulated) -> None:
        shared = dict(threshold=THRESHOLD, **EXACT)
        model = by_kernel_cv(alphas=8, cv=3, bandwidth="cv", **shared)
        model.fit(data.x, confounder=data.confounder)
        single = by_kernel(model.alpha_, bandwidth=model.bandwidth_, **shared)
        single.fit(data.x, confounder=data.confounder)
        np.testing.assert_allclose(single.omega_, model.omega_, atol=SAME_OMEGA)


class TestWorkers:
    @pytest.fixture(params=["cv", "stars"])
    def settings(self, request: pytest.FixtureRequest) -> dict[str, Any]:
        own = {"cv": dict(cv=3), "stars": dict(n_subsamples=4, instability=0.3)}[request.param]
        return dict(criterion=request.param, alphas=TestStars.ALPHAS, threshold=THRESHOLD, **own)

    def assert_same_bits(self, first: PLAGGMCV, second: PLAGGMCV) -> None:
        for name in ("omega_", "omega_path_", "criterion_path_", "alphas_", "scale_"):
            assert getattr(first, name).tobytes() == getattr(second, name).tobytes(), name

    def test_their_number_does_not_matter(self, data: Simulated, settings: dict[str, Any]) -> None:
        fits = [
            by_kernel_cv(**settings, n_jobs=n_jobs).fit(data.x, confounder=data.confounder)
            for n_jobs in (None, 2, 5)
        ]
        self.assert_same_bits(fits[0], fits[1])
        self.assert_same_bits(fits[0], fits[2])

    def test_processes_give_the_same(self, data: Simulated, settings: dict[str, Any]) -> None:
        here = by_kernel_cv(**settings, n_jobs=1).fit(data.x, confounder=data.confounder)
        with joblib.parallel_config(backend="loky", n_jobs=2):
            there = by_kernel_cv(**settings).fit(data.x, confounder=data.confounder)
        self.assert_same_bits(here, there)

    def test_the_same_twice(self, data: Simulated, settings: dict[str, Any]) -> None:
        model = by_kernel_cv(**settings).fit(data.x, confounder=data.confounder)
        again = by_kernel_cv(**settings).fit(data.x.copy(), confounder=data.confounder.copy())
        self.assert_same_bits(model, again)


class TestRefitting:
    def test_another_criterion_forgets_the_first(self, data: Simulated) -> None:
        model = by_kernel_cv(alphas=4, cv=2).fit(data.x)
        model.set_params(criterion="bic", cv=10).fit(data.x)
        assert not hasattr(model, "cv_loss_")

    def test_verbose(self, data: Simulated, capsys: pytest.CaptureFixture[str]) -> None:
        by_kernel_cv(alphas=4, cv=2, threshold=THRESHOLD, verbose=1).fit(
            data.x, confounder=data.confounder
        )
        spoken = capsys.readouterr().out
        assert "[PLAGGMCV] path of 4 penalties" in spoken
        assert "cross-validation with 2 folds" in spoken
