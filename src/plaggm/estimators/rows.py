"""The interface between a fit and its rows, wherever they are stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Protocol

import numpy as np

from plaggm.array_types import Array, Index, Labels
from plaggm.core.spline.design import SplineDesign
from plaggm.core.spline.statistics import ScaledRows
from plaggm.core.variance.binned import row_weights
from plaggm.core.variance.variance_function import VarianceFunction
from plaggm.data import Confounder, ConfounderLike, TableLike, as_confounder, check_spread
from plaggm.estimators.columns import FEWEST_ROWS, Columns, read_samples
from plaggm.estimators.missing_rows import (
    MissingCells,
    UsableRows,
    UsedRows,
    check_observed,
    usable_rows,
)
from plaggm.estimators.preparation import NO_PREPARATION, Preparation, learn_preparation
from plaggm.estimators.row_sums import RowSums, Units, raw_units, spread_units
from plaggm.estimators.serial import NO_RUNS
from plaggm.estimators.smooth_means import Chunks
from plaggm.estimators.spec import FitSpec
from plaggm.group_labels import LabelsLike, group_numbers
from plaggm.parameter_types import Fold


@dataclass(frozen=True, slots=True)
class RowLabels:
    """Confounders and labels of all rows, without their variables.

    Attributes
    ----------
    n : int
        Rows.
    columns : Columns
        The variables.
    confounder : Confounder or None
    groups : ndarray of shape (n,) or None
        Group of every row, as it was given.
    preparation : Preparation
        Transformations that were applied to the rows.
    missing : MissingCells or None
        Counts of missing cells, if they may be missing.
    used : UsedRows or None
        Which rows of the table these are, if some were left out.
    """

    n: int
    columns: Columns
    confounder: Confounder | None
    groups: Labels | None
    preparation: Preparation = NO_PREPARATION
    missing: MissingCells | None = None
    used: UsedRows | None = None

    @property
    def incomplete(self) -> bool:
        """Whether some cells of the rows are missing."""
        return self.missing is not None and self.missing.remaining

    @property
    def q(self) -> int:
        """Number of columns of [Z, 1]."""
        return len(self.columns.names) + 1

    def given_groups(self) -> Index | None:
        """Number of every row's group; None without groups."""
        return None if self.groups is None else group_numbers(self.groups, self.n)[0]

    def group_numbers(self) -> Index | None:
        """Number of every row's group, or of its block if rows are time series; None without either."""
        serial = self.preparation.serial
        if self.groups is None:
            return None if serial is None else serial.blocks
        return self.given_groups()

    def folds(self, spec: FitSpec, *, always: bool = False) -> list[Fold]:
        """Training and test rows; none unless the penalty is chosen by cross-validation or ``always``."""
        serial = self.preparation.serial
        runs = None if serial is None else serial.runs
        penalties = spec.penalties
        if self.used is not None and not isinstance(penalties.cv, Integral):
            # Folds other than a number are those of the table as it was given.
            given = penalties.folds(self.used.given, self.used.groups, always=always)
            return self.used.folds(given)
        return penalties.folds(self.n, self.groups, runs, always=always)


class Rows(Protocol):
    """Rows that can be summed as often as a fit needs; a new kind of rows is a class with these methods."""

    @property
    def complete(self) -> bool:
        """Whether no cell is missing; otherwise ``take`` and ``read`` replace missing cells by draws."""
        ...

    @property
    def labels(self) -> RowLabels:
        """Confounders and groups of all rows."""
        ...

    def take(self, index: Index) -> Array:
        """Variables of some rows, in increasing order: shape (len(index), p)."""
        ...

    def read(self) -> Iterator[tuple[Array, Array]]:
        """Variables (n, p) and confounders (n, m) of all rows, chunk by chunk.

        Raises ValueError where rows can only be summed.
        """
        ...

    def reduce(
        self,
        design: SplineDesign,
        subsets: Index | None = None,
        variance: VarianceFunction | None = None,
    ) -> RowSums:
        """Sum all rows.

        Parameters
        ----------
        design : SplineDesign
        subsets : ndarray of int of shape (n,), optional
            Subset of every row; subsets are summed separately.
        variance : VarianceFunction, optional
            Variance function, by whose inverse rows are weighted.
        """
        ...


@dataclass(frozen=True, slots=True)
class ArrayRows:
    """All rows in memory; see :class:`Rows`.

    Attributes
    ----------
    x : ndarray of shape (n, p)
    labels : RowLabels
    units : Units
        Location and scale of the variables in the fit.
    n_threads : int
    """

    x: Array
    labels: RowLabels
    units: Units
    n_threads: int

    @property
    def complete(self) -> bool:
        """See :class:`Rows`."""
        return True

    @property
    def confounder(self) -> Array:
        """Confounders: shape (n, m), with m zero without confounder."""
        known = self.labels.confounder
        return np.zeros((len(self.x), 0)) if known is None else known.values

    def table(self) -> Array:
        """[Z, 1]: shape (n, q)."""
        return self.units.table(self.x)

    def scaled(self) -> ScaledRows:
        """[Z, 1] with rows computed on demand: shape (n, q)."""
        return ScaledRows(self.x, self.units.location, self.units.scale)

    def take(self, index: Index) -> Array:
        """See :class:`Rows`."""
        return self.x[index]

    def read(self) -> Iterator[tuple[Array, Array]]:
        """See :class:`Rows`."""
        yield self.x, self.confounder

    def reduce(
        self,
        design: SplineDesign,
        subsets: Index | None = None,
        variance: VarianceFunction | None = None,
    ) -> RowSums:
        """See :class:`Rows`."""
        sums = RowSums(design, self.labels.columns.names, self.n_threads, self.units, exact=True)
        return sum_rows(sums, self.read(), subsets, variance)


def array_rows(
    spec: FitSpec,
    owner: type,
    X: TableLike,
    confounder: ConfounderLike | None = None,
    groups: LabelsLike | None = None,
    runs: LabelsLike | None = None,
) -> ArrayRows:
    """Validated rows in memory.

    Parameters
    ----------
    spec : FitSpec
    owner : type
        Class of the estimator.
    X : array or DataFrame of shape (n, p)
    confounder : array, Series or DataFrame of shape (n,) or (n, m), optional
    groups, runs : array of shape (n,), optional
    """
    if runs is not None and spec.temporal is None:
        raise ValueError(NO_RUNS)
    usable, missing, used = None, None, None
    if spec.missing != "refuse":
        spec.need_complete_rows(confounder is not None)
        serial = spec.temporal is not None
        usable = usable_rows(
            spec.missing, owner, X, confounder, groups, runs, serial=serial, fewest=FEWEST_ROWS
        )
        missing = usable.missing
        missing.warn()
        used = usable.used if missing.left_out else None
        X, confounder, groups, runs = usable.x, usable.confounder, usable.groups, usable.runs
    if usable is not None and usable.missing.remaining:
        x, columns, checked = _incomplete_samples(spec, usable)
    else:
        kernel = spec.smoother == "kernel" and confounder is not None
        ridge = spec.kernel.ridge if kernel else None
        x, columns, checked = read_samples(
            owner, X, confounder, categorical=spec.categorical, ridge=ridge, conditional=True
        )
    if checked is not None:
        checked = spec.referred(checked)
    if groups is not None:
        group_numbers(groups, len(x))
        groups = np.asarray(groups)
    labels = RowLabels(len(x), columns, checked, groups, missing=missing, used=used)
    if labels.incomplete:
        return ArrayRows(x.copy(), labels, raw_units(x.shape[1]), spec.n_threads)
    chunks = [(x, np.zeros((len(x), 0)) if checked is None else checked.values)]
    preparation = learn_preparation(
        spec, lambda: chunks, checked, len(x), columns.names, groups, runs
    )
    prepared, _ = next(preparation.each(chunks))
    # A copy, since the rows are stored for tests that are computed after the fit.
    return memory_rows(spec, prepared.copy(), replace(labels, preparation=preparation))


def _incomplete_samples(
    spec: FitSpec, usable: UsableRows
) -> tuple[Array, Columns, Confounder | None]:
    """Validated rows with NaN where a cell is missing, and their validated confounders."""
    x, columns, confounder = usable.values, usable.columns, usable.confounder
    check_observed(usable.missing)
    check_spread(np.nanmin(x, axis=0), np.nanmax(x, axis=0), columns.names)
    if confounder is None:
        return x, columns, None
    return x, columns, as_confounder(confounder, usable.x, len(x), spec.categorical)


def memory_rows(spec: FitSpec, x: Array, labels: RowLabels) -> ArrayRows:
    """Rows in memory, from validated variables of shape (n, p)."""
    units = spread_units(x) if spec.standardize else raw_units(x.shape[1])
    return ArrayRows(x, labels, units, spec.n_threads)


def sum_rows(
    sums: RowSums,
    chunks: Chunks,
    subsets: Index | None,
    variance: VarianceFunction | None,
) -> RowSums:
    """Add all rows of some chunks to sums; see :meth:`Rows.reduce`."""
    start = 0
    for x, confounder in chunks:
        labels = None if subsets is None else subsets[start : start + len(x)]
        weights = None if variance is None else row_weights(sums.design, variance, confounder)
        sums.add(x, confounder, labels, weights)
        start += len(x)
    return sums
