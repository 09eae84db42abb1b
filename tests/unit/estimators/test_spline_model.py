"""The estimator with the penalised spline, against dense matrices and by its invariances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.model_selection import KFold, TimeSeriesSplit

from plaggm import PLAGGM, PLAGGMCV
from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.lasso.path import solve_path
from plaggm.core.nuisance.focused import RETAINED_SHARES, focused_penalty, reml_penalty
from plaggm.core.nuisance.prior import PriorForm
from plaggm.core.profile.spline import MEAN_RIDGE
from plaggm.core.spline.system import smooth_system
from plaggm.core.variance.binned import row_weights
from plaggm.estimators.design import AUTO_QUANTILES, BELOW_PER_VARIABLE
from plaggm.estimators.spline_model import SplineModel
from plaggm.simulate import Simulated, simulate_paper

# Settings under which the solver stops at a duality gap of about rounding size.
EXACT: dict[str, Any] = dict(tol=1e-13, max_iter=20_000)
# Omega is known to the square root of the gap at best.
SAME_OMEGA = 1e-6
# Losses are quadratic in that error, but their value at a held-out row is not at its minimum.
SAME_LOSS = 1e-6
# The same penalised systems solved in two ways; the free mean's ridge is 1e-8.
SAME_SYSTEM = 1e-7
# The same sums in another order, and the conditional scales that follow from them: these stop at changes of
# one per cent and jump if rounding moves their pilot's choice, which it does not here.
INVARIANT = 1e-6

THRESHOLD = 60.0
P, N = 5, 300


@pytest.fixture(scope="module")
def data() -> Simulated:
    return simulate_paper(P, n=N, seed=0, even=True, threshold=THRESHOLD)


@pytest.fixture(scope="module")
def inflated() -> Simulated:
    """A confounder that moves the mean, the noise and the network."""
    return simulate_paper(
        P,
        n=600,
        seed=1,
        even=True,
        threshold=THRESHOLD,
        confounder="uniform",
        mean_shift=1.0,
        variance_inflation=3.0,
    )


@pytest.fixture(scope="module")
def fitted(inflated: Simulated) -> PLAGGM:
    model = PLAGGM(0.03, threshold=THRESHOLD, **EXACT)
    return model.fit(inflated.x, confounder=inflated.confounder)


@pytest.fixture(scope="module")
def two() -> Simulated:
    g = np.random.default_rng(3).uniform(-1.0, 1.0, (500, 2)) * [1.0, 20.0]
    return simulate_paper(P, seed=2, even=True, confounder=g, threshold=[0.3, 6.0])


def spline_part(model: PLAGGM) -> SplineModel:
    assert isinstance(model._network.problem.model, SplineModel)
    return model._network.problem.model


@dataclass(frozen=True)
class Dense:
    """One node of a fitted model in the units of its standardised data: [Z, 1] and D without the node.

    Rows are not weighted; ``weights`` has what the variance function gives them.
    """

    b: np.ndarray
    d: np.ndarray
    penalty: np.ndarray
    weights: np.ndarray

    def slopes(self, of: np.ndarray) -> np.ndarray:
        """(D'WD + n P)^{-1} D'W of."""
        left = (self.d * self.weights[:, None]).T
        gram = left @ self.d + np.diag(len(self.b) * self.penalty)
        return np.linalg.solve(gram, left @ of)

    def gram(self) -> np.ndarray:
        weighted = (self.b * self.weights[:, None]).T
        return (weighted @ self.b - weighted @ self.d @ self.slopes(self.b)) / len(self.b)


def dense(model: PLAGGM, x: np.ndarray, confounder: np.ndarray, j: int) -> Dense:
    spline = spline_part(model)
    g = confounder.reshape(len(x), -1)
    z = (x - model.location_) / model._network.problem.units.scale
    b = np.column_stack([z, np.ones(len(z))])
    system = spline.profiler.system
    functions = spline.profiler.basis.evaluate(g) @ system.rotation
    others = np.delete(b, j, axis=1)
    columns, penalty = [], []
    for function, weight in zip(functions.T, spline.choice.penalty, strict=True):
        columns.append(function[:, None] * others)
        penalty += [weight] * (x.shape[1] - 1) + [MEAN_RIDGE]
    weights = row_weights(spline.design, spline.variance_function, g)
    return Dense(b, np.hstack(columns), np.array(penalty), weights)


def target_column(model: PLAGGM, j: int) -> np.ndarray:
    """Node j's coefficients on the other standardised columns, the intercept last."""
    sigma = model._network.problem.sigma
    slopes = np.delete(model.omega_[:, j] * sigma[j] / sigma, j)
    return np.append(slopes, model.omega_[j, j] * sigma[j])


def nuisance_slopes(model: PLAGGM, x: np.ndarray, confounder: np.ndarray, j: int) -> np.ndarray:
    """Gamma of node j under the nuisance's own penalty: shape (M, p), the shift of the mean last."""
    own = spline_part(model).nuisance_fit().penalty
    columns = np.column_stack([np.tile(own, (x.shape[1] - 1, 1)).T, np.full(len(own), MEAN_RIDGE)])
    one = replace(dense(model, x, confounder, j), penalty=columns.ravel())
    residual = one.b[:, j] - np.delete(one.b, j, axis=1) @ target_column(model, j)
    return one.slopes(residual).reshape(-1, x.shape[1])


class TestTarget:
    @pytest.mark.parametrize("tau", [0.02, 1.0, 50.0])
    @pytest.mark.parametrize(
        "settings",
        [
            dict(variance="unit"),
            dict(variance="conditional"),
            dict(variance="function"),
            dict(variance="unit", symmetry="and"),
        ],
        ids=["unit", "conditional", "function", "node-wise"],
    )
    def test_lasso_on_explicit_grams(self, inflated: Simulated, tau: float, settings: dict) -> None:
        model = PLAGGM(0.03, threshold=THRESHOLD, tau=tau, **settings, **EXACT)
        model.fit(inflated.x, confounder=inflated.confounder)
        grams = np.array(
            [dense(model, inflated.x, inflated.confounder, j).gram() for j in range(P)]
        )
        literal = solve_path(
            NodeGrams(grams, len(inflated.x), np.zeros(P)).rescaled(model._network.problem.sigma),
            np.array([0.03]),
            symmetry=model.symmetry,
            **EXACT,
        )
        np.testing.assert_allclose(model.omega_, literal.omega[0], atol=SAME_OMEGA)
        assert model.tau_ == tau

    def test_penalty_by_restricted_likelihood(self, inflated: Simulated) -> None:
        model = PLAGGM(0.03, threshold=THRESHOLD, tau="reml")
        model.fit(inflated.x, confounder=inflated.confounder)
        spline = spline_part(model)
        expected = reml_penalty(*smooth_system(spline.profiler.total, spline.profiler.basis))
        assert model.tau_ == expected.tau
        assert spline.choice.smoothness == expected.smoothness
        np.testing.assert_allclose(spline.choice.criterion, expected.criterion, rtol=SAME_SYSTEM)
        assert "kept" not in model.to_result().diagnostics

    def test_the_default_is_the_focused_spline(self, inflated: Simulated, fitted: PLAGGM) -> None:
        assert (fitted.smoother, fitted.tau, fitted.variance) == ("spline", "focused", "function")
        spline = spline_part(fitted)
        profiler = spline.profiler
        system, roughness = smooth_system(profiler.total, profiler.basis)
        expected = focused_penalty(system, roughness, PriorForm(profiler.basis.confounders))
        assert fitted.tau_ == pytest.approx(expected.tau)
        assert spline.choice.retained_share == expected.retained_share
        # The prior itself; its functions have any sign.
        found, literal = (
            (turn / penalty) @ turn.T
            for turn, penalty in (
                (profiler.system.rotation, profiler.fit.penalty),
                (system.rotation @ expected.rotation, expected.penalty),
            )
        )
        np.testing.assert_allclose(found, literal, atol=SAME_SYSTEM * np.abs(literal).max())
        assert fitted.bandwidth_ is None

    def test_a_penalty_of_zero_or_below_is_refused(self, data: Simulated) -> None:
        for tau in (0.0, -1.0, "auto"):
            with pytest.raises(ValueError, match="'tau' parameter"):
                PLAGGM(tau=tau).fit(data.x, confounder=data.confounder)

    @pytest.mark.parametrize("tau", [1e-100, 1e-12, 1e12, 1e99])
    def test_extreme_penalties_are_harmless(self, data: Simulated, tau: float) -> None:
        model = PLAGGM(0.05, threshold=THRESHOLD, tau=tau).fit(data.x, confounder=data.confounder)
        near = PLAGGM(0.05, threshold=THRESHOLD, tau=min(max(tau, 1e-10), 1e10)).fit(
            data.x, confounder=data.confounder
        )
        np.testing.assert_allclose(model.omega_, near.omega_, atol=1e-3)

    @pytest.mark.parametrize("variance", ["unit", "conditional", "function"])
    def test_more_variables_than_samples(self, variance: str) -> None:
        """The least-squares targets behind the choice of tau do not exist, but a network does."""
        wide = simulate_paper(40, n=36, seed=0, even=True, threshold=150.0, confounder="uniform")
        model = PLAGGM(0.2, threshold=150.0, variance=variance)
        model.fit(wide.x, confounder=wide.confounder)
        assert np.all(np.isfinite(model.omega_))
        for seed in range(3):
            order = np.random.default_rng(seed).permutation(36)
            again = clone(model).fit(wide.x[order], confounder=wide.confounder[order])
            assert again.tau_ == model.tau_, "the order of the rows decides"


class TestThreshold:
    @staticmethod
    def literal(g: np.ndarray, p: int) -> np.ndarray:
        """The first of the quantiles within which two samples for each column of [Z, 1] lie."""
        for level in AUTO_QUANTILES:
            limits = np.quantile(np.abs(g), level, axis=0)
            if np.all(np.abs(g) <= limits, axis=1).sum() >= BELOW_PER_VARIABLE * (p + 1):
                return limits
        return limits

    def test_the_smallest_with_enough_below_samples(self, data: Simulated) -> None:
        model = PLAGGM(0.05, reference="zero").fit(data.x, confounder=data.confounder)
        (limit,) = self.literal(data.confounder[:, None], P)
        assert model.threshold_ == pytest.approx(limit)
        clean = np.count_nonzero(np.abs(data.confounder) <= limit)
        assert model.to_result().diagnostics["n_unconfounded"] == clean

    def test_few_samples_take_a_larger_one(self) -> None:
        few = simulate_paper(P, n=60, seed=0, even=True, confounder="uniform")
        model = PLAGGM(0.05, reference="zero").fit(few.x, confounder=few.confounder)
        (limit,) = self.literal(few.confounder[:, None], P)
        assert model.threshold_ == pytest.approx(limit)
        assert limit > np.quantile(np.abs(few.confounder), AUTO_QUANTILES[1])

    def test_several_confounders_must_all_be_small(self, two: Simulated) -> None:
        model = PLAGGM(0.05, reference="zero").fit(two.x, confounder=two.confounder)
        np.testing.assert_allclose(model.threshold_, self.literal(two.confounder, P))

    def test_a_confounder_that_is_mostly_zero(self) -> None:
        rng = np.random.default_rng(0)
        g = np.where(rng.uniform(size=N) < 0.6, 0.0, rng.exponential(size=N))
        model = PLAGGM(0.05).fit(rng.normal(size=(N, P)), confounder=g)
        assert model.threshold_ == 0.0
        np.testing.assert_array_equal(model.nuisance(0.0), np.zeros((P, P)))

    @pytest.mark.parametrize("variance", ["unit", "conditional", "function"])
    def test_above_all_values_the_plain_model_is_fitted(
        self, data: Simulated, variance: str
    ) -> None:
        model = PLAGGM(0.05, threshold=1000.0, variance=variance, **EXACT)
        with pytest.warns(UserWarning, match=r"No confounder exceeds.*1000.*R is taken as zero"):
            model.fit(data.x, confounder=data.confounder)
        plain = PLAGGM(0.05, variance=variance, **EXACT).fit(data.x)
        np.testing.assert_allclose(model.omega_, plain.omega_, atol=SAME_OMEGA)
        assert np.all(model.nuisance([-400.0, 0.0, 400.0]) == 0.0)
        assert model.score(data.x, confounder=data.confounder) == pytest.approx(
            plain.score(data.x), rel=SAME_LOSS
        )
        assert model.to_result().diagnostics["n_unconfounded"] == N

    def test_above_all_values_in_cross_validation(self, data: Simulated) -> None:
        settings: dict[str, Any] = dict(alphas=[0.1, 0.05], cv=3, **EXACT)
        model = PLAGGMCV(threshold=1000.0, **settings)
        with pytest.warns(UserWarning, match="R is taken as zero"):
            model.fit(data.x, confounder=data.confounder)
        plain = PLAGGMCV(**settings).fit(data.x)
        np.testing.assert_allclose(model.cv_loss_, plain.cv_loss_, rtol=SAME_LOSS)

    def test_too_few_samples_for_any_adjustment(self) -> None:
        rng = np.random.default_rng(0)
        model = PLAGGM(0.05, reference="zero")
        with pytest.warns(UserWarning, match="R is taken as zero"):
            model.fit(rng.normal(size=(12, 3)), confounder=np.linspace(-1.0, 1.0, 12))
        assert np.all(np.isfinite(model.omega_))

    def test_batches(self) -> None:
        """Two levels only: the second batch has a mean and a relation of its own."""
        rng = np.random.default_rng(0)
        batch = np.repeat([0, 1], 400)
        x = rng.normal(size=(800, 4))
        x[batch == 1, 0] += 2.0 + 0.8 * x[batch == 1, 1]
        model = PLAGGM(0.02, reference="zero").fit(x, confounder=batch)
        assert model.threshold_ == 0.0
        assert abs(model.omega_[0, 1]) < 0.1
        assert model.nuisance(1.0)[0, 1] > 0.4
        with pytest.warns(UserWarning, match="Residuals of 'x0' resemble those of the row before"):
            pooled = PLAGGM(0.02).fit(x)
        assert pooled.omega_[0, 1] > 0.2

    def test_no_sample_below(self, data: Simulated) -> None:
        g = np.abs(data.confounder) + 70.0
        with pytest.raises(ValueError, match=r"No sample lies below the threshold 60;.*70"):
            PLAGGM(threshold=THRESHOLD).fit(data.x, confounder=g)

    def test_one_confounder_without_sample_below(self, two: Simulated) -> None:
        g = two.confounder + np.array([0.0, 100.0])
        with pytest.raises(ValueError, match=r"confounder1: 8\d"):
            PLAGGM(threshold=[0.3, 6.0]).fit(two.x, confounder=g)

    @pytest.mark.parametrize("threshold", [-1.0, np.nan, [1.0, 2.0]])
    def test_what_is_no_threshold(self, data: Simulated, threshold: Any) -> None:
        with pytest.raises(ValueError, match="threshold"):
            PLAGGM(threshold=threshold).fit(data.x, confounder=data.confounder)


class TestNuisance:
    def test_explicit_ridge_regression(self, inflated: Simulated, fitted: PLAGGM) -> None:
        at = np.array([-350.0, -61.0, 100.0, 390.0])
        spline, sigma = spline_part(fitted), fitted._network.problem.sigma
        functions = spline.profiler.basis.evaluate(at[:, None]) @ spline.profiler.system.rotation
        nodewise = np.zeros((len(at), P, P))
        for j in range(P):
            slopes = functions @ nuisance_slopes(fitted, inflated.x, inflated.confounder, j)
            scaled = slopes[:, :-1] * np.delete(sigma, j) / sigma[j]
            nodewise[:, :, j] = np.insert(scaled, j, slopes[:, -1] / sigma[j], axis=1)
        literal = 0.5 * (nodewise + nodewise.transpose(0, 2, 1))
        np.testing.assert_allclose(fitted.nuisance(at), literal, atol=SAME_SYSTEM)
        assert np.abs(literal).max() > 0.05

    def test_zero_up_to_the_threshold(self, fitted: PLAGGM) -> None:
        assert np.all(fitted.nuisance([-60.0, -10.0, 0.0, 59.9, 60.0]) == 0.0)
        assert np.all(fitted.nuisance([-61.0, 61.0]).any(axis=(1, 2)))

    @pytest.mark.filterwarnings("ignore:.*lies beyond the data")
    def test_symmetric(self, fitted: PLAGGM) -> None:
        found = fitted.nuisance(np.linspace(-400.0, 400.0, 33))
        np.testing.assert_array_equal(found, found.transpose(0, 2, 1))

    @pytest.mark.filterwarnings("ignore:.*lies beyond the data")
    def test_beyond_the_data_it_stays_as_at_their_end(
        self, inflated: Simulated, fitted: PLAGGM
    ) -> None:
        end = float(inflated.confounder.max())
        np.testing.assert_array_equal(fitted.nuisance(1e9), fitted.nuisance(end))

    def test_the_network_along_the_confounder(self, fitted: PLAGGM) -> None:
        np.testing.assert_array_equal(
            fitted.omega_at(200.0), fitted.omega_ + fitted.nuisance(200.0)
        )

    def test_several_confounders_add_up(self, two: Simulated) -> None:
        model = PLAGGM(0.03, threshold=[0.3, 6.0], tau=0.05).fit(two.x, confounder=two.confounder)
        both = model.nuisance([0.9, -15.0])
        parts = model.nuisance([[0.9, 0.0], [0.0, -15.0]])
        assert np.all(np.abs(parts).max(axis=(1, 2)) > 0.01)
        np.testing.assert_allclose(both, parts.sum(axis=0), atol=INVARIANT)
        assert np.all(model.nuisance([0.3, -6.0]) == 0.0)

    def test_recovers_the_truth_where_there_is_plenty_of_data(self) -> None:
        plenty = simulate_paper(
            4, n=20_000, seed=0, even=True, shape="ramp", threshold=60.0, confounder="uniform"
        )
        model = PLAGGM(1e-4, threshold=60.0).fit(plenty.x, confounder=plenty.confounder)
        at = np.array([-350.0, 150.0, 350.0])
        off = ~np.eye(4, dtype=bool)
        # Coefficients from thousands of samples have standard errors of one to three hundredths.
        np.testing.assert_allclose(model.omega_[off], plenty.omega[off], atol=0.08)
        np.testing.assert_allclose(
            model.nuisance(at)[:, off], plenty.nuisance(at)[:, off], atol=0.12
        )


class TestScore:
    def test_log_density_of_every_variable_given_the_others(
        self, inflated: Simulated, fitted: PLAGGM
    ) -> None:
        new = simulate_paper(P, n=80, seed=9, even=True, threshold=THRESHOLD, confounder="uniform")
        spline = spline_part(fitted)
        g = new.confounder[:, None]
        log_variance = spline.variance_function.log_variance(g)
        assert log_variance.max() > 0.5
        functions = spline.profiler.basis.evaluate(g) @ spline.profiler.system.rotation
        z = (new.x - fitted.location_) / fitted._network.problem.units.scale
        total = np.zeros(len(z))
        for j in range(P):
            others = np.column_stack([np.delete(z, j, axis=1), np.ones(len(z))])
            slopes = functions @ nuisance_slopes(fitted, inflated.x, inflated.confounder, j)
            mean = np.sum(others * (target_column(fitted, j) + slopes), axis=1)
            mean = fitted.location_[j] + fitted._network.problem.units.scale[j] * mean
            spread = fitted.scale_[j] * np.exp(0.5 * log_variance)
            total += norm.logpdf(new.x[:, j], mean, spread)
        assert fitted.score(new.x, confounder=new.confounder) == pytest.approx(
            total.mean(), rel=SAME_SYSTEM
        )

    def test_the_variance_function_pays(self, inflated: Simulated) -> None:
        old, new = slice(0, 600, 2), slice(1, 600, 2)
        constant, moving = (
            PLAGGM(0.03, threshold=THRESHOLD, variance=variance)
            .fit(inflated.x[old], confounder=inflated.confounder[old])
            .score(inflated.x[new], confounder=inflated.confounder[new])
            for variance in ("conditional", "function")
        )
        assert moving > 0.1 + constant

    def test_samples_have_the_variance_of_their_confounder(self, fitted: PLAGGM) -> None:
        """Drawn at g, variables have the network, the mean and the inflation of g."""
        at = 390.0
        drawn = fitted.sample(40_000, confounder=at, random_state=0)
        inflation = np.exp(spline_part(fitted).variance_function.log_variance(np.array([[at]]))[0])
        assert inflation > 1.5
        omega = fitted.omega_at(at)
        np.fill_diagonal(omega, 0.0)
        covariance = inflation * np.linalg.inv(np.eye(P) - omega)
        # The standard error of a variance from as many draws is below one per cent.
        np.testing.assert_allclose(
            drawn.var(axis=0), np.diagonal(covariance) * fitted.scale_**2, rtol=0.05
        )


class TestCrossValidation:
    @pytest.mark.parametrize(
        "cv", [KFold(3, shuffle=True, random_state=0), TimeSeriesSplit(3)], ids=["folds", "series"]
    )
    def test_losses_by_hand(self, inflated: Simulated, cv: Any) -> None:
        x, g = inflated.x, inflated.confounder
        alphas = np.array([0.2, 0.05, 0.01])
        model = PLAGGMCV(alphas=alphas, cv=cv, threshold=THRESHOLD, **EXACT).fit(x, confounder=g)
        sigma = model._network.problem.sigma
        for fold, (train, test) in enumerate(cv.split(x)):
            nodes = [dense(model, x[train], g[train], j) for j in range(P)]
            grams = NodeGrams(np.array([one.gram() for one in nodes]), len(train), np.zeros(P))
            path = solve_path(grams.rescaled(sigma), alphas, **EXACT)
            held_out = [dense(model, x[test], g[test], j) for j in range(P)]
            # The held-out rows' own nuisance is profiled out, under the prior of the training rows.
            prior = [
                np.where(
                    new.penalty == MEAN_RIDGE, MEAN_RIDGE, new.penalty * len(train) / len(test)
                )
                for new in held_out
            ]
            own = [
                replace(new, penalty=penalty) for new, penalty in zip(held_out, prior, strict=True)
            ]
            for step, omega in enumerate(path.omega):
                loss = 0.0
                for j, new in enumerate(own):
                    target = np.empty(P + 1)
                    target[:P] = -omega[:, j] * sigma[j] / sigma
                    target[j], target[P] = 1.0, -omega[j, j] * sigma[j]
                    loss += target @ new.gram() @ target / sigma[j] ** 2
                assert model.cv_loss_[step, fold] == pytest.approx(loss, rel=SAME_LOSS)

    def test_the_choice_is_a_fit_at_its_penalty(self, inflated: Simulated) -> None:
        model = PLAGGMCV(alphas=15, cv=3, threshold=THRESHOLD, **EXACT)
        model.fit(inflated.x, confounder=inflated.confounder)
        single = PLAGGM(model.alpha_, threshold=THRESHOLD, **EXACT)
        single.fit(inflated.x, confounder=inflated.confounder)
        assert model.tau_ == single.tau_
        np.testing.assert_allclose(model.omega_, single.omega_, atol=SAME_OMEGA)
        np.testing.assert_allclose(
            model.nuisance(300.0), single.nuisance(300.0), atol=10 * SAME_OMEGA
        )

    @pytest.mark.parametrize("criterion", ["aic", "bic", "ebic", "stars"])
    def test_other_criteria(self, inflated: Simulated, criterion: str) -> None:
        few = {"n_subsamples": 3} if criterion == "stars" else {}
        model = PLAGGMCV(alphas=10, criterion=criterion, threshold=THRESHOLD, **few)
        model.fit(inflated.x, confounder=inflated.confounder)
        assert model.alpha_ in model.alphas_

    def test_jobs_do_not_matter(self, two: Simulated) -> None:
        alone, together = (
            PLAGGMCV(alphas=8, cv=3, reference="zero", n_jobs=n_jobs).fit(
                two.x, confounder=two.confounder
            )
            for n_jobs in (1, 2)
        )
        np.testing.assert_allclose(together.cv_loss_, alone.cv_loss_, rtol=SAME_LOSS)
        np.testing.assert_allclose(together.omega_, alone.omega_, atol=SAME_OMEGA)
        single = [
            PLAGGM(0.05, reference="zero", n_jobs=n).fit(two.x, confounder=two.confounder)
            for n in (1, 2)
        ]
        np.testing.assert_allclose(single[1].omega_, single[0].omega_, atol=SAME_OMEGA)


class TestSeveralConfounders:
    def test_names_and_thresholds(self, two: Simulated) -> None:
        table = pd.DataFrame(two.confounder, columns=["motion", "breath"])
        model = PLAGGM(0.05, threshold=[0.3, 6.0]).fit(two.x, confounder=table)
        assert model.confounder_names_ == ("motion", "breath")
        np.testing.assert_array_equal(model.threshold_, [0.3, 6.0])
        clean = np.all(np.abs(two.confounder) <= [0.3, 6.0], axis=1).sum()
        assert model.to_result().diagnostics["n_unconfounded"] == clean

    def test_their_order_does_not_matter(self, two: Simulated) -> None:
        model = PLAGGM(0.05, threshold=[0.3, 6.0], **EXACT).fit(two.x, confounder=two.confounder)
        turned = PLAGGM(0.05, threshold=[6.0, 0.3], **EXACT)
        turned.fit(two.x, confounder=two.confounder[:, ::-1])
        np.testing.assert_allclose(turned.omega_, model.omega_, atol=INVARIANT)

    def test_one_that_stays_below_its_threshold_changes_nothing(self, two: Simulated) -> None:
        alone = PLAGGM(0.05, threshold=0.3, **EXACT).fit(two.x, confounder=two.confounder[:, 0])
        both = PLAGGM(0.05, threshold=[0.3, 100.0], **EXACT)
        both.fit(two.x, confounder=two.confounder)
        np.testing.assert_allclose(both.omega_, alone.omega_, atol=INVARIANT)

    def test_seven_of_them(self) -> None:
        rng = np.random.default_rng(1)
        g = rng.normal(size=(400, 7))
        x = rng.normal(size=(400, P)) + np.abs(g[:, :1])
        model = PLAGGM(0.05).fit(x, confounder=g)
        assert np.all(np.isfinite(model.omega_))
        assert model.nuisance(np.zeros(7)).shape == (P, P)


class TestInvariances:
    def test_order_of_nodes(self, inflated: Simulated, fitted: PLAGGM) -> None:
        order = np.array([3, 0, 4, 1, 2])
        model = PLAGGM(0.03, threshold=THRESHOLD, **EXACT)
        model.fit(inflated.x[:, order], confounder=inflated.confounder)
        assert model.tau_ == pytest.approx(fitted.tau_)
        np.testing.assert_allclose(
            model.omega_, fitted.omega_[np.ix_(order, order)], atol=INVARIANT
        )
        np.testing.assert_allclose(
            model.nuisance(300.0), fitted.nuisance(300.0)[np.ix_(order, order)], atol=INVARIANT
        )

    def test_order_of_rows(self, inflated: Simulated, fitted: PLAGGM) -> None:
        order = np.random.default_rng(4).permutation(len(inflated.x))
        model = PLAGGM(0.03, threshold=THRESHOLD, **EXACT)
        model.fit(inflated.x[order], confounder=inflated.confounder[order])
        np.testing.assert_allclose(model.omega_, fitted.omega_, atol=INVARIANT)

    def test_sign_of_a_node(self, inflated: Simulated, fitted: PLAGGM) -> None:
        sign = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
        model = PLAGGM(0.03, threshold=THRESHOLD, **EXACT)
        model.fit(inflated.x * sign, confounder=inflated.confounder)
        turned = fitted.omega_ * np.outer(sign, sign)
        np.fill_diagonal(turned, np.diagonal(fitted.omega_) * sign)
        np.testing.assert_allclose(model.omega_, turned, atol=INVARIANT)

    def test_units_of_the_variables(self, inflated: Simulated, fitted: PLAGGM) -> None:
        unit, origin = np.array([1e3, 1e-3, 1.0, 7.0, 0.1]), np.array([5.0, -2.0, 100.0, 0.0, 1.0])
        model = PLAGGM(0.03, threshold=THRESHOLD, **EXACT)
        model.fit(inflated.x * unit + origin, confounder=inflated.confounder)
        np.testing.assert_allclose(model.omega_, fitted.omega_, atol=INVARIANT)
        np.testing.assert_allclose(model.scale_, fitted.scale_ * unit, rtol=INVARIANT)

    @pytest.mark.parametrize("unit", [1e3, 1e-9])
    @pytest.mark.parametrize("threshold", [THRESHOLD, "auto"])
    def test_units_of_the_confounder(
        self, inflated: Simulated, unit: float, threshold: Any
    ) -> None:
        in_units = threshold if threshold == "auto" else unit * threshold
        model = PLAGGM(0.03, threshold=in_units, reference="zero", **EXACT)
        model.fit(inflated.x, confounder=unit * inflated.confounder)
        same = PLAGGM(0.03, threshold=threshold, reference="zero", **EXACT)
        same.fit(inflated.x, confounder=inflated.confounder)
        assert model.threshold_ == pytest.approx(unit * same.threshold_)
        np.testing.assert_allclose(model.omega_, same.omega_, atol=INVARIANT)
        np.testing.assert_allclose(
            model.nuisance(300.0 * unit), same.nuisance(300.0), atol=INVARIANT
        )

    def test_sign_of_the_confounder(self, inflated: Simulated, fitted: PLAGGM) -> None:
        model = PLAGGM(0.03, threshold=THRESHOLD, **EXACT).fit(
            inflated.x, confounder=-inflated.confounder
        )
        np.testing.assert_allclose(model.omega_, fitted.omega_, atol=INVARIANT)
        np.testing.assert_allclose(model.nuisance(-300.0), fitted.nuisance(300.0), atol=INVARIANT)

    @pytest.mark.parametrize(
        "foreign",
        [{"kernel": "biweight"}, {"bandwidth": 3.0}, {"indicator": "hard"}, {"ridge": 1.0}],
    )
    def test_parameters_of_the_kernel_are_refused(
        self, inflated: Simulated, foreign: dict[str, Any]
    ) -> None:
        with pytest.raises(ValueError, match="only with smoother='kernel'"):
            PLAGGM(0.03, **foreign).fit(inflated.x, confounder=inflated.confounder)


class TestManners:
    def test_clone_and_refit(self, data: Simulated) -> None:
        model = PLAGGM(0.04, threshold=THRESHOLD, tau=0.3, variance="conditional")
        params = model.get_params()
        first = model.fit(data.x, confounder=data.confounder).omega_
        assert model.get_params() == params
        again = clone(model).fit(data.x, confounder=data.confounder)
        np.testing.assert_array_equal(again.omega_, first)
        np.testing.assert_array_equal(model.fit(data.x, confounder=data.confounder).omega_, first)

    def test_a_fit_without_confounder_forgets_the_spline(self, data: Simulated) -> None:
        model = PLAGGM(0.05).fit(data.x, confounder=data.confounder)
        model.fit(data.x)
        assert model.tau_ is None
        assert model.threshold_ is None
        with pytest.raises(ValueError, match="without confounder"):
            model.nuisance(1.0)

    def test_data_are_left_as_they_are(self, data: Simulated) -> None:
        x, g = data.x.copy(), data.confounder.copy()
        PLAGGMCV(alphas=4, cv=2).fit(x, confounder=g)
        np.testing.assert_array_equal(x, data.x)
        np.testing.assert_array_equal(g, data.confounder)

    def test_the_result_has_the_penalty_and_the_nuisance(
        self, inflated: Simulated, fitted: PLAGGM
    ) -> None:
        result = fitted.to_result()
        assert result.diagnostics["tau"] == fitted.tau_
        assert result.diagnostics["kept"] in RETAINED_SHARES
        np.testing.assert_array_equal(result.nuisance, fitted.nuisance(result.confounder_grid))
        assert result.bandwidth is None
