"""Node Gram matrices in factored form: a matrix that all nodes share and a low-rank correction for each.

Where the nuisance is a spline, or where nothing depends on the node, node j's Gram matrix is

    G_j = H + L_j' R_j,     H (q, q) shared, L_j and R_j (k, q) with k small

(`plaggm.core.profile.spline`). This form takes q^2 + 2 p k q numbers instead of p q^2. The products,
diagonals, rows and small blocks that the lasso, selection and tests need follow without the matrices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.numerics.compiled import compiled
from plaggm.core.numerics.coordinate_steps import add_scaled

# Share of non-zero coefficients below which products are sums of single rows.
FEW_COEFFICIENTS = 0.1


@dataclass(frozen=True, slots=True)
class LowRankGrams:
    """Symmetric matrices H + L_j' R_j.

    Attributes
    ----------
    shared : ndarray of shape (w, w)
        H.
    left, right : ndarray of shape (p, k, w)
        L_j and R_j, with symmetric L_j' R_j; k may be zero.
    """

    shared: Array
    left: Array
    right: Array

    @property
    def p(self) -> int:
        """Number of nodes."""
        return len(self.left)

    def node(self, j: int) -> Array:
        """Node j's matrix: shape (w, w)."""
        product = self.left[j].T @ self.right[j]
        return np.asarray(self.shared + 0.5 * (product + product.T))

    def block(self, j: int, columns: Index) -> Array:
        """Some rows and columns of node j's matrix: shape (len(columns), len(columns))."""
        product = self.left[j][:, columns].T @ self.right[j][:, columns]
        return np.asarray(self.shared[np.ix_(columns, columns)] + 0.5 * (product + product.T))

    def node_product(self, j: int, vector: Array) -> Array:
        """Node j's matrix times a vector: shape (w,)."""
        some = np.flatnonzero(vector)
        own = self.right[j][:, some] @ vector[some]
        return np.asarray(vector[some] @ self.shared[some] + own @ self.left[j])

    def responses(self) -> Array:
        """Row j of node j's matrix: shape (p, w)."""
        own = self.left[np.arange(self.p), :, np.arange(self.p)]
        return np.asarray(self.shared[: self.p] + np.einsum("jk,jkc->jc", own, self.right))

    def last_rows(self) -> Array:
        """Last row of every node's matrix: shape (p, w)."""
        last = np.einsum("jk,jkc->jc", self.left[:, :, -1], self.right)
        return np.asarray(self.shared[-1] + last)

    def diagonals(self) -> Array:
        """Diagonal of every node's matrix: shape (p, w)."""
        return np.asarray(
            np.diagonal(self.shared) + np.einsum("jkc,jkc->jc", self.left, self.right)
        )

    def mean(self) -> Array:
        """Mean of the nodes' matrices: shape (w, w)."""
        width = self.shared.shape[0]
        product = self.left.reshape(-1, width).T @ self.right.reshape(-1, width) / self.p
        return np.asarray(self.shared + 0.5 * (product + product.T))

    def products(self, vectors: Array) -> Array:
        """Every node's matrix times its own vector, node j's in row j.

        Parameters
        ----------
        vectors : ndarray of shape (p, w)

        Returns
        -------
        ndarray of shape (p, w)
        """
        if np.count_nonzero(vectors) < FEW_COEFFICIENTS * vectors.size:
            out = np.zeros_like(vectors)
            _add_rows(np.ascontiguousarray(vectors), self.shared, out)
        else:
            out = vectors @ self.shared
        if self.left.shape[1]:
            reduced = np.einsum("jkc,jc->jk", self.right, vectors)
            out += np.matmul(reduced[:, None, :], self.left)[:, 0]
        return out

    def rescaled(self, factor: Array) -> LowRankGrams:
        """Matrices with rows and columns multiplied by a factor of shape (w,)."""
        return LowRankGrams(
            self.shared * np.outer(factor, factor), self.left * factor, self.right * factor
        )

    def without_last(self, least: float) -> LowRankGrams:
        """Matrices with the last column minimised out: G - g g' / g_last with g their last row.

        The last column is only deleted where its diagonal entry is at most ``least``.
        """
        last = self.last_rows()
        known = last[:, -1] > least
        slope = np.where(known[:, None], -last / np.where(known, last[:, -1], 1.0)[:, None], 0.0)
        return LowRankGrams(
            np.ascontiguousarray(self.shared[:-1, :-1]),
            np.concatenate([self.left[:, :, :-1], last[:, None, :-1]], axis=1),
            np.concatenate([self.right[:, :, :-1], slope[:, None, :-1]], axis=1),
        )


@dataclass(frozen=True, slots=True)
class FactoredGrams:
    """`plaggm.core.grams.node_grams.GramMatrices` in factored form.

    Attributes
    ----------
    factors : LowRankGrams
        Columns in the order [Z, 1].
    n : int
        Rows that were summed.
    smoother_trace : ndarray of shape (p,)
        Trace of node j's smoother matrix.
    """

    factors: LowRankGrams
    n: int
    smoother_trace: Array

    @property
    def p(self) -> int:
        """Number of nodes."""
        return self.factors.p

    def rescaled(self, scale: Array) -> FactoredGrams:
        """See :class:`plaggm.core.grams.node_grams.GramMatrices`."""
        factor = np.append(1.0 / scale, 1.0)
        return FactoredGrams(self.factors.rescaled(factor), self.n, self.smoother_trace)

    def with_trace(self, smoother_trace: Array) -> FactoredGrams:
        """See :class:`plaggm.core.grams.node_grams.GramMatrices`."""
        return FactoredGrams(self.factors, self.n, smoother_trace)

    def node(self, j: int) -> Array:
        """Node j's matrix: shape (q, q)."""
        return self.factors.node(j)

    def last_rows(self) -> Array:
        """Products of every node's columns with its constant: shape (p, q)."""
        return self.factors.last_rows()

    def responses(self) -> Array:
        """Products of every node's columns with its response: shape (p, q)."""
        return self.factors.responses()

    def diagonals(self) -> Array:
        """Mean squares of every node's columns: shape (p, q)."""
        return self.factors.diagonals()

    def quadratic_forms(self, vectors: Array) -> Array:
        """See :class:`plaggm.core.grams.node_grams.GramMatrices`."""
        flat = vectors.reshape(-1, *vectors.shape[-2:])
        found = np.empty((len(flat), self.p))
        for step, columns in enumerate(flat):
            rows = np.ascontiguousarray(columns.T)
            found[step] = np.einsum("jc,jc->j", self.factors.products(rows), rows)
        return found.reshape(*vectors.shape[:-2], self.p)


@compiled()
def _add_rows(vectors: Array, shared: Array, out: Array) -> None:
    for j in range(vectors.shape[0]):
        for k in range(vectors.shape[1]):
            if vectors[j, k] != 0.0:
                add_scaled(out[j], shared[k], vectors[j, k])
