"""Positions of variables in a picture of a network, by a force-directed layout.

The forces are those of Fruchterman and Reingold (1991), with an attraction in proportion to the strength of
the edge and a weak attraction to the centre that keeps connected components together. The layout starts
from classical scaling of the lengths of shortest paths and is deterministic.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import shortest_path

from plaggm.array_types import Array
from plaggm.core.graphs.classical_scaling import classical_scaling
from plaggm.core.numerics.compiled import compiled

# Lengths of the strongest and of the weakest edge in shortest paths.
SHORTEST, LONGEST = 1.0, 3.0
# Distance between connected components as a multiple of the longest path.
APART = 1.3
# Steps of the simulation, and the smaller number for more than ``MANY`` variables.
STEPS, FEW_STEPS, MANY = 400, 120, 300
# Longest step at the start, and attraction to the centre, in units of the ideal distance.
FIRST_STEP, PULL = 0.7, 0.12
# Squared distance beyond which repulsion is weaker.
RANGE = 4.0
# Attraction of the weakest edges relative to the strongest.
ALIKE = 0.25
# Largest factor by which one direction is stretched to fill the square.
STRETCH = 1.4
# Displacement that separates variables at the same position.
NUDGE = 1e-3


def force_layout(strength: Array) -> Array:
    """Positions of the variables in the square from -1 to 1.

    Parameters
    ----------
    strength : ndarray of shape (p, p)
        Symmetric, zero where there is no edge. Signs do not matter.

    Returns
    -------
    ndarray of shape (p, 2)

    Examples
    --------
    >>> strength = np.zeros((4, 4))
    >>> strength[0, 1] = strength[1, 0] = strength[2, 3] = strength[3, 2] = 0.5
    >>> places = force_layout(strength)
    >>> bool(np.linalg.norm(places[0] - places[1]) < np.linalg.norm(places[0] - places[2]))
    True
    """
    weights = np.abs(np.asarray(strength, dtype=np.float64))
    np.fill_diagonal(weights, 0.0)
    p = len(weights)
    if p < 3 or not weights.any():
        return circle(p)
    share = weights / weights.max()
    attraction = np.where(share > 0.0, ALIKE + (1.0 - ALIKE) * share, 0.0)
    start = _scaled_paths(share)
    steps = STEPS if p <= MANY else FEW_STEPS
    return _in_square(_simulated(start, attraction, steps))


def circle(p: int) -> Array:
    """Positions of p variables on the unit circle, clockwise from the top.

    Examples
    --------
    >>> circle(4).round(6) + 0.0
    array([[ 0.,  1.],
           [ 1.,  0.],
           [ 0., -1.],
           [-1.,  0.]])
    """
    angle = 0.5 * np.pi - 2.0 * np.pi * np.arange(p) / max(p, 1)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _scaled_paths(share: Array) -> Array:
    """Positions by classical scaling of the lengths of shortest paths: shape (p, 2)."""
    p = len(share)
    lengths = np.where(share > 0.0, SHORTEST + (LONGEST - SHORTEST) * (1.0 - share), 0.0)
    paths = shortest_path(lengths, directed=False)
    joined = np.isfinite(paths)
    paths[~joined] = APART * paths[joined].max()
    places = classical_scaling(paths)[:, ::-1]
    spread = float(np.sqrt(np.mean(places**2))) or 1.0
    # Forces would never separate variables with the same neighbours.
    return np.ascontiguousarray(places / spread * np.sqrt(p) / 2.0 + NUDGE * circle(p))


@compiled()
def _simulated(start: Array, attraction: Array, steps: int) -> Array:
    """Positions after the forces have moved the variables; the ideal distance is one."""
    p = len(start)
    places = start.copy()
    force = np.empty((p, 2))
    for step in range(steps):
        for j in range(p):
            force[j, 0] = -PULL * places[j, 0]
            force[j, 1] = -PULL * places[j, 1]
        for j in range(p):
            for k in range(j + 1, p):
                x = places[j, 0] - places[k, 0]
                y = places[j, 1] - places[k, 1]
                square = max(x * x + y * y, 1e-6)
                push = min(1.0, RANGE / square) / square - attraction[j, k] * np.sqrt(square)
                force[j, 0] += push * x
                force[j, 1] += push * y
                force[k, 0] -= push * x
                force[k, 1] -= push * y
        longest = FIRST_STEP * (1.0 - step / steps) ** 2
        for j in range(p):
            size = np.sqrt(force[j, 0] ** 2 + force[j, 1] ** 2)
            if size > 0.0:
                factor = min(0.1 * size, longest) / size
                places[j, 0] += factor * force[j, 0]
                places[j, 1] += factor * force[j, 1]
    return places


def _in_square(places: Array) -> Array:
    """Positions rotated so that their longest axis is horizontal, filling the square from -1 to 1."""
    centred = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes * np.where(axes[[0, 1], np.abs(axes).argmax(axis=1)] < 0.0, -1.0, 1.0)[:, None]
    rotated = centred @ axes.T
    rotated -= 0.5 * (rotated.max(axis=0) + rotated.min(axis=0))
    reach = np.abs(rotated).max(axis=0)
    reach = np.maximum(reach, reach.max() / STRETCH)
    return np.asarray(rotated / np.maximum(reach, 1e-12))
