"""Tests of every pair of the baseline network, from sums over rows alone.

For node j, y = X beta + D gamma + noise with gamma Gaussian, its covariance learnt from all pairs. The
unpenalised coefficients have the posterior variance s_j^2 / n [K_j^{-1}]_EE, K_j = W'W / n + penalty
without node j's columns. It is the sum of the sampling variance and the expected squared bias; the sampling
variance alone would make tests invalid under confounding. Tests average over the uncertainty of the prior
(`plaggm.core.inference.nuisance_average`).

The sampling variance is replaced by the jackknife's for rows in groups, and enlarged for heavy tails
(`plaggm.core.inference.cluster_jackknife`). With few samples relative to the variables the de-sparsified lasso is
used instead (`plaggm.core.inference.desparsified`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from plaggm.core.grams.node_grams import GramMatrices
from plaggm.core.inference.cluster_jackknife import block_dispersion, jackknife_variances
from plaggm.core.inference.desparsified import desparsified_tests
from plaggm.core.inference.gram_tests import ONE_GROUP
from plaggm.core.inference.missing_information import RetainedInformation, effective_statistics
from plaggm.core.inference.nuisance_average import (
    NuisanceAverage,
    average_nuisance,
    node_posterior,
    systems_of,
)
from plaggm.core.inference.pair_statistics import EdgeTests, mixture_tests
from plaggm.core.nuisance.prior import prior_form
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.core.spline.basis import SplineBasis
from plaggm.core.spline.statistics import SplineStatistics
from plaggm.core.spline.system import smooth_system
from plaggm.user_warnings import warn_user

# Rows for each coefficient without a prior, below which the de-sparsified lasso is used.
ROWS_PER_COEFFICIENT = 2
# Number of groups below which there is a warning.
FEW_GROUPS = 10


def enough_rows(statistics: SplineStatistics) -> bool:
    """Whether there are two rows for each coefficient without a prior, as the mixed model's test needs."""
    coefficients = statistics.q - 1 + statistics.functions
    return statistics.n >= ROWS_PER_COEFFICIENT * coefficients


def check_several(count: int) -> None:
    """Raise if ``count`` groups are a single one; zero stands for independent rows."""
    if count == 1:
        raise ValueError(ONE_GROUP)


def edge_tests(
    statistics: SplineStatistics,
    basis: SplineBasis,
    node_grams: GramMatrices,
    *,
    groups: Sequence[SplineStatistics] = (),
    blocks: Sequence[SplineStatistics] = (),
    information: RetainedInformation | None = None,
) -> EdgeTests:
    """Test every pair of the baseline network.

    Parameters
    ----------
    statistics : SplineStatistics
        Sums over all rows, weighted as in the fit.
    basis : SplineBasis
        Functions of the confounders; an empty one without confounder.
    node_grams : GramMatrices
        Gram matrices of the fit, in any units, for the de-sparsified lasso.
    groups : sequence of SplineStatistics
        Sums over the rows of every group, where rows of a group depend on each other; weighted as above.
    blocks : sequence of SplineStatistics
        Sums over disjoint blocks of all rows, for the factor of heavy tails; not used with groups.
    information : RetainedInformation, optional
        Retained information where cells are missing and sums are expectations.

    Returns
    -------
    EdgeTests

    Raises
    ------
    ValueError
        With a single group.

    Warns
    -----
    UserWarning
        With fewer than ten groups, or if groups cannot be taken into account.
    """
    check_several(len(groups))
    if information is not None:
        statistics = effective_statistics(statistics, information.typical)
    if not enough_rows(statistics):
        if groups:
            warn_of_few_rows(statistics.n, statistics.q - 1)
        return desparsified_tests(node_grams, blocks)
    if groups:
        warn_of_few_groups(len(groups))
    with single_threaded_blas():
        system, _ = smooth_system(statistics, basis)
        average = average_nuisance(system, prior_form(basis, system.rotation))
        return _tests(average, groups, blocks, information)


def warn_of_few_rows(n: int, p: int) -> None:
    """Warn that groups of rows cannot be taken into account."""
    warn_user(
        f"{n} samples of {p} variables are too few for a test that takes groups into account: the rows are "
        "tested as if they were independent.",
    )


def warn_of_few_groups(count: int) -> None:
    """Warn if there are too few groups to estimate variances between groups reliably."""
    if count < FEW_GROUPS:
        warn_user(
            f"Standard errors rest on {count} groups; fewer than {FEW_GROUPS} leave them hardly known, and "
            "tests with little power.",
        )


def _tests(
    average: NuisanceAverage,
    groups: Sequence[SplineStatistics],
    blocks: Sequence[SplineStatistics],
    information: RetainedInformation | None,
) -> EdgeTests:
    """Tests with sampling variances corrected for groups, blocks or missing cells."""
    estimates = np.array([pairs.estimate for pairs in average.pairs])
    variances = np.array([pairs.variance for pairs in average.pairs])
    degrees, dispersion = float(average.degrees), 1.0
    if groups or blocks:
        sampling = np.array([pairs.sampling for pairs in average.pairs])
        squared_bias = np.maximum(variances - sampling, 0.0)
        typical = node_posterior(average.system, average.typical_prior)
        systems = partial(systems_of, rotation=typical.system.rotation, unit=average.units)
        if groups:
            jackknife = jackknife_variances(typical, systems(groups))
            if information is not None:
                jackknife = information.group_inflation() * jackknife
            variances, degrees = squared_bias + jackknife, len(groups) - 1.0
        else:
            found = block_dispersion(typical, lambda: systems(blocks))
            dispersion = found.factor
            variances = squared_bias + dispersion * sampling
            degrees = min(degrees, found.degrees)
    if information is not None and not groups:
        variances = variances * information.inflation()
        degrees = min(degrees, information.degrees)
    method = "mixed model" if len(average.weights) > 1 else "least squares"
    return mixture_tests(
        estimates,
        variances,
        average.weights,
        average.system.p,
        degrees=degrees,
        method=f"{method}, cluster jackknife" if groups else method,
        dispersion=dispersion,
        wide=bool(groups),
    )
