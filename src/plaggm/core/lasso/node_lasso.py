"""The lasso of a single node along a decreasing grid of penalties."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.lasso.pair_descent import TIGHTEN
from plaggm.core.numerics.compiled import compiled
from plaggm.core.numerics.coordinate_steps import add_scaled, duality_gap, soft_threshold


@compiled()
def _sweep(
    gram: Array, beta: Array, gradient: Array, members: Index, count: int, level: float
) -> float:
    largest = 0.0
    for position in range(count):
        k = members[position]
        a = gram[k, k]
        if a <= 0.0:
            continue
        old = beta[k]
        new = soft_threshold(a * old - gradient[k], level) / a
        if new != old:
            beta[k] = new
            add_scaled(gradient, gram[k], new - old)
            largest = max(largest, a * (new - old) ** 2)
    return largest


@compiled()
def _gap(gram: Array, beta: Array, gradient: Array, j: int, level: float, floor: float) -> float:
    fitted = 0.0
    penalty = 0.0
    steepest = 0.0
    for k in range(beta.shape[0]):
        if k != j:
            fitted += beta[k] * gradient[k]
            penalty += abs(beta[k])
            steepest = max(steepest, abs(gradient[k]))
    if level == 0.0:
        # Only zero is dual feasible: the sum of the gains of exact steps of all coefficients instead.
        gain = 0.0
        for k in range(beta.shape[0]):
            if k != j and gram[k, k] > 0.0:
                gain += 0.5 * gradient[k] ** 2 / gram[k, k]
        return gain
    own = -gradient[j] - floor
    return duality_gap(own, own + fitted, level * penalty, steepest, level)


@compiled()
def node_path(
    gram: Array, j: int, levels: Array, floor: float, tol: float, max_iter: int
) -> tuple[Array, Array, Index]:
    """Solve node j's lasso, 1/2 b'Gb - G[j, :] b + level |b|_1 with b_j = 0, along a grid.

    Parameters
    ----------
    gram : ndarray of shape (p, p)
        Row and column j belong to the response.
    j : int
    levels : ndarray of shape (n_levels,)
        Decreasing.
    floor : float
        See :func:`plaggm.core.grams.unexplained_energy.unexplained_energy`.
    tol : float
        Largest duality gap relative to the loss that the other variables can explain.
    max_iter : int
        Largest number of sweeps at one level.

    Returns
    -------
    path : ndarray of shape (n_levels, p)
    gaps, sweeps : ndarray of shape (n_levels,)
    """
    p = gram.shape[0]
    beta = np.zeros(p)
    gradient = -gram[j].copy()
    null = 0.5 * (gram[j, j] - floor)
    path = np.zeros((levels.shape[0], p))
    gaps = np.zeros(levels.shape[0])
    sweeps = np.zeros(levels.shape[0], np.int64)
    everyone = np.empty(p - 1, np.int64)
    active = np.empty(p - 1, np.int64)
    count = 0
    for k in range(p):
        if k != j:
            everyone[count] = k
            count += 1
    for step in range(levels.shape[0]):
        level = levels[step]
        step_tolerance = tol * null
        gap = _gap(gram, beta, gradient, j, level, floor)
        while gap > tol * null and sweeps[step] < max_iter:
            while sweeps[step] < max_iter:
                largest = _sweep(gram, beta, gradient, everyone, count, level)
                sweeps[step] += 1
                if largest <= step_tolerance:
                    break
                n_active = 0
                for k in everyone:
                    if beta[k] != 0.0:
                        active[n_active] = k
                        n_active += 1
                while sweeps[step] < max_iter:
                    largest = _sweep(gram, beta, gradient, active, n_active, level)
                    sweeps[step] += 1
                    if largest <= step_tolerance:
                        break
            gap = _gap(gram, beta, gradient, j, level, floor)
            step_tolerance *= TIGHTEN
        path[step] = beta
        gaps[step] = gap / null if null > 0.0 else 0.0
    return path, gaps, sweeps
