"""What the page and the summary say of edges that change."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pytest

from plaggm import PLAGGM
from plaggm.report.moderation import moderation_sentences
from plaggm.report.page import render_report
from plaggm.report.payload import page_payload
from plaggm.report.words import Words, summarise
from plaggm.result import GraphResult


def sentences(words: Words) -> tuple[str, ...]:
    """All sentences of all paragraphs."""
    return tuple(chain.from_iterable(words.paragraphs))


@pytest.fixture
def result() -> GraphResult:
    return GraphResult(
        names=("a", "b", "c", "d"),
        omega=np.zeros((4, 4)),
        location=np.zeros(4),
        scale=np.ones(4),
        alpha=0.1,
        confounder_names=("age", "<i>site</i>"),
        threshold=np.ones(2),
    )


def test_changing_edges_are_named_with_size_and_place(
    result: GraphResult, moderation_tests: Any
) -> None:
    found = moderation_tests([[1e-6, 1e-5, 0.001, 0.002, 0.8, 0.9], [0.3, 0.4, 0.5, 0.6, 0.7, 0.8]])
    said = moderation_sentences(replace(result, moderation_table=found))
    assert said == [
        "4 pairs change with age (5% FDR): a – b (by −0.60 at 2.5), a – c (by −0.50 at 2.5), "
        "a – d (by −0.30 at 2.5), and 1 more.",
        "No pair is shown to change with <i>site</i> (5% FDR).",
    ]


def test_one_edge_and_none(result: GraphResult, moderation_tests: Any) -> None:
    one = moderation_tests([[1e-6, 0.5, 0.6, 0.7, 0.8, 0.9], [0.5] * 6])
    assert moderation_sentences(replace(result, moderation_table=one))[0].startswith(
        "1 pair changes with age"
    )
    none = moderation_tests([[0.5] * 6, [0.5] * 6])
    said = moderation_sentences(replace(result, moderation_table=none))
    assert said == ["No pair is shown to change with age and <i>site</i> (5% FDR)."]


def test_why_it_was_not_tested_and_nothing_where_not_asked(result: GraphResult) -> None:
    assert moderation_sentences(result) == []
    told = replace(result, diagnostics={"untested_moderation": "Too few samples."})
    assert moderation_sentences(told) == [
        "Which pairs change with the confounder was not tested. Too few samples."
    ]


def test_small_changes_are_counted_apart(result: GraphResult, moderation_tests: Any) -> None:
    found = moderation_tests([[1e-6, 1e-5, 0.5, 0.6, 0.7, 0.8], [0.5] * 6])
    small = found.largest_change.copy()
    small[0, 0] = -0.049
    said = moderation_sentences(
        replace(result, moderation_table=replace(found, largest_change=small))
    )
    assert said[0] == (
        "2 pairs change with age (5% FDR), 1 of them by less than 0.05: a – c (by −0.50 at 2.5)."
    )
    small[0, 1] = 0.01
    said = moderation_sentences(
        replace(result, moderation_table=replace(found, largest_change=small))
    )
    assert said[0] == "2 pairs change with age (5% FDR), by less than 0.05."


def test_no_pair_is_named_where_all_tests_together_find_nothing(
    result: GraphResult, moderation_tests: Any
) -> None:
    # The smallest of six p-values passes alone, but not together with a second confounder.
    found = moderation_tests([[0.004, 0.5, 0.6, 0.7, 0.8, 0.9], [0.5] * 6])
    tested = replace(result, moderation_table=found, diagnostics={"confounding_p_value": 0.6})
    said = moderation_sentences(tested)
    assert said[0].startswith("1 pair passes its own test of changing with age (5% FDR), which is")
    assert "a – b" not in " ".join(said)
    assert page_payload(tested, None, None)["moderation"]["shown"] is False


def test_page_has_the_words_and_the_section(result: GraphResult, moderation_tests: Any) -> None:
    found = moderation_tests([[1e-6, 0.5, 0.6, 0.7, 0.8, 0.9], [0.5] * 6])
    tested = replace(result, moderation_table=found)
    assert any(
        "1 pair changes with age" in said for said in sentences(summarise(tested, None, None))
    )
    payload = page_payload(tested, None, None)
    assert payload["moderation"]["fdr"] == 0.05
    assert len(payload["moderation"]["along"]) == 2
    assert page_payload(result, None, None)["moderation"] is None
    assert 'id="moderation"' in render_report(tested)
    assert 'id="moderation"' not in render_report(result)


def test_nothing_is_said_where_there_is_no_confounder() -> None:
    x = np.random.default_rng(0).standard_normal((80, 3))
    result = PLAGGM(0.1).fit(x).to_result(moderation=False)
    told = replace(
        result, diagnostics={**result.diagnostics, "untested_moderation": "It is plain."}
    )
    assert moderation_sentences(told) == []
