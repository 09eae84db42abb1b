"""The nuisance along every confounder as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from plaggm.array_types import Array, Index, Mask
from plaggm.network_matrices import grid_rows

# Largest number of rows of the table that is saved with a result: about 3 MB.
MOST_ROWS = 50_000
# Number of values of each confounder in this table if there are many pairs.
FEWEST_POINTS = 11
# Format of its numbers.
DIGITS = "%.8g"


def nuisance_frame(
    names: Sequence[str],
    confounders: Sequence[str],
    levels: Mapping[str, tuple[str, ...]],
    grid: Array | None,
    nuisance: Array | None,
    error: Array | None,
    first: Mask | None = None,
) -> pd.DataFrame:
    """The nuisance R of pairs along each confounder, one row for each value and pair.

    Parameters
    ----------
    names : sequence of str
        Names of the p variables.
    confounders : sequence of str
        Names of the m confounders.
    levels : mapping of str to tuple of str
        Levels of the factors among them.
    grid : ndarray of shape (k, m) or None
    nuisance, error : ndarray of shape (k, p, p) or None
    first : ndarray of bool of shape (p (p - 1) / 2,), optional
        Pairs that are preferred in a table of limited length (:func:`listed_pairs`), in which all levels of
        factors are listed. By default all pairs and values are.

    Returns
    -------
    DataFrame
        Table with the columns confounder, value (the level of a factor), source, target, nuisance and, if
        there are errors, standard_error; without rows if there is no nuisance.
    """
    labels = np.array(names, dtype=object)
    columns = ["confounder", "value", "source", "target", "nuisance"]
    if error is not None:
        columns.append("standard_error")
    if grid is None or nuisance is None:
        return pd.DataFrame(columns=columns)
    j, k = np.triu_indices(len(names), 1)
    points = None
    if first is not None:
        pairs, points = listed_pairs(nuisance, first, len(nuisance))
        j, k = j[pairs], k[pairs]
    parts = []
    for column, name in enumerate(confounders):
        rows = grid_rows(grid, column)
        if points is not None and name not in levels and len(rows) > points:
            rows = rows[np.linspace(0, len(rows) - 1, points).round().astype(np.intp)]
        part = {
            "confounder": np.full(len(rows) * len(j), name, dtype=object),
            "value": np.repeat(_shown(grid[rows, column], levels.get(name)), len(j)),
            "source": np.tile(labels[j], len(rows)),
            "target": np.tile(labels[k], len(rows)),
            "nuisance": nuisance[rows][:, j, k].ravel(),
        }
        if error is not None:
            part["standard_error"] = error[rows][:, j, k].ravel()
        parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)


def _shown(values: Array, levels: tuple[str, ...] | None) -> NDArray[Any]:
    """Values of a confounder, the names of levels for a factor."""
    if levels is None:
        return values
    return np.array([levels[int(code)] for code in values], dtype=object)


def listed_pairs(
    nuisance: Array, first: Mask, n_points: int, most: int = MOST_ROWS
) -> tuple[Index, int | None]:
    """Pairs in a table of limited length, and number of values of each confounder.

    If not all pairs fit, the table has the preferred pairs, and then those with the largest nuisance at any
    value. If even the preferred pairs do not fit, it has fewer values of each confounder.

    Parameters
    ----------
    nuisance : ndarray of shape (k, p, p)
    first : ndarray of bool of shape (p (p - 1) / 2,)
        Preferred pairs: those declared as edges or found to change.
    n_points : int
        Number of values of all confounders together.
    most : int
        Largest number of rows.

    Returns
    -------
    pairs : ndarray of int
        Numbers of the pairs j < k, row after row.
    points : int or None
        Number of values of each confounder; None for all.
    """
    if len(first) * n_points <= most:
        return np.arange(len(first)), None
    points = None
    if np.count_nonzero(first) * n_points > most:
        points, n_points = FEWEST_POINTS, min(FEWEST_POINTS, n_points)
    upper = np.triu_indices(nuisance.shape[-1], 1)
    size = np.zeros(len(first))
    for matrix in nuisance:
        np.maximum(size, np.abs(matrix[upper]), out=size)
    order = np.lexsort((-size, ~first))
    return np.sort(order[: max(most // n_points, 1)]), points
