r"""One autoregressive filter for all columns of a series, fitted and applied within runs.

If all columns obey the same autoregression,

    e_t = sum_l a_l e_{t-l} + u_t,        u_t independent over time with the network of interest,

then filtering every column by the same a preserves the conditional independences between the columns and
makes the rows independent. The autocovariances average over all directions of the columns, S being their
covariance,

    gamma_l = mean of e_t' S^{-1} e_{t-l} / p,

so that columns or common components of large variance do not dominate. A row with fewer predecessors in its
run than the order of the filter is predicted from those available and rescaled to the variance of the
others: no row is lost, and none is predicted across the start of a run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index

# Largest order, and minimum number of rows of all runs for each order.
MOST_ORDER = 12
ROWS_PER_ORDER = 15


@dataclass(frozen=True, slots=True)
class Autoregression:
    """An autoregressive filter with its stationary start.

    Attributes
    ----------
    predictors : tuple of ndarray
        Coefficients of the best prediction from the last k rows, nearest first, for k = 0 to the order.
    variances : ndarray of shape (order + 1,)
        Variance that each of these predictions leaves, that of the series being one.
    correlations : ndarray of shape (lags + 1,)
        Autocorrelations of the series from which the filter was fitted.
    """

    predictors: tuple[Array, ...]
    variances: Array
    correlations: Array

    @property
    def order(self) -> int:
        """Number of rows from which a row is predicted."""
        return len(self.predictors) - 1

    @property
    def coefficients(self) -> Array:
        """Coefficients of the filter, nearest row first: shape (order,)."""
        return self.predictors[-1]

    def apply(self, series: Array, position: Index) -> Array:
        """Prediction errors of all rows, scaled to equal variance.

        Parameters
        ----------
        series : ndarray of shape (n, p)
        position : ndarray of int of shape (n,)
            Number of predecessors of every row in its run; up to the order, they directly precede it.

        Returns
        -------
        ndarray of shape (n, p)
        """
        errors = np.array(series, dtype=np.float64)
        known = np.minimum(position, self.order)
        for count, predictor in enumerate(self.predictors):
            rows = np.flatnonzero(known == count)
            for lag, coefficient in enumerate(predictor, start=1):
                errors[rows] -= coefficient * series[rows - lag]
            errors[rows] *= np.sqrt(self.variances[-1] / self.variances[count])
        return errors

    def sample_share(self) -> float:
        r"""Effective number of independent rows per row of the series, for estimating a correlation.

        :math:`1 / (1 + 2 \sum_l r_l^2)`, with the autocorrelations r of the fitted autoregression.
        """
        r = list(self.correlations[: self.order + 1])
        total = float(np.sum(np.square(r[1:])))
        # Correlations beyond the order follow from the autoregression and decay geometrically.
        for _ in range(10_000 if self.order else 0):
            r.append(float(np.dot(self.coefficients, r[: -self.order - 1 : -1])))
            total += r[-1] ** 2
            if len(r) > 2 * self.order and max(map(abs, r[-self.order :])) < 1e-4:
                break
        return 1.0 / (1.0 + 2.0 * total)


# The filter that leaves all rows as they are.
NO_FILTER = Autoregression((np.zeros(0),), np.ones(1), np.ones(1))


def run_positions(runs: Index) -> Index:
    """Number of predecessors of every row in its run: shape (n,). A run ends where the label changes.

    Examples
    --------
    >>> run_positions(np.array([0, 0, 1, 1, 1, 0]))
    array([0, 1, 0, 1, 2, 0])
    """
    rows = np.arange(len(runs))
    begins = np.ones(len(runs), dtype=bool)
    begins[1:] = runs[1:] != runs[:-1]
    starts: Index = np.maximum.accumulate(np.where(begins, rows, 0))
    return rows - starts


def lag_sums(series: Array, position: Index, lags: int, first: int = 0) -> tuple[Array, Array]:
    """Sums of the products of rows with their predecessors in every column.

    Parameters
    ----------
    series : ndarray of shape (n, p)
    position : ndarray of int of shape (n,)
        See :meth:`Autoregression.apply`.
    lags : int
    first : int
        First row that is multiplied with its predecessors.

    Returns
    -------
    sums : ndarray of shape (lags + 1, p)
    counts : ndarray of shape (lags + 1,)
        Number of products in each sum.
    """
    sums, counts = np.zeros((lags + 1, series.shape[1])), np.zeros(lags + 1)
    for lag in range(lags + 1):
        rows = np.flatnonzero(position[first:] >= lag) + first
        sums[lag] = np.einsum("ij,ij->j", _taken(series, rows), _taken(series, rows - lag))
        counts[lag] = len(rows)
    return sums, counts


def _taken(series: Array, rows: Index) -> Array:
    """Rows of a series selected by an index; consecutive ones are not copied."""
    consecutive = len(rows) > 0 and rows[-1] - rows[0] < len(rows)
    return series[rows[0] : rows[-1] + 1] if consecutive else series[rows]


def tapered_correlations(sums: Array, counts: Array) -> Array:
    """Autocorrelations of every column, zero for columns without variance: shape (lags + 1, p).

    The mean product at lag l is multiplied by 1 - l / n. For a single run this is the sum divided by n,
    which guarantees a stationary series; unlike that sum it does not underestimate the correlations of many
    short runs, which have few pairs of rows.

    Parameters
    ----------
    sums, counts
        See :func:`lag_sums`.
    """
    n = max(counts[0], 1.0)
    taper = 1.0 - np.arange(len(counts)) / n
    means = sums * (np.maximum(taper, 0.0) / np.maximum(counts, 1.0))[:, None]
    return np.asarray(means / np.where(means[0] > 0.0, means[0], 1.0))


def block_length(correlations: Array, n: int) -> float:
    r"""Block length that minimises the error of a block jackknife of products of the columns.

    Politis and White's (2004) rule :math:`(2 G^2 / D)^{1/3} n^{1/3}`, for the column with the longest
    blocks. The products' autocorrelations are the squares :math:`r_l^2`, minus their expectation under
    independence, so that :math:`G = 2 \sum_l l r_l^2` and :math:`D = \frac43 (1 + 2 \sum_l r_l^2)^2`.

    Parameters
    ----------
    correlations : ndarray of shape (lags + 1, p)
        See :func:`tapered_correlations`.
    n : int
        Rows.
    """
    lags = np.arange(1, len(correlations))
    squares = correlations[1:] ** 2 - 1.0 / max(n, 1)
    drift = np.maximum(2.0 * lags @ squares, 0.0)
    spread = 1.0 + np.maximum(2.0 * squares.sum(axis=0), 0.0)
    return float(np.max(np.cbrt(1.5 * (drift / spread) ** 2 * n), initial=0.0))


def most_order(n: int, longest: int) -> int:
    """Largest order that n rows support, given the length of the longest run."""
    return int(max(min(MOST_ORDER, n // ROWS_PER_ORDER, longest - 1), 0))


def fit_autoregression(sums: Array, counts: Array, order: int | None) -> Autoregression:
    """The filter for the autocovariances of all columns together, by Levinson's recursion.

    Parameters
    ----------
    sums : ndarray of shape (lags + 1, p)
    counts : ndarray of shape (lags + 1,)
        See :func:`lag_sums`.
    order : int or None
        Order of the filter; None for the one with the smallest BIC, up to the number of lags.

    Returns
    -------
    Autoregression
    """
    r = tapered_correlations(sums.sum(axis=1, keepdims=True), counts)[:, 0]
    predictors, variances = [np.zeros(0)], [1.0]
    for lag in range(1, len(r)):
        before = predictors[-1]
        partial = (r[lag] - before @ r[lag - 1 : 0 : -1]) / variances[-1]
        if not abs(partial) < 1.0:
            break
        predictors.append(np.append(before - partial * before[::-1], partial))
        variances.append(variances[-1] * (1.0 - partial**2))
    values = np.array(variances)
    if order is None:
        orders = np.arange(len(values))
        size = counts[0] * sums.shape[1]
        order = int(np.argmin(size * np.log(values) + orders * np.log(size)))
    order = min(order, len(values) - 1)
    return Autoregression(tuple(predictors[: order + 1]), values[: order + 1], r)


def contiguous_blocks(runs: Index, length: int, most: int) -> Index:
    """Number of the contiguous block that every row belongs to: shape (n,).

    Every run is divided into blocks of about equal length. Neighbouring blocks, also of different runs, are
    joined if there are too many of them or if a run is too short for a block of its own.

    Parameters
    ----------
    runs : ndarray of int of shape (n,)
        A run ends where the label changes.
    length : int
        Minimum number of rows of a block.
    most : int
        Largest number of blocks.

    Examples
    --------
    >>> contiguous_blocks(np.array([0, 0, 0, 0, 0, 1, 1]), 2, 10)
    array([0, 0, 0, 1, 1, 2, 2])
    """
    position = run_positions(runs)
    starts = np.flatnonzero(position == 0)
    lengths = np.diff(np.append(starts, len(runs)))
    blocks = np.maximum(lengths // length, 1)
    which = np.repeat(np.arange(len(starts)), lengths)
    block = (position * blocks[which]) // lengths[which]
    block += (np.cumsum(blocks) - blocks)[which]
    if blocks.sum() <= most and (lengths >= length).all():
        return np.asarray(block, dtype=np.intp)
    # Blocks are joined by their middles, so that all have about the same number of rows.
    sizes = np.bincount(block)
    middle = np.cumsum(sizes) - 0.5 * sizes
    bound = max(min(most, len(runs) // length), 1)
    joined = np.floor(middle * bound / len(runs)).astype(np.intp)[block]
    return np.unique(joined, return_inverse=True)[1].astype(np.intp)
