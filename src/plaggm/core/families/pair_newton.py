"""Coordinate descent over the pairs of a quadratic model of a loss, as one step of a Newton method.

The problem is that of `plaggm.core.lasso.pair_descent`, with slopes at the start and Gram matrices given by the
gradient and the curvature of a loss. It is solved to a given accuracy of the slopes.
"""

from __future__ import annotations

from plaggm.array_types import Array, Index
from plaggm.core.numerics.compiled import compiled
from plaggm.core.numerics.coordinate_steps import add_scaled, soft_threshold


@compiled()
def _sweep(
    grams: Array,
    omega: Array,
    gradient: Array,
    first: Index,
    second: Index,
    level: float,
    everyone: bool,
) -> float:
    """One pass over all pairs, or over the non-zero ones; returns the largest curvature times step."""
    largest = 0.0
    for pair in range(first.shape[0]):
        j, k = first[pair], second[pair]
        old = omega[j, k]
        if old == 0.0 and not everyone:
            continue
        a = grams[j, k, k] + grams[k, j, j]
        if a <= 0.0:
            continue
        new = soft_threshold(a * old - gradient[j, k] - gradient[k, j], level) / a
        if new != old:
            omega[j, k] = new
            omega[k, j] = new
            add_scaled(gradient[j], grams[j, k], new - old)
            add_scaled(gradient[k], grams[k, j], new - old)
            largest = max(largest, a * abs(new - old))
    return largest


@compiled()
def descend_pairs(
    grams: Array,
    omega: Array,
    gradient: Array,
    first: Index,
    second: Index,
    level: float,
    accuracy: float,
    budget: int,
) -> int:
    """Minimise the model over the pairs; omega and gradient change in place.

    Parameters
    ----------
    grams : ndarray of shape (p, p, p)
        Curvature of every node's loss with intercepts and nuisance minimised out; row and column j of the
        j-th matrix are not used.
    omega : ndarray of shape (p, p)
        Symmetric, zero diagonal.
    gradient : ndarray of shape (p, p)
        Row j is the slope of node j's loss at ``omega``.
    first, second : ndarray of shape (pairs,)
    level : float
        Penalty.
    accuracy : float
        Largest curvature times step of the last sweep, in the units of the penalty.
    budget : int
        Largest number of sweeps.

    Returns
    -------
    int
        Sweeps.
    """
    sweeps = 0
    while sweeps < budget:
        largest = _sweep(grams, omega, gradient, first, second, level, True)
        sweeps += 1
        if largest <= accuracy:
            break
        while sweeps < budget:
            largest = _sweep(grams, omega, gradient, first, second, level, False)
            sweeps += 1
            if largest <= accuracy:
                break
    return sweeps
