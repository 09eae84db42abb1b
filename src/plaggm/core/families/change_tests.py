"""Tests of whether adjusting for the confounder changes an edge, for variables of several families.

This is the test of `plaggm.core.inference.change_tests` (Hausman, 1978). For binary variables the variance of the
difference between adjusted and pooled estimates is the difference of their variances. For counts and
Gaussian columns, and for rows in groups, it comes from leaving out rows or groups.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.families.influence import left_out
from plaggm.core.families.posterior import (
    NodeFit,
    NodeSystems,
    fit_nodes,
    fit_without_lasso,
)
from plaggm.core.families.rows import FamilyRows
from plaggm.core.inference.change_tests import SAME, ChangeTests, difference_tests
from plaggm.core.inference.pair_statistics import both, jackknife_variance, pair_variances
from plaggm.core.nuisance.prior import START_TAU
from plaggm.core.numerics.threads import single_threaded_blas


def family_change_tests(
    rows: FamilyRows, start: Array, rotation: Array, groups: Index | None = None
) -> ChangeTests:
    """Test every pair's difference between adjusted and pooled samples, in common units.

    Parameters
    ----------
    rows : FamilyRows
    start : ndarray of shape ((1 + M) q, p)
        Coefficients from which both fits start.
    rotation : ndarray of shape (M, M)
        Functions of the rows @ rotation have unit mean square and the same prior variance.
    groups : ndarray of int of shape (n,), optional
        Group of every row, where rows of a group depend on each other.

    Returns
    -------
    ChangeTests
    """
    p, size = rows.p, rows.phi.shape[1]
    plain = replace(rows, phi=np.zeros((len(rows.x), 0)), tables=None)
    with single_threaded_blas():
        whole = _fitted(rows, start, np.eye(size) / (START_TAU * rows.n), rotation)
        pooled = _fitted(plain, start[: p + 1], np.zeros((0, 0)), np.zeros((0, 0)))
        estimates = [
            np.array([one.coefficients[:p] for one in fits]) for _, _, fits in (whole, pooled)
        ]
        variances = _variances(rows, plain, whole, pooled, groups)
    degrees = rows.n - p - size if groups is None else float(groups.max())
    return difference_tests(
        both(estimates[1]), both(estimates[0] - estimates[1]), variances, degrees
    )


def _fitted(
    rows: FamilyRows, start: Array, prior: Array, rotation: Array
) -> tuple[Array, NodeSystems, list[NodeFit]]:
    """Predictors of a fit without lasso, its quadratic models, and their regressions."""
    coefficients, systems = fit_without_lasso(rows, start, prior, rotation)
    return rows.predictors(coefficients), systems, fit_nodes(systems, prior)


def _variances(
    rows: FamilyRows,
    plain: FamilyRows,
    whole: tuple[Array, NodeSystems, list[NodeFit]],
    pooled: tuple[Array, NodeSystems, list[NodeFit]],
    groups: Index | None,
) -> Array:
    """Variances of the differences of all pairs: shape (P,)."""
    p, dispersed = rows.p, rows.columns.dispersed() > 0.0
    adjusted, efficient = (
        np.array([one.sampling for one in fits]) for _, _, fits in (whole, pooled)
    )
    gain = np.maximum(adjusted - efficient, SAME * adjusted) / rows.n
    if groups is None and not dispersed.any():
        return pair_variances(gain)
    moves = (
        first[:, :, :p] - second[:, :, :p]
        for first, second in zip(
            left_out(rows, *whole, groups), left_out(plain, *pooled, groups), strict=True
        )
    )
    if groups is not None:
        return jackknife_variance(both(np.concatenate(list(moves))))
    squares = sum((np.sum(part**2, axis=0) for part in moves), np.zeros((p, p)))
    return pair_variances(np.where(dispersed[:, None], squares, gain))
