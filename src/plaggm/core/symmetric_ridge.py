r"""Networks shrunk towards a given one: the joint node regressions with a quadratic penalty.

The lasso's problem with another penalty,

    sum_j |y_j - sum_k Omega_jk x_k|^2 / (2 n) + strength sum_{j<k} (Omega_jk - T_jk)^2,

over symmetric Omega with node j's transformed columns and a target T. Its gradient for the pair (j, k) is
row j of G_j Omega_j plus row k's counterpart, so that conjugate gradients need one product with every
node's Gram matrix in each step and never the matrix of all pairs. For Gaussian edges round T with variance
v and unit noise it is the posterior mean at strength 1 / (2 n v).
"""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.common_grams import CommonGrams
from plaggm.core.node_grams import GramMatrices, fill_intercepts, profile_intercepts

# Largest norm of what is left of the gradient, as a part of that at the target, and steps until then.
TOL, STEPS = 1e-6, 1000


def ridge_path(
    node_grams: GramMatrices,
    strengths: Array,
    target: Array | None = None,
    *,
    tol: float = TOL,
) -> Array:
    """Estimate the network at every strength of the penalty.

    Parameters
    ----------
    node_grams : GramMatrices
    strengths : ndarray of shape (A,)
        Positive; each solution starts from the one before, so decreasing ones are fastest.
    target : ndarray of shape (p, p), optional
        Symmetric network that is shrunk towards; the empty one when absent.
    tol : float
        Largest norm of the gradient, as a part of that at the target.

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
