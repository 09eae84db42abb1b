"""Drawing one Gaussian row for each of many precision matrices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

# Number of entries of precision matrices held in memory at a time: 16 MB.
CHUNK_DOUBLES = 1 << 21


def sample_rows(
    omega_rows: Callable[[slice], np.ndarray], n: int, p: int, rng: np.random.Generator
) -> np.ndarray:
    r"""Draw :math:`x_i \sim N(0, (I - \Omega_i)^{-1})` for each row i.

    With :math:`I - \Omega_i = L_i L_i^\top`, the row is :math:`L_i^{-\top} \varepsilon_i`. The
    factorisations are batched; the noise is drawn beforehand, so chunks do not change the result.

    Parameters
    ----------
    omega_rows : callable
        Takes a slice of the rows and returns their Ω, an array of shape (k, p, p) whose diagonal
        is zero and whose spectral radii are below one.
    n, p : int
        Numbers of samples and of variables.
    rng : Generator
        Source of random numbers.

    Returns
    -------
    ndarray of shape (n, p)
    """
    noise = rng.standard_normal((n, p))
    x = np.empty((n, p))
    step = max(1, CHUNK_DOUBLES // (p * p))
    # Threads of BLAS do not help with small matrices, and are slow on a busy machine.
    with threadpool_limits(1, user_api="blas"):
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            factor = np.linalg.cholesky(np.eye(p) - omega_rows(rows))
            x[rows] = np.linalg.solve(factor.mT, noise[rows, :, None])[..., 0]
    return x
