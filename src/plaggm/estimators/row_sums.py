"""Statistics of rows, accumulated chunk by chunk; the rows themselves are not stored.

Statistics are first in the units of the first rows, and transformed to the units of all rows in the end,
which does not need the rows since the variables enter linearly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.missing.cells import CompletedCells, covariance_sums
from plaggm.core.spline.basis import SplineSide
from plaggm.core.spline.confounder_bins import one_bin
from plaggm.core.spline.design import SplineDesign
from plaggm.core.spline.reference import at_reference
from plaggm.core.spline.statistics import (
    ScaledRows,
    SplineStatistics,
    no_rows,
    split_statistics,
    unpack,
)
from plaggm.data import check_dependence, check_spread, in_figures

# Rows processed at a time, which avoids copies of long tables.
CHUNK = 4096
# Variance of a function, as a share of its mean square, below which it counts as constant.
FLAT = 1e-10


@dataclass(frozen=True, slots=True)
class Units:
    """Location and scale of the variables: Z = (X - location) / scale.

    Attributes
    ----------
    location, scale : ndarray of shape (p,)
    """

    location: Array
    scale: Array

    def table(self, x: Array) -> Array:
        """[Z, 1]: shape (n, q)."""
        return ScaledRows(x, self.location, self.scale)[:]


def raw_units(p: int) -> Units:
    """Units in which the data are unchanged."""
    return Units(np.zeros(p), np.ones(p))


def spread_units(x: Array) -> Units:
    """Mean and standard deviation of every column; one where a column is constant."""
    mean = x.mean(axis=0)
    square = np.zeros(x.shape[1])
    for start in range(0, len(x), CHUNK):
        square += ((x[start : start + CHUNK] - mean) ** 2).sum(axis=0)
    spread = np.sqrt(square / len(x))
    return Units(mean, np.where(spread > 0.0, spread, 1.0))


@dataclass(slots=True)
class RowSums:
    """Statistics of the rows so far, by subset (a fold or a group) and by bin of the confounder.

    Attributes
    ----------
    design : SplineDesign
    names : tuple of str
        Names of the variables.
    n_threads : int
    units : Units, optional
        Units of the statistics; by default those of the first rows.
    exact : bool
        Whether these are the units of the fit.
    n : int
        Rows.
    unconfounded : int
        Rows within the threshold, or at the reference level, of every confounder that has one.
    below : int
        Rows below the thresholds of all confounders whose reference is zero.
    cells : dict
        Statistics by subset * number of bins + bin.
    """

    design: SplineDesign
    names: tuple[str, ...]
    n_threads: int
    units: Units | None = None
    exact: bool = False
    n: int = 0
    unconfounded: int = 0
    below: int = 0
    cells: dict[int, SplineStatistics] = field(default_factory=dict)

    @property
    def q(self) -> int:
        """Number of columns of [Z, 1]."""
        return len(self.names) + 1

    @property
    def _amounts(self) -> list[int]:
        """Confounders whose reference is zero."""
        return [k for k, one in enumerate(self.design.references) if one.kind == "zero"]

    def add(
        self,
        x: Array,
        confounder: Array,
        subsets: Index | None = None,
        weights: Array | None = None,
        cells: CompletedCells | None = None,
    ) -> None:
        """Add rows.

        Parameters
        ----------
        x : ndarray of shape (n, p)
        confounder : ndarray of shape (n, m)
            Values within the design's range.
        subsets : ndarray of int of shape (n,), optional
            Subset of every row; by default subset 0.
        weights : ndarray of shape (n,), optional
            Weights of the rows, which are then not divided into bins.
        cells : CompletedCells, optional
            Missing cells of these rows in the units of the sums, whose covariances are added.
        """
        if not len(x):
            return
        if self.units is None:
            self.units = spread_units(x)
        design = self.design
        # Bins are needed only to estimate weights that are not known yet.
        bins = design.bins if weights is None else one_bin(design.m)
        cell = bins.labels(confounder)
        if subsets is not None:
            cell = subsets * design.bins.count + cell
        counts = np.bincount(cell)
        present = np.flatnonzero(counts)
        place = np.cumsum(counts > 0) - 1
        phi = design.basis.evaluate(confounder)
        found = split_statistics(
            ScaledRows(x, self.units.location, self.units.scale),
            phi,
            place[cell],
            len(present),
            weights,
            n_threads=self.n_threads,
        )
        if cells is not None:
            functions = np.column_stack([np.ones(len(phi)), phi])
            more = covariance_sums(cells, functions, place[cell], len(present), weights)
            found = tuple(
                part + SplineStatistics(extra, 0, part.functions)
                for part, extra in zip(found, more, strict=True)
            )
        for key, statistics in zip(present.tolist(), found, strict=True):
            before = self.cells.get(key)
            self.cells[key] = statistics if before is None else before + statistics
        self.n += len(x)
        inside = at_reference(confounder, design.threshold, design.references)
        self.unconfounded += int(np.count_nonzero(inside))
        amounts = self._amounts
        small = np.abs(confounder[:, amounts]) <= design.threshold[amounts]
        self.below += int(np.count_nonzero(np.all(small, axis=1)))

    def absorb(self, other: RowSums, subsets: dict[int, int]) -> None:
        """Add the rows that another object with the same design has summed.

        Parameters
        ----------
        other : RowSums
        subsets : dict
            New number of each of the other's subsets; by default the old number.
        """
        if other.units is None:
            return
        count = self.design.bins.count
        if self.units is None:
            self.units = other.units
        for key in sorted(other.cells):
            subset, place = divmod(key, count)
            mine = subsets.get(subset, subset) * count + place
            shifted = moved(other.cells[key], other.units, self.units)
            before = self.cells.get(mine)
            self.cells[mine] = shifted if before is None else before + shifted
        self.n += other.n
        self.unconfounded += other.unconfounded
        self.below += other.below

    def settle_units(self, standardize: bool) -> Units:
        """The units of the fit; raises for columns that cannot be in a network, such as constant ones.

        Parameters
        ----------
        standardize : bool
            Whether the units are mean and standard deviation of all rows; otherwise data are unchanged.
        """
        assert self.units is not None
        if self.exact:
            return self.units
        location, scale = self.units.location, self.units.scale
        mean, gram = self._moments()
        covariance = gram - np.outer(mean, mean)
        deviation = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
        check_spread(location, location + scale * deviation, self.names)
        check_dependence(covariance / np.outer(deviation, deviation), self.n, self.names)
        if not standardize:
            return raw_units(len(mean))
        return Units(location + scale * mean, scale * deviation)

    def check_coverage(self) -> None:
        """Raise if no row lies below the thresholds, or where some function of the design is not zero."""
        design, amounts = self.design, self._amounts
        if amounts and not self.below:
            raise ValueError(
                f"None of the {self.n} rows so far lies below the threshold "
                f"{in_figures(design.threshold[amounts])}. They are kept; pass refit=False until such rows "
                "have come."
            )
        for term, part in zip(design.basis.terms, design.basis.slices(), strict=True):
            name = design.names[term.confounder]
            if not isinstance(term, SplineSide):
                if self._varies(part):
                    continue
                raise ValueError(
                    f"The {self.n} rows so far do not reach all values of {name!r} that the design has "
                    "functions of. They are kept; pass refit=False until such rows have come."
                )
            busy = slice(1 + part.start, 1 + part.stop)
            if any(np.any(cell.sums[busy, -1]) for cell in self.cells.values()):
                continue
            where = "above" if term.sign > 0.0 else "below minus"
            raise ValueError(
                f"None of the {self.n} rows so far has {name!r} {where} its "
                f"threshold {term.threshold:g}, where the design has functions. They are kept; pass "
                "refit=False until such rows have come."
            )

    def _varies(self, part: slice) -> bool:
        """Whether each of these functions takes more than one value in the rows so far."""
        size = self.design.basis.size
        last = np.sum([cell.sums[:, -1] for cell in self.cells.values()], axis=0) / self.n
        second = np.diagonal(unpack(last[None, 1 + size :], size)[0])[part]
        first = last[1 + part.start : 1 + part.stop]
        return bool(np.all(second - first**2 > FLAT * second))

    def bins(self, units: Units) -> tuple[SplineStatistics, ...]:
        """Statistics of every bin, over all subsets, in given units."""
        count = self.design.bins.count
        return tuple(
            self._sum((key for key in self.cells if key % count == number), units)
            for number in range(count)
        )

    def subsets(self, weights: Array, units: Units, number: int) -> tuple[SplineStatistics, ...]:
        """Statistics of every subset in given units, with bins weighted by ``weights`` (n_bins,)."""
        count = self.design.bins.count
        found = [no_rows(self.design.basis.size, self.q) for _ in range(number)]
        for key in sorted(self.cells):
            subset, place = divmod(key, count)
            part = self._sum((key,), units)
            found[subset] = found[subset] + part.times(float(weights[place]))
        return tuple(found)

    def _sum(self, keys: Iterable[int], units: Units) -> SplineStatistics:
        assert self.units is not None
        total = no_rows(self.design.basis.size, self.q)
        for key in sorted(keys):
            total = total + self.cells[key]
        return total if units is self.units else moved(total, self.units, units)

    def _moments(self) -> tuple[Array, Array]:
        """First and second moments of the variables in the units of the sums: shapes (p,) and (p, p)."""
        total = np.zeros(self.q * (self.q + 1) // 2)
        for key in sorted(self.cells):
            total = total + self.cells[key].sums[0]
        full = unpack(total[None] / self.n, self.q)[0]
        return full[:-1, -1], full[:-1, :-1]


def moved(statistics: SplineStatistics, before: Units, after: Units) -> SplineStatistics:
    """Statistics of the same rows in other units."""
    shift = (after.location - before.location) / before.scale
    return statistics.recentred(shift, after.scale / before.scale)
