r"""A test of no confounding, R = 0, for variables of several families.

Under the null hypothesis node j has eta_ij = theta_j(g_i) + sum_k Omega_jk z_ik: means may change with the
confounder, the network does not. With r_ij the slopes of the log-likelihood and w_ij its curvature at the
fit without R, the score of a pair along function a is

    s_i[a, jk] = r_ij D_j[i, ak] + r_ik D_k[i, aj],     D_j[., ak] = residual of phi_a z_k on [z, 1, phi] by
                                                        least squares with weights w_ij

and has mean zero to first order whatever theta and Omega are. For independent rows

    U = |sum_i s_i|^2 - sum_i |s_i|^2 = sum_{i != l} s_i . s_l

has mean zero and the cumulants 2 sum A_il^2 and 8 tr(A^3) of A_il = s_i . s_l with a zero diagonal; the
null distribution is that of `plaggm.core.confounding.confounding_test`. If a few rows dominate, as with rare
categories, U is compared with its values under random signs of s_i instead. Permutations of the confounder
would be invalid: if means change with it, so do the variances of slopes, and rows are not exchangeable. For
rows in groups, s is first summed within groups, and signs are drawn for groups. Slopes are divided by the
root of one minus their leverage where they are squared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.confounding.confounding_test import (
    CUMULANT_ROWS,
    ConfoundingTest,
    evenly_spaced,
    judge,
    product_cumulants,
)
from plaggm.core.confounding.rearranged_test import (
    HEAVY,
    REARRANGED,
    SHIFT_SEED,
    compared,
    tail_weight,
)
from plaggm.core.confounding.rows import UntestableError
from plaggm.core.families.posterior import fit_without_lasso
from plaggm.core.families.rows import FamilyRows
from plaggm.core.inference.nuisance_average import POOLING
from plaggm.core.numerics.symmetric_inverse import symmetric_inverse
from plaggm.core.numerics.threads import single_threaded_blas

# Larger leverages of rows are clipped.
MOST_LEVERAGE = 0.9
# Minimum number of rows for each coefficient under the null hypothesis, and minimum number of groups.
ROWS_PER_COEFFICIENT, FEWEST_GROUPS = 3, 5
# Ridge of the weighted regressions, relative to the mean of the diagonal.
RIDGE = 1e-9
# Numbers of all nodes' scores that are in memory at a time.
CHUNK_NUMBERS = 2**21
# `ConfoundingTest.method` of the comparison with random signs.
SIGN_FLIPS = "sign flips"


def family_confounding_test(
    rows: FamilyRows, start: Array, rotation: Array, groups: Index | None = None
) -> ConfoundingTest:
    """Test whether the network changes with the confounders.

    Parameters
    ----------
    rows : FamilyRows
    start : ndarray of shape ((1 + M) q, p)
        Coefficients of a fit.
    rotation : ndarray of shape (M, M)
        Functions of the rows @ rotation have unit mean square and the same weight.
    groups : ndarray of int of shape (n,), optional
        Group of every row, where rows of a group depend on each other.

    Returns
    -------
    ConfoundingTest

    Raises
    ------
    UntestableError
        With too few rows or groups.
    """
    n, p, size = len(rows.x), rows.p, rows.phi.shape[1]
    if n < ROWS_PER_COEFFICIENT * (p + 1 + size):
        raise UntestableError(
            f"{n} samples are too few to test {p} variables for changes with the confounder."
        )
    units = np.arange(n) if groups is None else groups
    count = int(units.max()) + 1
    if count < FEWEST_GROUPS:
        raise UntestableError(
            f"{count} groups are too few to test for changes with the confounder."
        )
    with single_threaded_blas():
        coefficients, _ = fit_without_lasso(rows, start, POOLING / rows.n * np.eye(size), rotation)
        # The null fit keeps the shifts of the means and sets R, which is nearly zero, to zero.
        coefficients.reshape(1 + size, p + 1, p)[1:, :p] = 0.0
        null = _null_fit(rows, rows.predictors(coefficients), rows.phi @ rotation)
        if groups is None:
            return _judged_rows(null)
        sums = np.zeros((count, null.features))
        for part, scores in null.scores():
            np.add.at(sums, units[part], scores)
        total, squares = np.sum(sums, axis=0), np.sum(sums**2, axis=1)
        if few_decide(squares, p):
            return flipped_test([(slice(0, count), sums)], total, squares)
        return _judged(sums, total, float(np.sum(squares)), count)


def few_decide(squares: Array, p: int) -> bool:
    """Whether a few rows or groups dominate the statistic, by the criterion of the Gaussian test.

    Parameters
    ----------
    squares : ndarray of shape (n,)
        |s_i|^2.
    p : int
        Number of variables.
    """
    return tail_weight(squares, p) >= HEAVY


def flipped_test(
    scores: Iterable[tuple[slice, Array]],
    total: Array,
    squares: Array,
    *,
    count: int = REARRANGED,
    seed: int = SHIFT_SEED,
) -> ConfoundingTest:
    """Compare U with its values under random signs of the scores.

    Parameters
    ----------
    scores : iterable of (slice, ndarray of shape (k, features))
        Scores of some rows or groups at a time, corrected for leverage.
    total : ndarray of shape (features,)
        Sum of all uncorrected scores.
    squares : ndarray of shape (n,)
        Squared lengths of the corrected scores.
    count : int
        Number of random draws of all signs.
    seed : int
        Seed of the signs.
    """
    n = len(squares)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(count, n))
    sums, own = np.zeros((count, len(total))), 0.0
    for part, some in scores:
        # Under the alternative the mean of the scores would be counted as noise.
        centred = some - total / n
        sums += signs[:, part] @ centred
        own += float(np.sum(centred**2))
    found = np.append(total @ total - squares.sum(), np.sum(sums**2, axis=1) - own)
    return ConfoundingTest(*compared(found[:, None]), np.nan, SIGN_FLIPS, count)


@dataclass(frozen=True, slots=True)
class _NullFit:
    """The fit without R, and the regressions of the products of functions and variables.

    Attributes
    ----------
    z : ndarray of shape (n, p)
    functions : ndarray of shape (n, M)
    slopes : ndarray of shape (n, p)
        r.
    remaining : ndarray of shape (n, p)
        One minus the leverage of every row in each node's regression.
    projections : ndarray of shape (p, p + 1 + M, M p)
        Coefficients of [z, 1, phi] in the regression of every phi_a z_k, zero for the node's own column.
    """

    z: Array
    functions: Array
    slopes: Array
    remaining: Array
    projections: Array

    @property
    def features(self) -> int:
        """Number of scores: functions times pairs."""
        p = self.z.shape[1]
        return int(self.functions.shape[1] * p * (p - 1) // 2)

    def scores(self, *, squared: bool = False) -> Iterator[tuple[slice, Array]]:
        """Scores of the rows, some at a time, corrected for leverage if they are to be squared."""
        n, p = self.z.shape
        size = self.functions.shape[1]
        first, second = np.triu_indices(p, 1)
        slopes = self.slopes / np.sqrt(self.remaining) if squared else self.slopes
        few = max(1, CHUNK_NUMBERS // (p * p * max(size, 1)))
        for start in range(0, n, few):
            part = slice(start, min(start + few, n))
            z, functions = self.z[part], self.functions[part]
            raw = (functions[:, :, None] * z[:, None, :]).reshape(len(z), -1)
            design = np.column_stack([z, np.ones(len(z)), functions])
            free = raw[None] - np.matmul(design[None], self.projections)
            free = free.reshape(p, len(z), size, p) * slopes[part].T[:, :, None, None]
            pairs = free[first, :, :, second] + free[second, :, :, first]
            yield part, pairs.transpose(1, 0, 2).reshape(len(z), -1)


def _null_fit(rows: FamilyRows, eta: Array, functions: Array) -> _NullFit:
    """The fit without R around predictors (n, p), for functions (n, M) of unit mean square."""
    p = rows.p
    slopes, weights = rows.columns.slopes(rows.x, eta)
    z = rows.b[:, :p]
    design = np.column_stack([rows.b, functions])
    raw = (functions[:, :, None] * z[:, None, :]).reshape(len(z), -1)
    projections = np.zeros((p, design.shape[1], raw.shape[1]))
    remaining = np.empty_like(slopes)
    for node in range(p):
        others = np.delete(np.arange(design.shape[1]), node)
        heavy = weights[:, node, None] * design[:, others]
        gram = heavy.T @ design[:, others]
        gram[np.diag_indices_from(gram)] += RIDGE * np.trace(gram) / len(gram)
        inverse = symmetric_inverse(gram)
        projections[node, others] = inverse @ (heavy.T @ raw)
        leverage = np.sum((heavy @ inverse) * design[:, others], axis=1)
        remaining[:, node] = 1.0 - np.minimum(leverage, MOST_LEVERAGE)
    return _NullFit(z, functions, slopes, remaining, projections)


def _judged_rows(null: _NullFit) -> ConfoundingTest:
    """Test of independent rows, by cumulants of evenly spaced rows if there are many."""
    n, p = null.z.shape
    chosen = evenly_spaced(n, CUMULANT_ROWS)
    total, squares = np.zeros(null.features), np.empty(n)
    some = []
    for (part, scores), (_, corrected) in zip(
        null.scores(), null.scores(squared=True), strict=True
    ):
        total += scores.sum(axis=0)
        squares[part] = np.sum(corrected**2, axis=1)
        inside = chosen[(chosen >= part.start) & (chosen < part.stop)]
        some.append(corrected[inside - part.start])
    if few_decide(squares, p):
        return flipped_test(null.scores(squared=True), total, squares)
    return _judged(np.concatenate(some), total, float(squares.sum()), n)


def _judged(some: Array, total: Array, own: float, count: int) -> ConfoundingTest:
    """Test of U by its cumulants.

    Parameters
    ----------
    some : ndarray of shape (k, features)
        Scores of some of the rows, or of groups.
    total : ndarray of shape (features,)
        Sum of all scores.
    own : float
        Sum of their squared lengths.
    count : int
        Total number of rows or groups.
    """
    # Under the alternative the mean of the scores would be counted as noise.
    centred = some - total / count
    products = centred @ centred.T
    np.fill_diagonal(products, 0.0)
    return judge(float(total @ total) - own, *product_cumulants(products, count))
