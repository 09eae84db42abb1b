"""Functions of confounders whose reference is a value, a level or the average.

R is identified only if it vanishes somewhere: for an amount below a threshold
(`plaggm.core.spline.basis`), otherwise

- at a value g0: splines over the whole range minus their value at g0;
- on average: splines minus their mean over the data, so that Omega0 is the average of Omega(g);
- for a factor, at a level (indicators of the other levels) or on average (indicators minus frequencies).

The subtracted constants are fixed with the functions, so that rows can be summed in any order. The span of
the functions does not depend on the unit, origin or direction of a confounder, nor on the names of levels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from plaggm.array_types import Array
from plaggm.core.spline.basis import (
    SAMPLES_PER_FUNCTION,
    inner_knots,
    later_bsplines,
    spline_roughness,
)

# Points of a range over which functions are averaged.
RANGE_POINTS = 201


@dataclass(frozen=True, slots=True)
class AnchoredSpline:
    """Splines over the range of one confounder, minus a constant each.

    Attributes
    ----------
    confounder : int
        Column of the confounder.
    low, high : float
        Range of the functions, outside of which they are constant.
    inner_knots : tuple of float
        Knots between the ends, as shares of the range.
    degree : int
    subtracted : tuple of float
        Values of the functions at the reference value, or their means over the data.
    """

    confounder: int
    low: float
    high: float
    inner_knots: tuple[float, ...]
    degree: int
    subtracted: tuple[float, ...]

    @property
    def size(self) -> int:
        """Number of functions."""
        return len(self.subtracted)

    @property
    def knots(self) -> Array:
        """Clamped knot vector on [0, 1]."""
        ends = self.degree + 1
        return np.concatenate([np.zeros(ends), self.inner_knots, np.ones(ends)])

    def evaluate(self, confounder: Array) -> Array:
        """Functions at every sample, zero for NaN: shape (n, size)."""
        share = (confounder[:, self.confounder] - self.low) / (self.high - self.low)
        known = ~np.isnan(share)
        values = np.zeros((len(share), self.size))
        raw = later_bsplines(np.clip(share[known], 0.0, 1.0), self.knots, self.degree)
        values[known] = raw - np.array(self.subtracted)
        return values

    def stretched(self, low: Array, high: Array) -> AnchoredSpline:
        """See `plaggm.core.spline.basis.Term`: the functions and their ends stay as they are."""
        return self

    def roughness(self) -> Array:
        """Integrals of the products of second derivatives: shape (size, size)."""
        return spline_roughness(tuple(self.knots), self.degree)

    def mean_square(self) -> Array:
        """Mean over the range of the products of functions: shape (size, size)."""
        even = np.zeros((RANGE_POINTS, self.confounder + 1))
        even[:, self.confounder] = np.linspace(self.low, self.high, RANGE_POINTS)
        values = self.evaluate(even)
        return np.asarray(values.T @ values / RANGE_POINTS)

    def exchangeable(self) -> None:
        """See `plaggm.core.spline.basis.Term`."""
        return


@dataclass(frozen=True, slots=True)
class FactorLevels:
    """Contrasts of the levels of one factor, levels with few samples being merged into one cell.

    Attributes
    ----------
    confounder : int
        Column of the factor, which contains the levels' numbers.
    cells : tuple of int
        Cell of every level; negative for levels without functions.
    frequencies : tuple of float
        Share of the samples in each cell if the reference is the average; empty if it is a level, which is
        then cell 0.
    count : int
        Number of cells.
    """

    confounder: int
    cells: tuple[int, ...]
    frequencies: tuple[float, ...]
    count: int

    @property
    def size(self) -> int:
        """Number of functions, one less than the number of cells."""
        return self.count - 1

    def evaluate(self, confounder: Array) -> Array:
        """Functions at every sample, zero for unknown levels and for NaN: shape (n, size)."""
        codes = np.rint(np.nan_to_num(confounder[:, self.confounder], nan=-1.0)).astype(np.intp)
        known = (codes >= 0) & (codes < len(self.cells))
        cell = np.full(len(codes), -1, dtype=np.intp)
        cell[known] = np.array(self.cells, dtype=np.intp)[codes[known]]
        values = (cell[:, None] == np.arange(1, self.count)).astype(np.float64)
        if self.frequencies:
            values -= np.array(self.frequencies)[1:]
            values[cell < 0] = 0.0
        return np.asarray(values, dtype=np.float64)

    def stretched(self, low: Array, high: Array) -> FactorLevels:
        """See `plaggm.core.spline.basis.Term`: levels have no range."""
        return self

    def roughness(self) -> Array:
        """Inverse of :meth:`exchangeable`: shape (size, size)."""
        return np.asarray(np.linalg.inv(self.exchangeable()), dtype=np.float64)

    def mean_square(self) -> Array:
        """See `plaggm.core.spline.basis.Term`: the same form as :meth:`roughness`."""
        return self.roughness()

    def exchangeable(self) -> Array:
        """Covariance of the coefficients if cells have independent effects of variance one: (size, size).

        Coefficient l is the effect of cell l minus that of cell 0, whichever constant is subtracted.
        """
        return np.eye(self.size) + 1.0


def anchored_spline(
    confounder: Array, column: int, functions: int, degree: int, reference: float | None = None
) -> AnchoredSpline:
    """Place functions over the range of one confounder.

    Parameters
    ----------
    confounder : ndarray of shape (n, m)
    column : int
        A column that is not constant.
    functions : int
        Number of functions; fewer, and of lower degree, for a confounder with few values or samples.
    degree : int
    reference : float, optional
        Value at which they vanish; if absent, their means over the samples are zero.
    """
    values = confounder[:, column]
    low, high = float(values.min()), float(values.max())
    distinct = len(np.unique(values))
    size = max(1, min(functions, distinct - 1, len(values) // SAMPLES_PER_FUNCTION))
    power = min(degree, size)
    inner = inner_knots((values - low) / (high - low), size - power)
    bare = AnchoredSpline(column, low, high, inner, power, (0.0,) * (len(inner) + power))
    raw = bare.evaluate(confounder)
    if reference is not None:
        point = np.zeros((1, confounder.shape[1]))
        point[0, column] = reference
        raw = bare.evaluate(point)
    return replace(bare, subtracted=tuple(raw.mean(axis=0).tolist()))


def factor_levels(
    confounder: Array, column: int, levels: int, reference: int | None = None
) -> FactorLevels | None:
    """Contrasts of the levels that have enough samples; rare levels are merged into one.

    Parameters
    ----------
    confounder : ndarray of shape (n, m)
    column : int
        Column of level numbers from 0 to levels - 1.
    levels : int
    reference : int, optional
        Level at which R vanishes; if absent, R averages to zero over the samples.

    Returns
    -------
    FactorLevels or None
        None where fewer than two cells have enough samples.
    """
    counts = np.bincount(confounder[:, column].astype(np.intp), minlength=levels)
    rare = (counts < SAMPLES_PER_FUNCTION) & (np.arange(levels) != reference)
    # Cell 0, with which the others are contrasted, is the reference or the most frequent level.
    order = [int(level) for level in np.argsort(-counts, kind="stable") if not rare[level]]
    if reference is not None:
        order = [reference, *(level for level in order if level != reference)]
    cells = np.full(levels, -1, dtype=np.intp)
    cells[order] = np.arange(len(order))
    count = len(order)
    if counts[rare].sum() >= SAMPLES_PER_FUNCTION:
        cells[rare] = count
        count += 1
    if count < 2:
        return None
    shares: tuple[float, ...] = ()
    if reference is None:
        # Levels without functions are not part of the average.
        within = np.bincount(cells[cells >= 0], counts[cells >= 0])
        shares = tuple((within / within.sum()).tolist())
    return FactorLevels(column, tuple(cells.tolist()), shares, count)
