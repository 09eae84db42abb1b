"""Rows that are time series: the same whitened rows by every way of fitting, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

from plaggm import PLAGGM, PLAGGMCV

# Fits that leave time out on purpose, to compare with.
pytestmark = pytest.mark.filterwarnings("ignore:Residuals of")


def series(
    n: int = 300, p: int = 5, rho: float = 0.8, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """AR(1) series with one edge, between the first two columns, and a slow confounder."""
    draw = np.random.default_rng(seed)
    noise = draw.standard_normal((n + 100, p))
    noise[:, 1] += 0.6 * noise[:, 0]
    x = lfilter([1.0], [1.0, -rho], noise, axis=0)[100:]
    slow = lfilter([1.0], [1.0, -0.95], draw.standard_normal(n + 100))[100:]
    return x, np.abs(slow)


@pytest.fixture(scope="module")
def data():
    return series()


@pytest.fixture(scope="module")
def model(data):
    return PLAGGM(0.05, temporal="ar").fit(data[0], confounder=data[1])


def test_network_is_that_of_the_filtered_rows(data, model):
    """With order one and no confounder the filter is x_t - a x_(t-1), of the mean's column as well."""
    found = PLAGGM(0.05, temporal=1).fit(data[0])
    a = found.ar_coefficients_[0]
    x = np.column_stack([np.ones(300), data[0]])
    white = np.vstack([np.sqrt(1 - a**2) * x[:1], x[1:] - a * x[:-1]])
    one, white = white[:, :1], white[:, 1:]
    white = white - one @ np.linalg.lstsq(one, white)[0]
    plain = PLAGGM(0.05).fit(white)
    np.testing.assert_allclose(found.omega_, plain.omega_, atol=1e-8)
    assert model.ar_coefficients_ == pytest.approx([0.8], abs=0.06)


def test_standard_errors_leave_out_the_blocks(data):
    """Groups that are the blocks give the same tests on the same rows."""
    found = PLAGGM(0.05, temporal=0).fit(data[0])
    blocks = found._network.problem.preparation.serial.blocks
    grouped = PLAGGM(0.05).fit(data[0] - data[0].mean(axis=0), groups=blocks)
    pd.testing.assert_frame_equal(found.inference(), grouped.inference(), rtol=1e-6)


def test_null_pairs_of_series_are_no_edges():
    """At rho = .9 half of the null pairs have p < .05 without the filter."""
    x, g = series(n=400, p=10, rho=0.9, seed=3)
    naive = PLAGGM(0.05).fit(x, confounder=g).inference()["p_value"][1:]
    found = PLAGGM(0.05, temporal="ar").fit(x, confounder=g).inference()["p_value"]
    assert (naive < 0.05).mean() > 0.3
    assert (found[1:] < 0.05).mean() < 0.15
    assert found[0] < 1e-6


def test_diagnostics_tell_the_filter(model):
    told = model.to_result().diagnostics
    assert told["ar_order"] == 1
    assert told["lag1_correlation"] == pytest.approx(0.8, abs=0.06)
    square = model.ar_coefficients_[0] ** 2
    assert told["effective_samples"] == pytest.approx(300 * (1 - square) / (1 + square), rel=1e-3)
    assert told["n_blocks"] * told["block_rows"] == pytest.approx(300)
    assert told["n_runs"] == 1


def test_diagnostics_tell_the_groups_that_standard_errors_leave_out(data):
    x, g = data
    groups = np.repeat(np.arange(12), len(g) // 12)
    told = PLAGGM(0.05, temporal="ar").fit(x, confounder=g, groups=groups).to_result().diagnostics
    assert told["jackknife_groups"] == 12
    assert not {"n_blocks", "block_rows"} & set(told)


def test_shifts_judge_the_confounder(model):
    found = model.confounding_test()
    assert (found.method, found.n_rearranged) == ("circular shifts", 199)
    assert found.p_value > 0.01
    assert model.confounding_test().p_value == found.p_value


@pytest.mark.parametrize("grouped", [False, True])
def test_chunks_are_filtered_as_one_table(data, grouped):
    x, g = data
    groups = np.arange(300) // 25 if grouped else None
    whole = PLAGGMCV(temporal=3, alphas=5, cv=4, threshold=1.0).fit(x, confounder=g, groups=groups)
    bounds = np.cumsum((0, 7, 1, 2, 140, 150))
    chunks = [
        (x[a:b], g[a:b], None if groups is None else groups[a:b])
        for a, b in itertools.pairwise(bounds)
    ]
    found = PLAGGMCV(temporal=3, alphas=5, cv=4, threshold=1.0).fit_chunks(chunks)
    np.testing.assert_allclose(found.ar_coefficients_, whole.ar_coefficients_, atol=1e-10)
    np.testing.assert_allclose(found.omega_, whole.omega_, atol=1e-6)
    np.testing.assert_allclose(
        found.inference()["p_value"], whole.inference()["p_value"], rtol=1e-4, atol=1e-8
    )


def test_runs_are_never_bridged(data):
    """A jump between runs does not reach the filter, and the second run could as well come first."""
    x, g = data
    runs = np.repeat(["a", "b"], 150)
    first = PLAGGM(0.05, temporal=2).fit(x, confounder=g, runs=runs)
    other = np.r_[150:300, 0:150]
    second = PLAGGM(0.05, temporal=2).fit(x[other], confounder=g[other], runs=runs[other])
    np.testing.assert_allclose(first.omega_, second.omega_, atol=1e-8)
    bridged = PLAGGM(0.05, temporal=2).fit(x[other], confounder=g[other])
    assert np.abs(bridged.omega_ - first.omega_).max() > 1e-5
    grouped = PLAGGM(0.05, temporal=2).fit(x, confounder=g, groups=np.repeat([0, 1], 150))
    np.testing.assert_allclose(first.omega_, grouped.omega_, atol=1e-8)


@pytest.mark.parametrize(("runs", "folds"), [(None, 5), (np.repeat(np.arange(6), 50), 3)])
def test_folds_are_contiguous(data, runs, folds):
    model = PLAGGMCV(temporal=1, cv=folds, alphas=3, threshold=1.0).fit(
        data[0], confounder=data[1], runs=runs
    )
    labels = model._network.problem.rows.labels
    found = labels.folds(model._network.spec)
    tested = np.concatenate([test for _, test in found])
    np.testing.assert_array_equal(tested, np.arange(300))
    for train, test in found:
        assert (np.diff(test) == 1).all()
        assert len(train) + len(test) == 300
        assert runs is None or not set(runs[train]) & set(runs[test])


def test_score_prefers_the_process_that_made_the_rows(data, model):
    new, g = series(seed=1)
    shuffled = np.random.default_rng(0).permutation(300)
    right = model.score(new, confounder=g)
    assert right > model.score(new[shuffled], confounder=g[shuffled])
    parted = model.score(new, confounder=g, runs=np.repeat([0, 1], 150))
    assert 0.0 < abs(right - parted) < 0.1
    with pytest.raises(ValueError, match="temporal"):
        PLAGGM(0.05).fit(data[0]).score(new, runs=np.zeros(300))


def test_kernel_smooths_whitened_rows(data):
    found = PLAGGM(0.05, smoother="kernel", temporal="ar").fit(data[0], confounder=data[1])
    assert np.isfinite(found.omega_).all()
    assert found.ar_coefficients_[0] == pytest.approx(0.8, abs=0.06)


def test_kernel_leaves_out_blocks_of_transformed_rows(data):
    """The transformation is that of all rows; blocks are left out of their Gram matrices."""
    found = PLAGGM(0.05, smoother="kernel", indicator="ramp", temporal="ar")
    found.fit(data[0], confounder=data[1])
    problem = found._network.problem
    blocks, model = problem.preparation.serial.blocks, problem.model
    parts = list(model.group_grams(blocks))
    total = sum(part.n * part.grams for part in parts) / len(blocks)
    np.testing.assert_allclose(total, model.node_grams.grams, rtol=1e-10, atol=1e-12)
    tests = found.inference()
    assert (
        len(np.unique(blocks)) == problem.preparation.serial.diagnostics()["n_blocks"] == len(parts)
    )
    grouped = PLAGGM(0.05, smoother="kernel", indicator="ramp", threshold=found.threshold_)
    x = found.whitened_rows()
    grouped.fit(x, confounder=data[1], groups=blocks)
    pd.testing.assert_frame_equal(tests, grouped.inference(), rtol=1e-6)
    independent = PLAGGM(0.05, smoother="kernel", indicator="ramp", threshold=found.threshold_)
    alone = independent.fit(x, confounder=data[1]).inference()
    np.testing.assert_allclose(tests["estimate"], alone["estimate"], rtol=1e-8)
    assert np.abs(tests["standard_error"] / alone["standard_error"] - 1.0).max() > 0.05


def test_filter_of_order_zero_leaves_rows_as_they_are(data):
    """Means along the confounder stay for the model, which knows the noise of the rows."""
    draw = np.random.default_rng(3)
    x = draw.standard_normal((300, 5)) + data[1][:, None] * np.arange(5)
    found = PLAGGM(0.05, threshold=1.0, temporal=0).fit(x, confounder=data[1])
    plain = PLAGGM(0.05, threshold=1.0).fit(x, confounder=data[1])
    assert len(found.ar_coefficients_) == 0
    np.testing.assert_allclose(found.omega_, plain.omega_, atol=1e-8)
    assert found.confounding_test().method == "circular shifts"


def test_blocks_can_be_drawn(model):
    serial = model._network.problem.preparation.serial
    assert model.bootstrap(5).n_groups == serial.diagnostics()["n_blocks"]


def test_what_cannot_be_filtered_is_refused(data):
    x, g = data
    with pytest.raises(ValueError, match="partial_fit cannot filter time series"):
        PLAGGM(0.05, temporal="ar").partial_fit(x, confounder=g)
    with pytest.raises(ValueError, match="runs says where time series begin"):
        PLAGGM(0.05).fit(x, runs=np.zeros(300))
    with pytest.raises(ValueError, match="longest run has 3 rows"):
        PLAGGM(0.05, temporal=3).fit(x, runs=np.arange(300) // 3)
    with pytest.raises(ValueError, match="runs must name one run for each of the 300 rows"):
        PLAGGM(0.05, temporal=1).fit(x, runs=np.zeros(3))
    with pytest.raises(ValueError, match="runs has no value in row 1"):
        PLAGGM(0.05, temporal=1).fit(x[:3], runs=["a", None, "a"])
    with pytest.raises(ValueError, match="temporal"):
        PLAGGM(0.05, temporal=-1).fit(x)
    with pytest.raises(ValueError, match="temporal"):
        PLAGGM(0.05, temporal="arma").fit(x)


def test_means_are_those_of_generalised_least_squares(data):
    """Whitened rows are orthogonal to whitened functions of the confounder."""
    found = PLAGGM(0.05, temporal=2).fit(data[0], confounder=data[1])
    serial, known = found._network.problem.preparation.serial, found._network.problem.rows
    whitening = serial.whitening
    functions = np.column_stack([np.ones(300), whitening.basis.evaluate(known.confounder)])
    filtered = whitening.autoregression.apply(functions, serial.position)
    np.testing.assert_allclose(filtered.T @ found.whitened_rows(), 0.0, atol=1e-7)


def test_shifts_are_judged_on_rows_with_their_means(data):
    """They are the filtered rows as they were before any confounder's means were taken off."""
    x, g = data
    found = PLAGGM(0.05, temporal=1).fit(x, confounder=g)
    serial, rows = found._network.problem.preparation.serial, found._network.problem.rows
    together = rows.x + serial.whitening.mean_effects(rows.confounder, serial.position)
    a = found.ar_coefficients_[0]
    plain = x[1:] - a * x[:-1]
    np.testing.assert_allclose(np.diff(together[1:], axis=0), np.diff(plain, axis=0), atol=1e-8)
