"""robust="winsor": far values are pulled in within limits that follow the confounder."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from plaggm import PLAGGM, PLAGGMCV
from plaggm.data import as_confounder
from plaggm.estimators.winsor import LIMIT, learn_winsor
from plaggm.simulate import simulate_paper

# Sums of chunks and of whole tables differ by rounding.
SAME = 1e-8


@pytest.fixture(scope="module")
def data():
    return simulate_paper(6, n=500, seed=3, even=True, threshold=60.0)


@pytest.fixture(scope="module")
def spoilt(data):
    """The same rows with four cells 25 standard deviations away, two in the same row."""
    x = data.x.copy()
    for row, first, second in ((248, 0, 3), (252, 1, 4)):
        x[row, first] += 25.0 * x[:, first].std()
        x[row, second] += 25.0 * x[:, second].std()
    return x


def test_without_confounder_rows_are_clipped_at_the_median_and_three_deviations(spoilt):
    model = PLAGGM(0.05, robust="winsor").fit(spoilt)
    centre = np.median(spoilt, axis=0)
    reach = 3.0 * np.median(np.abs(spoilt - centre), axis=0) / 0.6744897501960817
    literal = np.clip(spoilt, centre - reach, centre + reach)
    np.testing.assert_allclose(model.whitened_rows(), literal, rtol=1e-12)
    assert np.array_equal(model.omega_, PLAGGM(0.05).fit(model.whitened_rows()).omega_)


def test_edges_that_far_cells_make_disappear(data, spoilt):
    def estimates(x, robust):
        model = PLAGGMCV(criterion="bic", threshold=60.0, robust=robust)
        return model.fit(x, confounder=data.confounder).inference()

    clean, far, near = estimates(data.x, None), estimates(spoilt, None), estimates(spoilt, "winsor")
    made = (clean["source"] == "x0") & (clean["target"] == "x3")
    assert abs(far["z"] - clean["z"])[made].item() > 2.0
    assert abs(near["z"] - clean["z"])[made].item() < 1.0


def test_chunks_give_the_same_estimate(data, spoilt):
    whole = PLAGGM(0.05, threshold=60.0, robust="winsor").fit(spoilt, confounder=data.confounder)
    chunks = [
        (spoilt[rows], data.confounder[rows]) for rows in np.split(np.arange(500), [120, 333])
    ]
    parts = PLAGGM(0.05, threshold=60.0, robust="winsor").fit_chunks(chunks)
    assert np.abs(whole.omega_ - parts.omega_).max() < SAME


def test_time_series_are_pulled_in_before_they_are_filtered(data, spoilt):
    model = PLAGGM(0.05, threshold=60.0, robust="winsor", temporal=1)
    found = model.fit(spoilt, confounder=data.confounder)
    clipped = found._network.problem.preparation.winsor.apply(spoilt, data.confounder[:, None])
    same = PLAGGM(0.05, threshold=60.0, temporal=1).fit(clipped, confounder=data.confounder)
    assert np.array_equal(found.omega_, same.omega_)


def test_the_kernel_smoother_has_it_too(data, spoilt):
    options = dict(alpha=0.05, threshold=60.0, smoother="kernel")
    far = PLAGGM(**options).fit(spoilt, confounder=data.confounder)
    near = PLAGGM(**options, robust="winsor").fit(spoilt, confounder=data.confounder)
    clean = PLAGGM(**options).fit(data.x, confounder=data.confounder)
    off = ~np.eye(6, dtype=bool)
    errors = [np.abs(model.omega_ - clean.omega_)[off].max() for model in (far, near)]
    assert errors[1] < 0.3 * errors[0]


def test_new_samples_are_pulled_in_by_the_limits_of_the_fit(data, spoilt):
    model = PLAGGM(0.05, threshold=60.0, robust="winsor").fit(data.x, confounder=data.confounder)
    # One far cell would cost hundreds.
    plain = PLAGGM(0.05, threshold=60.0).fit(data.x, confounder=data.confounder)
    usual = model.score(data.x, confounder=data.confounder)
    assert usual - model.score(spoilt, confounder=data.confounder) < 0.2
    assert usual - plain.score(spoilt, confounder=data.confounder) > 1.0


def test_limits_follow_the_confounder_so_that_inflated_rows_are_not_cut():
    rng = np.random.default_rng(1)
    n = 4000
    g = rng.uniform(0.0, 4.0, n)
    x = 2.0 * g[:, None] + np.exp(0.7 * g)[:, None] * rng.standard_normal((n, 3))
    confounder = as_confounder(g, None, n)
    winsor = learn_winsor(lambda rows: x[rows], confounder, n, ("a", "b", "c"))
    moved = np.any(winsor.apply(x, confounder.values) != x, axis=1)
    # Of three Gaussian values 0.8 % have one beyond three; limits for all rows would cut a tenth above 3.
    for low, high in ((0.0, 1.0), (1.5, 2.5), (3.0, 4.0)):
        assert np.mean(moved[(g >= low) & (g < high)]) < 0.025
    assert LIMIT == 3.0


def test_rows_beyond_the_sample_are_transformed_too(monkeypatch):
    monkeypatch.setattr("plaggm.estimators.winsor.MOST_ROWS", 200)
    monkeypatch.setattr("plaggm.estimators.winsor.BLOCK", 64)
    x = np.random.default_rng(0).standard_normal((1000, 2))
    x[-1, 0] = 50.0
    winsor = learn_winsor(lambda rows: x[rows], None, 1000, ("a", "b"))
    assert winsor.apply(x, np.zeros((1000, 0)))[-1, 0] < 5.0


def test_where_rows_are_summed_at_once_it_is_refused(data):
    model = PLAGGM(0.05, threshold=60.0, robust="winsor")
    with pytest.raises(ValueError, match=r"partial_fit cannot pull in far values .*fit_chunks"):
        model.partial_fit(data.x, confounder=data.confounder)


def test_columns_of_mostly_equal_values_stay_with_a_word():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((300, 3)), columns=["a", "b", "rare"])
    frame["rare"] = (frame["rare"] > 1.0).astype(float) * rng.exponential(size=300)
    with pytest.warns(UserWarning, match="changes nothing of 'rare'"):
        model = PLAGGM(0.05, robust="winsor").fit(frame)
    assert np.array_equal(model.whitened_rows()[:, 2], frame["rare"])


def test_results_tell_how_many_values_were_pulled_in(data, spoilt):
    model = PLAGGM(0.05, threshold=60.0, robust="winsor").fit(spoilt, confounder=data.confounder)
    found = model.to_result().diagnostics
    assert 0.0 < found["winsorised_share"] < 0.02
    assert found["winsorised_most"] in {f"x{j}" for j in range(6)}
