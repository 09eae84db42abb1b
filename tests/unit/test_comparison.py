"""Comparison of methods on one data set: what is measured, and what happens when a method fails."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import pytest

from plaggm.comparison import (
    COMPARED,
    METHODS,
    Choices,
    Method,
    attempt,
    build_method,
    compare_methods,
)
from plaggm.comparison.comparison import Comparison, jaccard
from plaggm.comparison.cost import expected_seconds, usual_seconds
from plaggm.comparison.methods import at_reference
from plaggm.comparison.resamples import draw_resamples
from plaggm.estimators import PLAGGMCV
from plaggm.plotting.comparison import plot_comparison
from plaggm.related import GGM, TVGGM
from plaggm.related.series_filter import used_runs
from plaggm.simulate import simulate_family, simulate_paper

CHOICES = Choices(criterion="bic", alphas=10, threshold=100.0)


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, pd.Series]:
    data = simulate_paper(
        5,
        n=240,
        seed=2,
        even=True,
        threshold=100.0,
        density=0.6,
        target_radius=0.7,
        nuisance_radius=0.2,
    )
    frame = data.to_frame()
    return frame, frame.pop("confounder").rename("motion")


@pytest.fixture(scope="module")
def found(table) -> Comparison:
    """Two methods that work, and one with too few clean samples."""
    return compare_methods(
        *table,
        methods=["spline", "ggm", "pooled"],
        choices=Choices(criterion="bic", alphas=10, threshold=3.0),
        resamples=3,
    )


class TestMethods:
    @pytest.mark.parametrize("name", METHODS)
    def test_each_can_be_built(self, name: str) -> None:
        model = build_method(name, Choices(alphas=7, cv=4, seed=3))
        assert (model.alphas, model.cv, model.random_state) == (7, 4, 3)
        # Folds that a criterion does not use are left out.
        model = build_method(name, Choices(criterion="ebic", cv=4))
        assert (model.criterion, model.cv) == ("ebic", 10)

    def test_the_printed_estimator(self) -> None:
        model = build_method("paper", Choices(threshold=2.0, unit_variance=True, max_iter=9))
        assert isinstance(model, PLAGGMCV)
        assert (model.smoother, model.indicator, model.variance) == ("kernel", "soft", "unit")
        assert not model.standardize
        assert model.max_iter == 9
        # Data in units of their own do not have unit conditional variances.
        assert build_method("paper", Choices()).standardize

    def test_several_confounders_of_the_paper_are_one(self) -> None:
        g = pd.DataFrame({"a": [0.0, 3.0], "b": [0.0, 8.0]})
        choices = Choices(threshold=[1.0, 2.0], reference={"a": "zero", "b": "zero"})
        index, own = METHODS["paper"].entering(g, choices)
        np.testing.assert_array_equal(index.to_numpy(), [[0.0], [5.0]])
        assert (own.threshold, own.reference) == (1.0, "zero")
        assert METHODS["kernel"].entering(g, choices)[0] is g

    def test_smoothing_is_that_of_the_kernel(self) -> None:
        choices = Choices(smoothing={"indicator": "hard", "bandwidth": 2.0}, variance="conditional")
        model = build_method("kernel", choices)
        assert (model.indicator, model.bandwidth, model.variance) == ("hard", 2.0, "conditional")
        assert build_method("spline", choices).variance == "conditional"
        paper = build_method("paper", choices)
        assert (paper.indicator, paper.bandwidth, paper.variance) == ("soft", "auto", "unit")

    def test_loss_is_that_of_the_related_methods(self) -> None:
        assert build_method("con-ggm", Choices(loss="glasso")).loss == "glasso"
        assert build_method("con-ggm", Choices()).loss == "pseudo"

    def test_unknown(self) -> None:
        with pytest.raises(ValueError, match=r"no method 'splin'. Did you mean 'spline'"):
            build_method("splin", Choices())


class TestAttempt:
    def test_value_and_warnings(self) -> None:
        import warnings

        def work() -> int:
            for _ in range(2):
                warnings.warn("take care", UserWarning, stacklevel=1)
            return 7

        assert attempt(work).value == 7
        assert attempt(work).warnings == ("take care",)

    def test_interrupts_are_not_swallowed(self) -> None:
        def work() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            attempt(work)

    def test_an_error_without_words_is_named(self) -> None:
        def work() -> None:
            raise MemoryError

        assert attempt(work).reason == "MemoryError"


class TestCompare:
    def test_networks_are_those_of_the_estimators(self, table, found) -> None:
        x, _ = table
        own = build_method("pooled", Choices(criterion="bic", alphas=10)).fit(x)
        np.testing.assert_array_equal(found.fits["pooled"].value.omega, own.omega_)
        assert found.names == tuple(x.columns)
        assert found.settings["confounders"] == ["motion"]

    def test_edges_are_declared_by_tests_where_there_are_some(self, table) -> None:
        x, g = table
        compared = ["spline", "pooled", "tv-ggm"]
        choices = Choices(criterion="bic", alphas=10, threshold=100.0, fdr=0.2)
        found = compare_methods(x, g, methods=compared, choices=choices, resamples=0)
        rows = found.table().set_index("method")
        assert rows["declared_by"].to_dict() == {
            **dict.fromkeys(("spline", "pooled"), "tests at q <= 0.2"),
            "tv-ggm": "penalty",
        }
        assert found.settings["fdr"] == 0.2
        tests = build_method("pooled", choices).fit(x).inference()
        own = found.tests().query("method == 'pooled'").drop(columns="method")
        shared = own.dropna(axis=1, how="all").reset_index(drop=True)
        pd.testing.assert_frame_equal(shared, tests)
        declared = tests[tests["q_value"] <= 0.2]
        assert rows.loc["pooled", "edges"] == len(declared) > 0
        edges = found.edges().set_index(["source", "target"])["pooled"]
        shown = edges[edges != 0.0].sort_index()
        expected = declared.set_index(["source", "target"])["estimate"].sort_index()
        np.testing.assert_array_equal(shown, expected)

    def test_the_penalty_decides_on_request(self, table) -> None:
        x, g = table
        choices = Choices(criterion="bic", alphas=10, threshold=100.0, edges="penalty")
        found = compare_methods(x, g, methods=["spline"], choices=choices, resamples=0)
        network = found.fits["spline"].value
        assert network.tests is None
        expected = network.omega[np.triu_indices(len(network.omega), 1)] != 0.0
        np.testing.assert_array_equal(network.edges, expected)
        assert len(found.tests()) == 0

    def test_a_failure_is_a_reason_and_an_empty_cell(self, found) -> None:
        row = found.table().set_index("method").loc["ggm"]
        assert "free of confounding" in row["reason"]
        assert row[["edges", "alpha", "agreement", "stability", "held_out"]].isna().all()
        assert row["failed_resamples"] == 3
        assert list(found.failures) == ["ggm"]
        assert found.agreement().loc["ggm"].isna().all()
        rest = found.table().set_index("method").loc[["spline", "pooled"]]
        assert rest[["edges", "stability", "held_out"]].notna().all().all()
        assert (rest["reason"] == "").all()

    def test_any_exception_is_contained(self, table, monkeypatch) -> None:
        def crash(choices: Choices) -> Any:
            raise RuntimeError("the solver exploded")

        monkeypatch.setitem(METHODS, "lr-ggm", Method("lr-ggm", "LR-GGM", crash))
        result = compare_methods(*table, methods=["lr-ggm", "pooled"], choices=CHOICES, resamples=1)
        assert result.failures == {"lr-ggm": "the solver exploded"}
        assert result.fits["pooled"].value is not None

    def test_agreement(self, table) -> None:
        result = compare_methods(
            *table, methods=["lr-ggm", "pooled", "con-ggm"], choices=CHOICES, resamples=0
        )
        values = result.agreement()
        np.testing.assert_array_equal(values, values.T)
        np.testing.assert_array_equal(np.diagonal(values), 1.0)
        first, second = (result.fits[name].value.edges for name in ("lr-ggm", "pooled"))
        assert values.loc["lr-ggm", "pooled"] == (first & second).sum() / (first | second).sum()
        assert result.table()["held_out"].isna().all()

    def test_jaccard_of_nothing_is_no_agreement(self) -> None:
        none = np.zeros(3, dtype=bool)
        assert np.isnan(jaccard(none, none))
        assert jaccard(none, ~none) == 0.0

    def test_held_out_score(self, table, found) -> None:
        x, g = table
        ((train, test), *_) = draw_resamples(len(x), None, None, 3, 0)
        assert len(np.intersect1d(train, test)) == 0
        model = PLAGGMCV(criterion="bic", alphas=10, threshold=3.0, random_state=0)
        with pytest.warns(UserWarning, match="below the threshold"):
            model.fit(x.iloc[train], confounder=g.iloc[train])
        expected = model.score(x.iloc[test], confounder=g.iloc[test])
        assert found.scores().loc[0, "spline"] == pytest.approx(expected, rel=1e-10)
        lag = found.scores()["pooled"] - found.scores()["spline"]
        table_ = found.table().set_index("method")
        assert table_["behind_best"].min() == 0.0
        assert abs(lag.mean()) == pytest.approx(table_["behind_best"].max())

    def test_a_score_that_fails_leaves_the_network(self, table, monkeypatch) -> None:
        def fail(*_: Any, **__: Any) -> float:
            raise ValueError("no window is wide enough")

        monkeypatch.setattr(TVGGM, "score", fail)
        result = compare_methods(
            *table, methods=["tv-ggm"], choices=Choices(criterion="bic", alphas=5), resamples=2
        )
        row = result.table().iloc[0]
        assert row["edges"] >= 0
        assert np.isnan(row["held_out"])
        assert row["reason"] == "its score: no window is wide enough"

    def test_several_confounders_are_scored_by_all(self, table) -> None:
        x, g = table
        both = pd.DataFrame({"motion": g, "other": np.random.default_rng(0).normal(size=len(g))})
        found = compare_methods(
            x,
            both,
            methods=["spline", "con-ggm", "lr-ggm", "tv-ggm"],
            choices=Choices(reference="zero", criterion="bic", alphas=5),
            resamples=2,
        )
        assert not found.table()["held_out"].isna().any()
        assert (found.table()["reason"] == "").all()

    def test_workers_change_nothing(self, table, found) -> None:
        again = compare_methods(
            *table,
            methods=["spline", "ggm", "pooled"],
            choices=Choices(criterion="bic", alphas=10, threshold=3.0),
            resamples=3,
            n_jobs=2,
        )
        pd.testing.assert_frame_equal(again.table(), found.table())
        pd.testing.assert_frame_equal(again.scores(), found.scores())

    def test_edges_that_more_methods_share_come_first(self, found) -> None:
        edges = found.edges()
        assert (np.diff(edges["methods"]) <= 0).all()
        assert edges["ggm"].isna().all()
        shared = (edges[["spline", "pooled"]] != 0.0).sum(axis=1)
        np.testing.assert_array_equal(edges["methods"], shared)

    def test_subjects_stay_together(self, table) -> None:
        labels = np.repeat(np.arange(8), 30)
        for train, test in draw_resamples(240, labels, None, 5, 1):
            assert not set(labels[train]) & set(labels[test])
        result = compare_methods(
            *table, methods=["pooled"], choices=Choices(alphas=5, cv=20), resamples=2, groups=labels
        )
        # As many folds as groups at most; the plain model with these folds is the same.
        own = GGM(loss="pseudo", alphas=5, cv=8, random_state=0).fit(table[0], groups=labels)
        assert result.fits["pooled"].value.alpha == own.alpha_
        assert result.settings["n_groups"] == 8
        assert not result.failures

    def test_time_series_reach_every_method(self, table) -> None:
        """Fits and scores are those of the estimators, told of the filter and of rows that are left out."""
        x, g = table
        runs = np.repeat([0, 1], len(x) // 2)
        choices = replace(CHOICES, temporal=1)
        methods = ["spline", "kernel", "ggm", "con-ggm", "lr-ggm", "tv-ggm", "pooled"]
        found = compare_methods(x, g, methods=methods, choices=choices, resamples=2, runs=runs)
        assert not found.failures
        assert (found.settings["temporal"], found.settings["n_runs"]) == (1, 2)
        splits = draw_resamples(len(x), None, runs, 2, choices.seed)
        for train, test in splits:
            # Stretches of rows, not single ones.
            assert np.count_nonzero(np.diff(train) > 1) <= 10
            assert not set(train) & set(test)
        train, test = splits[0]
        for name in ("spline", "lr-ggm"):
            whole = build_method(name, choices).fit(x, confounder=g, runs=runs)
            np.testing.assert_array_equal(found.fits[name].value.omega, whole.omega_)
            part = build_method(name, choices)
            part.fit(x.iloc[train], confounder=g.iloc[train], runs=used_runs(runs, train))
            score = part.score(x.iloc[test], confounder=g.iloc[test], runs=used_runs(runs, test))
            assert found.resamples[name][0].value.score == pytest.approx(score)
        with pytest.raises(ValueError, match="runs says where time series begin"):
            compare_methods(x, g, methods=["pooled"], choices=CHOICES, runs=runs)
        with pytest.raises(ValueError, match="missing='drop' leaves rows out"):
            compare_methods(x, g, methods=["pooled"], choices=choices, missing="drop")

    def test_progress(self, table) -> None:
        seen: list[tuple[str, int, int]] = []
        found = compare_methods(
            *table,
            methods=["pooled", "lr-ggm"],
            choices=CHOICES,
            resamples=1,
            progress=lambda name, done, of: seen.append((name, done, of)),
        )
        assert seen == [(name, done, 2) for name in ("lr-ggm", "pooled") for done in (0, 1, 2)]
        assert all(took > 0.0 for took in found.seconds().values())

    def test_errors(self, table) -> None:
        x, g = table
        with pytest.raises(ValueError, match="at least one method"):
            compare_methods(x, g, methods=[])
        for odd in ("spline", 3):
            with pytest.raises(ValueError, match="methods must be a list of names"):
                compare_methods(x, g, methods=odd)
        with pytest.raises(ValueError, match="There is no method 3"):
            compare_methods(x, g, methods=[3])
        with pytest.raises(ValueError, match="resamples must be a whole number"):
            compare_methods(x, g, resamples="ten")
        for odd in (0, 1.5, "all"):
            with pytest.raises(ValueError, match="n_jobs must be a whole number"):
                compare_methods(x, g, n_jobs=odd)
        with pytest.raises(ValueError, match="three rows and two columns"):
            compare_methods(x.to_numpy()[None], g)
        with pytest.raises(
            ValueError, match="resamples must be a whole number of at least 0; got -1"
        ):
            compare_methods(x, g, methods=["pooled"], resamples=-1)
        with pytest.raises(ValueError, match="one group for each of the 240 rows"):
            compare_methods(x, g, methods=["pooled"], groups=["a", "b"])
        with pytest.raises(ValueError, match="3 different values"):
            compare_methods(x, g, methods=["pooled"], groups=np.arange(240) % 3)
        with pytest.raises(ValueError, match="not the name of a column"):
            compare_methods(x, "motion", methods=["pooled"])

    def test_default_leaves_the_slow_ones_and_those_of_other_families_out(self) -> None:
        left_out = {"tv-ggm-average", "tv-ggm-fused", "mrf", "mrf-squares"}
        assert set(METHODS) - set(COMPARED) == left_out

    def test_expected_seconds_follow_the_pace_of_this_machine(self) -> None:
        usual = {name: usual_seconds(name, 500, 20, fits=11) for name in METHODS}
        assert usual["tv-ggm-fused"] > usual["tv-ggm-average"] > usual["tv-ggm"]
        halved = {name: 0.5 * usual[name] for name in COMPARED}
        cost = expected_seconds(["tv-ggm-fused"], usual, halved)
        assert cost == pytest.approx({"tv-ggm-fused": 0.5 * usual["tv-ggm-fused"]})
        assert (
            expected_seconds(["tv-ggm-fused"], usual, {})["tv-ggm-fused"] == usual["tv-ggm-fused"]
        )
        # An average over the samples needs as many networks whatever asks for it.
        averaged = usual_seconds("tv-ggm", 500, 20, fits=11, averages=True)
        assert averaged == usual["tv-ggm-average"]
        assert usual_seconds("spline", 500, 20, fits=1, folds=None) < usual["spline"] / 11


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs matplotlib")
class TestPicture:
    def test_panels(self, found) -> None:
        from matplotlib import pyplot as plt

        figure = plot_comparison(found)
        titles = [ax.get_title(loc="left") for ax in figure.axes]
        assert len(titles) == 3
        labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
        assert any("failed" in label for label in labels)
        plt.close(figure)

    def test_without_resamples(self, table) -> None:
        from matplotlib import pyplot as plt

        figure = plot_comparison(
            compare_methods(*table, methods=["pooled"], choices=CHOICES, resamples=0)
        )
        assert len(figure.axes) == 1
        plt.close(figure)


def test_rows_with_missing_values_are_refused_or_left_out() -> None:
    data = simulate_paper(5, n=200, seed=0, even=True, threshold=60.0)
    x = data.x.copy()
    x[:10, 2] = np.nan
    few = dict(methods=["pooled"], resamples=0, choices=Choices(criterion="bic", alphas=5))
    with pytest.raises(ValueError, match="row 0 of column 'x2'"):
        compare_methods(x, data.confounder, **few)
    with pytest.warns(UserWarning, match="10 rows with missing values"):
        found = compare_methods(x, data.confounder, missing="drop", **few)
    assert found.settings["n_samples"] == 190
    with pytest.raises(ValueError, match="must be 'refuse' or 'drop'"):
        compare_methods(x, data.confounder, missing="em", **few)


@pytest.fixture(scope="module")
def found_families() -> Comparison:
    data = simulate_family(5, n=400, seed=3, threshold=60.0, family="mixed")
    families = {f"x{j}": name for j, name in enumerate(data.families)}
    choices = Choices(family=families, criterion="bic", alphas=6, threshold=150.0)
    return compare_methods(
        pd.DataFrame(data.x, columns=list(families)),
        pd.Series(data.confounder, name="motion"),
        choices=choices,
        resamples=1,
    )


class TestFamilies:
    def test_the_usual_methods_have_the_same_families(self, found_families) -> None:
        found = found_families
        table = found.table().set_index("method")
        assert list(table.index) == ["spline", "ggm", "mrf", "mrf-squares", "pooled"]
        assert table.loc["pooled", "title"] == "All samples"
        assert not found.failures
        assert table["held_out"].notna().all()
        # All are likelihoods of the same values in the same units.
        assert table["behind_best"].max() < 1.0
        assert table.loc["mrf", "declared_by"] == "penalty"
        assert table.loc["ggm", "declared_by"].startswith("tests")

    def test_gaussian_methods_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"LR-GGM is for Gaussian variables"):
            build_method("lr-ggm", Choices(family="binomial"))
        with pytest.raises(ValueError, match="no criterion='stars'"):
            build_method("mrf", Choices(family="binomial", criterion="stars"))
        with pytest.raises(ValueError, match="not as time series"):
            build_method("mrf", Choices(temporal="ar"))

    def test_linear_covariates_are_zero_at_the_reference(self) -> None:
        g = pd.DataFrame({"age": [20.0, 40.0, 60.0], "dose": [0.0, 1.0, 2.0]})
        moved = at_reference(g, {"age": "average", "dose": 1.0})
        assert list(moved["age"]) == [-20.0, 0.0, 20.0]
        assert list(moved["dose"]) == [-1.0, 0.0, 1.0]
        assert at_reference(g, "zero").equals(g)
        with pytest.raises(ValueError, match="'age' is a factor"):
            at_reference(g.astype({"age": "category"}), "average")

    def test_clean_samples_are_those_below_the_threshold(self) -> None:
        data = simulate_family(4, n=400, seed=0, threshold=60.0)
        x, g = pd.DataFrame(data.x), pd.DataFrame({"motion": data.confounder})
        choices = Choices(
            family="binomial", criterion="bic", alphas=5, threshold=200.0, reference="zero"
        )
        clean = build_method("ggm", choices).fit(x, confounder=g, groups=np.arange(400) // 4)
        below = np.abs(data.confounder) <= 200.0
        plain = PLAGGMCV(family="binomial", criterion="bic", alphas=5).fit(x[below])
        np.testing.assert_array_equal(clean.omega_, plain.omega_)
        assert clean.score(x, confounder=g) == plain.score(x)
