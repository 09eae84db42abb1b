"""Spline functions of the confounders that vanish where there is no confounding.

Each confounder and each side of zero has functions of its own, of the excess t = (|g| - g*)_+ on that
side: B-splines with knots at quantiles of the observed excess, the first one left out so that all are
zero at t = 0. Several confounders simply add their functions, which is the additive model
R(g) = sum_m R_m(g_m).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import BSpline

from plaggm.array_types import Array, Index

# Samples beyond the threshold that each function of a side must have.
SAMPLES_PER_FUNCTION = 5


@dataclass(frozen=True, slots=True)
class SplineSide:
    """The functions of one side of one confounder.

    Attributes
    ----------
    confounder : int
        Column of the confounder.
    sign : float
        +1 or -1: the side of zero.
    threshold : float
        g*, where the functions start.
    reach : float
        Excess at which they end; beyond it they stay as they are there.
    inner_knots : tuple of float
        Knots between the ends, as shares of the reach.
    degree : int
        One for linear ramps, three for cubic splines.
    """

    confounder: int
    sign: float
    threshold: float
    reach: float
    inner_knots: tuple[float, ...]
    degree: int

    @property
    def size(self) -> int:
        """Number of functions."""
        return len(self.inner_knots) + self.degree

    @property
    def knots(self) -> Array:
        """Clamped knot vector on [0, 1]."""
        ends = self.degree + 1
        return np.concatenate([np.zeros(ends), self.inner_knots, np.ones(ends)])

    def excess(self, confounder: Array) -> Array:
        """Part of the reach by which each sample exceeds the threshold: shape (n,), in [0, 1]."""
        beyond = self.sign * confounder[:, self.confounder] - self.threshold
        return np.clip(beyond / self.reach, 0.0, 1.0)

    def evaluate(self, confounder: Array) -> Array:
        """Functions at every sample: shape (n, size)."""
        t = self.excess(confounder)
        values = np.zeros((len(t), self.size + 1))
        beyond = np.flatnonzero(t > 0.0)
        first, busy = busy_bsplines(t[beyond], self.knots, self.degree)
        for place, column in enumerate(busy):
            values[beyond, first + place] = column
        return np.ascontiguousarray(values[:, 1:])

    def stretched(self, low: Array, high: Array) -> SplineSide:
        """The same knots, the last one moved to the end of a range (m values each way)."""
        end = high[self.confounder] if self.sign > 0.0 else -low[self.confounder]
        reach = float(end) - self.threshold
        inner = tuple(knot * self.reach / reach for knot in self.inner_knots)
        return replace(self, reach=reach, inner_knots=inner)

    def roughness(self) -> Array:
        """Integrals of the products of second derivatives over [0, 1]: shape (size, size)."""
        if self.degree < 2:
            # Ramps have none; the squared changes of slope at the knots take their place.
            slopes = (
                np.diff(np.eye(self.size + 1)[:, 1:], axis=0)
                / np.diff(np.concatenate([[0.0], self.inner_knots, [1.0]]))[:, None]
            )
            bends = np.diff(slopes, axis=0)
            return bends.T @ bends
        # Between knots the products are polynomials, which Gauss-Legendre nodes integrate exactly.
        nodes, weights = np.polynomial.legendre.leggauss(self.degree)
        edges = np.unique(self.knots)
        half = 0.5 * np.diff(edges)
        at = (edges[:-1] + half)[:, None] + half[:, None] * nodes
        bends = BSpline(self.knots, np.eye(self.size + 1), self.degree).derivative(2)(at.ravel())
        mass = (half[:, None] * weights).ravel()
        energy: Array = (bends[:, 1:] * mass[:, None]).T @ bends[:, 1:]
        return energy


@dataclass(frozen=True, slots=True)
class SplineBasis:
    """All functions of all confounders.

    Attributes
    ----------
    sides : tuple of SplineSide
        Empty where no sample lies beyond its threshold.
    """

    sides: tuple[SplineSide, ...]

    @property
    def size(self) -> int:
        """Number of functions M."""
        return sum(side.size for side in self.sides)

    @property
    def confounders(self) -> Index:
        """Column of the confounder of every function: shape (M,)."""
        owners = [side.confounder for side in self.sides]
        return np.repeat(np.array(owners, dtype=np.intp), [side.size for side in self.sides])

    def evaluate(self, confounder: Array) -> Array:
        """Functions at every sample: shape (n, M)."""
        if not self.sides:
            return np.zeros((len(confounder), 0))
        return np.hstack([side.evaluate(confounder) for side in self.sides])

    def stretched(self, low: Array, high: Array) -> SplineBasis:
        """The same functions laid over a wider range of the confounders, from low to high."""
        return SplineBasis(tuple(side.stretched(low, high) for side in self.sides))

    def slices(self) -> list[slice]:
        """Columns of each side."""
        ends = np.cumsum([side.size for side in self.sides])
        return [
            slice(int(end) - side.size, int(end))
            for side, end in zip(self.sides, ends, strict=True)
        ]


def busy_bsplines(t: Array, knots: Array, degree: int) -> tuple[Index, list[Array]]:
    """The B-splines that are not zero at each point, by de Boor's recursion.

    Parameters
    ----------
    t : ndarray of shape (n,)
        Points within the knots.
    knots : ndarray
        Clamped.
    degree : int

    Returns
    -------
    first : ndarray of int of shape (n,)
        Number of the first such function.
    values : list of degree + 1 ndarrays of shape (n,)
        Values of this function and of those after it.
    """
    interval = np.searchsorted(knots, t, side="right") - 1
    # The last interval holds its right end as well.
    interval = np.minimum(interval, len(knots) - degree - 2)
    values = [np.ones_like(t)]
    for power in range(1, degree + 1):
        raised = [np.zeros_like(t) for _ in range(power + 1)]
        for place, value in enumerate(values):
            left = knots[interval - power + 1 + place]
            right = knots[interval + 1 + place]
            share = (t - left) / (right - left)
            raised[place] += (1.0 - share) * value
            raised[place + 1] += share * value
        values = raised
    return interval - degree, values


def spline_basis(
    confounder: Array, threshold: Array, *, functions: int = 4, degree: int = 3
) -> SplineBasis:
    """Place the functions over the observed confounders.

    Parameters
    ----------
    confounder : ndarray of shape (n, m)
    threshold : ndarray of shape (m,)
    functions : int
        Number for each side of each confounder; fewer, and of lower degree, where a side has few samples.
    degree : int

    Returns
    -------
    SplineBasis
    """
    sides = []
    for column in range(confounder.shape[1]):
        for sign in (1.0, -1.0):
            beyond = sign * confounder[:, column] - threshold[column]
            beyond = beyond[beyond > 0.0]
            if len(beyond) < SAMPLES_PER_FUNCTION:
                continue
            # A side with one level, such as a batch, has one function.
            distinct = len(np.unique(beyond))
            size = max(1, min(functions, distinct // SAMPLES_PER_FUNCTION))
            power = min(degree, size)
            reach = float(beyond.max())
            levels = np.linspace(0.0, 1.0, size - power + 2)[1:-1]
            knots = np.unique(np.quantile(beyond, levels) / reach) if len(levels) else np.zeros(0)
            inner = tuple(float(knot) for knot in knots if 0.0 < knot < 1.0)
            sides.append(SplineSide(column, sign, float(threshold[column]), reach, inner, power))
    return SplineBasis(tuple(sides))
