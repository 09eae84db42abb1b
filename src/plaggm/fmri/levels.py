"""Offsets and scales of scans, and the mean shift due to motion, removed from all series.

Offset and unit of every region are arbitrary in a scan. The mean and the standard deviation of all
volumes are unsuitable, since motion affects both. Removing that mean moves the volumes without motion in
the direction in which motion shifts the others, further the more a person moves, and in pooled volumes
such offsets look like edges between all regions that motion shifts. Dividing by that deviation makes the
same shift smaller in subjects that move more, so that no nuisance is shared any more. Here the offset o_s
and the units c_s of scan s are those of

    x_st = o_s + c_s (B f(g_st) + noise),    noise variance v(g_st),

with one shift B f(g) and one variance v(g) for all subjects, as for the nuisance of the networks. The shift
is subtracted as well: left in the regressors, it would enter every regression through the network, and
through products with R(g) that the nuisance does not contain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.fmri.subjects import Subject

# Functions of the confounders (n, k), series (n, p) and bins (n,) of a subject's volumes.
_Rows = tuple[Array, Array, Index]

# Functions of all amounts of motion together, and the fewest of each; positions have one.
FUNCTIONS, FEWEST_FUNCTIONS = 8, 2
# Bins of the size of motion, in each of which volumes have one variance.
BINS = 20
# Smallest variance of a bin, relative to that of all volumes.
SMALLEST_VARIANCE = 1e-3
# Alternating steps of the shift, the variances and the units.
STEPS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """Effects of motion on the mean and the variance of all series.

    Attributes
    ----------
    sizes : ndarray of shape (m,)
        Median absolute values of the confounders, by which they are made comparable.
    amounts : ndarray of int
        Columns of the confounders that say how much the head moved.
    knots : tuple of m ndarrays of shape (k_m + 1,)
        Quantiles of the confounders: the shift is piecewise linear between them, constant beyond.
    coefficients : ndarray of shape (k, p)
        Coefficients of the shift, in levelled units; k functions of all confounders.
    limits : ndarray of shape (BINS - 1,)
        Sizes of motion between the bins.
    weights : ndarray of shape (BINS,)
        Inverse variances of the bins, in levelled units.
    """

    sizes: Array = field(repr=False)
    amounts: Index = field(repr=False)
    knots: tuple[Array, ...] = field(repr=False)
    coefficients: Array = field(repr=False)
    limits: Array = field(repr=False)
    weights: Array = field(repr=False)

    def levelled(self, subject: Subject) -> Array:
        """The series of a subject in their units, without offsets and shift: shape (n, p).

        The subject need not be one of those that the levels were learnt from. Every run has offsets and
        units of its own.
        """
        levelled = []
        for scan in subject.by_run():
            offset, unit = self.place(scan)
            levelled.append((scan.x - offset) / unit - self._shift(scan))
        return np.concatenate(levelled)

    def place(self, subject: Subject) -> tuple[Array, Array]:
        """Offset and unit of every region of one scan by maximum likelihood, each of shape (p,).

        Offsets are known up to one constant for all scans, units up to one factor. With x and the shift
        h centred, the derivative by c of ``log c + mean(w (x - c h)^2) / (2 c^2)`` vanishes where
        ``c^2 + c mean(w x h) - mean(w x^2) = 0``, which has one positive root.
        """
        shift = self._shift(subject)
        weights = self.weights[_bins(subject, self.sizes, self.amounts, self.limits)]
        means = [np.average(part, axis=0, weights=weights) for part in (subject.x, shift)]
        x, h = subject.x - means[0], shift - means[1]
        square = np.mean(weights[:, None] * x**2, axis=0)
        product = np.mean(weights[:, None] * x * h, axis=0)
        unit = 0.5 * (np.sqrt(product**2 + 4.0 * square) - product)
        return means[0] - unit * means[1], unit

    def _shift(self, subject: Subject) -> Array:
        """Shift of the mean of every volume due to motion, in levelled units: shape (n, p)."""
        return np.asarray(_functions(subject, self.sizes, self.knots) @ self.coefficients)


def confounder_sizes(subjects: Sequence[Subject]) -> Array:
    """Median size of every confounder: shape (m,)."""
    size = np.median(np.abs(np.concatenate([subject.confounder for subject in subjects])), axis=0)
    return np.where(size > 0.0, size, 1.0)


def learn_levels(
    subjects: Sequence[Subject], sizes: Array, positions: Sequence[int] = ()
) -> Levels:
    """Estimate the shift and the variance that motion causes in all subjects.

    Weighted least squares with an intercept for each scan; the shift, the variances of the bins and the
    scans' units are found in turn.

    Parameters
    ----------
    subjects : sequence of Subject
    sizes : ndarray of shape (m,)
        See :func:`confounder_sizes`.
    positions : sequence of int
        Columns of confounders that are positions of the head: the shift is linear in them, and they say
        nothing about the variance.

    Returns
    -------
    Levels
    """
    subjects = [scan for subject in subjects for scan in subject.by_run()]
    g = np.concatenate([subject.confounder for subject in subjects])
    amounts = np.setdiff1d(np.arange(g.shape[1]), positions)
    count = max(FEWEST_FUNCTIONS, FUNCTIONS // len(amounts))
    knots = tuple(
        np.quantile(column, np.linspace(0.0, 1.0, (1 if place in positions else count) + 1))
        for place, column in enumerate(g.T)
    )
    limits = np.quantile(
        np.concatenate([_size(subject, sizes, amounts) for subject in subjects]),
        np.arange(1, BINS) / BINS,
    )
    rows = [
        (_functions(subject, sizes, knots), subject.x, _bins(subject, sizes, amounts, limits))
        for subject in subjects
    ]
    weights = np.ones(BINS)
    for step in range(STEPS + 1):
        weights = _inverse_variances(rows, weights, _shift(rows, weights))
        levels = Levels(sizes, amounts, knots, _shift(rows, weights), limits, weights)
        if step < STEPS:
            rows = [
                (functions, subject.x / levels.place(subject)[1], bins)
                for subject, (functions, _, bins) in zip(subjects, rows, strict=True)
            ]
    return levels


def _centred(rows: Sequence[_Rows], weights: Array) -> Iterator[_Rows]:
    """Functions and series of every subject without their weighted means."""
    for functions, x, bins in rows:
        w = weights[bins]
        f, y = (part - np.average(part, axis=0, weights=w) for part in (functions, x))
        yield f, y, bins


def _shift(rows: Sequence[_Rows], weights: Array) -> Array:
    """Coefficients of the shift given the bins' weights: shape (k, p)."""
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


def _size(subject: Subject, sizes: Array, amounts: Index) -> Array:
    """Largest amount of motion of every volume, in usual sizes: shape (n,)."""
    return np.asarray(np.max(np.abs(subject.confounder / sizes)[:, amounts], axis=1))


def _bins(subject: Subject, sizes: Array, amounts: Index, limits: Array) -> Index:
    return np.searchsorted(limits, _size(subject, sizes, amounts))


def _functions(subject: Subject, sizes: Array, knots: tuple[Array, ...]) -> Array:
    """Piecewise linear functions of the confounders, constant beyond the outermost knots: (n, k)."""
    parts = [
        np.maximum(np.clip(g, own[0], own[-1])[:, None] - own[:-1], 0.0) / size
        for g, own, size in zip(subject.confounder.T, knots, sizes, strict=True)
    ]
    return np.hstack(parts)
