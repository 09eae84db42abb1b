from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plaggm.evidence import P_VALUE
from plaggm.report import Truth, read_truth, render_report, write_report
from plaggm.report.certainty import curve_words
from plaggm.report.changes import compare
from plaggm.report.encoding import packed_strengths, upper_triangle
from plaggm.report.facts import diagnostic_facts, setting_facts, written
from plaggm.report.payload import (
    MOST_NUISANCE_ENTRIES,
    MOST_PATH_ENTRIES,
    chosen_step,
    connected_order,
    page_payload,
)
from plaggm.report.rendering import script_json
from plaggm.report.words import Words, summarise
from plaggm.result import GraphResult


def sentences(words: Words) -> tuple[str, ...]:
    """All sentences of all paragraphs."""
    return tuple(chain.from_iterable(words.paragraphs))


HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '" onmouseover="alert(3)',
    "<img src=x onerror=alert(4)>",
    "]]>--><!--\u2028\u202e{{ 7 * 7 }}",
)
# Bytes that a page of 100 variables and 100 penalties may have.
LARGEST_PAGE = 8e6
FDR = {"edges": "fdr", "fdr": 0.05}
# Sixteen bits for the range of a picture.
PICTURE = 1.0 / 32767


def network(*edges: tuple[int, int, float], p: int = 5) -> np.ndarray:
    omega = np.zeros((p, p))
    for j, k, weight in edges:
        omega[j, k] = omega[k, j] = weight
    return omega


def result_of(omega: np.ndarray, **changes: Any) -> GraphResult:
    p = len(omega)
    names = tuple(f"n{index}" for index in range(p))
    fields = dict(names=names, omega=omega, location=np.zeros(p), scale=np.ones(p), alpha=0.1)
    return GraphResult(**{**fields, **changes})


@pytest.fixture
def adjusted() -> GraphResult:
    """A result with everything in it: two of its edges are not in the one without adjustment."""
    omega = network((0, 1, 0.4), (1, 2, -0.2), (2, 3, 0.03))
    grid = np.array([[-2.0], [0.0], [1.0], [3.0]])
    nuisance = np.stack([g * network((0, 4, 0.1), (1, 2, 0.05)) for g in (2.0, 0.0, 0.0, 3.0)])
    path = np.stack([np.zeros((5, 5)), network((0, 1, 0.2)), omega, 1.5 * omega])
    return result_of(
        omega,
        alpha=0.1,
        confounder_names=("motion",),
        threshold=np.array([1.0]),
        confounder_grid=grid,
        nuisance=nuisance,
        nuisance_error=0.1 * np.abs(nuisance),
        confounder_sample=np.linspace(-2.0, 3.0, 50)[:, None],
        alphas=np.array([1.0, 0.3, 0.1, 0.03]),
        omega_path=path,
        criterion_path=np.array([5.0, 3.0, 2.0, 4.0]),
        criterion_error=np.full(4, 0.5),
        stability=np.where(omega != 0.0, 0.95, 0.1),
        settings={"criterion": "cv"},
        diagnostics={"n_samples": 50, "n_unconfounded": 20, P_VALUE: 0.0004},
        versions={"plaggm": "9.9"},
    )


@pytest.fixture
def unadjusted() -> GraphResult:
    return result_of(network((0, 1, 0.5), (1, 2, 0.1), (0, 4, 0.3), (3, 4, -0.1)))


@pytest.fixture
def truth() -> Truth:
    return Truth(("n0", "n1", "n2", "n3", "n4"), network((0, 1, 0.5), (1, 2, -0.3), (2, 4, 0.2)))


class Elements(HTMLParser):
    """Everything a browser would find in a page, without running it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.inside != "style":
            self.text += data

    def payload(self) -> Any:
        return json.loads(self.scripts[0])


def unpacked(packed: dict[str, Any]) -> np.ndarray:
    values = np.frombuffer(base64.b64decode(packed["data"]), dtype=f"<{packed['type']}")
    return values * packed.get("unit", 1)


class TestWords:
    def said(self, result: GraphResult, *others: Any) -> str:
        words = summarise(result, *others)
        return " ".join([*sentences(words), *words.certainty])

    def test_counts_samples_and_edges(self, adjusted: GraphResult, unadjusted: GraphResult) -> None:
        said = self.said(adjusted, unadjusted)
        assert "50 samples of 5 variables." in said
        assert "|motion| is at most 1 are taken as free" in said
        assert "the other 30 (60%) are confounded" in said
        assert "3 edges in the network (30% of all pairs) with motion taken out." in said
        assert "was not tested; 4 edges differ between the two networks." in said

    def test_says_how_sure(self, adjusted: GraphResult) -> None:
        said = self.said(adjusted)
        assert "3 of 3 edges came back in at least 90%" in said
        assert "chosen by cross-validation" in said
        assert "was not measured" in self.said(replace(adjusted, stability=None))

    def test_says_what_is_not_known(self, adjusted: GraphResult) -> None:
        assert "network without adjustment is not part of this result" in self.said(adjusted)
        plain = self.said(result_of(network((0, 1, 0.3))))
        assert "no confounder was taken into account" in plain
        assert "was given, not chosen" in plain

    def test_warns_of_few_unconfounded_samples(self, adjusted: GraphResult) -> None:
        assert "Only 20 samples for 5 variables are free" in self.said(adjusted)
        enough = replace(adjusted, diagnostics={"n_samples": 90, "n_unconfounded": 50})
        assert "Only" not in self.said(enough)

    def test_many_confounders_are_counted(self, adjusted: GraphResult) -> None:
        many = replace(
            adjusted, confounder_names=tuple("abcdef"), threshold=np.ones(6), nuisance=None
        )
        said = self.said(many)
        assert "every confounder is at most its threshold" in said
        assert "with 6 confounders taken out" in said

    def test_says_that_nothing_was_taken_out(self, adjusted: GraphResult) -> None:
        assert adjusted.nuisance is not None
        said = self.said(replace(adjusted, nuisance=np.zeros_like(adjusted.nuisance)))
        assert "Only 30 samples lie beyond, too few to learn what" in said
        assert "this is the plain network of all samples" in said
        assert "taken out:" not in said
        assert "confounder's part is modelled" not in said

    def test_names_the_strongest_edges_where_nothing_changes(self, adjusted: GraphResult) -> None:
        words = summarise(adjusted, adjusted)
        assert [listed.heading for listed in words.lists] == ["Strongest edges"]
        assert words.lists[0].strongest[0].weight == 0.4

    def test_says_whether_a_series_had_to_be_filtered(self, adjusted: GraphResult) -> None:
        known = {"n_samples": 90, "effective_samples": 90.0, "n_blocks": 10, "ar_order": 0}
        said = self.said(replace(adjusted, diagnostics=known))
        assert "nothing had to be filtered; standard errors come from 10 contiguous" in said
        grouped = {**known, "jackknife_groups": 40}
        del grouped["n_blocks"]
        said = self.said(replace(adjusted, diagnostics=grouped))
        assert "nothing had to be filtered; standard errors come from 40 groups of rows." in said
        said = self.said(replace(adjusted, diagnostics={**known, "ar_order": 2}))
        assert "whitened by an autoregression of order 2, and standard errors" in said

    def test_does_not_boast_of_a_dense_network(self, adjusted: GraphResult) -> None:
        dense = replace(adjusted, omega=np.full((5, 5), 0.1))
        assert adjusted.alphas is not None
        assert "keeps weak edges" in self.said(dense)
        assert "keeps weak edges" not in self.said(adjusted)
        smallest = replace(dense, alpha=float(adjusted.alphas.min()))
        assert "the smallest that was tried" in self.said(smallest)
        strict = replace(dense, settings={**dense.settings, "criterion": "bic"})
        assert "faint" not in self.said(strict)

    def test_compares_with_the_truth(self, adjusted: GraphResult, truth: Truth) -> None:
        assert "2 of 3 true edges found, 1 false edge." in self.said(adjusted, None, truth)

    @pytest.mark.parametrize(
        ("settings", "name", "words"),
        [
            (dict(criterion="cv"), "held-out loss", "the band is one standard error"),
            (dict(criterion="cv", one_se=True), "held-out loss", "largest penalty within one"),
            (dict(criterion="ebic"), "EBIC", "EBIC at each penalty, smaller is better"),
            (dict(criterion="stars", instability=0.05), "instability", "stays at most 0.05."),
            (["damaged"], "criterion", "smaller is better"),
        ],
    )
    def test_explains_the_selection_curve(
        self, adjusted: GraphResult, settings: Any, name: str, words: str
    ) -> None:
        shown, explanation = curve_words(replace(adjusted, settings=settings))
        assert shown == name
        assert words in explanation

    def test_changes_that_were_not_tested_are_not_named(
        self, adjusted: GraphResult, unadjusted: GraphResult
    ) -> None:
        changes = compare(unadjusted, adjusted)
        assert changes.vanished == changes.appeared == changes.turned == changes.moved == ()
        assert (changes.undecided, changes.tested) == (4, 0)
        assert np.count_nonzero(unadjusted.adjacency & adjusted.adjacency) == 2 * 2
        words = summarise(adjusted, unadjusted)
        assert [listed.heading for listed in words.lists] == ["Strongest edges"]
        assert not any("adjusting" in tile.label for tile in words.tiles)


class TestDeclaredWords:
    """Words about edges that tests declare; n0 – n1 stays, n0 – n4 vanishes and n2 – n3 may be chance."""

    @pytest.fixture
    def before(self, edge_tests: Any) -> GraphResult:
        omega = network((0, 1, 0.5), (0, 4, 0.4), (2, 3, 0.2))
        return result_of(omega, edge_table=edge_tests(omega, 400), settings=FDR)

    @pytest.fixture
    def after(self, adjusted: GraphResult, before: GraphResult, edge_tests: Any) -> GraphResult:
        estimate = network((0, 1, 0.5), (2, 3, 0.09), (3, 4, 0.02))
        tests = edge_tests(estimate, 400, pooled=before.omega)
        return replace(adjusted, edge_table=tests, settings={**adjusted.settings, **FDR})

    def test_vanish_is_said_of_tested_changes_only(
        self, before: GraphResult, after: GraphResult
    ) -> None:
        changes = compare(before, after)
        assert [(edge.source, edge.target) for edge in changes.vanished] == [("n0", "n4")]
        words = summarise(after, before)
        said = " ".join(sentences(words))
        assert "Each of the 10 pairs was tested with motion taken out: 1 edge (10%) passes" in said
        assert "a false discovery rate of 5%" in said
        assert "What adjusting changes was tested for each pair too: 1 edge vanishes." in said
        assert "1 more edge differs between the two networks, but not by enough" in said
        assert [tile.label for tile in words.tiles][2:] == [
            *("edge at q ≤ 0.05", "vanish by adjusting", "appear by adjusting")
        ]
        certain = " ".join(words.certainty)
        assert "at most 5% of the edges declared in this way are false" in certain
        assert "the tests decide" in certain

    def test_changes_of_penalised_networks_are_tested_too(
        self, before: GraphResult, after: GraphResult
    ) -> None:
        plain = {"criterion": "cv", "edges": "penalty", "fdr": 0.05}
        before, after = replace(before, settings=plain), replace(after, settings=plain)
        changes = compare(before, after)
        # Of five edges in one network only, one differs by more than chance.
        assert [edge.written for edge in changes.vanished] == ["+0.40 → 0"]
        assert changes.undecided == 1
        said = " ".join(sentences(summarise(after, before)))
        assert "3 edges in the network (30% of all pairs) with motion taken out" in said

    def test_largest_changes_come_first_and_small_ones_are_counted(
        self, after: GraphResult, edge_tests: Any
    ) -> None:
        old = network((0, 1, 0.5), (0, 4, 0.30), (2, 3, 0.20), (1, 2, 0.049))
        new = network((0, 1, 0.5), (0, 4, 0.02))
        n = 40_000
        before = result_of(old, edge_table=edge_tests(old, n), settings=FDR)
        after = replace(after, edge_table=edge_tests(new, n, pooled=old))
        changes = compare(before, after)
        assert [edge.written for edge in changes.vanished] == ["+0.20 → 0"]
        assert [edge.written for edge in changes.moved] == ["+0.30 → +0.020"]
        assert changes.slight == 1
        said = " ".join(sentences(summarise(after, before)))
        assert "1 edge vanishes, 1 pair changes in strength only and 1 more pair changes by" in said
        assert "less than 0.05, which is not listed" in said
        payload = page_payload(after, before, None)
        assert sorted(unpacked(payload["changed"])) == [0] * 7 + [1, 2, 2]

    def test_signs_that_turn_and_strengths_that_change(
        self, after: GraphResult, edge_tests: Any
    ) -> None:
        old = network((0, 1, 0.8), (2, 3, -0.3))
        new = network((0, 1, 0.5), (2, 3, 0.3))
        before = result_of(old, edge_table=edge_tests(old, 400), settings=FDR)
        after = replace(after, edge_table=edge_tests(new, 400, pooled=old))
        said = " ".join(sentences(summarise(after, before)))
        assert "too: 1 edge changes its sign and 1 pair changes in strength only." in said

    def test_changes_that_were_not_tested(self, before: GraphResult, after: GraphResult) -> None:
        assert after.edge_table is not None
        tests = replace(after.edge_table, change_p_value=None, change_q_value=None)
        untested = replace(after, edge_table=tests)
        changes = compare(before, untested)
        assert changes.vanished == changes.appeared == changes.turned == ()
        said = " ".join(sentences(summarise(untested, before)))
        assert "Whether adjusting changes an edge was not tested; 2 edges differ" in said
        assert "vanish" not in said

    def test_candidates_and_samples_where_nothing_passes(
        self, before: GraphResult, after: GraphResult, edge_tests: Any
    ) -> None:
        estimate = network((0, 1, 0.2), (2, 3, -0.1))
        tests = edge_tests(estimate, 50, pooled=estimate)
        empty = replace(after, edge_table=tests)
        words = summarise(empty, before)
        said = " ".join(sentences(words))
        assert "No edge passes at a false discovery rate of 5%: each of the 10 pairs" in said
        needed = tests.samples_needed(0, 50, 0.05)
        assert f"n0 – n1 (+0.20, about {np.ceil(needed / 10) * 10:.0f} samples)" in said
        assert "instead of the 50 there are" in said
        assert "with a probability of 80%" in said
        assert "none of 10 passes" in said
        assert words.lists[0].heading == "Strongest candidates"
        assert words.lists[0].strongest[0].weight == 0.2
        assert "about" in words.lists[0].notes[0]
        # Where the number of samples is not known, it is told how many times as many are needed.
        unknown = replace(empty, diagnostics={})
        assert "times as many samples" in " ".join(sentences(summarise(unknown)))

    def test_page_of_candidates(self, before: GraphResult, after: GraphResult) -> None:
        assert after.edge_table is not None
        empty = replace(after, edge_table=replace(after.edge_table, q_value=np.ones(10)))
        page = Elements(render_report(empty, unadjusted=before))
        assert "Strongest candidates" in page.text
        assert page.payload()["tests"]["candidates"][0] == 0
        assert len(page.payload()["tests"]["candidates"]) == 5


class TestPayload:
    def test_path_is_kept_sparse_and_whole(self, adjusted: GraphResult) -> None:
        path = page_payload(adjusted, None, None)["path"]
        starts, pairs, values = (unpacked(path[key]) for key in ("starts", "pairs", "values"))
        assert path["chosen"] == 2
        networks = np.zeros((4, 10))
        for step in range(4):
            part = slice(int(starts[step]), int(starts[step + 1]))
            networks[step, pairs[part].astype(int)] = values[part]
        assert adjusted.omega_path is not None
        expected = upper_triangle(adjusted.omega_path)
        np.testing.assert_allclose(networks, expected, atol=PICTURE)
        np.testing.assert_array_equal(networks != 0.0, expected != 0.0)

    def test_nuisance_with_error_and_truth(self, adjusted: GraphResult, truth: Truth) -> None:
        known = replace(truth, confounder_grid=np.ones((1, 1)), nuisance=truth.omega[None])
        (part,) = page_payload(adjusted, None, known)["along"]
        assert part["grid"] == [-2.0, 0.0, 1.0, 3.0]
        assert adjusted.nuisance is not None
        expected = upper_triangle(adjusted.nuisance).ravel()
        np.testing.assert_allclose(unpacked(part["nuisance"]), expected, atol=PICTURE)
        np.testing.assert_allclose(unpacked(part["error"]), 0.1 * expected, atol=PICTURE)
        np.testing.assert_allclose(
            unpacked(part["truth"]["nuisance"]), upper_triangle(truth.omega), atol=PICTURE
        )

    def test_each_of_several_confounders_moves_alone(self) -> None:
        grid = np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, -5.0], [0.0, 5.0]])
        nuisance = np.arange(5.0)[:, None, None] * network((0, 1, 1.0))
        result = result_of(
            network((0, 1, 0.2)),
            confounder_names=("a", "b"),
            confounder_grid=grid,
            nuisance=nuisance,
        )
        first, second = page_payload(result, None, None)["along"]
        assert (first["grid"], second["grid"]) == ([-1.0, 0.0, 1.0], [-5.0, 0.0, 5.0])
        np.testing.assert_allclose(unpacked(second["nuisance"])[::10], [3.0, 1.0, 4.0], atol=1e-3)

    def test_large_results_are_thinned_around_what_matters(
        self, monkeypatch: pytest.MonkeyPatch, adjusted: GraphResult
    ) -> None:
        monkeypatch.setattr("plaggm.report.payload.MOST_PATH_ENTRIES", 4)
        monkeypatch.setattr("plaggm.report.payload.MOST_NUISANCE_ENTRIES", 40)
        payload = page_payload(adjusted, None, None)
        assert payload["path"]["alphas"] == [1.0, 0.1, 0.03]
        assert payload["path"]["alphas"][payload["path"]["chosen"]] == adjusted.alpha
        assert payload["along"][0]["grid"] == [-2.0, 0.0, 3.0]

    def test_budget_fits_a_full_path_of_100_variables(self) -> None:
        path, nuisance = 4.0 * MOST_PATH_ENTRIES, 2.0 * MOST_NUISANCE_ENTRIES
        assert MOST_PATH_ENTRIES > 4950 * 100
        # Base64 takes four letters for three bytes.
        assert (path + nuisance) * 4 / 3 < LARGEST_PAGE - 1e6

    def test_numbers_that_are_none(self) -> None:
        packed = packed_strengths(np.array([np.nan, np.inf, 0.5, -1e-12]))
        values = np.frombuffer(base64.b64decode(packed["data"]), dtype="<i2")
        np.testing.assert_array_equal(values, [-32768, -32768, 32767, -1])

    def test_order_puts_clusters_together(self) -> None:
        omega = network((0, 3, 0.5), (1, 4, 0.5), p=6)
        order = connected_order(omega)
        assert sorted(order) == list(range(6))
        for a, b in ((0, 3), (1, 4)):
            assert abs(order.index(a) - order.index(b)) == 1

    def test_without_a_path_there_is_no_step(self) -> None:
        assert chosen_step(result_of(network())) is None


class TestFacts:
    def facts(self, result: GraphResult) -> dict[str, str]:
        return {fact.name: fact.value for fact in diagnostic_facts(result)}

    def test_known_and_unknown_numbers(self, adjusted: GraphResult) -> None:
        given = {
            **adjusted.diagnostics,
            "nuisance_degrees_of_freedom_per_node": 4.4,
            "my_own": 1.5,
        }
        facts = self.facts(replace(adjusted, diagnostics=given))
        assert facts["Samples"] == "50"
        assert facts["Effective samples"] == "46"
        assert facts["Threshold g* of motion"] == "1"
        assert facts["my own"] == "1.5"

    def test_conditioning(self, adjusted: GraphResult) -> None:
        precision = np.eye(5) - adjusted.omega
        values = np.linalg.eigvalsh(precision)
        facts = self.facts(adjusted)
        assert facts["Condition number"] == written(float(values[-1] / values[0]))
        assert facts["Positive definite along the confounder"] == "4 of 4"
        improper = replace(adjusted, nuisance=4.0 * adjusted.nuisance)
        assert self.facts(improper)["Positive definite along the confounder"] == "3 of 4"
        none = result_of(network((0, 1, 1.2)))
        assert self.facts(none)["Condition number"] == "none"

    @pytest.mark.parametrize("foreign", [None, [], "text", 3])
    def test_foreign_content_is_no_table(self, foreign: Any) -> None:
        result = result_of(network(), settings=foreign, diagnostics=foreign)
        assert setting_facts(result) == ()
        assert "Samples" not in self.facts(result)


class TestPage:
    def test_asks_for_nothing_from_elsewhere(
        self, adjusted: GraphResult, unadjusted: GraphResult, truth: Truth
    ) -> None:
        page = render_report(adjusted, unadjusted=unadjusted, truth=truth)
        elements = Elements(page)
        for tag, attributes in elements.found:
            for name in ("src", "srcset", "action", "poster", "data"):
                assert name not in attributes, (tag, attributes)
            href = attributes.get("href")
            assert href is None or href.startswith("#") or href == "data:,"
            assert tag not in {"iframe", "object", "embed", "base"}
        assert "@import" not in page
        assert "url(http" not in page
        policy = next(a["content"] for t, a in elements.found if a.get("http-equiv"))
        assert policy is not None
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy

    def test_sections_follow_what_there_is(
        self, adjusted: GraphResult, unadjusted: GraphResult
    ) -> None:
        def ids(page: str) -> set[str | None]:
            return {attributes.get("id") for _, attributes in Elements(page).found}

        everything = ids(render_report(adjusted, unadjusted=unadjusted))
        assert {"sides", "along", "alpha-slider", "g-slider", "edge-table"} <= everything
        plain = ids(render_report(result_of(network((0, 1, 0.3)))))
        assert {"network", "matrix", "edge-table", "settings"} <= plain
        assert not {"sides", "along", "alpha-slider", "g-slider"} & plain

    @pytest.mark.parametrize("place", ["names", "confounder", "settings", "diagnostics"])
    def test_hostile_names_stay_text(self, adjusted: GraphResult, place: str) -> None:
        evil = dict(zip(HOSTILE, HOSTILE, strict=True))
        hostile = replace(
            adjusted,
            **{
                "names": dict(names=HOSTILE),
                "confounder": dict(confounder_names=(HOSTILE[1],)),
                "settings": dict(settings=evil, versions=evil),
                "diagnostics": dict(diagnostics=evil),
            }[place],
        )
        before = result_of(network((0, 4, 0.3)), names=hostile.names)
        clean = Elements(render_report(adjusted, unadjusted=result_of(before.omega)))
        page = Elements(render_report(hostile, unadjusted=before))
        assert len(page.scripts) == 2
        assert page.scripts[1] == clean.scripts[1]
        assert "img" not in {tag for tag, _ in page.found}
        handlers = [name for _, attributes in page.found for name in attributes if name[:2] == "on"]
        assert handlers == []
        assert page.payload()["names"] == list(hostile.names)
        assert any(name in page.text for name in HOSTILE)

    def test_script_json_closes_nothing(self) -> None:
        text = script_json({"name": HOSTILE, "line": "\u2028"})
        assert not re.search("[<>&\u2028]", text)
        assert json.loads(text)["name"] == list(HOSTILE)

    def test_size_for_100_variables_and_100_penalties(self, edge_tests: Any) -> None:
        p, rng = 100, np.random.default_rng(0)
        # The densest path there can be, and numbers that nothing compresses.
        path = rng.standard_normal((100, p, p))
        path += path.swapaxes(1, 2)
        nuisance = np.concatenate([path[:41], path[41:82]])
        grid = np.zeros((82, 2))
        grid[:41, 0] = grid[41:, 1] = np.linspace(-1.0, 1.0, 41)
        result = result_of(
            0.001 * path[50],
            alpha=0.5,
            confounder_names=("a", "b"),
            threshold=np.ones(2),
            confounder_grid=grid,
            nuisance=nuisance,
            nuisance_error=np.abs(nuisance),
            alphas=np.linspace(1.0, 0.01, 100),
            omega_path=path,
            criterion_path=path[:, 0, 1],
            confounder_sample=rng.standard_normal((1001, 2)),
        )
        tests = edge_tests(np.tanh(path[50]), 100, pooled=np.tanh(path[3]))
        result = replace(result, edge_table=tests, settings=FDR)
        page = render_report(result, unadjusted=replace(result, omega=path[3]))
        assert len(page.encode()) < LARGEST_PAGE

    @pytest.mark.parametrize(
        ("broken", "words"),
        [
            (dict(omega=np.full((5, 5), np.nan)), "not finite"),
            (
                dict(names=("a",), omega=np.zeros((1, 1)), location=np.zeros(1)),
                "a network needs two",
            ),
        ],
    )
    def test_refuses_what_is_no_network(
        self, adjusted: GraphResult, broken: dict[str, Any], words: str
    ) -> None:
        with pytest.raises(ValueError, match=words):
            render_report(replace(adjusted, **broken))


class TestFolder:
    @pytest.fixture
    def folder(
        self, tmp_path: Path, adjusted: GraphResult, unadjusted: GraphResult, truth: Truth
    ) -> Path:
        adjusted.save(tmp_path / "result")
        unadjusted.save(tmp_path / "result" / "unadjusted")
        truth.save(tmp_path / "result")
        return tmp_path / "result"

    def test_reads_what_lies_beside(self, folder: Path, adjusted: GraphResult) -> None:
        page = write_report(folder)
        assert page == folder / "report.html"
        payload = Elements(page.read_text(encoding="utf-8")).payload()
        for key, omega in (
            ("adjusted", adjusted.omega),
            ("truth", network((0, 1, 0.5), (1, 2, -0.3), (2, 4, 0.2))),
            ("unadjusted", network((0, 1, 0.5), (1, 2, 0.1), (0, 4, 0.3), (3, 4, -0.1))),
        ):
            np.testing.assert_allclose(unpacked(payload[key]), upper_triangle(omega), rtol=1e-6)

    def test_same_folder_same_page(self, folder: Path) -> None:
        first = write_report(folder).read_bytes()
        assert write_report(folder).read_bytes() == first

    def test_failure_leaves_the_earlier_page(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (folder / "report.html").write_text("earlier")
        before = sorted(os.listdir(folder))

        def full(*_: Any, **__: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space"):
            write_report(folder)
        assert (folder / "report.html").read_text() == "earlier"
        assert sorted(os.listdir(folder)) == before

    def test_lone_surrogates_of_a_foreign_file(self, folder: Path) -> None:
        for home in (folder, folder / "unadjusted"):
            text = (home / "result.json").read_text().replace('"n0"', '"\\ud800"')
            (home / "result.json").write_text(text)
        (folder / "truth.json").unlink()
        assert write_report(folder).read_bytes().decode("utf-8")

    def test_other_variables_beside(self, folder: Path, unadjusted: GraphResult) -> None:
        other = replace(unadjusted, names=tuple("abcde"))
        other.save(folder / "unadjusted", overwrite=True)
        with pytest.raises(ValueError, match="about other variables"):
            write_report(folder)

    @pytest.mark.parametrize(
        ("damage", "words"),
        [
            (lambda content: {**content, "format": "other"}, "does not name the format"),
            (lambda content: {key: content[key] for key in ("format", "names")}, "has no omega"),
            (lambda content: {**content, "omega": content["omega"][:3]}, "5 names but a matrix"),
            (lambda content: {**content, "omega": "text"}, "omega in it is not a table of numbers"),
            (
                lambda content: {**content, "omega": [[1], [1, 2]]},
                "omega in it is not a table of num",
            ),
            (
                lambda content: {**content, "omega": [[10**400]]},
                "omega in it is not a table of numb",
            ),
            (lambda content: {**content, "omega": [[float("nan")] * 5] * 5}, "are not finite"),
            (lambda content: {**content, "nuisance": [[[0.0]]]}, "come together"),
            (lambda content: {**content, "names": 3}, "names are missing or no list of text"),
            (lambda content: [content], "does not name the format"),
        ],
    )
    def test_damaged_truth(self, folder: Path, damage: Callable[[Any], Any], words: str) -> None:
        path = folder / "truth.json"
        path.write_text(json.dumps(damage(json.loads(path.read_text()))))
        with pytest.raises(ValueError, match=rf"not a readable truth \(.*{words}"):
            write_report(folder)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"[" * 100_000, "it is nested too deeply"),
            (b"\xff", "not UTF-8 text: byte 0xff at position 1"),
            (b"{,}", "not valid JSON from line 1, column 2 on"),
        ],
        ids=["nested", "bytes", "comma"],
    )
    def test_hostile_truth(self, folder: Path, content: bytes, words: str) -> None:
        (folder / "truth.json").write_bytes(content)
        with pytest.raises(ValueError, match=words):
            write_report(folder)

    def test_truth_of_other_data(self, folder: Path) -> None:
        with pytest.raises(ValueError, match="other variables than the result"):
            read_truth(folder / "truth.json", ("a", "b"))

    def test_truth_comes_back(self, tmp_path: Path, truth: Truth) -> None:
        grid, nuisance = np.array([[0.0], [1.0]]), np.stack([0 * truth.omega, truth.omega])
        known = replace(truth, confounder_grid=grid, nuisance=nuisance)
        back = read_truth(known.save(tmp_path), truth.names)
        np.testing.assert_array_equal(back.omega, truth.omega)
        np.testing.assert_array_equal(back.nuisance, nuisance)
        np.testing.assert_array_equal(back.confounder_grid, grid)

    def test_foreign_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="not a readable plaggm result"):
            write_report(tmp_path)
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("odd", [None, 0.5, "folder", {}])
def test_a_page_is_made_of_results_alone(odd):
    with pytest.raises(
        TypeError, match=r"result must be a GraphResult.*got (None|0.5|'folder'|{})\."
    ):
        render_report(odd)
