"""Node Gram matrices, the only form in which the lasso uses the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array, Index
from plaggm.core.grams.factored_grams import FactoredGrams, LowRankGrams

# Mean square of the transformed constant below which it counts as zero.
NO_INTERCEPT = 1e-12
# Relative mean square below which the rest of a column counts as rounding error.
ROUNDING = 1e-13


class GramMatrices(Protocol):
    """The interface of node Grams, whether formed (`NodeGrams`) or factored (`FactoredGrams`)."""

    @property
    def n(self) -> int:
        """Rows that were summed."""
        ...

    @property
    def smoother_trace(self) -> Array:
        """Degrees of freedom of every node's nuisance: shape (p,)."""
        ...

    @property
    def p(self) -> int:
        """Number of nodes."""
        ...

    def rescaled(self, scale: Array) -> GramMatrices:
        """Grams of the columns z_j / scale_j; the constant stays as it is."""
        ...

    def with_trace(self, smoother_trace: Array) -> GramMatrices:
        """The same Grams with other degrees of freedom of the nuisance."""
        ...

    def node(self, j: int) -> Array:
        """Node j's matrix: shape (q, q)."""
        ...

    def last_rows(self) -> Array:
        """Products of every node's columns with its constant: shape (p, q)."""
        ...

    def responses(self) -> Array:
        """Products of every node's columns with its response: shape (p, q)."""
        ...

    def diagonals(self) -> Array:
        """Mean squares of every node's columns: shape (p, q)."""
        ...

    def quadratic_forms(self, vectors: Array) -> Array:
        """v' G_j v of every node for its own vectors.

        Parameters
        ----------
        vectors : ndarray of shape (..., q, p)
            Column j is node j's.

        Returns
        -------
        ndarray of shape (..., p)
        """
        ...


@dataclass(frozen=True, slots=True)
class NodeGrams:
    """Gram matrices T_j'T_j / n of the transformed columns, in the order [Z, 1].

    Attributes
    ----------
    grams : ndarray of shape (p, q, q) or (1, q, q)
        Node j's own column belongs to y'_j, the last one to the transformed constant, the others to x'_j.
        There is a single matrix if it is the same for all nodes.
    n : int
        Rows that were summed.
    smoother_trace : ndarray of shape (p,)
        Trace of node j's smoother matrix: degrees of freedom of the nuisance.
    """

    grams: Array
    n: int
    smoother_trace: Array

    @property
    def p(self) -> int:
        """Number of nodes."""
        return int(self.grams.shape[1]) - 1

    def node_index(self) -> NDArray[np.int64]:
        """Number of each node's matrix: shape (p,)."""
        shared = self.grams.shape[0] == 1
        return np.zeros(self.p, np.int64) if shared else np.arange(self.p, dtype=np.int64)

    def rescaled(self, scale: Array) -> NodeGrams:
        """See :class:`GramMatrices`."""
        factor = np.append(1.0 / scale, 1.0)
        return NodeGrams(self.grams * np.outer(factor, factor), self.n, self.smoother_trace)

    def with_trace(self, smoother_trace: Array) -> NodeGrams:
        """See :class:`GramMatrices`."""
        return NodeGrams(self.grams, self.n, smoother_trace)

    def node(self, j: int) -> Array:
        """Node j's matrix: shape (q, q)."""
        gram: Array = self.grams[j if len(self.grams) > 1 else 0]
        return gram

    def last_rows(self) -> Array:
        """Products of every node's columns with its constant: shape (p, q)."""
        return np.broadcast_to(self.grams[:, -1], (self.p, self.p + 1))

    def responses(self) -> Array:
        """Products of every node's columns with its response: shape (p, q)."""
        rows: Array = self.grams[self.node_index(), np.arange(self.p)]
        return rows

    def diagonals(self) -> Array:
        """Mean squares of every node's columns: shape (p, q)."""
        own = np.einsum("jkk->jk", self.grams)
        return np.broadcast_to(own, (self.p, self.p + 1))

    def quadratic_forms(self, vectors: Array) -> Array:
        """See :class:`GramMatrices`."""
        flat = vectors.reshape(-1, *vectors.shape[-2:])
        v = np.ascontiguousarray(flat.transpose(2, 0, 1))
        forms: Array = np.sum(np.matmul(v, self.grams) * v, axis=2).T
        return forms.reshape(*vectors.shape[:-2], self.p)


@dataclass(frozen=True, slots=True)
class CentredGrams:
    """Node Grams with the unpenalised intercepts minimised out.

    Attributes
    ----------
    grams : ndarray of shape (p, p, p) or (1, p, p)
    index : ndarray of shape (p,)
        Number of each node's matrix.
    """

    grams: Array
    index: NDArray[np.int64]

    @property
    def p(self) -> int:
        """Number of nodes."""
        return len(self.index)

    def node(self, j: int) -> Array:
        """Node j's matrix: shape (p, p)."""
        gram: Array = self.grams[self.index[j]]
        return gram

    def rescaled(self, factor: Array) -> CentredGrams:
        """Matrices with rows and columns multiplied by a factor of shape (p,)."""
        return CentredGrams(self.grams * np.outer(factor, factor), self.index)

    def node_product(self, j: int, vector: Array) -> Array:
        """Node j's matrix times a vector: shape (p,)."""
        return np.asarray(self.node(j) @ vector)

    def block(self, j: int, columns: Index) -> Array:
        """Some rows and columns of node j's matrix: shape (len(columns), len(columns))."""
        block: Array = self.node(j)[np.ix_(columns, columns)]
        return block

    def responses(self) -> Array:
        """Row j of node j's matrix: shape (p, p)."""
        rows: Array = self.grams[self.index, np.arange(self.p)]
        return rows

    def diagonals(self) -> Array:
        """Diagonal of every node's matrix: shape (p, p)."""
        diagonals: Array = np.einsum("jkk->jk", self.grams)[self.index]
        return diagonals

    def products(self, vectors: Array) -> Array:
        """Every node's matrix times its own vector (p, p), node j's in row j: shape (p, p)."""
        if len(self.grams) == 1:
            return np.asarray(vectors @ self.grams[0])
        products: Array = np.matmul(vectors[:, None, :], self.grams[self.index])[:, 0, :]
        return products


# Node Grams with the intercepts minimised out, formed or factored.
Centred = CentredGrams | LowRankGrams


@overload
def profile_intercepts(node_grams: NodeGrams) -> CentredGrams: ...
@overload
def profile_intercepts(node_grams: GramMatrices) -> Centred: ...
def profile_intercepts(node_grams: GramMatrices) -> Centred:
    """Node Grams with the intercepts minimised out: G - G[:, c] G[c, :] / G[c, c] with c the constant."""
    if isinstance(node_grams, FactoredGrams):
        return _factored_without_intercepts(node_grams)
    assert isinstance(node_grams, NodeGrams)
    full, index = node_grams.grams, node_grams.node_index()
    constant = full[:, -1, -1]
    known = constant > NO_INTERCEPT
    slope = full[:, :-1, -1] / np.where(known, constant, 1.0)[:, None]
    slope[~known] = 0.0
    # In place, since these matrices take most of the memory of a fit.
    centred = slope[:, :, None] * full[:, None, :-1, -1]
    np.subtract(full[:, :-1, :-1], centred, out=centred)
    # Columns that the intercept or the smoother reduces to rounding errors become zero.
    before, after = (np.einsum("jkk->jk", one) for one in (full[:, :-1, :-1], centred))
    response = before[index, np.arange(node_grams.p)]
    removed = (after <= ROUNDING * before) | (before <= ROUNDING**2 * response)
    if removed.any():
        centred = np.where(removed[:, :, None] | removed[:, None, :], 0.0, centred)
    return CentredGrams(centred, index)


def _factored_without_intercepts(node_grams: FactoredGrams) -> LowRankGrams:
    factors = node_grams.factors
    centred = factors.without_last(NO_INTERCEPT)
    before, after = factors.diagonals()[:, :-1], centred.diagonals()
    response = np.diagonal(before)[:, None]
    removed = np.any((after <= ROUNDING * before) | (before <= ROUNDING**2 * response), axis=0)
    return centred.rescaled(np.where(removed, 0.0, 1.0)) if removed.any() else centred


def intercepts(node_grams: GramMatrices, omega: Array) -> Array:
    """The intercepts that minimise the loss for given off-diagonals.

    Parameters
    ----------
    node_grams : GramMatrices
    omega : ndarray of shape (..., p, p)
        Column j holds node j's coefficients; the diagonal is not read.

    Returns
    -------
    ndarray of shape (..., p)
    """
    last = node_grams.last_rows()
    cross, constant = last[:, :-1], last[:, -1]
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


def residual_variances(node_grams: GramMatrices, omega: Array) -> Array:
    """Mean squared residual of every node: [1, -Omega_j] G_j [1, -Omega_j]'.

    Parameters
    ----------
    node_grams : GramMatrices
    omega : ndarray of shape (p, p)
        Intercepts on the diagonal.

    Returns
    -------
    ndarray of shape (p,)
    """
    residuals: Array = path_residuals(node_grams, omega[None])[0]
    return residuals


def path_residuals(node_grams: GramMatrices, omega_path: Array) -> Array:
    """Mean squared residual of every node at every step of a path, all steps at once.

    Parameters
    ----------
    node_grams : GramMatrices
    omega_path : ndarray of shape (steps, p, p)
        Intercepts on the diagonals.

    Returns
    -------
    ndarray of shape (steps, p)
    """
    if isinstance(node_grams, NodeGrams):
        return np.maximum(node_grams.quadratic_forms(residual_coefficients(omega_path)), 0.0)
    # One step at a time, to save memory with many variables.
    steps = [node_grams.quadratic_forms(residual_coefficients(omega)) for omega in omega_path]
    return np.maximum(np.array(steps).reshape(-1, node_grams.p), 0.0)


def fill_intercepts(node_grams: GramMatrices, omega: Array) -> Array:
    """A copy of omega (..., p, p) with the minimising intercepts on the diagonal."""
    filled = omega.copy()
    index = np.arange(node_grams.p)
    filled[..., index, index] = intercepts(node_grams, omega)
    return filled
