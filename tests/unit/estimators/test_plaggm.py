from __future__ import annotations

from copy import copy
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Lasso, lars_path_gram

from plaggm import PLAGGM, PLAGGMCV
from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.kernel.indicators import INDICATORS, evaluate_indicator
from plaggm.core.kernel.kernels import KERNELS
from plaggm.core.kernel.literal import (
    LiteralNode,
    literal_node_grams,
    literal_nuisance,
    literal_objective,
    node_design,
    transform_node,
)
from plaggm.core.lasso.optimality import kkt_residual
from plaggm.data import DependenceWarning
from plaggm.estimators.sampling import draw_samples, positive_definite
from plaggm.simulate import Simulated, simulate_paper

from .kernel_models import EXACT, ROUNDING, SAME_OMEGA, THRESHOLD, by_kernel, by_kernel_cv

# Largest violation of the optimality conditions, in the units of alpha, at such a gap.
SAME_KKT = 1e-6
# Objectives differ by the gap, and by rounding.
SAME_OBJECTIVE = 1e-11
# Local estimates by two ways of solving systems with condition numbers up to some thousand.
SAME_NUISANCE = 1e-8
# Departure from an expectation in standard errors: some tens of entries are looked at.
STANDARD_ERRORS = 5.0

PAPER: dict[str, Any] = dict(indicator="soft", variance="unit", standardize=False)


@pytest.fixture(scope="module")
def data() -> Simulated:
    return simulate_paper(
        4, n=120, seed=5, even=True, threshold=THRESHOLD, density=0.5, mean_shift=0.5
    )


@pytest.fixture(scope="module")
def large() -> Simulated:
    return simulate_paper(5, n=400, seed=1, even=True, threshold=THRESHOLD, density=0.5)


@pytest.fixture(scope="module")
def two() -> tuple[np.ndarray, np.ndarray]:
    """A table and two confounders in different units."""
    rng = np.random.default_rng(8)
    confounder = np.column_stack([rng.uniform(-1.0, 1.0, 150), rng.uniform(-50.0, 50.0, 150)])
    return rng.standard_normal((150, 3)) @ np.triu(np.ones((3, 3))), confounder


@pytest.fixture(scope="module")
def model(large: Simulated) -> PLAGGM:
    """A fit to columns in different units, away from zero."""
    x = 5.0 + large.x * np.array([1.0, 10.0, 0.1, 2.0, 3.0])
    model = by_kernel(0.05, threshold=THRESHOLD, bandwidth=90.0)
    return model.fit(x, confounder=large.confounder)


def solve_independently(nodes: list[LiteralNode], alpha: float) -> np.ndarray:
    """The symmetric lasso by least angle regression on the stacked design of all nodes."""
    p, n = len(nodes), len(nodes[0].y)
    pairs = list(combinations(range(p), 2))
    designs, responses = [], []
    for j, node in enumerate(nodes):
        design = np.zeros((n, len(pairs)))
        for position, pair in enumerate(pairs):
            if j in pair:
                design[:, position] = node.x[:, sum(pair) - j]
        constant = node.x[:, j] / np.linalg.norm(node.x[:, j])
        designs.append(design - np.outer(constant, constant @ design))
        responses.append(node.y - constant * (constant @ node.y))
    stacked, response = np.vstack(designs) / np.sqrt(n), np.concatenate(responses) / np.sqrt(n)
    _, _, coefficients = lars_path_gram(
        stacked.T @ response, stacked.T @ stacked, n_samples=1, alpha_min=alpha, method="lasso"
    )
    omega = np.zeros((p, p))
    for (j, k), value in zip(pairs, coefficients[:, -1], strict=True):
        omega[j, k] = omega[k, j] = value
    for j, node in enumerate(nodes):
        constant = node.x[:, j]
        omega[j, j] = constant @ (node.y - node.x @ omega[:, j]) / (constant @ constant)
    return omega


def literal_nodes(z: np.ndarray, g: np.ndarray, settings: dict[str, Any]) -> list[LiteralNode]:
    return [transform_node(z, g.reshape(len(z), -1), **settings, j=j) for j in range(z.shape[1])]


def smoother_settings(
    g: np.ndarray, threshold: Any, bandwidth: Any, *, indicator: str, form: str, kernel: str
) -> dict[str, Any]:
    columns = g.reshape(len(g), -1)
    limits = np.atleast_1d(np.asarray(threshold, dtype=np.float64))
    return dict(
        indicator=evaluate_indicator(INDICATORS[indicator], columns, limits),
        kernel=KERNELS[kernel],
        bandwidth=np.atleast_1d(np.asarray(bandwidth, dtype=np.float64)),
        form=form,
    )


def with_omega(model: PLAGGM, omega: np.ndarray) -> PLAGGM:
    """A copy of a fitted model that has another network."""
    network = model._network
    changed = copy(model)
    changed._network = replace(network, path=replace(network.path, omega=omega[None]))
    return changed


class TestLiteralEquivalence:
    @pytest.mark.parametrize("alpha", [0.3, 0.05, 0.003])
    def test_the_papers_estimator(self, data: Simulated, alpha: float) -> None:
        model = by_kernel(alpha, **PAPER, **EXACT, bandwidth=200.0, threshold=THRESHOLD)
        model.fit(data.x, confounder=data.confounder)
        settings = smoother_settings(
            data.confounder, THRESHOLD, 200.0, indicator="soft", form="lemma", kernel="gaussian"
        )
        grams = literal_node_grams(data.x, data.confounder[:, None], **settings)
        expected = solve_independently(literal_nodes(data.x, data.confounder, settings), alpha)
        np.testing.assert_allclose(model.omega_, expected, atol=SAME_OMEGA)
        found, best = (literal_objective(grams, o, alpha) for o in (model.omega_, expected))
        assert found <= best + SAME_OBJECTIVE
        node_grams = NodeGrams(grams, len(data.x), np.zeros(4))
        assert kkt_residual(node_grams, model.omega_, alpha) <= SAME_KKT
        assert model.dual_gap_ <= EXACT["tol"]
        np.testing.assert_array_equal(model.location_, np.zeros(4))
        np.testing.assert_array_equal(model.scale_, np.ones(4))

    @pytest.mark.parametrize(
        ("indicator", "form", "kernel"),
        [
            ("soft", "supplement", "epanechnikov"),
            ("ramp", "supplement", "gaussian"),
            ("ramp", "supplement", "triangular"),
            ("ramp", "lemma", "biweight"),
            ("hard", "supplement", "uniform"),
        ],
    )
    def test_every_indicator_form_and_kernel(
        self, data: Simulated, indicator: str, form: str, kernel: str
    ) -> None:
        settings = dict(indicator=indicator, form=form, kernel=kernel)
        model = by_kernel(
            0.05, **EXACT, **settings, bandwidth=250.0, threshold=THRESHOLD, variance="unit"
        )
        model.fit(data.x, confounder=data.confounder)
        z = (data.x - data.x.mean(axis=0)) / data.x.std(axis=0)
        literal = smoother_settings(data.confounder, THRESHOLD, 250.0, **settings)
        expected = solve_independently(literal_nodes(z, data.confounder, literal), 0.05)
        np.testing.assert_allclose(model.omega_, expected, atol=SAME_OMEGA)

    def test_the_automatic_form(self, data: Simulated) -> None:
        for indicator, form in (("soft", "lemma"), ("ramp", "supplement"), ("hard", "supplement")):
            settings = dict(alpha=0.05, threshold=THRESHOLD, indicator=indicator)
            automatic = by_kernel(**settings).fit(data.x, confounder=data.confounder)
            named = by_kernel(**settings, form=form).fit(data.x, confounder=data.confounder)
            np.testing.assert_array_equal(automatic.omega_, named.omega_)

    def test_a_callable_indicator(self, data: Simulated) -> None:
        settings = dict(alpha=0.05, threshold=THRESHOLD)
        named = by_kernel(**settings, indicator="ramp").fit(data.x, confounder=data.confounder)
        called = by_kernel(**settings, indicator=lambda ratio: np.clip(ratio - 1.0, 0.0, 1.0))
        called.fit(data.x, confounder=data.confounder)
        np.testing.assert_array_equal(called.omega_, named.omega_)

    def test_conditional_variances_only_rescale(self, data: Simulated) -> None:
        model = by_kernel(0.05, **EXACT, bandwidth=200.0, threshold=THRESHOLD)
        model.fit(data.x, confounder=data.confounder)
        z = (data.x - model.location_) / model.scale_
        settings = smoother_settings(
            data.confounder, THRESHOLD, 200.0, indicator="ramp", form="supplement",
            kernel="gaussian",
        )  # fmt: skip
        expected = solve_independently(literal_nodes(z, data.confounder, settings), 0.05)
        np.testing.assert_allclose(model.omega_, expected, atol=SAME_OMEGA)
        assert np.abs(model.scale_ / data.x.std(axis=0) - 1.0).max() > 0.05

    def test_several_confounders(self, two: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = two
        limits, widths = np.array([0.4, 20.0]), np.array([0.8, 40.0])
        model = by_kernel(0.05, **PAPER, **EXACT, bandwidth=widths, threshold=limits)
        model.fit(x, confounder=g)
        settings = smoother_settings(
            g, limits, widths, indicator="soft", form="lemma", kernel="gaussian"
        )
        expected = solve_independently(literal_nodes(x, g, settings), 0.05)
        np.testing.assert_allclose(model.omega_, expected, atol=SAME_OMEGA)
        np.testing.assert_array_equal(model.threshold_, limits)
        np.testing.assert_array_equal(model.bandwidth_, widths)

    @pytest.mark.parametrize("alpha", [0.2, 0.02, 0.001])
    def test_without_confounder_it_is_the_pseudo_likelihood_model(
        self, data: Simulated, alpha: float
    ) -> None:
        model = by_kernel(alpha, variance="unit", standardize=False, **EXACT).fit(data.x)
        nodes = [LiteralNode(*node_design(data.x, j), np.zeros(0)) for j in range(4)]
        expected = solve_independently(nodes, alpha)
        np.testing.assert_allclose(model.omega_, expected, atol=SAME_OMEGA)

    def test_a_threshold_beyond_all_samples_is_no_confounder(self, data: Simulated) -> None:
        settings = dict(alpha=0.05, **EXACT)
        far = by_kernel(**settings, threshold=1000.0).fit(data.x, confounder=data.confounder)
        plain = by_kernel(**settings).fit(data.x)
        np.testing.assert_allclose(far.omega_, plain.omega_, atol=SAME_OMEGA)
        np.testing.assert_allclose(far.scale_, plain.scale_, rtol=SAME_OMEGA)
        assert far.to_result().diagnostics["n_unconfounded"] == len(data.x)

    @pytest.mark.parametrize(("symmetry", "choose"), [("and", np.argmin), ("or", np.argmax)])
    def test_node_wise_lassos(self, data: Simulated, symmetry: str, choose: Any) -> None:
        alpha = 0.1
        model = by_kernel(alpha, symmetry=symmetry, variance="unit", standardize=False, **EXACT)
        model.fit(data.x)
        beta = np.zeros((4, 4))
        for j in range(4):
            others = np.delete(np.arange(4), j)
            # Half the penalty: every pair is penalised in two nodes.
            lasso = Lasso(alpha / 2, tol=1e-12, max_iter=100_000)
            beta[others, j] = lasso.fit(data.x[:, others], data.x[:, j]).coef_
        for j, k in combinations(range(4), 2):
            both = np.array([beta[j, k], beta[k, j]])
            expected = both[choose(np.abs(both))]
            assert model.omega_[j, k] == pytest.approx(expected, abs=SAME_OMEGA)
            assert model.omega_[j, k] == model.omega_[k, j]

    def test_alpha_beyond_the_largest_gives_the_empty_network(self, large: Simulated) -> None:
        path = by_kernel_cv(alphas=2, cv=2, threshold=THRESHOLD)
        largest = path.fit(large.x, confounder=large.confounder).alphas_[0]
        fit = dict(X=large.x, confounder=large.confounder)
        assert not by_kernel(largest * (1 + 1e-9), threshold=THRESHOLD).fit(**fit).adjacency_.any()
        assert by_kernel(largest * 0.99, threshold=THRESHOLD).fit(**fit).adjacency_.sum() == 2


class TestFittedAttributes:
    def test_they_agree_with_each_other(self, large: Simulated) -> None:
        model = by_kernel(0.05, threshold=THRESHOLD).fit(large.x, confounder=large.confounder)
        omega = model.omega_
        np.testing.assert_array_equal(omega, omega.T)
        np.testing.assert_array_equal(model.adjacency_, (omega != 0.0) & ~np.eye(5, dtype=bool))
        off = ~np.eye(5, dtype=bool)
        np.testing.assert_array_equal(model.partial_correlation_[off], omega[off])
        np.testing.assert_array_equal(np.diagonal(model.partial_correlation_), np.ones(5))
        np.testing.assert_allclose(
            model.precision_ * np.outer(model.scale_, model.scale_),
            2.0 * np.eye(5) - model.partial_correlation_,
        )
        assert model.alpha_ == 0.05
        assert 0.0 <= model.dual_gap_ <= model.tol
        assert model.n_iter_ >= 1
        assert model.threshold_ == THRESHOLD
        np.testing.assert_array_equal(model.location_, large.x.mean(axis=0))

    def test_a_fit_that_stops_too_early_says_so(self, large: Simulated) -> None:
        model = by_kernel(1e-4, max_iter=1, tol=1e-10)
        with pytest.warns(ConvergenceWarning, match="raise max_iter or tol") as caught:
            model.fit(large.x)
        assert "tol=1e-10 at 1 of 1 penalties" in str(caught[0].message)
        assert model.dual_gap_ > 1e-10
        assert model.n_iter_ == 1

    def test_verbose_speaks_and_silence_is_silent(
        self, large: Simulated, capsys: pytest.CaptureFixture[str]
    ) -> None:
        g = pd.Series(large.confounder, name="motion")
        by_kernel(threshold=THRESHOLD).fit(large.x, confounder=g)
        assert capsys.readouterr().out == ""
        by_kernel(threshold=THRESHOLD, verbose=1).fit(large.x, confounder=g)
        assert "[PLAGGM] removing the nuisance of motion from 400" in capsys.readouterr().out

    def test_threads_do_not_change_a_bit(self, large: Simulated) -> None:
        fits = [
            by_kernel(0.05, threshold=THRESHOLD, n_jobs=n_jobs, symmetry=symmetry).fit(
                large.x, confounder=large.confounder
            )
            for symmetry in ("joint", "or")
            for n_jobs in (1, 2, None, -1)
        ]
        for reference, others in ((fits[0], fits[1:4]), (fits[4], fits[5:])):
            for other in others:
                assert other.omega_.tobytes() == reference.omega_.tobytes()
                assert other.scale_.tobytes() == reference.scale_.tobytes()


class TestUnitsOfTheConfounder:
    @pytest.mark.parametrize("indicator", ["ramp", "soft"])
    def test_a_factor_goes_into_threshold_and_bandwidth(
        self, large: Simulated, indicator: str
    ) -> None:
        model = by_kernel(0.05, indicator=indicator, **EXACT)
        model.fit(large.x, confounder=large.confounder)
        omega, threshold, bandwidth = model.omega_, model.threshold_, model.bandwidth_
        model.fit(large.x, confounder=1000.0 * large.confounder)
        assert model.threshold_ == pytest.approx(1000.0 * threshold, rel=ROUNDING)
        assert model.bandwidth_ == pytest.approx(1000.0 * bandwidth, rel=ROUNDING)
        np.testing.assert_allclose(model.omega_, omega, atol=SAME_OMEGA)

    @pytest.mark.parametrize("variance", ["conditional", "function"])
    def test_a_factor_goes_into_the_threshold_of_the_spline(
        self, large: Simulated, variance: str
    ) -> None:
        model = PLAGGM(0.05, reference="zero", variance=variance, **EXACT)
        model.fit(large.x, confounder=large.confounder)
        omega, threshold, nuisance = model.omega_, model.threshold_, model.nuisance(300.0)
        model.fit(large.x, confounder=1000.0 * large.confounder)
        assert model.threshold_ == pytest.approx(1000.0 * threshold, rel=ROUNDING)
        np.testing.assert_allclose(model.omega_, omega, atol=SAME_OMEGA)
        np.testing.assert_allclose(model.nuisance(300e3), nuisance, atol=10 * SAME_OMEGA)

    def test_given_values_are_in_its_units(self, large: Simulated) -> None:
        first = by_kernel(0.05, threshold=50.0, bandwidth=100.0, **EXACT)
        second = by_kernel(0.05, threshold=0.05, bandwidth=0.1, **EXACT)
        first.fit(large.x, confounder=large.confounder)
        second.fit(large.x, confounder=large.confounder / 1000.0)
        np.testing.assert_allclose(first.omega_, second.omega_, atol=SAME_OMEGA)
        np.testing.assert_allclose(
            first.nuisance([200.0, -100.0]), second.nuisance([0.2, -0.1]), atol=SAME_OMEGA
        )

    def test_the_sign_does_not_matter(self, large: Simulated) -> None:
        model = by_kernel(0.05, **EXACT).fit(large.x, confounder=large.confounder)
        mirrored = by_kernel(0.05, **EXACT).fit(large.x, confounder=-large.confounder)
        assert mirrored.threshold_ == model.threshold_
        np.testing.assert_allclose(mirrored.omega_, model.omega_, atol=SAME_OMEGA)
        np.testing.assert_allclose(
            mirrored.nuisance(-300.0), model.nuisance(300.0), atol=SAME_OMEGA
        )


class TestNuisance:
    def test_zero_up_to_the_threshold_of_the_spline(self, large: Simulated) -> None:
        spline = PLAGGM(0.05, smoother="spline", threshold=THRESHOLD)
        spline.fit(large.x, confounder=large.confounder)
        assert not spline.nuisance([0.0, 30.0, -THRESHOLD, THRESHOLD]).any()
        assert spline.nuisance(3.0 * THRESHOLD).any()

    def test_zero_up_to_the_threshold(self, model: PLAGGM) -> None:
        inside = model.nuisance([0.0, 30.0, -THRESHOLD, THRESHOLD])
        np.testing.assert_array_equal(inside, np.zeros((4, 5, 5)))
        np.testing.assert_array_equal(model.omega_at(THRESHOLD), model.omega_)
        assert model.nuisance(3.0 * THRESHOLD).any()

    @pytest.mark.parametrize("indicator", ["soft", "ramp", "hard"])
    @pytest.mark.parametrize("variance", ["conditional", "unit"])
    def test_equals_the_literal_estimate(
        self, large: Simulated, indicator: str, variance: str
    ) -> None:
        model = by_kernel(0.05, indicator=indicator, variance=variance, threshold=THRESHOLD)
        model.set_params(bandwidth=90.0).fit(large.x, confounder=large.confounder)
        z = (large.x - model.location_) / model.scale_
        g = large.confounder[:, None]
        function, limit = INDICATORS[indicator], np.array([THRESHOLD])
        points = np.array([390.0, -100.0, 61.0])
        for point, found in zip(points, model.nuisance(points), strict=True):
            literal = literal_nuisance(
                z,
                g,
                evaluate_indicator(function, g, limit),
                model.omega_,
                np.array([point]),
                kernel=KERNELS["gaussian"],
                bandwidth=np.array([90.0]),
            )
            if indicator != "soft":
                # The supplement's form has the indicator in the row as well.
                literal = literal * function(np.abs([point]) / THRESHOLD)
            mean = 0.5 * (literal + literal.T)
            np.testing.assert_allclose(found, mean, atol=SAME_NUISANCE)

    def test_omega_at_adds_the_target(self, model: PLAGGM) -> None:
        points = np.array([-300.0, 10.0, 200.0])
        np.testing.assert_array_equal(
            model.omega_at(points), model.omega_[None] + model.nuisance(points)
        )

    def test_shapes(self, model: PLAGGM) -> None:
        assert model.nuisance(200.0).shape == (5, 5)
        assert model.nuisance([200.0]).shape == (1, 5, 5)
        assert model.nuisance(np.array([[200.0], [300.0]])).shape == (2, 5, 5)
        assert model.nuisance([]).shape == (0, 5, 5)
        assert model.nuisance(pd.Series([200.0, 300.0])).shape == (2, 5, 5)
        np.testing.assert_array_equal(model.nuisance([200.0])[0], model.nuisance(200.0))

    def test_points_do_not_know_each_other(self, model: PLAGGM) -> None:
        points = np.linspace(-390.0, 390.0, 71)
        together = model.nuisance(points)
        np.testing.assert_allclose(together[::-1], model.nuisance(points[::-1]), atol=SAME_NUISANCE)
        np.testing.assert_allclose(together[3], model.nuisance(points[3]), atol=SAME_NUISANCE)

    def test_several_confounders(self, two: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = two
        limits, widths = np.array([0.4, 20.0]), np.array([0.8, 40.0])
        model = by_kernel(0.05, indicator="soft", threshold=limits, bandwidth=widths)
        model.fit(x, confounder=g)
        z = (x - model.location_) / model.scale_
        point = np.array([0.7, -40.0])
        literal = literal_nuisance(
            z,
            g,
            evaluate_indicator(INDICATORS["soft"], g, limits),
            model.omega_,
            point,
            kernel=KERNELS["gaussian"],
            bandwidth=widths,
        )
        expected = 0.5 * (literal + literal.T)
        assert model.nuisance(point).shape == (3, 3)
        np.testing.assert_allclose(model.nuisance(point), expected, atol=SAME_NUISANCE)
        assert model.nuisance([point, point]).shape == (2, 3, 3)
        # Each is below its own threshold, but together they are beyond: the norm of the ratios counts.
        assert model.nuisance([0.39, 19.0]).any()
        assert not model.nuisance([0.2, 10.0]).any()

    def test_without_confounder_there_is_none(self, large: Simulated) -> None:
        model = by_kernel().fit(large.x)
        for method in (model.nuisance, model.omega_at):
            with pytest.raises(ValueError, match="fitted without confounder"):
                method(1.0)

    @pytest.mark.parametrize("g", [np.nan, [1.0, np.inf]])
    def test_points_must_be_finite(self, model: PLAGGM, g: Any) -> None:
        with pytest.raises(ValueError, match="g contains"):
            model.nuisance(g)

    def test_a_point_needs_all_confounders(self, two: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = two
        model = by_kernel(0.05, threshold=[0.7, 35.0], bandwidth=[0.8, 40.0]).fit(x, confounder=g)
        for wrong in (1.0, [1.0, 2.0, 3.0]):
            with pytest.raises(ValueError, match=r"g must be of shape \(2,\) or \(k, 2\)"):
                model.nuisance(wrong)

    @pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 1, 2)])
    def test_a_point_needs_its_own_row(
        self, two: tuple[np.ndarray, np.ndarray], shape: tuple[int, ...]
    ) -> None:
        x, g = two
        model = by_kernel(0.05, threshold=[0.7, 35.0], bandwidth=[0.8, 40.0]).fit(x, confounder=g)
        with pytest.raises(ValueError, match="g must"):
            model.nuisance(np.zeros(shape))

    def test_one_confounder_has_one_column(self, model: PLAGGM) -> None:
        with pytest.raises(ValueError, match="g must"):
            model.nuisance(np.zeros((3, 3)))


class TestScore:
    def test_equals_the_formula(self, large: Simulated) -> None:
        model = by_kernel(0.05, threshold=THRESHOLD, bandwidth=90.0)
        model.fit(large.x[::2], confounder=large.confounder[::2])
        x, g = large.x[1::2], large.confounder[1::2]
        z = (x - model.location_) / model.scale_
        trained = (large.x[::2] - model.location_) / model.scale_
        settings = smoother_settings(
            large.confounder[::2], THRESHOLD, 90.0, indicator="ramp", form="supplement",
            kernel="gaussian",
        )  # fmt: skip
        inside = evaluate_indicator(INDICATORS["ramp"], g[:, None], np.array([THRESHOLD]))
        total = 0.0
        for j in range(5):
            node = transform_node(
                trained, large.confounder[::2, None], **settings, j=j, at=(z, g[:, None], inside)
            )
            residual = node.y - node.x @ model.omega_[:, j]
            total += np.mean(
                -0.5 * residual**2 - 0.5 * np.log(2.0 * np.pi) - np.log(model.scale_[j])
            )
        assert model.score(x, confounder=g) == pytest.approx(total, rel=ROUNDING)

    def test_without_confounder_it_is_the_pseudo_likelihood(self, large: Simulated) -> None:
        model = by_kernel(0.05).fit(large.x[::2])
        x = large.x[1::2]
        z = (x - model.location_) / model.scale_
        off = model.omega_ - np.diag(np.diag(model.omega_))
        mean = np.diag(model.omega_) + z @ off
        log_density = -0.5 * (z - mean) ** 2 - 0.5 * np.log(2 * np.pi) - np.log(model.scale_)
        expected = log_density.sum(axis=1).mean()
        assert model.score(x) == pytest.approx(expected, rel=ROUNDING)

    def test_prefers_the_true_network(self) -> None:
        data = simulate_paper(6, n=1000, seed=4, even=True, threshold=100.0, target_radius=0.6,
                              nuisance_radius=0.3)  # fmt: skip
        model = by_kernel(0.01, threshold=100.0, variance="unit", standardize=False)
        model.fit(data.x[::2], confounder=data.confounder[::2])
        new = dict(X=data.x[1::2], confounder=data.confounder[1::2])
        scores = {}
        for name, off in (
            ("truth", data.omega),
            ("shuffled", np.roll(data.omega, 1, axis=(0, 1))),
            ("empty", np.zeros((6, 6))),
            ("flipped", -data.omega),
        ):
            known = with_omega(model, off + np.diag(np.diag(model.omega_)))
            scores[name] = known.score(**new)
        assert scores["truth"] > max(scores["shuffled"], scores["empty"], scores["flipped"])

    def test_does_not_depend_on_the_units_but_for_the_density(self, large: Simulated) -> None:
        units = np.array([1e-3, 1.0, 10.0, 1e3, 7.0])
        g = large.confounder
        plain = by_kernel(0.05, threshold=THRESHOLD).fit(large.x, confounder=g)
        other = by_kernel(0.05, threshold=THRESHOLD).fit(large.x * units, confounder=g)
        difference = plain.score(large.x, confounder=g) - other.score(large.x * units, confounder=g)
        assert difference == pytest.approx(np.log(units).sum(), rel=1e-6)

    def test_needs_the_confounder_of_the_fit(self, large: Simulated) -> None:
        g = pd.Series(large.confounder, name="motion")
        model = by_kernel(threshold=THRESHOLD).fit(large.x, confounder=g)
        with pytest.raises(ValueError, match="fitted with confounder motion; pass the values"):
            model.score(large.x)
        with pytest.raises(ValueError, match=r"each of the 400 samples.*got shape \(399, 1\)"):
            model.score(large.x, confounder=g[1:])
        with pytest.raises(ValueError, match=r"1 column\(s\) of the fit.*got shape \(400, 2\)"):
            model.score(large.x, confounder=np.column_stack([g, g]))
        with pytest.raises(ValueError, match="confounder contains NaN"):
            model.score(large.x, confounder=g.where(g > 0.0))

    def test_takes_none_after_a_fit_without(self, large: Simulated) -> None:
        model = by_kernel().fit(large.x)
        with pytest.raises(ValueError, match="fitted without confounder"):
            model.score(large.x, confounder=large.confounder)

    def test_confounders_are_matched_by_name(self, two: tuple[np.ndarray, np.ndarray]) -> None:
        x, values = two
        g = pd.DataFrame(values, columns=["pitch", "roll"])
        model = by_kernel(0.05, threshold=[0.7, 35.0], bandwidth=[0.8, 40.0]).fit(x, confounder=g)
        expected = model.score(x, confounder=g)
        assert model.score(x, confounder=g[["roll", "pitch"]]) == expected
        assert model.score(x, confounder=g.assign(yaw=0.0)) == expected
        assert model.score(x, confounder=values) == expected
        with pytest.raises(
            ValueError, match=r"lacks the column.*roll of the fit; it has pitch, yaw"
        ):
            model.score(x, confounder=g.rename(columns={"roll": "yaw"}))

    def test_rows_are_matched_by_label(self, large: Simulated) -> None:
        frame = pd.DataFrame(large.x)
        g = pd.Series(large.confounder)
        model = by_kernel(threshold=THRESHOLD).fit(frame, confounder=g)
        with pytest.raises(ValueError, match="row labels"):
            model.score(frame, confounder=g.iloc[::-1])

    def test_one_sample_will_do(self, large: Simulated) -> None:
        model = by_kernel(threshold=THRESHOLD).fit(large.x, confounder=large.confounder)
        each = [model.score(large.x[[i]], confounder=large.confounder[[i]]) for i in (0, 150, 399)]
        rows = [0, 150, 399]
        together = model.score(large.x[rows], confounder=large.confounder[rows])
        assert together == pytest.approx(np.mean(each), rel=ROUNDING)


class TestSample:
    def moments(self, model: PLAGGM, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance, in the units of the data, of the network omega."""
        off = omega - np.diag(np.diag(omega))
        inverse = np.linalg.inv(np.eye(5) - off)
        mean = model.location_ + model.scale_ * (inverse @ np.diag(omega))
        return mean, inverse * np.outer(model.scale_, model.scale_)

    def assert_moments(self, drawn: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> None:
        n, variance = len(drawn), np.diag(covariance)
        error = (drawn.mean(axis=0) - mean) / np.sqrt(variance / n)
        assert np.abs(error).max() < STANDARD_ERRORS
        spread = np.sqrt((np.outer(variance, variance) + covariance**2) / n)
        assert np.abs((np.cov(drawn.T) - covariance) / spread).max() < STANDARD_ERRORS

    def test_target_network(self, model: PLAGGM) -> None:
        mean, covariance = self.moments(model, model.omega_)
        np.testing.assert_allclose(np.linalg.inv(model.precision_), covariance)
        self.assert_moments(model.sample(100_000, random_state=0), mean, covariance)

    def test_at_confounder_values(self, model: PLAGGM) -> None:
        points = [-150.0, 0.0]
        drawn = model.sample(50_000, confounder=points, random_state=1)
        assert drawn.shape == (100_000, 5)
        for part, omega in zip(np.split(drawn, 2), model.omega_at(points), strict=True):
            self.assert_moments(part, *self.moments(model, omega))
        assert np.abs(model.nuisance(-150.0)).max() > 0.05

    def test_seeds(self, model: PLAGGM) -> None:
        first = model.sample(3, random_state=7)
        np.testing.assert_array_equal(first, model.sample(3, random_state=7))
        assert not np.array_equal(first, model.sample(3, random_state=8))
        rng = np.random.RandomState(7)
        np.testing.assert_array_equal(first, model.sample(3, random_state=rng))

    def test_shapes(self, model: PLAGGM) -> None:
        assert model.sample().shape == (1, 5)
        assert model.sample(4, confounder=100.0).shape == (4, 5)
        assert model.sample(4, confounder=[100.0, -100.0, 0.0]).shape == (12, 5)

    def test_several_confounders(self, two: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = two
        model = by_kernel(0.05, threshold=[0.7, 35.0], bandwidth=[0.8, 40.0]).fit(x, confounder=g)
        assert model.sample(2, confounder=np.zeros((3, 2)), random_state=0).shape == (6, 3)

    def test_one_point_of_several_confounders(self, two: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = two
        model = by_kernel(0.05, threshold=[0.7, 35.0], bandwidth=[0.8, 40.0]).fit(x, confounder=g)
        assert model.sample(2, confounder=[0.0, 0.0], random_state=0).shape == (2, 3)

    def test_a_network_that_is_not_positive_definite(self) -> None:
        rng = np.random.default_rng(0)
        common = rng.standard_normal((40, 1))
        x = common + 0.3 * rng.standard_normal((40, 8))
        model = by_kernel(1e-3, symmetry="or", variance="unit").fit(x)
        assert np.linalg.eigvalsh(model.precision_)[0] < 0.0
        with pytest.warns(UserWarning, match="not positive definite") as caught:
            drawn = model.sample(50, random_state=0)
        assert "multiplied by 0." in str(caught[0].message)
        assert np.isfinite(drawn).all()

    def test_the_warning_points_at_the_caller(self, model: PLAGGM) -> None:
        broken = with_omega(model, np.full((5, 5), 0.8))
        with pytest.warns(UserWarning, match="not positive definite") as caught:
            broken.sample(2, random_state=0)
        assert caught[0].filename == __file__

    def test_only_what_is_needed_is_shrunk(self) -> None:
        omega = np.array([[0.0, 0.8, 0.8], [0.8, 0.0, 0.8], [0.8, 0.8, 0.0]])
        with pytest.warns(UserWarning, match="not positive definite"):
            repaired = positive_definite(-omega)
        assert np.linalg.eigvalsh(repaired)[0] == pytest.approx(0.01)
        np.testing.assert_array_equal(np.diag(repaired), np.ones(3))
        off = -repaired[np.triu_indices(3, 1)]
        np.testing.assert_allclose(off, off[0])
        fine = 0.5 * omega
        np.testing.assert_array_equal(positive_definite(-fine), np.eye(3) - fine)

    def test_drawing_does_not_change_the_network(self) -> None:
        omega = np.array([[1.0, 0.4], [0.4, -1.0]])
        kept = omega.copy()
        draw_samples(omega, 5, np.random.RandomState(0))
        np.testing.assert_array_equal(omega, kept)


class TestNotFitted:
    @pytest.mark.parametrize("estimator", [PLAGGM, PLAGGMCV])
    @pytest.mark.parametrize(
        ("method", "arguments"),
        [
            ("nuisance", (1.0,)),
            ("omega_at", (1.0,)),
            ("score", (np.zeros((3, 2)),)),
            ("sample", ()),
            ("edges", ()),
            ("to_networkx", ()),
            ("to_result", ()),
        ],
    )
    def test_every_method_says_so(
        self, estimator: type, method: str, arguments: tuple[Any, ...]
    ) -> None:
        with pytest.raises(NotFittedError, match=f"{estimator.__name__} instance is not fitted"):
            getattr(estimator(), method)(*arguments)


class TestDegenerateTables:
    def test_more_variables_than_samples(self) -> None:
        x = np.random.default_rng(0).standard_normal((15, 20))
        model = by_kernel(0.2).fit(x)
        assert np.isfinite(model.omega_).all()
        assert np.isfinite(model.scale_).all()

    def test_columns_without_any_correlation(self) -> None:
        x = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
        assert not by_kernel(0.1).fit(x).adjacency_.any()

    def test_columns_without_any_correlation_and_unit_variance(self) -> None:
        x = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
        assert not by_kernel(0.1, variance="unit").fit(x).adjacency_.any()

    def test_no_penalty(self, large: Simulated) -> None:
        model = by_kernel(0.0, variance="unit", standardize=False, **EXACT).fit(large.x)
        nodes = [LiteralNode(*node_design(large.x, j), np.zeros(0)) for j in range(5)]
        np.testing.assert_allclose(model.omega_, solve_independently(nodes, 0.0), atol=SAME_OMEGA)

    def test_no_penalty_node_by_node(self, large: Simulated) -> None:
        model = by_kernel(0.0, symmetry="and", **EXACT, variance="unit", standardize=False)
        model.fit(large.x)
        design, response = node_design(large.x, 0)
        beta = np.linalg.lstsq(design, response)[0]
        assert np.all(np.abs(model.omega_[1:, 0]) <= np.abs(beta[1:]) + SAME_OMEGA)
        assert model.adjacency_.sum() == 20

    def test_dependent_columns(self, large: Simulated) -> None:
        x = np.column_stack([large.x, large.x.sum(axis=1)])
        with pytest.raises(
            ValueError, match=r"linearly dependent columns: 'x0', .* fewer of them\.$"
        ):
            by_kernel(0.1, ridge=1e-3).fit(x)
        with pytest.raises(ValueError, match=r"linearly dependent columns.* Or set ridge > 0"):
            by_kernel(0.1).fit(x, confounder=large.confounder)
        with pytest.warns(DependenceWarning, match="The ridge and the penalty share them out"):
            model = by_kernel(0.1, ridge=1e-3).fit(x, confounder=large.confounder)
        assert np.isfinite(model.omega_).all()

    def test_more_variables_than_samples_beside_a_confounder(self) -> None:
        rng = np.random.default_rng(0)
        x, g = rng.standard_normal((20, 30)), np.arange(20.0)
        with pytest.raises(ValueError, match="too few samples for 30 variables"):
            by_kernel(0.3, ridge=0.1, bandwidth=300.0).fit(x, confounder=g)
        model = by_kernel(0.3, ridge=0.1, bandwidth=300.0, threshold=10.0).fit(x, confounder=g)
        assert np.isfinite(model.omega_).all()

    def test_dependent_columns_by_default(self, large: Simulated) -> None:
        x = np.column_stack([large.x, large.x.sum(axis=1)])
        with pytest.raises(ValueError, match=r"linearly dependent columns.* fewer of them\.$"):
            PLAGGM(0.1).fit(x, confounder=large.confounder)


class TestLevels:
    """A confounder with few values: a batch, a dose."""

    def test_two_batches(self, large: Simulated) -> None:
        batch = np.arange(400) % 2
        x = large.x + 2.0 * batch[:, None]
        model = PLAGGM(0.05, threshold=0.5).fit(x, confounder=batch)
        assert model.nuisance(1.0).any()
        # The shift of the mean joins all variables; the clean batch does not have it.
        clean = PLAGGM(0.05).fit(large.x[::2])
        pooled = PLAGGM(0.05).fit(x)
        off = ~np.eye(5, dtype=bool)
        error = np.abs(model.omega_ - clean.omega_)[off].max()
        assert error < 0.5 * np.abs(pooled.omega_ - clean.omega_)[off].max()

    @pytest.mark.parametrize("levels", [2, 3])
    def test_a_kernel_has_too_few_levels_to_smooth_over(
        self, large: Simulated, levels: int
    ) -> None:
        with pytest.raises(ValueError, match="threshold='auto' found no threshold"):
            by_kernel(0.05).fit(large.x, confounder=np.arange(400) % levels)
