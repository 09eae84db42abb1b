"""No nuisance: all rows belong to one network."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.grams.node_grams import NodeGrams


def profile_pooled(b: Array) -> NodeGrams:
    """One Gram matrix of [Z, 1] for all nodes.

    Parameters
    ----------
    b : ndarray of shape (n, q)
    """
    n, q = b.shape
    return NodeGrams((b.T @ b / n)[None], n, np.zeros(q - 1))
