"""Outliers, heavy tails and codes for missing values in the columns of a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array

# Distance from the location, in spreads, above which a cell is an outlier; the same for heavy tails.
FAR, FAR_IN_TAILS = 8.0, 15.0
# Distance in spreads beyond which Gaussian columns have 0.006 % of their values, and smallest share and
# number of values beyond it that make a heavy tail.
TAIL, HEAVY_SHARE, HEAVY_COUNT = 4.0, 0.005, 5
# Codes that tables use for missing values; positive ones below ``ODD_ENOUGH`` must occur more than once.
CODES = tuple(
    sign * number for number in (9, 77, 88, 99, 777, 888, 999, 9999, 99999) for sign in (-1.0, 1.0)
)
ODD_ENOUGH = 900.0
# A code is detached if its distance from all other values exceeds this multiple of their range.
DETACHED = 0.5
# Smallest share of a common value, and its smallest ratio to the share of the next value.
COMMON, NEXT = 0.2, 2.0
# Quantiles that define the range of the other values.
RANGE = (0.01, 0.99)


@dataclass(frozen=True, slots=True)
class FarCell:
    """A cell far from its column's location, and its signed distance in spreads."""

    row: int
    column: int
    distance: float


@dataclass(frozen=True, slots=True)
class Tail:
    """A column with heavy tails, and the share of its values beyond ``TAIL`` spreads."""

    column: int
    share: float


@dataclass(frozen=True, slots=True)
class Code:
    """A code for missing values, the number of its occurrences and the row of the first one."""

    column: int
    value: float
    count: int
    first_row: int


def heavy_tails(standardised: Array) -> tuple[Tail, ...]:
    """Columns with more values beyond ``TAIL`` spreads than Gaussian ones, heaviest tails first.

    Parameters
    ----------
    standardised : ndarray of shape (n, p)
        Signed distances from the location in spreads; not finite for missing values.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> both = np.column_stack([draw.standard_normal(1000), draw.standard_t(2, 1000)])
    >>> [tail.column for tail in heavy_tails(both)]
    [1]
    """
    known = np.isfinite(standardised)
    beyond = np.sum(known & (np.abs(standardised) > TAIL), axis=0)
    share = beyond / np.maximum(known.sum(axis=0), 1)
    heavy = np.flatnonzero((share >= HEAVY_SHARE) & (beyond >= HEAVY_COUNT))
    return tuple(
        Tail(int(j), float(share[j])) for j in heavy[np.argsort(-share[heavy], kind="stable")]
    )


def far_cells(standardised: Array, heavy: tuple[Tail, ...] = ()) -> tuple[FarCell, ...]:
    """Cells far from their column's location, furthest first.

    Parameters
    ----------
    standardised : ndarray of shape (n, p)
        See :func:`heavy_tails`.
    heavy : tuple of Tail
        Columns with wider limits.
    """
    limit = np.full(standardised.shape[1], FAR)
    limit[[tail.column for tail in heavy]] = FAR_IN_TAILS
    with np.errstate(invalid="ignore"):
        rows, columns = np.nonzero(np.isfinite(standardised) & (np.abs(standardised) > limit))
    distance = standardised[rows, columns]
    order = np.argsort(-np.abs(distance), kind="stable")
    return tuple(FarCell(int(rows[k]), int(columns[k]), float(distance[k])) for k in order)


def common_value(column: Array) -> float | None:
    """The only value that many rows of a column share, such as zero; None if there is none.

    Parameters
    ----------
    column : ndarray of shape (n,)
        Not finite for missing values.

    Examples
    --------
    >>> common_value(np.array([0.0, 0.0, 1.3, 0.0, 0.4, 2.2, 0.7]))
    0.0
    >>> common_value(np.array([1.0, 2.0, 2.0, 1.0, 3.0])) is None
    True
    """
    values, counts = np.unique(column[np.isfinite(column)], return_counts=True)
    if len(values) < 3:
        return None
    next_most, most = np.partition(counts, -2)[-2:]
    if most < max(COMMON * counts.sum(), NEXT * next_most):
        return None
    return float(values[np.argmax(counts)])


def detached_codes(x: Array) -> tuple[Code, ...]:
    """Values such as -999 that are detached from the rest of their column.

    Parameters
    ----------
    x : ndarray of shape (n, p)
        Not finite for missing values.

    Examples
    --------
    >>> ages = np.array([[20.0], [31.0], [44.0], [-999.0], [58.0], [39.0]])
    >>> detached_codes(ages)
    (Code(column=0, value=-999.0, count=1, first_row=3),)
    """
    found = []
    for j, column in enumerate(x.T):
        coded = np.isin(column, CODES)
        if not coded.any():
            continue
        rest = column[np.isfinite(column) & ~coded]
        if not rest.size:
            continue
        low, high = np.quantile(rest, RANGE)
        gap = DETACHED * (high - low)
        for value in np.unique(column[coded]):
            rows = np.flatnonzero(column == value)
            nearest = np.min(np.abs(rest - value))
            # Two values make a binary column (low == high); a small positive number may be a count.
            seldom = len(rows) < 2 and 0.0 < value < ODD_ENOUGH
            if high > low and nearest > gap and not seldom:
                found.append(Code(j, float(value), len(rows), int(rows[0])))
    return tuple(found)
