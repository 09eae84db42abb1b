"""Logistic regression with the lasso or the elastic net along a decreasing grid of penalties.

The problem at one penalty, with rows x_i, classes y_i in {0, 1} and eta_i = b0 + x_i'b, is glmnet's (whose
lambda is divided by the number of rows):

    min  sum_i { log(1 + exp(eta_i)) - y_i eta_i } + lambda { a |b|_1 + (1 - a) |b|_2^2 / 2 }

over b0 and b. The mixing parameter a is one for the lasso.

Each step minimises a quadratic model of the loss plus the penalty by cyclic coordinate descent (proximal
Newton), and is halved until the objective decreases. Results are deterministic.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit

from plaggm.array_types import Array, Index
from plaggm.core.numerics.compiled import SUMMATION, compiled
from plaggm.core.numerics.coordinate_steps import soft_threshold

# Largest violation of the optimality conditions relative to the smallest penalty that selects nothing.
TOL = 1e-7
NEWTON_STEPS = 100
SWEEPS = 1000
# Smallest curvature of a row, so that rows that are classified with certainty have some.
CURVATURE_FLOOR = 1e-6
# Accuracy of the solution of a step's quadratic model relative to the violation before the step.
STEP_ACCURACY = 0.1
HALVINGS = 30
# glmnet's grid of penalties: their number, and the ratio of the smallest to the largest.
GRID = 100
FEW_ROWS_RATIO, MANY_ROWS_RATIO = 1e-2, 1e-4
# Relative increase of the objective that is attributed to rounding.
ROUNDING = 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class LogisticPath:
    """Coefficients of the logistic lasso or elastic net along a grid of penalties.

    Attributes
    ----------
    weights : ndarray of shape (L, k)
    intercepts : ndarray of shape (L,)
    levels : ndarray of shape (L,)
        Penalties lambda.
    mixing : float
        Share a of the lasso in the penalty.
    violation : float
        Largest violation of the optimality conditions over the grid, relative to the smallest penalty that
        selects nothing; at most ``tol`` unless the number of steps was too small.
    """

    weights: Array = field(repr=False)
    intercepts: Array = field(repr=False)
    levels: Array = field(repr=False)
    mixing: float
    violation: float


def logistic_lasso(
    x: Array,
    y: Index,
    parts: Array,
    mixing: float = 1.0,
    tol: float = TOL,
    most_explained: float = 1.0,
) -> LogisticPath:
    """Solve the logistic lasso, or the elastic net, at several penalties.

    Parameters
    ----------
    x : ndarray of shape (n, k)
    y : ndarray of shape (n,)
        0 or 1, both present.
    parts : ndarray of shape (L,)
        Decreasing penalties, relative to the smallest one at which every coefficient is zero.
    mixing : float
        Share of the lasso in the penalty, in (0, 1]; the rest is a ridge.
    tol : float
        Largest violation of the optimality conditions, relative to the largest penalty.
    most_explained : float
        Explained share of the deviance at which the path ends, as glmnet's does at 0.999; the last
        coefficients are used for smaller penalties. Separable classes have no optimum without a penalty.

    Returns
    -------
    LogisticPath

    Examples
    --------
    >>> x = np.array([[0.0, 1.0], [1.0, -1.0], [2.0, -1.0], [3.0, 1.0]])
    >>> path = logistic_lasso(x, np.array([0, 0, 1, 1]), np.array([1.0, 0.5]))
    >>> path.weights.round(3)
    array([[0.   , 0.   ],
           [0.908, 0.   ]])
    """
    if not 0.0 < mixing <= 1.0:
        raise ValueError(f"mixing must be above 0 and at most 1; got {mixing}.")
    columns = np.ascontiguousarray(x.T, dtype=np.float64)
    outcome = y.astype(np.float64)
    steepest = _largest_slope(columns, outcome - outcome.mean())
    if steepest == 0.0:
        share = float(outcome.mean())
        intercepts = np.full(len(parts), np.log(share / (1.0 - share)))
        nothing = np.zeros((len(parts), x.shape[1]))
        return LogisticPath(nothing, intercepts, np.zeros(len(parts)), mixing, 0.0)
    levels = np.asarray(parts, dtype=np.float64) * steepest / mixing
    weights, intercepts, worst = _path(
        columns, outcome, levels, float(mixing), tol * steepest, float(most_explained)
    )
    return LogisticPath(weights, intercepts, levels, mixing, float(worst / steepest))


def glmnet_parts(n: int, k: int, count: int = GRID) -> Array:
    """glmnet's penalties relative to the largest: shape (count,).

    The smallest is 1e-2 with fewer rows than columns, otherwise 1e-4.

    Examples
    --------
    >>> glmnet_parts(50, 100, 3)
    array([1.  , 0.1 , 0.01])
    """
    return np.geomspace(1.0, FEW_ROWS_RATIO if n < k else MANY_ROWS_RATIO, count)


def path_aic(x: Array, y: Index, path: LogisticPath) -> Array:
    """Akaike's criterion of every step of a path: shape (L,).

    It is twice the loss plus twice the degrees of freedom: the number of non-zero coefficients for the
    lasso, the trace of the weighted ridge regression on their columns for the elastic net.

    Parameters
    ----------
    x : ndarray of shape (n, k)
    y : ndarray of shape (n,)
    path : LogisticPath
        Path of these rows.

    Examples
    --------
    >>> x = np.array([[0.0, 1.0], [1.0, -1.0], [2.0, -1.0], [3.0, 1.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> path_aic(x, y, logistic_lasso(x, y, np.array([1.0, 0.1]))).round(2)
    array([7.55, 4.8 ])
    """
    eta = path.weights @ x.T + path.intercepts[:, None]
    loss = np.sum(np.logaddexp(0.0, eta) - y * eta, axis=1)
    used = path.weights != 0.0
    degrees = used.sum(axis=1).astype(np.float64)
    if path.mixing < 1.0:
        chance = expit(eta)
        spread = np.sqrt(np.maximum(chance * (1.0 - chance), CURVATURE_FLOOR))
        for step, ridge in enumerate((1.0 - path.mixing) * path.levels):
            if used[step].any():
                # The intercept is projected out.
                columns = spread[step, :, None] * x[:, used[step]]
                share = spread[step] / np.linalg.norm(spread[step])
                columns = columns - np.outer(share, share @ columns)
                squares = np.linalg.svd(columns, compute_uv=False) ** 2
                degrees[step] = np.sum(squares / (squares + ridge))
    return np.asarray(2.0 * loss + 2.0 * (1.0 + degrees))


@compiled(fastmath=SUMMATION)
def _dot(one: Array, other: Array) -> float:
    total = 0.0
    for i in range(one.shape[0]):
        total += one[i] * other[i]
    return total


@compiled(fastmath=SUMMATION)
def _curvature(column: Array, row_curvature: Array) -> float:
    total = 0.0
    for i in range(column.shape[0]):
        total += column[i] * column[i] * row_curvature[i]
    return total


@compiled()
def _largest_slope(columns: Array, residual: Array) -> float:
    largest = 0.0
    for j in range(columns.shape[0]):
        largest = max(largest, abs(_dot(columns[j], residual)))
    return largest


@compiled()
def _objective(eta: Array, y: Array, weights: Array, lasso: float, ridge: float) -> float:
    total = 0.0
    for i in range(eta.shape[0]):
        # log(1 + exp(eta)) without overflow.
        total += max(eta[i], 0.0) + np.log1p(np.exp(-abs(eta[i]))) - y[i] * eta[i]
    for j in range(weights.shape[0]):
        total += lasso * abs(weights[j]) + 0.5 * ridge * weights[j] ** 2
    return total


@compiled()
def _residuals(eta: Array, y: Array, residual: Array, row_curvature: Array) -> None:
    """Fill in the derivatives of the loss by eta: first (P(y = 1) - y) and second."""
    for i in range(eta.shape[0]):
        small = np.exp(-abs(eta[i]))
        chance = (1.0 if eta[i] >= 0.0 else small) / (1.0 + small)
        residual[i] = chance - y[i]
        row_curvature[i] = max(small / (1.0 + small) ** 2, CURVATURE_FLOOR)


@compiled()
def _violation(slope: Array, residual: Array, weights: Array, lasso: float, ridge: float) -> float:
    """Largest violation of the optimality conditions, given every column's slope."""
    worst: float = abs(residual.sum())
    for j in range(weights.shape[0]):
        if weights[j] == 0.0:
            worst = max(worst, abs(slope[j]) - lasso)
        else:
            pull = np.sign(weights[j]) * lasso + ridge * weights[j]
            worst = max(worst, abs(slope[j] + pull))
    return worst


@compiled()
def _descend(
    columns: Array,
    members: Index,
    weights: Array,
    intercept: float,
    residual: Array,
    row_curvature: Array,
    lasso: float,
    ridge: float,
    accuracy: float,
) -> float:
    """Minimise the quadratic model over some columns; weights and residual change in place."""
    curvature = np.empty(members.shape[0])
    for position in range(members.shape[0]):
        curvature[position] = _curvature(columns[members[position]], row_curvature)
    total = row_curvature.sum()
    every = True
    for _ in range(SWEEPS):
        change = -residual.sum() / total
        intercept += change
        for i in range(residual.shape[0]):
            residual[i] += change * row_curvature[i]
        largest = abs(change) * total
        for position in range(members.shape[0]):
            j = members[position]
            a = curvature[position]
            old = weights[j]
            if a <= 0.0 or (old == 0.0 and not every):
                continue
            column = columns[j]
            new = soft_threshold(a * old - _dot(column, residual), lasso) / (a + ridge)
            if new != old:
                weights[j] = new
                for i in range(residual.shape[0]):
                    residual[i] += (new - old) * column[i] * row_curvature[i]
                largest = max(largest, (a + ridge) * abs(new - old))
        # Sweeps over the non-zero columns until they converge, then one over all.
        if largest <= accuracy:
            if every:
                break
            every = True
        else:
            every = False
    return intercept


@compiled()
def _eta(columns: Array, weights: Array, intercept: float) -> Array:
    eta = np.full(columns.shape[1], intercept)
    for j in range(columns.shape[0]):
        if weights[j] != 0.0:
            for i in range(eta.shape[0]):
                eta[i] += weights[j] * columns[j, i]
    return eta


@compiled()
def _path(
    columns: Array, y: Array, levels: Array, mixing: float, tol: float, most_explained: float
) -> tuple[Array, Array, float]:
    k, n = columns.shape
    path = np.zeros((levels.shape[0], k))
    intercepts = np.zeros(levels.shape[0])
    weights = np.zeros(k)
    intercept = np.log(y.mean() / (1.0 - y.mean()))
    eta = np.full(n, intercept)
    residual, row_curvature = np.empty(n), np.empty(n)
    slope = np.empty(k)
    largest = 0.0
    nothing = _objective(eta, y, weights, 0.0, 0.0)
    for step in range(levels.shape[0]):
        lasso, ridge = mixing * levels[step], (1.0 - mixing) * levels[step]
        for attempt in range(NEWTON_STEPS + 1):
            _residuals(eta, y, residual, row_curvature)
            for j in range(k):
                slope[j] = _dot(columns[j], residual)
            violation = _violation(slope, residual, weights, lasso, ridge)
            if violation <= tol or attempt == NEWTON_STEPS:
                break
            # A step moves the non-zero coefficients and those that violate their optimality condition.
            members = np.flatnonzero((weights != 0.0) | (np.abs(slope) > lasso))
            new = weights.copy()
            moved = _descend(
                columns,
                members,
                new,
                intercept,
                residual,
                row_curvature,
                lasso,
                ridge,
                STEP_ACCURACY * violation,
            )
            before = (1.0 + ROUNDING) * _objective(eta, y, weights, lasso, ridge)
            share = 1.0
            for _ in range(HALVINGS):
                trial = weights + share * (new - weights)
                shifted = intercept + share * (moved - intercept)
                eta = _eta(columns, trial, shifted)
                if _objective(eta, y, trial, lasso, ridge) <= before:
                    break
                share *= 0.5
            weights, intercept = trial, shifted
        largest = max(largest, violation)
        path[step:] = weights
        intercepts[step:] = intercept
        if _objective(eta, y, weights, 0.0, 0.0) <= (1.0 - most_explained) * nothing:
            break
    return path, intercepts, largest
