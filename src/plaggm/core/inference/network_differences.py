r"""Tests of differences between networks estimated from different samples, by pair and overall.

Estimates of K independent networks are compared on the Fisher scale, on which standard errors hardly depend
on the correlation. For each pair

    Q = sum_g w_g (z_g - z)^2,     w_g = 1 / s_g^2,   z = sum_g w_g z_g / sum_g w_g

is chi-square with K - 1 degrees of freedom if all networks have the same partial correlation; with K = 2
this is the textbook test of two independent estimates. If standard errors have few degrees of freedom, Q is
compared with Welch's F distribution (1951). Means and variances of the variables and numbers of samples may
differ between the networks.

The overall p-value is the Cauchy combination of those of all pairs (Liu and Xie, 2020), which is valid
under dependence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import cauchy, chi2, f, t

from plaggm.array_types import Array
from plaggm.core.inference.pair_statistics import LARGEST, adjusted, fisher_scale

# Before they are combined, p-values are clipped to this minimum and to one minus the second constant
# divided by their number.
SMALLEST, LARGEST_PART = 1e-15, 1e-3
# Smallest number of networks for tests of each against the others.
FEWEST_NETWORKS = 5
# Smallest denominator of the variance between networks relative to the sum of weights.
SAME = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class NetworkDifferences:
    """Tests of whether K networks of p variables differ.

    Arrays over pairs have shape (P,), P = p (p - 1) / 2, in the order of ``numpy.triu_indices(p, 1)``.

    Attributes
    ----------
    common : ndarray of shape (P,)
        Mean partial correlation, weighted by precision.
    common_error : ndarray of shape (P,)
        Its standard error, which includes the variance between networks.
    spread : ndarray of shape (P,)
        Standard deviation of the true partial correlations between networks, on the Fisher scale
        (DerSimonian and Laird, 1986); zero if the estimates differ no more than by chance.
    statistic : ndarray of shape (P,)
        Q.
    p_value, q_value : ndarray of shape (P,)
        P-values of no difference, and Benjamini and Hochberg's q-values over the pairs.
    overall : float
        P-value of no difference at all.
    heterogeneity : float
        Share of the variation between the estimates that is not due to chance (I², Higgins and Thompson,
        2002), over all pairs.
    unusual : ndarray of shape (K,)
        P-values of the hypothesis that a network is distributed like the others; NaN for fewer than five
        networks.
    distance : ndarray of shape (K, K)
        Estimated root mean square difference between two networks on the Fisher scale; zero if the
        estimates differ no more than by chance.
    """

    common: Array
    common_error: Array
    spread: Array
    statistic: Array
    p_value: Array
    q_value: Array
    overall: float
    heterogeneity: float
    unusual: Array
    distance: Array


def network_differences(estimates: Array, errors: Array, degrees: Array) -> NetworkDifferences:
    """Compare networks of the same variables from different samples.

    Parameters
    ----------
    estimates : ndarray of shape (K, P)
        Partial correlations, without penalty.
    errors : ndarray of shape (K, P)
        Standard errors, which may be infinite.
    degrees : ndarray of shape (K,)
        Degrees of freedom of the standard errors, which may be infinite.

    Returns
    -------
    NetworkDifferences

    Examples
    --------
    >>> differ = network_differences(
    ...     np.array([[0.5, 0.1], [0.1, 0.1]]), np.full((2, 2), 0.05), np.full(2, np.inf)
    ... )
    >>> differ.q_value.round(4)
    array([0., 1.])
    """
    if len(estimates) < 2:
        raise ValueError("Differences between networks need two of them.")
    z = np.arctanh(np.clip(estimates, -LARGEST, LARGEST))
    variance = fisher_scale(estimates, errors) ** 2
    weights = 1.0 / variance
    count = len(z)
    mean = np.average(z, axis=0, weights=weights)
    statistic = (weights * (z - mean) ** 2).sum(axis=0)
    p_value = _welch(statistic, weights / weights.sum(axis=0), degrees)
    between = _between(statistic, weights)
    precision = 1.0 / (variance + between)
    common = np.tanh(np.average(z, axis=0, weights=precision))
    return NetworkDifferences(
        common,
        (1.0 - common**2) / np.sqrt(precision.sum(axis=0)),
        np.sqrt(between),
        statistic,
        p_value,
        adjusted(p_value),
        combined(p_value),
        max(0.0, 1.0 - (count - 1.0) * len(mean) / max(float(statistic.sum()), 1e-300)),
        _unusual(z, variance, degrees),
        _distances(z, variance),
    )


def combined(p_value: Array) -> float:
    """Cauchy combination of p-values, which may be dependent; one for an empty array."""
    if not len(p_value):
        return 1.0
    inside = np.clip(p_value, SMALLEST, 1.0 - LARGEST_PART / len(p_value))
    return float(cauchy.sf(np.mean(cauchy.isf(inside))))


def _welch(statistic: Array, share: Array, degrees: Array) -> Array:
    """P-values of Welch's F for weights that are shares of their sum (K, P)."""
    count = len(share)
    uncertain = ((1.0 - share) ** 2 / degrees[:, None]).sum(axis=0)
    ratio = statistic / (count - 1.0) / (1.0 + 2.0 * (count - 2.0) / (count**2 - 1.0) * uncertain)
    certain = uncertain == 0.0
    below = (count**2 - 1.0) / (3.0 * np.where(certain, 1.0, uncertain))
    p_value = f.sf(ratio, count - 1.0, below)
    return np.asarray(np.where(certain, chi2.sf(statistic, count - 1.0), p_value))


def _between(statistic: Array, weights: Array) -> Array:
    """Variance between networks of every pair, after DerSimonian and Laird: shape (P,)."""
    total = weights.sum(axis=0)
    # The denominator vanishes if only one network has a finite standard error.
    beyond = np.maximum(total - (weights**2).sum(axis=0) / total, SAME * total)
    return np.asarray(np.maximum(statistic - (len(weights) - 1.0), 0.0) / beyond)


def _unusual(z: Array, variance: Array, degrees: Array) -> Array:
    """P-values of the hypothesis that each network is distributed like the others: shape (K,).

    The variance between the others is estimated from them alone; a t distribution with K - 2 degrees of
    freedom accounts for its error, as in a prediction interval (Higgins, Thompson and Spiegelhalter, 2009).
    """
    count = len(z)
    if count < FEWEST_NETWORKS:
        return np.full(count, np.nan)
    found = np.empty(count)
    for own in range(count):
        rest = np.arange(count) != own
        weights = 1.0 / variance[rest]
        mean = np.average(z[rest], axis=0, weights=weights)
        between = _between((weights * (z[rest] - mean) ** 2).sum(axis=0), weights)
        weights = 1.0 / (variance[rest] + between)
        mean = np.average(z[rest], axis=0, weights=weights)
        error = np.sqrt(variance[own] + between + 1.0 / weights.sum(axis=0))
        freedom = min(float(degrees[own]), count - 2.0)
        found[own] = combined(2.0 * t.sf(np.abs(z[own] - mean) / error, freedom))
    return found


def _distances(z: Array, variance: Array) -> Array:
    """Root mean square differences between networks beyond those expected by chance: shape (K, K)."""
    count = len(z)
    found = np.zeros((count, count))
    for a in range(count):
        for b in range(a + 1, count):
            chance = variance[a] + variance[b]
            weight = 1.0 / chance
            excess = float((weight * ((z[a] - z[b]) ** 2 - chance)).sum() / weight.sum())
            found[a, b] = found[b, a] = np.sqrt(max(excess, 0.0))
    return found
