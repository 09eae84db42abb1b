"""Inference on the nuisance: a penalty suited to estimating R, and pointwise standard errors.

A penalised spline is the posterior mean of a mixed model (Wahba, 1983): for node j, y = X beta + D gamma +
noise with variance s^2 in each row, beta flat and gamma Gaussian with precision n P / s^2. The
posterior covariance of (beta, gamma) is s^2 / n times the inverse of

    A = [[B'B, C'], [C, D'D + P]] / n     without node j's own rows and columns.

One inverse serves all nodes. Let F_kl be the (1 + M) x (1 + M) block of A^{-1} that belongs to the columns
k and l of [Z, 1] (itself and its product with every function). Deleting node j leaves for column k

    E_jk = F_kk - F_kj F_jj^{-1} F_jk

so that standard errors of all p^2 edges cost one inverse and p^2 products of such small blocks.

These hold where the penalty is the ratio of the noise to the nuisance that there is. The focused penalty
is not: it serves the baseline network, and where pooling does that no harm (an odd R over a symmetric
confounder) it flattens R whatever its size. So R gets a penalty of its own, function by function, by the
method of moments.
"""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.focused import FEWEST_DF
from plaggm.core.node_regressions import bordered_inverse, least_squares_network
from plaggm.core.profile.spline import (
    ProfiledSpline,
    effective_degrees,
    profile_spline,
    spline_coefficients,
)
from plaggm.core.spline_system import SplineSystem, plain_system

# Of the mean square of a column: with fewer samples than variables the baseline network without a lasso
# is not defined. A trace of ridge gives it a large but finite variance.
NETWORK_RIDGE = 1e-8
# Of the nearly unpenalised fit from which the sizes of the functions are learnt.
REFERENCE_TAU = 1e-3
# Standard errors that are added to the variance of a function's coefficients. One made bands of 95 % cover
# up to 99.5 %; with a quarter they cover 96 to 99 %, and the error of R is 5 % smaller.
INSURANCE = 0.25
# Of a typical standard error: differences below it are rounding.
SAME = 1e-3


def profile_nuisance(system: SplineSystem, fit: ProfiledSpline) -> ProfiledSpline:
    """Profile with the penalty that suits the nuisance: noise over signal, for each function.

    With Gamma_a the nearly unpenalised coefficients of function a, their mean square over all pairs less
    its part of noise estimates the variance of the true ones. A part of the estimate's standard error is
    added: a nuisance taken for too small would have standard errors that are too small, one taken for
    too large costs little.

    Parameters
    ----------
    system : SplineSystem
    fit : ProfiledSpline
        Fit that is returned if there are too few samples for a nearly unpenalised one.

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
    # Both nodes of a pair tell nearly the same.
    uncertain = np.sqrt(2.0 * np.mean(of_noise**2, axis=1) / (p * (p - 1) / 2))
    signal = np.maximum(energy.mean(axis=1) - of_noise.mean(axis=1), 0.0) + INSURANCE * uncertain
    return profile_spline(system, 1.0 / (n * signal))


def posterior_blocks(system: SplineSystem, fit: ProfiledSpline) -> Array:
    """E_jk of every node j and every other column k, noise and n aside.

    Parameters
    ----------
    system : SplineSystem
    fit : ProfiledSpline
        Fit of this system.

    Returns
    -------
    ndarray of shape (p, p, 1 + M, 1 + M)
        First index the node, second the other variable; the node's intercept and its shifts at [j, j].
        The baseline comes first in each block, the rotated functions follow.
    """
    p, q, size = system.p, system.q, 1 + system.functions
    ridge = NETWORK_RIDGE * np.mean(np.diagonal(system.bb))
    inverse = bordered_inverse(system, fit, np.full(q, ridge))
    return blocks_without_nodes(inverse, p, size)


def blocks_without_nodes(inverse: Array, p: int, size: int) -> Array:
    """E_jk of every node j and every other column k, from the inverse A^{-1} that all nodes share.

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
        turned = np.linalg.solve(own[j], f[j])
        left = own - np.matmul(f[:, j], turned)
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
        Whether the baseline counts as well.

    Returns
    -------
    ndarray of shape (k, p, p)
        Column j is node j's, as in the coefficients themselves.
    """
    weights = np.column_stack([np.full(len(phi), float(baseline)), phi])
    p, size = len(blocks), weights.shape[1]
    # Products of two weights against the flattened blocks: one matrix product for all points and pairs.
    products = (weights[:, :, None] * weights[:, None, :]).reshape(len(weights), size * size)
    variance = products @ blocks.reshape(p * p, size * size).T
    variance = np.maximum(variance.reshape(-1, p, p), 0.0).swapaxes(1, 2)
    deviations: Array = np.sqrt(variance / n) * noise
    return deviations


def baseline_disagreement(system: SplineSystem, fit: ProfiledSpline, below: Array) -> float:
    """Distance between the baseline networks of all and of unconfounded rows, in standard errors.

    Both are least squares without lasso. In the mixed model the one from all rows is efficient, so that
    the variance of the difference is the difference of the variances (Hausman, 1978).

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
        Root mean square over the pairs, both nodes of a pair averaged; NaN where these rows are not
        more than the variables, or nothing else informs the baseline.
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
    # Of the coefficient of variable k in node j's regression, divided by the node's noise: [j, k].
    gap = (second - first).T / noise[:, None]
    spread = np.sqrt(np.maximum(rough - known, 0.0))
    # In units of the noise of both nodes, where a pair's two coefficients are the same number.
    units = noise[None, :]
    upper = np.triu_indices(p, 1)
    difference = (gap * units)[upper] + (gap * units).T[upper]
    error = (spread * units)[upper] + (spread * units).T[upper]
    informed = error > SAME * np.sqrt(np.mean(rough))
    if not informed.any():
        return np.nan
    return float(np.sqrt(np.mean((difference[informed] / error[informed]) ** 2)))
