"""The nuisance along every confounder as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from plaggm.array_types import Array
from plaggm.network_matrices import grid_rows


def nuisance_frame(
    names: Sequence[str],
    confounders: Sequence[str],
    levels: Mapping[str, tuple[str, ...]],
    grid: Array | None,
    nuisance: Array | None,
    error: Array | None,
) -> pd.DataFrame:
    """The nuisance R of every pair along each confounder, one row for each value and pair.

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

    Returns
    -------
    DataFrame
        Table with the columns confounder, value (the level of a factor), source, target, nuisance and,
        where there is one, standard_error; without rows if there is no nuisance.
    """
    j, k = np.triu_indices(len(names), 1)
    labels = np.array(names, dtype=object)
    columns = ["confounder", "value", "source", "target", "nuisance"]
    if error is not None:
        columns.append("standard_error")
    if grid is None or nuisance is None:
        return pd.DataFrame(columns=columns)
    parts = []
    for column, name in enumerate(confounders):
        rows = grid_rows(grid, column)
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
