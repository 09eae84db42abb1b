"""From rows to weighted statistics: design, subsets, sums, units and the variance function.

The confounder alone settles the design and the folds. Rows are then summed by bins of the confounder, which
settles units and variance. Folds, groups and blocks have sums of their own. Where the weights were not
known beforehand, and sums of each by bins would take much memory, rows are summed once more under them. If
several confounders inflate the variance, each round of learning it reads the rows twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.binned_variance import BinnedVariance, bin_weights
from plaggm.core.confounder_bins import one_bin
from plaggm.core.row_hash import BLOCK_ROWS, BLOCKS, hashed_blocks
from plaggm.core.spline_design import SplineDesign
from plaggm.core.spline_statistics import SplineStatistics
from plaggm.core.threads import single_threaded_blas
from plaggm.core.variance_function import (
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

# Statistics of groups, folds and bins that are kept at most, in bytes.
MOST_BYTES = 2_000_000_000
# Sums of all bins beyond which rows in memory are read again instead, in bytes.
BIN_BYTES = 300_000_000
# Those of subsets by bins that spare a further reading of the rows, or serve to see heavy tails alone.
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
        Sums over disjoint subsets of which folds and groups are unions; over all rows where there are none.
    folds : list of (train, test)
        Indices of subsets, or of rows where these are at hand.
    groups : ndarray of int of shape (len(subsets),) or None
        Group of every subset.
    confounder : ndarray of shape (k, m)
        Confounders of all rows, or of a random sample of them.
    rows : ArrayRows or None
        The rows themselves, where they are in memory.
    by_rows : bool
        Whether folds and subsamples are taken from these.
    preparation : Preparation
        Transformations that were applied to the rows.
    completion : CompletedRows or None
        The rows with what is known of their missing cells, where some are missing.
    missing : MissingCells or None
        How much was missing.
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
    """Sum all rows, as often as it takes.

    Parameters
    ----------
    spec : FitSpec
    rows : Rows
    design : SplineDesign, optional
        Design of the rows where it is settled already.
    """
    labels = rows.labels()
    design = make_design(spec, rows) if design is None else design
    folds = labels.folds(spec)
    subsets = _subsets(labels, folds)
    in_memory = rows if isinstance(rows, ArrayRows) else None
    if (
        in_memory is not None
        and _sums_bytes(design.bins.count, design.basis.size, labels.q) > BIN_BYTES
    ):
        # Rows in memory can be read again, at less cost than sums of every bin.
        design = replace(design, bins=one_bin(design.m))
    by_rows = in_memory is not None and _better_by_rows(labels, folds, subsets)
    if by_rows:
        subsets = _subsets(labels, [])
    elif subsets is None and rows.complete:
        subsets = _blocks(labels.n)
    # Without a variance function the weights are known beforehand.
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
        labels.columns,
        design,
        labels.n,
        sums.unconfounded,
        units,
        variance,
        total,
        statistics,
        folds if by_rows or subsets is None else subsets.folds,
        None if subsets is None or labels.group_numbers() is None else subsets.groups,
        np.zeros((0, 0)) if labels.confounder is None else labels.confounder.values,
        in_memory,
        by_rows,
        labels.preparation,
        rows if isinstance(rows, CompletedRows) else None,
        labels.missing,
    )


def weigh(
    spec: FitSpec, sums: RowSums, units: Units, rows: Rows | None = None
) -> tuple[VarianceFunction, SplineStatistics]:
    """Learn how the confounder inflates the noise, and weight the statistics of all rows by it.

    Parameters
    ----------
    spec : FitSpec
    sums : RowSums
        Sums over all rows, unweighted.
    units : Units
    rows : Rows, optional
        Read again if several confounders inflate the variance.
    """
    design = sums.design

    def scaled() -> Iterator[tuple[Array, Array]]:
        assert rows is not None
        for x, confounder in rows.read():
            yield units.table(x), confounder

    data: VarianceData = RowVariance(scaled, design.basis, spec.n_threads)
    if design.one_pass:
        data = BinnedVariance(sums.bins(units), design)
    # Thousands of small matrices: threads inside BLAS would only wait for each other.
    with single_threaded_blas():
        variance = learn_variance(data, design.basis, design.variance_basis)
    if rows is not None and not rows.complete and not design.one_pass:
        # What was read are draws; what is summed are expectations.
        sums = rows.reduce(design, None, variance)
        return variance, sums.subsets(np.ones(design.bins.count), units, 1)[0]
    return variance, data.statistics(variance)


def _sums_bytes(count: int, functions: int, q: int) -> int:
    """Memory of so many :class:`SplineStatistics`, in bytes."""
    products = 1 + functions + functions * (functions + 1) // 2
    return 8 * count * products * q * (q + 1) // 2


def _subsets(labels: RowLabels, folds: list[Fold]) -> RowSubsets | None:
    """Disjoint subsets of which folds and groups are unions, if there are any."""
    numbers = labels.group_numbers()
    if not folds and numbers is None:
        return None
    return common_subsets(folds, labels.n, numbers)


def _blocks(n: int) -> RowSubsets | None:
    """Blocks of rows for estimating overdispersion, where neither folds nor groups divide the rows."""
    if n < BLOCKS * BLOCK_ROWS:
        return None
    return RowSubsets(hashed_blocks(0, n), BLOCKS, [], np.zeros(BLOCKS, dtype=np.intp))


def few_bytes(design: SplineDesign, q: int, subsets: int) -> bool:
    """Whether the sums of so many subsets, each by bins of the confounder, are small enough to keep."""
    return _sums_bytes(subsets * design.bins.count, design.basis.size, q) <= FEW_BYTES


def _better_by_rows(labels: RowLabels, folds: list[Fold], subsets: RowSubsets | None) -> bool:
    """Whether working on rows in memory is cheaper than on statistics of subsets.

    So it is where there are no folds, and where folds overlap at random: they have so many subsets in
    common that each fold is better summed on its own.
    """
    if not folds or subsets is None:
        return True
    confounders = 0 if labels.confounder is None else len(labels.confounder.names)
    natural = max(len(subsets.folds), int(subsets.groups.max()) + 1)
    size = _sums_bytes(subsets.count, most_functions(confounders), labels.q)
    return subsets.count > 2 * natural + 2 or size > MOST_BYTES
