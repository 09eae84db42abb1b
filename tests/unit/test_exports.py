from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plaggm import GraphResult
from plaggm.exports import GEXF

NAMES = ("left <hip>", 'say "hi" & go', "Ω_é漢", "bell")
OMEGA = np.array(
    [
        [9.0, 0.30, -0.20, 0.0],
        [0.30, 9.0, 0.0, 0.0],
        [-0.20, 0.0, 9.0, 0.0],
        [0.0, 0.0, 0.0, 9.0],
    ]
)
STABILITY = np.array(
    [
        [0.0, 0.9, 0.5, 0.1],
        [0.9, 0.0, 0.2, 0.0],
        [0.5, 0.2, 0.0, 0.0],
        [0.1, 0.0, 0.0, 0.0],
    ]
)


@pytest.fixture
def result() -> GraphResult:
    return GraphResult(
        NAMES, OMEGA, location=np.zeros(4), scale=np.ones(4), alpha=0.1, stability=STABILITY
    )


class TestGraphml:
    def test_networkx_reads_the_same_graph(self, result: GraphResult, tmp_path: Path) -> None:
        networkx = pytest.importorskip("networkx")
        assert result.export(tmp_path / "a.graphml") == (tmp_path / "a.graphml",)
        graph = networkx.read_graphml(tmp_path / "a.graphml")
        assert list(graph.nodes) == list(NAMES)
        assert graph.edges[NAMES[0], NAMES[2]] == {"weight": -0.2, "stability": 0.5}
        assert set(map(frozenset, graph.edges)) == set(map(frozenset, result.to_networkx().edges))

    def test_igraph_reads_the_same_graph(self, result: GraphResult, tmp_path: Path) -> None:
        igraph = pytest.importorskip("igraph")
        result.export(tmp_path / "a.graphml")
        read = igraph.Graph.Read_GraphML(str(tmp_path / "a.graphml"))
        assert read.vs["name"] == list(NAMES)
        assert read.es["weight"] == [0.3, -0.2]
        assert read.es["stability"] == [0.9, 0.5]
        made = result.to_igraph()
        assert made.vs["name"] == list(NAMES)
        assert made.get_edgelist() == read.get_edgelist() == [(0, 1), (0, 2)]
        assert made.es["weight"] == read.es["weight"]
        assert made.es["stability"] == read.es["stability"]

    def test_names_that_xml_cannot_hold(self, result: GraphResult, tmp_path: Path) -> None:
        networkx = pytest.importorskip("networkx")
        odd = ("bell \x07", "", " blank", "line\nbreak")
        replace(result, names=odd).export(tmp_path / "a.graphml")
        graph = networkx.read_graphml(tmp_path / "a.graphml")
        assert list(graph.nodes) == ["n0", "n1", "n2", "n3"]
        assert graph.nodes["n0"]["name"] == "bell �"
        assert graph.nodes["n3"]["name"] == "line\nbreak"

    def test_without_stability(self, result: GraphResult, tmp_path: Path) -> None:
        replace(result, stability=None).export(tmp_path / "a.graphml")
        assert "stability" not in (tmp_path / "a.graphml").read_text(encoding="utf-8")


def read_gexf(path: Path) -> Any:
    networkx = pytest.importorskip("networkx")
    try:
        return networkx.read_gexf(path, relabel=True, version="1.3")
    except networkx.NetworkXError:
        # Before 3.4 it knew 1.2 only, in which all that is written here has the same form.
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(GEXF, "http://www.gexf.net/1.2draft"), encoding="utf-8")
        return networkx.read_gexf(path, relabel=True)


def test_gexf_has_sizes_as_weights(result: GraphResult, tmp_path: Path) -> None:
    result.export(tmp_path / "a.gexf")
    graph = read_gexf(tmp_path / "a.gexf")
    assert list(graph.nodes) == list(NAMES)
    edge = graph.edges[NAMES[0], NAMES[2]]
    assert edge["weight"] == 0.2
    assert edge["partial_correlation"] == -0.2
    assert edge["stability"] == 0.5


def test_tests_go_with_the_declared_edges(
    result: GraphResult, tmp_path: Path, edge_tests: Any
) -> None:
    networkx = pytest.importorskip("networkx")
    estimate = np.zeros((4, 4))
    estimate[2, 3] = estimate[3, 2] = 0.7
    tests = edge_tests(estimate, 100)
    tested = replace(result, edge_table=tests, settings={"edges": "fdr", "fdr": 0.05})
    tested.export(tmp_path / "a.graphml")
    graph = networkx.read_graphml(tmp_path / "a.graphml")
    known = {"weight": 0.7, "estimate": 0.7, "q_value": tests.q_value[5], "stability": 0.0}
    assert list(graph.edges(data=True)) == [(NAMES[2], NAMES[3], known)]
    assert tested.to_networkx().edges[NAMES[2], NAMES[3]] == known
    tested.export(tmp_path / "a.gexf")
    graph = read_gexf(tmp_path / "a.gexf")
    assert graph.edges[NAMES[2], NAMES[3]]["q_value"] == tests.q_value[5]
    _, edges = tested.export(tmp_path / "a.edge")
    np.testing.assert_array_equal(np.loadtxt(edges), tested.network)


class TestBrainNet:
    def test_two_files_of_one_stem(self, result: GraphResult, tmp_path: Path) -> None:
        places = np.arange(12.0).reshape(4, 3)
        files = result.export(tmp_path / "a.edge", coordinates=places)
        assert files == (tmp_path / "a.node", tmp_path / "a.edge")
        rows = [line.split() for line in files[0].read_text(encoding="utf-8").splitlines()]
        assert [list(map(float, row[:3])) for row in rows] == places.tolist()
        # Size is the number of edges; a label is one word.
        assert [row[4] for row in rows] == ["2", "1", "1", "0"]
        assert rows[1][5] == 'say_"hi"_&_go'
        expected = OMEGA - np.diag(np.diag(OMEGA))
        np.testing.assert_array_equal(np.loadtxt(files[1]), expected)

    def test_a_circle_without_coordinates(self, result: GraphResult, tmp_path: Path) -> None:
        nodes, _ = replace(result, names=("a", "b", "c", "")).export(tmp_path / "a.node")
        rows = [line.split() for line in nodes.read_text().splitlines()]
        distance = np.linalg.norm([list(map(float, row[:3])) for row in rows], axis=1)
        np.testing.assert_allclose(distance, 60.0)
        assert rows[3][5] == "-"

    @pytest.mark.parametrize("places", [np.zeros((3, 3)), np.full((4, 3), np.nan)])
    def test_refuses_other_places(
        self, result: GraphResult, tmp_path: Path, places: np.ndarray
    ) -> None:
        with pytest.raises(ValueError, match="x, y and z of each of the 4 variables"):
            result.export(tmp_path / "a.node", coordinates=places)
        assert not list(tmp_path.iterdir())


def test_refuses_unknown_endings(result: GraphResult, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'a\.xyz' has no known file extension; use \.graphml"):
        result.export(tmp_path / "a.xyz")
    with pytest.raises(ValueError, match="coordinates must hold real numbers; got 'left'"):
        result.export(tmp_path / "a.node", coordinates="left")
    with pytest.raises(ValueError, match="coordinates are for BrainNet Viewer"):
        result.export(tmp_path / "a.gexf", coordinates=np.zeros((4, 3)))


def test_missing_igraph(result: GraphResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(ImportError, match="pip install igraph"):
        result.to_igraph()
