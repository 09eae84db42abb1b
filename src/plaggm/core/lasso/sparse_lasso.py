"""The symmetric lasso of many variables along a decreasing grid of penalties.

The problem is that of `plaggm.core.lasso.pair_descent`. Coordinate descent reads only the blocks of the pairs
selected by the sequential strong rule (`plaggm.core.lasso.working_pairs`). The gradients of all pairs, for
screening, optimality conditions and duality gap, are a product with the matrix common to all nodes plus
products of low rank. Memory is a few p x p matrices in addition to the blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Mask
from plaggm.core.grams.factored_grams import LowRankGrams
from plaggm.core.lasso.orthant_newton import SingleGrams, newton_descent
from plaggm.core.lasso.pair_descent import TIGHTEN
from plaggm.core.lasso.pair_state import PairProblem, PairState, pair_problem
from plaggm.core.lasso.working_pairs import descend_pairs, working_pairs
from plaggm.core.numerics.threads import Threads

# Share of selected pairs above which Newton steps over all pairs are used.
MANY_PAIRS = 0.2
# Relative increase of the objective that is attributed to rounding.
ROUNDING = 1e-9
# Largest memory of the blocks of all nodes, and memory of one of their numbers.
BLOCK_BYTES, SINGLE = 10**9, 4


@dataclass(frozen=True, slots=True)
class PathStep:
    """The solution at one penalty.

    Attributes
    ----------
    omega : ndarray of shape (p, p)
        Symmetric with zero diagonal; valid until the next step is requested.
    gap : float
        Duality gap relative to the loss that networks can explain.
    sweeps : int
    """

    omega: Array
    gap: float
    sweeps: int


def sparse_path(
    centred: LowRankGrams,
    levels: Array,
    tol: float,
    max_iter: int,
    pool: Threads,
    start: Array | None = None,
) -> Iterator[PathStep]:
    """Solve the symmetric lasso along a grid, each solution starting the next.

    Parameters
    ----------
    centred : LowRankGrams
        Node Grams with the intercepts minimised out.
    levels : ndarray of shape (n_levels,)
        Decreasing lambdas.
    tol : float
        Largest duality gap relative to the loss that networks can explain.
    max_iter : int
        Largest number of sweeps at one lambda.
    pool : Threads
        The result does not depend on their number.
    start : ndarray of shape (p, p), optional
        Symmetric network close to the first solution; empty if absent. The diagonal is not read.

    Yields
    ------
    PathStep
    """
    problem = pair_problem(centred)
    solver = _Solver(problem, SingleGrams.of(centred, pool), tol * problem.null, max_iter, pool)
    state = PairState.empty(problem) if start is None else PairState.of(problem, start)
    before = state.copy()
    level_before = float(levels[0]) if len(levels) else 0.0
    if start is None:
        level_before = max(state.steepest(), level_before)
    for step, level in enumerate(levels.tolist()):
        if step > 1 and levels[step - 2] > level_before:
            ratio = (level_before - level) / (levels[step - 2] - level_before)
            candidate = state.on_line(before, ratio)
            better = candidate.objective(level) < state.objective(level)
            before, state = state, candidate if better else state.copy()
        else:
            before = state.copy()
        gap, sweeps = solver.solve(state, level, level_before)
        yield PathStep(state.omega, gap / problem.null if problem.null > 0.0 else 0.0, sweeps)
        level_before = level


@dataclass(frozen=True, slots=True)
class _Solver:
    """Solver of one step of a path from a state near its solution."""

    problem: PairProblem
    single: SingleGrams
    tolerance: float
    budget: int
    pool: Threads

    def solve(self, state: PairState, level: float, level_before: float) -> tuple[float, int]:
        """Change the state to the solution; returns the duality gap and the sweeps or iterations taken."""
        # The sequential strong rule (Tibshirani et al., 2012).
        selected = np.abs(state.pair_gradient()) >= 2.0 * level - level_before
        selected |= state.omega != 0.0
        np.fill_diagonal(selected, False)
        gap, sweeps = state.gap(self.problem, level), 0
        ends = np.count_nonzero(selected, axis=1)
        too_large = SINGLE * int(np.sum(ends**2)) > BLOCK_BYTES
        if level > 0.0 and (too_large or ends.sum() > MANY_PAIRS * selected.size):
            gap, sweeps = newton_descent(
                self.problem, self.single, state, level, self.tolerance, self.budget
            )
        if gap > self.tolerance and sweeps < self.budget and not too_large:
            gap, more = self._descend(state, selected, level, self.budget - sweeps)
            sweeps += more
        return gap, sweeps

    def _descend(
        self, state: PairState, selected: Mask, level: float, budget: int
    ) -> tuple[float, int]:
        """Sweep over selected pairs, adding those that violate their optimality condition."""
        problem = self.problem
        gap, sweeps = np.inf, 0
        step_tolerance = self.tolerance
        pairs = None
        while gap > self.tolerance and sweeps < budget:
            if pairs is None:
                selected |= state.omega != 0.0
                pairs = working_pairs(problem.centred, problem.curvature, selected, self.pool)
                response = problem.response[pairs.nodes, pairs.ends]
            before, objective = state.copy(), state.objective(level)
            value = state.omega[pairs.first, pairs.second]
            slope = state.gradient[pairs.nodes, pairs.ends]
            sweeps += descend_pairs(
                pairs, value, slope, response, level, step_tolerance, budget - sweeps
            )
            state.omega[pairs.first, pairs.second] = value
            state.omega[pairs.second, pairs.first] = value
            state.refresh(problem)
            if not state.objective(level) <= objective * (1.0 + ROUNDING):
                # With nearly dependent columns blocks in single precision need not be positive definite.
                state.omega, state.gradient = before.omega, before.gradient
                return state.gap(problem, level), sweeps
            broken = (np.abs(state.pair_gradient()) > level) & ~selected
            if broken.any():
                selected |= broken
                pairs = None
            gap = state.gap(problem, level)
            step_tolerance *= TIGHTEN
        return gap, sweeps
