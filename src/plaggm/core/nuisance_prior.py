"""The prior of the nuisance, learnt from all pairs of variables at once.

In the mixed model of node j the coefficients of pair (j, k) are Gaussian over the M functions,

    Gamma_jk ~ N(0, s_j^2 Sigma),     s_j^2 the node's noise,

and Sigma, one M x M matrix for all pairs, says what the nuisance looks like: how large it is, how smooth,
whether both sides of zero move together. Hundreds of pairs share it, so that the data can tell; a ridge or
a smoothness penalty are two guesses at it. It is found by the EM algorithm for the restricted likelihood
(Dempster, Laird and Rubin, 1977): the next Sigma is the mean over the pairs of the posterior second
moments under the present one. Confounders are independent of each other, as their effects add. A fixed
number of steps keeps the result a smooth function of the data.

Of the nuisance only the part in the direction of mu, the functions' means, moves the target of pooled
samples: an effect that averages to nothing is harmless. Without it, given mu'Gamma = 0, the prior is
Sigma - v v' / (mu'v) with v = Sigma mu. Between this, which pools, and Sigma lie the priors that keep a
part of its variance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plaggm.core.profile.spline import (
    MEAN_RIDGE,
    ROUGHEST,
    SplineSystem,
    deletion_blocks,
    node_rows,
    turned_system,
)
from plaggm.core.spline_targets import moments, symmetric_inverse

Array = NDArray[np.float64]

STEPS = 25
# Penalty of the prior that the steps start from; they climb slowly from one that is nearly zero.
START_TAU = 0.3
# Least part of the variance in the direction of the means, so that a prior has an inverse.
TRACE = 1e-3


def prior_covariance(
    system: SplineSystem, confounders: NDArray[np.intp], steps: int = STEPS
) -> Array:
    """Sigma, in the system's functions and in units of a node's noise variance.

    Parameters
    ----------
    system : SplineSystem
        With more rows than variables.
    confounders : ndarray of int of shape (M,)
        The confounder that each function belongs to.
    steps : int

    Returns
    -------
    ndarray of shape (M, M)
    """
    together = confounders[:, None] == confounders[None, :]
    covariance = np.eye(system.functions) / (START_TAU * system.n)
    for _ in range(steps):
        covariance = np.where(together, _second_moments(system, covariance), 0.0)
    return covariance


def keep_part(covariance: Array, mean: Array, kept: float) -> Array:
    """The prior with a part of its variance in the direction of the functions' means.

    Parameters
    ----------
    covariance : ndarray of shape (M, M)
    mean : ndarray of shape (M,)
        Of the functions.
    kept : float
        From 0, which pools, to 1.

    Examples
    --------
    >>> keep_part(np.eye(2), np.array([1.0, 0.0]), 0.5)
    array([[0.5, 0. ],
           [0. , 1. ]])
    """
    moved = covariance @ mean
    size = float(mean @ moved)
    if size <= 0.0:
        return covariance
    return np.asarray(covariance - (1.0 - max(kept, TRACE)) * np.outer(moved, moved) / size)


def in_own_functions(system: SplineSystem, covariance: Array) -> tuple[SplineSystem, float, float]:
    """Turn a system to the functions that a prior holds independent; its penalty is diagonal there.

    Returns
    -------
    system : SplineSystem
        Its ``roughness`` is how much rarer a function is than the most usual one, less one.
    tau, smoothness : float
        With which :func:`plaggm.core.profile.spline.penalty_weights` gives the prior's penalty.
    """
    sizes, turn = np.linalg.eigh(covariance)
    largest = sizes[-1]
    rarity = largest / np.maximum(sizes, largest / ROUGHEST)
    return turned_system(system, turn, rarity - 1.0), float(1.0 / (system.n * largest)), 1.0


def _second_moments(system: SplineSystem, covariance: Array) -> Array:
    """Mean over the pairs of E[Gamma Gamma'] / s_j^2 given the data, under a prior."""
    n, p, q, size = system.n, system.p, system.q, system.functions
    augmented = moments(system).reshape(1 + size, q, 1 + size, q)
    precision = np.linalg.inv(covariance) / n
    penalised = np.arange(p if system.free_mean else q)
    for a in range(size):
        for b in range(size):
            augmented[1 + a, penalised, 1 + b, penalised] += precision[a, b]
        if system.free_mean:
            augmented[1 + a, p, 1 + a, p] += MEAN_RIDGE
    inverse = symmetric_inverse(augmented.reshape((1 + size) * q, (1 + size) * q))
    schur = np.linalg.inv(deletion_blocks(inverse, q))
    rows = node_rows(inverse, q)
    solved = np.matmul(schur, rows)
    # Posterior means; those of the node's own column are zero.
    means = -solved[:, 0].reshape(p, 1 + size, q)[:, 1:, :p]
    noise = schur[:, 0, 0] * n / (n - p)
    explained = np.matmul(means / noise[:, None, None], means.transpose(0, 2, 1)).sum(axis=0)
    shared = p * np.einsum("akbk->ab", inverse.reshape(1 + size, q, 1 + size, q)[1:, :p, 1:, :p])
    left, right = (
        part.reshape(p, 1 + size, 1 + size, q)[:, :, 1:, :p].transpose(2, 0, 1, 3).reshape(size, -1)
        for part in (rows, solved)
    )
    total = explained + (shared - left @ right.T) / n
    return np.asarray(0.5 * (total + total.T) / (p * (p - 1)), dtype=np.float64)
