"""Duplicated rows, which tests would count as further samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from plaggm.array_types import Array, Index

# Share of the rows that have to be copies before they are taken for such.
SHARE = 0.1
# Rows of measured values do not coincide by chance: rows that could differ are at least n to this power.
POWER = 4.0
# Columns that are looked at first: measured values differ there already.
FIRST = 2


def first_copies(*tables: Array, share: float = SHARE) -> Index | None:
    """First row of every set of identical rows; None unless many rows are duplicates, beyond chance.

    Tables of few columns with few values each have identical rows by chance; these are not copies.

    Parameters
    ----------
    *tables : ndarray of shape (n, p)
        Tables of the same rows, whose columns are taken together.
    share : float
        Share of the rows that have to be copies.

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
    # Adding zero makes minus zero zero.
    drawn: Any = np.random.default_rng(0).integers(0, 2**64, p, dtype=np.uint64)
    factors = drawn | np.uint64(1)
    marks = np.zeros(n, dtype=np.uint64)
    # Rows by a sum modulo 2^64, which is the same for identical rows and for hardly any others. Rows that
    # differ in the first columns differ.
    for columns in (range(min(p, FIRST)), range(FIRST, p)):
        for number in columns:
            bits = (np.ascontiguousarray(every[number]) + 0.0).view(np.uint64)
            # The lowest bits of round numbers are all zero.
            marks += (bits ^ (bits >> np.uint64(29))) * factors[number]
        # Sorting is quicker than np.unique.
        if np.count_nonzero(np.diff(np.sort(marks)) == 0) < share * n:
            return None
    first = np.unique(marks, return_index=True)[1]
    levels = sum(float(np.log(len(np.unique(column[first])))) for column in every)
    return np.sort(first) if levels >= POWER * np.log(len(first)) else None
