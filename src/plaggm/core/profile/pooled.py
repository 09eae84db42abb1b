"""No nuisance: all rows belong to one network."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plaggm.core.node_grams import NodeGrams


def profile_pooled(b: NDArray[np.float64]) -> NodeGrams:
    """One Gram matrix of [Z, 1] for all nodes.

    Parameters
    ----------
    b : ndarray of shape (n, q)
    """
    n, q = b.shape
    return NodeGrams((b.T @ b / n)[None], n, np.zeros(q - 1))
