"""Posterior covariances of every node's coefficients, from the quadratic models around a fit."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.families.nodes import NuisancePenalty, node_statistics, other_columns
from plaggm.core.families.rows import FamilyRows
from plaggm.core.inference.spline_inference import NETWORK_RIDGE
from plaggm.core.nuisance.node_regressions import moments
from plaggm.core.numerics.symmetric_inverse import inverse_within
from plaggm.core.spline.system import spline_system


def node_blocks(rows: FamilyRows, eta: Array, penalty: NuisancePenalty) -> tuple[Array, Array]:
    """Posterior covariance of every pair's coefficients in the baseline and the functions.

    Parameters
    ----------
    rows : FamilyRows
    eta : ndarray of shape (n, p)
        Predictors of the fit.
    penalty : NuisancePenalty

    Returns
    -------
    blocks : ndarray of shape (p, p, 1 + M, 1 + M)
        Divided by noise / n, like those of :func:`plaggm.core.inference.spline_inference.posterior_blocks`.
    noise : ndarray of shape (p,)
        Square root of every node's dispersion.
    """
    p, q, size = rows.p, rows.b.shape[1], 1 + rows.phi.shape[1]
    working, unrotated = rows.working(eta), np.eye(size - 1)
    blocks = np.empty((p, p, size, size))
    for node in range(p):
        system = spline_system(node_statistics(rows, working, node), unrotated)
        whole = moments(system)
        whole[q:, q:] += penalty.matrix(node, q)
        whole[np.arange(q), np.arange(q)] += NETWORK_RIDGE * np.mean(np.diagonal(system.bb))
        inverse = inverse_within(whole, other_columns(size, q, node))
        of_column = np.einsum("akbk->kab", inverse.reshape(size, q, size, q))
        blocks[node] = of_column[:p]
        blocks[node, node] = of_column[p]
    return blocks, np.sqrt(dispersions(rows, eta))


def dispersions(rows: FamilyRows, eta: Array, spent: Array | float = 0.0) -> Array:
    """Pearson's estimate of every node's dispersion, one for binary variables: shape (p,).

    Parameters
    ----------
    rows : FamilyRows
    eta : ndarray of shape (n, p)
    spent : ndarray of shape (p,) or float
        Degrees of freedom of the fit.
    """
    slope, curvature = rows.columns.slopes(rows.x, eta)
    squares = rows.counts @ (slope**2 / curvature)
    found = squares / np.maximum(rows.n - spent, 0.1 * rows.n)
    return np.where(rows.columns.dispersed() > 0.0, found, 1.0)
