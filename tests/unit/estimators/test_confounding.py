"""Bands, degrees of freedom, the test and the sensitivity table, as a user meets them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import plaggm
from plaggm import PLAGGM, PLAGGMCV, confounding_test, threshold_sensitivity
from plaggm.core.confounding.rows import UntestableError
from plaggm.simulate import Simulated, simulate_paper

P, N = 5, 500
THRESHOLD = 60.0
AT = np.array([-390.0, -200.0, 0.0, 150.0, 300.0])
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def data() -> Simulated:
    return simulate_paper(P, n=N, seed=0, even=True, threshold=THRESHOLD, confounder="uniform")


@pytest.fixture(scope="module")
def fitted(data: Simulated) -> PLAGGM:
    return PLAGGM(0.03, threshold=THRESHOLD).fit(data.x, confounder=data.confounder)


class TestBands:
    def test_as_gaussian_processes_do(self, fitted: PLAGGM) -> None:
        nuisance, error = fitted.nuisance(AT, return_std=True)
        np.testing.assert_array_equal(nuisance, fitted.nuisance(AT))
        assert error.shape == nuisance.shape
        np.testing.assert_array_equal(error, error.transpose(0, 2, 1))
        assert np.all(error[2] == 0.0), "R is known below the threshold"
        assert np.all(error[[0, 1, 3, 4]] > 0.0)

    def test_a_single_value(self, fitted: PLAGGM) -> None:
        nuisance, error = fitted.nuisance(300.0, return_std=True)
        assert nuisance.shape == error.shape == (P, P)
        np.testing.assert_allclose(error, fitted.nuisance(AT, return_std=True)[1][4], rtol=ROUNDING)

    def test_of_the_whole_network(self, fitted: PLAGGM) -> None:
        omega, error = fitted.omega_at(AT, return_std=True)
        np.testing.assert_array_equal(omega, fitted.omega_at(AT))
        assert np.all(error > 0.0), "the target is not known exactly"
        single, alone = fitted.omega_at(300.0, return_std=True)
        np.testing.assert_allclose(alone, error[4], rtol=ROUNDING)
        np.testing.assert_allclose(single, omega[4], rtol=ROUNDING)

    def test_units_of_the_data_do_not_matter(self, data: Simulated, fitted: PLAGGM) -> None:
        other = PLAGGM(0.03, threshold=0.06).fit(
            data.x * np.array([1.0, 10.0, 0.1, 1.0, 5.0]) + 3.0, confounder=data.confounder / 1000
        )
        for one, two in zip(
            fitted.nuisance(AT, return_std=True),
            other.nuisance(AT / 1000, return_std=True),
            strict=True,
        ):
            np.testing.assert_allclose(two, one, atol=1e-5)

    def test_the_kernel_has_none(self, data: Simulated) -> None:
        model = PLAGGM(0.1, threshold=THRESHOLD, smoother="kernel")
        model.fit(data.x, confounder=data.confounder)
        for method in (model.nuisance, model.omega_at):
            with pytest.raises(ValueError, match=r"'kernel' has no standard errors.*'spline'"):
                method(100.0, return_std=True)
        assert model.to_result().nuisance_error is None

    def test_results_keep_them(self, fitted: PLAGGM) -> None:
        result = fitted.to_result()
        assert result.confounder_grid is not None
        error = fitted.nuisance(result.confounder_grid, return_std=True)[1]
        np.testing.assert_array_equal(result.nuisance_error, error)

    def test_more_variables_than_samples(self) -> None:
        wide = simulate_paper(40, n=36, seed=0, even=True, threshold=150.0, confounder="uniform")
        model = PLAGGM(0.2, threshold=150.0).fit(wide.x, confounder=wide.confounder)
        assert np.all(np.isfinite(model.nuisance(300.0, return_std=True)[1]))


class TestDegreesOfFreedom:
    def test_in_the_result(self, fitted: PLAGGM) -> None:
        diagnostics = fitted.to_result().diagnostics
        total = diagnostics["nuisance_degrees_of_freedom"]
        assert diagnostics["nuisance_degrees_of_freedom_per_node"] == pytest.approx(total / P)
        # Six functions: at least their means for each node, at most a network for each.
        assert 6 * P <= total <= 6 * P * P
        assert fitted.nuisance_df_.shape == (P,)
        assert fitted.nuisance_df_.sum() == pytest.approx(total)

    def test_none_without_confounder(self, data: Simulated) -> None:
        np.testing.assert_array_equal(PLAGGM(0.1).fit(data.x).nuisance_df_, np.zeros(P))

    @pytest.mark.parametrize("tau", [1e-3, 0.1, 1.0])
    def test_residuals_that_a_free_nuisance_shortens_are_not_taken_for_small_noise(
        self, tau: float
    ) -> None:
        """True conditional standard deviations are one; without the correction they would be 0.96."""
        many = simulate_paper(
            12, n=800, seed=3, even=True, threshold=50.0, shape="ramp", confounder="uniform"
        )
        model = PLAGGM(0.01, threshold=50.0, tau=tau, variance="conditional")
        model.fit(many.x, confounder=many.confounder)
        # The standard error of a mean over twelve nodes is 0.01.
        assert np.mean(model.scale_) == pytest.approx(1.0, abs=0.025)


class TestConfoundingTest:
    def test_the_method_is_the_function(self, data: Simulated, fitted: PLAGGM) -> None:
        found = confounding_test(data.x, data.confounder, threshold=THRESHOLD)
        assert fitted.confounding_test().p_value == pytest.approx(found.p_value)
        diagnostics = fitted.to_result().diagnostics
        assert diagnostics["confounding_p_value"] == pytest.approx(found.p_value)

    def test_with_cross_validation_and_the_kernel(self, data: Simulated, fitted: PLAGGM) -> None:
        for model in (
            PLAGGMCV(alphas=3, cv=2, threshold=THRESHOLD),
            PLAGGM(0.1, threshold=THRESHOLD, smoother="kernel"),
        ):
            model.fit(data.x, confounder=data.confounder)
            assert model.confounding_test().p_value == pytest.approx(
                fitted.confounding_test().p_value
            )

    def test_the_threshold_is_that_of_the_estimator(self, data: Simulated) -> None:
        model = PLAGGM(0.1, reference="zero").fit(data.x, confounder=data.confounder)
        found = confounding_test(data.x, data.confounder, reference="zero")
        assert model.confounding_test().p_value == pytest.approx(found.p_value)

    def test_frames(self, data: Simulated) -> None:
        index = [f"scan{i}" for i in range(N)]
        frame = pd.DataFrame(data.x, index=index)
        motion = pd.Series(data.confounder, index=index, name="motion")
        expected = confounding_test(data.x, data.confounder)
        assert confounding_test(frame, motion) == expected
        with pytest.raises(ValueError, match="different row labels"):
            confounding_test(frame, motion.iloc[::-1])

    def test_without_confounder(self, data: Simulated) -> None:
        with pytest.raises(ValueError, match="without confounder"):
            PLAGGM(0.1).fit(data.x).confounding_test()
        with pytest.raises(ValueError, match="confounder is missing"):
            confounding_test(data.x, None)

    def test_chunks_have_none(self, data: Simulated) -> None:
        model = PLAGGM(0.1, threshold=THRESHOLD)
        model.partial_fit(data.x, confounder=data.confounder)
        with pytest.raises(ValueError, match="needs all rows at once"):
            model.confounding_test()
        assert "confounding_p_value" not in model.to_result().diagnostics

    def test_nothing_to_test(self, data: Simulated) -> None:
        with pytest.raises(UntestableError, match="exceeds its threshold"):
            confounding_test(data.x, data.confounder, threshold=1000.0)
        model = PLAGGM(0.1, threshold=1000.0)
        with pytest.warns(UserWarning, match="R is taken as zero"):
            model.fit(data.x, confounder=data.confounder)
        assert "confounding_p_value" not in model.to_result().diagnostics

    @pytest.mark.parametrize("threshold", ["none", -1.0, ["a"], [1.0, 2.0]])
    def test_what_is_no_threshold(self, data: Simulated, threshold: Any) -> None:
        with pytest.raises(ValueError, match="threshold must"):
            confounding_test(data.x, data.confounder, threshold=threshold)

    @pytest.mark.parametrize(
        ("x", "message"),
        [
            (np.zeros(5), "three rows and two columns"),
            ([["a", "b"]] * 4, "must be numeric"),
            (np.ones((N, 2)), "constant"),
            (np.full((N, 2), np.nan), "NaN"),
        ],
    )
    def test_what_is_no_table(self, data: Simulated, x: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            confounding_test(x, data.confounder)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    known = simulate_paper(
        6, n=2500, seed=1, even=True, threshold=150.0, shape="ramp", confounder="uniform",
        nuisance_radius=0.55, target_radius=0.4,
    )  # fmt: skip
    return threshold_sensitivity(
        known.x,
        known.confounder,
        thresholds=[50.0, 100.0, 150.0, 320.0, 390.0],
        estimator=PLAGGM(0.03, threshold=100.0),
    )


class TestSensitivity:
    def test_one_row_for_each_threshold(self, table: pd.DataFrame) -> None:
        assert list(table) == [
            "threshold", "chosen", "n_below", "share_below", "edges", "distance", "jaccard",
            "disagreement", "lack_of_fit", "p_value", "agrees",
        ]  # fmt: skip
        assert table["threshold"].tolist() == [50.0, 100.0, 150.0, 320.0, 390.0]
        assert table["chosen"].tolist() == [False, True, False, False, False]
        assert table["n_below"].is_monotonic_increasing
        np.testing.assert_allclose(table["share_below"], table["n_below"] / 2500)

    def test_thresholds_above_the_true_one_are_seen(self, table: pd.DataFrame) -> None:
        assert table["agrees"].tolist() == [True, True, True, False, False]
        assert np.all(table["p_value"].iloc[3:] < 1e-3)
        assert np.all(table["disagreement"].between(0.3, 3.0))

    def test_the_chosen_one_is_compared_with_itself(self, table: pd.DataFrame) -> None:
        own = table[table["chosen"]].iloc[0]
        assert own["distance"] == 0.0
        assert own["jaccard"] == 1.0
        assert np.all(table.loc[~table["chosen"], "distance"] > 0.0)
        assert np.all(table["jaccard"].between(0.0, 1.0))

    def test_deciles_and_cross_validation_by_default(self, data: Simulated) -> None:
        estimator = PLAGGMCV(criterion="bic", alphas=5, reference="zero")
        table = threshold_sensitivity(data.x, data.confounder, estimator=estimator)
        deciles = np.quantile(np.abs(data.confounder), np.arange(0.1, 0.91, 0.1))
        # The automatic threshold is the first of them.
        np.testing.assert_allclose(table["threshold"], deciles)
        assert table["chosen"].tolist() == [True] + [False] * 8

    def test_several_confounders(self) -> None:
        g = np.random.default_rng(3).uniform(-1.0, 1.0, (400, 2)) * [1.0, 20.0]
        two = simulate_paper(4, seed=2, even=True, confounder=g, threshold=[0.3, 6.0])
        frame = pd.DataFrame(g, columns=["roll", "pitch"])
        table = threshold_sensitivity(
            two.x,
            frame,
            thresholds=[[0.2, 4.0], [0.5, 10.0]],
            estimator=PLAGGM(0.05, threshold=[0.3, 6.0]),
        )
        assert table["threshold roll"].tolist() == [0.2, 0.3, 0.5]
        assert table["threshold pitch"].tolist() == [4.0, 6.0, 10.0]

    def test_the_kernel_and_few_samples_leave_gaps(self, data: Simulated) -> None:
        table = threshold_sensitivity(
            data.x,
            data.confounder,
            thresholds=[100.0],
            estimator=PLAGGM(0.1, threshold=THRESHOLD, smoother="kernel"),
        )
        assert table["disagreement"].isna().all()
        few = threshold_sensitivity(
            data.x,
            data.confounder,
            thresholds=[10.0],
            estimator=PLAGGM(0.1, threshold=THRESHOLD),
        )
        assert np.isnan(few["p_value"].iloc[0])
        assert few["agrees"].iloc[0]

    def test_the_estimator_is_not_touched(self, data: Simulated) -> None:
        estimator = PLAGGM(0.1, threshold=THRESHOLD)
        threshold_sensitivity(data.x, data.confounder, thresholds=[80.0], estimator=estimator)
        assert estimator.threshold == THRESHOLD
        assert not hasattr(estimator, "omega_")

    @pytest.mark.parametrize("thresholds", ["auto", 3.0, [], ["a"], [-1.0], [[1.0, 2.0]]])
    def test_what_are_no_thresholds(self, data: Simulated, thresholds: Any) -> None:
        with pytest.raises(ValueError, match="thresholds must"):
            threshold_sensitivity(
                data.x, data.confounder, thresholds=thresholds, estimator=PLAGGM(0.1)
            )

    def test_what_is_no_estimator(self, data: Simulated) -> None:
        with pytest.raises(ValueError, match="PLAGGM or a PLAGGMCV; got GGM"):
            threshold_sensitivity(
                data.x,
                data.confounder,
                estimator=plaggm.related.GGM(),
            )
