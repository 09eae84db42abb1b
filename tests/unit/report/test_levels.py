from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from plaggm import GraphResult
from plaggm.report.levels import Level, compared, differences_in_words, level_cautions

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
