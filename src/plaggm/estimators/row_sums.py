"""Rows as they come, turned into statistics and forgotten.

Statistics are kept in provisional units, the mean and spread of the first rows, and moved to the units of
all rows in the end: the variables enter linearly, so that no row is needed for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from plaggm.core.spline_design import SplineDesign
from plaggm.core.spline_statistics import (
    ScaledRows,
    SplineStatistics,
    no_rows,
    split_statistics,
    unpack,
)
from plaggm.data import check_dependence, check_spread, in_figures

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(slots=True)
class RowSums:
    """Statistics of the rows so far, by part (a fold or a group) and by bin of the confounder.

    Attributes
    ----------
    design : SplineDesign
    names : tuple of str
        Of the variables.
    n_threads : int
    n : int
        Rows.
    clean : int
        Rows whose confounders are all at most their thresholds.
    location, scale : ndarray of shape (p,)
        Provisional units.
    cells : dict
        Statistics by part * number of bins + bin, in provisional units.
    """

    design: SplineDesign
    names: tuple[str, ...]
    n_threads: int
    n: int = 0
    clean: int = 0
    location: Array = field(default_factory=lambda: np.zeros(0))
    scale: Array = field(default_factory=lambda: np.ones(0))
    cells: dict[int, SplineStatistics] = field(default_factory=dict)

    @property
    def q(self) -> int:
        """Number of columns of [Z, 1]."""
        return len(self.names) + 1

    def add(
        self,
        x: Array,
        confounder: Array,
        parts: Index | None = None,
        weights: Array | None = None,
    ) -> None:
        """Add rows.

        Parameters
        ----------
        x : ndarray of shape (n, p)
        confounder : ndarray of shape (n, m)
            Within the design's range.
        parts : ndarray of int of shape (n,), optional
            Part of every row; all belong to part 0 when absent.
        weights : ndarray of shape (n,), optional
        """
        if not len(x):
            return
        if not self.n:
            spread = x.std(axis=0)
            self.location, self.scale = x.mean(axis=0), np.where(spread > 0.0, spread, 1.0)
        design = self.design
        cell = design.bins.labels(confounder)
        if parts is not None:
            cell = parts * design.bins.count + cell
        counts = np.bincount(cell)
        present = np.flatnonzero(counts)
        place = np.cumsum(counts > 0) - 1
        found = split_statistics(
            ScaledRows(x, self.location, self.scale),
            design.basis.evaluate(confounder),
            place[cell],
            len(present),
            weights,
            n_threads=self.n_threads,
        )
        for key, statistics in zip(present.tolist(), found, strict=True):
            before = self.cells.get(key)
            self.cells[key] = statistics if before is None else before + statistics
        self.n += len(x)
        self.clean += int(np.count_nonzero(np.all(np.abs(confounder) <= design.threshold, axis=1)))

    def absorb(self, other: RowSums, parts: dict[int, int]) -> None:
        """Add the rows that another object with the same design has summed.

        Parameters
        ----------
        other : RowSums
        parts : dict
            Number that each of the other's parts has here; parts that are missing keep theirs.
        """
        count = self.design.bins.count
        if not self.n:
            self.location, self.scale = other.location, other.scale
        shift, scale = (self.location - other.location) / other.scale, self.scale / other.scale
        for key in sorted(other.cells):
            part, place = divmod(key, count)
            mine = parts.get(part, part) * count + place
            moved = other.cells[key].recentred(shift, scale)
            before = self.cells.get(mine)
            self.cells[mine] = moved if before is None else before + moved
        self.n += other.n
        self.clean += other.clean

    def check(self) -> None:
        """Raise for columns that were constant, or followed from others, in all rows."""
        mean, gram = self._moments()
        covariance = gram - np.outer(mean, mean)
        deviation = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
        check_spread(self.location, self.location + self.scale * deviation, self.names)
        check_dependence(covariance / np.outer(deviation, deviation), self.n, self.names)

    def check_coverage(self) -> None:
        """Raise while no row lies below the thresholds, or beyond one where the design has functions."""
        design = self.design
        if design.m and not self.clean:
            raise ValueError(
                f"None of the {self.n} rows so far lies below the threshold "
                f"{in_figures(design.threshold)}. They are kept; pass refit=False until such rows have "
                "come."
            )
        for side, part in zip(design.basis.sides, design.basis.slices(), strict=True):
            busy = slice(1 + part.start, 1 + part.stop)
            if any(np.any(cell.sums[busy, -1]) for cell in self.cells.values()):
                continue
            where = "above" if side.sign > 0.0 else "below minus"
            raise ValueError(
                f"None of the {self.n} rows so far has {design.names[side.confounder]!r} {where} its "
                f"threshold {side.threshold:g}, where the design has functions. They are kept; pass "
                "refit=False until such rows have come."
            )

    def units(self) -> tuple[Array, Array]:
        """Mean and standard deviation of the variables over all rows: shape (p,) each."""
        mean, gram = self._moments()
        spread = np.sqrt(np.maximum(np.diagonal(gram) - mean**2, 0.0))
        return self.location + self.scale * mean, self.scale * spread

    def bins(self, location: Array, scale: Array) -> tuple[SplineStatistics, ...]:
        """Statistics of every bin, over all parts, in given units."""
        count = self.design.bins.count
        return tuple(
            self._sum((key for key in self.cells if key % count == number), location, scale)
            for number in range(count)
        )

    def parts(
        self, weights: Array, location: Array, scale: Array, number: int
    ) -> tuple[SplineStatistics, ...]:
        """Statistics of every part in given units, each bin under its weight (shape (bins,))."""
        count = self.design.bins.count
        parts = [no_rows(self.design.basis.size, self.q) for _ in range(number)]
        for key in sorted(self.cells):
            part, place = divmod(key, count)
            moved = self._sum((key,), location, scale)
            parts[part] = parts[part] + moved.times(float(weights[place]))
        return tuple(parts)

    def _sum(self, keys: Iterable[int], location: Array, scale: Array) -> SplineStatistics:
        total = no_rows(self.design.basis.size, self.q)
        for key in sorted(keys):
            total = total + self.cells[key]
        return total.recentred((location - self.location) / self.scale, scale / self.scale)

    def _moments(self) -> tuple[Array, Array]:
        """Means of z and of z z' in provisional units: shapes (p,) and (p, p)."""
        total = np.zeros(self.q * (self.q + 1) // 2)
        for key in sorted(self.cells):
            total = total + self.cells[key].sums[0]
        full = unpack(total[None] / self.n, self.q)[0]
        return full[:-1, -1], full[:-1, :-1]
