"""Series of all scans on one level: every scan's own offset and unit removed, whatever its motion.

The mean of a scan is arbitrary and has to be removed. Removing the mean of all its volumes, however, moves
those without motion, in the direction in which motion shifts the others, and further the more a person
moves. In pooled volumes such offsets look like edges between all regions that motion shifts. Here the
offset of scan s is its intercept in

    x_st = offset_s + B f(g_st) + noise,    noise variance v(g_st),

with one shift B f(g) and one variance for everybody, as for the nuisance of the networks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.fmri.subjects import Subject

# Functions of the confounders (n, k m), series (n, p) and bins (n,) of a subject's volumes.
_Rows = tuple[Array, Array, Index]

# Functions of all confounders together, and the fewest of each.
FUNCTIONS, FEWEST_FUNCTIONS = 8, 2
# Bins of the size of motion, in each of which volumes have one variance, and steps that find the variances.
BINS, STEPS = 20, 3
# Smallest variance of a bin, relative to that of all volumes.
SMALLEST_VARIANCE = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """What motion does to the mean and the variance of everybody's series.

    Attributes
    ----------
    units : ndarray of shape (m,)
        Numbers by which confounders are divided to make them comparable.
    knots : ndarray of shape (k + 1, m)
        Quantiles of the confounders: the shift is piecewise linear between them, constant beyond.
    coefficients : ndarray of shape (k m, p)
        Coefficients of the shift.
    limits : ndarray of shape (BINS - 1,)
        Sizes of motion between the bins.
    weights : ndarray of shape (BINS,)
        Inverse variances of the bins.
    """

    units: Array = field(repr=False)
    knots: Array = field(repr=False)
    coefficients: Array = field(repr=False)
    limits: Array = field(repr=False)
    weights: Array = field(repr=False)

    def offset(self, subject: Subject) -> Array:
        """Mean of a subject's series without motion, up to one constant for all subjects: shape (p,)."""
        weights = self.weights[_bins(subject, self.units, self.limits)]
        shift = _functions(subject, self.units, self.knots) @ self.coefficients
        return np.asarray(np.average(subject.x - shift, axis=0, weights=weights))

    def levelled(self, subject: Subject) -> Array:
        """The series without their offset, in units of the half of the volumes with less motion.

        The spread of a whole scan grows with its motion. Dividing by it would make the volumes of a
        restless subject that are free of motion look less variable than those of others, and hide from the
        pooled data how motion inflates the variance.

        Parameters
        ----------
        subject : Subject
            Need not be one of those that the levels were learnt from.

        Returns
        -------
        ndarray of shape (n, p)
        """
        size = _size(subject, self.units)
        still = subject.x[size <= np.median(size)]
        unit = np.sqrt(np.mean((still - still.mean(axis=0)) ** 2))
        return np.asarray((subject.x - self.offset(subject)) / unit, dtype=np.float64)


def confounder_units(subjects: Sequence[Subject]) -> Array:
    """Median size of every confounder: shape (m,)."""
    size = np.median(np.abs(np.concatenate([subject.confounder for subject in subjects])), axis=0)
    return np.where(size > 0.0, size, 1.0)


def learn_levels(subjects: Sequence[Subject], units: Array) -> Levels:
    """Estimate the shift and the variance that motion causes in everybody.

    Weighted least squares with an intercept for each subject; variances of the bins and coefficients are
    found in turn.

    Parameters
    ----------
    subjects : sequence of Subject
    units : ndarray of shape (m,)
        See :func:`confounder_units`.

    Returns
    -------
    Levels
    """
    g = np.concatenate([subject.confounder for subject in subjects])
    count = max(FEWEST_FUNCTIONS, FUNCTIONS // g.shape[1])
    knots = np.quantile(g, np.linspace(0.0, 1.0, count + 1), axis=0)
    sizes = np.concatenate([_size(subject, units) for subject in subjects])
    limits = np.quantile(sizes, np.arange(1, BINS) / BINS)
    rows = [
        (_functions(subject, units, knots), subject.x, _bins(subject, units, limits))
        for subject in subjects
    ]
    weights = np.ones(BINS)
    for _ in range(STEPS):
        weights = _inverse_variances(rows, weights, _shift(rows, weights))
    return Levels(units, knots, _shift(rows, weights), limits, weights)


def _centred(rows: Sequence[_Rows], weights: Array) -> Iterator[_Rows]:
    """Functions and series of every subject without their weighted means."""
    for functions, x, bins in rows:
        w = weights[bins]
        f, y = (part - np.average(part, axis=0, weights=w) for part in (functions, x))
        yield f, y, bins


def _shift(rows: Sequence[_Rows], weights: Array) -> Array:
    """Coefficients of the shift given the bins' weights: shape (k m, p)."""
    first, series, _ = rows[0]
    gram = np.zeros((first.shape[1], first.shape[1]))
    cross = np.zeros((first.shape[1], series.shape[1]))
    for functions, x, bins in _centred(rows, weights):
        weighted = weights[bins, None] * functions
        gram += weighted.T @ functions
        cross += weighted.T @ x
    # Some functions follow from others where many volumes have the same confounder.
    return np.asarray(np.linalg.lstsq(gram, cross, rcond=None)[0])


def _inverse_variances(rows: Sequence[_Rows], weights: Array, coefficients: Array) -> Array:
    """Inverse mean squares of what the shift leaves of the volumes of each bin: shape (BINS,)."""
    squares, count = np.zeros(BINS), np.zeros(BINS)
    for functions, x, bins in _centred(rows, weights):
        squares += np.bincount(bins, np.mean((x - functions @ coefficients) ** 2, axis=1), BINS)
        count += np.bincount(bins, minlength=BINS)
    smallest = SMALLEST_VARIANCE * squares.sum() / count.sum()
    return np.asarray(1.0 / np.maximum(squares / np.maximum(count, 1.0), smallest))


def _size(subject: Subject, units: Array) -> Array:
    """Largest confounder of every volume, in units: shape (n,)."""
    return np.asarray(np.max(np.abs(subject.confounder) / units, axis=1))


def _bins(subject: Subject, units: Array, limits: Array) -> Index:
    return np.searchsorted(limits, _size(subject, units))


def _functions(subject: Subject, units: Array, knots: Array) -> Array:
    """Piecewise linear functions of the confounders, constant beyond the outermost knots: (n, k m)."""
    g = np.clip(subject.confounder, knots[0], knots[-1])
    beyond = np.maximum(g[:, None, :] - knots[:-1], 0.0) / units
    return beyond.reshape(len(g), -1)
