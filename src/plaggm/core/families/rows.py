"""Rows of variables of several families: predictors, slopes and weighted sums of all nodes.

A node's coefficients are laid out as W = [B, D], B = [Z, 1] and D = [phi_a(g) b]_a as in
`plaggm.core.profile.spline`: column j of a table ((1 + M) q, p) is node j's, its own rows being zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.families.columns import FamilyColumns
from plaggm.core.families.distributions import CODES
from plaggm.core.families.slopes import weighted_slopes
from plaggm.core.spline.statistics import function_products

# Rows of W that are formed at a time.
CHUNK_ROWS = 4096
# Largest number of combinations of non-zero functions by which rows are grouped.
MOST_PATTERNS = 64
# Largest number of entries of W that are stored; larger tables are formed in every step.
MOST_NUMBERS = 2**25


@dataclass(frozen=True, slots=True)
class RowTable:
    """Some rows of W without the columns that are zero in all of them.

    Attributes
    ----------
    rows : ndarray of int of shape (k,)
    columns : ndarray of int of shape (c,)
    products : ndarray of shape (k, c)
    """

    rows: Index
    columns: Index
    products: Array


@dataclass(frozen=True, slots=True)
class FamilyRows:
    """Rows, the functions of their confounders, and the units of the variables.

    Attributes
    ----------
    x : ndarray of shape (n, p)
        Values in their own units.
    phi : ndarray of shape (n, M)
        Functions of the confounders.
    columns : FamilyColumns
    b : ndarray of shape (n, q)
        [Z, 1], Z being the columns as they enter the predictors of other nodes.
    counts : ndarray of shape (n,)
        Number of times that each row counts.
    tables : tuple of RowTable or None
        W of all rows; None if it is too large and formed when it is needed.
    """

    x: Array
    phi: Array
    columns: FamilyColumns
    b: Array
    counts: Array
    tables: tuple[RowTable, ...] | None

    @property
    def n(self) -> float:
        """Sum of the counts of all rows."""
        return float(self.counts.sum())

    @property
    def p(self) -> int:
        """Number of variables."""
        return int(self.x.shape[1])

    @property
    def size(self) -> int:
        """Number of coefficients of a node including those of its own columns: (1 + M) q."""
        return int((1 + self.phi.shape[1]) * self.b.shape[1])

    def take(self, index: Index) -> FamilyRows:
        """Some of the rows."""
        x, phi, b = self.x[index], self.phi[index], self.b[index]
        return FamilyRows(x, phi, self.columns, b, self.counts[index], _stored_tables(b, phi))

    def repeated(self, counts: Array) -> FamilyRows:
        """The same rows with their counts multiplied by ``counts`` (n,)."""
        return replace(self, counts=self.counts * counts)

    def predictors(self, coefficients: Array) -> Array:
        """eta of every row and node: shape (n, p)."""
        eta = np.empty((len(self.x), self.p))
        for part in self._tables():
            eta[part.rows] = part.products @ coefficients[part.columns]
        return eta

    def loss(self, eta: Array) -> float:
        """Minus the mean log-likelihood, summed over the nodes."""
        return -float(self.counts @ self.columns.log_likelihood(self.x, eta).sum(axis=1)) / self.n

    def evaluate(self, eta: Array) -> tuple[float, Array]:
        """Value of :meth:`loss` up to a constant, and the slopes of all values for :meth:`gradient`.

        Returns
        -------
        loss : float
        slopes : ndarray of shape (n, p)
        """
        columns, slopes = self.columns, np.empty_like(eta)
        codes = np.array([CODES[name] for name in columns.families], dtype=np.intp)
        total = weighted_slopes(
            self.x, eta, codes, columns.location, columns.scale, self.counts, slopes
        )
        return -total / self.n, slopes

    def gradient(self, slope: Array) -> Array:
        """Gradient of the loss in the coefficients, zero for a node's own columns: shape ((1 + M) q, p).

        Parameters
        ----------
        slope : ndarray of shape (n, p)
            From :meth:`evaluate`.
        """
        total = np.zeros((self.size, self.p))
        for part in self._tables():
            total[part.columns] -= part.products.T @ slope[part.rows]
        return clear_own(total / self.n)

    def working(self, eta: Array) -> tuple[Array, Array]:
        """Weights and working responses of a quadratic model of the loss around eta: shape (n, p) each."""
        slope, curvature = self.columns.slopes(self.x, eta)
        return curvature * self.counts[:, None], eta + slope / curvature

    def _tables(self) -> Iterable[RowTable]:
        """W of all rows, in several tables."""
        return _row_tables(self.b, self.phi) if self.tables is None else self.tables


def _row_tables(b: Array, phi: Array) -> Iterator[RowTable]:
    """W of the rows, grouped by their non-zero functions, of which B-splines have few."""
    q = b.shape[1]
    patterns, kind = np.unique(phi != 0.0, axis=0, return_inverse=True)
    if len(patterns) > MOST_PATTERNS:
        patterns, kind = np.ones((1, phi.shape[1]), dtype=np.bool_), np.zeros(len(b), np.intp)
    kind = kind.ravel()
    for number, pattern in enumerate(patterns):
        alike, nonzero = np.flatnonzero(kind == number), np.flatnonzero(pattern)
        blocks = np.append(0, 1 + nonzero)
        columns = (blocks[:, None] * q + np.arange(q)).ravel()
        for start in range(0, len(alike), CHUNK_ROWS):
            rows = alike[start : start + CHUNK_ROWS]
            yield RowTable(rows, columns, function_products(b[rows], phi[np.ix_(rows, nonzero)]))


def family_rows(x: Array, phi: Array, columns: FamilyColumns) -> FamilyRows:
    """Rows that count once.

    Parameters
    ----------
    x : ndarray of shape (n, p)
    phi : ndarray of shape (n, M)
    columns : FamilyColumns
    """
    b = np.column_stack([columns.seen(x), np.ones(len(x))])
    return FamilyRows(x, phi, columns, b, np.ones(len(x)), _stored_tables(b, phi))


def _stored_tables(b: Array, phi: Array) -> tuple[RowTable, ...] | None:
    nonzero = len(b) + np.count_nonzero(phi)
    return tuple(_row_tables(b, phi)) if nonzero * b.shape[1] <= MOST_NUMBERS else None


def clear_own(table: Array) -> Array:
    """Set every node's own rows of a table ((1 + M) q, p) to zero, in place."""
    p = table.shape[1]
    nodes = np.arange(p)
    table.reshape(-1, p + 1, p)[:, nodes, nodes] = 0.0
    return table
