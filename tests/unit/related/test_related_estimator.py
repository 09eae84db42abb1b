from __future__ import annotations

import os
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.covariance import graphical_lasso
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import plaggm
from plaggm import PLAGGM, PLAGGMCV, read_result
from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.kernel.kernels import KERNELS
from plaggm.core.lasso.path import solve_path
from plaggm.core.variance.conditional import conditional_scale
from plaggm.related import GGM, LRGGM, TVGGM, ConGGM, RelatedEstimator
from plaggm.related.lr_ggm import expand_regressors
from plaggm.related.profilers import LocalProfiler, ResidualProfiler, positive_definite

RELATED = [GGM, ConGGM, LRGGM, TVGGM]
LOSSES = ["glasso", "pseudo"]
THRESHOLD = 0.5
ALPHA = 0.08
# The same solver on matrices that differ by rounding.
ROUNDING = 1e-10
# Conditional deviations come from a pilot path that stops at a tolerance of its own.
PILOT = 1e-7
# The graphical lasso stops at a duality gap: matrices that differ by rounding may stop a step apart.
TIGHT: dict[str, Any] = dict(tol=1e-12, max_iter=5000)
DIRECT: dict[str, Any] = dict(tol=1e-10, enet_tol=1e-10, max_iter=1000)
SAME_OMEGA = 1e-6
NAMES = ["amygdala", "hippocampus", "insula", "precuneus", "thalamus"]


@pytest.fixture(scope="module")
def sample() -> tuple[np.ndarray, np.ndarray]:
    """A chain of five variables whose means, variances and network move with the confounder."""
    rng = np.random.default_rng(0)
    n, p = 240, 5
    g = rng.normal(size=n)
    z = rng.normal(size=(n, p))
    for j in range(1, p):
        z[:, j] += (0.6 + 0.2 * g) * z[:, j - 1]
    x = (z + 0.7 * g[:, None] * np.arange(p)) * np.array([1.0, 2.0, 0.5, 3.0, 1.0]) + 4.0
    return x, g


def array_api_check_is_off(estimator: object) -> dict[str, str]:
    """The array API check runs only where SciPy's array API was switched on; ours are NumPy's arrays."""
    if os.environ.get("SCIPY_ARRAY_API"):
        return {"check_array_api_input": "only NumPy arrays and DataFrames are taken"}
    return {}


def omega_of(precision: np.ndarray) -> np.ndarray:
    deviation = np.sqrt(np.diagonal(precision))
    omega = -precision / np.outer(deviation, deviation)
    np.fill_diagonal(omega, 0.0)
    return omega


def lasso_of(covariance: np.ndarray, alpha: float = ALPHA) -> np.ndarray:
    """Partial correlations by scikit-learn alone, from any covariance matrix."""
    deviation = np.sqrt(np.diagonal(covariance))
    correlation = covariance / np.outer(deviation, deviation)
    return omega_of(graphical_lasso(correlation, alpha, **DIRECT)[1])


def pseudo_of(covariance: np.ndarray, n: int, trace: float = 0.0) -> np.ndarray:
    """Partial correlations by the package's own solver, from any covariance matrix."""
    p = len(covariance)
    deviation = np.sqrt(np.diagonal(covariance))
    gram = np.eye(p + 1)
    gram[:p, :p] = covariance / np.outer(deviation, deviation)
    grams = NodeGrams(gram[None], n, np.full(p, trace + 1.0))
    scaled = grams.rescaled(conditional_scale(grams, "joint"))
    return solve_path(scaled, np.array([ALPHA]), tol=1e-10, max_iter=1000).omega[0]


def off_diagonal(omega: np.ndarray) -> np.ndarray:
    return omega - np.diag(np.diagonal(omega))


def check_equal(
    model: RelatedEstimator, x: np.ndarray, covariance: np.ndarray, n: int, trace: float = 0.0
):
    expected = lasso_of(covariance) if model.loss == "glasso" else pseudo_of(covariance, n, trace)
    assert np.count_nonzero(expected) > 0
    np.testing.assert_allclose(model.omega_, expected, atol=SAME_OMEGA)


# Without confounder, as the checks fit them, all are the same: one goes through selection. The graphical
# lasso of old versions of scikit-learn fails at small penalties of ten samples, of which it warns.
@pytest.mark.filterwarnings("ignore:.*penalties failed:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        GGM(alphas=4, cv=2),
        GGM(alphas=4, cv=2, loss="pseudo"),
        *(method(alpha=0.1) for method in (ConGGM, LRGGM, TVGGM)),
    ],
    expected_failed_checks=array_api_check_is_off,
)
def test_scikit_learn_check(estimator, check) -> None:
    check(estimator)


@pytest.mark.parametrize("loss", LOSSES)
class TestDefinitions:
    def test_ggm_uses_the_clean_samples(self, sample, loss: str) -> None:
        x, g = sample
        model = GGM(threshold=THRESHOLD, loss=loss, alpha=ALPHA, **TIGHT).fit(x, confounder=g)
        clean = x[np.abs(g) <= THRESHOLD]
        check_equal(model, x, np.cov(clean.T, bias=True), len(clean))
        np.testing.assert_allclose(model.location_, clean.mean(axis=0), rtol=ROUNDING)
        assert model.threshold_ == THRESHOLD
        assert model.to_result().diagnostics["n_unconfounded"] == len(clean)

    def test_lr_ggm_fits_the_residuals(self, sample, loss: str) -> None:
        x, g = sample
        for regressors in ("linear", "squares", "derivatives", "both"):
            model = LRGGM(regressors=regressors, loss=loss, alpha=ALPHA, **TIGHT)
            model.fit(x, confounder=g)
            columns = expand_regressors(g[:, None], regressors)
            design = np.column_stack([np.ones(len(g)), columns])
            slopes = np.linalg.lstsq(design, x, rcond=None)[0]
            residual = x - design @ slopes
            check_equal(model, x, residual.T @ residual / len(x), len(x), columns.shape[1])
            np.testing.assert_allclose(model.location_, slopes[0], rtol=1e-8)

    def test_tv_ggm_weighs_by_the_kernel(self, sample, loss: str) -> None:
        x, g = sample
        model = TVGGM(bandwidth=0.5, loss=loss, alpha=ALPHA, **TIGHT).fit(x, confounder=g)
        weights = np.exp(-0.5 * (g / 0.5) ** 2)
        weights /= weights.sum()
        mean = weights @ x
        covariance = (x - mean).T * weights @ (x - mean)
        check_equal(model, x, covariance, round(1.0 / np.sum(weights**2)))
        np.testing.assert_allclose(model.location_, mean, rtol=ROUNDING)
        assert model.bandwidth_ == 0.5

    def test_local_lines(self, sample, loss: str) -> None:
        x, g = sample
        model = TVGGM(local="linear", bandwidth=0.5, loss=loss, alpha=ALPHA, **TIGHT)
        model.fit(x, confounder=g)
        # Every moment is the intercept of its own weighted regression on g.
        root = np.exp(-0.25 * (g / 0.5) ** 2)
        design = np.column_stack([np.ones(len(g)), g]) * root[:, None]
        hat = np.linalg.pinv(design)[0] * root
        mean = hat @ x
        second = (x.T * hat) @ x
        check_equal(model, x, second - np.outer(mean, mean), round(1.0 / np.sum(hat**2)))
        np.testing.assert_allclose(model.location_, mean, rtol=1e-8)

    def test_average_over_points(self, sample, loss: str) -> None:
        x, g = sample
        settings = dict(bandwidth=0.8, loss=loss, alpha=ALPHA, **TIGHT)
        model = TVGGM(target="average", n_points=3, **settings).fit(x, confounder=g)
        points = np.sort(g)[[40, 120, 200]]
        parts = [TVGGM(**settings).fit(x, confounder=g - point) for point in points]
        np.testing.assert_allclose(
            model.omega_, np.mean([part.omega_ for part in parts], axis=0), atol=SAME_OMEGA
        )
        np.testing.assert_allclose(
            model.location_, np.mean([part.location_ for part in parts], axis=0), rtol=ROUNDING
        )

    def test_con_ggm_at_zero(self, sample, loss: str) -> None:
        x, g = sample
        # A confounder that the variables do not determine, and whose zero is not its mean.
        g = g + 1.0 + 2.0 * np.random.default_rng(4).normal(size=len(g))
        model = ConGGM(loss=loss, alpha=ALPHA, **TIGHT).fit(x, confounder=g)
        joint = np.column_stack([x, g])
        covariance = np.cov(joint.T, bias=True)
        if loss == "pseudo":
            full = pseudo_of(covariance, len(x))
            np.testing.assert_allclose(
                off_diagonal(model.omega_), off_diagonal(full[:5, :5]), atol=SAME_OMEGA
            )
            return
        deviation = np.sqrt(np.diagonal(covariance))
        scale = np.outer(deviation, deviation)
        fitted, _ = graphical_lasso(covariance / scale, ALPHA, **DIRECT)
        fitted = fitted * scale
        slope = fitted[:5, 5] / fitted[5, 5]
        conditional = np.linalg.inv(fitted[:5, :5] - np.outer(slope, fitted[5, :5]))
        np.testing.assert_allclose(
            off_diagonal(model.omega_), omega_of(conditional), atol=SAME_OMEGA
        )
        np.testing.assert_allclose(model.precision_, conditional, atol=1e-5)
        # The mean at G = 0, from the diagonal: Ω_jj = m_j - Σ_k Ω_jk m_k in units of z.
        z = (x.mean(axis=0) - slope * g.mean() - model.location_) / model.scale_
        expected = (np.eye(5) - off_diagonal(model.omega_)) @ z
        np.testing.assert_allclose(np.diagonal(model.omega_), expected, atol=1e-5)

    def test_without_confounder_all_are_the_plain_model(self, sample, loss: str) -> None:
        x, _ = sample
        fits = [method(loss=loss, alpha=ALPHA).fit(x) for method in RELATED]
        for fit in fits[1:]:
            np.testing.assert_array_equal(fit.omega_, fits[0].omega_)
        assert fits[0].confounder_names_ == ()
        assert fits[0].threshold_ is None

    def test_several_confounders(self, sample, loss: str) -> None:
        x, g = sample
        both = np.column_stack([g, np.random.default_rng(1).normal(size=len(g))])
        for method in (GGM(threshold=[0.8, 1.0]), ConGGM(), LRGGM(), TVGGM(bandwidth=[0.8, 1.5])):
            model = method.set_params(loss=loss, alpha=ALPHA).fit(x, confounder=both)
            assert model.omega_.shape == (5, 5)
            assert model.confounder_names_ == ("confounder0", "confounder1")


class TestPseudo:
    """The special case of Theorem 2: no confounder, no difference."""

    def test_is_plaggm_without_confounder(self, sample) -> None:
        x, _ = sample
        tight = dict(tol=1e-12, max_iter=20_000)
        mine = GGM(loss="pseudo", alphas=12, cv=4, **tight).fit(x)
        theirs = PLAGGMCV(alphas=12, cv=4, **tight).fit(x)
        # Penalties are in units of the deviations.
        np.testing.assert_allclose(mine.alphas_, theirs.alphas_, rtol=PILOT)
        np.testing.assert_allclose(mine.cv_loss_, theirs.cv_loss_, rtol=SAME_OMEGA)
        np.testing.assert_allclose(
            off_diagonal(mine.omega_), off_diagonal(theirs.omega_), atol=SAME_OMEGA
        )
        np.testing.assert_allclose(mine.scale_, theirs.scale_, rtol=PILOT)
        one = PLAGGM(mine.alpha_, **tight).fit(x)
        np.testing.assert_allclose(mine.precision_, one.precision_, atol=1e-5)

    def test_penalties_that_miss_the_tolerance_are_told(self, sample) -> None:
        x, _ = sample
        with pytest.warns(ConvergenceWarning, match="did not reach tol"):
            GGM(loss="pseudo", alpha=1e-4, tol=1e-14, max_iter=1).fit(x)


class TestSelection:
    def test_held_out_likelihood(self, sample) -> None:
        x, g = sample
        alphas = [0.3, 0.1, 0.03]
        cv = KFold(4)
        model = LRGGM(alphas=alphas, cv=cv, **TIGHT).fit(x, confounder=g)
        design = np.column_stack([np.ones(len(g)), g])
        slopes = np.linalg.lstsq(design, x, rcond=None)[0]
        deviation = (x - design @ slopes).std(axis=0)
        expected = np.empty((3, 4))
        for fold, (train, test) in enumerate(cv.split(x)):
            slopes = np.linalg.lstsq(design[train], x[train], rcond=None)[0]
            residual = (x - design @ slopes) / deviation
            covariance = residual[train].T @ residual[train] / len(train)
            held_out = residual[test].T @ residual[test] / len(test)
            for step, alpha in enumerate(alphas):
                precision = graphical_lasso(covariance, alpha, **DIRECT)[1]
                expected[step, fold] = np.sum(held_out * precision)
                expected[step, fold] -= np.linalg.slogdet(precision)[1]
        np.testing.assert_allclose(model.cv_loss_, expected, rtol=1e-6)
        np.testing.assert_allclose(model.criterion_path_, expected.mean(axis=1), rtol=1e-6)
        assert model.alpha_ == alphas[int(np.argmin(expected.mean(axis=1)))]

    def test_held_out_rows_count_with_their_weight(self, sample) -> None:
        x, g = sample
        b = np.column_stack([x, np.ones(len(x))])
        profiler = LocalProfiler(
            b, g[:, None], np.zeros(1), KERNELS["epanechnikov"], np.ones(1), False
        )
        folds = list(KFold(3).split(x))
        total = sum(len(test) * profiler.split(train, test)[1].grams[0] for train, test in folds)
        np.testing.assert_allclose(total / len(x), profiler.fitted().grams[0], rtol=ROUNDING)

    @pytest.mark.parametrize(("criterion", "price"), [("aic", 2.0), ("bic", None), ("ebic", None)])
    def test_information(self, sample, criterion: str, price: float | None) -> None:
        x, _ = sample
        n, p = x.shape
        model = GGM(criterion=criterion, alphas=[0.4, 0.1], **TIGHT).fit(x)
        correlation = np.corrcoef(x.T)
        for alpha, value in zip(model.alphas_, model.criterion_path_, strict=True):
            precision = graphical_lasso(correlation, alpha, **DIRECT)[1]
            edges = np.count_nonzero(np.triu(precision, 1))
            fit = n * (np.sum(correlation * precision) - np.linalg.slogdet(precision)[1])
            expected = fit + (price or np.log(n)) * (edges + p)
            if criterion == "ebic":
                expected += 2.0 * np.log(p) * edges
            assert value == pytest.approx(expected, rel=1e-6)

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("method", RELATED)
    def test_path_and_choice(self, sample, method, loss: str) -> None:
        x, g = sample
        model = method(loss=loss, alphas=8, cv=3).fit(x, confounder=g)
        assert model.omega_path_.shape == (8, 5, 5)
        assert np.all(np.diff(model.alphas_) < 0)
        # The first penalty is the smallest with an empty network.
        assert not off_diagonal(model.omega_path_[0]).any()
        assert off_diagonal(model.omega_path_[1]).any() or method is ConGGM
        best = int(np.argmin(model.criterion_path_))
        assert model.alpha_ == model.alphas_[best]
        np.testing.assert_array_equal(model.omega_, model.omega_path_[best])
        again = method(loss=loss, alpha=model.alpha_).fit(x, confounder=g)
        np.testing.assert_allclose(again.omega_, model.omega_, atol=1e-2)
        assert not hasattr(again, "criterion_path_")
        assert model.failures_ == {}

    def test_workers_change_nothing(self, sample) -> None:
        x, g = sample
        fits = [LRGGM(alphas=6, cv=4, n_jobs=jobs).fit(x, confounder=g) for jobs in (1, 2)]
        np.testing.assert_array_equal(fits[0].cv_loss_, fits[1].cv_loss_)

    def test_own_folds_are_of_all_rows(self, sample) -> None:
        x, g = sample
        half = np.arange(120), np.arange(120, 240)
        model = GGM(threshold=THRESHOLD, alphas=4, cv=[half]).fit(x, confounder=g)
        clean = np.flatnonzero(np.abs(g) <= THRESHOLD)
        position = int(np.count_nonzero(clean < 120))
        index = np.arange(len(clean))
        by_hand = GGM(alphas=4, cv=[(index[:position], index[position:])]).fit(x[clean])
        np.testing.assert_allclose(model.cv_loss_, by_hand.cv_loss_)


def test_grid_of_many_variables_with_few_rows_ends_in_their_noise() -> None:
    draw = np.random.default_rng(0)
    x, g = draw.standard_normal((100, 130)), draw.standard_normal(100)
    few = LRGGM(loss="pseudo", alphas=5, criterion="ebic").fit(x, confounder=g)
    # Of independent variables the largest gradient is a few times the noise of one.
    assert few.alphas_[-1] / few.alphas_[0] == pytest.approx(0.05, rel=0.35)
    some = LRGGM(loss="pseudo", alphas=5, criterion="ebic").fit(x[:, :20], confounder=g)
    assert some.alphas_[-1] / some.alphas_[0] == pytest.approx(1e-4)


class TestFailures:
    def test_a_failed_step_is_recorded(self, sample) -> None:
        x, _ = sample
        # Without iterations to spare only the empty network is reached.
        with pytest.warns(ConvergenceWarning, match="failures_"):
            model = GGM(alphas=[0.95, 1e-3], criterion="bic", max_iter=1, tol=1e-9).fit(x)
        assert model.alpha_ == 0.95
        assert list(model.failures_) == [1e-3]
        assert "no convergence" in model.failures_[1e-3]
        assert np.isnan(model.omega_path_[1]).all()
        assert np.isnan(model.criterion_path_[1])
        assert "0.001" in model.to_result().diagnostics["failures"]

    def test_nothing_converges(self, sample) -> None:
        x, _ = sample
        for settings in (dict(alpha=1e-3), dict(alphas=[2e-3, 1e-3], cv=3)):
            with pytest.raises(ValueError, match=r"converged at none of the .*no convergence"):
                GGM(max_iter=1, tol=1e-9, **settings).fit(x)

    def test_singular_without_penalty(self) -> None:
        x = np.random.default_rng(0).normal(size=(4, 6))
        with pytest.raises(ValueError, match="converged at none"):
            GGM(alpha=0.0).fit(x)

    def test_no_penalty_inverts(self, sample) -> None:
        x, _ = sample
        model = GGM(alpha=0.0).fit(x)
        np.testing.assert_allclose(model.precision_, np.linalg.inv(np.cov(x.T, bias=True)))

    def test_warning_filters_are_left_alone(self, sample) -> None:
        before = list(warnings.filters)
        LRGGM(alphas=4, cv=4, n_jobs=2).fit(sample[0], confounder=sample[1])
        assert list(warnings.filters) == before


class TestErrors:
    def test_too_few_clean_samples(self, sample) -> None:
        x, g = sample
        limit = np.sort(np.abs(g))[3]
        with pytest.raises(ValueError, match=r"Only 4 of 240 samples .* 5 variables.*PLAGGM"):
            GGM(threshold=limit).fit(x, confounder=g)
        with pytest.raises(ValueError, match="fewer than min_samples=100"):
            GGM(threshold=0.1, min_samples=100).fit(x, confounder=g)
        GGM(threshold=limit, min_samples=3, alpha=0.3).fit(x, confounder=g)

    def test_constant_among_the_clean(self, sample) -> None:
        x, g = sample
        x = x.copy()
        x[np.abs(g) <= THRESHOLD, 2] = 1.0
        with pytest.raises(ValueError, match=r"Among the .* unconfounded samples: .*'x2'"):
            GGM(threshold=THRESHOLD).fit(x, confounder=g)

    def test_a_variable_that_is_the_confounder(self, sample) -> None:
        x, g = sample
        x = x.copy()
        x[:, 1] = 2.0 * g + 1.0
        for method in (LRGGM(), ConGGM()):
            with pytest.raises(ValueError, match="'x1' is 'confounder', perhaps in other units"):
                method.fit(x, confounder=g)

    def test_a_variable_that_is_a_function_of_the_confounder(self, sample) -> None:
        x, g = sample
        x = x.copy()
        x[:, 1] = g**2
        with pytest.raises(ValueError, match=r"explains all variation of the column.* 'x1'"):
            LRGGM(regressors="squares").fit(x, confounder=g)

    def test_average_of_several(self, sample) -> None:
        x, g = sample
        with pytest.raises(ValueError, match="single confounder; got 2"):
            TVGGM(target="average").fit(x, confounder=np.column_stack([g, g**2]))

    def test_empty_window(self, sample) -> None:
        x, g = sample
        with pytest.raises(ValueError, match=r"0\.0 effective samples"):
            TVGGM(kernel="uniform", bandwidth=1.0).fit(x, confounder=g + 50.0)

    def test_no_line_through_one_value(self, sample) -> None:
        x, g = sample
        steps = np.round(g) * 10.0
        with pytest.raises(ValueError, match="local='constant'"):
            TVGGM(local="linear", kernel="uniform", bandwidth=1.0).fit(x, confounder=steps)

    def test_too_many_regressors(self, sample) -> None:
        x, g = sample
        with pytest.raises(ValueError, match=r"8 regressors .* are too many for 10 samples"):
            LRGGM(regressors="both").fit(x[:10], confounder=np.column_stack([g, g**3])[:10])

    def test_folds(self, sample) -> None:
        x, g = sample
        with pytest.raises(ValueError, match="between 2 and n_samples"):
            GGM(cv=500).fit(x)
        clean = np.flatnonzero(np.abs(g) <= THRESHOLD)
        other = np.setdiff1d(np.arange(len(g)), clean)
        with pytest.raises(ValueError, match="No fold of cv"):
            GGM(threshold=THRESHOLD, cv=[(clean, other)]).fit(x, confounder=g)

    @pytest.mark.parametrize("method", RELATED)
    def test_wrong_choices(self, sample, method) -> None:
        for wrong in (dict(loss="huber"), dict(criterion="gcv"), dict(alpha=-1.0)):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                method(**wrong).fit(sample[0])


class TestManners:
    def test_package_knows_them(self) -> None:
        assert plaggm.related.GGM is GGM

    @pytest.mark.parametrize(
        "model",
        [
            GGM(threshold=2.0, min_samples=7, loss="pseudo", alpha=0.2, symmetry="and"),
            ConGGM(alphas=[0.2, 0.1], criterion="ebic", ebic_gamma=1.0),
            LRGGM(regressors="both", tol=1e-3, max_iter=7, random_state=3),
            TVGGM(target="average", local="linear", kernel="biweight", bandwidth=2.0, n_points=3),
        ],
    )
    def test_clone(self, model) -> None:
        assert clone(model).get_params() == model.get_params()

    @pytest.mark.parametrize("method", RELATED)
    def test_names_travel(self, sample, method, tmp_path) -> None:
        x, g = sample
        frame = pd.DataFrame(x, columns=NAMES)
        model = method(alphas=6, cv=3).fit(frame, confounder=pd.Series(g, name="motion"))
        assert list(model.feature_names_in_) == NAMES
        assert model.confounder_names_ == ("motion",)
        assert set(model.edges()["source"]) <= set(NAMES)
        if find_spec("networkx") is not None:
            assert list(model.to_networkx().nodes) == NAMES
        result = model.to_result()
        assert "motion" in result.summary()
        back = read_result(result.save(tmp_path / "fit"))
        np.testing.assert_array_equal(back.omega, model.omega_)
        np.testing.assert_array_equal(back.criterion_path, model.criterion_path_)
        assert back.settings["estimator"] == method.__name__
        np.testing.assert_array_equal(model.adjacency_, off_diagonal(model.omega_) != 0.0)

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("method", RELATED)
    def test_units_do_not_matter(self, sample, method, loss: str) -> None:
        x, g = sample
        factor = np.array([1.0, 1e3, 1e-3, 5.0, 0.1])
        first, second = (
            method(loss=loss, alpha=ALPHA, **TIGHT).fit(data, confounder=g)
            for data in (x, x * factor - 7.0)
        )
        np.testing.assert_allclose(first.omega_, second.omega_, atol=1e-5)
        np.testing.assert_allclose(second.scale_, first.scale_ * factor, rtol=1e-5)


class TestProfilers:
    def test_residuals_of_new_rows(self, sample) -> None:
        x, g = sample
        profiler = ResidualProfiler(np.column_stack([x, np.ones(len(x))]), g[:, None])
        train, test = np.arange(150), np.arange(150, 240)
        design = np.column_stack([np.ones(len(g)), g])
        slope = np.linalg.lstsq(design[train], x[train], rcond=None)[0][1]
        left = np.column_stack([x[test] - np.outer(g[test], slope), np.ones(90)])
        np.testing.assert_allclose(
            profiler.split(train, test)[1].grams[0], left.T @ left / 90, rtol=1e-9
        )

    def test_indefinite_moments_are_repaired(self) -> None:
        gram = np.array([[1.0, 1.2, 0.5], [1.2, 1.0, 0.0], [0.5, 0.0, 1.0]])
        fixed = positive_definite(gram)
        covariance = fixed[:2, :2] - np.outer(fixed[:2, 2], fixed[:2, 2])
        assert np.linalg.eigvalsh(covariance).min() > 0.0
        np.testing.assert_array_equal(fixed[2], gram[2])
        np.testing.assert_array_equal(positive_definite(np.eye(3)), np.eye(3))

    def test_a_line_at_the_edge(self) -> None:
        """Local lines see a mean that moves with the confounder where constants are biased."""
        rng = np.random.default_rng(2)
        g = rng.uniform(size=4000)
        x = 3.0 * g[:, None] + 0.1 * rng.normal(size=(4000, 3))
        errors = [
            np.abs(
                TVGGM(local=local, bandwidth=0.3, alpha=0.1).fit(x, confounder=g).location_
            ).max()
            for local in ("constant", "linear")
        ]
        assert errors[1] < 0.1 * errors[0]
