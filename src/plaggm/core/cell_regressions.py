"""The distribution of missing cells, from sums over rows: the M-step of the EM algorithm.

All pairs are random: those of the baseline with variance s_j^2 w, those of the nuisance with covariance
s_j^2 Sigma over the functions (`plaggm.core.nuisance_prior`). Where rows abound both are nearly free, so
that completed rows hold as much of the nuisance as observed ones do, and it is shrunken only once, by what
is fitted to them. Where rows are few both are learnt from all pairs at once, so that the model exists for
any number of rows. Intercepts and shifts of the mean are always free.

Both regressions of a pair are averaged, so that the effects are symmetric; the shifts are then those
under which the residuals are still orthogonal to all functions of the confounder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.missing_cells import CellModel
from plaggm.core.node_regressions import node_regressions
from plaggm.core.nuisance_average import POOLING, in_units
from plaggm.core.nuisance_prior import diagonal_penalty, prior_covariance, prior_form
from plaggm.core.spline_basis import SplineBasis
from plaggm.core.spline_statistics import SplineStatistics, unpack
from plaggm.core.spline_system import SplineSystem, rotated, smooth_system

# Rows for each coefficient of a node, from which on effects are nearly free.
ROWS_PER_COEFFICIENT = 2
# Penalty of a nuisance that is nearly free, for each sample.
LIGHT_TAU = 1e-3
# Steps by which the variance of the baseline's pairs is learnt, and where they start.
STEPS = 10
START_VARIANCE = 0.05
# Of the mean square of a function: keeps the shifts apart where functions are nearly dependent.
SHIFT_RIDGE = 1e-8
# Smallest variance of a standardised column that is taken for noise.
TINY = 1e-10


@dataclass(frozen=True, slots=True)
class PairPrior:
    """Variances of all pairs' effects, in units of the nodes' noise.

    Attributes
    ----------
    network : float
        w, of the baseline.
    nuisance : ndarray of shape (M, M)
        Sigma, over the functions of the basis.
    """

    network: float
    nuisance: Array


def learn_prior(
    statistics: SplineStatistics, basis: SplineBasis, deviation: Array, observed: float
) -> PairPrior:
    """Variances of the pairs' effects: large ones where rows abound, else learnt from all pairs.

    Parameters
    ----------
    statistics : SplineStatistics
        Expected sums over all rows, weighted by the inverse variance.
    basis : SplineBasis
        Functions of the confounders.
    deviation : ndarray of shape (p,)
        Conditional deviations of the variables, as far as they are known.
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
    turned = system.rotation @ nuisance @ system.rotation.T
    if rows > ROWS_PER_COEFFICIENT * (p + size):
        return PairPrior(np.inf, turned)
    network = START_VARIANCE
    for _ in range(STEPS):
        network = _Regressions.under(system, PairPrior(network, turned)).mean_square()
    return PairPrior(network, turned)


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
    n: int

    @classmethod
    def under(cls, system: SplineSystem, prior: PairPrior) -> _Regressions:
        n, p, q, size = system.n, system.p, system.q, 1 + system.functions
        back = np.linalg.inv(system.rotation)
        rotation, penalty = diagonal_penalty(back @ prior.nuisance @ back.T, n)
        own = rotated(system, rotation)
        ridge = 1.0 / (n * prior.network)
        found = node_regressions(own, penalty, ridge=ridge)
        # One for the node itself, minus the coefficients elsewhere.
        effects = -found.residual_directions().reshape(size, q, p)[:, :p]
        index = np.arange(p)
        effects[:, index, index] = 0.0
        turn = np.eye(size)
        turn[1:, 1:] = own.rotation
        # The residual holds the penalty's part, as that of a mixed model does: intercept and shifts of the
        # mean are all that was fitted freely.
        # The node's own column has the ridge added as well, which is none of its regression.
        free = size if ridge else size + p - 1
        noise = np.maximum(found.residual - ridge, TINY) * n / max(n - free, 1)
        turned = np.tensordot(turn, effects, axes=1).transpose(0, 2, 1)
        return cls(noise, turned, found.posterior_variances() / n, n)

    def mean_square(self) -> float:
        """Mean over the pairs of the expected squared effect in the baseline, in units of the noise."""
        p = len(self.noise)
        noise = np.maximum(self.noise, TINY)
        known = self.effects[0] ** 2 / noise[:, None]
        uncertain = self.variances * (1.0 - np.eye(p))
        return float(np.sum(known + uncertain) / max(p * (p - 1), 1))


def _system(statistics: SplineStatistics, basis: SplineBasis, deviation: Array) -> SplineSystem:
    return in_units(smooth_system(statistics, basis)[0], np.append(deviation, 1.0))


def _shifts(statistics: SplineStatistics, effects: Array, deviation: Array) -> Array:
    """Shifts under which residuals are orthogonal to all functions: shape (1 + M, p).

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
    """Variance of every column over the weighted rows, in units of the squared deviation: shape (p,)."""
    full = unpack(statistics.sums[:1], statistics.q)[0]
    mean = full[:-1, -1] / full[-1, -1]
    second = np.diagonal(full)[:-1] / statistics.n
    between = mean**2 * full[-1, -1] / statistics.n
    return np.asarray(np.maximum(second - between, TINY) / deviation**2)
