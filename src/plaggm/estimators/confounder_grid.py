"""Confounder values at which a result holds the nuisance."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.spline.reference import Reference
from plaggm.data.factors import Levels

# Number of values of each confounder at which a result holds the nuisance.
GRID_POINTS = 41
# Number of values of each confounder by which a result shows its distribution.
SAMPLE_POINTS = 1001
# Rows at each end of a confounder that say little about R alone, and number of steps between values below
# which all values are kept, as those of levels are.
OUTERMOST, FEW_VALUES = 9, 10


def confounder_grid(
    values: Array, references: tuple[Reference, ...], levels: tuple[Levels, ...]
) -> Array:
    """Grid on which one confounder moves at a time while the others have no effect: shape (k, m).

    Parameters
    ----------
    values : ndarray of shape (n, m)
        Confounder values of the data.
    references : tuple of m Reference
    levels : tuple of m (tuple of str or None)
        Levels of every factor, None for numbers.

    Returns
    -------
    ndarray of shape (k, m)
        Where an amount has no effect it is zero; any other confounder is NaN there.
    """
    observed = values_at_ranks(values, GRID_POINTS)
    nothing = np.where([one.kind == "zero" for one in references], 0.0, np.nan)
    parts = []
    for column in range(observed.shape[1]):
        distinct = np.unique(observed[:, column])
        if levels[column] is not None:
            distinct = np.unique(values[:, column])
        elif len(distinct) == GRID_POINTS:
            # Ranks leave gaps in the tail of a skewed confounder.
            even = np.linspace(distinct[0], distinct[-1], GRID_POINTS // 2 + 1)
            distinct = np.unique(np.concatenate([distinct, even]))
        part = np.tile(nothing, (len(distinct), 1))
        part[:, column] = distinct
        parts.append(part)
    return np.concatenate(parts)


def values_at_ranks(values: Array, points: int) -> Array:
    """Each column's values at evenly spaced ranks, smallest first: at most ``points`` rows.

    Examples
    --------
    >>> values_at_ranks(np.array([[3.0], [1.0], [2.0]]), 2)
    array([[1.],
           [3.]])
    """
    ordered = np.sort(values, axis=0)
    ranks = np.linspace(0, len(ordered) - 1, min(points, len(ordered))).round().astype(int)
    chosen: Array = ordered[ranks]
    return chosen


def well_observed_values(values: Array, points: int) -> Array:
    """Values at ranks as in :func:`values_at_ranks`, without those that only the outermost rows reach.

    In columns with more values than a factor has levels these become the value of the tenth row from the
    end, or of the fiftieth part of fewer than 500 rows: beyond, R is an extrapolation from single rows.

    Examples
    --------
    >>> values = np.append(np.arange(100.0), 1e3)[:, None]
    >>> float(well_observed_values(values, 1001).max())
    98.0
    """
    chosen = values_at_ranks(values, points)
    ordered = np.sort(values, axis=0)
    outer = min(OUTERMOST, len(ordered) // 50)
    for column in range(values.shape[1]):
        if np.count_nonzero(np.diff(ordered[:, column])) >= FEW_VALUES:
            low, high = ordered[outer, column], ordered[-1 - outer, column]
            chosen[:, column] = np.clip(chosen[:, column], low, high)
    return chosen
