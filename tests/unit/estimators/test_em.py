"""Fits to rows with missing cells."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from plaggm import PLAGGM, PLAGGMCV, read_result
from plaggm.estimators import em
from plaggm.report.certainty import certainty
from plaggm.report.declared import declared_sentences
from plaggm.simulate import simulate_paper


def holes(n: int = 400, p: int = 5, share: float = 0.15, seed: int = 0) -> tuple:
    data = simulate_paper(p, n=n, seed=seed, even=True, threshold=60.0)
    x = data.x.copy()
    x[np.random.default_rng(seed).random(x.shape) < share] = np.nan
    x[np.isnan(x).all(axis=1), 0] = 0.0
    return x, data.confounder


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"temporal": 1}, "does not take time series"),
        ({"smoother": "kernel"}, "needs smoother='spline'"),
        ({"robust": "winsor"}, "does not take robust='winsor'"),
        ({"criterion": "stars"}, "criterion='stars' draws rows"),
    ],
)
def test_what_does_not_go_together_is_refused(settings: dict, reason: str) -> None:
    x, g = holes()
    with pytest.raises(ValueError, match=reason):
        PLAGGMCV(missing="em", **settings).fit(x, confounder=g)


def test_streams_are_refused() -> None:
    x, g = holes()
    with pytest.raises(ValueError, match="partial_fit cannot complete missing values"):
        PLAGGM(missing="em").partial_fit(x, confounder=g)


def test_confounding_test_needs_complete_rows() -> None:
    x, g = holes()
    model = PLAGGM(missing="em", threshold=60.0).fit(x, confounder=g)
    with pytest.raises(ValueError, match="no test of rows with missing cells"):
        model.confounding_test()


def test_steps_that_do_not_settle_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(em, "MOST_STEPS", 2)
    x, g = holes()
    with pytest.warns(ConvergenceWarning, match="has not settled after 2 steps"):
        PLAGGM(missing="em", threshold=60.0).fit(x, confounder=g)


@pytest.mark.parametrize("threshold", [60.0, "auto"])
def test_chunks_give_the_same_fit(threshold: object) -> None:
    x, g = holes()
    model = PLAGGMCV(missing="em", threshold=threshold, alphas=10, cv=4)
    whole = model.fit(x, confounder=g)
    omega, tests = whole.omega_, whole.inference()
    chunked = model.fit_chunks([(x[:150], g[:150]), (x[150:], g[150:])])
    np.testing.assert_allclose(chunked.omega_, omega, atol=1e-7)
    np.testing.assert_allclose(chunked.inference()["p_value"], tests["p_value"], atol=1e-6)
    assert np.array_equal(pickle.loads(pickle.dumps(chunked)).omega_, chunked.omega_)


def test_several_confounders_and_groups() -> None:
    x, g = holes()
    both = np.column_stack([g, np.random.default_rng(5).normal(0.0, 50.0, len(g))])
    model = PLAGGM(missing="em", threshold=[60.0, 20.0])
    tests = model.fit(x, confounder=both, groups=np.arange(len(x)) % 25).inference()
    assert np.isfinite(tests["standard_error"]).all()
    rows = PLAGGM(missing="em", threshold=60.0).fit(x, confounder=g).inference()
    groups = PLAGGM(missing="em", threshold=60.0)
    groups.fit(x, confounder=g, groups=np.arange(len(x)) % 25)
    # Groups drawn at random hold nothing in common: about the same standard errors.
    ratio = groups.inference()["standard_error"] / rows["standard_error"]
    assert 0.6 < float(np.median(ratio)) < 1.6


def test_fewer_rows_than_variables() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20, 30))
    x[rng.random(x.shape) < 0.1] = np.nan
    model = PLAGGM(0.3, missing="em").fit(x)
    assert np.all(np.isfinite(model.omega_))


def test_standard_errors_grow_with_what_is_missing() -> None:
    errors = []
    for share in (0.0, 0.1, 0.3):
        x, g = holes(800, share=share, seed=4)
        model = PLAGGM(missing="em", threshold=60.0).fit(x, confounder=g)
        errors.append(float(model.inference()["standard_error"].mean()))
    assert errors[0] < errors[1] < errors[2]


def test_result_says_what_was_missing() -> None:
    x, g = holes()
    x[:100, 2] = np.nan
    found = PLAGGM(missing="em", threshold=60.0).fit(x, confounder=g).to_result().diagnostics
    assert found["missing"] == "em"
    assert found["missing_most"] == "x2"
    assert found["missing_most_share"] == pytest.approx(np.isnan(x[:, 2]).mean())
    assert found["missing_share"] == pytest.approx(np.isnan(x).mean())
    assert 0.0 < found["effective_rows"] < len(x)


def split_design() -> tuple:
    """Rows of which one half lacks the first variable and the other half the second."""
    data = simulate_paper(5, n=400, seed=3, even=True, threshold=60.0)
    x = data.x.copy()
    half = np.arange(len(x)) % 2 == 0
    x[half, 0] = np.nan
    x[~half, 1] = np.nan
    return x, data.confounder


def test_pair_that_no_row_observes_is_neither_declared_nor_spoils_the_others(
    tmp_path: Path,
) -> None:
    x, g = split_design()
    model = PLAGGMCV(missing="em", threshold=60.0, edges="fdr").fit(x, confounder=g)
    tests = model.to_result().edge_table
    assert tests.unobserved() == [(0, 1)]
    assert not tests.declared(0.999)[0]
    assert (tests.low[0], tests.high[0], tests.p_value[0]) == (-1.0, 1.0, 1.0)
    # The regressions' number for this pair rests on no row: there is none in pairs.csv either.
    assert (tests.estimate[0], tests.z[0], tests.change_p_value[0]) == (0.0, 0.0, 1.0)
    assert model.inference().loc[0, ["source", "target", "estimate"]].tolist() == ["x0", "x1", 0.0]
    assert (tests.estimate[1:] != 0.0).all()
    assert np.isfinite(tests.standard_error[1:]).all()
    error = model.omega_at([0.0, 100.0], return_std=True)[1]
    unknown = np.zeros((5, 5), dtype=bool)
    unknown[0, 1] = unknown[1, 0] = True
    assert np.array_equal(np.isinf(error), np.stack([unknown, unknown]))
    # R is zero by definition below the threshold, for this pair as well.
    result = model.to_result()
    below = np.abs(result.confounder_grid[:, 0]) <= 60.0
    assert below.any()
    assert not result.nuisance_error[below].any()
    assert (result.nuisance_error[~below, 0, 1] == 1.0).all()
    model.to_result().save(tmp_path / "result")
    again = read_result(tmp_path / "result")
    assert np.isinf(again.edge_table.standard_error[0])
    assert again.edge_table.estimate[0] == 0.0
    (first, *_) = declared_sentences(again, None)
    assert "9 of 10 pairs were tested" in first
    said = " ".join(certainty(again))
    assert "No row observes both x0 and x1: whether there is an edge cannot be known" in said


def test_page_of_complete_pairs_tells_of_none_that_is_unobserved() -> None:
    x, g = holes()
    model = PLAGGM(missing="em", threshold=60.0).fit(x, confounder=g)
    assert model.to_result().edge_table.unobserved() == []
    assert "No row observes" not in " ".join(certainty(model.to_result()))
