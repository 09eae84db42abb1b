r"""Tests of differences between networks estimated from different samples, by pair and overall.

Estimates of K independent networks are compared on the Fisher scale, where the standard error hardly
depends on the correlation. For each pair

    Q = sum_g w_g (z_g - z)^2,     w_g = 1 / s_g^2,   z = sum_g w_g z_g / sum_g w_g

is chi-square with K - 1 degrees of freedom if the partial correlation is the same everywhere; with K = 2
this is the textbook test of two independent estimates. Where standard errors rest on few degrees of
freedom, Q is compared with Welch's F distribution (1951). Variances and means of the variables, and
numbers of samples, may differ between the networks: partial correlations do not depend on the former, and
weights allow for the latter.

All pairs together are judged by the Cauchy combination of their p-values (Liu and Xie, 2020), whose level
does not depend on how the pairs vary together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import cauchy, chi2, f, t

from plaggm.array_types import Array
from plaggm.core.pair_statistics import LARGEST, adjusted, fisher_scale

# P-values are held so far from zero, and divided by their number from one, where the Cauchy distribution
# ends.
SMALLEST, LARGEST_PART = 1e-15, 1e-3
# Networks from which one can be unlike the others.
FEWEST_NETWORKS = 5
# Share of all weights below which those of all networks but one are nothing.
SAME = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class NetworkDifferences:
    """Tests of whether K networks of p variables differ.

    Arrays over pairs have shape (P,), P = p (p - 1) / 2, in the order of ``numpy.triu_indices(p, 1)``.

    Attributes
    ----------
    common : ndarray of shape (P,)
        Partial correlation that all networks share, if they do: the mean weighted by precision.
    common_error : ndarray of shape (P,)
        Its standard error, which allows for differences between the networks.
    spread : ndarray of shape (P,)
        Standard deviation of the true partial correlations between networks, on the Fisher scale
        (DerSimonian and Laird, 1986); zero where the estimates differ no more than by chance.
    statistic : ndarray of shape (P,)
        Q.
    p_value, q_value : ndarray of shape (P,)
        P-values of no difference, and Benjamini and Hochberg's q-values over the pairs.
    overall : float
        P-value of no difference at all.
    heterogeneity : float
        Share of the variation between the estimates that is not chance (I², Higgins and Thompson, 2002),
        over all pairs.
    unusual : ndarray of shape (K,)
        P-values of each network being like the others, given how much those differ; NaN for fewer than
        five networks.
    distance : ndarray of shape (K, K)
        Root mean square of the true differences between two networks on the Fisher scale; zero where the
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
        Standard errors; infinite where nothing is known.
    degrees : ndarray of shape (K,)
        Degrees of freedom of the standard errors, infinite where they are as good as known.

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
    total = weights.sum(axis=0)
    mean = (weights * z).sum(axis=0) / total
    statistic = (weights * (z - mean) ** 2).sum(axis=0)
    p_value = _welch(statistic, weights / total, degrees)
    between = _between(statistic, weights)
    precision = 1.0 / (variance + between)
    centre = (precision * z).sum(axis=0) / precision.sum(axis=0)
    common = np.tanh(centre)
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
    """Cauchy combination of p-values, valid however these depend on each other; 1 of none."""
    if not len(p_value):
        return 1.0
    inside = np.clip(p_value, SMALLEST, 1.0 - LARGEST_PART / len(p_value))
    return float(cauchy.sf(np.mean(cauchy.isf(inside))))


def _welch(statistic: Array, share: Array, degrees: Array) -> Array:
    """P-values of Welch's F for weights that are shares of their sum (K, P)."""
    count = len(share)
    unsure = ((1.0 - share) ** 2 / degrees[:, None]).sum(axis=0)
    ratio = statistic / (count - 1.0) / (1.0 + 2.0 * (count - 2.0) / (count**2 - 1.0) * unsure)
    sure = unsure == 0.0
    below = (count**2 - 1.0) / (3.0 * np.where(sure, 1.0, unsure))
    known = chi2.sf(statistic, count - 1.0)
    return np.asarray(np.where(sure, known, f.sf(ratio, count - 1.0, below)))


def _between(statistic: Array, weights: Array) -> Array:
    """Variance between networks of every pair, after DerSimonian and Laird: shape (P,)."""
    total = weights.sum(axis=0)
    # One network that alone is known tells nothing of how they differ.
    beyond = np.maximum(total - (weights**2).sum(axis=0) / total, SAME * total)
    return np.asarray(np.maximum(statistic - (len(weights) - 1.0), 0.0) / beyond)


def _unusual(z: Array, variance: Array, degrees: Array) -> Array:
    """P-values of the hypothesis that each network is distributed like the others: shape (K,).

    How much the others differ is learnt from them alone; K - 2 degrees of freedom stand for what that
    leaves open, as in a prediction interval (Higgins, Thompson and Spiegelhalter, 2009).
    """
    count = len(z)
    if count < FEWEST_NETWORKS:
        return np.full(count, np.nan)
    found = np.empty(count)
    for own in range(count):
        rest = np.arange(count) != own
        weights = 1.0 / variance[rest]
        mean = (weights * z[rest]).sum(axis=0) / weights.sum(axis=0)
        between = _between((weights * (z[rest] - mean) ** 2).sum(axis=0), weights)
        weights = 1.0 / (variance[rest] + between)
        mean = (weights * z[rest]).sum(axis=0) / weights.sum(axis=0)
        error = np.sqrt(variance[own] + between + 1.0 / weights.sum(axis=0))
        freedom = min(float(degrees[own]), count - 2.0)
        found[own] = combined(2.0 * t.sf(np.abs(z[own] - mean) / error, freedom))
    return found


def _distances(z: Array, variance: Array) -> Array:
    """Root mean square differences between networks, minus the part expected by chance."""
    count = len(z)
    found = np.zeros((count, count))
    for a in range(count):
        for b in range(a + 1, count):
            chance = variance[a] + variance[b]
            weight = 1.0 / chance
            excess = float((weight * ((z[a] - z[b]) ** 2 - chance)).sum() / weight.sum())
            found[a, b] = found[b, a] = np.sqrt(max(excess, 0.0))
    return found
