"""Node Gram matrices of regressions that differ only in their response."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from plaggm.array_types import Array
from plaggm.core.grams.node_grams import NO_INTERCEPT, NodeGrams


@dataclass(frozen=True, slots=True)
class CommonGrams:
    """`GramMatrices` of regressions of y_j on the other columns of [Z, 1], for all nodes j.

    The p matrices differ in one row and column only and are not formed.

    Attributes
    ----------
    columns : ndarray of shape (q, q)
        Mean products of [Z, 1].
    cross : ndarray of shape (p, q)
        Mean products of every response with [Z, 1].
    own : ndarray of shape (p,)
        Mean squares of the responses.
    n : int
        Rows that were summed.
    smoother_trace : ndarray of shape (p,)
        Degrees of freedom of the nuisance.
    """

    columns: Array = field(repr=False)
    cross: Array = field(repr=False)
    own: Array = field(repr=False)
    n: int
    smoother_trace: Array = field(repr=False)

    @property
    def p(self) -> int:
        """Number of nodes."""
        return len(self.own)

    def formed(self) -> NodeGrams:
        """The p matrices."""
        grams = np.repeat(self.columns[None], self.p, axis=0)
        index = np.arange(self.p)
        rows = self.responses()
        grams[index, index, :] = rows
        grams[index, :, index] = rows
        return NodeGrams(grams, self.n, self.smoother_trace)

    def rescaled(self, scale: Array) -> CommonGrams:
        """See :class:`plaggm.core.grams.node_grams.GramMatrices`; responses are divided as well."""
        factor = np.append(1.0 / scale, 1.0)
        return CommonGrams(
            self.columns * np.outer(factor, factor),
            self.cross * np.outer(1.0 / scale, factor),
            self.own / scale**2,
            self.n,
            self.smoother_trace,
        )

    def with_trace(self, smoother_trace: Array) -> CommonGrams:
        """See :class:`plaggm.core.grams.node_grams.GramMatrices`."""
        return CommonGrams(self.columns, self.cross, self.own, self.n, smoother_trace)

    def node(self, j: int) -> Array:
        """Node j's matrix: shape (q, q)."""
        gram = self.columns.copy()
        gram[j] = gram[:, j] = self.responses()[j]
        return gram

    def last_rows(self) -> Array:
        """Products of every node's columns with its constant: shape (p, q)."""
        rows = np.repeat(self.columns[None, -1], self.p, axis=0)
        index = np.arange(self.p)
        rows[index, index] = self.cross[:, -1]
        return rows

    def responses(self) -> Array:
        """Products of every node's columns with its response: shape (p, q)."""
        rows = self.cross.copy()
        index = np.arange(self.p)
        rows[index, index] = self.own
        return rows

    def diagonals(self) -> Array:
        """Mean squares of every node's columns: shape (p, q)."""
        rows = np.repeat(np.diagonal(self.columns)[None], self.p, axis=0)
        index = np.arange(self.p)
        rows[index, index] = self.own
        return rows

    def quadratic_forms(self, vectors: Array) -> Array:
        """See :class:`plaggm.core.grams.node_grams.GramMatrices`."""
        index = np.arange(self.p)
        weight = vectors[..., index, index]
        others = vectors.copy()
        others[..., index, index] = 0.0
        squares = np.sum(others * (self.columns @ others), axis=-2)
        products = np.einsum("jk,...kj->...j", self.cross, others)
        return np.asarray(squares + 2.0 * weight * products + weight**2 * self.own)

    def centred(self) -> CommonGrams:
        """The same without the constant, with every node's intercept minimised out."""
        size = float(self.columns[-1, -1])
        mean = self.columns[:-1, -1] / size if size > NO_INTERCEPT else np.zeros(self.p)
        shift = self.cross[:, -1]
        return CommonGrams(
            self.columns[:-1, :-1] - size * np.outer(mean, mean),
            self.cross[:, :-1] - np.outer(shift, mean),
            self.own - (shift**2 / size if size > NO_INTERCEPT else 0.0),
            self.n,
            self.smoother_trace,
        )

    def products(self, vectors: Array) -> Array:
        """Products of every node's matrix with a vector in row j: shape (p, p).

        The vectors must be zero on the diagonal, and the diagonal of the result has no meaning.
        """
        return np.asarray(vectors @ self.columns)
