"""How the confounder inflates the noise, from statistics of bins of the confounder.

The squared residuals of a bin's rows under a pilot fit, and the part of the noise that it leaves in them,
are quadratic forms in [b, phi_1 b, ...] and so linear in the bin's statistics: no row is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.spline_design import SplineDesign
from plaggm.core.spline_statistics import SplineStatistics, no_rows
from plaggm.core.variance_function import LEAST_KEPT, Pilot, VarianceFunction


def bin_weights(design: SplineDesign, variance: VarianceFunction) -> Array:
    """Weight of the rows of every bin: shape (bins,)."""
    return variance.weights(design.bins.centres)


def row_weights(design: SplineDesign, variance: VarianceFunction, confounder: Array) -> Array:
    """Weight of every row, level within bins where there are any: shape (n,)."""
    if design.bins.count == 1:
        return variance.weights(confounder)
    weights: Array = bin_weights(design, variance)[design.bins.labels(confounder)]
    return weights


def weighted_total(bins: Sequence[SplineStatistics], weights: Array) -> SplineStatistics:
    """Statistics of all rows, those of each bin under its weight."""
    total = no_rows(bins[0].functions, bins[0].q)
    for part, weight in zip(bins, weights, strict=True):
        if part.n:
            total = total + part.times(float(weight))
    return total


@dataclass(frozen=True, slots=True)
class BinnedVariance:
    """Rows that are known by the statistics of their bins.

    See `plaggm.core.variance_function.VarianceData`.

    Attributes
    ----------
    bins : sequence of SplineStatistics
        Unweighted.
    design : SplineDesign
    """

    bins: Sequence[SplineStatistics]
    design: SplineDesign

    def statistics(self, variance: VarianceFunction) -> SplineStatistics:
        """Statistics of all rows, each bin weighted by the inverse of its variance."""
        return weighted_total(self.bins, bin_weights(self.design, variance))

    def energies(self, variance: VarianceFunction, pilot: Pilot) -> tuple[Array, Array, Array]:
        """psi, mean energy and number of rows of every bin that has rows."""
        filled = np.array([part.n > 0 for part in self.bins])
        some = [part for part in self.bins if part.n]
        counts = np.array([part.n for part in some], dtype=np.float64)
        sums = np.stack([part.sums.ravel() for part in some])
        size, q = 1 + some[0].functions, some[0].q
        residual, leverage = (
            _folded(form.reshape(size, q, size, q))
            for form in (pilot.residual @ pilot.residual.T, pilot.leverage)
        )
        weights = bin_weights(self.design, variance)[filled]
        kept = np.maximum(1.0 - weights * (sums @ leverage) / (counts * pilot.n), LEAST_KEPT)
        psi = variance.basis.evaluate(self.design.bins.centres)
        return psi[filled], sums @ residual / counts / kept, counts


def _folded(form: Array) -> Array:
    """A form (1 + M, q, 1 + M, q) on [b, phi_a b] as a vector on statistics: families by packed pairs."""
    size, q = form.shape[:2]
    first, second = np.triu_indices(size)
    blocks = form[first, :, second] + form[second, :, first]
    blocks[first == second] *= 0.5
    blocks = blocks + blocks.transpose(0, 2, 1)
    index = np.arange(q)
    blocks[:, index, index] *= 0.5
    rows, columns = np.triu_indices(q)
    return np.ascontiguousarray(blocks[:, rows, columns]).ravel()
