"""Related methods on time series: what is filtered, what is never bridged, and the tests of the edges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter
from scipy.stats import binomtest

from plaggm import read_result
from plaggm.core.preparation.autoregression import run_positions
from plaggm.related import GGM, LRGGM, TVGGM, ConGGM
from plaggm.related.series_filter import learn_filter, used_runs

ALPHA = 0.05
N, P, RHO = 300, 5, 0.8
# Rounding of products of a few hundred rows.
ROUNDING = 1e-8


def series(seed: int = 0, effect: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """AR(1) series with one edge, between the first two columns; their means follow the confounder."""
    draw = np.random.default_rng(seed)
    noise = draw.standard_normal((N + 100, P))
    noise[:, 1] += 0.6 * noise[:, 0]
    x = lfilter([1.0], [1.0, -RHO], noise, axis=0)[100:]
    g = np.abs(lfilter([1.0], [1.0, -0.9], draw.standard_normal(N + 100)))[100:]
    return x + effect * g[:, None] * np.arange(P), g


def filtered(columns: np.ndarray, a: float, position: np.ndarray) -> np.ndarray:
    """The filter of order one, written out row by row."""
    out = np.empty_like(columns)
    for row, before in enumerate(position):
        out[row] = (
            columns[row] - a * columns[row - 1] if before else np.sqrt(1 - a**2) * columns[row]
        )
    return out


@pytest.mark.parametrize("kind", [GGM, ConGGM, LRGGM, TVGGM])
def test_without_confounder_all_rows_are_whitened(kind):
    x, _ = series()
    found = kind(alpha=ALPHA, loss="pseudo", temporal=1).fit(x)
    centred = x - x.mean(axis=0)
    white = learn_filter(1, x, np.zeros(N, int), regressors=np.zeros((N, 0)), along=None)
    a = found.ar_coefficients_[0]
    assert a == pytest.approx(RHO, abs=0.06)
    plain = GGM(alpha=ALPHA, loss="pseudo").fit(
        white.variables(x, np.zeros((N, 0)), np.zeros(N, int))
    )
    np.testing.assert_allclose(found.omega_, plain.omega_, atol=ROUNDING)
    # The mean by generalised least squares moves all rows a little.
    near = filtered(centred, a, np.arange(N))
    np.testing.assert_allclose(
        GGM(alpha=ALPHA, loss="pseudo").fit(near).omega_, plain.omega_, atol=0.02
    )


def test_regression_is_that_of_filtered_rows_on_filtered_regressors():
    x, g = series(effect=2.0)
    runs = np.repeat([0, 1], N // 2)
    found = LRGGM(alpha=ALPHA, loss="pseudo", regressors="squares", temporal=1)
    found.fit(x, confounder=g, runs=runs)
    a = found.ar_coefficients_[0]
    position = run_positions(runs)
    design = np.column_stack([g, g**2])
    white = filtered(x - x.mean(axis=0), a, position)
    regressors = filtered(design - design.mean(axis=0), a, position)
    plain = LRGGM(alpha=ALPHA, loss="pseudo").fit(white, confounder=regressors)
    np.testing.assert_allclose(found.omega_, plain.omega_, atol=ROUNDING)
    np.testing.assert_allclose(found._slopes, plain._slopes, atol=ROUNDING)


def test_joint_network_is_that_of_filtered_variables_and_confounders():
    x, g = series(effect=2.0)
    found = ConGGM(alpha=ALPHA, loss="pseudo", temporal=1).fit(x, confounder=g)
    a = found.ar_coefficients_[0]
    joint = np.column_stack([x - x.mean(axis=0), g - g.mean()])
    plain = GGM(alpha=ALPHA, loss="pseudo").fit(filtered(joint, a, np.arange(N)))
    off = ~np.eye(P, dtype=bool)
    np.testing.assert_allclose(found.omega_[off], plain.omega_[:P, :P][off], atol=1e-6)


def test_dropped_rows_are_never_bridged():
    x, g = series()
    limit = float(np.quantile(g, 0.6))
    found = GGM(alpha=ALPHA, loss="pseudo", threshold=limit, temporal=1).fit(x, confounder=g)
    rows = np.flatnonzero(g <= limit)
    runs = used_runs(np.zeros(N, int), rows)
    assert len(np.unique(runs)) > 3
    moved = x.copy()
    # What is dropped has no part in anything.
    moved[g > limit] = 1e3 * np.random.default_rng(1).standard_normal((np.sum(g > limit), P))
    again = GGM(alpha=ALPHA, loss="pseudo", threshold=limit, temporal=1).fit(moved, confounder=g)
    np.testing.assert_array_equal(found.omega_, again.omega_)
    np.testing.assert_array_equal(found.ar_coefficients_, again.ar_coefficients_)
    assert found.to_result().diagnostics["n_runs"] == len(np.unique(runs))


def test_time_varying_network_takes_smooth_means_off_before_the_filter():
    x, g = series(effect=0.5)
    found = TVGGM(alpha=ALPHA, loss="pseudo", temporal="ar").fit(x, confounder=g)
    still, _ = series()
    other = TVGGM(alpha=ALPHA, loss="pseudo", temporal="ar").fit(still, confounder=g)
    np.testing.assert_allclose(found.ar_coefficients_, other.ar_coefficients_, atol=0.02)
    np.testing.assert_allclose(found.omega_, other.omega_, atol=0.05)


def test_runs_end_a_series_and_are_refused_without_temporal():
    x, g = series()
    one = LRGGM(alpha=ALPHA, temporal=1).fit(x, confounder=g)
    two = LRGGM(alpha=ALPHA, temporal=1).fit(x, confounder=g, runs=np.repeat([0, 1], N // 2))
    assert np.abs(one.omega_ - two.omega_).max() > 1e-6
    # Groups end a series too, and are what the tests leave out.
    grouped = LRGGM(alpha=ALPHA, temporal=1).fit(x, confounder=g, groups=np.repeat(range(10), 30))
    assert grouped.to_result().diagnostics["n_runs"] == 10
    with pytest.raises(ValueError, match="runs says where time series begin"):
        LRGGM(alpha=ALPHA).fit(x, confounder=g, runs=np.zeros(N))
    with pytest.raises(ValueError, match="runs says where time series begin"):
        LRGGM(alpha=ALPHA).fit(x, confounder=g).score(x, confounder=g, runs=np.zeros(N))


@pytest.mark.parametrize("kind", [GGM, ConGGM, LRGGM, TVGGM])
def test_score_prefers_the_process_that_made_the_rows(kind):
    x, g = series(effect=0.5)
    new, h = series(seed=1, effect=0.5)
    runs = np.repeat([0, 1], N // 2)
    with_filter = kind(alpha=ALPHA, loss="pseudo", temporal="ar").fit(x, confounder=g)
    without = kind(alpha=ALPHA, loss="pseudo").fit(x, confounder=g)
    better = with_filter.score(new, confounder=h, runs=runs)
    assert better > without.score(new, confounder=h) + 0.5


def test_blocks_hold_where_the_textbook_does_not():
    """Null pairs of 20 data sets: a third of the textbook's p-values is below .05, by blocks 5 %."""
    null = np.ones(P * (P - 1) // 2, dtype=bool)
    null[0] = False
    found = {}
    for temporal in (None, "ar"):
        tests = []
        for seed in range(20):
            x, g = series(seed)
            model = LRGGM(alpha=ALPHA, loss="pseudo", temporal=temporal).fit(x, confounder=g)
            tests.append(model.inference()["p_value"].to_numpy()[null])
        found[temporal] = np.concatenate(tests)
    assert np.mean(found[None] < 0.05) > 0.2
    rejected = int(np.count_nonzero(found["ar"] < 0.05))
    assert binomtest(rejected, len(found["ar"]), 0.05).pvalue > 0.001


def test_result_keeps_the_filter(tmp_path):
    x, _ = series()
    model = GGM(alpha=ALPHA, temporal="ar").fit(pd.DataFrame(x, columns=list("abcde")))
    model.to_result().save(tmp_path / "network")
    told = read_result(tmp_path / "network")
    assert told.diagnostics["ar_order"] == len(model.ar_coefficients_)
    assert told.diagnostics["n_blocks"] >= 10
    assert told.settings["temporal"] == "ar"
