"""Disjoint subsets of rows of which all folds and groups are unions.

Statistics that add up over rows need to be summed once for each subset; those of every fold's training and
test rows, and of every group, are then sums over a few subsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Index
from plaggm.parameter_types import Fold


@dataclass(frozen=True, slots=True)
class RowSubsets:
    """The largest disjoint subsets of which every fold and every group is a union.

    Attributes
    ----------
    labels : ndarray of int of shape (n,)
        Number of every row's subset.
    count : int
        Number of subsets.
    folds : list of (train, test)
        Numbers of the subsets on either side of each fold.
    groups : ndarray of int of shape (count,)
        Number of every subset's group; all zero without groups.
    """

    labels: Index
    count: int
    folds: list[Fold]
    groups: Index


def common_subsets(folds: Sequence[Fold], n: int, groups: Index | None = None) -> RowSubsets:
    """Find the subsets of rows that folds and groups never divide.

    Parameters
    ----------
    folds : sequence of (train, test) row indices
    n : int
        Rows.
    groups : ndarray of int of shape (n,), optional
        Number of every row's group.

    Examples
    --------
    >>> rows = np.arange(6)
    >>> subsets = common_subsets([(rows[2:], rows[:2]), (rows[:4], rows[4:])], 6)
    >>> subsets.labels
    array([0, 0, 1, 1, 2, 2])
    >>> subsets.folds[0]
    (array([1, 2]), array([0]))
    """
    group = np.zeros(n, dtype=np.intp) if groups is None else groups
    # Rows of one subset are on the same side of every fold. Each side of each fold gets a random number of
    # 64 bits. The sums of these numbers, modulo 2^64, are equal for rows of one subset, and equal for two
    # rows of different subsets with a probability of 2^-64 only.
    draw = np.random.default_rng(0)
    mark = draw.integers(0, 2**64, int(group.max(initial=0)) + 1, dtype=np.uint64)[group]
    for train, test in folds:
        sides = draw.integers(0, 2**64, 2, dtype=np.uint64)
        mark[train] += sides[0]
        mark[test] += sides[1]
    _, first, kind = np.unique(mark, return_index=True, return_inverse=True)
    # Subsets are numbered in the order of their first rows.
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    labels = rank[kind.ravel()]
    present = [
        (_present(labels[train], len(order)), _present(labels[test], len(order)))
        for train, test in folds
    ]
    return RowSubsets(labels, len(order), present, group[first[order]])


def _present(labels: Index, count: int) -> Index:
    return np.flatnonzero(np.bincount(labels, minlength=count))
