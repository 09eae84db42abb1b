from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from plaggm import GraphResult
from plaggm.report.groups import group_page
from plaggm.report.levels import (
    Level,
    compared,
    differences_in_words,
    introduction,
    level_cautions,
    overview_text,
)

NAMES = ("a", "b", "c")
BASE = np.array([[0.0, 0.4, 0.0], [0.4, 0.0, 0.2], [0.0, 0.2, 0.0]])


def level(name: str, estimate: np.ndarray, edge_tests: Any, n: int = 800) -> Level:
    plain = GraphResult(NAMES, estimate, np.zeros(3), np.ones(3), 0.1)
    tests = edge_tests(estimate, n)
    result = replace(plain, edge_table=tests, settings={"edges": "fdr", "fdr": 0.05})
    return Level(name, name, result, result)


def test_equal_networks_are_no_news(edge_tests: Any) -> None:
    same = [level(name, BASE, edge_tests) for name in "xyz"]
    (line,) = differences_in_words(compared(same), "site")
    assert line == "No sign that the network differs by site (p = 1 over all pairs)."


def test_differences_are_named(edge_tests: Any) -> None:
    other = BASE.copy()
    other[0, 1] = other[1, 0] = -0.2
    two = [level("x", BASE, edge_tests), level("y", other, edge_tests)]
    (line,) = differences_in_words(compared(two), "site")
    assert "1 of 3 pairs differs at q ≤ 0.05, most clearly a – b." in line
    three = [*two, level("z", BASE, edge_tests)]
    lines = differences_in_words(compared(three), "site")
    assert lines[1].startswith("Most of the variation between them is real, not chance (I² = ")


def test_untested_networks_are_not_compared(edge_tests: Any) -> None:
    one = level("x", BASE, edge_tests)
    untested = replace(one, name="y", after=replace(one.after, edge_table=None))
    assert compared([one, untested]) is None
    assert compared([one]) is None
    assert differences_in_words(None, "site") == []


def told(name: str, edge_tests: Any, **diagnostics: object) -> Level:
    one = level(name, BASE, edge_tests)
    result = replace(one.after, diagnostics=diagnostics)
    return Level(name, name, result, result)


def test_what_undermines_single_networks_is_told_of_all(edge_tests: Any) -> None:
    many = [told(name, edge_tests, n_samples=800) for name in "xyz"]
    assert level_cautions(many) == ()
    few = told("few", edge_tests, n_samples=29)
    (line,) = level_cautions([*many, few])
    assert line.startswith("Samples are few for 3 variables in few (29): only strong edges")
    (line,) = level_cautions([told(f"n{k}", edge_tests, n_samples=20 + k) for k in range(4)])
    assert "in 4 of the 4 networks, with 20 or more: only strong" in line


def test_warnings_that_levels_share_are_told_once(edge_tests: Any) -> None:
    alike = dict(n_samples=800, dependent_variable="a", dependent_lag1_correlation=0.5)
    both = [told(name, edge_tests, **alike) for name in "xy"]
    (line,) = level_cautions(both)
    assert line.startswith("Residuals of a resemble")
    (line,) = level_cautions([*both, told("z", edge_tests, n_samples=800)])
    assert line.startswith("x and y: Residuals of a resemble")
    found = [told("w", edge_tests, n_samples=800, data_findings=[f"{k}." for k in range(8)])]
    assert level_cautions(found)[-1] == "2 more warnings are on the pages of single networks."


def adjusted(name: str, edge_tests: Any, before: np.ndarray, after: np.ndarray) -> Level:
    """A level with a confounder, of 400 samples; changes were tested."""
    fit: dict[str, Any] = {
        "settings": {"edges": "fdr", "fdr": 0.05},
        "diagnostics": {"n_samples": 400},
    }
    plain, model = (
        GraphResult(NAMES, one, np.zeros(3), np.ones(3), 0.1) for one in (before, after)
    )
    return Level(
        name,
        name,
        replace(plain, edge_table=edge_tests(before, 400), **fit),
        replace(
            model,
            confounder_names=("age",),
            edge_table=edge_tests(after, 400, pooled=before),
            **fit,
        ),
    )


def test_pairs_are_counted_among_those_that_are_edges(edge_tests: Any) -> None:
    """Of three pairs, two are edges somewhere; the third is not counted."""
    none, one = np.zeros((3, 3)), np.where(BASE > 0.3, BASE, 0.0)

    def said(*networks: np.ndarray) -> str:
        found = [level(str(k), network, edge_tests) for k, network in enumerate(networks)]
        return introduction(found, "site")[-1]

    assert said(BASE, one) == "2 pairs are edges in at least one of them, 1 in all of them."
    assert said(one, none) == "1 pair is an edge in at least one of them, 0 in all of them."
    assert said(none, none) == "No pair is an edge in any of them."


def test_edges_that_are_gone_without_vanishing_are_explained(edge_tests: Any) -> None:
    """An edge just above the threshold before and just below it after has not changed by a test."""
    why = "An edge appears or vanishes only if its change passes a test of its own"
    before, after = BASE.copy(), BASE.copy()
    before[1, 2] = before[2, 1] = 0.14
    after[1, 2] = after[2, 1] = 0.08
    riddle = [adjusted(name, edge_tests, before, after) for name in ("Adelie", "Gentoo")]
    text = overview_text(riddle, "species", None)
    assert "\nGentoo: 400 samples; 1 edge (2 without adjustment; 0 appear, 0 vanish).\n" in text
    assert text.count(why) == 1
    assert group_page(riddle, "species", None).count(why) == 1
    # Untested changes are said to be untested.
    untested = replace(riddle[0].after, edge_table=edge_tests(after, 400))
    text = overview_text([replace(riddle[0], after=untested)], "species", None)
    assert "Whether edges appear or vanish by adjusting was not tested." in text
    # A change that is declared needs no explanation.
    after[1, 2] = after[2, 1] = 0.0
    before[1, 2] = before[2, 1] = 0.4
    plain = [adjusted(name, edge_tests, before, after) for name in ("Adelie", "Gentoo")]
    text = overview_text(plain, "species", None)
    assert "1 edge (2 without adjustment; 0 appear, 1 vanish).\n" in text
    assert why not in text
