"""Sampling variances of all pairs from rows that need not be independent, Gaussian or of equal variance.

Where rows come in groups (subjects), leaving out one group at a time shows how much the estimates vary: the
cluster jackknife, or CRV3 (Cameron and Miller, 2015),

    V = (G - 1) / G sum_g (b_(g) - mean)^2

Sums over rows are subtracted, so that no row is needed, and the prior of the nuisance stays as it is.

Where rows are independent but heavy-tailed, all sampling variances are too small by about the same factor.
Blocks of rows show it. The influence of their scores W_g'(y - fit) on the estimates, squared and summed,
estimates the sampling variance of each pair with few degrees of freedom, but the mean over all pairs with
many. Where this mean is clearly too large, the jackknife over the blocks gives the factor. Where rows are
few, one far out draws the fit to itself, and only the jackknife shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.node_regressions import moments, node_regressions
from plaggm.core.nuisance_average import NodePosterior
from plaggm.core.pair_statistics import both
from plaggm.core.spline_system import SplineSystem

# Standard errors by which a dispersion has to exceed one: heavy tails, not chance.
CLEARLY = 2.0
# Ratio of the jackknife's variances to those of Gaussian rows, beyond what fewer rows explain, above which
# rows are taken as heavy-tailed; and rows for each coefficient below which that cannot be judged.
HEAVY_TAILED, ROWS_EACH = 1.15, 3.0


@dataclass(frozen=True, slots=True)
class Dispersion:
    """Variance inflation of the estimates relative to independent Gaussian rows.

    Attributes
    ----------
    factor : float
        Factor of all sampling variances; one where the blocks do not clearly show more.
    degrees : float
        Degrees of freedom of the factor; infinite where it is one.
    """

    factor: float
    degrees: float


def jackknife_estimates(
    posterior: NodePosterior, groups: Iterable[SplineSystem], units: Array
) -> Array:
    """Every pair's estimate without each of the groups in turn.

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
    """Variance of every pair's estimate by leaving out one group at a time.

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
    estimates = jackknife_estimates(posterior, groups, posterior.units())
    return np.asarray((len(estimates) - 1.0) * np.var(estimates, axis=0))


def without(whole: SplineSystem, group: SplineSystem) -> SplineSystem:
    """The system of all rows but those of a group."""
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
        Gives the systems of disjoint blocks that hold all rows, in the functions and units of the
        posterior; called a second time where the first look shows dispersion.

    Returns
    -------
    Dispersion
    """
    sampling = posterior.pairs().sampling
    total = np.zeros_like(sampling)
    count = 0
    for block in blocks():
        total += _influence(posterior, block) ** 2
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
    """Whether estimates without each of ``count`` blocks of rows can tell heavy tails from too few rows."""
    return count > 1 and system.n >= ROWS_EACH * (system.p + system.functions)


def heavy_tailed(factor: float, system: SplineSystem, count: int) -> bool:
    """Whether variances that leaving out blocks shows are larger than Gaussian rows explain.

    Parameters
    ----------
    factor : float
        Sum of these variances over all pairs, as a ratio to that of Gaussian rows.
    system : SplineSystem
        Of all rows, for which :func:`can_show_tails` holds.
    count : int
        Number of blocks.
    """
    return factor > HEAVY_TAILED * fewer_rows(system, count)


def fewer_rows(system: SplineSystem, count: int) -> float:
    """The jackknife's variances over ``count`` blocks of Gaussian rows, as a ratio to the actual ones.

    With k coefficients and m of n rows left, (W_m'W_m)^{-1} W_m'W_m (W_m'W_m)^{-1} of independent Gaussian
    columns has a mean of about m / (m - k)^3, and a block's residuals have (1 - k / n) of the variance.
    """
    n, kept = float(system.n), system.n * (1.0 - 1.0 / count)
    coefficients = system.p + system.functions
    return kept**2 * (n - coefficients) ** 2 / (n * (kept - coefficients) ** 3)


def clear_dispersion(
    squared: Array, sampling: Array, count: int, left_out: Callable[[], Array]
) -> Dispersion:
    """Factor of the variances from the influences of blocks of rows; one unless it clearly exceeds one.

    Parameters
    ----------
    squared : ndarray of shape (p (p - 1) / 2,)
        First-order effects of the blocks on every pair's estimate, squared and summed.
    sampling : ndarray of shape (p (p - 1) / 2,)
        Variances of the estimates if rows were independent and Gaussian.
    count : int
        Number of blocks.
    left_out : callable
        Gives the variances that leaving out blocks shows; called where first-order effects are too large.
    """
    if count < 2 or not len(sampling):
        return Dispersion(1.0, np.inf)
    factor = float(np.sum(squared) / np.sum(sampling)) * count / (count - 1.0)
    degrees = (count - 1.0) * len(sampling)
    if factor <= 1.0 + CLEARLY * np.sqrt(2.0 / degrees):
        return Dispersion(1.0, np.inf)
    # Rows far out draw the fit to themselves, so that first-order effects are too small.
    return Dispersion(float(np.sum(left_out()) / np.sum(sampling)), degrees)


def _influence(posterior: NodePosterior, block: SplineSystem) -> Array:
    """First-order effect of a block's rows on every pair's estimate: shape (p (p - 1) / 2,)."""
    regressions, whole = posterior.regressions, posterior.system
    p, q = whole.p, whole.q
    share = block.n / whole.n
    residual = regressions.residual_directions()
    # The penalty pulls the coefficients, whose residual directions are minus themselves; every block
    # bears its part.
    score = share * (moments(block) @ residual + regressions.penalty[:, None] * residual)
    spread = regressions.inverse @ score
    own = np.einsum("ajj->ja", spread.reshape(-1, q, p)[:, :p])
    moved = spread[:p].T - np.einsum("jak,ja->jk", regressions.corrections[:, :, :p], own)
    return both(moved * posterior.units())
