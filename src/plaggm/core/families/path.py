r"""The symmetric lasso of several families along a decreasing grid of penalties.

The problem, with eta_j = theta_j(g) + sum_k (Omega_jk + R_jk(g)) z_k in the units of
`plaggm.core.families.columns` and R_jk(g) = sum_a phi_a(g) Gamma_a,jk,

    min  - sum_j loglik_j / n + 1/2 sum_j penalty(Gamma_j) + lambda sum_{j<k} |Omega_jk|

over symmetric Omega, the intercepts and every node's Gamma, by proximal Newton steps. Each step solves a
quadratic model (a pair lasso on node Grams) with exact slopes and possibly outdated curvature, and is
halved until the objective decreases. Since slopes are exact, steps converge to the optimum whatever the
curvature, which is recomputed only if they become slow. Steps at a penalty end when the optimality
conditions of all coefficients hold up to a tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array
from plaggm.core.families.nodes import FamilyNodes, NuisancePenalty, family_nodes
from plaggm.core.families.pair_newton import descend_pairs
from plaggm.core.families.rows import FamilyRows
from plaggm.core.grams.node_grams import CentredGrams, profile_intercepts
from plaggm.core.lasso.optimality import violations
from plaggm.core.lasso.path import PathSolution, lambda_grid
from plaggm.core.numerics.threads import single_threaded_blas

# Accuracy of the solution of a step's quadratic model relative to the violation before the step.
STEP_ACCURACY = 0.05
SWEEPS = 2000
HALVINGS = 30
# Relative increase of the objective that is attributed to rounding.
ROUNDING = 1e-13
# Ratio of two successive violations above which a step is slow, and number of slow steps after which the
# curvature is recomputed.
SLOW, PATIENCE = 0.3, 12
# Steps at one penalty after which the curvature is recomputed in any case.
MANY_STEPS = 8
# Ratio of the penalties that precede a first one far below the largest, and the smallest of them relative
# to the largest.
LEAD_RATIO, LOWEST_LEAD = 0.4, 1e-3


@dataclass(frozen=True, slots=True)
class FamilyPath:
    """Solutions along a decreasing grid of penalties.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
    coefficients : ndarray of shape (n_alphas, (1 + M) q, p)
        Column j is node j's, as in `plaggm.core.families.rows`.
    losses : ndarray of shape (n_alphas,)
        Minus the mean log-likelihood, summed over the nodes.
    violations : ndarray of shape (n_alphas,)
        Largest violation of the optimality conditions, relative to the smallest penalty without edges.
    n_iter : ndarray of shape (n_alphas,)
        Steps.
    """

    alphas: Array
    coefficients: Array
    losses: Array
    violations: Array
    n_iter: NDArray[np.int64]

    def omega(self) -> Array:
        """Networks with intercepts on the diagonal: shape (n_alphas, p, p)."""
        return networks(self.coefficients)

    def solution(self) -> PathSolution:
        """The path as a `PathSolution`, with violations in place of duality gaps."""
        return PathSolution(self.alphas, self.omega(), self.violations, self.n_iter)


def networks(coefficients: Array) -> Array:
    """Networks with intercepts on the diagonal from coefficients (..., (1 + M) q, p): shape (..., p, p)."""
    p = coefficients.shape[-1]
    omega = coefficients[..., :p, :].copy()
    index = np.arange(p)
    omega[..., index, index] = coefficients[..., p, :]
    return omega


class FamilySolver:
    """State of a path: coefficients, predictors, slopes and the current quadratic models.

    Parameters
    ----------
    rows : FamilyRows
    penalty : NuisancePenalty
    n_threads : int
    """

    def __init__(self, rows: FamilyRows, penalty: NuisancePenalty, n_threads: int = 1) -> None:
        self.rows, self.penalty, self.n_threads = rows, penalty, n_threads
        self.pairs = np.triu_indices(rows.p, 1)
        self.coefficients = np.zeros((rows.size, rows.p))
        self.coefficients[rows.p] = rows.columns.mean_responses(rows.x)
        self.eta = rows.predictors(self.coefficients)
        self.loss, slopes = rows.evaluate(self.eta)
        # Added to the losses of a path; steps compare losses up to this constant.
        self.constant = rows.loss(self.eta) - self.loss
        self.gradient = self._slopes(slopes)
        self.renew()

    def start(self, omega: Array) -> None:
        """Set the network (p, p), with intercepts on the diagonal; the nuisance stays."""
        p = self.rows.p
        self.coefficients[:p] = omega
        self.coefficients[p] = np.diagonal(omega)
        np.fill_diagonal(self.coefficients[:p], 0.0)
        self.renew()
        self.loss, slopes = self.rows.evaluate(self.eta)
        self.gradient = self._slopes(slopes)

    def predict(self, before: Array, ratio: float, level: float) -> None:
        """Extrapolate along the line through the last two solutions if that lowers the objective.

        Parameters
        ----------
        before : ndarray of shape ((1 + M) q, p)
            Coefficients at the penalty before the last one.
        ratio : float
            Change of the penalty in units of the previous change.
        level : float
            The next penalty.
        """
        p = self.rows.p
        trial = self.coefficients + ratio * (self.coefficients - before)
        # Pairs that would change their sign or leave zero are set to zero.
        trial[:p][trial[:p] * self.coefficients[:p] <= 0.0] = 0.0
        eta = self.rows.predictors(trial)
        loss, slopes = self.rows.evaluate(eta)
        if self._objective(loss, trial, level) < self._objective(
            self.loss, self.coefficients, level
        ):
            self.coefficients, self.eta, self.loss = trial, eta, loss
            self.gradient = self._slopes(slopes)
            self.fresh = False

    def renew(self) -> None:
        """Recompute the quadratic models around the current predictors."""
        self.eta = self.rows.predictors(self.coefficients)
        self.nodes: FamilyNodes = family_nodes(self.rows, self.eta, self.penalty, self.n_threads)
        self.centred: CentredGrams = profile_intercepts(self.nodes.node_grams())
        self.slow, self.fresh = 0, True

    def steepest(self) -> float:
        """Largest slope of a pair; at the solution without edges the smallest penalty without edges."""
        return float(np.max(np.abs(self._pair_slopes()), initial=0.0))

    def violation(self, level: float) -> float:
        """Largest violation of the optimality conditions, in the units of the penalty."""
        p = self.rows.p
        worst = float(np.max(np.abs(self.gradient[p:]), initial=0.0))
        if np.isinf(level):
            return worst
        broken = violations(self._pair_slopes(), self.coefficients[:p][self.pairs], level)
        return max(worst, float(broken.max(initial=0.0)))

    def solve(self, level: float, tolerance: float, max_iter: int) -> tuple[float, int]:
        """Violation after steps at one penalty until it is small enough, and the number of steps."""
        before = self.violation(level)
        steps = 0
        while before > tolerance and steps < max_iter:
            improved = self._step(level, STEP_ACCURACY * before)
            steps += 1
            now = self.violation(level)
            self.slow += now > SLOW * before
            before = now
            if not improved or self.slow >= PATIENCE or steps % MANY_STEPS == 0:
                if self.fresh:
                    # The curvature is up to date, so that only rounding prevents a decrease.
                    break
                self.renew()
        return before, steps

    def _pair_slopes(self) -> Array:
        p = self.rows.p
        both = self.gradient[:p] + self.gradient[:p].T
        slopes: Array = both[self.pairs]
        return slopes

    def _slopes(self, slopes: Array) -> Array:
        return self.rows.gradient(slopes) + self.penalty.slopes(self.coefficients)

    def _objective(self, loss: float, coefficients: Array, level: float) -> float:
        total = loss + self.penalty.value(coefficients)
        if np.isfinite(level):
            total += level * float(np.sum(np.abs(coefficients[: self.rows.p][self.pairs])))
        return total

    def _step(self, level: float, accuracy: float) -> bool:
        """Take one step; returns whether the objective decreased."""
        p, nodes = self.rows.p, self.nodes
        slopes, pull = nodes.profiled_slopes(self.gradient)
        constant, cross = nodes.grams[:, p, p], nodes.grams[:, :p, p]
        omega = self.coefficients[:p].copy()
        if np.isfinite(level):
            gradient = slopes[:, :p] - cross * (slopes[:, p] / constant)[:, None]
            descend_pairs(self.centred.grams, omega, gradient, *self.pairs, level, accuracy, SWEEPS)
        move = np.zeros((p, p + 1))
        move[:, :p] = (omega - self.coefficients[:p]).T
        move[:, p] = -(slopes[:, p] + np.sum(cross * move[:, :p], axis=1)) / constant
        rest = -pull - np.matmul(nodes.applied, move[:, :, None])[:, :, 0]
        direction = np.vstack([move.T, rest.T])
        before = self._objective(self.loss, self.coefficients, level)
        along = self.rows.predictors(direction)
        share = 1.0
        for _ in range(HALVINGS):
            trial = self.coefficients + share * direction
            if share == 1.0:
                # Entries that the step set to zero are exactly zero.
                trial[:p] = omega
            eta = self.eta + share * along
            loss, slopes = self.rows.evaluate(eta)
            if self._objective(loss, trial, level) <= before + ROUNDING * abs(before):
                break
            share *= 0.5
        else:
            return False
        self.coefficients, self.eta, self.loss = trial, eta, loss
        self.gradient = self._slopes(slopes)
        self.fresh = False
        return True


def solve_family_path(
    rows: FamilyRows,
    penalty: NuisancePenalty,
    alphas: Array | int,
    *,
    tol: float,
    max_iter: int,
    n_threads: int = 1,
) -> FamilyPath:
    """Estimate the network at every penalty of a decreasing grid.

    Parameters
    ----------
    rows : FamilyRows
    penalty : NuisancePenalty
    alphas : ndarray of shape (n_alphas,), or int
        Decreasing penalties, or their number for glmnet's grid.
    tol : float
        Largest violation of the optimality conditions, relative to the smallest penalty without edges.
    max_iter : int
        Largest number of steps at one penalty.
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    FamilyPath
    """
    with single_threaded_blas():
        solver = FamilySolver(rows, penalty, n_threads)
        start = solver.steepest() or 1.0
        solver.solve(np.inf, tol * start, max_iter)
        solver.renew()
        largest = solver.steepest()
        if isinstance(alphas, int):
            alphas = lambda_grid(largest, alphas, rows.n, rows.p)
        unit = largest or 1.0
        found: list[tuple[Array, float, float, int]] = []
        levels = _lead_in(largest, alphas)
        before = solver.coefficients
        for step, level in enumerate(levels):
            here = solver.coefficients
            if step > 1 and levels[step - 2] > levels[step - 1]:
                ratio = (levels[step - 1] - level) / (levels[step - 2] - levels[step - 1])
                solver.predict(before, float(ratio), float(level))
            before = here
            violation, count = solver.solve(level, tol * unit, max_iter)
            found.append(
                (solver.coefficients.copy(), solver.loss + solver.constant, violation / unit, count)
            )
        coefficients, losses, violated, steps = zip(*found[-len(alphas) :], strict=True)
    return FamilyPath(
        alphas,
        np.array(coefficients),
        np.array(losses),
        np.array(violated),
        np.array(steps, dtype=np.int64),
    )


def _lead_in(largest: float, alphas: Array) -> Array:
    """The penalties, preceded by a few larger ones if the first is far below the largest."""
    first = float(alphas[0])
    low = max(first, LOWEST_LEAD * largest)
    if not 0.0 < low < LEAD_RATIO * largest:
        return alphas
    count = int(np.ceil(np.log(low / largest) / np.log(LEAD_RATIO)))
    lead = largest * (low / largest) ** (np.arange(1, count) / count)
    return np.append(lead, alphas)
