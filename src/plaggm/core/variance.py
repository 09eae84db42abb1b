"""Conditional standard deviations of the nodes.

Data whose nodes have conditional variance other than one have no symmetric Omega: the coefficient of
node k in node j's regression is rho_jk sigma_j / sigma_k. Dividing column j by sigma_j makes it the
partial correlation in both. That only rescales the Gram matrices, so the sigma_j are found by fitting,
taking the residual variances, rescaling and fitting again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array
from plaggm.core.node_grams import GramMatrices, path_residuals, residual_variances
from plaggm.core.path import Symmetry, lambda_max, many_variables, path_steps, solve_path

PILOT_ALPHAS = 30
PILOT_RATIO = 0.01
PILOT_TOL = 1e-5
PILOT_SWEEPS = 200
# Steps without a better BIC after which the pilot of many variables ends: denser networks take most time.
# The second number holds in rounds that start from the network of the round before.
PILOT_PATIENCE, NEAR_PATIENCE = 4, 1
# Largest relative change of a sigma_j after which its network still serves as a start, and penalties above
# the one chosen last from which that round begins.
SIMILAR, PENALTIES_ABOVE = 0.5, 3
MAX_ROUNDS = 6
# Relative change of every sigma_j at which the rounds stop.
STABLE = 1e-2
# Residual degrees of freedom, as a part of n, below which the correction for them is cut off.
FEWEST_DF = 0.1


def residual_scale(node_grams: GramMatrices, omega: Array) -> Array:
    """Residual standard deviations with the degrees of freedom of smoother and lasso taken off.

    Returns
    -------
    ndarray of shape (p,)
    """
    left = samples_left(node_grams, np.count_nonzero(omega, axis=0))
    return np.sqrt(residual_variances(node_grams, omega) * node_grams.n / left)


def samples_left(node_grams: GramMatrices, coefficients: NDArray[np.int64] | int = 0) -> Array:
    """Degrees of freedom that smoother and coefficients leave to every node's noise: shape (p,)."""
    left = node_grams.n - node_grams.smoother_trace - coefficients
    return np.maximum(left, FEWEST_DF * node_grams.n)


def log_losses(node_grams: GramMatrices, omega_path: Array) -> Array:
    """Minus twice the log pseudo-likelihood with the variances maximised out, at every step of a path.

    Up to a constant.

    The logarithms of the residual variances count as often as the smoother leaves samples: residuals
    that it has shortened would otherwise make every edge seem to explain more than it does.
    """
    return np.log(path_residuals(node_grams, omega_path)) @ samples_left(node_grams)


def pseudo_bic(node_grams: GramMatrices, omega_path: Array) -> Array:
    """The log loss + log n (edges + p) at every step: the pilot's choice of its penalty."""
    p = node_grams.p
    edges = np.count_nonzero(np.triu(omega_path, 1), axis=(1, 2))
    bic: Array = log_losses(node_grams, omega_path) + np.log(node_grams.n) * (edges + p)
    return bic


def conditional_scale(
    node_grams: GramMatrices, symmetry: Symmetry, n_threads: int | None = None
) -> Array:
    """Estimate the sigma_j by a pilot path whose penalty BIC chooses, until they are stable.

    They are a property of the data and do not depend on the penalty of the final fit.

    Parameters
    ----------
    node_grams : GramMatrices
    symmetry : {"joint", "and", "or"}
    n_threads : int, optional
        All that are available when absent; the result does not depend on it.

    Returns
    -------
    ndarray of shape (p,)
    """
    p = node_grams.p
    scale = np.ones(p)
    near: _Pilot | None = None
    for _ in range(MAX_ROUNDS):
        scaled = node_grams.rescaled(scale)
        largest = lambda_max(scaled, symmetry) or 1.0
        grid = np.geomspace(largest, PILOT_RATIO * largest, PILOT_ALPHAS)
        if symmetry == "joint" and many_variables(node_grams):
            near = _pilot_of_many(scaled, grid, near, n_threads)
            omega = near.omega
        else:
            omega = _pilot_network(scaled, grid, symmetry, n_threads)
        factor = residual_scale(scaled, omega)
        scale = scale * factor
        changes = np.abs(factor - 1.0)
        if np.all(changes < STABLE):
            break
        if np.any(changes > SIMILAR):
            near = None
    return scale


def _pilot_network(
    node_grams: GramMatrices, grid: Array, symmetry: Symmetry, n_threads: int | None
) -> Array:
    """The network of a grid of penalties with the smallest BIC: shape (p, p)."""
    path = solve_path(
        node_grams,
        grid,
        symmetry=symmetry,
        tol=PILOT_TOL,
        max_iter=PILOT_SWEEPS,
        n_threads=n_threads,
    )
    best: Array = path.omega[int(np.argmin(pseudo_bic(node_grams, path.omega)))]
    return best


@dataclass(frozen=True, slots=True)
class _Pilot:
    """The network of a grid with the smallest BIC, and its penalty."""

    omega: Array
    level: float


def _pilot_of_many(
    node_grams: GramMatrices, grid: Array, near: _Pilot | None, n_threads: int | None
) -> _Pilot:
    """The network of many variables with the smallest BIC, searched from a network of similar units on."""
    first = 0
    if near is not None:
        first = max(int(np.searchsorted(-grid, -near.level)) - PENALTIES_ABOVE, 0)
    best, smallest, chosen = np.zeros((node_grams.p, node_grams.p)), np.inf, first
    steps = path_steps(
        node_grams,
        grid[first:],
        tol=PILOT_TOL,
        max_iter=PILOT_SWEEPS,
        n_threads=n_threads,
        start=None if near is None else near.omega,
    )
    for number, step in enumerate(steps, first):
        bic = float(pseudo_bic(node_grams, step.omega[None])[0])
        if bic < smallest:
            best, smallest, chosen = step.omega, bic, number
        if number - chosen > (PILOT_PATIENCE if near is None else NEAR_PATIENCE):
            break
    if chosen == first > 0:
        # The smallest BIC may be at a penalty above.
        return _pilot_of_many(node_grams, grid, None, n_threads)
    return _Pilot(best, float(grid[chosen]))
