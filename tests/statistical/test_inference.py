"""Do the bands cover, is the p-value uniform where nothing happens, and small where something does?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, kstest

from plaggm import PLAGGM, confounding_test, threshold_sensitivity
from plaggm.simulate import simulate_paper

pytestmark = pytest.mark.slow

FITS = 500
# Rejections at the 5 % level among as many fits that chance leaves outside once in a thousand.
FEWEST, MOST = binom.ppf([0.0005, 0.9995], FITS, 0.05)


class TestCoverage:
    """Nominal 95 % bands, averaged over the confounder beyond g*, the pairs and six seeds."""

    @pytest.mark.parametrize(
        "scenario",
        [
            pytest.param(dict(p=10, n=1500, shape="saturating", even=True), id="saturating"),
            pytest.param(dict(p=10, n=1500, shape="ramp", even=True), id="ramp"),
            pytest.param(dict(p=20, n=2000, shape="saturating", even=True), id="more variables"),
            pytest.param(
                dict(p=10, n=2000, shape="ramp", even=True, mean_shift=1.0, variance_inflation=2.0),
                id="mean and variance",
            ),
            pytest.param(
                dict(
                    p=10,
                    n=3000,
                    shape="saturating",
                    even=True,
                    nuisance_radius=0.6,
                    target_radius=0.35,
                ),
                id="strong",
            ),
        ],
    )
    def test_bands(self, scenario: dict[str, Any]) -> None:
        """Measured for R and for the whole network: .96 to .99, over 40 seeds of the first .98."""
        covered = []
        for seed in range(50, 66):
            data = simulate_paper(**scenario, seed=seed, threshold=50.0, confounder="uniform")
            model = PLAGGM(0.02, threshold=50.0).fit(data.x, confounder=data.confounder)
            at = np.quantile(data.confounder, np.linspace(0.02, 0.98, 41))
            at = at[np.abs(at) > 60.0]
            off = ~np.eye(scenario["p"], dtype=bool)
            nuisance, error = model.nuisance(at, return_std=True)
            omega, whole = model.omega_at(at, return_std=True)
            covered.append(
                [
                    np.mean(np.abs(nuisance - data.nuisance(at))[:, off] < 1.96 * error[:, off]),
                    np.mean(np.abs(omega - data.omega_at(at))[:, off] < 1.96 * whole[:, off]),
                ]
            )
        for share in np.mean(covered, axis=0):
            assert 0.90 < share < 0.99

    def test_where_pooling_serves_the_target(self) -> None:
        """An odd R: the focused penalty flattens it, its own must not."""
        covered = []
        for seed in range(50, 54):
            data = simulate_paper(
                10, n=3000, seed=seed, shape="ramp", threshold=50.0, confounder="uniform"
            )
            model = PLAGGM(0.02, threshold=50.0).fit(data.x, confounder=data.confounder)
            nuisance, error = model.nuisance([-300.0, 300.0], return_std=True)
            off = ~np.eye(10, dtype=bool)
            truth = data.nuisance([-300.0, 300.0])
            covered.append(np.mean(np.abs(nuisance - truth)[:, off] < 1.96 * error[:, off]))
            assert np.corrcoef(nuisance[:, off].ravel(), truth[:, off].ravel())[0, 1] > 0.8
        assert np.mean(covered) > 0.90


BOTH: dict[str, Any] = dict(mean_shift=2.0, variance_inflation=3.0)


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(dict(p=5, n=300, confounder="uniform"), id="5 variables"),
        pytest.param(dict(p=5, n=400, confounder="skewed", **BOTH), id="5, skewed, both"),
        pytest.param(dict(p=20, n=600, confounder="uniform", **BOTH), id="20, both"),
        pytest.param(dict(p=20, n=600, confounder="skewed", even=True), id="20, skewed"),
    ],
)
def test_p_values_are_uniform_without_confounding(scenario: dict[str, Any]) -> None:
    """A confounder that at most moves means and variances. Measured sizes: .04 to .07."""
    threshold = 50.0 if scenario["confounder"] == "uniform" else 10.0
    p_values = []
    for seed in range(1000, 1000 + FITS):
        data = simulate_paper(**scenario, shape="none", threshold=threshold, seed=seed)
        found = confounding_test(data.x, data.confounder, threshold=threshold)
        p_values.append(found.p_value)
    rejected = np.count_nonzero(np.array(p_values) < 0.05)
    assert FEWEST <= rejected <= MOST
    assert kstest(p_values, "uniform").pvalue > 0.01


@pytest.mark.parametrize(
    ("n", "scenario", "variance"),
    [
        pytest.param(250, {}, "conditional", id="threshold stays"),
        pytest.param(
            600,
            dict(threshold=200.0, mean_shift=1.0, variance_inflation=10.0),
            "function",
            id="threshold chosen on the same data",
            marks=pytest.mark.xfail(
                strict=True,
                reason="Conservative: 7 of 500 p-values are below 0.05, 11 are the fewest.",
            ),
        ),
    ],
)
# One of 500 data sets of independent rows resembles a time series.
@pytest.mark.filterwarnings("ignore::plaggm.estimators.row_warnings.DependentRowsWarning")
def test_p_values_of_fits(n: int, scenario: dict[str, Any], variance: str) -> None:
    """As the estimator reports them, at its own threshold."""
    p_values = []
    for seed in range(FITS):
        data = simulate_paper(5, n=n, shape="none", confounder="uniform", seed=seed, **scenario)
        model = PLAGGM(0.1, variance=variance).fit(data.x, confounder=data.confounder)
        p_values.append(model.confounding_test().p_value)
    rejected = np.count_nonzero(np.array(p_values) < 0.05)
    assert FEWEST <= rejected <= MOST
    assert kstest(p_values, "uniform").pvalue > 0.01


@pytest.mark.parametrize("shape", ["ramp", "saturating", "bump"])
@pytest.mark.parametrize("extra", [{}, dict(mean_shift=1.0, variance_inflation=2.0)])
def test_power(shape: str, extra: dict[str, Any]) -> None:
    """Half the samples leave nothing to see at n = 300; 1,500 show it nearly always."""
    p_values = []
    for seed in range(20):
        data = simulate_paper(
            10, n=1500, seed=seed, shape=shape, even=True, threshold=50.0, confounder="uniform", **extra
        )  # fmt: skip
        p_values.append(confounding_test(data.x, data.confounder, threshold=50.0).p_value)
    assert np.mean(np.array(p_values) < 0.05) > 0.8


def test_the_largest_threshold_that_agrees() -> None:
    """Known to be 150: no smaller one is refused more often than the level allows, 350 nearly always."""
    refused = []
    for seed in range(10):
        data = simulate_paper(
            10, n=2500, seed=seed, shape="saturating", even=True, threshold=150.0, confounder="uniform"
        )  # fmt: skip
        table = threshold_sensitivity(
            data.x,
            data.confounder,
            thresholds=[75.0, 150.0, 350.0],
            estimator=PLAGGM(0.03, threshold=75.0),
        )
        refused.append(~table["agrees"].to_numpy())
    below, at, above = np.mean(refused, axis=0)
    assert below <= 0.3
    assert at <= 0.3
    assert above >= 0.8
