"""Optimality of a solution, measured independently of the solver."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.node_grams import GramMatrices, profile_intercepts
from plaggm.core.path import pair_gradient


def kkt_residual(node_grams: GramMatrices, omega: Array, alpha: float) -> float:
    """Largest violation of the optimality conditions of the symmetric problem.

    For a pair with Omega_jk != 0 the gradient plus alpha sign(Omega_jk) must vanish; for the others the
    gradient must not exceed alpha in absolute value.

    Parameters
    ----------
    node_grams : GramMatrices
    omega : ndarray of shape (p, p)
    alpha : float

    Returns
    -------
    float
        Violation in the units of ``alpha``.
    """
    gradient = pair_gradient(profile_intercepts(node_grams), omega)
    upper = np.triu_indices(node_grams.p, 1)
    slope, value = (gradient + gradient.T)[upper], omega[upper]
    violation = np.where(
        value != 0.0,
        np.abs(slope + alpha * np.sign(value)),
        np.maximum(np.abs(slope) - alpha, 0.0),
    )
    return float(violation.max(initial=0.0))
