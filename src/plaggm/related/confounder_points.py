"""Bins and points along a confounder with about equal numbers of samples."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array


def bin_edges(values: Array, count: int) -> Array:
    """Limits between bins of a confounder with equal numbers of samples; equal values share a bin.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Confounder of every sample.
    count : int
        Number of bins.

    Returns
    -------
    ndarray of shape (k,)
        At most ``count`` - 1 limits, each between two values.

    Examples
    --------
    >>> import numpy as np
    >>> bin_edges(np.array([3.0, 1.0, 2.0, 4.0]), 2)
    array([2.5])
    """
    ordered = np.sort(values)
    if count > len(ordered):
        raise ValueError(f"n_bins={count} is more than the {len(ordered)} samples.")
    first = ordered[np.round(np.arange(1, count) * len(ordered) / count).astype(int)]
    # A limit is the mean of a bin's first value and the next smaller one; the first bin has none.
    below = np.searchsorted(ordered, np.unique(first[first > ordered[0]]), side="left")
    return 0.5 * (ordered[below] + ordered[below - 1])


def cell_centres(values: Array, count: int) -> Array:
    """Means of cells with about equal numbers of samples, found by repeatedly halving the fullest cell.

    A cell is divided at the median of the column that varies most in it. For one column the result is close
    to :func:`ranked_points`.

    Parameters
    ----------
    values : ndarray of shape (n, m)
        Confounders of every sample.
    count : int
        Largest number of cells.

    Returns
    -------
    ndarray of shape (k, m)
        k is at most ``count``, and at most the number of distinct samples.

    Examples
    --------
    >>> import numpy as np
    >>> cell_centres(np.array([[0.0, 0.0], [1.0, 0.1], [8.0, 0.0], [9.0, 0.1]]), 2)
    array([[0.5 , 0.05],
           [8.5 , 0.05]])
    """
    cells: list[Array] = [values]
    # Cells of equal samples.
    whole: list[Array] = []
    while cells and len(cells) + len(whole) < count:
        cell = cells.pop(int(np.argmax([len(cell) for cell in cells])))
        column = cell[:, np.argmax(cell.std(axis=0))]
        upper = column > np.median(column)
        if not upper.any():
            # More than half of the samples have the largest value.
            upper = column == column.max()
        if upper.all():
            whole.append(cell)
        else:
            cells += [cell[~upper], cell[upper]]
    return np.stack([cell.mean(axis=0) for cell in (*cells, *whole)])


def ranked_points(values: Array, count: int) -> tuple[Array, Array]:
    """Medians of ``count`` bins with equal numbers of samples, and the share of the samples in each.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Confounder of every sample.
    count : int
        Number of bins.

    Returns
    -------
    points : ndarray of shape (k, 1)
        Distinct, k at most ``count``.
    weights : ndarray of shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> points, weights = ranked_points(np.arange(8.0), 2)
    >>> points.ravel(), weights
    (array([2., 6.]), array([0.5, 0.5]))
    """
    index = ((np.arange(count) + 0.5) * len(values) / count).astype(int)
    points, repeats = np.unique(np.sort(values)[index], return_counts=True)
    return points[:, None], repeats / count
