r"""Empirical Bayes estimates of partial correlations, most of which are zero or nearly so.

Sums over edges that passed a test overstate their sizes, since estimates that happen to be large pass more
easily, and leave out what did not pass; sums over all estimates add the noise of every absent edge. The
posterior under a prior that is learnt from all pairs does neither. As in adaptive shrinkage (Stephens,
2017) the prior is a mixture of a point at zero and normal distributions around it,

    rho ~ pi_0 delta_0 + sum_k pi_k N(0, s_k^2),     estimate | rho ~ N(rho, error^2)

on a grid of deviations s_k, whose weights the EM algorithm finds by maximum likelihood. The posterior of a
pair is a mixture of normals again, of which mean and variance of rho and of \|rho\| are known in closed
form.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from plaggm.array_types import Array
from plaggm.core.threads import single_threaded_blas

# Deviations of the prior, from a part of the smallest error to a multiple of the largest estimate.
GRID, FINEST, WIDEST = 14, 0.1, 2.0
# Steps of the EM algorithm, and change of the weights at which it stops.
STEPS, SETTLED = 500, 1e-6
# Pairs without edge that are added, where data cannot tell small ones from none: as many as Stephens adds.
NULL_PAIRS = 9.0
# Least weight from which a component may start again.
FLOOR = 1e-4
# Pairs from which the prior is learnt at most, evenly spaced; so many leave nothing open about it.
MOST_PAIRS = 20_000
# Pairs whose components are held at a time.
CHUNK_PAIRS = 2**14
# Priors that stand for what few pairs leave open.
DRAWS = 40
# Stands for the standard error of a pair of which nothing is known.
LARGEST_ERROR = 1e3
# Networks whose posterior is remembered: a table, a picture and a page ask for that of the same two.
REMEMBERED = 2


@dataclass(frozen=True, slots=True)
class Shrunken:
    """Posterior moments of every pair.

    All arrays have shape (P,) and may not be writeable.

    Attributes
    ----------
    mean, variance : ndarray
        Posterior moments of the partial correlation.
    size, size_variance : ndarray
        Posterior moments of its absolute value.
    present : ndarray
        Probability of not being zero.
    means, sizes : ndarray of shape (draws, P)
        Means of the partial correlation and of its absolute value under each of several priors that the
        pairs make about equally likely.
    """

    mean: Array
    variance: Array
    size: Array
    size_variance: Array
    present: Array
    means: Array
    sizes: Array


def shrink(estimate: Array, error: Array) -> Shrunken:
    """Posterior of every pair under a prior that is estimated from all pairs.

    Parameters
    ----------
    estimate, error : ndarray of shape (P,)
        Estimates with their standard errors; an infinite one tells nothing.

    Returns
    -------
    Shrunken

    Examples
    --------
    >>> found = shrink(np.append(np.zeros(50), 0.5), np.full(51, 0.05))
    >>> round(float(found.mean[-1]), 2), round(float(found.size[0]), 2)
    (0.49, 0.0)
    """
    estimate, error = (np.ascontiguousarray(one, dtype=np.float64) for one in (estimate, error))
    if len(estimate) > MOST_PAIRS:
        return _posterior_of_all(estimate, error)
    # Learning several priors takes seconds, and the arrays of so few pairs little memory.
    return _remembered(estimate.tobytes(), error.tobytes())


@lru_cache(maxsize=REMEMBERED)
def _remembered(estimate: bytes, error: bytes) -> Shrunken:
    found = _posterior_of_all(np.frombuffer(estimate), np.frombuffer(error))
    for one in fields(found):
        getattr(found, one.name).flags.writeable = False
    return found


# The matrices are long and narrow: threads inside BLAS would only wait for each other.
@single_threaded_blas()
def _posterior_of_all(estimate: Array, error: Array) -> Shrunken:
    """See :func:`shrink`."""
    known = np.isfinite(error)
    if not known.any():
        nothing = np.zeros(len(estimate))
        return Shrunken(nothing, nothing, nothing, nothing, nothing, nothing[None], nothing[None])
    scales = _scales(estimate[known], error[known])
    chosen = np.flatnonzero(known)[:: max(1, int(known.sum()) // MOST_PAIRS)]
    likelihood = _densities(estimate[chosen], error[chosen], scales)
    priors = _learnt(likelihood, np.ones((1, len(chosen))))
    if len(estimate) <= MOST_PAIRS:
        drawn = np.random.default_rng(0).exponential(size=(DRAWS, len(chosen)))
        priors = _learnt(likelihood, drawn, priors[0])
    error = np.where(known, error, LARGEST_ERROR)
    moments = np.empty((4, len(priors), len(estimate)))
    for begin in range(0, len(estimate), CHUNK_PAIRS):
        part = slice(begin, begin + CHUNK_PAIRS)
        moments[:, :, part] = _posterior(estimate[part], error[part], scales, priors)
    means, sizes, squares, present = moments
    return Shrunken(
        means.mean(axis=0),
        (squares - means**2).mean(axis=0),
        sizes.mean(axis=0),
        (squares - sizes**2).mean(axis=0),
        present.mean(axis=0),
        means,
        sizes,
    )


def _posterior(estimate: Array, error: Array, scales: Array, priors: Array) -> Array:
    """Mean, size, square and presence of every pair under every prior: shape (4, priors, P)."""
    pull = scales**2 / (scales**2 + error[:, None] ** 2)
    centre, spread = pull * estimate[:, None], np.sqrt(pull) * error[:, None]
    ratio = np.divide(centre, spread, out=np.zeros_like(centre), where=spread > 0.0)
    density = np.exp(-0.5 * ratio**2) / np.sqrt(2.0 * np.pi)
    size = 2.0 * spread * density + centre * (1.0 - 2.0 * ndtr(-ratio))
    square = centre**2 + spread**2
    own = _densities(estimate, error, scales)
    found = np.empty((4, len(priors), len(estimate)))
    for at, prior in enumerate(priors):
        share = prior * own
        share /= share.sum(axis=1, keepdims=True)
        for into, values in enumerate((centre, size, square)):
            found[into, at] = (share * values).sum(axis=1)
        found[3, at] = 1.0 - share[:, 0]
    return found


def _scales(estimate: Array, error: Array) -> Array:
    """Deviations of the prior's components, zero first: shape (1 + GRID,)."""
    finest = FINEST * float(error.min())
    excess = float(np.max(estimate**2 - error**2))
    widest = max(WIDEST * np.sqrt(max(excess, 0.0)), 8.0 * finest)
    return np.append(0.0, np.geomspace(finest, widest, GRID))


def _densities(estimate: Array, error: Array, scales: Array) -> Array:
    """Likelihood of every component, relative to the largest of each pair: shape (P, 1 + GRID)."""
    variance = scales**2 + error[:, None] ** 2
    log = -0.5 * (np.log(variance) + estimate[:, None] ** 2 / variance)
    return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)))


def _learnt(likelihood: Array, counts: Array, start: Array | None = None) -> Array:
    """Weights of the components by maximum likelihood, for pairs that count (B, P): shape (B, 1 + GRID)."""
    size = likelihood.shape[1]
    weights = np.tile(
        np.full(size, 1.0 / size) if start is None else start + FLOOR, (len(counts), 1)
    )
    counts = counts / counts.sum(axis=1, keepdims=True)
    for _ in range(STEPS):
        mixed = weights @ likelihood.T
        new = weights * ((counts / mixed) @ likelihood)
        new[:, 0] += NULL_PAIRS / likelihood.shape[0]
        new /= new.sum(axis=1, keepdims=True)
        moved = float(np.abs(new - weights).max())
        weights = new
        if moved < SETTLED:
            break
    return np.asarray(weights)
