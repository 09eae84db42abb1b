"""Sampling variances of all pairs from rows that need not be independent, Gaussian or of equal variance.

Where rows come in groups (subjects), variances come from the cluster jackknife, or CRV3 (Cameron and
Miller, 2015), which leaves out one group at a time. Statistics of a group are subtracted from those of all
rows; the prior of the nuisance is that of all rows.

If rows are independent but heavy-tailed, Gaussian theory underestimates all sampling variances by about the
same factor, which is estimated from blocks of rows. The squared first-order effects of the blocks' scores
W_g'(y - fit) sum to an estimate of the sampling variance of each pair that has few degrees of freedom, but
its mean over all pairs has many. If this mean is significantly too large, the jackknife over the blocks
gives the factor. With few rows an outlying one attracts the fit, which only the jackknife reveals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.inference.nuisance_average import NodePosterior
from plaggm.core.inference.pair_statistics import both, jackknife_variance
from plaggm.core.nuisance.node_regressions import moments, node_regressions
from plaggm.core.profile.spline import node_rows
from plaggm.core.spline.system import SplineSystem

# Standard errors by which a dispersion has to exceed one to be used.
CLEARLY = 2.0
# Ratio of the jackknife's variances to their expectation for Gaussian rows above which rows count as
# heavy-tailed, and minimum number of rows for each coefficient for this comparison.
HEAVY_TAILED, ROWS_EACH = 1.15, 3.0


@dataclass(frozen=True, slots=True)
class Dispersion:
    """Variance inflation of the estimates relative to independent Gaussian rows.

    Attributes
    ----------
    factor : float
        Factor of all sampling variances; one unless it is significantly larger.
    degrees : float
        Degrees of freedom of the factor; infinite if it is one.
    """

    factor: float
    degrees: float


def jackknife_estimates(
    posterior: NodePosterior, groups: Iterable[SplineSystem], units: Array
) -> Array:
    """Every pair's estimate without each of the groups.

    Parameters
    ----------
    posterior : NodePosterior
        Posterior given all rows.
    groups : iterable of SplineSystem
        Moments of the rows of every group, in the functions and units of the posterior.
    units : ndarray of shape (p, p)
        Factors that make the coefficients partial correlations.

    Returns
    -------
    ndarray of shape (groups, p (p - 1) / 2)
    """
    whole = posterior.system
    estimates = []
    for group in groups:
        rest = without(whole, group)
        found = node_regressions(rest, posterior.penalty * whole.n / rest.n).coefficients
        estimates.append(both(found[:, :-1] * units))
    return np.array(estimates)


def jackknife_variances(posterior: NodePosterior, groups: Iterable[SplineSystem]) -> Array:
    """Jackknife variance of every pair's estimate.

    Parameters
    ----------
    posterior : NodePosterior
        Posterior given all rows.
    groups : iterable of SplineSystem
        Moments of the rows of every group, in the functions and units of the posterior.

    Returns
    -------
    ndarray of shape (p (p - 1) / 2,)
    """
    return jackknife_variance(jackknife_estimates(posterior, groups, posterior.units()))


def without(whole: SplineSystem, group: SplineSystem) -> SplineSystem:
    """The system of all rows except those of a group."""
    rest = whole.n - group.n
    return SplineSystem(
        rest,
        (whole.n * whole.bb - group.n * group.bb) / rest,
        (whole.n * whole.c - group.n * group.c) / rest,
        (whole.n * whole.h - group.n * group.h) / rest,
        whole.rotation,
    )


def block_dispersion(
    posterior: NodePosterior, blocks: Callable[[], Iterable[SplineSystem]]
) -> Dispersion:
    """Factor of all sampling variances, estimated from blocks of rows.

    Parameters
    ----------
    posterior : NodePosterior
        Posterior given all rows.
    blocks : callable
        Gives the systems of disjoint blocks of all rows, in the functions and units of the posterior;
        called again if the jackknife is needed.

    Returns
    -------
    Dispersion
    """
    sampling = posterior.pairs().sampling
    total = np.zeros_like(sampling)
    count = 0
    units = posterior.units()
    for block in blocks():
        total += both(first_order_effects(posterior, block)[: len(units)].T * units) ** 2
        count += 1
    found = clear_dispersion(
        total, sampling, count, lambda: jackknife_variances(posterior, blocks())
    )
    if found.factor > 1.0 or not can_show_tails(posterior.system, count):
        return found
    factor = float(np.sum(jackknife_variances(posterior, blocks())) / np.sum(sampling))
    if not heavy_tailed(factor, posterior.system, count):
        return found
    return Dispersion(factor / fewer_rows(posterior.system, count), (count - 1.0) * len(sampling))


def can_show_tails(system: SplineSystem, count: int) -> bool:
    """Whether there are enough rows to attribute a large jackknife variance to heavy tails."""
    return count > 1 and system.n >= ROWS_EACH * (system.p + system.functions)


def heavy_tailed(factor: float, system: SplineSystem, count: int) -> bool:
    """Whether jackknife variances are larger than Gaussian rows explain.

    Parameters
    ----------
    factor : float
        Sum of these variances over all pairs relative to that of Gaussian theory.
    system : SplineSystem
        System of all rows, for which :func:`can_show_tails` holds.
    count : int
        Number of blocks.
    """
    return factor > HEAVY_TAILED * fewer_rows(system, count)


def fewer_rows(system: SplineSystem, count: int) -> float:
    """Expected ratio of the jackknife's variances over ``count`` blocks of Gaussian rows to the true ones.

    With k coefficients and m of n rows left, (W_m'W_m)^{-1} W_m'W_m (W_m'W_m)^{-1} of independent Gaussian
    columns has a mean of about m / (m - k)^3, and a block's residuals have (1 - k / n) of the variance.
    """
    n, left = float(system.n), system.n * (1.0 - 1.0 / count)
    coefficients = system.p + system.functions
    return left**2 * (n - coefficients) ** 2 / (n * (left - coefficients) ** 3)


def clear_dispersion(
    squared: Array, sampling: Array, count: int, left_out: Callable[[], Array]
) -> Dispersion:
    """Factor of the variances from first-order effects of blocks; one unless significantly larger.

    Parameters
    ----------
    squared : ndarray of shape (p (p - 1) / 2,)
        Sums over the blocks of their squared first-order effects on every pair's estimate.
    sampling : ndarray of shape (p (p - 1) / 2,)
        Variances of the estimates if rows were independent and Gaussian.
    count : int
        Number of blocks.
    left_out : callable
        Gives the jackknife variances; called if the first-order effects are too large.
    """
    if count < 2 or not len(sampling):
        return Dispersion(1.0, np.inf)
    factor = float(np.sum(squared) / np.sum(sampling)) * count / (count - 1.0)
    degrees = (count - 1.0) * len(sampling)
    if factor <= 1.0 + CLEARLY * np.sqrt(2.0 / degrees):
        return Dispersion(1.0, np.inf)
    # First-order effects underestimate the factor, since outlying rows attract the fit.
    return Dispersion(float(np.sum(left_out()) / np.sum(sampling)), degrees)


def first_order_effects(posterior: NodePosterior, block: SplineSystem) -> Array:
    """First-order effect of a block's rows on all coefficients of every node: shape ((1 + M) q, p).

    Parameters
    ----------
    posterior : NodePosterior
        Posterior given all rows.
    block : SplineSystem
        Moments of the block in the functions and units of the posterior.
    """
    regressions, whole = posterior.regressions, posterior.system
    p, q = whole.p, whole.q
    residual = regressions.residual_directions()
    # The penalty's part of the score is divided among the blocks by their numbers of rows.
    score = moments(block) @ residual + regressions.penalty[:, None] * residual
    spread = regressions.inverse @ (block.n / whole.n * score)
    own = np.einsum("ajj->ja", spread.reshape(-1, q, p)[:, :p])
    weights = np.matmul(regressions.schur, own[:, :, None])[:, :, 0]
    return np.asarray(spread - np.einsum("jtd,jt->dj", node_rows(regressions.inverse, q), weights))
