r"""Networks shrunk towards a given one: the joint node regressions with a quadratic penalty.

The problem is

    sum_j |y_j - sum_k Omega_jk x_k|^2 / (2 n) + strength sum_{j<k} (Omega_jk - T_jk)^2

over symmetric Omega, with node j's transformed columns and a target T. Conjugate gradients need one product
of every node's Gram matrix and a vector in each step. At strength 1 / (2 n v) the solution is the posterior
mean for Gaussian edges with mean T, variance v and unit noise.
"""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.grams.common_grams import CommonGrams
from plaggm.core.grams.node_grams import GramMatrices, fill_intercepts, profile_intercepts

# Largest norm of the gradient relative to that at the target, and largest number of steps.
TOL, STEPS = 1e-6, 1000


def ridge_path(
    node_grams: GramMatrices,
    strengths: Array,
    target: Array | None = None,
    *,
    tol: float = TOL,
) -> Array:
    """The network at every strength of the penalty.

    Parameters
    ----------
    node_grams : GramMatrices
    strengths : ndarray of shape (A,)
        Positive; fastest if decreasing, since each solution starts from the previous one.
    target : ndarray of shape (p, p), optional
        Symmetric network T; empty if absent.
    tol : float
        Largest norm of the gradient relative to that at the target.

    Returns
    -------
    ndarray of shape (A, p, p)
        Intercepts on the diagonal.
    """
    centred = (
        node_grams.centred()
        if isinstance(node_grams, CommonGrams)
        else profile_intercepts(node_grams)
    )
    p = node_grams.p

    def product(omega: Array, strength: float) -> Array:
        rows = centred.products(omega)
        return _off_diagonal(rows + rows.T + 2.0 * strength * omega)

    responses = centred.responses()
    anchor = np.zeros((p, p)) if target is None else _off_diagonal(target)
    start = _off_diagonal(responses + responses.T) - product(anchor, 0.0)
    curvature = centred.diagonals()
    curvature = curvature + curvature.T
    limit = tol * float(np.linalg.norm(start))
    change = np.zeros((p, p))
    out = np.empty((len(strengths), p, p))
    for place, strength in enumerate(np.asarray(strengths, dtype=np.float64)):
        scale = 1.0 / (curvature + 2.0 * strength)
        left = start - product(change, strength)
        direction = step = scale * left
        size = float(np.sum(left * step))
        for _ in range(STEPS):
            if np.linalg.norm(left) <= limit:
                break
            image = product(direction, strength)
            length = size / float(np.sum(direction * image))
            change = change + length * direction
            left = left - length * image
            step = scale * left
            before, size = size, float(np.sum(left * step))
            direction = step + size / before * direction
        out[place] = anchor + change
    return fill_intercepts(node_grams, out)


def _off_diagonal(matrix: Array) -> Array:
    off = matrix.copy()
    off.flat[:: len(off) + 1] = 0.0
    return off
