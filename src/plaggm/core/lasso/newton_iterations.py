"""Conjugate gradients for a Newton step of some hundred variables, compiled as one loop.

The iterations are those of `plaggm.core.lasso.orthant_newton`. With few variables the overhead of the interpreter
would dominate, and parallel fits would wait for its lock.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plaggm.core.numerics.compiled import SUMMATION, compiled

Single = NDArray[np.float32]


@compiled(fastmath=SUMMATION)
def iterate(
    shared: Single,
    left: Single,
    right: Single,
    downhill: Single,
    scale: Single,
    accurate: float,
    worthwhile: float,
    reduced: float,
    most: int,
) -> tuple[Single, int]:
    """Approximate minimiser of the quadratic function over the free pairs.

    Parameters
    ----------
    shared : ndarray of float32 of shape (p, p)
        Symmetric.
    left, right : ndarray of float32 of shape (p, k, p)
        See :class:`plaggm.core.grams.factored_grams.LowRankGrams`.
    downhill : ndarray of float32 of shape (p, p)
        Minus the gradient of the free pairs, zero for others; symmetric.
    scale : ndarray of float32 of shape (p, p)
        Inverse curvatures of the free pairs, zero for others.
    accurate : float
        Largest absolute gradient at which to stop.
    worthwhile, reduced : float
        Iterations also stop if the last decrease is at most a share ``worthwhile`` of the total decrease
        and the largest gradient at most a share ``reduced`` of the first one.
    most : int
        Largest number of iterations.

    Returns
    -------
    step : ndarray of float32 of shape (p, p)
    count : int
        Iterations taken.
    """
    p, k = len(shared), left.shape[1]
    step, residual = np.zeros_like(downhill), downhill.copy()
    direction = scale * downhill
    rows, curved = np.empty_like(downhill), np.empty_like(downhill)
    energy, start = 0.0, np.float32(0.0)
    for i in range(p):
        for j in range(p):
            energy += float(residual[i, j] * direction[i, j])
            start = max(start, abs(downhill[i, j]))
    total, count = 0.0, 0
    while count < most:
        count += 1
        np.dot(direction, shared, rows)
        along = 0.0
        for i in range(p):
            for a in range(k):
                product = np.float32(0.0)
                for j in range(p):
                    product += right[i, a, j] * direction[i, j]
                for j in range(p):
                    rows[i, j] += product * left[i, a, j]
            for j in range(i):
                both = rows[i, j] + rows[j, i] if scale[i, j] > 0.0 else np.float32(0.0)
                curved[i, j] = both
                curved[j, i] = both
                along += 2.0 * float(both * direction[i, j])
            curved[i, i] = 0.0
        if not along > 0.0:
            break
        size = np.float32(energy / along)
        steepest, energy_before, energy = np.float32(0.0), energy, 0.0
        for i in range(p):
            for j in range(p):
                step[i, j] += size * direction[i, j]
                residual[i, j] -= size * curved[i, j]
                steepest = max(steepest, abs(residual[i, j]))
                energy += float(residual[i, j] * residual[i, j] * scale[i, j])
        # Every pair is in both triangles.
        gain = 0.25 * float(size) * energy_before
        total += gain
        if steepest <= accurate or (gain <= worthwhile * total and steepest <= reduced * start):
            break
        ratio = np.float32(energy / energy_before)
        for i in range(p):
            for j in range(p):
                direction[i, j] = ratio * direction[i, j] + scale[i, j] * residual[i, j]
    for i in range(p):
        # Vectorised loops and their remainders round differently.
        for j in range(i):
            step[j, i] = step[i, j]
    return step, count
