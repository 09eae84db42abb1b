"""How the confounder inflates the noise, from statistics of bins of the confounder.

The same alternation as `plaggm.core.variance_function`, of a pilot fit and the regression of its squared
residuals, without a row of the data: the squared residuals of a bin, and the part of them that the pilot
fit leaves there, are quadratic forms in [b, phi_1 b, ...] and so linear in the bin's statistics.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from plaggm.core.profile.spline import (
    SplineSystem,
    profile_spline,
    spline_coefficients,
    spline_system,
)
from plaggm.core.spline_design import SplineDesign
from plaggm.core.spline_statistics import SplineStatistics, no_rows
from plaggm.core.spline_targets import least_squares_targets
from plaggm.core.variance_function import (
    LEAST_KEPT,
    PILOT_SMOOTHNESS,
    PILOT_TAU,
    ROUNDS,
    TINY,
    VarianceFunction,
    constant_variance,
    gamma_regression,
    taken_forms,
)

Array = NDArray[np.float64]


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


def fit_binned_variance(bins: Sequence[SplineStatistics], design: SplineDesign) -> VarianceFunction:
    """Learn the variance's factor from the statistics of every bin.

    Parameters
    ----------
    bins : sequence of SplineStatistics
        Unweighted.
    design : SplineDesign

    Returns
    -------
    VarianceFunction
    """
    if not design.variance_basis.sides:
        return constant_variance()
    counts = np.array([part.n for part in bins], dtype=np.float64)
    filled = counts > 0
    psi = design.variance_basis.evaluate(design.bins.centres)
    sums = np.stack([part.sums.ravel() for part, some in zip(bins, filled, strict=True) if some])
    variance = VarianceFunction(design.variance_basis, np.zeros(psi.shape[1]))
    for _ in range(ROUNDS):
        weights = bin_weights(design, variance)
        system = spline_system(weighted_total(bins, weights), design.basis)
        residual, lost = _forms(system)
        energy = sums @ residual / counts[filled]
        kept = 1.0 - weights[filled] * (sums @ lost) / (counts[filled] * system.n)
        energy /= np.maximum(kept, LEAST_KEPT)
        coefficients = gamma_regression(psi[filled], energy, counts[filled])
        variance = VarianceFunction(design.variance_basis, coefficients)
    return variance


def _forms(system: SplineSystem) -> tuple[Array, Array]:
    """Forms of the pilot's squared residual and of its leverage, as vectors on the statistics.

    The residual is the mean over nodes of the squared residual of a row over the node's variance; the
    leverage is n times what the fit takes of constant noise in a row of unit weight.
    """
    fit = profile_spline(system, PILOT_TAU, PILOT_SMOOTHNESS)
    omega, variance = least_squares_targets(system, fit.penalty)
    p, q, size = system.p, system.q, system.functions
    gamma = np.einsum("ab,bjk->ajk", system.rotation, spline_coefficients(fit, omega))
    residual = np.zeros((1 + size, q, p))
    for place, slope in enumerate(np.concatenate([omega[None], gamma])):
        residual[place, :p] = -slope
        residual[place, p] = -np.diagonal(slope)
        residual[place, np.arange(p), np.arange(p)] = 0.0
    residual[0, np.arange(p), np.arange(p)] = 1.0
    residual = residual.reshape(-1, p) / np.sqrt(np.maximum(variance, TINY) * p)

    lost = taken_forms(system, fit.penalty)
    turn = np.eye(1 + size)
    turn[1:, 1:] = system.rotation
    turned = np.einsum(
        "ab,bicj,dc->aidj", turn, lost.reshape(1 + size, q, 1 + size, q), turn, optimize=True
    )
    return (
        _folded((residual @ residual.T).reshape(1 + size, q, 1 + size, q)),
        _folded(turned),
    )


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
