"""Inverse of one symmetric positive definite matrix, recursively by blocks.

With A = [[P, B], [B', D]] and S = D - B' P^{-1} B:

    A^{-1} = [[P^{-1} + Y X', -Y], [-Y', S^{-1}]],   X = P^{-1} B,  Y = X S^{-1}

Nearly all of the work are matrix products, which for a few hundred rows are faster than LAPACK's inversion
and, unlike it, do not block other threads. For positive definite matrices with unit diagonal, for which it
is used, this is as accurate as Cholesky.
"""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.numerics.compiled import compiled

SMALL = 24


@compiled()
def _gauss_jordan(a: Array) -> Array:
    n = a.shape[0]
    m = a.copy()
    for k in range(n):
        pivot = 1.0 / m[k, k]
        row = m[k]
        for i in range(n):
            if i == k:
                continue
            factor = m[i, k] * pivot
            below = m[i]
            for j in range(n):
                below[j] -= factor * row[j]
            below[k] = -factor
        for j in range(n):
            row[j] *= pivot
        row[k] = pivot
    return m


@compiled()
def spd_inverse(a: Array) -> Array:
    """Inverse of a symmetric positive definite C-contiguous matrix.

    A matrix that is not positive definite gives infinities, NaN or huge numbers, never an exception; the
    caller has to check the condition number.

    Parameters
    ----------
    a : ndarray of shape (n, n)

    Returns
    -------
    ndarray of shape (n, n)
    """
    n = a.shape[0]
    if n <= SMALL:
        return _gauss_jordan(a)
    h = n // 2
    upper = spd_inverse(a[:h, :h].copy())
    b = a[:h, h:].copy()
    x = np.dot(upper, b)
    xt = x.T.copy()
    schur = np.dot(b.T.copy(), x)
    for i in range(n - h):
        for j in range(n - h):
            schur[i, j] = a[h + i, h + j] - schur[i, j]
    lower = spd_inverse(schur)
    y = np.dot(x, lower)
    upper += np.dot(y, xt)
    m = np.empty((n, n))
    m[:h, :h] = upper
    m[h:, h:] = lower
    for i in range(h):
        for j in range(n - h):
            m[i, h + j] = -y[i, j]
            m[h + j, i] = -y[i, j]
    return m
