"""The part of the responses that no network can explain, which is excluded from duality gaps."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from plaggm.array_types import Array
from plaggm.core.grams.factored_grams import LowRankGrams
from plaggm.core.grams.node_grams import Centred
from plaggm.core.numerics.threads import single_threaded_blas

# Ratio of Cholesky pivots below which the columns of a node count as dependent.
DEPENDENT = 1e-5


def unexplained_energy(centred: Centred) -> Array:
    """Residual sum of squares y_j'y_j - c_j' G_j^{-1} c_j of every response on all of its node's columns.

    If the columns are nearly dependent it is zero, which is a valid lower bound.

    Returns
    -------
    ndarray of shape (p,)
    """
    if isinstance(centred, LowRankGrams):
        return _factored_unexplained(centred)
    p = len(centred.index)
    out = np.zeros(p)
    # With the response last, the squared last entry of the Cholesky factor is its residual.
    nodes = np.arange(p)[:, None]
    others = np.arange(p - 1)
    orders = np.hstack([others + (others >= nodes), nodes])
    # Threads inside BLAS do not pay for small matrices.
    with single_threaded_blas():
        for j, order in enumerate(orders):
            gram = centred.grams[centred.index[j]][order[:, None], order]
            factor, failed = dpotrf(gram, lower=True, overwrite_a=True)
            diagonal = factor.diagonal()
            if not failed and diagonal[:-1].min() > DEPENDENT * diagonal[:-1].max():
                out[j] = diagonal[-1] ** 2
    return out


def _factored_unexplained(centred: LowRankGrams) -> Array:
    """One over the diagonal of node j's inverse at its own column, by Woodbury's identity."""
    p = centred.p
    with single_threaded_blas():
        factor, failed = dpotrf(centred.shared, lower=True, clean=True)
        diagonal = factor.diagonal()
        if failed or diagonal.min() <= DEPENDENT * diagonal.max():
            return np.zeros(p)
        inverse = dpotri(factor, lower=True)[0]
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        left, right = (part.reshape(-1, p) @ inverse for part in (centred.left, centred.right))
    left, right = left.reshape(centred.left.shape), right.reshape(centred.left.shape)
    nodes = np.arange(p)
    small = np.eye(left.shape[1]) + np.matmul(right, centred.left.transpose(0, 2, 1))
    lost = np.linalg.solve(small, right[nodes, :, nodes][:, :, None])[:, :, 0]
    own = np.diagonal(inverse) - np.sum(left[nodes, :, nodes] * lost, axis=1)
    return np.asarray(np.where(own > 0.0, 1.0 / np.where(own > 0.0, own, 1.0), 0.0))
