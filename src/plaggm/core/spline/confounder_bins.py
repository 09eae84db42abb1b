"""Bins of one confounder within which the variance function is constant.

The weighted statistics of all rows are then weighted sums of the bins' statistics, so that one pass over
the data serves any number of weightings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.spline.anchored_terms import AnchoredSpline, FactorLevels
from plaggm.core.spline.basis import SplineBasis, SplineSide, Term

# Bins of each side, or of half a range: cuts at quantiles, and further cuts at equal distances.
EQUAL_COUNTS = 16
EQUAL_STEPS = 16
# Largest number of distinct values of a confounder without threshold for which each value is a bin.
MOST_DISTINCT = 100
# Relative distance, in units of the range, below which a cut coincides with a value.
SAME_VALUE = 1e-9


@dataclass(frozen=True, slots=True)
class ConfounderBins:
    """Intervals of one confounder; the one around the origin of an amount ends at the threshold.

    Attributes
    ----------
    column : int
        Number of the confounder.
    edges : ndarray of shape (count - 1,)
        Increasing; a value equal to an edge belongs to the bin below it.
    centres : ndarray of shape (count, m)
        Representative confounders of each bin.
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
    """Bins of the only confounder in a basis; those of a factor are its levels.

    Parameters
    ----------
    confounder : ndarray of shape (n, m)
    basis : SplineBasis

    Returns
    -------
    ConfounderBins
    """
    column = basis.terms[0].confounder
    values = confounder[:, column]
    cuts = [_cuts(term, values) for term in basis.terms]
    edges = np.unique(np.concatenate(cuts))
    label = np.searchsorted(edges, values, side="left")
    count = np.bincount(label, minlength=len(edges) + 1)
    total = np.bincount(label, weights=values, minlength=len(edges) + 1)
    # The centre of a bin without samples is its middle, or its edge for the outermost bins.
    ends = np.concatenate([edges[:1], edges, edges[-1:]])
    middle = 0.5 * (ends[:-1] + ends[1:])
    centres = np.zeros((len(edges) + 1, confounder.shape[1]))
    centres[:, column] = np.where(count > 0, total / np.maximum(count, 1), middle)
    for term in basis.terms:
        if isinstance(term, SplineSide):
            # The bin around the origin is unconfounded whatever the mean of its samples.
            centres[np.searchsorted(edges, term.origin, side="left"), column] = term.origin
    return ConfounderBins(column, edges, centres)


def _cuts(term: Term, values: Array) -> Array:
    """Edges of the bins of one term over the observed values of its confounder."""
    if isinstance(term, FactorLevels):
        return np.asarray(np.arange(len(term.cells) - 1) + 0.5, dtype=np.float64)
    if isinstance(term, AnchoredSpline):
        counts = np.quantile(values, np.linspace(0.0, 1.0, 2 * EQUAL_COUNTS + 1)[1:-1])
        steps = np.linspace(term.low, term.high, 2 * EQUAL_STEPS + 1)[1:-1]
        return _between(np.concatenate([counts, steps]), np.unique(values))
    assert isinstance(term, SplineSide)
    beyond = np.sort(term.sign * (values - term.origin))
    beyond = beyond[np.searchsorted(beyond, term.threshold, side="right") :]
    counts = np.quantile(beyond, np.linspace(0.0, 1.0, EQUAL_COUNTS + 1)[1:-1])
    steps = np.linspace(term.threshold, term.threshold + term.reach, EQUAL_STEPS + 1)[1:-1]
    mine = np.concatenate([[term.threshold], counts, steps])
    # A value at the threshold is not beyond it, on either side.
    if term.sign > 0.0:
        return term.origin + mine
    return np.nextafter(term.origin - mine, -np.inf)


def _between(cuts: Array, distinct: Array) -> Array:
    """Cuts moved halfway between the neighbouring values, so that no value lies on an edge.

    Bins then do not depend on the unit and direction of the confounder. With few distinct values every gap
    is an edge; a cut at a value becomes two, one on either side.
    """
    middle = 0.5 * (distinct[:-1] + distinct[1:])
    if len(distinct) <= MOST_DISTINCT:
        return middle
    near = SAME_VALUE * (distinct[-1] - distinct[0])
    gaps = [np.searchsorted(distinct, cuts + shift) - 1 for shift in (-near, near)]
    return np.asarray(middle[np.clip(np.unique(np.concatenate(gaps)), 0, len(middle) - 1)])
