"""What the page opens with, by what is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pytest

from plaggm.evidence import P_VALUE
from plaggm.report.changes import compare
from plaggm.report.headline import headline, lead_of
from plaggm.report.page import render_report
from plaggm.report.payload import page_payload
from plaggm.report.words import Words, summarise
from plaggm.result import GraphResult


def sentences(words: Words) -> tuple[str, ...]:
    """All sentences of all paragraphs."""
    return tuple(chain.from_iterable(words.paragraphs))


FDR = {"edges": "fdr", "fdr": 0.05}
# P-values of the test of R = 0 that speak for nothing and for an effect.
NOTHING, SOMETHING = 0.41, 0.001


def result_of(estimate: np.ndarray, edge_tests: Any, **given: Any) -> GraphResult:
    p = len(estimate)
    tests = edge_tests(estimate, 300, pooled=given.pop("pooled", estimate))
    return GraphResult(
        names=tuple(f"n{node}" for node in range(p)),
        omega=estimate,
        location=np.zeros(p),
        scale=np.ones(p),
        alpha=0.1,
        edge_table=tests,
        settings=FDR,
        **given,
    )


@pytest.fixture
def before(edge_tests: Any) -> GraphResult:
    """Two edges that pass their tests."""
    omega = np.zeros((4, 4))
    omega[0, 1] = omega[1, 0] = 0.5
    omega[2, 3] = omega[3, 2] = 0.18
    return result_of(omega, edge_tests, diagnostics={"n_samples": 300})


@pytest.fixture
def after(before: GraphResult, edge_tests: Any) -> GraphResult:
    """One of them fails narrowly after adjusting, which is no change."""
    omega = before.omega.copy()
    omega[2, 3] = omega[3, 2] = 0.11
    return result_of(
        omega,
        edge_tests,
        pooled=before.omega,
        confounder_names=("batch",),
        threshold=np.ones(1),
        diagnostics={"n_samples": 300, "n_unconfounded": 93, P_VALUE: NOTHING},
    )


class TestNoSign:
    def test_title_tiles_and_network(self, before: GraphResult, after: GraphResult) -> None:
        words = summarise(after, before)
        assert (words.opening.title, words.opening.confounders) == (
            "No sign that the network depends on",
            ("batch",),
        )
        assert words.opening.lead == "unadjusted"
        labels = {tile.label: tile.number for tile in words.tiles}
        assert labels["edges at q ≤ 0.05"] == "2"
        # The p-value of the test of the whole network over its share of those that were made.
        assert labels["no sign of an effect"] == "p = 0.46"
        assert "of them confounded" not in labels
        assert [listed.kind for listed in words.lists] == ["before"]
        assert words.lists[0].count == 2

    def test_says_why_and_on_what_it_rests(self, before: GraphResult, after: GraphResult) -> None:
        said = " ".join(sentences(summarise(after, before)))
        assert "does not differ along batch by more than chance (p = 0.41)" in said
        assert "no pair is shown to differ with and without adjustment" in said
        assert "weak effects go unnoticed in 300 samples" in said
        assert "the network of all samples without adjustment (files in the folder" in said
        assert "1 of its 2 edges are declared after adjusting as well" in said
        assert "1 (dotted) rests on that assumption" in said
        assert "are confounded" not in said
        assert "taken out" not in said

    def test_a_single_edge_and_several_confounders_are_told_in_their_number(
        self, before: GraphResult, after: GraphResult, edge_tests: Any
    ) -> None:
        omega = before.omega.copy()
        omega[2, 3] = omega[3, 2] = 0.0
        one = result_of(omega, edge_tests, diagnostics={"n_samples": 300})
        said = " ".join(sentences(summarise(after, one)))
        assert "its only edge is declared after adjusting as well and holds in any case." in said
        assert "if batch indeed has no effect" in said
        two = replace(after, confounder_names=("batch", "age"), threshold=np.ones(2))
        assert "if batch and age indeed have no effect" in " ".join(
            sentences(summarise(two, before))
        )

    def test_page(self, before: GraphResult, after: GraphResult) -> None:
        page = render_report(after, unadjusted=before)
        assert "<title>No sign that the network depends on batch · plaggm</title>" in page
        assert "The network without" not in page.split("<script")[0].split("<nav")[0]
        payload = page_payload(after, before, None)
        assert payload["lead"] == "unadjusted"
        assert payload["pooled"].keys() == payload["tests"].keys()

    def test_narrow_misses_are_no_clear_sign(self, before: GraphResult, after: GraphResult) -> None:
        narrow = replace(after, diagnostics={**after.diagnostics, P_VALUE: 0.06})
        assert headline(narrow, before).title == "No clear sign that the network depends on"

    def test_single_changes_are_not_named(self, before: GraphResult, after: GraphResult) -> None:
        """One q-value below 5 % is what chance gives now and then."""
        assert after.edge_table is not None
        q_value = np.full(6, 0.9)
        q_value[5] = 0.03
        tests = replace(after.edge_table, change_q_value=q_value, change_p_value=q_value)
        once = replace(after, edge_table=tests)
        assert compare(before, once).count == 0
        assert lead_of(once, before) == "unadjusted"

    def test_without_the_other_network_the_adjusted_one_is_shown(self, after: GraphResult) -> None:
        words = summarise(after)
        assert words.opening.lead == "adjusted"
        assert words.opening.title.startswith("No sign")
        assert "this is the adjusted one" in " ".join(sentences(words))

    def test_networks_by_different_rules_do_not_stand_for_each_other(
        self, before: GraphResult, after: GraphResult
    ) -> None:
        penalised = replace(before, settings={"edges": "penalty"})
        assert lead_of(after, penalised) == "adjusted"

    def test_cautions_are_about_the_network_that_is_shown(
        self, before: GraphResult, after: GraphResult
    ) -> None:
        few = replace(after, diagnostics={"n_samples": 300, "n_unconfounded": 5, P_VALUE: NOTHING})
        assert summarise(few, before).cautions == ()
        found = {**few.diagnostics, P_VALUE: SOMETHING}
        assert "Only 5 samples" in summarise(replace(few, diagnostics=found), before).cautions[0]


class TestOthers:
    def test_network_depends(self, before: GraphResult, after: GraphResult) -> None:
        found = replace(after, diagnostics={**after.diagnostics, P_VALUE: SOMETHING})
        words = summarise(found, before)
        assert (words.opening.title, words.opening.lead) == ("The network without", "adjusted")
        assert sentences(words)[0] == "The network depends on batch (p = 0.001)."
        assert "of them confounded" in [tile.label for tile in words.tiles]

    def test_single_pairs(
        self, before: GraphResult, after: GraphResult, moderation_tests: Any
    ) -> None:
        table = moderation_tests([[1e-6, 0.5, 0.6, 0.7, 0.8, 0.9]])
        words = summarise(replace(after, moderation_table=table), before)
        assert sentences(words)[0] == (
            "Single pairs change with batch (smallest q = 6e-06); the network as a whole does not show it "
            "(p = 0.41)."
        )

    def test_adjusting_alone(self, before: GraphResult, after: GraphResult) -> None:
        assert after.edge_table is not None
        q_value = np.full(6, 1e-4)
        tests = replace(after.edge_table, change_q_value=q_value, change_p_value=q_value)
        words = summarise(replace(after, edge_table=tests), before)
        assert words.opening.lead == "adjusted"
        assert "Adjusting for batch changes edges" in sentences(words)[0]
        assert "No sign that the network itself is another" in sentences(words)[0]

    def test_nothing_was_tested(self, before: GraphResult, after: GraphResult) -> None:
        plain = replace(after, edge_table=None, diagnostics={})
        words = summarise(plain, before)
        assert words.opening.title == "The network adjusted for"
        assert "Whether the network depends on batch was not tested." in sentences(words)

    def test_method_is_told(self, before: GraphResult, after: GraphResult) -> None:
        known = {**after.diagnostics, "confounding_method": "permutations"}
        said = headline(replace(after, diagnostics=known), before).evidence[0]
        assert "(p = 0.41, by permutations)" in said

    def test_summary_of_a_result(self, after: GraphResult) -> None:
        assert after.summary().startswith(
            "No sign that the network depends on batch (p = 0.46 for all tests together)."
        )
        found = replace(after, diagnostics={P_VALUE: SOMETHING})
        assert found.summary().startswith("The network depends on batch (p = 0.001).")
