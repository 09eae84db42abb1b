r"""The graphical lasso of several ordered bins with a fusion penalty between neighbouring ones.

.. math::
    \min_{P_1, ..., P_K} \sum_k \{\operatorname{tr}(S_k P_k) - \log\det P_k\}
    + \alpha \sum_k \sum_{i \ne j} |P_{k,ij}|
    + \beta \sum_{k > 1} \sum_{i \ne j} |P_{k,ij} - P_{k-1,ij}|

by proximal gradient steps of Barzilai and Borwein's length, backtracked until they descend and stay
positive definite. A step needs K inverses and, for every entry (i, j), the proximal map of both penalties:
the taut string of its K values followed by soft thresholding. The change made by this map, divided by the
step length, is a subgradient U of the penalty and hence feasible in the dual problem

    max Σ_k log det(S_k + U_k) + p K

so that every step gives a duality gap. One bin is the plain graphical lasso.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.numerics.compiled import compiled

# Largest number of halvings of a step, after which iterations end.
MOST_HALVINGS = 60
# Relative increase of the objective that is attributed to rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class FusedSolution:
    """Precision matrices of all bins at one penalty.

    Attributes
    ----------
    precision : ndarray of shape (K, p, p)
        Exactly symmetric, with exact zeros.
    gap : float
        Duality gap of the objective divided by the number of bins.
    n_iter : int
        Proximal steps taken.
    """

    precision: Array
    gap: float
    n_iter: int


def _log_determinant(matrices: Array) -> float:
    """Sum of the log determinants of K matrices; NaN if one is not positive definite."""
    try:
        lower = np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        return float("nan")
    return float(2.0 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum())


def _symmetric_inverse(matrices: Array) -> Array:
    inverse = np.linalg.inv(matrices)
    return (inverse + inverse.transpose(0, 2, 1)) / 2.0


@compiled()
def taut_string(values: Array, tube: float, out: Array) -> None:
    """Write the minimiser of ½ Σ (x_k - v_k)² + tube Σ |x_k - x_{k-1}| into ``out``.

    Its cumulative sums are the shortest path with the same ends within a distance ``tube`` of the
    cumulative sums of the values. From each bend the path is straight as far as both walls allow; the next
    bend is where it last touched the wall that stops it.
    """
    count = values.shape[0]
    sums = np.empty(count + 1)
    sums[0] = 0.0
    for k in range(count):
        sums[k + 1] = sums[k] + values[k]
    bend = 0
    height = 0.0
    while bend < count:
        low, high = -np.inf, np.inf
        at_low, at_high = bend, bend
        slope = values[bend]
        following = count
        reached = sums[count]
        for k in range(bend + 1, count + 1):
            width = 0.0 if k == count else tube
            floor = (sums[k] - width - height) / (k - bend)
            ceiling = (sums[k] + width - height) / (k - bend)
            if floor > high:
                slope, following, reached = high, at_high, sums[at_high] + tube
                break
            if ceiling < low:
                slope, following, reached = low, at_low, sums[at_low] - tube
                break
            if floor >= low:
                low, at_low = floor, k
            if ceiling <= high:
                high, at_high = ceiling, k
            slope = floor
        out[bend:following] = slope
        bend = following
        height = float(reached)


@compiled()
def _proximal(point: Array, alpha: float, beta: float, out: Array) -> None:
    """Write the proximal map of both penalties at symmetric matrices (K, p, p); diagonals are copied."""
    count, p, _ = point.shape
    values = np.empty(count)
    fused = np.empty(count)
    for i in range(p):
        for k in range(count):
            out[k, i, i] = point[k, i, i]
        for j in range(i):
            for k in range(count):
                values[k] = point[k, i, j]
            taut_string(values, beta, fused)
            for k in range(count):
                size = abs(fused[k]) - alpha
                value = 0.0 if size <= 0.0 else np.sign(fused[k]) * size
                out[k, i, j] = value
                out[k, j, i] = value


@compiled()
def _penalty(precision: Array, alpha: float, beta: float) -> float:
    total = 0.0
    count, p, _ = precision.shape
    for i in range(p):
        for j in range(i):
            for k in range(count):
                total += alpha * abs(precision[k, i, j])
                if k > 0:
                    total += beta * abs(precision[k, i, j] - precision[k - 1, i, j])
    return 2.0 * total


def _smooth_part(covariances: Array, precision: Array) -> float:
    """Sum of tr(S P) - log det P over the bins; NaN if one is not positive definite."""
    return float(np.vdot(covariances, precision)) - _log_determinant(precision)


def _solve(
    covariances: Array, alpha: float, beta: float, precision: Array, tol: float, max_iter: int
) -> FusedSolution:
    """Solution from the start ``precision`` (K, p, p), with a gap for each bin of at most ``tol``."""
    count, p, _ = covariances.shape
    index = np.arange(p)
    inverse = _symmetric_inverse(precision)
    gradient = covariances - inverse
    # The curvature is at most that of the smallest eigenvalue, whose inverse the norm bounds.
    step = float(1.0 / np.abs(inverse).sum(axis=2).max() ** 2)
    smooth = _smooth_part(covariances, precision)
    gap = np.inf
    for iteration in range(1, max_iter + 1):
        for _ in range(MOST_HALVINGS):
            point = precision - step * gradient
            moved = np.empty_like(point)
            _proximal(point, step * alpha, step * beta, moved)
            value = _smooth_part(covariances, moved)
            change = moved - precision
            length = float(np.vdot(change, change))
            bound = smooth + float(np.vdot(gradient, change)) + length / (2.0 * step)
            if value <= bound + ROUNDING * (1.0 + abs(smooth)):
                break
            step *= 0.5
        else:
            return FusedSolution(precision, gap, iteration)
        dual = covariances + (point - moved) / step
        dual[:, index, index] = covariances[:, index, index]
        earlier, gradient = gradient, covariances - _symmetric_inverse(moved)
        precision, smooth = moved, value
        primal = smooth + _penalty(precision, alpha, beta)
        # NaN while a dual matrix is not positive definite.
        gap = (primal - _log_determinant(dual) - count * p) / count
        if gap <= tol:
            return FusedSolution(precision, max(gap, 0.0), iteration)
        bend = float(np.vdot(change, gradient - earlier))
        if bend > 0.0 and length > 0.0:
            step = length / bend
    return FusedSolution(precision, gap, max_iter)


def solve_fused_glasso(
    covariances: Array,
    alpha: float,
    beta: float,
    *,
    start: Array | None = None,
    tol: float,
    max_iter: int,
) -> FusedSolution:
    """Precision matrices of all bins at one penalty.

    Parameters
    ----------
    covariances : ndarray of shape (K, p, p)
        Covariance matrices of the bins, in their order.
    alpha : float
        Penalty of the off-diagonal entries.
    beta : float
        Penalty of the differences between neighbouring bins.
    start : ndarray of shape (K, p, p), optional
        Positive definite matrices to start from, such as the solution at a larger penalty; if absent,
        diagonal matrices of inverse variances.
    tol : float
        Largest duality gap for each bin.
    max_iter : int
        Largest number of steps. A solution that has not converged has a larger gap or NaN.

    Returns
    -------
    FusedSolution
    """
    if alpha == 0.0 and beta == 0.0 and np.isfinite(_log_determinant(covariances)):
        return FusedSolution(_symmetric_inverse(covariances), 0.0, 0)
    # There is no solution where a column is constant in a bin: the gap is NaN then.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if start is None:
            variances = np.diagonal(covariances, axis1=1, axis2=2)
            start = np.stack([np.diag(1.0 / one) for one in variances])
        return _solve(np.ascontiguousarray(covariances), alpha, beta, start, tol, max_iter)
