"""Tests of whether adjusting for the confounder changes an edge: pooled against adjusted estimates.

That a pair passes a test after adjusting and not before is no evidence of a change. The difference of the
two estimates is tested instead (Hausman, 1978). If the confounder has no effect, both estimate the same
number and the pooled one is efficient, so that the variance of the difference is the difference of the
sampling variances. The noise is that of the pooled regressions: under the hypothesis the adjusted ones
overfit.

With heavy tails a few rows determine the difference, and not those that determine either estimate. So the
variance of a pair is at least the jackknife's over blocks of rows, in addition to a factor for all pairs.

The prior of the nuisance is fixed, the one from which learning starts: a learnt prior would adapt to the
differences that are tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, t

from plaggm.array_types import Array
from plaggm.core.inference.cluster_jackknife import (
    can_show_tails,
    heavy_tailed,
    jackknife_estimates,
)
from plaggm.core.inference.missing_information import RetainedInformation, effective_statistics
from plaggm.core.inference.nuisance_average import (
    conditional_units,
    node_posterior,
    residual_degrees,
    systems_of,
)
from plaggm.core.inference.pair_statistics import adjusted, both, jackknife_variance, pair_variances
from plaggm.core.nuisance.node_regressions import coefficient_covariance
from plaggm.core.nuisance.prior import START_TAU
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.core.spline.basis import SplineBasis
from plaggm.core.spline.statistics import SplineStatistics
from plaggm.core.spline.system import plain_system, smooth_system

# Smallest variance of a difference in units of the pair's sampling variance; smaller ones are rounding.
SAME = 1e-8


@dataclass(frozen=True, slots=True)
class ChangeTests:
    """A test of every pair's difference between adjusted and pooled samples.

    All arrays have shape (p (p - 1) / 2,), in the order of ``numpy.triu_indices(p, 1)``.

    Attributes
    ----------
    pooled : ndarray
        Partial correlations of all samples without adjustment.
    difference : ndarray
        Adjusted minus pooled estimates.
    standard_error : ndarray
        Standard error of the difference.
    z, p_value, q_value : ndarray
        See :class:`plaggm.core.inference.pair_statistics.EdgeTests`.
    """

    pooled: Array
    difference: Array
    standard_error: Array
    z: Array
    p_value: Array
    q_value: Array


def change_tests(
    statistics: SplineStatistics,
    basis: SplineBasis,
    *,
    groups: Sequence[SplineStatistics] = (),
    blocks: Sequence[SplineStatistics] = (),
    dispersion: float = 1.0,
    information: RetainedInformation | None = None,
) -> ChangeTests:
    """Test every pair's difference between adjusted and pooled samples.

    Parameters
    ----------
    statistics : SplineStatistics
        Sums over all rows, weighted as in the fit.
    basis : SplineBasis
        Functions of the confounders, at least one.
    groups : sequence of SplineStatistics
        Sums over the rows of every group, where rows of a group depend on each other.
    blocks : sequence of SplineStatistics
        Sums over disjoint blocks of rows, for the jackknife that accounts for heavy tails.
    dispersion : float
        Factor of all sampling variances; see :class:`plaggm.core.inference.pair_statistics.EdgeTests`.
    information : RetainedInformation, optional
        Retained information where cells are missing and sums are expectations.

    Returns
    -------
    ChangeTests

    Raises
    ------
    ValueError
        Without any function of a confounder, or with too few rows.
    """
    if not basis.size:
        raise ValueError("Without a confounder nothing was adjusted, and nothing can have changed.")
    if information is not None:
        statistics = effective_statistics(statistics, information.typical)
    system, units_of_columns = conditional_units(smooth_system(statistics, basis)[0])
    degrees = float(residual_degrees(system))
    if degrees <= 0.0:
        raise ValueError(
            f"{system.n} samples are too few to test what adjusting changes: a node's regression has "
            f"{system.n - int(degrees)} coefficients. Use more samples, or fewer variables."
        )
    with single_threaded_blas():
        prior = np.eye(system.functions) / (START_TAU * system.n)
        whole = node_posterior(system, prior)
        plain = node_posterior(plain_system(system.n, system.bb), np.zeros((0, 0)))
        units = whole.units()
        moved = (whole.regressions.coefficients - plain.regressions.coefficients)[:, :-1]

        def left_out(parts: Sequence[SplineStatistics]) -> Array:
            """Jackknife variance of every pair's difference."""
            systems = list(systems_of(parts, whole.system.rotation, units_of_columns))
            adjusted_parts = jackknife_estimates(whole, systems, units)
            plain_parts = (plain_system(part.n, part.bb) for part in systems)
            pooled_parts = jackknife_estimates(plain, plain_parts, units)
            return jackknife_variance(adjusted_parts - pooled_parts)

        if groups:
            variance, degrees = left_out(groups), len(groups) - 1.0
        else:
            sampling = coefficient_covariance(whole.regressions, whole.regressions).variances()
            gain = np.maximum(sampling - plain.regressions.posterior_variances(), SAME * sampling)
            variance = pair_variances(plain.noise[:, None] / system.n * gain, units)
            heavier = dispersion * variance
            if can_show_tails(system, len(blocks)):
                jackknife = left_out(blocks)
                factor = float(np.sum(jackknife) / np.sum(variance))
                if dispersion > 1.0 or heavy_tailed(factor, system, len(blocks)):
                    heavier = np.maximum(max(dispersion, factor) * variance, jackknife)
            variance = heavier
        pooled = plain.pairs().estimate
    difference = both(moved * units)
    if information is not None:
        variance = variance * (information.group_inflation() if groups else information.inflation())
    return difference_tests(pooled, difference, variance, degrees)


def difference_tests(
    pooled: Array, difference: Array, variance: Array, degrees: float
) -> ChangeTests:
    """Tests of differences of known variance.

    Parameters
    ----------
    pooled, difference, variance : ndarray of shape (P,)
        Pooled estimates, adjusted minus pooled estimates, and the variances of these differences.
    degrees : float
        Degrees of freedom of the t statistics.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(variance > 0.0, np.abs(difference) / np.sqrt(variance), 0.0)
    p_value = 2.0 * t.sf(ratio, degrees)
    z = np.copysign(norm.isf(np.maximum(p_value, np.finfo(float).tiny) / 2.0), difference)
    return ChangeTests(pooled, difference, np.sqrt(variance), z, p_value, adjusted(p_value))
