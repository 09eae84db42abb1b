"""Violations of the optimality conditions of a lasso."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.grams.node_grams import GramMatrices, profile_intercepts
from plaggm.core.lasso.path import pair_gradient


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
    return float(violations((gradient + gradient.T)[upper], omega[upper], alpha).max(initial=0.0))


def violations(slope: Array, value: Array, level: float) -> Array:
    """Violation of the optimality condition of every coefficient, in the shape of both arrays.

    Parameters
    ----------
    slope : ndarray
        Derivatives of the loss.
    value : ndarray
        Coefficients.
    level : float
        Penalty.
    """
    return np.where(
        value != 0.0,
        np.abs(slope + level * np.sign(value)),
        np.maximum(np.abs(slope) - level, 0.0),
    )
