r"""Node-wise lasso whose edges are linear in covariates, for variables of any family.

Node j given the others has the predictor

    eta_j = theta_j + sum_c gamma_jc v_c + sum_k (b_jk + sum_c d_jkc v_c) z_k

in the units of `plaggm.core.families.columns`, v being the covariates. Its log-likelihood is penalised by
lambda times the l1 norm of all coefficients except theta_j: main effects of other variables and of
covariates, and the interactions by which covariates change edges. This is the estimator of MRFcov (Clark,
Wells and Lindberg, 2018). Nodes are fitted separately, by proximal Newton steps: each minimises a quadratic
model by coordinate descent and is halved until the node's objective decreases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Mask
from plaggm.core.families.path import networks
from plaggm.core.families.rows import FamilyRows, clear_own
from plaggm.core.lasso.optimality import violations
from plaggm.core.lasso.path import lambda_grid
from plaggm.core.numerics.compiled import compiled
from plaggm.core.numerics.coordinate_steps import soft_threshold
from plaggm.core.spline.statistics import function_products

# Accuracy of the coordinate descent relative to the violation before the step, and its largest number of
# sweeps.
STEP_ACCURACY, SWEEPS = 0.1, 500
HALVINGS = 30
# Relative increase of the objective that is attributed to rounding.
ROUNDING = 1e-12
# Steps at one penalty after which curvatures are recomputed.
RENEW = 4


@dataclass(frozen=True, slots=True)
class CovariatePath:
    """Solutions of all nodes along a decreasing grid of penalties.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
    coefficients : ndarray of shape (n_alphas, (1 + M) q, p)
        Column j is node j's, laid out as in `plaggm.core.families.rows`.
    losses : ndarray of shape (n_alphas,)
        Minus the mean log-likelihood, summed over the nodes.
    violations : ndarray of shape (n_alphas,)
        Largest violation of the optimality conditions, relative to the smallest penalty without effects.
    n_iter : ndarray of int of shape (n_alphas,)
        Steps.
    """

    alphas: Array
    coefficients: Array
    losses: Array
    violations: Array
    n_iter: Array

    def omega(self) -> Array:
        """Networks at covariates of zero, both ends averaged, with intercepts on the diagonal.

        Returns
        -------
        ndarray of shape (n_alphas, p, p)
        """
        found = networks(self.coefficients)
        return 0.5 * (found + found.transpose(0, 2, 1))


def covariate_lasso(
    rows: FamilyRows,
    alphas: Array | int,
    *,
    tol: float,
    max_iter: int,
    interactions: bool = True,
) -> CovariatePath:
    """Solve every node's lasso along a decreasing grid of penalties.

    Parameters
    ----------
    rows : FamilyRows
        Rows whose functions are the covariates.
    alphas : ndarray of shape (n_alphas,), or int
        Decreasing penalties, or their number for glmnet's grid.
    tol : float
        Largest violation of the optimality conditions, relative to the smallest penalty without effects.
    max_iter : int
        Largest number of steps at one penalty.
    interactions : bool, default=True
        Whether covariates change edges, and not only intercepts.
    """
    p, size = rows.p, rows.size
    table = function_products(rows.b, rows.phi)
    penalised = np.ones(size, dtype=np.bool_)
    penalised[p] = False
    own = clear_own(np.ones((size, p))) == 0.0
    if not interactions:
        own.reshape(-1, p + 1, p)[1:, :p] = True
    solver = _Solver(rows, table, penalised, own)
    unit = solver.null(tol, max_iter)
    if isinstance(alphas, int):
        alphas = lambda_grid(unit, alphas, rows.n, p)
    found = []
    for level in alphas:
        violation, steps = solver.solve(float(level), tol * unit, max_iter)
        found.append((solver.coefficients.copy(), float(solver.losses.sum()), violation, steps))
    coefficients, losses, largest, n_iter = zip(*found, strict=True)
    return CovariatePath(
        alphas,
        np.array(coefficients),
        np.array(losses),
        np.array(largest) / (unit or 1.0),
        np.array(n_iter),
    )


class _Solver:
    """State of a path: coefficients, predictors and slopes of all nodes, and their curvatures.

    Parameters
    ----------
    rows : FamilyRows
    table : ndarray of shape (n, K)
        Columns of all coefficients.
    penalised : ndarray of bool of shape (K,)
    own : ndarray of bool of shape (K, p)
        Coefficients of every node that are fixed at zero, such as those of its own column.
    """

    def __init__(self, rows: FamilyRows, table: Array, penalised: Mask, own: Mask) -> None:
        self.rows, self.table, self.penalised, self.own = rows, table, penalised, own
        self.coefficients = np.zeros(own.shape)
        self.coefficients[rows.p] = rows.columns.mean_responses(rows.x)
        self.eta = table @ self.coefficients
        self.losses = self._losses(self.eta)
        self._renew()

    def null(self, tol: float, max_iter: int) -> float:
        """Smallest penalty at which the solution without effects is optimal; sets this solution."""
        start = float(np.max(np.abs(self._gradient())[self.penalised], initial=0.0)) or 1.0
        self.solve(np.inf, tol * start, max_iter)
        return float(np.max(np.abs(self._gradient())[self.penalised], initial=0.0))

    def solve(self, level: float, tolerance: float, max_iter: int) -> tuple[float, int]:
        """Violation after steps at one penalty until it is small enough, and the number of steps."""
        gradient = self._gradient()
        violation = self._violation(gradient, level)
        steps = 0
        while violation > tolerance and steps < max_iter:
            if steps and steps % RENEW == 0:
                self._renew()
            moved = self._step(gradient, level, STEP_ACCURACY * violation)
            steps += 1
            gradient = self._gradient()
            violation = self._violation(gradient, level)
            if not moved:
                if self.fresh:
                    break
                self._renew()
        return violation, steps

    def _losses(self, eta: Array) -> Array:
        return np.asarray(-self.rows.columns.log_likelihood(self.rows.x, eta).mean(axis=0))

    def _gradient(self) -> Array:
        slope, _ = self.rows.columns.slopes(self.rows.x, self.eta)
        found = -(self.table.T @ slope) / len(self.table)
        found[self.own] = 0.0
        return np.asarray(found)

    def _violation(self, gradient: Array, level: float) -> float:
        free = np.abs(gradient[~self.penalised])
        worst = float(free.max(initial=0.0))
        if np.isinf(level):
            return worst
        broken = violations(gradient[self.penalised], self.coefficients[self.penalised], level)
        broken[self.own[self.penalised]] = 0.0
        return max(worst, float(broken.max(initial=0.0)))

    def _renew(self) -> None:
        _, curvature = self.rows.columns.slopes(self.rows.x, self.eta)
        n = len(self.table)
        self.curvatures = np.array(
            [(self.table * weight[:, None]).T @ self.table / n for weight in curvature.T]
        )
        self.fresh = True

    def _objectives(self, losses: Array, coefficients: Array, level: float) -> Array:
        if np.isinf(level):
            return losses
        sizes = np.abs(coefficients[self.penalised]).sum(axis=0)
        return np.asarray(losses + level * sizes)

    def _step(self, gradient: Array, level: float, accuracy: float) -> bool:
        """Take one step of every node; returns whether any objective decreased."""
        minimiser = np.ascontiguousarray(self.coefficients.T)
        _descend(
            self.curvatures,
            minimiser,
            np.ascontiguousarray(gradient.T),
            self.penalised,
            np.ascontiguousarray(self.own.T),
            level,
            accuracy,
            SWEEPS,
        )
        direction = minimiser.T - self.coefficients
        along = self.table @ direction
        before = self._objectives(self.losses, self.coefficients, level)
        share = np.ones(self.rows.p)
        for _ in range(HALVINGS):
            trial = np.where(share == 1.0, minimiser.T, self.coefficients + share * direction)
            eta = self.eta + share * along
            losses = self._losses(eta)
            rose = self._objectives(losses, trial, level) > before + ROUNDING * np.abs(before)
            if not rose.any():
                break
            share[rose] *= 0.5
        share[rose] = 0.0
        if not share.any():
            return False
        still = share == 0.0
        trial[:, still], eta[:, still] = self.coefficients[:, still], self.eta[:, still]
        losses[still] = self.losses[still]
        self.coefficients, self.eta, self.losses = trial, eta, losses
        self.fresh = False
        return True


@compiled()
def _descend(
    curvatures: Array,
    coefficients: Array,
    gradient: Array,
    penalised: Mask,
    own: Mask,
    level: float,
    accuracy: float,
    sweeps: int,
) -> None:
    """Coordinate descent on the quadratic models of all nodes, in place.

    Parameters
    ----------
    curvatures : ndarray of shape (p, K, K)
    coefficients, gradient : ndarray of shape (p, K)
        Expansion points of the models, and the slopes there.
    penalised : ndarray of bool of shape (K,)
    own : ndarray of bool of shape (p, K)
        Coefficients that are fixed at zero.
    level : float
        Penalty; if infinite, only free coefficients move.
    accuracy : float
        Largest curvature times step of the last sweep.
    sweeps : int
        Largest number of sweeps.
    """
    p, size = coefficients.shape
    for node in range(p):
        matrix, value, slope = curvatures[node], coefficients[node], gradient[node]
        for _ in range(sweeps):
            largest = 0.0
            for k in range(size):
                curvature = matrix[k, k]
                if own[node, k] or curvature <= 0.0 or (penalised[k] and np.isinf(level)):
                    continue
                new = value[k] - slope[k] / curvature
                if penalised[k]:
                    new = soft_threshold(curvature * value[k] - slope[k], level) / curvature
                move = new - value[k]
                if move != 0.0:
                    value[k] = new
                    for other in range(size):
                        slope[other] += matrix[other, k] * move
                    largest = max(largest, curvature * abs(move))
            if largest <= accuracy:
                break
