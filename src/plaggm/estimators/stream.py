"""Sums over chunks of rows that are read once and not stored."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from numbers import Integral

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.numerics.row_hash import BLOCKS, RowSample, empty_sample, hashed_blocks
from plaggm.core.spline.design import SplineDesign
from plaggm.core.variance.binned import bin_weights
from plaggm.data import ConfounderLike, TableLike, new_confounder
from plaggm.estimators import row_statistics
from plaggm.estimators.columns import Columns
from plaggm.estimators.row_statistics import RowStatistics, few_bytes, weigh
from plaggm.estimators.row_sums import RowSums
from plaggm.estimators.spec import FitSpec
from plaggm.group_labels import LabelsLike, group_numbers
from plaggm.parameter_types import Fold
from plaggm.selection import PenaltySpec
from plaggm.wording import listed, shown

# Number of confounder values of a stream that are stored for results.
REMEMBERED = 4096


@dataclass(slots=True)
class Stream:
    """Sums of the rows so far.

    Attributes
    ----------
    columns : Columns
    sums : RowSums
    sample : RowSample
        Confounders of some rows.
    grouped : bool
        Whether rows have groups.
    folds : int
        Number of folds, or else blocks, into which rows without groups are divided by their numbers.
    groups : dict
        Number of every group; empty without groups.
    """

    columns: Columns
    sums: RowSums
    sample: RowSample
    grouped: bool
    folds: int
    groups: dict[Hashable, int] = field(default_factory=dict)

    def values(self, X: TableLike, confounder: ConfounderLike | None) -> tuple[Array, Array]:
        """Validated variables (n, p) and confounders (n, m) of the next rows."""
        x = self.columns.values(X, self.sums.n)
        return x, chunk_confounder(self.sums.design, X, confounder, len(x))

    def add(
        self, x: Array, confounder: Array, groups: LabelsLike | None, start: int | None = None
    ) -> None:
        """Add validated rows.

        Parameters
        ----------
        x : ndarray of shape (n, p)
        confounder : ndarray of shape (n, m)
        groups : array of shape (n,) or None
        start : int, optional
            Number of the first row; by default the number of rows so far.
        """
        if self.grouped != (groups is not None):
            raise ValueError("Pass groups in all calls of partial_fit or in none.")
        first = self.sums.n if start is None else start
        subsets: Index | None = None
        if groups is not None:
            subsets = self._numbers(groups, len(x))
        elif self.folds > 1:
            subsets = hashed_blocks(first, len(x), self.folds)
        self.sums.add(x, confounder, subsets)
        self.sample = self.sample.extended(first, confounder)

    def absorb(self, other: Stream) -> None:
        """Add the rows of another stream with the same design, variables and kind of groups."""
        renumbered = {
            number: self.groups.setdefault(group, len(self.groups))
            for group, number in other.groups.items()
        }
        self.sample = self.sample.joined(other.sample)
        self.sums.absorb(other.sums, renumbered)

    def check_mergeable(self, other: Stream) -> None:
        """Raise unless two streams can be merged."""
        mine, theirs = self.sums, other.sums
        if not mine.design.same_as(theirs.design):
            raise ValueError(
                "The two models have different designs, so that their rows do not add up. Pass the same "
                "design= to the first partial_fit of both: see make_design."
            )
        if mine.names != theirs.names:
            odd = sorted(set(mine.names) ^ set(theirs.names))
            raise ValueError(
                f"The two models have different variables, or in another order: {odd or 'same names'}."
            )
        if self.grouped != other.grouped:
            raise ValueError("One of the two models has groups and the other has none.")
        if self.folds != other.folds:
            raise ValueError("The two models have different folds (cv and criterion must agree).")

    def check_memory(self) -> None:
        """Raise if the sums have become too large."""
        cells = self.sums.cells
        size = sum(cell.sums.nbytes for cell in cells.values())
        if size > row_statistics.MOST_BYTES:
            raise ValueError(
                f"The statistics of {len(cells)} groups and bins of the confounder take "
                f"{size / 1e9:.1f} GB. Use fit_chunks, which reads the data again "
                "instead, or variance='conditional', which needs no bins."
            )

    def statistics(self, spec: FitSpec) -> RowStatistics:
        """Statistics of all rows so far."""
        sums, design = self.sums, self.sums.design
        sums.check_coverage()
        units = sums.settle_units(spec.standardize)
        variance, total = weigh(spec, sums, units)
        count = max(sums.cells) // design.bins.count + 1
        order = np.argsort(self.sample.hashes)
        return RowStatistics(
            columns=self.columns,
            design=design,
            n=sums.n,
            unconfounded=sums.unconfounded,
            units=units,
            variance=variance,
            total=total,
            subsets=sums.subsets(bin_weights(design, variance), units, count),
            folds=self._folds(spec.penalties, count),
            groups=np.arange(count) if self.grouped else None,
            confounder=self.sample.values[order],
        )

    def _folds(self, penalties: PenaltySpec, count: int) -> list[Fold]:
        """Folds of the subsets: each subset is one, or ``cv`` divides the groups."""
        if penalties.criterion != "cv":
            return []
        everything = np.arange(count)
        if self.grouped:
            return penalties.folds(count, everything)
        return [(np.delete(everything, fold), everything[[fold]]) for fold in everything]

    def _numbers(self, groups: LabelsLike, n: int) -> Index:
        """Number of every row's group; new groups get new numbers."""
        place, found = group_numbers(groups, n, fewest=1, where=" of this chunk")
        codes = [self.groups.setdefault(value, len(self.groups)) for value in found.tolist()]
        return np.array(codes, dtype=np.intp)[place]


def start_stream(
    penalties: PenaltySpec, columns: Columns, design: SplineDesign, grouped: bool, n_threads: int
) -> Stream:
    """An empty stream.

    Parameters
    ----------
    penalties : PenaltySpec
        Choice of the penalty, by which rows are divided into folds.
    columns : Columns
    design : SplineDesign
    grouped : bool
        Whether rows have groups.
    n_threads : int
    """
    folds = 1
    if penalties.criterion == "cv" and isinstance(penalties.cv, Integral):
        folds = int(penalties.cv)
    elif penalties.criterion == "cv" and not grouped:
        raise ValueError(
            f"partial_fit does not know the rows to come, so that cv={penalties.cv!r} cannot divide them. "
            "Use a number of folds, or pass groups, or use fit_chunks."
        )
    need_one_pass(design)
    sums = RowSums(design, columns.names, n_threads)
    if penalties.criterion != "cv" and not grouped and few_bytes(design, sums.q, BLOCKS):
        folds = BLOCKS
    return Stream(columns, sums, empty_sample(design.m, REMEMBERED), grouped, folds)


def check_design(design: object) -> None:
    """Raise unless ``design`` was made by ``make_design``."""
    if not isinstance(design, SplineDesign):
        raise TypeError(
            "design must come from make_design(), from plaggm.distributed.sample_design() or from another "
            f"model's design_; got {shown(design)}."
        )


def need_one_pass(design: SplineDesign) -> None:
    """Raise for a design whose variance function cannot be learnt from sums of rows."""
    if not design.one_pass:
        raise ValueError(
            "Several confounders exceed their thresholds, and how they inflate the variance cannot be "
            "learnt in one pass. Use fit_chunks, or variance='conditional'."
        )


def chunk_confounder(
    design: SplineDesign, X: TableLike, confounder: ConfounderLike | None, n: int
) -> Array:
    """Confounders (n, m) of some rows, checked against the names and the range of a design."""
    if not design.m:
        if confounder is not None:
            raise ValueError(
                "The first chunk came without confounder, so this one cannot have one."
            )
        return np.zeros((n, 0))
    values = new_confounder(confounder, design.names, X, n, design.levels)
    numbers = np.array([levels is None for levels in design.levels])
    unknown = np.argwhere(values[:, ~numbers] < 0.0)
    if len(unknown):
        row, place = unknown[0]
        column = int(np.flatnonzero(~numbers)[place])
        raise ValueError(
            f"confounder {design.names[column]!r} has a level in row {row} of this chunk that the design "
            f"does not know; it was made for {listed(map(repr, design.levels[column] or ()))}. Make it "
            "from confounders that have all levels, make_design(...), and pass it as design= in the first "
            "call of partial_fit."
        )
    outside = ((values < design.low) | (values > design.high)) & numbers
    if not outside.any():
        return values
    row, column = np.argwhere(outside)[0]
    raise ValueError(
        f"confounder {design.names[column]!r} is {values[row, column]:g} in row {row} of this chunk, "
        f"outside the range {design.low[column]:g} to {design.high[column]:g} that the design was made "
        "for. Make it for the whole range, make_design(..., confounder_range=(low, high)), and pass "
        "it as design= in the first call of partial_fit."
    )
