from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.graphs.force_layout import circle, force_layout


def blocks(sizes: tuple[int, ...], within: float = 0.4) -> np.ndarray:
    p = sum(sizes)
    strength = np.zeros((p, p))
    start = 0
    for size in sizes:
        strength[start : start + size, start : start + size] = within
        start += size
    np.fill_diagonal(strength, 0.0)
    return strength


def distances(places: np.ndarray) -> np.ndarray:
    return np.linalg.norm(places[:, None] - places[None], axis=2)


def test_same_network_same_picture_and_within_the_square() -> None:
    rng = np.random.default_rng(0)
    strength = np.triu(rng.standard_normal((20, 20)) * (rng.random((20, 20)) < 0.2), 1)
    strength = strength + strength.T
    places = force_layout(strength)
    np.testing.assert_array_equal(places, force_layout(strength))
    np.testing.assert_array_equal(places, force_layout(-strength))
    assert np.abs(places).max() == pytest.approx(1.0)


def test_blocks_stay_together_and_nobody_sits_on_another() -> None:
    strength = blocks((6, 5, 4))
    strength[0, 6] = strength[6, 0] = strength[6, 11] = strength[11, 6] = 0.1
    away = distances(force_layout(strength))
    label = np.repeat([0, 1, 2], [6, 5, 4])
    same = label[:, None] == label[None]
    off = ~np.eye(15, dtype=bool)
    assert away[same & off].mean() < 0.5 * away[~same].mean()
    assert away[off].min() > 0.05


def test_a_stronger_edge_is_shorter() -> None:
    strength = np.zeros((3, 3))
    strength[0, 1] = strength[1, 0] = 0.6
    strength[1, 2] = strength[2, 1] = 0.1
    away = distances(force_layout(strength))
    assert away[0, 1] < away[1, 2]


def test_equal_neighbours_and_isolated_variables_have_places_of_their_own() -> None:
    strength = np.zeros((9, 9))
    # A star whose leaves all have the same neighbours, and four variables without any.
    strength[0, 1:5] = strength[1:5, 0] = 0.3
    places = force_layout(strength)
    assert np.isfinite(places).all()
    assert (distances(places) + 9.0 * np.eye(9)).min() > 0.05


@pytest.mark.parametrize("p", [0, 1, 2, 5])
def test_without_edges_it_is_the_circle(p: int) -> None:
    np.testing.assert_array_equal(force_layout(np.zeros((p, p))), circle(p))
