"""Residual effects of motion in networks: QC-FC, compared with its distribution by chance.

Edges depend on each other, so the part of them that correlates with motion scatters far more than that of
independent tests. The distribution by chance is therefore found by exchanging displacement between
subjects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import stats

from plaggm.array_types import Array, Index
from plaggm.fmri.covariates import residuals
from plaggm.fmri.permutations import Orders

FEWEST_SUBJECTS = 5
# Uncorrected level at which edges are counted.
LEVEL = 0.05
# Exchanges of displacement between subjects, and classes of edges by length, equally large.
SHUFFLES, LENGTH_BINS = 500, 6
# Parts of the subjects, for each of which edges are regressed on displacement by slopes of the others.
REGRESSION_FOLDS = 10


@dataclass(frozen=True, slots=True, eq=False)
class ResidualMotion:
    """Correlation of every edge with mean framewise displacement across subjects.

    Attributes
    ----------
    correlation : ndarray of shape (pairs,)
        NaN for edges that are the same in everybody.
    median_absolute : float
    significant : float
        Share of the edges with an uncorrected p-value below 0.05.
    chance : float
        95 % quantile of this share in studies without motion in the networks.
    p_value : float
        P-value of this share. NaN, like the other numbers, where no edge varies across subjects.
    q_value : ndarray of shape (pairs,)
        Smallest false discovery rate at which an edge's correlation is declared; NaN as above.
    lengths : DataFrame
        Classes of edges by length: from, to (in mm), edges, mean_correlation, part_below_0.05; empty
        without coordinates.
    short_range_excess : float
        Mean correlation of the shortest edges less that of all others; NaN without coordinates.
    short_range_p_value : float
    regressed : float
        ``significant`` after regressing edges on mean displacement by slopes of other subjects.
    subjects : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> moved = rng.random(20)
    >>> networks = rng.standard_normal((20, 3)) + 5.0 * moved[:, None]
    >>> residual_motion(networks, moved, None).significant
    1.0
    """

    correlation: Array = field(repr=False)
    median_absolute: float
    significant: float
    chance: float
    p_value: float
    q_value: Array = field(repr=False)
    lengths: pd.DataFrame = field(repr=False)
    short_range_excess: float
    short_range_p_value: float
    regressed: float
    subjects: int


def no_edge_varies(found: ResidualMotion) -> bool:
    """Whether all edges are the same in everybody, so that none can correlate with displacement."""
    return not np.isfinite(found.correlation).any()


def residual_motion(
    values: Array,
    displacement: Array,
    distances: Array | None,
    *,
    blocks: Sequence[object] | None = None,
    seed: int = 0,
) -> ResidualMotion | None:
    """QC-FC of some subjects' networks.

    Parameters
    ----------
    values : ndarray of shape (S, pairs)
        Upper triangles.
    displacement : ndarray of shape (S,)
        Mean framewise displacement.
    distances : ndarray of shape (p, p), optional
    blocks : sequence of S labels, optional
        Subjects of one block, such as a site, are exchangeable; all when absent.
    seed : int
        Seed of the exchanges.

    Returns
    -------
    ResidualMotion, or None where displacement is known of too few subjects

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = residual_motion(rng.standard_normal((40, 3)), rng.random(40), None)
    >>> found.subjects, found.correlation.shape
    (40, (3,))
    """
    known = np.isfinite(displacement) & np.isfinite(values).all(axis=1)
    n = int(np.count_nonzero(known))
    if n < FEWEST_SUBJECTS or np.ptp(displacement[known]) == 0.0:
        return None
    values, moved = values[known], displacement[known]
    r = edge_correlations(values, moved[None])[0]
    varies = np.isfinite(r)
    p = _p_values(r[varies], n)
    q = np.full(len(r), np.nan)
    q[varies] = stats.false_discovery_control(p) if len(p) else p
    labels = None if blocks is None else [blocks[k] for k in np.flatnonzero(known).tolist()]
    orders = np.concatenate(list(Orders(n, SHUFFLES, seed, labels)))
    drawn = edge_correlations(values, moved[orders])
    limit = _smallest_correlation(n)
    share, reached, share_p = np.nan, np.nan, np.nan
    if varies.any():
        share = float(np.mean(p < LEVEL))
        shares = np.mean(np.abs(drawn[:, varies]) > limit, axis=1)
        reached = float(np.quantile(shares, 0.95))
        share_p = (1.0 + np.count_nonzero(shares >= share)) / (1.0 + len(shares))
    classes = None if distances is None else _length_classes(distances)
    excess, excess_p = np.nan, np.nan
    if classes is not None and varies.any():
        excess, others = _excess(r[None], classes)[0], _excess(drawn, classes)
        excess_p = (1.0 + np.count_nonzero(np.abs(others) >= abs(excess))) / (1.0 + len(others))
    free = edge_regression(values, moved)
    return ResidualMotion(
        r,
        float(np.median(np.abs(r[varies]))) if varies.any() else np.nan,
        share,
        reached,
        share_p,
        q,
        _length_table(r, n, classes, distances),
        float(excess),
        float(excess_p),
        float(np.mean(np.abs(edge_correlations(free, moved[None])[0][varies]) > limit))
        if varies.any()
        else np.nan,
        n,
    )


def edge_correlations(values: Array, displacement: Array) -> Array:
    """Correlation of every edge (S, pairs) with some displacements (k, S): shape (k, pairs).

    NaN for edges that are the same in everybody.
    """
    x = values - values.mean(axis=0)
    y = displacement - displacement.mean(axis=1, keepdims=True)
    spread = np.linalg.norm(y, axis=1)[:, None] * np.linalg.norm(x, axis=0)
    found = np.full(spread.shape, np.nan)
    np.divide(y @ x, spread, out=found, where=spread > 0.0)
    return np.clip(found, -1.0, 1.0)


def edge_regression(values: Array, displacement: Array) -> Array:
    """Edges (S, pairs) with mean displacement regressed out, by slopes estimated from other subjects."""
    everybody = np.arange(len(values))
    out = np.empty_like(values)
    folds = min(REGRESSION_FOLDS, len(values) // 2)
    for k in range(folds):
        own = everybody[k::folds]
        out[own] = residuals(values, displacement[:, None], np.setdiff1d(everybody, own))[own]
    return out


def _p_values(r: Array, n: int) -> Array:
    t = r * np.sqrt((n - 2) / np.maximum(1.0 - r**2, 1e-12))
    return np.asarray(2.0 * stats.t.sf(np.abs(t), n - 2))


def _smallest_correlation(n: int) -> float:
    """Size beyond which a correlation of n subjects has a p-value below the level."""
    t = float(stats.t.ppf(1.0 - LEVEL / 2.0, n - 2))
    return t / np.sqrt(n - 2 + t**2)


def _length_classes(distances: Array) -> Index:
    """Class of every pair's length, shortest first: shape (pairs,)."""
    length = distances[np.triu_indices(len(distances), 1)]
    rank = np.argsort(np.argsort(length, kind="stable"))
    return np.asarray(rank * min(LENGTH_BINS, len(length)) // len(length))


def _excess(correlation: Array, classes: Index) -> Array:
    """Mean correlation of the shortest edges less that of the others: (k,) from (k, pairs)."""
    short = classes == 0
    return np.asarray(
        np.nanmean(correlation[:, short], axis=1) - np.nanmean(correlation[:, ~short], axis=1)
        if np.isfinite(correlation[0, short]).any() and np.isfinite(correlation[0, ~short]).any()
        else np.full(len(correlation), np.nan)
    )


def _length_table(
    correlation: Array, n: int, classes: Index | None, distances: Array | None
) -> pd.DataFrame:
    columns = ["from", "to", "edges", "mean_correlation", f"part_below_{LEVEL}"]
    if classes is None or distances is None:
        return pd.DataFrame(columns=columns)
    length = distances[np.triu_indices(len(distances), 1)]
    limit, rows = _smallest_correlation(n), []
    for number in np.unique(classes):
        inside = (classes == number) & np.isfinite(correlation)
        if inside.any():
            r, reach = correlation[inside], length[inside]
            rows.append(
                (reach.min(), reach.max(), len(r), r.mean(), float(np.mean(np.abs(r) > limit)))
            )
    return pd.DataFrame(rows, columns=columns)
