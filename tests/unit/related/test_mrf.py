"""MRF: linear covariates in every edge of binary, count and mixed networks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from plaggm import read_result
from plaggm.metrics import edge_auc
from plaggm.related import MRF
from plaggm.simulate import simulate_family


@pytest.fixture(scope="module")
def data():
    """Binary variables whose edges are linear in the confounder but within a narrow threshold."""
    return simulate_family(8, n=3000, seed=1, shape="ramp", threshold=4.0)


def test_linear_covariates_find_edges_that_pooling_blurs(data):
    linear = MRF(criterion="bic").fit(data.x, confounder=data.confounder)
    assert linear.families_ == ("binomial",) * 8
    assert edge_auc(linear.omega_path_[-1], data.support) > 0.9
    changes = linear.coefficients_[1, :8]
    slope = data.nuisance([400.0])[0] / 400.0 * np.outer(linear.scale_, linear.scale_)
    off = ~np.eye(8, dtype=bool)
    assert np.corrcoef(changes[off], slope[off])[0, 1] > 0.8


def test_pooled_and_clean_samples(data):
    pooled = MRF(covariates="none", criterion="bic").fit(data.x, confounder=data.confounder)
    plain = MRF(criterion="bic").fit(data.x)
    np.testing.assert_array_equal(pooled.omega_, plain.omega_)
    below = np.abs(data.confounder) <= 100.0
    clean = MRF(covariates="none", threshold=100.0, criterion="bic")
    clean.fit(data.x, confounder=data.confounder)
    np.testing.assert_array_equal(clean.omega_, MRF(criterion="bic").fit(data.x[below]).omega_)
    assert clean.threshold_ == 100.0


@pytest.mark.parametrize("criterion", ["cv", "aic", "ebic"])
def test_criteria_choose_within_the_path(data, criterion):
    model = MRF(criterion=criterion, alphas=10, **({"cv": 3} if criterion == "cv" else {}))
    model.fit(data.x[:, :5], confounder=data.confounder)
    step = int(np.argmin(model.criterion_path_))
    assert model.alpha_ == model.alphas_[step]
    assert step > 0


def test_scores_are_log_pseudo_likelihoods(data):
    model = MRF(criterion="bic").fit(data.x[:2000], confounder=data.confounder[:2000])
    new = model.score(data.x[2000:], confounder=data.confounder[2000:])
    pooled = MRF(criterion="bic").fit(data.x[:2000]).score(data.x[2000:])
    assert pooled < new < 0.0
    given = MRF(alpha=model.alpha_).fit(data.x[:2000], confounder=data.confounder[:2000])
    assert given.score(data.x[2000:], confounder=data.confounder[2000:]) == pytest.approx(
        new, abs=1e-3
    )


def test_squares_and_names_travel(data, tmp_path):
    names = list("abcdefgh")
    frame = pd.DataFrame(data.x, columns=names)
    g = pd.DataFrame({"age": data.confounder})
    model = MRF(criterion="bic", regressors="squares", alphas=10).fit(frame, confounder=g)
    assert model.coefficients_.shape == (3, 9, 8)
    model.to_result().save(tmp_path / "fit")
    again = read_result(tmp_path / "fit")
    assert again.names == tuple(names)
    assert again.confounder_names == ("age",)
    assert "coefficient" in model.edges()
    assert "has no test" in again.diagnostics["untested_edges"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"family": "poisson", "shift": -1.0}, "whole numbers from 0 on"),
        ({"threshold": 1e-9}, "samples are free of confounding"),
        ({"alpha": 0.1, "criterion": "bic"}, "criterion='bic' is not used"),
    ],
)
def test_bad_input_is_named(data, arguments, words):
    shift = arguments.pop("shift", 0.0)
    with pytest.raises(ValueError, match=words):
        MRF(**arguments).fit(data.x + shift, confounder=data.confounder)


def test_gaussian_columns_are_scored_by_their_residual_deviation():
    rng = np.random.default_rng(0)
    first = rng.standard_normal(600)
    x = np.column_stack([first, first + 0.5 * rng.standard_normal(600)])
    model = MRF(family="gaussian", alpha=1e-4).fit(x)
    expected = -sum(
        0.5 * np.log(2.0 * np.pi * one) + 0.5
        for one in (np.var(x[:, j]) * (1.0 - np.corrcoef(x.T)[0, 1] ** 2) for j in range(2))
    )
    assert model.score(x) == pytest.approx(expected, abs=0.01)
