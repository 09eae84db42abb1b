"""The distribution of missing cells, from sums over rows: the M-step of the EM algorithm.

Effects of all pairs are random: those in the baseline have variance s_j^2 w, those in the nuisance the
covariance s_j^2 Sigma over the functions (`plaggm.core.nuisance.prior`). With many rows both priors are
nearly flat, so that the nuisance is shrunken only once, by the model that is fitted to the completed rows.
With few rows both are learnt from all pairs, so that the model exists for any number of rows. Intercepts
and shifts of the mean have no prior.

The two regressions of a pair are averaged, so that the effects are symmetric. The shifts are then such that
the residuals are orthogonal to all functions of the confounder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from plaggm.array_types import Array
from plaggm.core.inference.nuisance_average import POOLING, in_units
from plaggm.core.missing.cells import CellModel
from plaggm.core.nuisance.node_regressions import node_regressions
from plaggm.core.nuisance.prior import diagonal_penalty, prior_covariance, prior_form
from plaggm.core.spline.basis import SplineBasis
from plaggm.core.spline.statistics import SplineStatistics, unpack
from plaggm.core.spline.system import SplineSystem, rotated, smooth_system

# Rows for each coefficient of a node from which on the priors are nearly flat.
ROWS_PER_COEFFICIENT = 2
# Nearly flat penalty of the nuisance, for each sample.
LIGHT_TAU = 1e-3
# EM steps for the variance of effects in the baseline, and its start.
STEPS = 10
START_VARIANCE = 0.05
# Ridge of the shifts in units of the mean square of a function, for functions that are nearly dependent.
SHIFT_RIDGE = 1e-8
# Smallest residual variance of a standardised column.
TINY = 1e-10


@dataclass(frozen=True, slots=True)
class PairPrior:
    """Prior variances of all pairs' effects, in units of the nodes' noise.

    Attributes
    ----------
    network : float
        w, variance of the effects in the baseline; infinite for a flat prior.
    nuisance : ndarray of shape (M, M)
        Sigma, covariance over the functions of the basis.
    """

    network: float
    nuisance: Array


def learn_prior(
    statistics: SplineStatistics, basis: SplineBasis, deviation: Array, observed: float
) -> PairPrior:
    """Prior variances of the pairs' effects: large with many rows, else learnt from all pairs.

    Parameters
    ----------
    statistics : SplineStatistics
        Expected sums over all rows, weighted by the inverse variance.
    basis : SplineBasis
        Functions of the confounders.
    deviation : ndarray of shape (p,)
        Current estimates of the variables' conditional standard deviations.
    observed : float
        Share of the rows that observe both variables of a typical pair.

    Returns
    -------
    PairPrior
    """
    system = _system(statistics, basis, deviation)
    n, p, size = system.n, system.p, system.functions
    rows = observed * n
    nuisance = np.eye(size) / (n * LIGHT_TAU)
    if rows <= ROWS_PER_COEFFICIENT * (1 + size) * p:
        enough = size and n > (1 + size) * p
        nuisance = (
            prior_covariance(system, prior_form(basis, system.rotation))
            if enough
            else POOLING / n * np.eye(size)
        )
    nuisance = system.rotation @ nuisance @ system.rotation.T
    if rows > ROWS_PER_COEFFICIENT * (p + size):
        return PairPrior(np.inf, nuisance)
    network = START_VARIANCE
    for _ in range(STEPS):
        network = _Regressions.under(system, PairPrior(network, nuisance)).mean_square()
    return PairPrior(network, nuisance)


def learn_cells(
    statistics: SplineStatistics, basis: SplineBasis, deviation: Array, prior: PairPrior
) -> CellModel:
    """The distribution of a row's cells given expected sums over all rows.

    Parameters
    ----------
    statistics, basis, deviation
        See :func:`learn_prior`.
    prior : PairPrior

    Returns
    -------
    CellModel
    """
    found = _Regressions.under(_system(statistics, basis, deviation), prior)
    noise = np.sqrt(np.maximum(found.noise, TINY))
    # [a, j, k]: effect of variable k on node j, in units of both nodes' noise.
    effects = found.effects * noise[None, None, :] / noise[None, :, None]
    effects = 0.5 * (effects + effects.transpose(0, 2, 1))
    total = deviation * noise
    return CellModel(
        np.ascontiguousarray(effects),
        _shifts(statistics, effects, total),
        total,
        _spread(statistics, total),
    )


@dataclass(frozen=True, slots=True)
class _Regressions:
    """Posterior of all nodes' regressions: noise (p,), effects (1 + M, p, p) and variances (p, p)."""

    noise: Array
    effects: Array
    variances: Array

    @classmethod
    def under(cls, system: SplineSystem, prior: PairPrior) -> _Regressions:
        n, p, q, size = system.n, system.p, system.q, 1 + system.functions
        back = np.linalg.inv(system.rotation)
        rotation, penalty = diagonal_penalty(back @ prior.nuisance @ back.T, n)
        diagonal = rotated(system, rotation)
        ridge = 1.0 / (n * prior.network)
        found = node_regressions(diagonal, penalty, ridge=ridge)
        effects = -found.residual_directions().reshape(size, q, p)[:, :p]
        index = np.arange(p)
        effects[:, index, index] = 0.0
        effects = np.tensordot(block_diag(1.0, diagonal.rotation), effects, axes=1)
        # The residual of a mixed model includes the penalty term, so that only coefficients without a prior
        # cost degrees of freedom. The ridge was also added to the node's own column.
        free = size if ridge else size + p - 1
        noise = np.maximum(found.residual - ridge, TINY) * n / max(n - free, 1)
        return cls(noise, effects.transpose(0, 2, 1), found.posterior_variances() / n)

    def mean_square(self) -> float:
        """Mean over the pairs of the expected squared effect in the baseline, in units of the noise."""
        p = len(self.noise)
        noise = np.maximum(self.noise, TINY)
        known = self.effects[0] ** 2 / noise[:, None]
        uncertain = self.variances * (1.0 - np.eye(p))
        return float(np.sum(known + uncertain) / max(p * (p - 1), 1))


def _system(statistics: SplineStatistics, basis: SplineBasis, deviation: Array) -> SplineSystem:
    """System in orthogonal functions and in units of the variables' conditional deviations."""
    return in_units(smooth_system(statistics, basis)[0], np.append(deviation, 1.0))


def _shifts(statistics: SplineStatistics, effects: Array, deviation: Array) -> Array:
    """Shifts such that residuals are orthogonal to all functions: shape (1 + M, p).

    sum_c E[phi_a phi_c] t_cj = E[phi_a y_j] - sum_c sum_k P_cjk E[phi_a phi_c y_k]
    """
    size, q = 1 + statistics.functions, statistics.q
    full = unpack(statistics.sums / statistics.n, q)[:, -1]
    means = np.empty((size, size, q))
    first, second = np.triu_indices(size)
    means[first, second] = full
    means[second, first] = full
    functions, y = means[:, :, -1], means[:, :, :-1] / deviation
    right = y[0] - np.einsum("cjk,ack->aj", effects, y)
    ridge = SHIFT_RIDGE * np.diag(np.maximum(np.diagonal(functions), SHIFT_RIDGE))
    return np.asarray(np.linalg.solve(functions + ridge, right))


def _spread(statistics: SplineStatistics, deviation: Array) -> Array:
    """Weighted variance of every column in units of its squared deviation: shape (p,)."""
    full = unpack(statistics.sums[:1], statistics.q)[0]
    mean = full[:-1, -1] / full[-1, -1]
    second = np.diagonal(full)[:-1] / statistics.n
    between = mean**2 * full[-1, -1] / statistics.n
    return np.asarray(np.maximum(second - between, TINY) / deviation**2)
