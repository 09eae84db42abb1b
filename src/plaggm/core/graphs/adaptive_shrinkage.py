r"""Empirical Bayes estimates of partial correlations, most of which are zero or nearly so.

Sums over the edges that pass a test are biased upwards, since large estimates pass more easily; sums over
all estimates contain the noise of every absent edge. Posterior means under a prior that is learnt from all
pairs avoid both. As in adaptive shrinkage (Stephens, 2017) the prior is a mixture of a point mass at zero
and normal distributions around it,

    rho ~ pi_0 delta_0 + sum_k pi_k N(0, s_k^2),     estimate | rho ~ N(rho, error^2)

on a grid of deviations s_k. The EM algorithm finds the weights by maximum likelihood. The posterior of a
pair is a mixture of normals, so that means and variances of rho and of \|rho\| have closed forms.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from plaggm.array_types import Array
from plaggm.core.numerics.threads import single_threaded_blas

# Number of the prior's deviations, the smallest in units of the smallest error, and the largest in units of
# the largest estimate.
GRID, FINEST, WIDEST = 14, 0.1, 2.0
# Maximum number of EM steps, and the change of the weights at which they stop.
STEPS, SETTLED = 500, 1e-6
# Pseudo-count of pairs that are exactly zero, as in Stephens (2017).
NULL_PAIRS = 9.0
# Smallest weight of a component at the start of a bootstrap draw.
FLOOR = 1e-4
# Largest number of pairs from which the prior is learnt; they are evenly spaced.
MOST_PAIRS = 20_000
# Pairs whose components are in memory at a time.
CHUNK_PAIRS = 2**14
# Bootstrap draws of the prior, which show its uncertainty where pairs are few.
DRAWS = 40
# Standard error used for pairs whose standard error is infinite.
LARGEST_ERROR = 1e3
# Number of networks whose posterior is cached.
REMEMBERED = 2


@dataclass(frozen=True, slots=True)
class Shrunken:
    """Posterior moments of every pair; the arrays may be read-only.

    Attributes
    ----------
    mean, variance : ndarray of shape (P,)
        Posterior mean and variance of the partial correlation.
    size, size_variance : ndarray of shape (P,)
        Posterior mean and variance of its absolute value.
    present : ndarray of shape (P,)
        Posterior probability of not being zero.
    means, sizes : ndarray of shape (draws, P)
        Posterior means of the partial correlation and of its absolute value under each bootstrap draw of
        the prior.
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
        Estimates and their standard errors, which may be infinite.

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
    return _remembered(estimate.tobytes(), error.tobytes())


@lru_cache(maxsize=REMEMBERED)
def _remembered(estimate: bytes, error: bytes) -> Shrunken:
    found = _posterior_of_all(np.frombuffer(estimate), np.frombuffer(error))
    for one in fields(found):
        getattr(found, one.name).flags.writeable = False
    return found


# Threads inside BLAS do not pay for long and narrow matrices.
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
        chunk = slice(begin, begin + CHUNK_PAIRS)
        moments[:, :, chunk] = _posterior(estimate[chunk], error[chunk], scales, priors)
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
    """E[rho], E|rho|, E[rho^2] and P(rho != 0) of every pair under every prior: shape (4, priors, P)."""
    shrinkage = scales**2 / (scales**2 + error[:, None] ** 2)
    centre, spread = shrinkage * estimate[:, None], np.sqrt(shrinkage) * error[:, None]
    ratio = np.divide(centre, spread, out=np.zeros_like(centre), where=spread > 0.0)
    density = np.exp(-0.5 * ratio**2) / np.sqrt(2.0 * np.pi)
    size = 2.0 * spread * density + centre * (1.0 - 2.0 * ndtr(-ratio))
    square = centre**2 + spread**2
    likelihood = _densities(estimate, error, scales)
    found = np.empty((4, len(priors), len(estimate)))
    for number, prior in enumerate(priors):
        share = prior * likelihood
        share /= share.sum(axis=1, keepdims=True)
        for moment, values in enumerate((centre, size, square)):
            found[moment, number] = (share * values).sum(axis=1)
        found[3, number] = 1.0 - share[:, 0]
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
    """Maximum-likelihood weights of the components for each set of pair weights (B, P): (B, 1 + GRID)."""
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
