"""Tests of every edge through the estimators: after which kinds of fits, and what declares the edges."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone

from plaggm import PLAGGM, PLAGGMCV
from plaggm.core.inference.gram_tests import _influence
from plaggm.core.inference.pair_statistics import both
from plaggm.core.profile.pooled import profile_pooled
from plaggm.estimators import row_statistics
from plaggm.estimators.edge_inference import as_table
from plaggm.related import GGM, LRGGM, TVGGM, ConGGM
from plaggm.report.certainty import certainty
from plaggm.simulate import simulate_paper

# Sums in another order, through inverses of well-conditioned matrices.
ROUNDING = 1e-8
COLUMNS = [
    "source",
    "target",
    "estimate",
    "standard_error",
    "low",
    "high",
    "z",
    "p_value",
    "q_value",
]


@pytest.fixture(scope="module")
def data() -> Any:
    return simulate_paper(
        6, n=600, seed=3, even=True, shape="saturating", confounder="uniform", threshold=60.0
    )


@pytest.fixture(scope="module")
def model(data: Any) -> PLAGGMCV:
    return PLAGGMCV(alphas=20, cv=5, threshold=60.0).fit(data.x, confounder=data.confounder)


def partial_correlation_tests(x: np.ndarray, given: np.ndarray | None = None) -> np.ndarray:
    """Two-sided p-values of the t tests of all partial correlations, by the textbook."""
    p = x.shape[1]
    everything = x if given is None else np.column_stack([x, given])
    precision = np.linalg.inv(np.cov(everything.T))
    size = np.sqrt(np.diagonal(precision))
    r = (-precision / np.outer(size, size))[np.triu_indices(p, 1)]
    degrees = len(x) - everything.shape[1]
    return 2.0 * stats.t.sf(np.abs(r) * np.sqrt(degrees / (1.0 - r**2)), degrees)


def test_without_confounder_it_is_the_t_test_of_a_partial_correlation(data: Any) -> None:
    found = PLAGGM(0.1).fit(data.x).inference()
    expected = partial_correlation_tests(data.x)
    assert np.allclose(found["p_value"], expected, rtol=ROUNDING, atol=1e-12)


def test_columns_and_rows(model: PLAGGMCV) -> None:
    found = model.inference()
    assert list(found.columns)[: len(COLUMNS)] == COLUMNS
    assert len(found) == 15
    assert np.all(found["low"] <= found["estimate"])
    assert np.all(found["estimate"] <= found["high"])
    assert np.all(found["q_value"] >= found["p_value"])


class TestDeclaredEdges:
    """``edges="fdr"`` declares by q-values, ``edges="penalty"`` by the lasso."""

    def test_declared_edges_have_small_q_values(self, model: PLAGGMCV) -> None:
        passed = model.inference().query("q_value <= 0.05")
        assert len(passed) == np.count_nonzero(np.triu(model.adjacency_, 1)) > 0
        edges = model.edges()
        assert set(zip(edges["source"], edges["target"], strict=True)) == set(
            zip(passed["source"], passed["target"], strict=True)
        )
        assert np.all(np.diff(edges["partial_correlation"].abs()) <= 0.0)
        assert np.array_equal(edges["partial_correlation"], edges["estimate"])

    @pytest.mark.usefixtures("few_permutations")
    def test_results_and_graphs_hold_them(self, model: PLAGGMCV) -> None:
        result = model.to_result()
        assert np.array_equal(result.adjacency, model.adjacency_)
        assert np.array_equal(result.inference()["p_value"], model.inference()["p_value"])
        pytest.importorskip("networkx")
        assert model.to_networkx().number_of_edges() == result.n_edges

    def test_the_penalty_decides_on_request(self, data: Any) -> None:
        model = PLAGGMCV(alphas=20, cv=5, threshold=60.0, edges="penalty")
        model.fit(data.x, confounder=data.confounder)
        off = ~np.eye(6, dtype=bool)
        assert np.array_equal(model.adjacency_[off], model.omega_[off] != 0.0)
        assert "p_value" not in model.edges()

    def test_a_smaller_rate_declares_no_more(self, data: Any, model: PLAGGMCV) -> None:
        strict = clone(model).set_params(fdr=1e-4).fit(data.x, confounder=data.confounder)
        assert np.all(strict.adjacency_ <= model.adjacency_)
        assert strict.adjacency_.sum() < model.adjacency_.sum()
        assert np.array_equal(strict.omega_, model.omega_)

    def test_parameter_and_method_share_a_name(self, model: PLAGGMCV) -> None:
        fresh = PLAGGMCV(edges="penalty")
        assert fresh.get_params()["edges"] == "penalty"
        assert clone(fresh).get_params()["edges"] == "penalty"
        assert "edges='penalty'" in repr(fresh)
        assert callable(fresh.edges)
        assert not hasattr(fresh, "adjacency_")

    def test_a_rate_that_nothing_uses_is_refused(self, data: Any) -> None:
        with pytest.raises(ValueError, match=r"fdr=0\.1 is not used with edges='penalty'"):
            PLAGGMCV(edges="penalty", fdr=0.1).fit(data.x)

    def test_pure_noise_declares_next_to_nothing(self) -> None:
        rng = np.random.default_rng(0)
        x, g = rng.standard_normal((400, 12)), rng.uniform(size=400)
        assert PLAGGMCV(alphas=20, cv=5).fit(x, confounder=g).adjacency_.sum() <= 2


@pytest.fixture(scope="module")
def heavy(data: Any, model: PLAGGMCV) -> Any:
    """Rows of a Student t distribution with three degrees of freedom, the confounder, and their fit."""
    x = data.x * np.sqrt(3.0 / np.random.default_rng(0).chisquare(3.0, len(data.x)))[:, None]
    return x, data.confounder, clone(model).fit(x, confounder=data.confounder)


@pytest.mark.usefixtures("few_permutations")
def test_results_tell_how_much_heavy_tails_widened_the_intervals(
    heavy: Any, model: PLAGGMCV
) -> None:
    *_, wide = heavy
    result = wide.to_result()
    assert result.diagnostics["edge_dispersion"] > 1.5
    (said,) = (line for line in certainty(result) if line.startswith("Samples far from"))
    assert f"{np.sqrt(result.diagnostics['edge_dispersion']):.2f} times as large" in said
    assert "edge_dispersion" not in model.to_result().diagnostics
    assert not any("Samples far from" in line for line in certainty(model.to_result()))
    assert "dispersion" not in wide.inference()


def test_the_kernel_sees_heavy_tails_too(heavy: Any, data: Any) -> None:
    x, g, _ = heavy
    model = PLAGGM(0.05, threshold=60.0, smoother="kernel", indicator="ramp")
    wide = clone(model).fit(x, confounder=g)
    assert wide._network.edge_table.dispersion > 1.3
    assert clone(model).fit(data.x, confounder=g)._network.edge_table.dispersion == 1.0


def test_effects_of_a_block_on_least_squares_are_those_of_its_rows() -> None:
    """(X'X)^-1 X_b' e_b of every node, by the rows themselves."""
    x = np.random.default_rng(4).standard_t(3.0, (60, 3))
    b, inside = np.column_stack([x, np.ones(60)]), np.arange(60) % 10 == 0
    expected = np.zeros((3, 3))
    for j in range(3):
        others = np.delete(b, j, 1)
        left = x[:, j] - others @ np.linalg.lstsq(others, x[:, j])[0]
        step = np.linalg.solve(others.T @ others, others[inside].T @ left[inside])
        expected[j] = np.insert(step[:-1], j, 0.0)
    inverse = np.linalg.inv(profile_pooled(b).grams)[[0, 0, 0]]
    found = _influence(inverse, profile_pooled(b[inside]), 0.1, np.ones((3, 3)))
    np.testing.assert_allclose(found, both(expected), rtol=1e-9)


@pytest.mark.usefixtures("few_permutations")
def test_outliers_are_named_with_their_row_and_variable(data: Any) -> None:
    """One row far out in two variables, with the confounder and without."""
    x = data.x.copy()
    x[77, 2], x[77, 3] = 60.0 * x[:, 2].std(), 45.0 * x[:, 3].std()
    names = [f"v{j}" for j in range(x.shape[1])]
    table = pd.DataFrame(x, columns=names)
    for given in ({}, {"confounder": data.confounder}):
        result = PLAGGMCV(alphas=5, cv=3).fit(table, **given).to_result()
        assert result.diagnostics["leading_row"] == 77
        assert result.diagnostics["leading_variable"] in ("v2", "v3")
        said = " ".join(certainty(result))
        assert f"most of all sample 78 by {result.diagnostics['leading_variable']}" in said
    assert "leading_row" not in PLAGGMCV(alphas=5, cv=3).fit(data.x).to_result().diagnostics
    # The row is that of the given table, not that among the rows that are left.
    table.loc[[3, 40], "v0"] = np.nan
    model = PLAGGMCV(alphas=5, cv=3, missing="drop")
    with pytest.warns(UserWarning, match="left out"):
        result = model.fit(table, confounder=data.confounder).to_result()
    assert result.diagnostics["leading_row"] == 77


class TestDoors:
    """Sums alone suffice: every way of fitting gives the same tests."""

    def test_chunks(self, data: Any, model: PLAGGMCV) -> None:
        parts = [slice(0, 250), slice(250, 600)]
        chunks = [(data.x[part], data.confounder[part]) for part in parts]
        streamed = clone(model).fit_chunks(chunks)
        close(streamed, model)

    def test_chunks_of_heavy_tailed_rows(self, heavy: Any) -> None:
        x, g, model = heavy
        parts = [slice(0, 250), slice(250, 600)]
        streamed = clone(model).fit_chunks([(x[part], g[part]) for part in parts])
        close(streamed, model)

    def test_partial_fit(self, data: Any) -> None:
        whole = PLAGGM(0.05, threshold=60.0).fit(data.x, confounder=data.confounder)
        stream = PLAGGM(0.05, threshold=60.0)
        for part in (slice(0, 250), slice(250, 600)):
            stream.partial_fit(
                data.x[part],
                confounder=data.confounder[part],
                design=whole.design_ if part.start == 0 else None,
            )
        close(stream, whole)

    @pytest.mark.parametrize("few_bytes", [10**9, 0])
    @pytest.mark.parametrize("variance", ["function", "conditional"])
    def test_heavy_tails_are_seen_without_folds(
        self, heavy: Any, variance: Any, few_bytes: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In one reading where sums of blocks by bins are few, else in one more; a stream has but one."""
        monkeypatch.setattr(row_statistics, "FEW_BYTES", few_bytes)
        x, g, _ = heavy
        parts = [slice(0, 250), slice(250, 600)]
        model = PLAGGM(0.05, threshold=60.0, variance=variance)
        whole = clone(model).fit(x, confounder=g)
        factor = whole._network.edge_table.dispersion
        assert factor > 1.5
        streamed = clone(model).fit_chunks([(x[part], g[part]) for part in parts])
        close(streamed, whole)
        assert streamed._network.edge_table.dispersion == pytest.approx(factor, rel=1e-8)
        stream = clone(model)
        for part in parts:
            stream.partial_fit(x[part], confounder=g[part], design=whole.design_)
        if few_bytes:
            close(stream, whole)
        else:
            assert stream._network.edge_table.dispersion == 1.0

    def test_groups_in_chunks(self, data: Any) -> None:
        subject = np.arange(600) % 15
        model = PLAGGM(0.05, threshold=60.0)
        whole = clone(model).fit(data.x, confounder=data.confounder, groups=subject)
        parts = [slice(0, 250), slice(250, 600)]
        chunks = [(data.x[part], data.confounder[part], subject[part]) for part in parts]
        close(clone(model).fit_chunks(chunks), whole)
        rows = clone(model).fit(data.x, confounder=data.confounder)
        assert not np.allclose(whole.inference()["p_value"], rows.inference()["p_value"])

    def test_units_and_order_do_not_matter(self, data: Any) -> None:
        rng = np.random.default_rng(1)
        columns, rows = rng.permutation(6), rng.permutation(600)
        model = PLAGGM(0.05, threshold=60.0)
        first = model.fit(data.x, confounder=data.confounder)
        at = dict(zip(columns, range(6), strict=True))
        p_value = square(first.inference()["p_value"])
        changed = 3.0 + data.x * np.array([1e3, 1e-3, 1.0, 7.0, 1e2, 0.5])
        second = clone(model).fit(changed[rows][:, columns], confounder=data.confounder[rows])
        order = [at[j] for j in range(6)]
        found = square(second.inference()["p_value"])[np.ix_(order, order)]
        assert np.allclose(found, p_value, rtol=1e-6, atol=1e-12)

    def test_the_kernel_has_a_test(self, data: Any) -> None:
        model = PLAGGM(0.05, smoother="kernel", threshold=60.0)
        found = model.fit(data.x, confounder=data.confounder).inference()
        assert np.all((found["p_value"] > 0.0) & (found["p_value"] <= 1.0))


def test_estimates_beyond_one_are_held_at_one() -> None:
    columns = dict(standard_error=0.3, low=-1.0, high=1.0, z=2.5, p_value=0.01, q_value=0.01)
    tests = SimpleNamespace(
        p=2,
        dispersion=1.0,
        degrees_of_freedom=30.0,
        estimate=np.array([-1.02]),
        **{key: np.array([value]) for key, value in columns.items()},
    )
    assert as_table(tests).estimate.tolist() == [-1.0]


class TestRelatedMethods:
    """The textbook's t test on the samples that each method works on."""

    def test_clean_samples(self, data: Any) -> None:
        clean = np.abs(data.confounder) <= 60.0
        model = GGM(loss="pseudo", alpha=0.1, threshold=60.0)
        found = model.fit(data.x, confounder=data.confounder).inference()
        expected = partial_correlation_tests(data.x[clean])
        assert np.allclose(found["p_value"], expected, rtol=ROUNDING)

    @pytest.mark.parametrize("method", [ConGGM, LRGGM])
    def test_given_the_confounder(self, data: Any, method: Any) -> None:
        model = method(loss="pseudo", alpha=0.1).fit(data.x, confounder=data.confounder)
        found = model.inference()
        expected = partial_correlation_tests(data.x, data.confounder)
        assert np.allclose(found["p_value"], expected, rtol=1e-6)
        assert len(found) == 15

    def test_kernel_weights_have_none(self, data: Any) -> None:
        model = TVGGM(loss="pseudo", alpha=0.1).fit(data.x, confounder=data.confounder)
        with pytest.raises(ValueError, match="no textbook test"):
            model.inference()
        assert "no textbook test" in model.to_result().diagnostics["untested_edges"]


def close(first: Any, second: Any) -> None:
    one, other = first.inference(), second.inference()
    for column in ("estimate", "standard_error", "low", "high", "p_value"):
        assert np.allclose(one[column], other[column], rtol=ROUNDING, atol=1e-10), column


def square(values: Any) -> np.ndarray:
    out = np.zeros((6, 6))
    out[np.triu_indices(6, 1)] = values
    return out + out.T
