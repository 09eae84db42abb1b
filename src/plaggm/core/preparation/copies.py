"""Duplicated rows, which tests would count as independent samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from plaggm.array_types import Array, Index

# Smallest share of the rows that must be copies.
SHARE = 0.1
# Rows cannot coincide by chance if their possible combinations of values number at least n to this power.
POWER = 4.0
# Number of columns that are compared first: in most tables no two rows agree in them.
FIRST = 2


def first_copies(*tables: Array, share: float = SHARE) -> Index | None:
    """First row of every set of identical rows; None unless many rows are copies.

    Identical rows of tables with few columns and few values each coincide by chance and are not copies.

    Parameters
    ----------
    *tables : ndarray of shape (n, p)
        Tables of the same rows, whose columns are taken together.
    share : float
        Smallest share of the rows that must be copies.

    Returns
    -------
    ndarray of int of shape (distinct rows,) or None
        Numbers of these rows, in increasing order.

    Examples
    --------
    >>> measured = np.random.default_rng(0).normal(size=(5, 4))
    >>> first_copies(np.repeat(measured, 3, axis=0))
    array([ 0,  3,  6,  9, 12])
    """
    n, p = len(tables[0]), sum(table.shape[1] for table in tables)
    every = [column for table in tables for column in table.T]
    drawn: Any = np.random.default_rng(0).integers(0, 2**64, p, dtype=np.uint64)
    factors = drawn | np.uint64(1)
    marks = np.zeros(n, dtype=np.uint64)
    # A hash of every row, a sum modulo 2^64. Rows whose hashes of the first columns differ are different.
    for columns in (range(min(p, FIRST)), range(FIRST, p)):
        for number in columns:
            # Adding zero turns minus zero into zero.
            bits = (np.ascontiguousarray(every[number]) + 0.0).view(np.uint64)
            # The shift mixes high bits in, since the lowest bits of round numbers are all zero.
            marks += (bits ^ (bits >> np.uint64(29))) * factors[number]
        # Sorting is faster than np.unique.
        if np.count_nonzero(np.diff(np.sort(marks)) == 0) < share * n:
            return None
    first = np.unique(marks, return_index=True)[1]
    levels = sum(float(np.log(len(np.unique(column[first])))) for column in every)
    return np.sort(first) if levels >= POWER * np.log(len(first)) else None
