"""Warnings about rows that are not independent, although the tests assume that they are."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from plaggm.array_types import Array, Index
from plaggm.core.preparation.autoregression import NO_FILTER, lag_sums, tapered_correlations
from plaggm.core.preparation.copies import first_copies
from plaggm.data import Confounder
from plaggm.estimators.rows import ArrayRows
from plaggm.estimators.serial import Whitening
from plaggm.estimators.smooth_means import column_means, mean_functions
from plaggm.user_warnings import warn_user
from plaggm.wording import shown

# Lag-1 correlation of residuals from which there is a warning, and probability with which independent rows
# may cause one.
AUTOCORRELATED = 0.2
CHANCE = 0.001
# Largest number of rows of which neighbours are compared, and number of evenly spaced stretches that are
# taken from a longer table.
MOST_ROWS, STRETCHES = 20_000, 10
# Rows by which columns are first judged to be sorted.
FIRST_ROWS = 4096


class DependentRowsWarning(UserWarning):
    """Rows are duplicated or autocorrelated, although the tests assume independent rows."""


def warn_of_dependence(rows: ArrayRows) -> None:
    """Warn of duplicated rows and of autocorrelated residuals.

    Not if rows are time series or have groups: tests then allow for dependence.
    """
    labels = rows.labels
    if labels.preparation.serial is not None or labels.groups is not None:
        return
    warn_of_copies(
        rows.x,
        rows.confounder,
        "Tests take them for further samples, so that p-values are too small: drop copies, or give those "
        "of one sample the same group (groups=).",
    )
    found = resembling_neighbours(rows)
    if found is not None:
        name, value = found
        warn_user(
            f"Residuals of {shown(name)} resemble those of the row before (lag-1 correlation {value:.2f}): "
            "if rows are a time series, p-values are too small and intervals too narrow. Set "
            "temporal='ar' (runs= says where a series begins), or give rows of one subject or batch the "
            "same group (groups=).",
            DependentRowsWarning,
        )


def resembling_neighbours(rows: ArrayRows) -> tuple[str, float] | None:
    """Name of the variable whose residuals are most autocorrelated, and their lag-1 correlation.

    None if the correlation may be due to chance, and if rows are time series or have groups.
    """
    labels = rows.labels
    if labels.preparation.serial is not None or labels.groups is not None:
        return None
    found = most_autocorrelated(rows.x, labels.confounder, np.arange(labels.n))
    return None if found is None else (labels.columns.names[found[0]], found[1])


def warn_of_copies(x: Array, confounder: Array, consequence: str) -> Index:
    """Warn of duplicated rows, and return the numbers of the distinct ones.

    Parameters
    ----------
    x : ndarray of shape (n, p)
    confounder : ndarray of shape (n, m)
    consequence : str
        Consequence or handling of duplicates: the second sentence of the warning.
    """
    distinct = first_copies(x, confounder)
    if distinct is None:
        return np.arange(len(x))
    table = np.column_stack([x, confounder])
    copy = int(np.flatnonzero(~np.isin(np.arange(len(x)), distinct))[0])
    original = int(np.flatnonzero((table == table[copy]).all(axis=1))[0])
    warn_user(
        f"{len(x) - len(distinct)} of {len(x)} rows are copies of others (row {copy} is row {original}). "
        f"{consequence}",
        DependentRowsWarning,
    )
    return distinct


def most_autocorrelated(
    x: Array, confounder: Confounder | None, position: Index
) -> tuple[int, float] | None:
    """Variable whose residuals have the largest lag-1 correlation, and this correlation.

    Residuals are those of every variable's regression on the others, after removing means along the
    confounder. Rows that are sorted by a variable are not judged, since their order is not that of time.

    Parameters
    ----------
    x : ndarray of shape (n, p)
    confounder : Confounder or None
    position : ndarray of int of shape (n,)
        Number of predecessors of every row in its run.

    Returns
    -------
    (int, float) or None
        None if the correlation may be due to chance.
    """
    if _any_sorted(x):
        return None
    rows, offset = _stretches(len(x))
    if len(rows) < len(x):
        x, position = x[rows], np.minimum(position[rows], offset)
        confounder = None if confounder is None else confounder.rows(rows)
    n, p = x.shape
    values = np.zeros((n, 0)) if confounder is None else confounder.values
    basis = mean_functions(confounder, n, p)
    means, root = column_means([(x, values)], basis, p)
    left = Whitening(basis, means, NO_FILTER).residuals(x, values) @ root @ root.T
    correlation = tapered_correlations(*lag_sums(left, position, 1))[1]
    worst = int(np.argmax(correlation))
    if correlation[worst] <= max(AUTOCORRELATED, norm.isf(CHANCE / p) / np.sqrt(n)):
        return None
    return worst, float(correlation[worst])


def _stretches(n: int) -> tuple[Index, Index]:
    """Rows in the contiguous stretches that are compared, and each row's position in its stretch."""
    if n <= MOST_ROWS:
        return np.arange(n), np.arange(n)
    length = MOST_ROWS // STRETCHES
    starts = np.linspace(0, n - length, STRETCHES).astype(np.intp)
    return (starts[:, None] + np.arange(length)).ravel(), np.tile(np.arange(length), STRETCHES)


def _any_sorted(x: Array) -> bool:
    """Whether the rows are sorted by some column; the first rows already exclude most columns."""
    for rows in (slice(FIRST_ROWS), slice(None)):
        steps = np.diff(x[rows], axis=0)
        x = x[:, np.all(steps >= 0.0, axis=0) | np.all(steps <= 0.0, axis=0)]
    return bool(x.shape[1])
