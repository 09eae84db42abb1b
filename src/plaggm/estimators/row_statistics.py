"""From rows to weighted statistics: design, subsets, sums, units and the variance function.

After the design and the folds are made, rows are summed by bins of the confounder, from which units and the
variance function are estimated. Folds, groups and blocks are summed separately: in the same pass if their
weights are known or their sums by bins take little memory, otherwise in a second pass. If several
confounders inflate the variance, each step of estimating it reads the rows twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.numerics.row_hash import BLOCK_ROWS, BLOCKS, hashed_blocks
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.core.spline.confounder_bins import one_bin
from plaggm.core.spline.design import SplineDesign
from plaggm.core.spline.statistics import SplineStatistics
from plaggm.core.variance.binned import BinnedVariance, bin_weights
from plaggm.core.variance.variance_function import (
    RowVariance,
    VarianceData,
    VarianceFunction,
    learn_variance,
)
from plaggm.estimators.columns import Columns
from plaggm.estimators.completion import CompletedRows
from plaggm.estimators.design import most_functions
from plaggm.estimators.missing_rows import MissingCells
from plaggm.estimators.preparation import NO_PREPARATION, Preparation
from plaggm.estimators.row_sums import RowSums, Units
from plaggm.estimators.rows import ArrayRows, RowLabels, Rows
from plaggm.estimators.spec import FitSpec
from plaggm.estimators.threshold_choice import make_design
from plaggm.parameter_types import Fold
from plaggm.selection import RowSubsets, common_subsets

# Largest size of the statistics of groups, folds and bins, in bytes.
MOST_BYTES = 2_000_000_000
# Largest size of the sums of all bins, in bytes; rows in memory are read again if it would be exceeded.
BIN_BYTES = 300_000_000
# Largest size, in bytes, of sums of subsets by bins that avoid a second pass, or show heavy tails only.
FEW_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class RowStatistics:
    """The sufficient statistics of the rows for a spline fit.

    Attributes
    ----------
    columns : Columns
    design : SplineDesign
    n : int
        Rows.
    unconfounded : int
        Rows within the threshold, or at the reference level, of every confounder that has one.
    units : Units
    variance : VarianceFunction
    total : SplineStatistics
        Sums over all rows, weighted by the inverse variance.
    subsets : tuple of SplineStatistics
        Sums over disjoint subsets of which folds and groups are unions; without these, over all rows.
    folds : list of (train, test)
        Indices of subsets, or of rows if ``by_rows``.
    groups : ndarray of int of shape (len(subsets),) or None
        Group of every subset.
    confounder : ndarray of shape (k, m)
        Confounders of all rows, or of a random sample of them.
    rows : ArrayRows or None
        The rows, if they are in memory.
    by_rows : bool
        Whether folds and subsamples are taken from the rows.
    preparation : Preparation
        Transformations that were applied to the rows.
    completion : CompletedRows or None
        The rows with their model of missing cells, if some are missing.
    missing : MissingCells or None
        Counts of missing cells, if they may be missing.
    """

    columns: Columns
    design: SplineDesign
    n: int
    unconfounded: int
    units: Units
    variance: VarianceFunction
    total: SplineStatistics
    subsets: tuple[SplineStatistics, ...]
    folds: list[Fold]
    groups: Index | None
    confounder: Array
    rows: ArrayRows | None = None
    by_rows: bool = False
    preparation: Preparation = NO_PREPARATION
    completion: CompletedRows | None = None
    missing: MissingCells | None = None


def reduce_rows(spec: FitSpec, rows: Rows, design: SplineDesign | None = None) -> RowStatistics:
    """Sum all rows, in as many passes as needed.

    Parameters
    ----------
    spec : FitSpec
    rows : Rows
    design : SplineDesign, optional
        Design of the rows; made from them by default.
    """
    labels = rows.labels
    design = make_design(spec, rows) if design is None else design
    folds = labels.folds(spec)
    subsets = _subsets(labels, folds)
    in_memory = rows if isinstance(rows, ArrayRows) else None
    if (
        in_memory is not None
        and _sums_bytes(design.bins.count, design.basis.size, labels.q) > BIN_BYTES
    ):
        # Reading rows in memory again costs less than sums of every bin.
        design = replace(design, bins=one_bin(design.m))
    by_rows = in_memory is not None and _better_by_rows(labels, folds, subsets)
    if by_rows:
        subsets = _subsets(labels, [])
    elif subsets is None and rows.complete:
        subsets = _blocks(labels.n)
    # Without a variance function all weights are one.
    at_once = not design.variance_basis.terms
    if subsets is not None and in_memory is None and rows.complete and design.one_pass:
        at_once = at_once or few_bytes(design, labels.q, subsets.count)
    sums = rows.reduce(design, None if subsets is None or not at_once else subsets.labels)
    units = sums.settle_units(spec.standardize)
    variance, total = weigh(spec, sums, units, rows)
    statistics: tuple[SplineStatistics, ...] = (total,)
    if subsets is not None and at_once:
        statistics = sums.subsets(bin_weights(design, variance), units, subsets.count)
    elif subsets is not None:
        weighted = rows.reduce(design, subsets.labels, variance)
        statistics = weighted.subsets(np.ones(design.bins.count), units, subsets.count)
    return RowStatistics(
        columns=labels.columns,
        design=design,
        n=labels.n,
        unconfounded=sums.unconfounded,
        units=units,
        variance=variance,
        total=total,
        subsets=statistics,
        folds=folds if by_rows or subsets is None else subsets.folds,
        groups=None if subsets is None or labels.group_numbers() is None else subsets.groups,
        confounder=np.zeros((0, 0)) if labels.confounder is None else labels.confounder.values,
        rows=in_memory,
        by_rows=by_rows,
        preparation=labels.preparation,
        completion=rows if isinstance(rows, CompletedRows) else None,
        missing=labels.missing,
    )


def weigh(
    spec: FitSpec, sums: RowSums, units: Units, rows: Rows | None = None
) -> tuple[VarianceFunction, SplineStatistics]:
    """Estimate the variance function, and weight the statistics of all rows by its inverse.

    Parameters
    ----------
    spec : FitSpec
    sums : RowSums
        Sums over all rows, unweighted.
    units : Units
    rows : Rows, optional
        Rows, which are read again if several confounders inflate the variance.
    """
    design = sums.design

    def scaled() -> Iterator[tuple[Array, Array]]:
        assert rows is not None
        for x, confounder in rows.read():
            yield units.table(x), confounder

    data: VarianceData = RowVariance(scaled, design.basis, spec.n_threads)
    if design.one_pass:
        data = BinnedVariance(sums.bins(units), design)
    # For thousands of small matrices, threads of BLAS cost more than they save.
    with single_threaded_blas():
        variance = learn_variance(data, design.basis, design.variance_basis)
    if rows is not None and not rows.complete and not design.one_pass:
        # The variance was estimated from drawn cells; the sums have to be expected values.
        sums = rows.reduce(design, None, variance)
        return variance, sums.subsets(np.ones(design.bins.count), units, 1)[0]
    return variance, data.statistics(variance)


def _sums_bytes(count: int, functions: int, q: int) -> int:
    """Memory of so many :class:`SplineStatistics`, in bytes."""
    products = 1 + functions + functions * (functions + 1) // 2
    return 8 * count * products * q * (q + 1) // 2


def _subsets(labels: RowLabels, folds: list[Fold]) -> RowSubsets | None:
    """Disjoint subsets of which folds and groups are unions; None without both."""
    numbers = labels.group_numbers()
    if not folds and numbers is None:
        return None
    return common_subsets(folds, labels.n, numbers)


def _blocks(n: int) -> RowSubsets | None:
    """Blocks of rows from which heavy tails are estimated if there are neither folds nor groups."""
    if n < BLOCKS * BLOCK_ROWS:
        return None
    return RowSubsets(hashed_blocks(0, n), BLOCKS, [], np.zeros(BLOCKS, dtype=np.intp))


def few_bytes(design: SplineDesign, q: int, subsets: int) -> bool:
    """Whether the sums of so many subsets by bins of the confounder take little memory."""
    return _sums_bytes(subsets * design.bins.count, design.basis.size, q) <= FEW_BYTES


def _better_by_rows(labels: RowLabels, folds: list[Fold], subsets: RowSubsets | None) -> bool:
    """Whether working on rows in memory is cheaper than on statistics of subsets.

    This is so without folds, and if folds overlap at random: their common subsets are then so many that it
    is cheaper to sum each fold separately.
    """
    if not folds or subsets is None:
        return True
    confounders = 0 if labels.confounder is None else len(labels.confounder.names)
    natural = max(len(subsets.folds), int(subsets.groups.max()) + 1)
    size = _sums_bytes(subsets.count, most_functions(confounders), labels.q)
    return subsets.count > 2 * natural + 2 or size > MOST_BYTES
