r"""Tail probabilities of weighted sums of chi-square variables, divided by an estimate of their scale.

The statistic is a ratio

    T = sum_a w_a X_a / (Y / nu),     X_a ~ chi-square(1),  Y ~ chi-square(nu)  independent of each other,

and P(T > x) = P(sum_a w_a X_a - x Y / nu > 0) is a probability about a weighted sum again, whose cumulant
generating function is known:

    K(t) = -1/2 sum_a log(1 - 2 t w_a) - nu/2 log(1 + 2 t x / nu)

With K'(t) = 0 the saddlepoint, u = sign(t) sqrt(-2 K(t)) and v = t sqrt(K''(t)), the probability is
Phi(-(u + log(v / u) / u)) (Lugannani and Rice, 1980, in the form of Barndorff-Nielsen; Kuonen, 1999), with
a small relative error in the tails. For equal weights T has Fisher's F distribution up to a factor.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import f, norm

from plaggm.array_types import Array

# Relative spread below which weights are equal.
EQUAL = 1e-9
# Bisections for the saddlepoint, to full precision.
HALVINGS = 80
# Relative distance from the mean below which the probability is interpolated, as the formula becomes 0 / 0.
NEAR_MEAN = 1e-3
# Statistics below this share of the mean have a probability of one.
SMALLEST = 1e-10


def ratio_tail(weights: Array, statistic: Array, degrees: Array) -> Array:
    """P(sum_a w_a X_a / (Y / nu) > x) of several ratios.

    Parameters
    ----------
    weights : ndarray of shape (k, r)
        Zero or more, not all zero.
    statistic : ndarray of shape (k,)
        x, zero or more.
    degrees : ndarray of shape (k,)
        nu.

    Returns
    -------
    ndarray of shape (k,)

    Examples
    --------
    >>> ratio_tail(np.array([[1.0, 1.0], [2.0, 0.5]]), np.full(2, 6.0), np.full(2, 50.0)).round(4)
    array([0.0588, 0.1107])
    """
    largest = weights.max(axis=1)
    positive = weights > EQUAL * largest[:, None]
    count = positive.sum(axis=1)
    smallest = np.where(positive, weights, np.inf).min(axis=1)
    equal = smallest >= (1.0 - EQUAL) * largest
    tail = np.ones(len(weights))
    tail[equal] = f.sf((statistic / (largest * count))[equal], count[equal], degrees[equal])
    rest = np.flatnonzero(~equal & (statistic > SMALLEST * weights.sum(axis=1)))
    if len(rest):
        tail[rest] = _saddlepoint(weights[rest], statistic[rest], degrees[rest])
    return tail


def _saddlepoint(weights: Array, x: Array, degrees: Array) -> Array:
    """The saddlepoint approximation, interpolated if the statistic is close to its mean: shape (k,)."""
    mean = weights.sum(axis=1)
    close = np.abs(x / mean - 1.0) < NEAR_MEAN
    tail = _formula(weights, np.where(close, mean * (1.0 - NEAR_MEAN), x), degrees)
    if close.any():
        few, centre = np.flatnonzero(close), mean[close]
        above = _formula(weights[few], centre * (1.0 + NEAR_MEAN), degrees[few])
        share = (x[few] / centre - 1.0 + NEAR_MEAN) / (2.0 * NEAR_MEAN)
        tail[few] = (1.0 - share) * tail[few] + share * above
    return np.clip(tail, 0.0, 1.0)


def _formula(weights: Array, x: Array, degrees: Array) -> Array:
    """Barndorff-Nielsen's form for statistics away from their means: shape (k,)."""
    low, high = -0.5 * degrees / x, 0.5 / weights.max(axis=1)
    for _ in range(HALVINGS):
        t = 0.5 * (low + high)
        slope = np.sum(weights / (1.0 - 2.0 * t[:, None] * weights), axis=1)
        above = slope > x / (1.0 + 2.0 * t * x / degrees)
        low, high = np.where(above, low, t), np.where(above, t, high)
    # The end of the bracket at which all logarithms below are finite.
    t = np.where(low > 0.0, low, high)
    scaled = 1.0 - 2.0 * t[:, None] * weights
    other = 1.0 + 2.0 * t * x / degrees
    # By log1p, since close to the mean both terms are small and nearly cancel.
    generating = -0.5 * np.sum(np.log1p(-2.0 * t[:, None] * weights), axis=1)
    generating -= 0.5 * degrees * np.log1p(2.0 * t * x / degrees)
    curvature = 2.0 * np.sum((weights / scaled) ** 2, axis=1) + 2.0 * x**2 / (degrees * other**2)
    u = np.sign(t) * np.sqrt(np.maximum(-2.0 * generating, np.finfo(float).tiny))
    v = t * np.sqrt(curvature)
    return np.asarray(norm.sf(u + np.log(v / u) / u))
