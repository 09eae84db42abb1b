"""Communities of a network, by maximising the modularity (Newman, 2004).

The modularity of a division is the share of the edges' strength within communities, minus its expectation
for nodes of the same strengths by chance. The Louvain algorithm (Blondel et al., 2008) moves one variable
at a time to the neighbouring community with the largest gain, and then whole communities; the order is
fixed, so that results are reproducible.
"""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array, Index

# Smallest gain of modularity for a move.
LEAST_GAIN = 1e-10


def find_communities(strength: Array) -> Index:
    """Number of every variable's community, largest community first; -1 for a variable alone.

    Parameters
    ----------
    strength : ndarray of shape (p, p)
        Symmetric, zero where there is no edge. Signs and the diagonal do not matter.

    Returns
    -------
    ndarray of int of shape (p,)

    Examples
    --------
    >>> strength = np.kron(np.eye(2), np.ones((3, 3)))
    >>> find_communities(np.pad(strength, (0, 1)))
    array([ 0,  0,  0,  1,  1,  1, -1])
    """
    weights = np.abs(np.asarray(strength, dtype=np.float64))
    np.fill_diagonal(weights, 0.0)
    labels = np.arange(len(weights))
    if not weights.any():
        return np.full(len(weights), -1)
    while True:
        labels = _moved(weights, labels)
        _, labels = np.unique(labels, return_inverse=True)
        # The network of the communities, with loops.
        member = np.eye(labels.max() + 1)[labels]
        merged = _moved(member.T @ weights @ member, np.arange(member.shape[1]))
        if len(np.unique(merged)) == member.shape[1]:
            return _numbered(labels)
        labels = merged[labels]


def _moved(weights: Array, labels: Index) -> Index:
    """Labels after moving one variable after the other to its best community until nothing is gained."""
    size = len(weights)
    degree, total = weights.sum(axis=1), weights.sum()
    loops = np.diagonal(weights)
    labels = labels.copy()
    held = np.bincount(labels, weights=degree, minlength=size)
    moving = True
    while moving:
        moving = False
        for node in range(size):
            own = labels[node]
            inside = np.bincount(labels, weights=weights[node], minlength=size)
            inside[own] -= loops[node]
            held[own] -= degree[node]
            gain = np.where(inside > 0.0, inside - degree[node] * held / total, 0.0)
            stay = inside[own] - degree[node] * held[own] / total
            best = int(np.argmax(gain))
            if gain[best] > max(stay, 0.0) + LEAST_GAIN * total:
                labels[node] = best
                moving = True
            held[labels[node]] += degree[node]
    return labels


def _numbered(labels: Index) -> Index:
    """Labels renumbered by size, then by first variable; -1 for communities of one variable."""
    names, first, back, counts = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, -counts))
    number = np.empty(len(names), dtype=np.intp)
    number[order] = np.arange(len(names))
    return np.asarray(np.where(counts[back] > 1, number[back], -1))
