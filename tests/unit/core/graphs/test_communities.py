from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.graphs.communities import find_communities

networkx = pytest.importorskip("networkx")


def random_network(seed: int, p: int = 24) -> np.ndarray:
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.standard_normal((p, p)) * (rng.random((p, p)) < 0.2), 1)
    return weights + weights.T


def modularity(weights: np.ndarray, labels: np.ndarray) -> float:
    """Modularity by networkx; a negative label is a community of its own."""
    graph = networkx.from_numpy_array(np.abs(weights))
    members = [{node} for node in np.flatnonzero(labels < 0)]
    members += [set(np.flatnonzero(labels == label)) for label in np.unique(labels[labels >= 0])]
    return networkx.community.modularity(graph, members)


@pytest.mark.parametrize("seed", range(5))
def test_communities_are_as_good_as_those_of_networkx(seed: int) -> None:
    weights = random_network(seed)
    found = modularity(weights, find_communities(weights))
    graph = networkx.from_numpy_array(np.abs(weights))
    greedy = networkx.community.greedy_modularity_communities(graph, weight="weight")
    # Neither is exact; one that were clearly worse would be wrong.
    assert found > networkx.community.modularity(graph, greedy) - 0.03


def test_no_single_move_is_better() -> None:
    weights = random_network(7, 12)
    labels = find_communities(weights)
    best = modularity(weights, labels)
    for node in range(12):
        for label in range(labels.max() + 1):
            other = labels.copy()
            other[node] = label
            assert modularity(weights, other) <= best + 1e-9


def test_blocks_are_found_largest_first_whatever_the_signs() -> None:
    weights = np.zeros((9, 9))
    weights[:3, :3], weights[3:8, 3:8] = 0.5, -0.4
    weights[2, 3] = weights[3, 2] = 0.1
    assert find_communities(weights).tolist() == [1, 1, 1, 0, 0, 0, 0, 0, -1]


def test_without_edges_everybody_is_alone() -> None:
    assert find_communities(np.eye(3)).tolist() == [-1, -1, -1]
