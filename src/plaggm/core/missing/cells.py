"""Conditional means and covariances of the missing cells of a row, and their sums over rows.

In units of the conditional deviations, y_j = z_j / s_j, node j of a row with confounder g has

    y_j | rest ~ N(t_j(g) + sum_k P_jk(g) y_k, v(g)),     P(g) = sum_a phi_a(g) P_a symmetric, phi_0 = 1

so that the row has the precision matrix (I - P(g)) / v(g). Given the observed cells O, the missing ones M
are Gaussian with

    (I - P_MM) E[y_M] = t_M + P_MO y_O,     Cov(y_M) = v(g) (I - P_MM)^{-1}

so that only the block of the missing cells is inverted. The expected products of a row are those of the
completed row plus this covariance.

At extreme confounders the estimate of P(g) need not be a partial correlation matrix. If I - P_MM is not
positive definite, or the variance of a missing cell is more than ``MOST_VARIANCE`` times its column's, the
row's R(g), and then its whole P, is halved until neither is the case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index, Mask
from plaggm.core.numerics.compiled import compiled

# Largest variance of a missing cell given the observed ones, in units of its column's: conditioning does
# not increase variances, but a confounder may inflate them at its ends.
MOST_VARIANCE = 2.0
# Numbers of halvings of R(g), and then of P(g); after that P(g) is set to zero.
HALVINGS = 8


@dataclass(frozen=True, slots=True)
class CellModel:
    """Distribution of a row's cells given its confounder.

    Attributes
    ----------
    effects : ndarray of shape (1 + M, p, p)
        P_a, symmetric with a zero diagonal; the baseline comes first.
    shifts : ndarray of shape (1 + M, p)
        t_a.
    deviation : ndarray of shape (p,)
        s, conditional standard deviations at v = 1.
    spread : ndarray of shape (p,)
        Variance of every column of y at v = 1.
    """

    effects: Array
    shifts: Array
    deviation: Array
    spread: Array

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.deviation)


def independent_cells(p: int, functions: int) -> CellModel:
    """The model of standardised variables that are independent of each other and of the confounder."""
    effects, shifts = np.zeros((1 + functions, p, p)), np.zeros((1 + functions, p))
    return CellModel(effects, shifts, np.ones(p), np.ones(p))


@dataclass(frozen=True, slots=True)
class CompletedCells:
    """Rows whose missing cells have their conditional means, and the conditional covariances.

    Attributes
    ----------
    z : ndarray of shape (n, p)
        Completed rows.
    columns : ndarray of int of shape (missing cells,)
        Columns of the missing cells, row by row.
    first : ndarray of int of shape (n + 1,)
        Start of each row's missing cells in ``columns``.
    covariance : ndarray of shape (sum over rows of the squared number of missing cells,)
        Conditional covariance matrices, row by row.
    start : ndarray of int of shape (n + 1,)
        Start of each row's matrix in ``covariance``.
    shrunken : int
        Number of rows in which R(g) was halved.
    """

    z: Array
    columns: Index
    first: Index
    covariance: Array
    start: Index
    shrunken: int


def complete_cells(model: CellModel, z: Array, functions: Array, variance: Array) -> CompletedCells:
    """Conditional means and covariances of the missing cells.

    Parameters
    ----------
    model : CellModel
    z : ndarray of shape (n, p)
        NaN for missing cells.
    functions : ndarray of shape (n, 1 + M)
        One and the functions of the confounder.
    variance : ndarray of shape (n,)
        v(g).

    Returns
    -------
    CompletedCells
    """
    missing: Mask = np.isnan(z)
    counts = missing.sum(axis=1)
    first = np.append(0, np.cumsum(counts)).astype(np.intp)
    start = np.append(0, np.cumsum(counts**2)).astype(np.intp)
    columns = np.nonzero(missing)[1].astype(np.intp)
    completed = np.ascontiguousarray(z / model.deviation)
    covariance = np.empty(start[-1])
    shrunken = _complete(
        completed,
        np.ascontiguousarray(functions),
        np.ascontiguousarray(variance),
        model.effects,
        model.shifts,
        MOST_VARIANCE * model.spread,
        model.deviation,
        columns,
        first,
        covariance,
        start,
    )
    # Observed cells are copied, without rounding.
    filled = np.where(missing, completed * model.deviation, z)
    return CompletedCells(filled, columns, first, covariance, start, int(shrunken))


def covariance_sums(
    cells: CompletedCells, functions: Array, labels: Index, count: int, weights: Array | None
) -> Array:
    """Sums of the missing cells' covariances for every subset of rows and every product of two functions.

    Parameters
    ----------
    cells : CompletedCells
    functions : ndarray of shape (n, 1 + M)
    labels : ndarray of int of shape (n,)
        Subset of every row, from 0 to count - 1.
    count : int
    weights : ndarray of shape (n,) or None
        One if None.

    Returns
    -------
    ndarray of shape (count, (1 + M)(2 + M) / 2, q (q + 1) / 2)
        Contribution of the conditional covariances to
        :class:`plaggm.core.spline.statistics.SplineStatistics`.
    """
    size, q = functions.shape[1], cells.z.shape[1] + 1
    sums = np.zeros((count, size * (size + 1) // 2, q * (q + 1) // 2))
    _add_covariances(
        sums,
        q,
        cells.columns,
        cells.first,
        cells.covariance,
        cells.start,
        np.ascontiguousarray(functions),
        labels.astype(np.intp),
        np.ones(len(labels)) if weights is None else weights,
    )
    return sums


def draw_cells(cells: CompletedCells, normals: Array) -> Array:
    """Rows with their missing cells drawn from the conditional distribution: shape (n, p).

    Parameters
    ----------
    cells : CompletedCells
    normals : ndarray of shape (missing cells,)
        Standard normal numbers.
    """
    z = cells.z.copy()
    _draw(z, normals, cells.columns, cells.first, cells.covariance, cells.start)
    return z


@compiled()
def _inverse(matrix: Array, lower: Array, size: int) -> bool:
    """Invert a symmetric matrix in place by Cholesky; False where it is not positive definite."""
    for j in range(size):
        pivot = matrix[j, j]
        for a in range(j):
            pivot -= lower[j, a] * lower[j, a]
        if not pivot > 1e-10:
            return False
        lower[j, j] = np.sqrt(pivot)
        for i in range(j + 1, size):
            value = matrix[i, j]
            for a in range(j):
                value -= lower[i, a] * lower[j, a]
            lower[i, j] = value / lower[j, j]
    # The inverse of L, in place, and then L^{-T} L^{-1}.
    for j in range(size):
        lower[j, j] = 1.0 / lower[j, j]
        for i in range(j + 1, size):
            value = 0.0
            for a in range(j, i):
                value -= lower[i, a] * lower[a, j]
            lower[i, j] = value / lower[i, i]
    for i in range(size):
        for j in range(i + 1):
            value = 0.0
            for a in range(i, size):
                value += lower[a, i] * lower[a, j]
            matrix[i, j] = value
            matrix[j, i] = value
    return True


@compiled()
def _effects_at(
    out: Array, effects: Array, functions: Array, columns: Index, whole: float, nuisance: float
) -> None:
    """Write the rows ``columns`` of whole * (P_0 + nuisance * sum_a phi_a P_a)."""
    p = effects.shape[1]
    for m in range(len(columns)):
        j = columns[m]
        for k in range(p):
            out[m, k] = whole * effects[0, j, k]
        for a in range(1, effects.shape[0]):
            if functions[a] != 0.0:
                factor = whole * nuisance * functions[a]
                for k in range(p):
                    out[m, k] += factor * effects[a, j, k]


@compiled()
def _complete(
    y: Array,
    functions: Array,
    variance: Array,
    effects: Array,
    shifts: Array,
    most: Array,
    deviation: Array,
    columns: Index,
    first: Index,
    covariance: Array,
    start: Index,
) -> int:
    """Fill y in place and write the covariances, in units of z; returns the number of shrunken rows."""
    n, p = y.shape
    # Rows of P, the block of the missing cells, its Cholesky factor, right-hand sides.
    near = np.empty((p, p))
    block = np.empty((p, p))
    lower = np.empty((p, p))
    right = np.empty(p)
    shrunken = 0
    for i in range(n):
        missing = columns[first[i] : first[i + 1]]
        size = len(missing)
        if size == 0:
            continue
        whole, nuisance = 1.0, 1.0
        for halving in range(2 * HALVINGS + 1):
            _effects_at(near, effects, functions[i], missing, whole, nuisance)
            for m in range(size):
                for other in range(size):
                    block[m, other] = -near[m, missing[other]]
                block[m, m] = 1.0
            good = _inverse(block, lower, size)
            for m in range(size):
                good = good and block[m, m] <= most[missing[m]]
            if good:
                break
            if halving == 0:
                shrunken += 1
            if halving < HALVINGS - 1:
                nuisance *= 0.5
            elif halving == HALVINGS - 1:
                nuisance = 0.0
            elif halving < 2 * HALVINGS - 1:
                whole *= 0.5
            else:
                whole = 0.0
        for m in range(size):
            y[i, missing[m]] = 0.0
        for m in range(size):
            j = missing[m]
            value = 0.0
            for a in range(functions.shape[1]):
                value += functions[i, a] * shifts[a, j]
            for k in range(p):
                value += near[m, k] * y[i, k]
            right[m] = value
        for m in range(size):
            value = 0.0
            for other in range(size):
                value += block[m, other] * right[other]
            near[0, m] = value
        for m in range(size):
            y[i, missing[m]] = near[0, m]
            for other in range(size):
                covariance[start[i] + m * size + other] = (
                    variance[i]
                    * block[m, other]
                    * deviation[missing[m]]
                    * deviation[missing[other]]
                )
    return shrunken


@compiled()
def _add_covariances(
    sums: Array,
    q: int,
    columns: Index,
    first: Index,
    covariance: Array,
    start: Index,
    functions: Array,
    labels: Index,
    weights: Array,
) -> None:
    """Add w phi_a phi_c C to the packed sums of every row's subset."""
    size = functions.shape[1]
    for i in range(len(labels)):
        missing = columns[first[i] : first[i + 1]]
        number = len(missing)
        for a in range(size):
            for c in range(a, size):
                factor = weights[i] * functions[i, a] * functions[i, c]
                if factor == 0.0:
                    continue
                family = a * size - a * (a - 1) // 2 + c - a
                for m in range(number):
                    j = missing[m]
                    row = j * q - j * (j - 1) // 2 - j
                    for other in range(m, number):
                        sums[labels[i], family, row + missing[other]] += (
                            factor * covariance[start[i] + m * number + other]
                        )


@compiled()
def _draw(
    z: Array, normals: Array, columns: Index, first: Index, covariance: Array, start: Index
) -> None:
    """Add the Cholesky factor of every row's covariance times its normal numbers."""
    p = z.shape[1]
    lower = np.empty((p, p))
    for i in range(z.shape[0]):
        size = first[i + 1] - first[i]
        for j in range(size):
            for k in range(j + 1):
                value = covariance[start[i] + j * size + k]
                for a in range(k):
                    value -= lower[j, a] * lower[k, a]
                if j == k:
                    lower[j, j] = np.sqrt(max(value, 0.0))
                else:
                    lower[j, k] = value / lower[k, k] if lower[k, k] > 0.0 else 0.0
            for k in range(j + 1):
                z[i, columns[first[i] + j]] += lower[j, k] * normals[first[i] + k]
