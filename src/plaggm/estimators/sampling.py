"""Samples from a fitted network."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.families.columns import FamilyColumns
from plaggm.core.families.gibbs import gibbs_rows
from plaggm.user_warnings import warn_user

# Smallest eigenvalue of a precision matrix that counts as positive definite.
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


def draw_family_samples(
    columns: FamilyColumns, omegas: Array, n_samples: int, rng: np.random.RandomState
) -> Array:
    """Samples of variables of several families, each the end of a separate Gibbs chain.

    Parameters
    ----------
    columns : FamilyColumns
    omegas : ndarray of shape (k, p, p)
        Networks in the units of the columns, intercepts on their diagonals.
    n_samples : int
        Samples of each network.
    rng : RandomState
        Generator of the chains' seeds.

    Returns
    -------
    ndarray of shape (k * n_samples, p)
    """
    p, gaussian = columns.p, columns.of("gaussian")
    # In the chains, Gaussian variables are divided by their conditional deviation.
    location, scale = columns.location.copy(), columns.scale.copy()
    location[gaussian], scale[gaussian] = 0.0, 1.0
    couplings = omegas / np.outer(scale, scale)
    index = np.arange(p)
    couplings[:, index, index] = 0.0
    intercepts = np.diagonal(omegas, axis1=1, axis2=2) / scale - couplings @ location
    which = np.repeat(np.arange(len(omegas)), n_samples)
    centres = np.where(np.isin(index, gaussian), 0.0, columns.centre)
    seeds = rng.randint(0, 2**32, size=len(which), dtype=np.int64)
    drawn = gibbs_rows(couplings, intercepts, which, columns.families, centres, np.zeros(p), seeds)
    drawn[:, gaussian] = columns.location[gaussian] + columns.scale[gaussian] * drawn[:, gaussian]
    return drawn


def positive_definite(precision: Array) -> Array:
    """The precision matrix with unit diagonal, its off-diagonal shrunk if it is not positive definite."""
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
