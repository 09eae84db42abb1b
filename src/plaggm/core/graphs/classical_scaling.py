"""Classical scaling: places in the plane whose distances approximate given ones."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array


def classical_scaling(distance: Array) -> Array:
    """Places in the plane, the direction of largest spread first: shape (k, 2).

    Parameters
    ----------
    distance : ndarray of shape (k, k)
        Symmetric.

    Examples
    --------
    >>> places = classical_scaling(np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]]))
    >>> float(np.linalg.norm(places[1] - places[2]).round(6))
    5.0
    """
    squares = np.asarray(distance, dtype=np.float64) ** 2
    row = squares.mean(axis=0)
    values, vectors = np.linalg.eigh(-0.5 * (squares - row - row[:, None] + squares.mean()))
    places = np.zeros((len(squares), 2))
    leading = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    places[:, : leading.shape[1]] = leading
    # The sign of an eigenvector is arbitrary: the coordinate of largest size is made positive.
    largest = np.abs(places).argmax(axis=0)
    return np.asarray(places * np.where(places[largest, [0, 1]] < 0.0, -1.0, 1.0))
