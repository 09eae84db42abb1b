"""Inverses of node regressions that a profiled spline spares."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.nuisance.node_regressions import (
    bordered_inverse,
    least_squares_network,
    moments,
)
from plaggm.core.numerics.symmetric_inverse import symmetric_inverse
from plaggm.core.profile.spline import column_penalty, profile_spline
from plaggm.core.spline.system import SplineSystem


@pytest.fixture
def system() -> SplineSystem:
    rng = np.random.default_rng(0)
    n, p = 400, 5
    b = np.column_stack([rng.standard_normal((n, p)), np.ones(n)])
    phi = rng.standard_normal((n, 3))
    d = (phi[:, :, None] * b[:, None, :]).reshape(n, -1)
    return SplineSystem(n, b.T @ b / n, d.T @ b / n, d.T @ d / n, np.eye(3))


def test_bordered_inverse_is_that_of_the_whole_matrix(system: SplineSystem) -> None:
    penalty = np.array([0.1, 0.2, 3.0])
    fit = profile_spline(system, penalty)
    added = np.linspace(0.01, 0.02, system.q)
    whole = moments(system) + np.diag(np.append(added, column_penalty(penalty, system.q)))
    np.testing.assert_allclose(
        bordered_inverse(system, fit, added), np.linalg.inv(whole), atol=1e-9
    )


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_a_profiled_fit_spares_the_inverse(system: SplineSystem, ridge: float) -> None:
    penalty = np.array([0.1, 0.2, 3.0])
    slow = least_squares_network(system, penalty, ridge)
    fast = least_squares_network(system, penalty, ridge, profile_spline(system, penalty))
    for one, other in zip(slow, fast, strict=True):
        np.testing.assert_allclose(other, one, atol=1e-9)


def test_symmetric_inverse_of_an_indefinite_matrix() -> None:
    matrix = np.array([[1.0, 2.0], [2.0, 1.0]])
    np.testing.assert_allclose(symmetric_inverse(matrix) @ matrix, np.eye(2), atol=1e-12)
