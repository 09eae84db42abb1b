"""margins="rank": the Gaussian copula, whose transform leaves the confounding to the model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from plaggm import PLAGGM, PLAGGMCV, read_result
from plaggm.estimators import margins as module
from plaggm.estimators.margins import learn_margins
from plaggm.simulate import simulate_paper

# Sums of chunks and of whole tables differ by rounding.
SAME = 1e-8


@pytest.fixture(scope="module")
def data():
    return simulate_paper(
        6, n=900, seed=3, even=True, threshold=60.0, confounder="uniform", mean_shift=1.0
    )


def test_monotone_transforms_change_nothing(data):
    plain = PLAGGM(0.05, threshold=60.0, margins="rank").fit(data.x, confounder=data.confounder)
    bent = np.exp(data.x * np.linspace(0.2, 2.0, 6))
    other = PLAGGM(0.05, threshold=60.0, margins="rank").fit(bent, confounder=data.confounder)
    assert np.array_equal(plain.omega_, other.omega_)


def test_gaussian_columns_keep_their_network(data):
    plain = PLAGGM(0.02, threshold=60.0).fit(data.x, confounder=data.confounder)
    ranked = PLAGGM(0.02, threshold=60.0, margins="rank").fit(data.x, confounder=data.confounder)
    assert np.abs(plain.partial_correlation_ - ranked.partial_correlation_).max() < 0.03


def test_skewed_columns_give_the_latent_network(data):
    skewed = np.exp(1.5 * data.x)
    truth = PLAGGM(0.02, threshold=60.0).fit(data.x, confounder=data.confounder).omega_
    off = ~np.eye(6, dtype=bool)

    def error(margins):
        model = PLAGGM(0.02, threshold=60.0, margins=margins)
        return np.abs(model.fit(skewed, confounder=data.confounder).omega_ - truth)[off].max()

    assert error("rank") < 0.05 < error("gaussian")


@pytest.mark.parametrize("most", [20_000, 300])
def test_chunks_give_the_same_estimate(data, monkeypatch, most):
    monkeypatch.setattr(module, "MOST_ROWS", most)
    x = np.column_stack([data.x[:, :5], np.round(data.x[:, 5])])
    whole = PLAGGM(0.05, threshold=60.0, margins="rank").fit(x, confounder=data.confounder)
    chunks = [(x[rows], data.confounder[rows]) for rows in np.split(np.arange(900), [120, 333])]
    parts = PLAGGM(0.05, threshold=60.0, margins="rank").fit_chunks(chunks)
    assert np.abs(whole.omega_ - parts.omega_).max() < SAME


def test_sampled_values_have_the_mid_ranks_of_all_rows(data, monkeypatch):
    x = np.column_stack([data.x[:, 0], np.round(data.x[:, 1])])
    full = learn_margins(lambda index: x[index], lambda: [], None, *x.shape).apply(x)
    monkeypatch.setattr(module, "MOST_ROWS", 300)
    chunks = [(x[:400], None), (x[400:], None)]
    sampled = learn_margins(lambda index: x[index], lambda: chunks, None, *x.shape)
    known = np.isin(x[:, 0], sampled.maps[0].values)
    assert 300 <= known.sum() <= 302
    # Ties are exact; others are known up to their place between two sampled values.
    np.testing.assert_allclose(sampled.apply(x)[:, 1], full[:, 1], atol=1e-12)
    assert np.abs(sampled.apply(x) - full)[known, 0].max() < 0.02
    assert np.sqrt(np.mean((sampled.apply(x) - full)[:, 0] ** 2)) < 0.02


def test_samples_are_values_of_the_table(data):
    items = pd.DataFrame(np.clip(np.round(data.x), -2, 2), columns=list("abcdef"))
    model = PLAGGM(0.05, threshold=60.0, margins="rank").fit(items, confounder=data.confounder)
    drawn = model.sample(500, confounder=0.0, random_state=0)
    assert set(np.unique(drawn)) <= {-2.0, -1.0, 0.0, 1.0, 2.0}
    assert np.isfinite(model.score(items, confounder=data.confounder))
    assert model.omega_at(100.0).shape == (6, 6)


@pytest.mark.usefixtures("few_permutations")
def test_the_result_says_what_was_done(data, tmp_path):
    items = np.column_stack([np.round(data.x[:, :2]), data.x[:, 2:]])
    model = PLAGGMCV(criterion="bic", threshold=60.0, margins="rank")
    result = model.fit(items, confounder=data.confounder).to_result()
    result.save(tmp_path / "fit")
    again = read_result(tmp_path / "fit")
    assert again.settings["margins"] == "rank"
    assert again.diagnostics["tied_variables"] == 2
    assert again.diagnostics["most_tied"] in {"x0", "x1"}


def test_time_series_are_whitened_after_the_transform(data):
    model = PLAGGM(0.05, margins="rank", temporal=1).fit(np.exp(data.x))
    same = PLAGGM(0.05, margins="rank", temporal=1).fit(data.x)
    assert np.array_equal(model.omega_, same.omega_)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"robust": "winsor"}, "robust='winsor' is not used with margins='rank'"),
        ({"missing": "em"}, "missing='em' does not take margins='rank'"),
    ],
)
def test_what_does_not_go_together_is_refused(data, arguments, words):
    with pytest.raises(ValueError, match=words):
        PLAGGM(0.05, margins="rank", **arguments).fit(data.x)


def test_partial_fit_refuses_ranks(data):
    with pytest.raises(ValueError, match="learnt from the whole table"):
        PLAGGM(0.05, margins="rank").partial_fit(data.x, confounder=data.confounder)
