"""Bins of one confounder within which the noise is taken as level.

The weight of a row depends on its confounder alone. Where it is level within bins, the weighted statistics
of all rows are a weighted sum of the bins' own statistics: any number of weightings from one pass over the
data, whatever their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.spline_basis import SplineBasis

# Bins of each side: so many with equally many samples, cut again at so many equal steps.
EQUAL_COUNTS = 16
EQUAL_STEPS = 16


@dataclass(frozen=True, slots=True)
class ConfounderBins:
    """Intervals of one confounder; the one around zero ends at the threshold.

    Attributes
    ----------
    column : int
        Number of the confounder.
    edges : ndarray of shape (count - 1,)
        Increasing; a value equal to an edge belongs to the bin below it.
    centres : ndarray of shape (count, m)
        Confounders that stand for each bin.
    """

    column: int
    edges: Array
    centres: Array

    @property
    def count(self) -> int:
        """Number of bins."""
        return len(self.centres)

    def labels(self, confounder: Array) -> Index:
        """Bin of every row of an (n, m) array: shape (n,)."""
        if self.count == 1:
            return np.zeros(len(confounder), dtype=np.intp)
        return np.searchsorted(self.edges, confounder[:, self.column], side="left")


def one_bin(m: int) -> ConfounderBins:
    """A single bin, for any number of confounders."""
    return ConfounderBins(0, np.zeros(0), np.zeros((1, m)))


def confounder_bins(confounder: Array, basis: SplineBasis) -> ConfounderBins:
    """Bins of the one confounder that a basis has functions of, over its sides.

    Parameters
    ----------
    confounder : ndarray of shape (n, m)
    basis : SplineBasis
        A side that it leaves out has no bins of its own.

    Returns
    -------
    ConfounderBins
    """
    column = basis.sides[0].confounder
    values = confounder[:, column]
    cuts = []
    for side in basis.sides:
        beyond = np.sort(side.sign * values)
        beyond = beyond[np.searchsorted(beyond, side.threshold, side="right") :]
        counts = np.quantile(beyond, np.linspace(0.0, 1.0, EQUAL_COUNTS + 1)[1:-1])
        steps = np.linspace(side.threshold, side.threshold + side.reach, EQUAL_STEPS + 1)[1:-1]
        mine = np.concatenate([[side.threshold], counts, steps])
        # A value at the threshold is not beyond it, on either side.
        cuts.append(mine if side.sign > 0.0 else np.nextafter(-mine, -np.inf))
    edges = np.unique(np.concatenate(cuts))
    label = np.searchsorted(edges, values, side="left")
    count = np.bincount(label, minlength=len(edges) + 1)
    total = np.bincount(label, weights=values, minlength=len(edges) + 1)
    # A bin without samples has its middle; the outermost ones have no end, and then stand at their edge.
    ends = np.concatenate([edges[:1], edges, edges[-1:]])
    middle = 0.5 * (ends[:-1] + ends[1:])
    centres = np.zeros((len(edges) + 1, confounder.shape[1]))
    centres[:, column] = np.where(count > 0, total / np.maximum(count, 1), middle)
    # The bin around zero is where nothing is confounded, whatever its mean.
    centres[np.searchsorted(edges, 0.0, side="left"), column] = 0.0
    return ConfounderBins(column, edges, centres)
