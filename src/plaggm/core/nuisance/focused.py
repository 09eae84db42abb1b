"""Choice of the penalty of the nuisance.

A small penalty removes all confounding at the price of variance, a large one pools all samples. The focused
choice minimises an estimate of the mean squared error of the baseline network: with b its least-squares
estimate under a penalty and b0 that under a small reference penalty,

    MSE = max(|b - b0|^2 - tr V, 0) + tr Var(b),     V = Var(b - b0)

summed over nodes, where |b - b0|^2 - tr V estimates the squared bias (`plaggm.core.nuisance.node_regressions`). The
candidates are priors learnt from the samples that retain different shares of the variance that biases
pooled samples (`plaggm.core.nuisance.prior`).

The alternatives penalise function a by tau (1 + smoothness * roughness_a), and choose both, or the
smoothness for a given tau, by restricted likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from plaggm.array_types import Array
from plaggm.core.nuisance.few_samples import climb, learn_prior
from plaggm.core.nuisance.node_regressions import (
    NodeRegressions,
    coefficient_covariance,
    node_regressions,
)
from plaggm.core.nuisance.prior import (
    PriorForm,
    diagonal_penalty,
    prior_covariance,
    retain_share,
)
from plaggm.core.profile.spline import smoothing_penalty
from plaggm.core.spline.system import SplineSystem, rotated

TAUS = np.geomspace(1e-3, 1e2, 11)
SMOOTHNESS = (0.0, 3.0, 30.0, 300.0, 3000.0)
# Candidates of the focused choice: retained shares of the prior variance that biases pooled samples.
RETAINED_SHARES = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
# Candidates for the reference penalty, smallest first.
REFERENCE_TAUS = (1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)
# Maximum reference standard error: that of the estimated squared bias of pooling, relative to the squared
# norm of the pooled estimate.
MAX_REFERENCE_ERROR = 0.15
# Smallest residual degrees of freedom of the reference fit relative to n.
FEWEST_DF = 0.1


@dataclass(frozen=True, slots=True)
class PenaltyChoice:
    """A chosen penalty with the criterion of all candidates.

    Attributes
    ----------
    penalty : ndarray of shape (M,)
        Penalty of every function after the rotation, for each sample.
    rotation : ndarray of shape (M, M)
        Functions in which the penalty is diagonal = functions of the system @ rotation.
    criterion : ndarray of shape (number of taus compared, len(SMOOTHNESS)) or (len(RETAINED_SHARES), 1)
        Minus twice the restricted log-likelihood, or the estimated error; smaller is better. A single zero
        if nothing was compared.
    tau : float
        The smallest penalty of a function.
    smoothness : float
        Weight of the roughness in the penalty; NaN for a learnt prior.
    retained_share : float
        Retained share of a learnt prior; NaN if none was learnt.
    focused : bool
        Whether the penalty was chosen for the baseline network and may not suit R.
    """

    penalty: Array = field(repr=False)
    rotation: Array = field(repr=False)
    criterion: Array = field(repr=False)
    tau: float
    smoothness: float = np.nan
    retained_share: float = np.nan
    focused: bool = False


def focused_penalty(system: SplineSystem, roughness: Array, form: PriorForm) -> PenaltyChoice:
    """The penalty with the smallest estimated mean squared error of the baseline network.

    Unless there are more samples than coefficients of a node's regression, there is no reference. The
    learnt prior of `plaggm.core.nuisance.few_samples` is then used if its likelihood is large enough, and otherwise
    the largest penalty, which pools the samples.

    Parameters
    ----------
    system : SplineSystem
    roughness : ndarray of shape (M,)
        Roughness of the system's functions.
    form : PriorForm
        Form of the prior in the system's functions.

    Returns
    -------
    PenaltyChoice
    """
    n = system.n
    if not system.functions or system.p < 2:
        return replace(_pooled(roughness, TAUS), focused=True)
    if _few_samples(system):
        return _few_samples_choice(system, roughness, form)
    tau, noise, reference_variance = _reference(system)
    prior = prior_covariance(system, form)
    mean = system.function_means
    candidates = [diagonal_penalty(retain_share(prior, mean, one), n) for one in RETAINED_SHARES]

    def error(rotation: Array, penalty: Array) -> float:
        diagonal = rotated(system, rotation)
        candidate, reference = (
            node_regressions(diagonal, penalty),
            _ridge_regressions(diagonal, tau),
        )
        variance = coefficient_covariance(candidate, candidate).traces()
        shared = coefficient_covariance(candidate, reference).traces()
        moved = (candidate.coefficients - reference.coefficients)[:, :-1]
        spread = variance + reference_variance - 2.0 * shared
        bias = float(np.sum(moved**2) - np.sum(noise * spread))
        return max(bias, 0.0) + float(np.sum(noise * variance))

    errors = np.array([[error(*candidate)] for candidate in candidates])
    best = int(np.argmin(errors))
    rotation, penalty = candidates[best]
    return PenaltyChoice(
        penalty,
        rotation,
        errors,
        float(penalty.min()),
        retained_share=RETAINED_SHARES[best],
        focused=True,
    )


def _few_samples_choice(system: SplineSystem, roughness: Array, form: PriorForm) -> PenaltyChoice:
    """The penalty of a prior learnt from few samples, or pooling."""
    prior = learn_prior(system, form)
    if prior.gain <= 0.0:
        return replace(_pooled(roughness, TAUS), focused=True)
    rotation, penalty = diagonal_penalty(prior.covariance, system.n)
    return PenaltyChoice(
        penalty,
        rotation,
        np.zeros((1, 1)),
        float(penalty.min()),
        retained_share=prior.share,
        focused=True,
    )


def _reference(system: SplineSystem) -> tuple[float, Array, Array]:
    """The reference penalty, the nodes' noise under it divided by n, and the variances of its estimates.

    It is the smallest penalty for which the standard error of the estimated squared bias of pooling is at
    most a share of the squared norm of the pooled estimate.
    """
    pooled = _ridge_regressions(system, float(TAUS[-1]))
    all_pooled = coefficient_covariance(pooled, pooled)
    limit = MAX_REFERENCE_ERROR * float(np.sum(pooled.coefficients[:, :-1] ** 2))
    left = max(system.n - (1 + system.functions) * system.p, FEWEST_DF * system.n)
    for tau in REFERENCE_TAUS:
        reference = _ridge_regressions(system, tau)
        noise = reference.residual / left
        own = coefficient_covariance(reference, reference)
        shared = coefficient_covariance(pooled, reference).total(noise)
        spread = all_pooled.total(noise) + own.total(noise) - shared - shared.T
        if _bias_standard_error(spread) <= limit:
            break
    return tau, noise, own.traces()


def _bias_standard_error(spread: Array) -> float:
    """Standard error of the sum over nodes of |d_j|^2, where d_j has mean zero and variance V_j.

    The errors of all nodes are entries of one matrix. If they are distributed like those of a precision
    matrix, Cov(d_jk, d_lm) = H_jl H_km + H_jm H_kl, then approximately V_j = H_jj H, Q = sum_j V_j = H tr
    H, and the variance of the sum is 4 (tr H^2)^2 + 4 tr H^4.

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


def reml_penalty(
    system: SplineSystem, roughness: Array, taus: Sequence[float] | Array = TAUS
) -> PenaltyChoice:
    """The penalty with the largest restricted likelihood of the mixed model, summed over nodes.

    Parameters
    ----------
    system : SplineSystem
    roughness : ndarray of shape (M,)
        Roughness of the system's functions.
    taus : sequence of float
        Candidates, each combined with every smoothness of ``SMOOTHNESS``.

    Returns
    -------
    PenaltyChoice
    """
    if _few_samples(system):
        return _pooled(roughness, taus)
    values = np.array(
        [
            [_restricted(system, smoothing_penalty(roughness, tau, rate)) for rate in SMOOTHNESS]
            for tau in taus
        ]
    )
    row, column = np.unravel_index(int(np.argmin(values)), values.shape)
    return _smoothing_choice(roughness, float(taus[int(row)]), SMOOTHNESS[column], values)


def restricted_likelihood(
    system: SplineSystem, roughness: Array, start: tuple[int, int]
) -> tuple[float, tuple[int, int]]:
    """The largest restricted likelihood on the grid of penalties, by steps to the best neighbour.

    It can be compared between bases with the same number of functions.

    Parameters
    ----------
    system : SplineSystem
    roughness : ndarray of shape (M,)
        Roughness of the system's functions.
    start : (int, int)
        Indices in ``TAUS`` and ``SMOOTHNESS``, for example of the optimum of a similar system.

    Returns
    -------
    value : float
        Minus twice the log-likelihood, up to a constant of the data.
    place : (int, int)
        Indices in ``TAUS`` and ``SMOOTHNESS`` of the optimum.
    """
    known: dict[tuple[int, int], float] = {}

    def likelihood(place: tuple[int, int]) -> float:
        tau, smoothness = float(TAUS[place[0]]), SMOOTHNESS[place[1]]
        return -_restricted(system, smoothing_penalty(roughness, tau, smoothness))

    best = climb(likelihood, known, start, (len(TAUS), len(SMOOTHNESS)))
    return -known[best], best


def _few_samples(system: SplineSystem) -> bool:
    """Whether there is no function, or no least-squares estimate."""
    return not system.functions or system.n <= (1 + system.functions) * system.p


def _pooled(roughness: Array, taus: Sequence[float] | Array) -> PenaltyChoice:
    """The largest penalty."""
    return _smoothing_choice(roughness, float(taus[-1]), SMOOTHNESS[-1], np.zeros((1, 1)))


def _smoothing_choice(
    roughness: Array, tau: float, smoothness: float, criterion: Array
) -> PenaltyChoice:
    penalty = smoothing_penalty(roughness, tau, smoothness)
    return PenaltyChoice(penalty, np.eye(len(penalty)), criterion, tau, smoothness)


def _ridge_regressions(system: SplineSystem, tau: float) -> NodeRegressions:
    return node_regressions(system, np.full(system.functions, tau))


def _restricted(system: SplineSystem, penalty: Array) -> float:
    return restricted_deviance(system, penalty, node_regressions(system, penalty))


def restricted_deviance(
    system: SplineSystem, penalty: Array, regressions: NodeRegressions
) -> float:
    """Minus twice the restricted log-likelihood of all nodes, up to a constant.

    Shifts of the mean have no prior, like the baseline network; the coefficients of the p - 1 other
    variables have one.

    Parameters
    ----------
    system : SplineSystem
    penalty : ndarray of shape (M,)
        Penalty of every function.
    regressions : NodeRegressions
        Regressions of the system under this penalty.
    """
    priors = (system.p - 1) * float(np.log(penalty).sum())
    fitted = (system.n - system.p) * np.log(regressions.residual)
    return float(np.sum(regressions.log_determinants() - priors + fitted))
