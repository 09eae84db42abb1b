"""Inverses of symmetric matrices."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from plaggm.array_types import Array, Mask


def symmetric_inverse(matrix: Array) -> Array:
    """Inverse of a symmetric matrix by Cholesky, or by elimination if rounding made it indefinite."""
    factor, failed = dpotrf(matrix, lower=False, overwrite_a=False, clean=True)
    if failed:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    # The lower triangle is zero and stays so.
    upper, _ = dpotri(factor, lower=False, overwrite_c=True)
    whole: Array = np.add(upper, upper.T, order="C")
    whole[np.diag_indices(len(whole))] *= 0.5
    return whole


def inverse_within(matrix: Array, chosen: Mask) -> Array:
    """Inverse of the chosen rows and columns of a symmetric matrix, zero in all others."""
    inverse = np.zeros_like(matrix)
    inside = np.ix_(chosen, chosen)
    inverse[inside] = symmetric_inverse(matrix[inside])
    return inverse
