"""Inference on the nuisance: a penalty suited to estimating R, and pointwise standard errors.

A penalised spline is the posterior mean of a mixed model (Wahba, 1983): for node j, y = X beta + D gamma +
noise with variance s^2 in each row, beta flat and gamma Gaussian with precision n P / s^2. The
posterior covariance of (beta, gamma) is s^2 / n times the inverse of

    A = [[B'B, C'], [C, D'D + P]] / n     without node j's own rows and columns.

Let F_kl be the (1 + M) x (1 + M) block of the inverse with all nodes' columns that belongs to the columns k
and l of [Z, 1] and their products with the functions. Deleting node j leaves for column k

    E_jk = F_kk - F_kj F_jj^{-1} F_jk

so that standard errors of all p^2 edges cost one inverse and p^2 products of small blocks.

They are valid if the penalty is the ratio of the variances of noise and nuisance. The focused penalty is
chosen for the baseline network instead, and shrinks R of any size to zero if pooling does not bias that (an
odd R over a symmetric confounder). So R has a separate penalty for each function, by the method of moments.
"""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.nuisance.focused import FEWEST_DF
from plaggm.core.nuisance.node_regressions import bordered_inverse, least_squares_network
from plaggm.core.profile.spline import (
    ProfiledSpline,
    effective_degrees,
    profile_spline,
    spline_coefficients,
)
from plaggm.core.spline.system import SplineSystem, plain_system

# Ridge relative to the mean square of a column, which makes the posterior covariance finite with fewer
# samples than variables.
NETWORK_RIDGE = 1e-8
# Penalty of the nearly unpenalised fit from which the sizes of the functions are learnt.
REFERENCE_TAU = 1e-3
# Number of standard errors that are added to the estimated variance of a function's coefficients.
INSURANCE = 0.25
# Smallest standard error of a difference, relative to a typical standard error; smaller ones are rounding.
SAME = 1e-3


def profile_nuisance(system: SplineSystem, fit: ProfiledSpline) -> ProfiledSpline:
    """Fit with a penalty for estimating the nuisance: the ratio of noise to signal of each function.

    The mean square over all pairs of the nearly unpenalised coefficients of a function, minus its
    expectation under noise, estimates the variance of the true ones. A fraction of its standard error is
    added, since underestimated variances would make standard errors of R too small.

    Parameters
    ----------
    system : SplineSystem
    fit : ProfiledSpline
        Fit that is returned with too few samples for a nearly unpenalised one.

    Returns
    -------
    ProfiledSpline
    """
    n, p, q = system.n, system.p, system.q
    if not system.functions or p < 2 or n <= (1 + system.functions) * p:
        return fit
    reference = profile_spline(system, np.full(system.functions, REFERENCE_TAU))
    omega, residual = least_squares_network(system, reference.penalty, profiled=reference)
    left = np.maximum(n - p - effective_degrees(reference, q), FEWEST_DF * n)
    noise = np.maximum(residual * n / left, np.finfo(float).tiny)
    pairs = ~np.eye(p, dtype=bool)
    # In units of the noise; column j is node j's.
    energy = (spline_coefficients(reference, omega) ** 2 / noise)[:, pairs]
    blocks = posterior_blocks(system, reference)
    of_noise = np.einsum("jkaa->akj", blocks[:, :, 1:, 1:])[:, pairs] / n
    # The two estimates of a pair are highly correlated, so that pairs count once.
    uncertain = np.sqrt(2.0 * np.mean(of_noise**2, axis=1) / (p * (p - 1) / 2))
    signal = np.maximum(energy.mean(axis=1) - of_noise.mean(axis=1), 0.0) + INSURANCE * uncertain
    return profile_spline(system, 1.0 / (n * signal))


def posterior_blocks(system: SplineSystem, fit: ProfiledSpline) -> Array:
    """E_jk of every node j and every other column k, divided by noise / n.

    Parameters
    ----------
    system : SplineSystem
    fit : ProfiledSpline
        Fit of this system.

    Returns
    -------
    ndarray of shape (p, p, 1 + M, 1 + M)
        Block of variable k in node j's regression at [j, k], of the intercept and shifts at [j, j]. The
        baseline comes first in each block, the rotated functions follow.
    """
    p, q, size = system.p, system.q, 1 + system.functions
    ridge = NETWORK_RIDGE * np.mean(np.diagonal(system.bb))
    inverse = bordered_inverse(system, fit, np.full(q, ridge))
    return blocks_without_nodes(inverse, p, size)


def blocks_without_nodes(inverse: Array, p: int, size: int) -> Array:
    """E_jk of every node j and every other column k, from the inverse with all nodes' columns.

    Parameters
    ----------
    inverse : ndarray of shape (size (p + 1), size (p + 1))
        Columns of [Z, 1] and, after them, their products with every function.
    p : int
    size : int
        One more than there are functions.

    Returns
    -------
    ndarray of shape (p, p, size, size)
        See :func:`posterior_blocks`.
    """
    q = p + 1
    # f[k, l] is F_kl.
    f = np.ascontiguousarray(inverse.reshape(size, q, size, q).transpose(1, 3, 0, 2))
    index = np.arange(q)
    own = f[index, index]
    out = np.empty((p, p, size, size))
    for j in range(p):
        left = own - np.matmul(f[:, j], np.linalg.solve(own[j], f[j]))
        out[j] = left[:p]
        out[j, j] = left[p]
    return 0.5 * (out + out.swapaxes(2, 3))


def nuisance_errors(blocks: Array, phi: Array, noise: Array, n: int, *, baseline: bool) -> Array:
    """Posterior standard deviations of R(g), or of Omega0 + R(g), node by node.

    Parameters
    ----------
    blocks : ndarray of shape (p, p, 1 + M, 1 + M)
        Result of :func:`posterior_blocks`.
    phi : ndarray of shape (k, M)
        Rotated functions at the points.
    noise : ndarray of shape (p,)
        Residual standard deviation of every node.
    n : int
    baseline : bool
        Whether Omega0 is included.

    Returns
    -------
    ndarray of shape (k, p, p)
        Column j is node j's, as in the coefficients themselves.
    """
    weights = np.column_stack([np.full(len(phi), float(baseline)), phi])
    p, size = len(blocks), weights.shape[1]
    products = (weights[:, :, None] * weights[:, None, :]).reshape(len(weights), size * size)
    variance = products @ blocks.reshape(p * p, size * size).T
    variance = np.maximum(variance.reshape(-1, p, p), 0.0).swapaxes(1, 2)
    deviations: Array = np.sqrt(variance / n) * noise
    return deviations


def baseline_disagreement(system: SplineSystem, fit: ProfiledSpline, below: Array) -> float:
    """Difference between the baseline networks of all and of unconfounded rows, in standard errors.

    Both are least-squares estimates. In the mixed model the one from all rows is efficient, so that the
    variance of the difference is the difference of the variances (Hausman, 1978).

    Parameters
    ----------
    system : SplineSystem
        Moments of all rows.
    fit : ProfiledSpline
    below : ndarray of shape (k, q)
        [Z, 1] of the rows below all thresholds.

    Returns
    -------
    float
        Root mean square over the pairs, both nodes of a pair averaged. NaN unless there are more
        unconfounded rows than variables and other rows inform the baseline.
    """
    p, n = system.p, system.n
    if len(below) <= p + 1:
        return np.nan
    alone = plain_system(len(below), below.T @ below / len(below))
    few = profile_spline(alone, np.zeros(0))
    first, residual = least_squares_network(system, fit.penalty, profiled=fit)
    second, _ = least_squares_network(alone, few.penalty)
    left = np.maximum(n - p - effective_degrees(fit, system.q), FEWEST_DF * n)
    noise = np.sqrt(residual * n / left)
    known = posterior_blocks(system, fit)[:, :, 0, 0] / n
    rough = posterior_blocks(alone, few)[:, :, 0, 0] / len(below)
    # At [j, k]: difference of the coefficients of variable k in node j's regression over the node's noise.
    gap = (second - first).T / noise[:, None]
    spread = np.sqrt(np.maximum(rough - known, 0.0))
    # In these units the two coefficients of a pair are equal.
    units = noise[None, :]
    upper = np.triu_indices(p, 1)
    difference = (gap * units)[upper] + (gap * units).T[upper]
    error = (spread * units)[upper] + (spread * units).T[upper]
    informed = error > SAME * np.sqrt(np.mean(rough))
    if not informed.any():
        return np.nan
    return float(np.sqrt(np.mean((difference[informed] / error[informed]) ** 2)))
