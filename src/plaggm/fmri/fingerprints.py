"""Fingerprints: whether two networks of a person resemble each other more than those of others."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array


def identification(first: Array, second: Array, *, centred: bool = False) -> float:
    """Part of the people whose other network is the one that correlates most with theirs.

    Parameters
    ----------
    first, second : ndarray of shape (S, pairs)
        Two networks of every person; both serve as the data base in turn (Finn et al. 2015).
    centred : bool
        Correlate what distinguishes people, after subtracting their mean network: networks that
        are shrunk towards that of all people resemble each other in it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> own = rng.standard_normal((9, 40))
    >>> identification(own, own + 0.1 * rng.standard_normal((9, 40)))
    1.0
    """
    if centred:
        first, second = first - first.mean(axis=0), second - second.mean(axis=0)
    one, other = (_standardised(part) for part in (first, second))
    likeness = one @ other.T
    own = np.arange(len(one))
    found = (likeness.argmax(axis=1) == own).mean() + (likeness.argmax(axis=0) == own).mean()
    return float(found / 2.0)


def intraclass_correlation(first: Array, second: Array) -> float:
    """Mean intraclass correlation ICC(1, 1) of the edges: the part of an edge that is the person's.

    Edges that do not vary count as zero.

    Examples
    --------
    >>> edges = np.array([[1.0], [2.0], [4.0]])
    >>> intraclass_correlation(edges, edges)
    1.0
    """
    people = len(first)
    mean = (first + second) / 2.0
    between = 2.0 * np.sum((mean - mean.mean(axis=0)) ** 2, axis=0) / (people - 1)
    within = np.sum((first - second) ** 2 / 2.0, axis=0) / people
    both = between + within
    return float(
        np.mean(np.divide(between - within, both, out=np.zeros_like(both), where=both > 0))
    )


def _standardised(values: Array) -> Array:
    centred = values - values.mean(axis=1, keepdims=True)
    size = np.linalg.norm(centred, axis=1, keepdims=True)
    return np.asarray(centred / np.where(size > 0.0, size, 1.0))
