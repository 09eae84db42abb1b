"""How much to penalise the nuisance.

A small penalty removes all confounding at the price of variance, a large one pools all samples. The focused
choice minimises an estimate of the mean squared error of the target itself: with b a least-squares target
under some penalty and b0 a reference under as little of it as its noise allows,

    MSE = max(|b - b0|^2 - tr V, 0) + tr Var(b),     V = Var(b - b0)

summed over nodes. |b - b0|^2 - tr V estimates the squared bias. Every term follows from the statistics: see
`plaggm.core.spline_targets`. The penalties that are compared come from a prior that was learnt from the
samples and differ in how much it keeps of what moves the target: see `plaggm.core.nuisance_prior`.

The other choices penalise function a by tau (1 + smoothness * roughness_a) and compare a grid of both, or
the smoothness for a given tau, by restricted likelihood.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plaggm.core.nuisance_prior import in_own_functions, keep_part, prior_covariance
from plaggm.core.profile.spline import SplineSystem, penalty_weights
from plaggm.core.spline_targets import NodeTargets, node_targets, target_covariance

Array = NDArray[np.float64]

TAUS = np.geomspace(1e-3, 1e2, 11)
SMOOTHNESS = (0.0, 3.0, 30.0, 300.0, 3000.0)
# Parts of the nuisance's effect on the target that are compared, of its variance.
KEPT = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
# Penalties of the reference, the smallest first; see `_reference`.
REFERENCE_TAUS = (1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)
# Largest standard error of the squared bias of pooling that a reference shows, as a part of the squared
# size of the pooled target.
LOUDEST_REFERENCE = 0.15
# Smallest part of n that is left as residual degrees of freedom of the reference fit.
FEWEST_DF = 0.1


@dataclass(frozen=True, slots=True)
class PenaltyChoice:
    """A chosen penalty and what it was chosen from.

    Attributes
    ----------
    tau, smoothness : float
        Of a learnt prior: the penalty of its most usual function, and one.
    criterion : ndarray of shape (number of taus compared, len(SMOOTHNESS)) or (len(KEPT), 1)
        Minus twice the restricted likelihood, or the estimated error; smaller is better. A single zero
        where there was nothing to compare.
    for_target : bool
        Whether the penalty was chosen for the target alone, which says little about the nuisance.
    kept : float
        Which part of what moves the target a learnt prior keeps; NaN where none was learnt.
    """

    tau: float
    smoothness: float
    criterion: Array
    for_target: bool = False
    kept: float = np.nan


def focused_penalty(
    system: SplineSystem, confounders: NDArray[np.intp]
) -> tuple[SplineSystem, PenaltyChoice]:
    """The penalty with the smallest estimated mean squared error of the target.

    Where the samples do not outnumber the coefficients of a node's regression there is no reference to
    compare with, and the largest penalty is taken: the samples are pooled.

    Parameters
    ----------
    system : SplineSystem
    confounders : ndarray of int of shape (M,)
        The confounder that each function belongs to.

    Returns
    -------
    system : SplineSystem
        In the functions that the chosen prior holds independent.
    choice : PenaltyChoice
    """
    if _few_samples(system) or not system.functions or system.p < 2:
        return system, replace(_pooled(TAUS), for_target=True)
    quiet, noise, own = _reference(system)
    learnt = prior_covariance(system, confounders)
    mean = system.c.reshape(-1, system.q, system.q)[:, -1, -1]

    def error(kept: float) -> float:
        turned, tau, smoothness = in_own_functions(system, keep_part(learnt, mean, kept))
        candidate, reference = _targets(turned, tau, smoothness), _targets(turned, quiet, 0.0)
        variance = target_covariance(candidate, candidate).traces()
        shared = target_covariance(candidate, reference).traces()
        moved = (candidate.coefficients - reference.coefficients)[:, :-1]
        bias = float(np.sum(moved**2) - np.sum(noise * (variance + own - 2.0 * shared)))
        return max(bias, 0.0) + float(np.sum(noise * variance))

    errors = np.array([[error(kept)] for kept in KEPT])
    part = KEPT[int(np.argmin(errors))]
    turned, tau, smoothness = in_own_functions(system, keep_part(learnt, mean, part))
    return turned, PenaltyChoice(tau, smoothness, errors, True, part)


def _reference(system: SplineSystem) -> tuple[float, Array, Array]:
    """The smallest penalty whose target is not drowned in noise; noise, and variance in its units.

    A reference whose squared distance from the pooled target has a standard error of the size of that
    target says more about the noise than about the bias of pooling. Of many nodes each may be noisier.
    """
    pooled = _targets(system, float(TAUS[-1]), 0.0)
    all_pooled = target_covariance(pooled, pooled)
    limit = LOUDEST_REFERENCE * float(np.sum(pooled.coefficients[:, :-1] ** 2))
    for tau in REFERENCE_TAUS:
        reference = _targets(system, tau, 0.0)
        noise = _noise(system, reference)
        own = target_covariance(reference, reference)
        shared = target_covariance(pooled, reference).total(noise)
        spread = all_pooled.total(noise) + own.total(noise) - shared - shared.T
        if _luck(spread) <= limit:
            break
    return tau, noise, own.traces()


def _luck(spread: Array) -> float:
    """Standard error of the sum over nodes of |d_j|^2, where d_j has mean zero.

    The nodes' estimates move together: they are entries of one matrix. If its errors are those of a
    precision matrix, Cov(d_jk, d_lm) = H_jl H_km + H_jm H_kl, then V_j = H_jj H, Q = sum_j V_j = H tr H,
    and the variance of the sum is 4 (tr H^2)^2 + 4 tr H^4.

    Parameters
    ----------
    spread : ndarray of shape (p, p)
        Q, the sum of the nodes' variances.
    """
    size = float(np.trace(spread))
    if size <= 0.0:
        return 0.0
    square = spread @ spread
    return 2.0 * float(np.sqrt(np.trace(square) ** 2 + np.sum(square**2))) / size


def reml_penalty(system: SplineSystem) -> PenaltyChoice:
    """The penalty with the largest restricted likelihood of the mixed model, summed over nodes."""
    return _search(system, lambda candidate: _restricted(system, candidate), TAUS)


def restricted_likelihood(
    system: SplineSystem, start: tuple[int, int] = (0, 0)
) -> tuple[float, tuple[int, int]]:
    """The largest restricted likelihood, found by steps to the best neighbour on the grid of penalties.

    Bases of the same number of functions can be compared by it.

    Parameters
    ----------
    system : SplineSystem
    start : (int, int)
        Places in ``TAUS`` and ``SMOOTHNESS``, for example of the optimum of a similar system.

    Returns
    -------
    value : float
        Minus twice the log-likelihood, up to a constant of the data.
    place : (int, int)
        Where it is smallest.
    """
    known: dict[tuple[int, int], float] = {}

    def value(place: tuple[int, int]) -> float:
        if place not in known:
            row, column = place
            known[place] = _restricted(
                system, _targets(system, float(TAUS[row]), SMOOTHNESS[column])
            )
        return known[place]

    best = start
    while True:
        row, column = best
        around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        inside = [(a, b) for a, b in around if 0 <= a < len(TAUS) and 0 <= b < len(SMOOTHNESS)]
        step = min([best, *inside], key=value)
        if value(step) >= value(best):
            return value(best), best
        best = step


def fixed_penalty(system: SplineSystem, tau: float) -> PenaltyChoice:
    """A given tau; the smoothness by restricted likelihood."""
    return _search(system, lambda candidate: _restricted(system, candidate), (tau,))


def _search(
    system: SplineSystem, criterion: Callable[[NodeTargets], float], taus: Sequence[float] | Array
) -> PenaltyChoice:
    if _few_samples(system):
        return _pooled(taus)
    values = np.array(
        [
            [criterion(_targets(system, float(tau), smoothness)) for smoothness in SMOOTHNESS]
            for tau in taus
        ]
    )
    row, column = np.unravel_index(int(np.argmin(values)), values.shape)
    return PenaltyChoice(float(taus[int(row)]), SMOOTHNESS[column], values)


def _few_samples(system: SplineSystem) -> bool:
    """Whether there is no least-squares target to judge by."""
    return system.n <= (1 + system.functions) * system.p


def _pooled(taus: Sequence[float] | Array) -> PenaltyChoice:
    """The largest penalty, which needs no judgement."""
    return PenaltyChoice(float(taus[-1]), SMOOTHNESS[-1], np.zeros((1, 1)))


def _targets(system: SplineSystem, tau: float, smoothness: float) -> NodeTargets:
    return node_targets(system, penalty_weights(system, tau, smoothness))


def _noise(system: SplineSystem, targets: NodeTargets) -> Array:
    """Residual variance of every node, divided by n: shape (p,)."""
    used = (1 + system.functions) * system.p
    return targets.residual / max(system.n - used, FEWEST_DF * system.n)


def _restricted(system: SplineSystem, targets: NodeTargets) -> float:
    """Minus twice the restricted log-likelihood of all nodes, up to a constant.

    Shifts of the mean that escape the penalty have no prior: they count as the target does.
    """
    p, q = system.p, system.q
    prior = np.log(targets.penalty[q:]).reshape(system.functions, q)
    prior = prior[:, :p] if system.free_mean else prior
    priors = prior.sum() - prior[:, :p].sum(axis=0)
    fitted = (system.n - p) * np.log(targets.residual)
    return float(np.sum(targets.log_determinants() - priors + fitted))
