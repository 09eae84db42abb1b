"""The nuisance as a table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from plaggm.array_types import Array
from plaggm.network_matrices import grid_rows


def nuisance_frame(
    names: tuple[str, ...],
    confounders: tuple[str, ...],
    grid: Array | None,
    nuisance: Array | None,
    error: Array | None,
) -> pd.DataFrame:
    """The nuisance of every pair along each confounder; see :meth:`GraphResult.nuisance_table`.

    Parameters
    ----------
    names : tuple of p str
    confounders : tuple of m str
    grid : ndarray of shape (k, m) or None
    nuisance, error : ndarray of shape (k, p, p) or None

    Returns
    -------
    DataFrame
        Without rows if there is no nuisance.
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
            "value": np.repeat(grid[rows, column], len(j)),
            "source": np.tile(labels[j], len(rows)),
            "target": np.tile(labels[k], len(rows)),
            "nuisance": nuisance[rows][:, j, k].ravel(),
        }
        if error is not None:
            part["standard_error"] = error[rows][:, j, k].ravel()
        parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)
