from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plaggm import PLAGGMCV, GraphResult, read_result
from plaggm.centrality_table import centrality_frame, group_labels
from plaggm.simulate import simulate_paper

NAMES = ("a", "b", "c", "d")
NETWORK = np.array([[0.0, 0.4, 0.0, 0.0], [0.4, 0.0, -0.3, 0.0], [0.0, -0.3, 0.0, 0.0], [0.0] * 4])


def test_strongest_first_with_bridges_between_groups() -> None:
    table = centrality_frame(NAMES, NETWORK, groups={"a": 1, "b": 1, "c": 2, "d": 2})
    assert list(table) == [
        *("variable", "group", "degree", "strength", "expected_influence"),
        *("bridge_strength", "bridge_expected_influence"),
    ]
    assert table["variable"].tolist() == ["b", "a", "c", "d"]
    assert table["group"].tolist() == ["1", "1", "2", "2"]
    np.testing.assert_allclose(table["bridge_strength"], [0.3, 0.0, 0.3, 0.0])
    np.testing.assert_allclose(table["bridge_expected_influence"], [-0.3, 0.0, -0.3, 0.0])


def test_intervals_hold_their_estimate_and_widen_with_few_degrees(edge_tests: Any) -> None:
    tests = edge_tests(NETWORK, 4000)
    # As the t statistic of a partial correlation has it.
    tests = replace(tests, standard_error=np.sqrt((1.0 - tests.estimate**2) / 4001.0))
    table = centrality_frame(NAMES, NETWORK, tests)
    for name in ("strength", "expected_influence"):
        assert (table[f"{name}_low"] <= table[name]).all()
        assert (table[name] <= table[f"{name}_high"]).all()
    # A variable with one edge has about the interval of this edge, and its weight.
    a = table.set_index("variable").loc["a"]
    assert a["expected_influence"] == pytest.approx(0.4, abs=0.01)
    reach = 1.96 * (1.0 - 0.16) / np.sqrt(4000.0)
    assert reach < a["expected_influence_high"] - a["expected_influence"] < 1.5 * reach
    few = centrality_frame(NAMES, NETWORK, replace(tests, degrees_of_freedom=5.0))
    assert (few["strength_high"] >= table["strength_high"]).all()


def test_every_variable_needs_a_group() -> None:
    with pytest.raises(ValueError, match="no group for 1 of 4 variables: 'd'"):
        group_labels(NAMES, {"a": 1, "b": 1, "c": 2})
    with pytest.raises(TypeError, match="mapping"):
        group_labels(NAMES, ["a"])  # type: ignore[arg-type]


@pytest.mark.usefixtures("few_permutations")
def test_a_model_and_its_result_agree_and_the_table_is_saved(tmp_path: Any) -> None:
    data = simulate_paper(5, n=600, seed=1)
    subject = np.repeat(np.arange(30), 20)
    model = PLAGGMCV(cv=3, alphas=10).fit(data.x, confounder=data.confounder, groups=subject)
    table = model.centrality()
    saved = read_result(model.to_result().save(tmp_path / "result"))
    # Few groups have few degrees of freedom, which a saved result remembers.
    assert saved.diagnostics["edge_degrees_of_freedom"] == 29.0
    np.testing.assert_allclose(
        saved.centrality().drop(columns="variable"), table.drop(columns="variable")
    )
    assert (
        (tmp_path / "result" / "centrality.csv").read_text().startswith("variable,degree,strength")
    )


def test_without_tests_there_are_no_intervals(tmp_path: Any) -> None:
    plain = GraphResult(NAMES, NETWORK, np.zeros(4), np.ones(4), 0.1)
    assert list(plain.centrality()) == ["variable", "degree", "strength", "expected_influence"]
