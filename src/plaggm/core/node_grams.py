"""Node Gram matrices: all that the lasso ever sees of the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf

from plaggm.array_types import Array, Mask
from plaggm.core.threads import single_threaded_blas

# A transformed constant whose mean square is below this holds no information on the intercept.
NO_INTERCEPT = 1e-12
# Ratio of Cholesky pivots below which the columns of a node count as dependent.
DEPENDENT = 1e-5
# Part of a mean square that rounding can leave of a column that was removed.
ROUNDING = 1e-13


@dataclass(frozen=True, slots=True)
class NodeGrams:
    """Gram matrices T_j'T_j / n of the transformed columns, in the order [Z, 1].

    Attributes
    ----------
    grams : ndarray of shape (p, q, q) or (1, q, q)
        Node j's own column holds y'_j, the last the transformed constant, the others x'_j. A single
        matrix serves all nodes where nothing depends on the node.
    n : int
        Rows that were summed.
    smoother_trace : ndarray of shape (p,)
        Trace of node j's smoother matrix: degrees of freedom spent on the nuisance.
    """

    grams: Array
    n: int
    smoother_trace: Array

    @property
    def p(self) -> int:
        """Number of nodes."""
        return int(self.grams.shape[1]) - 1

    def node_index(self) -> NDArray[np.int64]:
        """Which matrix serves each node: shape (p,)."""
        shared = self.grams.shape[0] == 1
        return np.zeros(self.p, np.int64) if shared else np.arange(self.p, dtype=np.int64)

    def rescaled(self, scale: Array) -> NodeGrams:
        """Grams of the columns z_j / scale_j; the constant stays as it is."""
        factor = np.append(1.0 / scale, 1.0)
        return NodeGrams(self.grams * np.outer(factor, factor), self.n, self.smoother_trace)


@dataclass(frozen=True, slots=True)
class CentredGrams:
    """Node Grams with the unpenalised intercepts minimised out.

    Attributes
    ----------
    grams : ndarray of shape (p, p, p) or (1, p, p)
    index : ndarray of shape (p,)
        Number of the matrix that serves each node.
    """

    grams: Array
    index: NDArray[np.int64]


def profile_intercepts(node_grams: NodeGrams) -> CentredGrams:
    """Minimise every node's intercept out: G - G[:, c] G[c, :] / G[c, c] with c the constant."""
    full = node_grams.grams
    slope = _intercept_slopes(full)
    # In place: with hundreds of nodes the matrices are most of the memory that a fit takes.
    centred = slope[:, :, None] * full[:, None, :-1, -1]
    np.subtract(full[:, :-1, :-1], centred, out=centred)
    gone = _gone(node_grams, slope)
    if gone.any():
        centred = np.where(gone[:, :, None] | gone[:, None, :], 0.0, centred)
    return CentredGrams(centred, node_grams.node_index())


def centred_responses(node_grams: NodeGrams) -> Array:
    """Row j of node j's Gram with the intercept minimised out: shape (p, p)."""
    full, index = node_grams.grams, node_grams.node_index()
    slope = _intercept_slopes(full)
    nodes = np.arange(node_grams.p)
    own = slope[index, nodes]
    rows = full[index, nodes, :-1] - own[:, None] * full[index, :-1, -1]
    gone = _gone(node_grams, slope)[index]
    return np.where(gone | gone[nodes, nodes][:, None], 0.0, rows)


def _intercept_slopes(full: Array) -> Array:
    """Slope of every column on the constant, zero where nothing is known of it: shape (p or 1, p)."""
    constant = full[:, -1, -1]
    known = constant > NO_INTERCEPT
    slope = full[:, :-1, -1] / np.where(known, constant, 1.0)[:, None]
    slope[~known] = 0.0
    return slope


def _gone(node_grams: NodeGrams, slope: Array) -> Mask:
    """Columns of which only rounding is left, by the intercept or by the smoother: shape of slope."""
    full = node_grams.grams
    before = np.einsum("jkk->jk", full[:, :-1, :-1])
    after = before - slope * full[:, :-1, -1]
    response = before[node_grams.node_index(), np.arange(node_grams.p)]
    gone: Mask = (after <= ROUNDING * before) | (before <= ROUNDING**2 * response)
    return gone


def unexplained_energy(centred: CentredGrams) -> Array:
    """Energy y_j'y_j - c_j' G_j^{-1} c_j of every response that its node's columns cannot reach.

    Zero, which is always a valid lower bound, where the columns are nearly dependent.

    Returns
    -------
    ndarray of shape (p,)
    """
    p = len(centred.index)
    out = np.zeros(p)
    # With the response last, the last entry of the Cholesky factor is what is left of it.
    nodes = np.arange(p)[:, None]
    others = np.arange(p - 1)
    orders = np.hstack([others + (others >= nodes), nodes])
    # Many small factorisations: threads inside BLAS would only wait for each other.
    with single_threaded_blas():
        for j, order in enumerate(orders):
            gram = centred.grams[centred.index[j]][order[:, None], order]
            factor, failed = dpotrf(gram, lower=True, overwrite_a=True)
            diagonal = factor.diagonal()
            if not failed and diagonal[:-1].min() > DEPENDENT * diagonal[:-1].max():
                out[j] = diagonal[-1] ** 2
    return out


def intercepts(node_grams: NodeGrams, omega: Array) -> Array:
    """The intercepts that minimise the loss for given off-diagonals.

    Parameters
    ----------
    node_grams : NodeGrams
    omega : ndarray of shape (..., p, p)
        Column j holds node j's coefficients; the diagonal is not read.

    Returns
    -------
    ndarray of shape (..., p)
    """
    cross = np.broadcast_to(node_grams.grams[:, -1, :-1], (node_grams.p, node_grams.p))
    constant = np.broadcast_to(node_grams.grams[:, -1, -1], (node_grams.p,))
    own = np.diagonal(cross)
    diagonal = np.diagonal(omega, axis1=-2, axis2=-1)
    explained = np.einsum("jk,...kj->...j", cross, omega) - own * diagonal
    known = constant > NO_INTERCEPT
    return np.where(known, (own - explained) / np.where(known, constant, 1.0), 0.0)


def residual_coefficients(omega: Array) -> Array:
    """[1, -Omega_j] of every node: its residual is the product with the columns [Z, 1].

    Parameters
    ----------
    omega : ndarray of shape (..., p, p)
        Column j holds node j's coefficients, the diagonal the intercepts.

    Returns
    -------
    ndarray of shape (..., p + 1, p)
        Column j is node j's: one in row j, minus the intercept in the last.
    """
    p = omega.shape[-1]
    index = np.arange(p)
    out = np.empty((*omega.shape[:-2], p + 1, p))
    out[..., :p, :] = -omega
    out[..., p, :] = -np.diagonal(omega, axis1=-2, axis2=-1)
    out[..., index, index] = 1.0
    return out


def residual_variances(node_grams: NodeGrams, omega: Array) -> Array:
    """Mean squared residual of every node: [1, -Omega_j] G_j [1, -Omega_j]'.

    Parameters
    ----------
    node_grams : NodeGrams
    omega : ndarray of shape (p, p)
        Intercepts on the diagonal.

    Returns
    -------
    ndarray of shape (p,)
    """
    residuals: Array = path_residuals(node_grams, omega[None])[0]
    return residuals


def path_residuals(node_grams: NodeGrams, omega_path: Array) -> Array:
    """Mean squared residual of every node at every step of a path, all steps at once.

    Parameters
    ----------
    node_grams : NodeGrams
    omega_path : ndarray of shape (steps, p, p)
        Intercepts on the diagonals.

    Returns
    -------
    ndarray of shape (steps, p)
    """
    v = np.ascontiguousarray(residual_coefficients(omega_path).transpose(2, 0, 1))
    product = np.matmul(v, node_grams.grams)
    residuals: Array = np.maximum(np.sum(product * v, axis=2), 0.0).T
    return residuals


def fill_intercepts(node_grams: NodeGrams, omega: Array) -> Array:
    """A copy of omega (..., p, p) with the minimising intercepts on the diagonal."""
    filled = omega.copy()
    index = np.arange(node_grams.p)
    filled[..., index, index] = intercepts(node_grams, omega)
    return filled
