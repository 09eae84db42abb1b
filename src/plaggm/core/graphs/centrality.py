r"""How central each variable is in a network, with standard errors.

Strength is the sum of the absolute partial correlations of a variable, expected influence (Robinaugh,
Millner and McNally, 2016) the sum of the signed ones; the *bridge* versions sum over pairs of different
groups only. The terms are posterior means (`plaggm.core.graphs.adaptive_shrinkage`).

The errors of one variable's estimates are correlated. The sampling covariance of the entries of an inverse
sample covariance has the same form as that of a covariance matrix, so that the partial correlations of one
variable have the covariance of Pearson and Filon (1898),

    cov(c_jk, c_jl) ∝ c_kl (1 - c_jk² - c_jl²) - c_jk c_jl (1 - c_jk² - c_jl² - c_kl²) / 2,    c = -rho.

Its correlations are used for the pairs that are more likely present than not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index, Mask
from plaggm.core.graphs.adaptive_shrinkage import shrink

# Posterior probability above which a pair counts as present.
PRESENT = 0.5
# Largest number of present pairs of a variable whose correlation matrix is formed.
FORMED = 200


@dataclass(frozen=True, slots=True)
class Centrality:
    """Sums over the pairs of every variable, with standard errors.

    All arrays have shape (p,).

    Attributes
    ----------
    strength, strength_error : ndarray
        Sum of the absolute partial correlations.
    influence, influence_error : ndarray
        Sum of the partial correlations.
    """

    strength: Array
    strength_error: Array
    influence: Array
    influence_error: Array


def centrality(estimate: Array, error: Array, groups: Index | None = None) -> Centrality:
    """Strength and expected influence of every variable.

    Parameters
    ----------
    estimate, error : ndarray of shape (p, p)
        Unpenalised partial correlations and their standard errors.
    groups : ndarray of int of shape (p,), optional
        Group of every variable; if given, only pairs of different groups are summed.

    Returns
    -------
    Centrality
    """
    p = len(estimate)
    first, second = np.triu_indices(p, 1)
    found = shrink(estimate[first, second], error[first, second])

    def matrix(values: Array) -> Array:
        full = np.zeros((p, p))
        full[first, second] = full[second, first] = values
        if groups is not None:
            full[groups[:, None] == groups[None, :]] = 0.0
        return full

    size, mean = matrix(found.size), matrix(found.mean)
    size_variance, variance = matrix(found.size_variance), matrix(found.variance)
    present = matrix(found.present) > PRESENT
    strength_error, influence_error = np.empty(p), np.empty(p)
    known = -np.asarray(estimate, dtype=np.float64)
    many = np.flatnonzero(np.count_nonzero(present, axis=1) > FORMED)
    signs = np.sign(mean[many])
    strength_error[many] = _errors(size_variance[many], present[many], known, many, signs)
    influence_error[many] = _errors(variance[many], present[many], known, many, 1.0)
    for j in np.setdiff1d(np.arange(p), many):
        around = np.flatnonzero(present[j])
        together = _correlations(known[j, around], known[np.ix_(around, around)])
        sign = np.sign(mean[j, around])
        strength_error[j] = _error(size_variance[j], around, together, sign)
        influence_error[j] = _error(variance[j], around, together, 1.0)
    # The uncertainty of the prior is common to all of a variable's pairs.
    open_strength, open_influence = (
        np.std([matrix(row).sum(axis=1) for row in rows], axis=0)
        for rows in (found.sizes, found.means)
    )
    return Centrality(
        size.sum(axis=1),
        np.hypot(strength_error, open_strength),
        mean.sum(axis=1),
        np.hypot(influence_error, open_influence),
    )


def _error(variance: Array, around: Index, together: Array, sign: Array | float) -> float:
    """Standard error of a sum whose terms ``around`` are correlated and whose others are independent."""
    deviation = sign * np.sqrt(np.maximum(variance[around], 0.0))
    rest = float(variance.sum() - variance[around].sum())
    return float(np.sqrt(max(rest, 0.0) + max(float(deviation @ together @ deviation), 0.0)))


def _errors(
    variance: Array, present: Mask, known: Array, nodes: Index, sign: Array | float
) -> Array:
    """Standard errors like those of :func:`_error` for several nodes, in rows, by matrix products.

    Sums over Pearson and Filon's covariances are products with the matrix of negative partial correlations
    and with its squares. Correlations above one, which matrices that are not positive definite can give,
    are not clipped.
    """
    own = np.where(present, known[nodes], 0.0)
    scale = np.maximum(1.0 - own**2, np.finfo(float).tiny)
    deviation = np.where(present, sign * np.sqrt(np.maximum(variance, 0.0)), 0.0)
    unit = deviation / scale
    among = known - np.diag(np.diagonal(known))
    weighted = unit * own
    first, third = weighted.sum(axis=1), (weighted * own**2).sum(axis=1)
    covariance = np.sum((unit - 2.0 * unit * own**2) * (unit @ among), axis=1)
    covariance -= 0.5 * (first**2 - 2.0 * first * third)
    # Terms of a pair with itself, whose variance is added below.
    covariance += 0.5 * np.sum(weighted**2 * (1.0 - 2.0 * own**2), axis=1)
    covariance += 0.5 * np.sum((weighted @ among**2) * weighted, axis=1)
    rest = np.where(present, 0.0, variance).sum(axis=1)
    total = np.sum(deviation**2, axis=1) + covariance
    return np.asarray(np.sqrt(np.maximum(rest, 0.0) + np.maximum(total, 0.0)))


def _correlations(own: Array, among: Array) -> Array:
    """Sampling correlations of one variable's partial correlations (d,), given those among the others."""
    squares = own**2
    left = 1.0 - squares[:, None] - squares[None, :]
    covariance = among * left - 0.5 * np.outer(own, own) * (left - among**2)
    scale = np.maximum(1.0 - squares, np.finfo(float).tiny)
    found = np.clip(covariance / np.outer(scale, scale), -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)
