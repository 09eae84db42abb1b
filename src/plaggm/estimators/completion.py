"""Rows with missing cells, represented by their conditional distribution given the observed cells.

Sums are expected values: those of rows with missing cells replaced by conditional means, plus the
conditional covariances of the missing cells. When rows are read, missing cells are drawn from their
conditional distribution, since conditional means would vary too little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.missing.cell_regressions import PairPrior
from plaggm.core.missing.cells import (
    CellModel,
    CompletedCells,
    complete_cells,
    covariance_sums,
    draw_cells,
)
from plaggm.core.spline.design import SplineDesign
from plaggm.core.spline.statistics import SplineStatistics, no_rows, spline_statistics
from plaggm.core.variance.binned import row_weights
from plaggm.core.variance.variance_function import VarianceFunction
from plaggm.estimators.preparation import rows_among
from plaggm.estimators.row_sums import RowSums, Units
from plaggm.estimators.rows import RowLabels, Rows
from plaggm.estimators.smooth_means import with_constant

# Rows whose conditional covariances are held in memory at a time.
BLOCK_ROWS = 4096
# Seed of the draws that replace missing cells when rows are read.
DRAW_SEED = 5


@dataclass(frozen=True, slots=True)
class CompletedRows:
    """Rows whose missing cells follow a model; see :class:`plaggm.estimators.rows.Rows`.

    Attributes
    ----------
    source : Rows
        The same rows, NaN where a cell is missing.
    units : Units
        Location and scale of the variables in the model.
    design : SplineDesign
        Functions of the confounder in the model.
    variance : VarianceFunction
    model : CellModel
    n_threads : int
    prior : PairPrior or None
        Prior of the effects under which the model was estimated.
    iterations : int
        Steps of the EM algorithm that led to the model.
    change : float
        Change in the last step: see :func:`plaggm.estimators.em.fit_cells`.
    """

    source: Rows
    units: Units
    design: SplineDesign
    variance: VarianceFunction
    model: CellModel
    n_threads: int
    prior: PairPrior | None = None
    iterations: int = 0
    change: float = np.inf

    @property
    def complete(self) -> bool:
        """See :class:`plaggm.estimators.rows.Rows`."""
        return False

    @property
    def labels(self) -> RowLabels:
        """See :class:`plaggm.estimators.rows.Rows`."""
        return self.source.labels

    def under(self, model: CellModel, variance: VarianceFunction) -> CompletedRows:
        """The same rows under another model."""
        return replace(self, model=model, variance=variance)

    def take(self, index: Index) -> Array:
        """Variables of some rows with missing cells drawn; reads all rows."""
        return rows_among(self.read(), index)

    def read(self) -> Iterator[tuple[Array, Array]]:
        """Variables of all rows with missing cells drawn, and confounders."""
        draw = np.random.default_rng(DRAW_SEED)
        for z, confounder in self._blocks():
            cells = self._cells(self.model, z, confounder)
            drawn = draw_cells(cells, draw.standard_normal(len(cells.columns)))
            yield drawn * self.units.scale + self.units.location, confounder

    def reduce(
        self,
        design: SplineDesign,
        subsets: Index | None = None,
        variance: VarianceFunction | None = None,
    ) -> RowSums:
        """Expected sums: see :class:`plaggm.estimators.rows.Rows`."""
        names = self.labels.columns.names
        sums = RowSums(design, names, self.n_threads, self.units)
        start = 0
        for z, confounder in self._blocks():
            cells = self._cells(self.model, z, confounder)
            labels = None if subsets is None else subsets[start : start + len(z)]
            weights = None if variance is None else row_weights(design, variance, confounder)
            x = cells.z * self.units.scale + self.units.location
            sums.add(x, confounder, labels, weights, cells)
            start += len(z)
        return sums

    def totals(
        self, models: Sequence[CellModel], blocks: Index | None = None
    ) -> list[SplineStatistics]:
        """Expected weighted sums under each of several models, in the models' units; reads rows once.

        Parameters
        ----------
        models : sequence of CellModel
        blocks : ndarray of int of shape (n,), optional
            Block of every row. The sums under model number b then leave out block b.
        """
        p = len(self.units.scale)
        found = [no_rows(self.design.basis.size, p + 1) for _ in models]
        start = 0
        for z, confounder in self._blocks():
            labels = None if blocks is None else blocks[start : start + len(z)]
            start += len(z)
            for number, model in enumerate(models):
                kept = slice(None) if labels is None else labels != number
                found[number] = found[number] + self._total(model, z[kept], confounder[kept])
        return found

    def observed(self) -> Array:
        """Share of the rows in which both variables of a pair are observed: shape (p, p)."""
        p = len(self.units.scale)
        total, n = np.zeros((p, p)), 0
        for z, _ in self._blocks():
            there = (~np.isnan(z)).astype(np.float64)
            total += there.T @ there
            n += len(z)
        return total / n

    def seen(self) -> SplineStatistics:
        """Weighted sums of indicators: one for an observed cell, zero for a missing one."""
        p = len(self.units.scale)
        found = no_rows(self.design.basis.size, p + 1)
        for z, confounder in self._blocks():
            there = np.column_stack([(~np.isnan(z)).astype(np.float64), np.ones(len(z))])
            weights = row_weights(self.design, self.variance, confounder)
            functions = self.design.basis.evaluate(confounder)
            found = found + spline_statistics(there, functions, weights, n_threads=self.n_threads)
        return found

    def shrunken(self) -> int:
        """Number of rows in which R(g) was shrunk towards zero to obtain a positive definite matrix."""
        return sum(
            self._cells(self.model, z, confounder).shrunken for z, confounder in self._blocks()
        )

    def _total(self, model: CellModel, z: Array, confounder: Array) -> SplineStatistics:
        cells = self._cells(model, z, confounder)
        weights = row_weights(self.design, self.variance, confounder)
        functions = with_constant(self.design.basis, confounder)
        b = np.column_stack([cells.z, np.ones(len(z))])
        found = spline_statistics(b, functions[:, 1:], weights, n_threads=self.n_threads)
        labels = np.zeros(len(z), dtype=np.intp)
        more = covariance_sums(cells, functions, labels, 1, weights)[0]
        return found + SplineStatistics(more, 0, found.functions)

    def _blocks(self) -> Iterator[tuple[Array, Array]]:
        """Standardised variables, NaN where they are missing, and confounders, a block at a time."""
        for x, confounder in self.source.read():
            z = (x - self.units.location) / self.units.scale
            for start in range(0, len(z), BLOCK_ROWS):
                rows = slice(start, start + BLOCK_ROWS)
                yield z[rows], confounder[rows]

    def _cells(self, model: CellModel, z: Array, confounder: Array) -> CompletedCells:
        functions = with_constant(self.design.basis, confounder)
        inflation = 1.0 / row_weights(self.design, self.variance, confounder)
        return complete_cells(model, z, functions, inflation)
