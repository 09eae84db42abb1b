"""The variance function learnt from statistics of bins of the confounder, without the rows.

Squared residuals of a bin's rows under a pilot fit, and their leverages, are quadratic forms in
[b, phi_1 b, ...] and hence linear in the bin's statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.spline.design import SplineDesign
from plaggm.core.spline.statistics import SplineStatistics, no_rows
from plaggm.core.variance.variance_function import LEAST_KEPT, Pilot, VarianceFunction


def bin_weights(design: SplineDesign, variance: VarianceFunction) -> Array:
    """Weight of the rows of every bin: shape (bins,)."""
    return variance.weights(design.bins.centres)


def row_weights(design: SplineDesign, variance: VarianceFunction, confounder: Array) -> Array:
    """Weight of every row, constant within bins if there are several: shape (n,)."""
    if design.bins.count == 1:
        return variance.weights(confounder)
    weights: Array = bin_weights(design, variance)[design.bins.labels(confounder)]
    return weights


def weighted_total(bins: Sequence[SplineStatistics], weights: Array) -> SplineStatistics:
    """Statistics of all rows, each bin multiplied by its weight."""
    total = no_rows(bins[0].functions, bins[0].q)
    for part, weight in zip(bins, weights, strict=True):
        if part.n:
            total = total + part.times(float(weight))
    return total


@dataclass(frozen=True, slots=True)
class BinnedVariance:
    """Statistics of bins as a `plaggm.core.variance.variance_function.VarianceData`.

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
        """psi, mean energy and number of rows of every bin with rows."""
        filled = np.array([one.n > 0 for one in self.bins])
        some = [one for one in self.bins if one.n]
        counts = np.array([one.n for one in some], dtype=np.float64)
        sums = np.stack([one.sums.ravel() for one in some])
        size, q = 1 + some[0].functions, some[0].q
        residual, leverage = (
            _folded(form.reshape(size, q, size, q))
            for form in (pilot.residual @ pilot.residual.T, pilot.leverage)
        )
        weights = bin_weights(self.design, variance)[filled]
        lost = weights * (sums @ leverage) / (counts * pilot.n)
        psi = variance.basis.evaluate(self.design.bins.centres)
        return psi[filled], sums @ residual / counts / np.maximum(1.0 - lost, LEAST_KEPT), counts


def _folded(form: Array) -> Array:
    """Coefficients of a quadratic form (1 + M, q, 1 + M, q) on [b, phi_a b] in the raveled statistics."""
    size, q = form.shape[:2]
    first, second = np.triu_indices(size)
    blocks = form[first, :, second] + form[second, :, first]
    blocks[first == second] *= 0.5
    blocks = blocks + blocks.transpose(0, 2, 1)
    index = np.arange(q)
    blocks[:, index, index] *= 0.5
    rows, columns = np.triu_indices(q)
    return np.ascontiguousarray(blocks[:, rows, columns]).ravel()
