"""Sufficient statistics of the spline estimator: sums over rows, nothing more.

With b_i = (z_i, 1), spline functions phi(g_i) and row weights w_i, everything follows from

    sum_i w_i b_i b_i',   sum_i w_i phi_a b_i b_i',   sum_i w_i phi_a phi_c b_i b_i'   (a <= c)

so statistics of parts of the data add up to those of the whole and can be subtracted again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plaggm.core.threads import single_threaded_blas

Array = NDArray[np.float64]

CHUNK_ROWS = 2048
# Part of a chunk's rows below which only the rows that count are multiplied.
SPARSE = 0.6


@dataclass(frozen=True, slots=True)
class SplineStatistics:
    """Weighted sums over rows; symmetric matrices packed as in `plaggm.core.moments`.

    Attributes
    ----------
    sums : ndarray of shape (1 + M + M(M+1)/2, q(q+1)/2)
        For 1, phi_a and phi_a phi_c with a <= c, in this order.
    n : int
        Rows.
    functions : int
        M.
    """

    sums: Array
    n: int
    functions: int

    @property
    def q(self) -> int:
        """Number of columns of [Z, 1]."""
        return int((np.sqrt(8.0 * self.sums.shape[1] + 1.0) - 1.0) / 2.0 + 0.5)

    def __add__(self, other: SplineStatistics) -> SplineStatistics:
        self._check(other)
        return SplineStatistics(self.sums + other.sums, self.n + other.n, self.functions)

    def __sub__(self, other: SplineStatistics) -> SplineStatistics:
        self._check(other)
        return SplineStatistics(self.sums - other.sums, self.n - other.n, self.functions)

    def _check(self, other: SplineStatistics) -> None:
        if self.sums.shape != other.sums.shape or self.functions != other.functions:
            raise ValueError(
                f"Statistics of {self.functions} functions and {self.q - 1} variables cannot be "
                f"combined with those of {other.functions} functions and {other.q - 1} variables."
            )

    def matrices(self) -> tuple[Array, Array, Array]:
        """The sums divided by n as full matrices.

        Returns
        -------
        bb : ndarray of shape (q, q)
        db : ndarray of shape (M, q, q)
        dd : ndarray of shape (M, M, q, q)
        """
        q, size = self.q, self.functions
        full = np.empty((len(self.sums), q, q))
        upper = np.triu_indices(q)
        full[:, upper[0], upper[1]] = self.sums / self.n
        full[:, upper[1], upper[0]] = full[:, upper[0], upper[1]]
        dd = np.empty((size, size, q, q))
        first, second = np.triu_indices(size)
        dd[first, second] = full[1 + size :]
        dd[second, first] = full[1 + size :]
        return full[0], full[1 : 1 + size], dd


def spline_statistics(b: Array, phi: Array, weights: Array | None = None) -> SplineStatistics:
    """Sum over the rows in chunks, at memory that does not depend on their number.

    Parameters
    ----------
    b : ndarray of shape (n, q)
    phi : ndarray of shape (n, M)
    weights : ndarray of shape (n,), optional

    Returns
    -------
    SplineStatistics
    """
    n, q = b.shape
    size = phi.shape[1]
    sums = np.zeros((1 + size + size * (size + 1) // 2, q * (q + 1) // 2))
    # Products of a few dozen columns: threads inside BLAS would only wait for each other.
    with single_threaded_blas():
        for start in range(0, n, CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            _add_chunk(sums, b[rows], phi[rows], None if weights is None else weights[rows])
    return SplineStatistics(sums, n, size)


def _add_chunk(sums: Array, b: Array, phi: Array, weights: Array | None) -> None:
    """Add the products of some rows to the sums, in place."""
    first, second = np.triu_indices(phi.shape[1])
    upper = np.triu_indices(b.shape[1])
    factors = np.concatenate([np.ones((1, len(b))), phi.T, (phi[:, first] * phi[:, second]).T])
    if weights is not None:
        factors *= weights
    for slot, factor in enumerate(factors):
        # Functions of different sides, and distant B-splines, never meet: most rows drop out.
        busy = np.flatnonzero(factor)
        if len(busy) < SPARSE * len(factor):
            few = b[busy]
            product = (few * factor[busy, None]).T @ few
        else:
            product = (b * factor[:, None]).T @ b
        sums[slot] += product[upper]
