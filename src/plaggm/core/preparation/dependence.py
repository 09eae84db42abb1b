"""Linear dependence among the columns of a table, from their correlations.

A column that is a linear function of the others has no partial correlations: its regression leaves no
residual. The eigenvectors of the correlation matrix with eigenvalue zero tell which columns these are. With
fewer rows than columns there always are such eigenvectors, so that only pairs of columns are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.preparation.column_ranges import column_ranges

# Variance of a standardised combination of columns below which it is zero up to rounding.
EXACT = 1e-9
# Smallest share of its variance that later columns leave to a column whose dependence is examined.
LITTLE_OWN = 1e-4
# Absolute correlation above which two columns are nearly the same.
CLOSE = 0.99
# Share of a column's variance that is not explained by the others, below which it nearly depends on them.
LITTLE_LEFT = 1e-3
# Smallest loading of the columns that are involved: in the null space, and in the last eigenvector.
INVOLVED, NEARLY_INVOLVED = 1e-4, 0.1
# Rows that are in memory at a time.
CHUNK = 4096
# Exponents above which powers of two may overflow.
LARGEST_POWER = 1000
# Largest difference between a rounded total and the sum of its terms, relative to the largest value.
ROUNDED = 1e-4


@dataclass(frozen=True, slots=True)
class Dependence:
    """Columns that depend, or nearly depend, linearly on others.

    Attributes
    ----------
    exact : bool
    pairs : tuple of (int, int, float)
        Two nearly equal columns each (equal up to unit and origin if exact) and their correlation,
        strongest first.
    columns : tuple of int
        Columns that depend on several others; empty if there are pairs.
    left : float
        Unexplained share of the variance of the column that the others explain best.
    """

    exact: bool
    pairs: tuple[tuple[int, int, float], ...]
    columns: tuple[int, ...]
    left: float


def correlations(*tables: Array) -> Array:
    """Correlation matrix of columns that are not constant, without overflow in any unit.

    Parameters
    ----------
    *tables : ndarray of shape (n, p)
        Tables of the same rows, whose columns are taken together.

    Returns
    -------
    ndarray of shape (number of all columns, number of all columns)
    """
    n = len(tables[0])
    ranges = [column_ranges(table) for table in tables]
    low, high = (np.concatenate(ends) for ends in zip(*ranges, strict=True))
    _, size = np.frexp(np.maximum(np.abs(low), np.abs(high)))

    def chunks() -> Iterator[Array]:
        for start in range(0, n, CHUNK):
            rows = [table[start : start + CHUNK] for table in tables]
            yield _times_power(rows[0] if len(rows) == 1 else np.concatenate(rows, axis=1), -size)

    mean = sum((chunk.sum(axis=0) for chunk in chunks()), np.zeros(len(low))) / n
    ends = np.abs(_times_power(np.array([low, high]), -size) - mean)
    _, spread = np.frexp(ends.max(axis=0))
    gram = np.zeros((len(low), len(low)))
    for chunk in chunks():
        centred = _times_power(chunk - mean, -spread)
        gram += centred.T @ centred
    deviation = np.sqrt(np.diagonal(gram))
    return np.asarray(gram / np.outer(deviation, deviation))


def _times_power(x: Array, power: Index) -> Array:
    """Columns times powers of two, so that squares neither overflow nor underflow; exact."""
    if np.abs(power).max(initial=0) < LARGEST_POWER:
        return np.asarray(x * np.ldexp(1.0, power))
    return np.asarray(np.ldexp(x, power))


def find_dependence(correlation: Array, n: int) -> Dependence | None:
    """The strongest linear dependence among columns, or None.

    Parameters
    ----------
    correlation : ndarray of shape (p, p)
    n : int
        Number of rows from which it was estimated.

    Returns
    -------
    Dependence or None

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((50, 3))
    >>> find_dependence(correlations(x), 50) is None
    True
    >>> total = np.column_stack([x, x[:, 0] + x[:, 2]])
    >>> find_dependence(correlations(total), 50).columns
    (0, 2, 3)
    """
    p = len(correlation)
    same = equal_pairs(correlation)
    if same:
        return Dependence(True, same, (), 0.0)
    close = close_pairs(correlation, CLOSE)
    if n <= p:
        return Dependence(False, close, (), 1.0 - close[0][2] ** 2) if close else None
    values, vectors = np.linalg.eigh(correlation)
    null = values < EXACT
    if null.any():
        length = np.linalg.norm(vectors[:, null], axis=1)
        return Dependence(True, (), tuple(np.flatnonzero(length > INVOLVED).tolist()), 0.0)
    # 1 - R^2 of every column on the others, adjusted for degrees of freedom.
    left = (n - 1) / (n - p) / np.sum(vectors**2 / values, axis=1)
    if close:
        return Dependence(False, close, (), float(left.min()))
    if left.min() >= LITTLE_LEFT:
        return None
    columns = np.flatnonzero(np.abs(vectors[:, 0]) > NEARLY_INVOLVED)
    return Dependence(False, (), tuple(columns.tolist()), float(left.min()))


def dependent_given(correlation: Array, n: int, p: int) -> tuple[int, ...]:
    """The first p columns that follow exactly from each other given all later ones.

    Parameters
    ----------
    correlation : ndarray of shape (p + m, p + m)
    n : int
        Number of rows from which it was estimated. Few rows tell nothing.
    p : int

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((50, 3))
    >>> dependent_given(correlations(x, x[:, :1] + x[:, 1:2]), 50, 3)
    (0, 1)
    """
    m = len(correlation) - p
    if not m or n - m <= p:
        return ()
    slopes = np.linalg.lstsq(correlation[p:, p:], correlation[p:, :p], rcond=None)[0]
    rest = correlation[:p, :p] - correlation[:p, p:] @ slopes
    # Columns that the later ones nearly determine have too few digits left.
    known = np.flatnonzero(np.diagonal(rest) > LITTLE_OWN)
    if len(known) < 2:
        return ()
    deviation = np.sqrt(np.diagonal(rest)[known])
    found = find_dependence(rest[np.ix_(known, known)] / np.outer(deviation, deviation), n - m)
    if found is None or not found.exact:
        return ()
    among = found.columns or {j for pair in found.pairs for j in pair[:2]}
    return tuple(sorted(int(known[j]) for j in among))


def equal_pairs(correlation: Array) -> tuple[tuple[int, int, float], ...]:
    """Pairs of columns that are equal up to unit and origin, with their correlation."""
    return close_pairs(correlation, 1.0 - EXACT)


def close_pairs(correlation: Array, limit: float) -> tuple[tuple[int, int, float], ...]:
    """Pairs of columns whose correlation exceeds a limit in absolute value, strongest first."""
    first, second = np.nonzero(np.triu(np.abs(correlation) > limit, 1))
    found = correlation[first, second]
    order = np.argsort(-np.abs(found), kind="stable")
    return tuple((int(first[k]), int(second[k]), float(found[k])) for k in order)


def find_total(x: Array) -> int | None:
    """The column that is the sum of all others up to a constant, if exactly one is.

    Parameters
    ----------
    x : ndarray of shape (n, k)
        Columns each of which depends on the others.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((50, 2))
    >>> find_total(np.column_stack([x[:, 0], x.sum(axis=1), x[:, 1]]))
    1
    """
    centred = x - x.mean(axis=0)
    size = np.abs(centred).max()
    left = np.abs(centred.sum(axis=1)[:, None] - 2.0 * centred).max(axis=0)
    totals = np.flatnonzero(left <= ROUNDED * size)
    return int(totals[0]) if len(totals) == 1 else None
