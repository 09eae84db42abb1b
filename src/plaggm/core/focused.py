"""How much to penalise the nuisance.

Small tau removes all confounding at the price of variance, large tau pools all samples. The focused
choice minimises an estimate of the mean squared error of the target itself: with b(tau) the least-squares
target under a penalty and b(0) a reference under as little of it as its noise allows,

    MSE(tau) = max(|b(tau) - b(0)|^2 - tr V - s, 0) + tr Var(b(tau)),   V = Var(b(tau) - b(0))

summed over nodes. |b(tau) - b(0)|^2 - tr V estimates the squared bias; s is its standard error where
there is no bias (`_luck`). So a penalty pays for bias only as far as the data prove it: where few
samples are clean the reference is noisy, nothing can be proved, and the samples are pooled.

Every term follows from the statistics: b(tau) = A y with A = G^{-1} X'W,
W = 1 - D N D', and A_1 A_2' needs X'W_1 W_2 X = B'B - C'V_1 - C'V_2 + V_1' D'D V_2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plaggm.core.node_grams import NodeGrams
from plaggm.core.profile.spline import (
    ProfiledSpline,
    SplineSystem,
    deletion_blocks,
    profile_spline,
    quadratic_forms,
    spline_node_grams,
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
RIDGE = 1e-12


@dataclass(frozen=True, slots=True)
class PenaltyChoice:
    """A chosen penalty and what it was chosen from.

    Attributes
    ----------
    tau, smoothness : float
    criterion : ndarray of shape (number of taus compared, len(SMOOTHNESS))
        Estimated error, or minus twice the restricted likelihood; smaller is better.
    targets : ndarray of shape (p, p - 1)
        Least-squares coefficients of each node's edges at the chosen penalty.
    variance : float
        Sum of their variances.
    for_target : bool
        Whether the penalty was chosen for the target alone, which says little about the nuisance.
    """

    tau: float
    smoothness: float
    criterion: Array
    targets: Array
    variance: float
    for_target: bool = False


@dataclass(frozen=True, slots=True)
class _LeastSquares:
    """Unpenalised targets of all nodes under one penalty of the nuisance.

    coefficients (p, p): others of each node, intercept last; inverse (p, p, p): of X'WX / n.
    """

    fit: ProfiledSpline
    coefficients: Array
    inverse: Array
    residual: Array


def focused_penalty(system: SplineSystem) -> PenaltyChoice:
    """The penalty with the smallest estimated mean squared error of the target.

    Where the samples do not outnumber the coefficients of a node's regression there is no reference to
    compare with, and the largest penalty is taken: the samples are pooled.
    """
    keep = _others(system.p)
    reference, own = _reference(system, keep)
    noise = _noise(system, reference)

    def error(candidate: _LeastSquares) -> float:
        variance = _sandwich(system, candidate, candidate, keep)
        cross = _sandwich(system, candidate, reference, keep)
        moved = (candidate.coefficients - reference.coefficients)[:, :-1]
        spread = noise[:, None, None] * (variance + own - cross - cross.transpose(0, 2, 1))
        bias = float(np.sum(moved**2) - np.einsum("jkk->", spread))
        return max(bias - _luck(spread, keep), 0.0) + float(np.sum(noise * _traces(variance)))

    return replace(_search(system, error), for_target=True)


def _reference(system: SplineSystem, keep: NDArray[np.intp]) -> tuple[_LeastSquares, Array]:
    """The least penalised target that is not drowned in noise, and its variance by `_sandwich`.

    A reference whose variance exceeds the squared size of the (pooled) target says more about the noise
    than about the bias of others.
    """
    pooled = _least_squares(system, float(TAUS[-1]), 0.0, keep)
    limit = LOUDEST_REFERENCE * float(np.sum(pooled.coefficients[:, :-1] ** 2))
    for tau in REFERENCE_TAUS:
        reference = _least_squares(system, tau, 0.0, keep)
        own = _sandwich(system, reference, reference, keep)
        if float(np.sum(_noise(system, reference) * _traces(own))) <= limit:
            break
    return reference, own


def _luck(spread: Array, keep: NDArray[np.intp]) -> float:
    """Standard error of the sum over nodes of |d_j|^2, where d_j has mean zero and variance ``spread``.

    The nodes' estimates move together: they are entries of one matrix. If its errors are those of a
    precision matrix, Cov(d_jk, d_lm) = H_jl H_km + H_jm H_kl, then V_j = H_jj H, Q = sum_j V_j = H tr H,
    and the variance of the sum is 4 (tr H^2)^2 + 4 tr H^4.

    Parameters
    ----------
    spread : ndarray of shape (p, p - 1, p - 1)
    keep : ndarray of shape (p, p)
    """
    p = len(keep)
    total = np.zeros((p, p))
    for others, variance in zip(keep[:, :-1], spread, strict=True):
        total[np.ix_(others, others)] += variance
    size = float(np.trace(total))
    if size <= 0.0:
        return 0.0
    square = total @ total
    return 2.0 * float(np.sqrt(np.trace(square) ** 2 + np.sum(square**2))) / size


def reml_penalty(system: SplineSystem) -> PenaltyChoice:
    """The penalty with the largest restricted likelihood of the mixed model, summed over nodes."""
    return _search(system, lambda candidate: _restricted(system, candidate))


def fixed_penalty(system: SplineSystem, tau: float) -> PenaltyChoice:
    """A given tau; the smoothness by restricted likelihood."""
    return _search(system, lambda candidate: _restricted(system, candidate), (tau,))


def _search(
    system: SplineSystem, criterion: Callable[[_LeastSquares], float], taus: Iterable[float] = TAUS
) -> PenaltyChoice:
    keep = _others(system.p)
    if system.n <= (1 + system.functions) * system.p:
        # No least-squares target to judge by: pool, which needs none.
        taus, criterion = list(taus)[-1:], lambda candidate: -candidate.fit.smoothness
    values = np.array(
        [
            [
                criterion(_least_squares(system, float(tau), smoothness, keep))
                for smoothness in SMOOTHNESS
            ]
            for tau in taus
        ]
    )
    row, column = np.unravel_index(int(np.argmin(values)), values.shape)
    chosen = _least_squares(system, float(list(taus)[row]), SMOOTHNESS[column], keep)
    variance = _noise(system, chosen) * _traces(_sandwich(system, chosen, chosen, keep))
    return PenaltyChoice(
        chosen.fit.tau,
        chosen.fit.smoothness,
        values,
        chosen.coefficients[:, :-1],
        float(variance.sum()),
    )


def _noise(system: SplineSystem, least: _LeastSquares) -> Array:
    """Residual variance of every node, for each sample: shape (p,)."""
    used = (1 + system.functions) * system.p
    return least.residual / max(system.n - used, FEWEST_DF * system.n)


def least_squares_targets(system: SplineSystem, fit: ProfiledSpline) -> tuple[Array, Array]:
    """Unpenalised target of every node and its residual variance, the nuisance profiled out.

    Returns
    -------
    omega : ndarray of shape (p, p)
        Column j is node j's, not symmetric; intercepts on the diagonal.
    variance : ndarray of shape (p,)
    """
    p = system.p
    keep = _others(p)
    least = _solve_targets(fit, spline_node_grams(system, fit), keep)
    omega = np.zeros((p + 1, p))
    omega[keep, np.arange(p)[:, None]] = least.coefficients
    index = np.arange(p)
    omega[index, index] = omega[p]
    return omega[:p], least.residual


def _others(p: int) -> NDArray[np.intp]:
    """Columns of [Z, 1] without each node's own: shape (p, p)."""
    columns = np.arange(p + 1)
    return np.stack([columns[columns != j] for j in range(p)])


def _restrict(grams: Array, keep: NDArray[np.intp]) -> Array:
    """Each node's matrix without its own row and column: shape (p, p, p)."""
    nodes = np.arange(len(keep))[:, None, None]
    return grams[nodes, keep[:, :, None], keep[:, None, :]]


def _least_squares(
    system: SplineSystem, tau: float, smoothness: float, keep: NDArray[np.intp]
) -> _LeastSquares:
    fit = profile_spline(system, tau, smoothness)
    return _solve_targets(fit, spline_node_grams(system, fit), keep)


def _solve_targets(fit: ProfiledSpline, grams: NodeGrams, keep: NDArray[np.intp]) -> _LeastSquares:
    design = _restrict(grams.grams, keep)
    response = _responses(grams, keep)
    # Dependent columns, or fewer samples than variables, have no least-squares target: a trace of ridge
    # gives them one without touching the others.
    size = np.einsum("jkk->j", design) / design.shape[1]
    design = design + RIDGE * size[:, None, None] * np.eye(design.shape[1])
    inverse = np.asarray(np.linalg.inv(design), dtype=np.float64)
    coefficients = np.matmul(inverse, response[:, :, None])[:, :, 0]
    own = np.einsum("jjj->j", grams.grams[:, :-1, :-1])
    residual = np.maximum(own - np.sum(coefficients * response, axis=1), 0.0)
    return _LeastSquares(fit, coefficients, inverse, residual)


def _responses(grams: NodeGrams, keep: NDArray[np.intp]) -> Array:
    nodes = np.arange(grams.p)
    return grams.grams[nodes[:, None], keep, nodes[:, None]]


def _sandwich(
    system: SplineSystem, first: _LeastSquares, second: _LeastSquares, keep: NDArray[np.intp]
) -> Array:
    """A_1 A_2' over each node's edges, noise and n aside: shape (p, p - 1, p - 1)."""
    middle = (
        system.bb
        - _explained(system, first.fit)
        - _explained(system, second.fit).transpose(0, 2, 1)
        + quadratic_forms(system.h, first.fit, second.fit, system.q)
    )
    full = np.matmul(first.inverse, np.matmul(_restrict(middle, keep), second.inverse))
    return np.asarray(full[:, :-1, :-1])


def _traces(matrices: Array) -> Array:
    return np.einsum("jkk->j", matrices)


def _explained(system: SplineSystem, fit: ProfiledSpline) -> Array:
    """C' N_j C of every node: symmetric, shape (p, q, q)."""
    return system.bb - spline_node_grams(system, fit).grams


def _restricted(system: SplineSystem, least: _LeastSquares) -> float:
    """Minus twice the restricted log-likelihood of all nodes, up to a constant."""
    p, q = system.p, system.q
    fit = least.fit
    total = -np.linalg.slogdet(fit.inverse)[1] if system.functions else 0.0
    deleted = np.linalg.slogdet(deletion_blocks(fit.inverse, q))[1]
    prior = np.log(fit.penalty).reshape(system.functions, q)
    priors = prior.sum() - prior[:, :p].sum(axis=0)
    design = -np.linalg.slogdet(least.inverse)[1]
    fitted = (system.n - p) * np.log(least.residual)
    return float(np.sum(total + deleted - priors + design + fitted))
