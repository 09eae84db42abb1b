"""The inverse of a symmetric matrix."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from plaggm.array_types import Array


def symmetric_inverse(matrix: Array) -> Array:
    """Inverse of a symmetric matrix by Cholesky; by elimination where rounding made it indefinite."""
    factor, failed = dpotrf(matrix, lower=False, overwrite_a=False, clean=True)
    if failed:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    # The lower triangle was cleaned and is left alone.
    upper, _ = dpotri(factor, lower=False, overwrite_c=True)
    whole: Array = np.add(upper, upper.T, order="C")
    whole[np.diag_indices(len(whole))] *= 0.5
    return whole
