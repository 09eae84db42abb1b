"""Single-precision rows of Gram matrices for coordinate descent over pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array, Index
from plaggm.core.numerics.compiled import compiled

# Single-precision numbers in a vector register.
LANES = 8


class ShortRows(NamedTuple):
    """Single-precision copies of the rows of the Grams that a pair's step adds to two gradients.

    Sweeps are limited by memory bandwidth. Within a sweep the changes of the gradients are summed in single
    precision, with a relative error of 1e-7; the state is in double precision, so that sweeps are like
    steps of iterative refinement. Gradients are recomputed from the Grams before a solution is accepted, so
    that any tolerance can be reached.

    Attributes
    ----------
    rows : ndarray of float32 of shape (r, p rounded up to a multiple of 8)
        Rows divided by ``unit``.
    first, second : ndarray of shape (pairs,)
        Positions of row k of G_j, and of row j of G_k, for the pair (j, k).
    unit : float
        Largest absolute entry of the Grams.
    """

    rows: NDArray[np.float32]
    first: Index
    second: Index
    unit: float


def short_rows(
    grams: Array,
    index: Index,
    first: Index,
    second: Index,
) -> ShortRows:
    """Copies of the rows in the order of a sweep over the pairs (first, second).

    Parameters
    ----------
    grams : ndarray of shape (p or 1, p, p)
    index : ndarray of shape (p,)
        Number of each node's Gram matrix.
    first, second : ndarray of shape (pairs,)

    Returns
    -------
    ShortRows
    """
    p = len(index)
    unit = float(np.max(np.abs(grams))) or 1.0
    width = -(-p // LANES) * LANES
    if len(grams) == 1:
        rows = np.zeros((p, width), np.float32)
        rows[:, :p] = grams[0] / unit
        return ShortRows(rows, second, first, unit)
    rows = np.zeros((2 * len(first), width), np.float32)
    scale = 1.0 / unit
    _copy_rows(grams, index, first, second, scale, rows)
    place = 2 * np.arange(len(first))
    return ShortRows(rows, place, place + 1, unit)


@compiled()
def _copy_rows(
    grams: Array,
    index: Index,
    first: Index,
    second: Index,
    scale: float,
    rows: NDArray[np.float32],
) -> None:
    p = len(index)
    for pair in range(len(first)):
        j, k = first[pair], second[pair]
        for column in range(p):
            rows[2 * pair, column] = scale * grams[index[j], k, column]
            rows[2 * pair + 1, column] = scale * grams[index[k], j, column]
