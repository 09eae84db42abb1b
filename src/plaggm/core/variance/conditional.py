"""Conditional standard deviations of the nodes.

Omega is symmetric only if all nodes have conditional variance one: the coefficient of node k in node j's
regression is rho_jk sigma_j / sigma_k. Dividing column j by sigma_j makes both coefficients of a pair the
partial correlation. So fits, residual variances and rescaled Gram matrices are computed alternately.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array
from plaggm.core.grams.node_grams import GramMatrices, path_residuals, residual_variances
from plaggm.core.lasso.path import Symmetry, lambda_max, many_variables, path_steps, solve_path

PILOT_ALPHAS = 30
PILOT_RATIO = 0.01
PILOT_TOL = 1e-5
PILOT_SWEEPS = 200
# Number of steps without a better BIC after which the pilot of many variables ends: in the first round, and
# in rounds that start from the network of the previous round.
PILOT_PATIENCE, NEAR_PATIENCE = 4, 1
# Largest relative change of a sigma_j for which the next round starts from the network of this one, and
# number of penalties above the last chosen one at which it starts.
SIMILAR, PENALTIES_ABOVE = 0.5, 3
MAX_ROUNDS = 6
# Relative change of every sigma_j at which the rounds end.
STABLE = 1e-2
# Smallest residual degrees of freedom relative to n.
FEWEST_DF = 0.1


def residual_scale(node_grams: GramMatrices, omega: Array) -> Array:
    """Residual standard deviations, corrected for the degrees of freedom of smoother and lasso.

    Returns
    -------
    ndarray of shape (p,)
    """
    left = samples_left(node_grams, np.count_nonzero(omega, axis=0))
    return np.sqrt(residual_variances(node_grams, omega) * node_grams.n / left)


def samples_left(node_grams: GramMatrices, coefficients: NDArray[np.int64] | int = 0) -> Array:
    """Residual degrees of freedom of every node: shape (p,)."""
    left = node_grams.n - node_grams.smoother_trace - coefficients
    return np.maximum(left, FEWEST_DF * node_grams.n)


def log_losses(node_grams: GramMatrices, omega_path: Array) -> Array:
    """Minus twice the log pseudo-likelihood with the variances maximised out, up to a constant.

    The logarithm of a residual variance is multiplied by the node's residual degrees of freedom: since the
    smoother shortens residuals, n would overrate edges.

    Returns
    -------
    ndarray of shape (steps,)
    """
    return np.log(path_residuals(node_grams, omega_path)) @ samples_left(node_grams)


def pseudo_bic(node_grams: GramMatrices, omega_path: Array) -> Array:
    """BIC, the log loss + log n (edges + p), at every step of a path: shape (steps,)."""
    p = node_grams.p
    edges = np.count_nonzero(np.triu(omega_path, 1), axis=(1, 2))
    bic: Array = log_losses(node_grams, omega_path) + np.log(node_grams.n) * (edges + p)
    return bic


def conditional_scale(
    node_grams: GramMatrices, symmetry: Symmetry, n_threads: int | None = None
) -> Array:
    """The sigma_j by pilot paths with penalties chosen by BIC, repeated until they are stable.

    They do not depend on the penalty of the final fit.

    Parameters
    ----------
    node_grams : GramMatrices
    symmetry : {"joint", "and", "or"}
    n_threads : int, optional
        All available threads if absent; the result does not depend on it.

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
    """The network of many variables with the smallest BIC, starting from that of the previous round."""
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
