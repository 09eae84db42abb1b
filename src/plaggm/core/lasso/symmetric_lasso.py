"""The symmetric lasso along a decreasing grid of penalties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array, Index
from plaggm.core.grams.node_grams import CentredGrams
from plaggm.core.grams.unexplained_energy import unexplained_energy
from plaggm.core.lasso.pair_descent import descend, predict, refresh_gradient
from plaggm.core.lasso.short_rows import ShortRows, short_rows
from plaggm.core.numerics.threads import threads

# Length from which on a grid is divided into two halves that can run in parallel.
LONG_GRID = 60
# Number of variables below which threads cost more time than they save.
FEW_VARIABLES = 40


def joint_path(
    centred: CentredGrams, levels: Array, tol: float, max_iter: int, n_threads: int = 1
) -> tuple[Array, Array, NDArray[np.int64]]:
    """Solve the problem of `plaggm.core.lasso.pair_descent` along a grid, each solution starting the next.

    A long grid is divided into two halves, which can run in parallel.

    Parameters
    ----------
    centred : CentredGrams
    levels : ndarray of shape (n_levels,)
        Decreasing lambdas.
    tol : float
        Largest duality gap relative to the loss that networks can explain.
    max_iter : int
        Largest number of sweeps at one lambda.
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    path : ndarray of shape (n_levels, p, p)
        Zero diagonal.
    gaps : ndarray of shape (n_levels,)
        Duality gaps relative to the loss that networks can explain.
    sweeps : ndarray of shape (n_levels,)
    """
    problem = _problem(centred, tol, max_iter)
    p = problem.p
    path = np.zeros((len(levels), p, p))
    gaps = np.zeros(len(levels))
    sweeps = np.zeros(len(levels), np.int64)
    cut = len(levels) // 2 if len(levels) >= LONG_GRID else len(levels)

    def work(part: slice) -> None:
        _follow(problem, levels[part], path[part], gaps[part], sweeps[part])

    with threads(n_threads if p >= FEW_VARIABLES else 1) as pool:
        pool.run(work, [slice(0, cut), slice(cut, len(levels))])
    return path, gaps, sweeps


@dataclass(frozen=True, slots=True)
class _Problem:
    """Quantities shared by all steps of a path; see `plaggm.core.lasso.pair_descent`."""

    centred: CentredGrams
    short: ShortRows
    first: Index
    second: Index
    curvature: Array
    floor: float
    null: float
    tolerance: float
    budget: int

    @property
    def p(self) -> int:
        return len(self.centred.index)


def _problem(centred: CentredGrams, tol: float, max_iter: int) -> _Problem:
    grams, index = centred.grams, centred.index
    p = len(index)
    first, second = np.triu_indices(p, 1)
    floor = float(np.sum(unexplained_energy(centred)))
    null = 0.5 * (float(np.sum(grams[index, np.arange(p), np.arange(p)])) - floor)
    return _Problem(
        centred,
        short_rows(grams, index, first, second),
        first,
        second,
        grams[index[first], second, second] + grams[index[second], first, first],
        floor,
        null,
        tol * null,
        max_iter,
    )


def _follow(
    problem: _Problem, levels: Array, path: Array, gaps: Array, sweeps: NDArray[np.int64]
) -> None:
    """Solve a part of the grid, starting from an empty network; writes into the last three arrays."""
    if not len(levels):
        return
    grams, index = problem.centred.grams, problem.centred.index
    first, second = problem.first, problem.second
    omega, gradient = np.zeros((problem.p, problem.p)), np.empty((problem.p, problem.p))
    refresh_gradient(grams, index, omega, gradient)
    omega_before, gradient_before = omega.copy(), gradient.copy()
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
            problem.short,
            index,
            omega,
            gradient,
            problem.curvature,
            first,
            second,
            level,
            level_before,
            problem.floor,
            problem.tolerance,
            problem.budget,
        )
        path[step] = omega
        gaps[step] = gap / problem.null if problem.null > 0.0 else 0.0
        level_before = level
