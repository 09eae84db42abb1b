r"""The graphical lasso of several ordered bins whose precision matrices are drawn together.

.. math::
    \min_{P_1, ..., P_K} \sum_k \{\operatorname{tr}(S_k P_k) - \log\det P_k\}
    + \alpha \sum_k \sum_{i \ne j} |P_{k,ij}|
    + \beta \sum_{k > 1} \sum_{i \ne j} |P_{k,ij} - P_{k-1,ij}|

by proximal gradient steps of Barzilai and Borwein's length, backtracked until they descend and stay
positive definite. A step needs K inverses and, for every entry (i, j) on its own, the proximal map of both
penalties: the taut string of its K values, then soft thresholding. What that map takes off, over the
step, is a subgradient U of the penalty, hence feasible in the dual problem

    max Σ_k log det(S_k + U_k) + p K

and every step knows its duality gap. One bin is the plain graphical lasso.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.compiled import compiled
from plaggm.core.spd_inverse import spd_inverse

# How often a step is halved before its penalty is given up.
MOST_HALVINGS = 60
# Rounding of the objective, as a part of it, that a descending step is allowed.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class FusedSolution:
    """Precision matrices of all bins at one penalty.

    Attributes
    ----------
    precision : ndarray of shape (K, p, p)
        Exactly symmetric, with exact zeros.
    gap : float
        Duality gap of the objective, for each bin.
    n_iter : int
        Proximal steps taken.
    """

    precision: Array
    gap: float
    n_iter: int


@compiled()
def _log_determinant(a: Array) -> float:
    """Log determinant by Cholesky; NaN where the matrix is not positive definite."""
    n = a.shape[0]
    lower = np.empty((n, n))
    total = 0.0
    for i in range(n):
        for j in range(i):
            value = a[i, j]
            for k in range(j):
                value -= lower[i, k] * lower[j, k]
            lower[i, j] = value / lower[j, j]
        pivot = a[i, i]
        for k in range(i):
            pivot -= lower[i, k] * lower[i, k]
        if not pivot > 0.0:
            return np.nan
        lower[i, i] = np.sqrt(pivot)
        total += np.log(pivot)
    return total


@compiled()
def taut_string(values: Array, tube: float, out: Array) -> None:
    """Write the minimiser of ½ Σ (x_k - v_k)² + tube Σ |x_k - x_{k-1}| into ``out``.

    Its sums are the shortest path within ``tube`` of the sums of the values, with the same ends: from each
    bend the path goes straight as far as both walls allow, and bends where the wall that stops it was
    touched last.
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
    """Proximal map of both penalties at symmetric matrices (K, p, p); diagonals stay as they are."""
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


@compiled()
def _smooth_part(covariances: Array, precision: Array) -> float:
    """Sum of tr(S P) - log det P over the bins; NaN where one is not positive definite."""
    total = 0.0
    for k in range(len(precision)):
        total -= _log_determinant(precision[k])
        if np.isnan(total):
            return total
        total += np.sum(covariances[k] * precision[k])
    return total


@compiled()
def _solve(
    covariances: Array, alpha: float, beta: float, precision: Array, tol: float, max_iter: int
) -> tuple[float, int]:
    """Improve ``precision`` in place; returns the gap of each bin and the number of steps."""
    count, p, _ = covariances.shape
    gradient = np.empty_like(covariances)
    earlier_gradient = np.empty_like(covariances)
    step = np.inf
    for k in range(count):
        inverse = spd_inverse(precision[k].copy())
        gradient[k] = covariances[k] - inverse
        # The curvature is at most that of the smallest eigenvalue, whose inverse the norm bounds.
        largest = 0.0
        for i in range(p):
            largest = max(largest, np.sum(np.abs(inverse[i])))
        step = min(step, 1.0 / largest**2)
    smooth = _smooth_part(covariances, precision)
    moved = np.empty_like(covariances)
    dual = np.empty_like(covariances)
    gap = np.inf
    iteration = 0
    while iteration < max_iter:
        iteration += 1
        accepted = False
        value = smooth
        for _ in range(MOST_HALVINGS):
            point = precision - step * gradient
            _proximal(point, step * alpha, step * beta, moved)
            value = _smooth_part(covariances, moved)
            change = moved - precision
            bound = smooth + np.sum(gradient * change) + np.sum(change * change) / (2.0 * step)
            if value <= bound + ROUNDING * (1.0 + abs(smooth)):
                accepted = True
                break
            step *= 0.5
        if not accepted:
            break
        determinant = 0.0
        for k in range(count):
            dual[k] = covariances[k] + (point[k] - moved[k]) / step
            for i in range(p):
                dual[k, i, i] = covariances[k, i, i]
            determinant += _log_determinant(dual[k])
        earlier_gradient[:] = gradient
        for k in range(count):
            gradient[k] = covariances[k] - spd_inverse(moved[k].copy())
        precision[:] = moved
        smooth = value
        gap = (smooth + _penalty(precision, alpha, beta) - determinant - count * p) / count
        # NaN while a dual matrix is not positive definite.
        if gap <= tol:
            return max(gap, 0.0), iteration
        bend = np.sum(change * (gradient - earlier_gradient))
        length = np.sum(change * change)
        if bend > 0.0 and length > 0.0:
            step = length / bend
    return gap, iteration


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
        Positive definite matrices to start from, such as the solution at a larger penalty; the inverse
        variances if absent.
    tol : float
        Largest duality gap for each bin.
    max_iter : int
        Largest number of steps. A solution that has not converged has a larger gap, or NaN.

    Returns
    -------
    FusedSolution
    """
    if start is None:
        variances = np.diagonal(covariances, axis1=1, axis2=2)
        start = np.stack([np.diag(1.0 / one) for one in variances])
    precision = np.array(start, dtype=np.float64, order="C")
    gap, n_iter = _solve(np.ascontiguousarray(covariances), alpha, beta, precision, tol, max_iter)
    return FusedSolution(precision, float(gap), int(n_iter))
