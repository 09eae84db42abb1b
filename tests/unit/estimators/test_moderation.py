"""Which edges change with a confounder, through the estimators, after all kinds of fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from plaggm import PLAGGM, PLAGGMCV
from plaggm.report.moderation import moderation_sentences
from plaggm.simulate import simulate_paper

# Sums in another order, through inverses of well-conditioned matrices.
ROUNDING = 1e-8
COLUMNS = [
    "source",
    "target",
    "confounder",
    "statistic",
    "degrees_of_freedom",
    "p_value",
    "q_value",
    "largest_change",
    "largest_at",
]
N = 900


@pytest.fixture(scope="module")
def data() -> Any:
    return simulate_paper(
        6, n=N, seed=4, shape="ramp", nuisance="sparse", nuisance_density=0.15,
        confounder="uniform", threshold=60.0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def model(data: Any) -> PLAGGMCV:
    return PLAGGMCV(alphas=20, cv=5, threshold=60.0).fit(data.x, confounder=data.confounder)


def test_columns_rows_and_truth(model: PLAGGMCV, data: Any) -> None:
    found = model.moderation()
    assert list(found.columns) == COLUMNS
    assert len(found) == 15
    truth = data.nuisance.weights[0][np.triu_indices(6, 1)]
    assert truth.any()
    assert found["p_value"].argmin() == np.abs(truth).argmax()
    strongest = found.iloc[np.abs(truth).argmax()]
    # A linear R is largest at an end, and has the sign of its weight there.
    assert abs(strongest["largest_at"]) > 350.0
    expected = data.nuisance(np.array([strongest["largest_at"]]))[0][np.triu_indices(6, 1)]
    assert strongest["largest_change"] == pytest.approx(expected[np.abs(truth).argmax()], abs=0.15)
    assert np.all(found["q_value"] >= found["p_value"])


def test_results_hold_it_where_asked_for(model: PLAGGMCV, data: Any) -> None:
    assert model.to_result().moderation_table is None
    result = model.to_result(moderation=True)
    pd.testing.assert_frame_equal(result.moderation(), model.moderation())
    plain = PLAGGM(0.1).fit(data.x).to_result(moderation=True)
    assert plain.moderation_table is None
    assert "fitted without confounder" in plain.diagnostics["untested_moderation"]


def test_it_is_computed_once(model: PLAGGMCV) -> None:
    assert model._network.moderation is model._network.moderation


@pytest.mark.parametrize("grouped", [False, True])
def test_chunks_and_streams_test_as_all_rows_do(data: Any, grouped: bool) -> None:
    labels = np.arange(N) % 15 if grouped else None
    settings: dict[str, Any] = dict(threshold=60.0, n_jobs=1)
    whole = PLAGGM(0.05, **settings).fit(data.x, confounder=data.confounder, groups=labels)
    expected = whole.moderation()
    parts = np.array_split(np.arange(N), 4)

    def chunks() -> Any:
        for rows in parts:
            piece = (data.x[rows], data.confounder[rows])
            yield piece if labels is None else (*piece, labels[rows])

    streamed = PLAGGM(0.05, **settings).fit_chunks(chunks)
    np.testing.assert_allclose(
        streamed.moderation()["p_value"], expected["p_value"], rtol=ROUNDING, atol=ROUNDING
    )
    partial = PLAGGM(0.05, **settings)
    for rows in parts:
        own = {} if labels is None else {"groups": labels[rows]}
        partial.partial_fit(
            data.x[rows], confounder=data.confounder[rows], design=whole.design_, **own
        )
    np.testing.assert_allclose(
        partial.moderation()["p_value"], expected["p_value"], rtol=ROUNDING, atol=ROUNDING
    )


def test_units_and_origin_of_the_variables_do_not_matter(data: Any) -> None:
    settings: dict[str, Any] = dict(threshold=60.0, n_jobs=1)
    first = PLAGGM(0.05, **settings).fit(data.x, confounder=data.confounder).moderation()
    moved = 5.0 + data.x * np.array([10.0, 1.0, 0.1, -1.0, 3.0, 100.0])
    second = PLAGGM(0.05, **settings).fit(moved, confounder=data.confounder).moderation()
    np.testing.assert_allclose(second["p_value"], first["p_value"], rtol=1e-7, atol=1e-9)


def test_two_confounders_are_tested_each_on_its_own(data: Any) -> None:
    other = np.random.default_rng(1).uniform(-400.0, 400.0, N)
    both = pd.DataFrame({"motion": data.confounder, "age": other})
    found = PLAGGM(0.05, threshold=60.0).fit(data.x, confounder=both).moderation()
    assert list(found["confounder"].unique()) == ["motion", "age"]
    motion, age = (found[found["confounder"] == name] for name in ("motion", "age"))
    assert motion["q_value"].min() < 1e-3
    assert age["q_value"].min() > 0.01
    assert motion["degrees_of_freedom"].min() > 1.0


def test_a_confounder_within_its_threshold_has_nothing_to_test(data: Any) -> None:
    quiet = np.random.default_rng(2).uniform(-1.0, 1.0, N)
    both = np.column_stack([data.confounder, quiet])
    found = PLAGGM(0.05, threshold=[60.0, 5.0]).fit(data.x, confounder=both).moderation()
    assert np.all(found["p_value"][15:] == 1.0)
    assert np.all(found["degrees_of_freedom"][15:] == 0.0)
    assert np.all(found["largest_change"][15:] == 0.0)
    assert found["p_value"][:15].min() < 1e-4


def test_a_factor_is_tested_and_its_levels_named(data: Any) -> None:
    rng = np.random.default_rng(5)
    site = rng.choice(["Oslo", "Bonn", "Graz", "Lyon"], N)
    x = rng.standard_normal((N, 5))
    x[:, 0] += np.where(site == "Graz", 0.9, 0.0) * x[:, 3]
    both = pd.DataFrame({"site": site, "age": rng.uniform(20.0, 80.0, N)})
    model = PLAGGM(0.05).fit(x, confounder=both)
    found = model.moderation()
    first = found.iloc[found["p_value"].argmin()]
    assert (first["source"], first["target"], first["confounder"]) == ("x0", "x3", "site")
    assert first["largest_at"] == "Graz"
    assert np.count_nonzero(found["q_value"] <= 0.01) == 1
    result = model.to_result(moderation=True)
    pd.testing.assert_frame_equal(result.moderation(), found)
    said = moderation_sentences(result)
    assert said[0].startswith("1 pair changes with site (5% FDR): x0 – x3 (by +")
    assert "at Graz)" in said[0]


def test_time_series_are_tested_by_blocks(data: Any) -> None:
    rng = np.random.default_rng(3)
    x = data.x.copy()
    for row in range(1, N):
        x[row] = 0.8 * x[row - 1] + 0.6 * data.x[row]
    slow = np.abs(np.cumsum(rng.standard_normal(N)))
    found = PLAGGM(0.05, temporal="ar").fit(x, confounder=slow).moderation()
    assert found["p_value"].between(0.0, 1.0).all()
    assert found["q_value"].min() > 0.001


def test_what_has_no_such_test_is_refused(data: Any) -> None:
    plain = PLAGGM(0.1).fit(data.x)
    with pytest.raises(ValueError, match="fitted without confounder"):
        plain.moderation()
    kernel = PLAGGM(0.1, smoother="kernel", indicator="ramp", threshold=60.0)
    kernel.fit(data.x[:150], confounder=data.confounder[:150])
    with pytest.raises(ValueError, match="smoother='spline'"):
        kernel.moderation()


def test_values_at_which_a_variable_is_never_observed_tell_nothing_of_its_pairs() -> None:
    p_values = []
    for seed in range(3):
        x = simulate_paper(10, n=500, shape="none", seed=seed).x
        confounder = np.random.default_rng(seed).uniform(-1.0, 1.0, len(x))
        x[confounder > 0.5, 0] = np.nan
        found = PLAGGM(0.1, missing="em").fit(x, confounder=confounder).moderation()
        p_values.append(found["p_value"][found["source"] == found["source"][0]])
    # With completed cells taken for observed ones it is .22.
    assert np.mean(np.concatenate(p_values) < 0.05) < 0.1


def test_largest_change_is_not_that_of_a_single_row() -> None:
    """One row far from all others, where R is an extrapolation."""
    data = simulate_paper(5, n=400, seed=0, even=True, threshold=60.0, confounder="uniform")
    g = np.append(data.confounder, 4000.0)
    x = np.vstack([data.x, np.zeros(5)])
    found = PLAGGM(0.1, threshold=60.0).fit(x, confounder=g).moderation()
    assert found["largest_at"].abs().max() < 400.0
