"""Pseudo-random numbers that depend on the row number only, not on chunks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array, Index

Hash = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)

# Number of blocks of rows, and rows that each block needs for estimates of heavy tails.
BLOCKS, BLOCK_ROWS = 10, 10
# Seed of blocks and of the folds of a stream, which makes them independent of samples of rows.
BLOCK_SEED = 1


def row_hash(start: int, count: int, seed: int = 0) -> Hash:
    """64-bit hashes of the rows from ``start`` on, by the mixer of SplitMix64: shape (count,).

    Examples
    --------
    >>> bool(np.all(row_hash(0, 5)[3:] == row_hash(3, 2)))
    True
    """
    rows = np.arange(start, start + count, dtype=np.uint64)
    # The modulus avoids NumPy's warning of an overflow of a scalar.
    mixed = rows + np.uint64((seed * int(_FIRST) + 1) % 2**64)
    mixed = mixed * _GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    return mixed ^ (mixed >> np.uint64(31))


def hashed_blocks(start: int, count: int, blocks: int = BLOCKS) -> Index:
    """Random block of each of the rows from ``start`` on, by its number: shape (count,).

    Examples
    --------
    >>> hashed_blocks(7, 3).tolist() == hashed_blocks(0, 10)[7:].tolist()
    True
    """
    return (row_hash(start, count, BLOCK_SEED) % np.uint64(blocks)).astype(np.intp)


@dataclass(frozen=True, slots=True)
class RowSample:
    """A random sample of a growing number of rows: those with the smallest hashes.

    Attributes
    ----------
    hashes : ndarray of shape (k,)
    values : ndarray of shape (k, m)
    size : int
        Largest k.
    """

    hashes: Hash
    values: Array
    size: int

    def extended(self, start: int, values: Array) -> RowSample:
        """The sample after more rows, the first of which has number ``start``."""
        return self.joined(RowSample(row_hash(start, len(values)), values, self.size))

    def joined(self, other: RowSample) -> RowSample:
        """A sample of the rows of both samples."""
        hashes = np.concatenate([self.hashes, other.hashes])
        values = np.concatenate([self.values, other.values])
        if len(hashes) > self.size:
            kept = np.argpartition(hashes, self.size - 1)[: self.size]
            hashes, values = hashes[kept], values[kept]
        return RowSample(hashes, values, self.size)


def empty_sample(m: int, size: int) -> RowSample:
    """An empty sample."""
    return RowSample(np.zeros(0, dtype=np.uint64), np.zeros((0, m)), size)
