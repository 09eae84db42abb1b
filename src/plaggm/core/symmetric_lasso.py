"""The symmetric lasso along a decreasing grid of penalties."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plaggm.core.node_grams import CentredGrams, unexplained_energy
from plaggm.core.pair_descent import descend, predict, refresh_gradient, short_rows

Array = NDArray[np.float64]


def joint_path(
    centred: CentredGrams, levels: Array, tol: float, max_iter: int
) -> tuple[Array, Array, NDArray[np.int64]]:
    """Solve the problem of `plaggm.core.pair_descent` along a grid, each solution starting the next.

    Parameters
    ----------
    centred : CentredGrams
    levels : ndarray of shape (n_levels,)
        Decreasing lambdas.
    tol : float
        Largest duality gap, as a part of the loss that the network can explain.
    max_iter : int
        Largest number of sweeps at one lambda.

    Returns
    -------
    path : ndarray of shape (n_levels, p, p)
        Zero diagonal.
    gaps : ndarray of shape (n_levels,)
        As a part of the loss that the network can explain.
    sweeps : ndarray of shape (n_levels,)
    """
    grams, index = centred.grams, centred.index
    p = len(index)
    first, second = np.triu_indices(p, 1)
    short = short_rows(grams, index, first, second)
    curvature = grams[index[first], second, second] + grams[index[second], first, first]
    floor = float(np.sum(unexplained_energy(centred)))
    null = 0.5 * (float(np.sum(grams[index, np.arange(p), np.arange(p)])) - floor)
    omega, gradient = np.zeros((p, p)), np.empty((p, p))
    refresh_gradient(grams, index, omega, gradient)
    omega_before, gradient_before = omega.copy(), gradient.copy()

    path = np.zeros((len(levels), p, p))
    gaps = np.zeros(len(levels))
    sweeps = np.zeros(len(levels), np.int64)
    steepest = float(np.max(np.abs(gradient + gradient.T)[first, second]))
    level_before = max(steepest, float(levels[0]))
    for step, level in enumerate(levels):
        if step > 1 and levels[step - 2] > level_before:
            ratio = (level_before - level) / (levels[step - 2] - level_before)
            predict(omega, gradient, omega_before, gradient_before, ratio, level)
        else:
            omega_before[:], gradient_before[:] = omega, gradient
        gap, sweeps[step] = descend(
            grams,
            short,
            index,
            omega,
            gradient,
            curvature,
            first,
            second,
            level,
            level_before,
            floor,
            tol * null,
            max_iter,
        )
        path[step] = omega
        gaps[step] = gap / null if null > 0.0 else 0.0
        level_before = level
    return path, gaps, sweeps
