"""Matrices derived from omega, and rows of the grid of the nuisance."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array, Index


def partial_correlations(omega: Array) -> Array:
    """Off-diagonal of omega, clipped to [-1, 1], with ones on the diagonal.

    With unit conditional variances the off-diagonal entries are partial correlations. Pseudo-likelihood
    estimates may be outside [-1, 1] if variables nearly determine each other.
    """
    out = np.clip(omega, -1.0, 1.0)
    np.fill_diagonal(out, 1.0)
    return out


def precision_matrix(omega: Array, scale: Array) -> Array:
    """Precision matrix in data units, from the partial correlations and the conditional deviations."""
    return unit_precision(partial_correlations(omega)) / np.outer(scale, scale)


def unit_precision(omega: Array) -> Array:
    """Precision matrix of variables with unit conditional variances: ones on the diagonal."""
    out = -omega
    np.fill_diagonal(out, 1.0)
    return out


def grid_rows(grid: Array, column: int) -> Index:
    """Rows of a confounder grid (k, m) on which one confounder moves, in increasing order.

    The others are zero or NaN there. Of rows with the same value there is one.

    Examples
    --------
    >>> grid_rows(np.array([[-1.0, 0.0], [0.0, 0.0], [2.0, 0.0], [0.0, 0.0], [0.0, 5.0]]), 1)
    array([1, 4])
    """
    others = np.nan_to_num(np.delete(grid, column, axis=1)).any(axis=1)
    rows = np.flatnonzero(~others & ~np.isnan(grid[:, column]))
    return rows[np.unique(grid[rows, column], return_index=True)[1]]
