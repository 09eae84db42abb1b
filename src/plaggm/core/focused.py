"""How much to penalise the nuisance.

Small tau removes all confounding at the price of variance, large tau pools all samples. The focused
choice minimises an estimate of the mean squared error of the target itself: with b(tau) the least-squares
target under a penalty and b(0) a reference under as little of it as its noise allows,

    MSE(tau) = max(|b(tau) - b(0)|^2 - tr V - s, 0) + tr Var(b(tau)),   V = Var(b(tau) - b(0))

summed over nodes. |b(tau) - b(0)|^2 - tr V estimates the squared bias; s is its standard error where
there is no bias (`_luck`). So a penalty pays for bias only as far as the data prove it: where few
samples are clean the reference is noisy, nothing can be proved, and the samples are pooled.

Every term follows from the statistics: see `plaggm.core.spline_targets`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plaggm.core.profile.spline import SplineSystem, penalty_weights
from plaggm.core.spline_targets import (
    NodeTargets,
    TargetCovariance,
    node_targets,
    target_covariance,
)

Array = NDArray[np.float64]

TAUS = np.geomspace(1e-3, 1e2, 11)
SMOOTHNESS = (0.0, 3.0, 30.0, 300.0, 3000.0)
# Penalties of the reference, the smallest first; see `_reference`.
REFERENCE_TAUS = (1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)
# Largest variance of the reference, as a multiple of the squared size of the pooled target.
LOUDEST_REFERENCE = 2.0
# Smallest part of n that is left as residual degrees of freedom of the reference fit.
FEWEST_DF = 0.1


@dataclass(frozen=True, slots=True)
class PenaltyChoice:
    """A chosen penalty and what it was chosen from.

    Attributes
    ----------
    tau, smoothness : float
    criterion : ndarray of shape (number of taus compared, len(SMOOTHNESS))
        Estimated error, or minus twice the restricted likelihood; smaller is better. A single zero where
        there was nothing to compare.
    for_target : bool
        Whether the penalty was chosen for the target alone, which says little about the nuisance.
    """

    tau: float
    smoothness: float
    criterion: Array
    for_target: bool = False


def focused_penalty(system: SplineSystem) -> PenaltyChoice:
    """The penalty with the smallest estimated mean squared error of the target.

    Where the samples do not outnumber the coefficients of a node's regression there is no reference to
    compare with, and the largest penalty is taken: the samples are pooled.
    """
    if _few_samples(system):
        return replace(_pooled(TAUS), for_target=True)
    reference, own = _reference(system)
    noise = _noise(system, reference)
    known = own.total(noise)

    def error(candidate: NodeTargets) -> float:
        variance = target_covariance(candidate, candidate)
        shared = target_covariance(candidate, reference).total(noise)
        # Of the difference between candidate and reference, summed over the nodes.
        spread = variance.total(noise) + known - shared - shared.T
        moved = (candidate.coefficients - reference.coefficients)[:, :-1]
        bias = float(np.sum(moved**2) - np.trace(spread))
        return max(bias - _luck(spread), 0.0) + float(np.sum(noise * variance.traces()))

    return replace(_search(system, error, TAUS), for_target=True)


def _reference(system: SplineSystem) -> tuple[NodeTargets, TargetCovariance]:
    """The least penalised target that is not drowned in noise, and its own covariance.

    A reference whose variance exceeds the squared size of the (pooled) target says more about the noise
    than about the bias of others.
    """
    pooled = _targets(system, float(TAUS[-1]), 0.0)
    limit = LOUDEST_REFERENCE * float(np.sum(pooled.coefficients[:, :-1] ** 2))
    for tau in REFERENCE_TAUS:
        reference = _targets(system, tau, 0.0)
        own = target_covariance(reference, reference)
        if float(np.sum(_noise(system, reference) * own.traces())) <= limit:
            break
    return reference, own


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
