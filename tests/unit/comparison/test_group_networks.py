from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plaggm import GraphResult, compare_networks

NAMES = ("a", "b", "c", "d")
BASE = np.zeros((4, 4))
BASE[0, 1] = BASE[1, 0] = 0.4
BASE[2, 3] = BASE[3, 2] = -0.2


@pytest.fixture
def make(edge_tests: Any) -> Any:
    def result(estimate: np.ndarray, n: int = 1000) -> GraphResult:
        plain = GraphResult(NAMES, estimate, np.zeros(4), np.ones(4), 0.1)
        tests = edge_tests(estimate, n)
        return replace(plain, edge_table=tests, settings={"edges": "fdr", "fdr": 0.05})

    return result


def test_only_what_differs_is_said_to(make: Any) -> None:
    other = BASE.copy()
    other[0, 1] = other[1, 0] = 0.1
    found = compare_networks({"men": make(BASE), "women": make(other, 500)})
    assert found.p_value < 1e-6
    assert found.differing.tolist() == [True, False, False, False, False, False]
    table = found.differences()
    first = table.iloc[0]
    assert (first["source"], first["target"]) == ("a", "b")
    assert first["difference"] == pytest.approx(-0.3)
    assert first["estimate men"] == pytest.approx(0.4)
    # Between the two, nearer to the network that is better known.
    assert 0.2 < first["common"] < 0.4
    assert found.fdr == 0.05
    assert compare_networks({"a": make(BASE), "b": make(other)}, fdr=0.1).fdr == 0.1


def test_networks_that_are_the_same(make: Any) -> None:
    found = compare_networks({str(k): make(BASE, 400 + 100 * k) for k in range(5)})
    assert found.p_value > 0.9
    assert found.heterogeneity_word == "little"
    np.testing.assert_allclose(found.common_network(), BASE, atol=1e-9)
    table = found.networks()
    assert table["level"].tolist() == ["0", "1", "2", "3", "4"]
    assert (table["distance"] == 0.0).all()
    assert "difference" not in found.differences()


def test_the_one_that_is_unlike_the_others_is_named(make: Any) -> None:
    rng = np.random.default_rng(0)
    networks = {}
    for k in range(12):
        noise = np.triu(rng.normal(0.0, 1.0 / np.sqrt(1000), (4, 4)), 1)
        networks[f"s{k}"] = make(BASE + noise + noise.T)
    odd = BASE.copy()
    odd[0, 1] = odd[1, 0] = -0.4
    table = compare_networks(networks | {"odd": make(odd)}).networks().set_index("level")
    assert table["distance"].idxmax() == "odd"
    assert table["p_value"].idxmin() == "odd"
    far = np.hypot(table["x"], table["y"])
    assert far.idxmax() == "odd"


@pytest.mark.parametrize("wrong", [{}, {"one": None}, ["a", "b"]])
def test_two_networks_by_name_are_needed(wrong: Any) -> None:
    with pytest.raises(ValueError, match="two or more results by name"):
        compare_networks(wrong)


def test_other_variables_and_untested_networks_are_refused(make: Any) -> None:
    one = make(BASE)
    with pytest.raises(ValueError, match="Network 'b' has other variables than 'a'"):
        compare_networks({"a": one, "b": replace(one, names=("w", "x", "y", "z"))})
    with pytest.raises(ValueError, match="Network 'b' has no tests"):
        compare_networks({"a": one, "b": replace(one, edge_table=None)})
