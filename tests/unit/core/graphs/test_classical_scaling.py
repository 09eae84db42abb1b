"""Tests for plaggm.core.graphs.classical_scaling."""

import numpy as np
import pytest

from plaggm.core.graphs.classical_scaling import classical_scaling


def test_one_and_two_places() -> None:
    assert classical_scaling(np.zeros((1, 1))).tolist() == [[0.0, 0.0]]
    places = classical_scaling(np.array([[0.0, 2.0], [2.0, 0.0]]))
    assert np.linalg.norm(places[0] - places[1]) == pytest.approx(2.0)
