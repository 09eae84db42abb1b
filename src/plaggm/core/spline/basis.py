"""Spline functions of the confounders that vanish below a threshold.

A confounder whose reference is zero has separate functions of the excess t = (|g| - g*)_+ on each side of
zero: B-splines with knots at quantiles of the observed excess, without the first one, so that all are zero
at t = 0. Other kinds of confounders have other terms (`plaggm.core.spline.anchored_terms`). The model is additive
in several confounders, R(g) = sum_m R_m(g_m).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import block_diag

from plaggm.array_types import Array, Index

# Smallest number of samples beyond the threshold for each function of a side.
SAMPLES_PER_FUNCTION = 5


class Term(Protocol):
    """Functions of one confounder."""

    @property
    def confounder(self) -> int:
        """Column of the confounder."""
        ...

    @property
    def size(self) -> int:
        """Number of functions."""
        ...

    def evaluate(self, confounder: Array) -> Array:
        """Functions at every sample of an (n, m) array: shape (n, size)."""
        ...

    def stretched(self, low: Array, high: Array) -> Term:
        """The same functions over a wider range of the confounders, from low (m,) to high (m,)."""
        ...

    def roughness(self) -> Array:
        """Matrix of the quadratic form of the roughness of coefficients: shape (size, size)."""
        ...

    def mean_square(self) -> Array:
        """Matrix of the quadratic form of a ridge penalty of coefficients: shape (size, size).

        The penalty depends on the span of the functions only, except for :class:`SplineSide`, whose matrix
        is the identity.
        """
        ...

    def exchangeable(self) -> Array | None:
        """Covariance, up to a factor, of the coefficients of exchangeable effects: shape (size, size).

        None if the covariance is learnt without such a form.
        """
        ...


@dataclass(frozen=True, slots=True)
class SplineSide:
    """The functions of one side of one confounder.

    Attributes
    ----------
    confounder : int
        Column of the confounder.
    sign : float
        +1 or -1: the side of the origin.
    threshold : float
        g*, where the functions start.
    reach : float
        Excess beyond which they are constant.
    inner_knots : tuple of float
        Knots between the ends, as shares of the reach.
    degree : int
    origin : float
        The value from which the excess is measured.
    """

    confounder: int
    sign: float
    threshold: float
    reach: float
    inner_knots: tuple[float, ...]
    degree: int
    origin: float = 0.0

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
        """Excess of each sample over the threshold as a share of the reach: shape (n,), in [0, 1]."""
        beyond = self.sign * (confounder[:, self.confounder] - self.origin) - self.threshold
        return np.clip(beyond / self.reach, 0.0, 1.0)

    def evaluate(self, confounder: Array) -> Array:
        """Functions at every sample: shape (n, size)."""
        t = self.excess(confounder)
        values = np.zeros((len(t), self.size))
        beyond = t > 0.0
        values[beyond] = later_bsplines(t[beyond], self.knots, self.degree)
        return values

    def stretched(self, low: Array, high: Array) -> SplineSide:
        """See :class:`Term`: only the last knot is moved."""
        end = high[self.confounder] if self.sign > 0.0 else low[self.confounder]
        reach = self.sign * (float(end) - self.origin) - self.threshold
        inner = tuple(knot * self.reach / reach for knot in self.inner_knots)
        return replace(self, reach=reach, inner_knots=inner)

    def roughness(self) -> Array:
        """Integrals of the products of second derivatives over [0, 1]: shape (size, size)."""
        return spline_roughness(tuple(self.knots), self.degree)

    def mean_square(self) -> Array:
        """See :class:`Term`."""
        return np.eye(self.size)

    def exchangeable(self) -> None:
        """See :class:`Term`."""
        return


@dataclass(frozen=True, slots=True)
class SplineBasis:
    """All functions of all confounders.

    Attributes
    ----------
    terms : tuple of Term
        Empty if no sample lies beyond its threshold.
    """

    terms: tuple[Term, ...]

    @property
    def size(self) -> int:
        """Number of functions M."""
        return sum(term.size for term in self.terms)

    @property
    def confounders(self) -> Index:
        """Column of the confounder of every function: shape (M,)."""
        owners = [term.confounder for term in self.terms]
        return np.repeat(np.array(owners, dtype=np.intp), [term.size for term in self.terms])

    def evaluate(self, confounder: Array) -> Array:
        """Functions at every sample: shape (n, M)."""
        if not self.terms:
            return np.zeros((len(confounder), 0))
        return np.hstack([term.evaluate(confounder) for term in self.terms])

    def stretched(self, low: Array, high: Array) -> SplineBasis:
        """The same functions over a wider range of the confounders, from low (m,) to high (m,)."""
        return SplineBasis(tuple(term.stretched(low, high) for term in self.terms))

    def mean_square(self) -> Array:
        """Block-diagonal matrix of :meth:`Term.mean_square` of all terms: shape (M, M)."""
        return np.asarray(block_diag(np.zeros((0, 0)), *(one.mean_square() for one in self.terms)))

    def slices(self) -> list[slice]:
        """Columns of the functions of each term."""
        ends = np.cumsum([term.size for term in self.terms])
        return [
            slice(int(end) - term.size, int(end))
            for term, end in zip(self.terms, ends, strict=True)
        ]


def later_bsplines(t: Array, knots: Array, degree: int) -> Array:
    """All B-splines except the first, which is the only one that is not zero at the first knot.

    Parameters
    ----------
    t : ndarray of shape (n,)
        Points within the knots.
    knots : ndarray
        Clamped.
    degree : int

    Returns
    -------
    ndarray of shape (n, len(knots) - degree - 2)
    """
    values = np.zeros((len(t), len(knots) - degree - 1))
    rows = np.arange(len(t))
    first, nonzero = nonzero_bsplines(t, knots, degree)
    for place, column in enumerate(nonzero):
        values[rows, first + place] = column
    return np.ascontiguousarray(values[:, 1:])


@lru_cache(maxsize=64)
def spline_roughness(clamped: tuple[float, ...], degree: int) -> Array:
    """Integrals of the products of second derivatives of :func:`later_bsplines`: shape (size, size).

    Linear functions have none; the products of the changes of slope at the knots take their place. The
    array is cached and cannot be written to.
    """
    energy = _roughness(np.array(clamped), degree)
    energy.flags.writeable = False
    return energy


def _roughness(knots: Array, degree: int) -> Array:
    size = len(knots) - degree - 2
    if degree < 2:
        slopes = np.diff(np.eye(size + 1)[:, 1:], axis=0) / np.diff(knots[1:-1])[:, None]
        bends = np.diff(slopes, axis=0)
        return bends.T @ bends
    # Between knots the products are polynomials, which Gauss-Legendre quadrature integrates exactly.
    nodes, weights = np.polynomial.legendre.leggauss(degree)
    edges = np.unique(knots)
    half = 0.5 * np.diff(edges)
    at = (edges[:-1] + half)[:, None] + half[:, None] * nodes
    bends = BSpline(knots, np.eye(size + 1), degree).derivative(2)(at.ravel())
    mass = (half[:, None] * weights).ravel()
    energy: Array = (bends[:, 1:] * mass[:, None]).T @ bends[:, 1:]
    return energy


def nonzero_bsplines(t: Array, knots: Array, degree: int) -> tuple[Index, list[Array]]:
    """The non-zero B-splines at each point, by de Boor's recursion.

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
        Number of the first non-zero function.
    values : list of degree + 1 ndarrays of shape (n,)
        Values of this function and of the following ones.
    """
    interval = np.searchsorted(knots, t, side="right") - 1
    # The last interval includes its right end.
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
    """Functions of confounders with reference zero, placed over their observed values.

    Parameters
    ----------
    confounder : ndarray of shape (n, m)
    threshold : ndarray of shape (m,)
    functions : int
        Number for each side of each confounder; fewer, and of lower degree, if a side has few samples.
    degree : int

    Returns
    -------
    SplineBasis
    """
    sides: list[SplineSide] = []
    for column in range(confounder.shape[1]):
        sides += spline_sides(confounder, column, float(threshold[column]), functions, degree)
    return SplineBasis(tuple(sides))


def spline_sides(
    confounder: Array,
    column: int,
    threshold: float,
    functions: int,
    degree: int,
    origin: float = 0.0,
) -> list[SplineSide]:
    """Functions of one confounder on those sides of an origin that have enough samples.

    Parameters
    ----------
    confounder : ndarray of shape (n, m)
    column : int
    threshold : float
    functions, degree : int
        See :func:`spline_basis`.
    origin : float
    """
    sides = []
    for sign in (1.0, -1.0):
        beyond = sign * (confounder[:, column] - origin) - threshold
        beyond = beyond[beyond > 0.0]
        if len(beyond) < SAMPLES_PER_FUNCTION:
            continue
        # A side with a single value has one function.
        distinct = len(np.unique(beyond))
        size = max(1, min(functions, distinct // SAMPLES_PER_FUNCTION))
        power = min(degree, size)
        reach = float(beyond.max())
        inner = inner_knots(beyond / reach, size - power)
        sides.append(SplineSide(column, sign, threshold, reach, inner, power, origin))
    return sides


def inner_knots(t: Array, count: int) -> tuple[float, ...]:
    """At most ``count`` distinct knots between 0 and 1, at quantiles of the points t (n,)."""
    levels = np.linspace(0.0, 1.0, count + 2)[1:-1]
    knots = np.unique(np.quantile(t, levels)) if len(levels) else np.zeros(0)
    return tuple(float(knot) for knot in knots if 0.0 < knot < 1.0)
