"""Samples from a fitted network."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.user_warnings import warn_user

# Smallest eigenvalue of a precision matrix that is taken as positive definite.
DEFINITE = 1e-6


def draw_samples(
    omega: Array, n_samples: int, rng: np.random.RandomState, spread: float = 1.0
) -> Array:
    """Samples of the Gaussian with precision 1 - offdiagonal(omega) and intercepts diagonal(omega).

    Parameters
    ----------
    omega : ndarray of shape (p, p)
        Network with intercepts on the diagonal.
    n_samples : int
        Number of samples.
    rng : RandomState
        Generator of the noise.
    spread : float, default=1.0
        Factor of the standard deviations.

    Returns
    -------
    ndarray of shape (n_samples, p)
    """
    precision = positive_definite(-omega)
    factor = np.linalg.cholesky(precision)
    mean = np.linalg.solve(precision, np.diagonal(omega))
    noise = rng.standard_normal((len(omega), n_samples))
    around = spread * np.linalg.solve(factor.T, noise)
    return np.asarray(mean[:, None] + around, dtype=np.float64).T


def positive_definite(precision: Array) -> Array:
    """A precision with unit diagonal, its off-diagonal shrunk where it is not positive definite."""
    precision = precision.copy()
    np.fill_diagonal(precision, 1.0)
    smallest = float(np.linalg.eigvalsh(precision)[0])
    if smallest > DEFINITE:
        return precision
    factor = 0.99 / (1.0 - smallest)
    warn_user(
        "The fitted network is not positive definite (pseudo-likelihood does not force it to be); its "
        f"off-diagonal was multiplied by {factor:.3f} before sampling.",
    )
    shrunk = factor * precision
    np.fill_diagonal(shrunk, 1.0)
    return shrunk
