"""Exact moments of compact polynomial kernels from prefix sums over the sorted confounder.

Inside its window a compact kernel is a polynomial in u, so that the moments of consecutive rows follow from
their sums of v^d I b b', v being the confounder relative to a fixed centre. These are differences of prefix
sums. Prefix sums restart in every panel of one bandwidth and are centred there, so that |v| <= 1/2 and no
large numbers are subtracted; a window intersects at most four panels.

Prefix sums are stored at the end of every leaf of some dozens of rows. Rows between the last whole leaf and
the edge of a window are weighted directly.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.kernel.kernels import Kernel, scaled_differences
from plaggm.core.kernel.moments import (
    Rows,
    add_weighted_products,
    apply_weights,
    moment_weights,
    packed_products,
)

LEAF_ROWS = 32
PREFIX_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class PrefixMoments:
    """Moments of a compact kernel of one confounder.

    Attributes
    ----------
    rows : Rows
        Sorted by the confounder.
    kernel : Kernel
        A kernel that has polynomial pieces.
    bandwidth : float
    edges : ndarray of shape (leaves + 1,)
        First row of each leaf; a leaf lies within one panel.
    leaf_panel : ndarray of shape (leaves,)
        Panel of each leaf.
    centres : ndarray of shape (panels,)
    squared : ndarray of shape (leaves, degree + 3, q(q+1)/2)
        Sums of v^d I^2 b b' over the panel's rows up to the end of this leaf.
    linear : ndarray of shape (leaves, degree + 2, q(q+1)/2)
        Sums of v^d I b b'.
    """

    rows: Rows
    kernel: Kernel
    bandwidth: float
    edges: Index
    leaf_panel: Index
    centres: Array
    squared: Array
    linear: Array

    @property
    def q(self) -> int:
        """Number of columns of [Z, 1]."""
        return int(self.rows.b.shape[1])

    @property
    def m(self) -> int:
        """Number of confounders: always one."""
        return 1

    def evaluate(self, points: Array) -> tuple[Array, Array]:
        """Moments at each point; see :class:`plaggm.core.kernel.moments.MomentSource`."""
        k, size = len(points), self.q * (self.q + 1) // 2
        squared, linear = np.zeros((3, k, size)), np.zeros((2, k, size))
        g = self.rows.confounder[:, 0]
        low, high = points[0, 0], points[-1, 0]
        # A margin for rounding, so that rows at the edge of a window are weighted directly.
        slack = 1e-12 * (abs(low) + abs(high) + self.bandwidth)
        near = np.zeros(len(g), dtype=bool)
        near[
            np.searchsorted(g, low - self.bandwidth - slack) : np.searchsorted(
                g, high + self.bandwidth + slack, side="right"
            )
        ] = True
        for piece in self.kernel.pieces:
            first = np.searchsorted(g, high + piece.low * self.bandwidth + slack, side="right")
            last = np.searchsorted(g, low + piece.high * self.bandwidth - slack)
            leaf_from = int(np.searchsorted(self.edges, first))
            leaf_to = int(np.searchsorted(self.edges, last, side="right")) - 1
            if leaf_to <= leaf_from:
                continue
            near[self.edges[leaf_from] : self.edges[leaf_to]] = False
            self._add_leaves(squared, linear, points[:, 0], leaf_from, leaf_to, piece.coefficients)
        index = np.flatnonzero(near)
        if index.size:
            part = self.rows.take(index)
            u = scaled_differences(part.confounder, points, np.array([self.bandwidth]))
            add_weighted_products(squared, linear, part, *moment_weights(self.kernel, u))
        return squared, linear

    def _add_leaves(
        self,
        squared: Array,
        linear: Array,
        points: Array,
        leaf_from: int,
        leaf_to: int,
        coefficients: tuple[float, ...],
    ) -> None:
        for panel in range(self.leaf_panel[leaf_from], self.leaf_panel[leaf_to - 1] + 1):
            start = max(leaf_from, int(np.searchsorted(self.leaf_panel, panel)))
            stop = min(leaf_to, int(np.searchsorted(self.leaf_panel, panel, side="right")))
            shift = (self.centres[panel] - points) / self.bandwidth
            for out, prefix, slopes in ((squared, self.squared, 3), (linear, self.linear, 2)):
                sums = prefix[stop - 1]
                if start > 0 and self.leaf_panel[start - 1] == panel:
                    sums = sums - prefix[start - 1]
                weights = np.stack(
                    [
                        shifted_polynomial((0.0,) * s + coefficients, shift, prefix.shape[1])
                        for s in range(slopes)
                    ]
                )
                out += apply_weights(weights, sums)


def shifted_polynomial(coefficients: tuple[float, ...], shift: Array, size: int) -> Array:
    """Coefficients in v of a polynomial in u = v + shift.

    Returns
    -------
    ndarray of shape (len(shift), size)
    """
    out = np.zeros((len(shift), size))
    for power, coefficient in enumerate(coefficients):
        if coefficient == 0.0:
            continue
        for d in range(power + 1):
            out[:, d] += coefficient * comb(power, d) * shift ** (power - d)
    return out


def prefix_moments(rows: Rows, kernel: Kernel, bandwidth: float) -> PrefixMoments:
    """Sort the rows and form the prefix sums of every panel."""
    order = np.argsort(rows.confounder[:, 0], kind="stable")
    rows = rows.take(order)
    g = rows.confounder[:, 0]
    n, q = rows.b.shape
    size = q * (q + 1) // 2
    degree = max(len(piece.coefficients) for piece in kernel.pieces) - 1
    leaf_rows = max(LEAF_ROWS, -(-n * (2 * degree + 5) * size * 8 // PREFIX_BYTES))

    panel, first_row = np.unique(((g - g[0]) / bandwidth).astype(np.intp), return_index=True)
    centres = g[0] + (panel + 0.5) * bandwidth
    ends = np.append(first_row[1:], n)
    edges = np.concatenate(
        [np.arange(a, b, leaf_rows) for a, b in zip(first_row, ends, strict=True)] + [[n]]
    ).astype(np.intp)
    leaf_panel = np.searchsorted(first_row, edges[:-1], side="right") - 1

    squared = np.empty((len(leaf_panel), degree + 3, size))
    linear = np.empty((len(leaf_panel), degree + 2, size))
    for leaf, home in enumerate(leaf_panel):
        part = rows.take(slice(edges[leaf], edges[leaf + 1]))
        v = (part.confounder[:, 0] - centres[home]) / bandwidth
        powers = v ** np.arange(degree + 3)[:, None] * part.indicator
        products = packed_products(part.b)
        squared[leaf] = (powers * part.indicator) @ products
        linear[leaf] = powers[:-1] @ products
        if leaf > 0 and leaf_panel[leaf - 1] == home:
            squared[leaf] += squared[leaf - 1]
            linear[leaf] += linear[leaf - 1]
    return PrefixMoments(rows, kernel, bandwidth, edges, leaf_panel, centres, squared, linear)
