"""Single-precision rows of Gram matrices, in the order in which descent over pairs reads them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array, Index
from plaggm.core.compiled import compiled

# Single-precision numbers that a processor adds at a time.
LANES = 8


class ShortRows(NamedTuple):
    """Single-precision copies of the rows of the Grams that a pair's step adds to two gradients.

    A sweep is bound by the rows it reads and adds: short ones make it 1.6 times faster. The state stays
    in double precision. Within a sweep the changes of the gradients are collected in single precision,
    which rounds off a part of 1e-7 of the movement in that sweep, so that sweeps work like steps of
    iterative refinement; gradients are formed anew from the Grams themselves before a solution is
    accepted. Any tolerance can be reached.

    Attributes
    ----------
    rows : ndarray of float32 of shape (r, p rounded up to a multiple of 8)
        Divided by ``unit``.
    first, second : ndarray of shape (pairs,)
        Numbers of the rows that hold row k of G_j, and row j of G_k, of the pair (j, k).
    unit : float
        Largest entry of the Grams.
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
    """Copy the rows in the order in which a sweep over the pairs (first, second) reads them.

    Parameters
    ----------
    grams : ndarray of shape (p or 1, p, p)
    index : ndarray of shape (p,)
        Number of the Gram matrix that serves each node.
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
