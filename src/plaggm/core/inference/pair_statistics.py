"""Tests and intervals of every pair of variables from both of its regressions.

In node j's regression the coefficient of variable k is rho_jk s_j / s_k, with s_j^2 the nodes' residual
variances and rho_jk the partial correlation. In units of the residual deviations both regressions of a pair
therefore estimate the same number; their estimates and standard errors are averaged. Without a confounder
both are the partial correlation r, with standard error sqrt((1 - r^2) / df), and their ratio is the t
statistic of a partial correlation.

If the prior of the nuisance is uncertain, the posterior of a partial correlation is a mixture over priors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import false_discovery_control, norm, t

from plaggm.array_types import Array, Mask

LEVEL = 0.95
# Larger absolute estimates are clipped before the Fisher transform.
LARGEST = 1.0 - 1e-12
# Bisections for the end of an interval.
HALVINGS = 60


@dataclass(frozen=True, slots=True)
class EdgeTests:
    """Tests of all pairs of variables.

    All arrays have shape (p (p - 1) / 2,), in the order of ``numpy.triu_indices(p, 1)``.

    Attributes
    ----------
    p : int
        Number of variables.
    estimate : ndarray
        Partial correlation of the baseline network, without penalty.
    standard_error : ndarray
        Standard error of the estimate; infinite for pairs without information.
    low, high : ndarray
        Ends of the interval at 95 %.
    z : ndarray
        Standard normal quantile of the p-value, with the sign of the estimate.
    p_value : ndarray
        Two-sided.
    q_value : ndarray
        Smallest false discovery rate (Benjamini and Hochberg, 1995) at which the pair is an edge.
    method : str
        Name of the test.
    dispersion : float
        Factor of the sampling variances for heavy tails or unequal variances; one without.
    degrees_of_freedom : float
        Degrees of freedom of the t statistics.
    """

    p: int
    estimate: Array
    standard_error: Array
    low: Array
    high: Array
    z: Array
    p_value: Array
    q_value: Array
    method: str
    dispersion: float
    degrees_of_freedom: float

    def edges(self, rate: float) -> Mask:
        """Adjacency of the pairs with a q-value of at most ``rate``: shape (p, p)."""
        return self.matrix(self.q_value <= rate).astype(bool)

    def matrix(self, values: Array | Mask) -> Array:
        """Values of all pairs as a symmetric matrix with a zero diagonal: shape (p, p)."""
        full = np.zeros((self.p, self.p))
        full[np.triu_indices(self.p, 1)] = values
        return full + full.T


@dataclass(frozen=True, slots=True)
class PairEstimates:
    """Partial correlations of all pairs under one prior.

    Attributes
    ----------
    estimate : ndarray of shape (p (p - 1) / 2,)
    variance : ndarray of shape (p (p - 1) / 2,)
        Posterior variance: sampling variance plus expected squared bias.
    sampling : ndarray of shape (p (p - 1) / 2,)
        Sampling variance.
    """

    estimate: Array
    variance: Array
    sampling: Array


def pair_variances(variances: Array, units: Array | float = 1.0) -> Array:
    """Variances of means of two fully correlated estimates: shape (p (p - 1) / 2,) from (p, p).

    Parameters
    ----------
    variances : ndarray of shape (p, p)
        Row j belongs to node j's regression.
    units : ndarray of shape (p, p) or float
        Factors of the estimates.
    """
    return np.asarray(both(np.sqrt(np.maximum(variances, 0.0)) * units) ** 2)


def jackknife_variance(estimates: Array) -> Array:
    """Jackknife variance (G - 1) / G sum_g (b_(g) - mean)^2 from estimates without each group.

    Parameters
    ----------
    estimates : ndarray of shape (G, ...)

    Returns
    -------
    ndarray of shape (...)
    """
    return np.asarray((len(estimates) - 1.0) * np.var(estimates, axis=0))


def both(values: Array) -> Array:
    """Mean of both entries of every pair: shape (..., p (p - 1) / 2) from (..., p, p)."""
    first, second = np.triu_indices(values.shape[-1], 1)
    return np.asarray(0.5 * (values[..., first, second] + values[..., second, first]))


def pair_matrices(matrices: Array, rotation: Array) -> Array:
    """Mean of both matrices of every pair, in other functions: rotation @ mean @ rotation'.

    Parameters
    ----------
    matrices : ndarray of shape (p, p, M, M)
    rotation : ndarray of shape (M, M)

    Returns
    -------
    ndarray of shape (p (p - 1) / 2, M, M)
    """
    mean = np.moveaxis(both(np.moveaxis(matrices, (0, 1), (2, 3))), 2, 0)
    return np.asarray(np.matmul(rotation, np.matmul(mean, rotation.T)))


def mixture_tests(
    estimates: Array,
    variances: Array,
    weights: Array,
    p: int,
    *,
    degrees: float,
    method: str,
    dispersion: float = 1.0,
    wide: bool = False,
    bounded: bool = True,
) -> EdgeTests:
    """Tests from a mixture of posteriors.

    The p-value is twice the posterior probability of the less likely sign. Intervals are computed on the
    Fisher scale; see :func:`fisher_scale`.

    Parameters
    ----------
    estimates, variances : ndarray of shape (components, p (p - 1) / 2)
        Pairs of infinite variance get the estimate zero.
    weights : ndarray of shape (components,)
        Sum to one.
    p : int
        Variables.
    degrees : float
        Degrees of freedom of the t statistics.
    method : str
    dispersion : float
    wide : bool
        Whether intervals use these degrees of freedom instead of normal quantiles, for variances estimated
        from few groups.
    bounded : bool
        Whether estimates are partial correlations, whose intervals are computed on the Fisher scale.

    Returns
    -------
    EdgeTests
    """
    # Whatever a regression returns for a pair without information, the data do not contain it.
    estimates = np.where(np.isinf(variances).any(axis=0), 0.0, estimates)
    mean = weights @ estimates
    spread = weights @ (variances + (estimates - mean) ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(variances > 0.0, estimates / np.sqrt(variances), 0.0)
    negative = weights @ t.cdf(-ratio, degrees)
    positive = weights @ t.cdf(ratio, degrees)
    p_value = np.clip(2.0 * np.minimum(negative, positive), 0.0, 1.0)
    width = degrees if wide else np.inf
    if bounded:
        low, high = _fisher_interval(estimates, variances, weights, width)
    else:
        low, high = _interval(estimates, np.sqrt(variances), weights, width)
    sign = np.where(positive >= negative, 1.0, -1.0)
    return EdgeTests(
        p,
        mean,
        np.sqrt(spread),
        low,
        high,
        sign * norm.isf(np.maximum(p_value, np.finfo(float).tiny) / 2.0),
        p_value,
        adjusted(p_value),
        method,
        dispersion,
        degrees,
    )


def adjusted(p_value: Array) -> Array:
    """Benjamini and Hochberg's q-values in the shape of the p-values (P,), of which there may be none."""
    return np.asarray(false_discovery_control(p_value)) if len(p_value) else p_value


def fisher_scale(estimates: Array, errors: Array) -> Array:
    """Standard errors on the Fisher scale: 1 / sqrt((1 - r^2) / s^2 - 1), in the shape of the estimates.

    Without a confounder this is 1 / sqrt(n - p - 1). It is immense for pairs without information.

    Examples
    --------
    >>> fisher_scale(np.array([0.0, 0.6]), np.array([0.1, 0.08])).round(4)
    array([0.1005, 0.1005])
    """
    inside = np.clip(estimates, -LARGEST, LARGEST)
    with np.errstate(divide="ignore"):
        rows = (1.0 - inside**2) / errors**2
    # Estimates whose variance is at least 1 - r^2 contain no information.
    return np.asarray(1.0 / np.sqrt(np.maximum(rows - 1.0, np.finfo(float).tiny)))


def _fisher_interval(
    estimates: Array, variances: Array, weights: Array, degrees: float
) -> tuple[Array, Array]:
    """Quantiles of a mixture on the Fisher scale, by bisection, back on that of correlations."""
    scale = fisher_scale(estimates, np.sqrt(variances))
    centre = np.arctanh(np.clip(estimates, -LARGEST, LARGEST))
    low, high = _interval(centre, scale, weights, degrees)
    return np.tanh(low), np.tanh(high)


def _interval(centre: Array, scale: Array, weights: Array, degrees: float) -> tuple[Array, Array]:
    """Quantiles of a mixture of components with these centres and scales, by bisection."""
    tail = (1.0 - LEVEL) / 2.0

    def quantile(level: float) -> Array:
        ends = centre + t.ppf(level, degrees) * scale
        low, high = ends.min(axis=0), ends.max(axis=0)
        for _ in range(HALVINGS if len(weights) > 1 else 0):
            middle = 0.5 * (low + high)
            below = weights @ t.cdf((middle - centre) / scale, degrees) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(0.5 * (low + high))

    return quantile(tail), quantile(1.0 - tail)
