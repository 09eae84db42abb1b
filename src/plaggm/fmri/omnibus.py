"""Comparison of three or more groups of networks: all together, then every two.

First the omnibus test of all groups. Where it declares that an edge differs somewhere, pairs of groups are
tested at the level that keeps the overall false discovery rate (stage-wise testing, Van den Berge et al.,
2017), with Shaffer's correction for several pairs of one edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
from scipy import stats

from plaggm.array_types import Array, Index, Mask
from plaggm.fmri.comparison import (
    SPREAD_FLOOR,
    Comparison,
    compare_groups,
    edge_frame,
    region_words,
)
from plaggm.fmri.networks import from_pairs
from plaggm.fmri.permutations import (
    Judge,
    NestedRegression,
    Orders,
    Statistics,
    finest_fdr,
    permutation_tails,
    reachable_arrangements,
)


@dataclass(frozen=True, slots=True, eq=False)
class Omnibus:
    """Differences between any of several groups, and between each two of them.

    Attributes
    ----------
    groups : tuple of str
    sizes : tuple of int
        Number of subjects in each group.
    statistic : ndarray of shape (p, p)
        Variation between the groups' means over what is expected by chance.
    p_value, p_family, p_fdr : ndarray of shape (p, p)
        As in :class:`plaggm.fmri.Comparison`.
    region_statistic, region_p_family : ndarray of shape (p,)
        Mean statistic of a region's edges, and its family-wise p-values.
    permutations : int
    pairs : tuple of Comparison
        Comparisons of every two groups; p-values are not corrected for the number of pairs of groups.
    arrangements : float
        Number of different arrangements of the subjects that permutations can reach.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = compare_all_groups(
    ...     rng.standard_normal((12, 3)),
    ...     np.repeat([0, 1, 2], 4),
    ...     ("a", "b", "c"),
    ...     3,
    ...     permutations=99,
    ... )
    >>> [pair.groups for pair in found.pairs]
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """

    groups: tuple[str, ...]
    sizes: tuple[int, ...]
    statistic: Array = field(repr=False)
    p_value: Array = field(repr=False)
    p_family: Array = field(repr=False)
    p_fdr: Array = field(repr=False)
    region_statistic: Array = field(repr=False)
    region_p_family: Array = field(repr=False)
    permutations: int
    pairs: tuple[Comparison, ...] = field(repr=False)
    arrangements: float = float("inf")

    @property
    def finest_fdr(self) -> float:
        """The smallest adjusted value that the permutations can show for an edge that differs alone."""
        return finest_fdr(len(self.statistic), self.arrangements, self.permutations)

    def declared(self, fdr: float) -> Mask:
        """Which edges differ between any of the groups at a false discovery rate: shape (p, p)."""
        return (self.p_fdr <= fdr) & ~np.eye(len(self.p_fdr), dtype=bool)

    def pair_p_values(self) -> Array:
        """P-values of an edge's pairs of groups, corrected for their number: shape (pairs, p, p).

        Where the groups differ at all, no more than (k - 1)(k - 2) / 2 pairs of k groups can be alike.
        """
        raw = np.stack([pair.p_value for pair in self.pairs])
        order = np.argsort(raw, axis=0, kind="stable")
        most = comb(len(self.groups) - 1, 2)
        factors = np.minimum(len(self.pairs) - np.arange(len(self.pairs)), most)
        ordered = np.take_along_axis(raw, order, axis=0) * np.maximum(factors, 1)[:, None, None]
        adjusted = np.empty_like(raw)
        np.put_along_axis(
            adjusted, order, np.minimum(np.maximum.accumulate(ordered, axis=0), 1.0), axis=0
        )
        return adjusted

    def declared_pairs(self, fdr: float) -> Mask:
        """Which edges differ between which two groups: shape (pairs, p, p).

        Of m edges of which r are declared to differ at all, pairs are tested at the level ``fdr r / m``.
        """
        screened = self.declared(fdr)
        p = len(screened)
        share = np.count_nonzero(screened) / (p * (p - 1))
        return (self.pair_p_values() <= fdr * share) & screened

    def edges(self, names: tuple[str, ...], fdr: float) -> pd.DataFrame:
        """One row for each pair of regions, the most different first, with every two groups' difference."""
        columns: dict[str, Array | Mask] = {
            "statistic": self.statistic,
            "p_value": self.p_value,
            "p_family_wise": self.p_family,
            "p_fdr": self.p_fdr,
        }
        chosen, adjusted = self.declared_pairs(fdr), self.pair_p_values()
        for place, pair in enumerate(self.pairs):
            title = f"{pair.groups[1]} - {pair.groups[0]}"
            columns[title] = pair.difference
            columns[f"p_value: {title}"] = adjusted[place]
            columns[f"declared: {title}"] = chosen[place]
        return edge_frame(names, columns)

    def regions(self, names: tuple[str, ...]) -> pd.DataFrame:
        """One row for each region, the most different first."""
        frame = pd.DataFrame(
            {
                "region": list(names),
                "statistic": self.region_statistic,
                "p_family_wise": self.region_p_family,
            }
        )
        for pair in self.pairs:
            corrected = np.minimum(pair.region_p_family * len(self.pairs), 1.0)
            frame[f"p_family_wise: {pair.groups[1]} - {pair.groups[0]}"] = corrected
        return frame.sort_values("statistic", ascending=False, kind="stable").reset_index(drop=True)

    def region_words(self, names: tuple[str, ...]) -> str:
        """Which regions differ between any of the groups, with p-values."""
        return region_words(names, self.region_statistic, self.region_p_family)


def compare_all_groups(
    values: Array,
    membership: Index,
    groups: tuple[str, ...],
    p: int,
    *,
    permutations: int = 30_000,
    seed: int = 0,
    covariates: Array | None = None,
    blocks: Sequence[object] | None = None,
) -> Omnibus:
    """Permutation tests of differences between three or more groups, and between every two of them.

    Parameters
    ----------
    values : ndarray of shape (S, pairs)
        Upper triangles of the subjects' networks.
    membership : ndarray of int of shape (S,)
        Number of each subject's group.
    groups : tuple of str
    p : int
        Regions.
    permutations, seed, covariates, blocks
        See :func:`plaggm.fmri.compare_groups`.

    Returns
    -------
    Omnibus

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> networks = rng.standard_normal((30, 3))
    >>> networks[20:, 0] += 5.0
    >>> members = np.repeat([0, 1, 2], 10)
    >>> found = compare_all_groups(networks, members, ("a", "b", "c"), 3, permutations=999)
    >>> found.declared(0.05)[0]
    array([False,  True, False])
    """
    labels = np.asarray(membership)
    sizes = tuple(int(np.count_nonzero(labels == k)) for k in range(len(groups)))
    if min(sizes) < 2:
        raise ValueError(
            f"Each group needs two or more subjects; got {', '.join(map(str, sizes))}."
        )
    indicators = (labels[:, None] == np.arange(len(groups))).astype(np.float64)
    judge = (
        _between(values, indicators)
        if covariates is None
        else _adjusted_between(values, indicators, covariates)
    )
    observed = judge(np.arange(len(labels))[None])
    orders = Orders(len(labels), permutations, seed, blocks)
    tails = permutation_tails(judge, observed, orders, p)
    pairs = []
    for one, other in combinations(range(len(groups)), 2):
        some = np.flatnonzero((labels == one) | (labels == other))
        pairs.append(
            compare_groups(
                values[some],
                labels[some] == other,
                (groups[one], groups[other]),
                p,
                permutations=permutations,
                seed=seed,
                covariates=None if covariates is None else covariates[some],
                blocks=None if blocks is None else [blocks[int(k)] for k in some],
            )
        )
    return Omnibus(
        groups,
        sizes,
        from_pairs(observed.edge[0], p),
        from_pairs(tails.p_value, p),
        from_pairs(tails.p_family, p),
        from_pairs(stats.false_discovery_control(tails.p_value), p),
        tails.region_statistic,
        tails.region_p_family,
        permutations,
        tuple(pairs),
        reachable_arrangements(labels.tolist(), covariates, blocks),
    )


def _between(values: Array, indicators: Array) -> Judge:
    """Variation of the groups' means, each weighted by its own precision as Welch does."""
    n, k = indicators.sum(axis=0), indicators.shape[1]
    squares = values**2

    def judge(orders: Index) -> Statistics:
        means, spreads = [], []
        for group in range(k):
            own = indicators[:, group][orders]
            mean = own @ values / n[group]
            variance = np.maximum(own @ squares / n[group] - mean**2, 0.0)
            means.append(mean)
            spreads.append(variance / (n[group] - 1.0))
        error = np.stack(spreads)
        weights = 1.0 / (error + _floor(error.mean(axis=0)))
        mean = np.stack(means)
        common = np.sum(weights * mean, axis=0) / weights.sum(axis=0)
        edge = np.sum(weights * (mean - common) ** 2, axis=0) / (k - 1)
        return Statistics(edge[0], edge, edge)

    return judge


def _adjusted_between(values: Array, members: Array, covariates: Array) -> Judge:
    """Wald statistic of the group effects in a regression on groups and covariates.

    Each group has a variance of its own, as with Welch: with slopes b along the orthonormal directions H
    that the groups add, the statistic is b'V^-1 b / (k - 1), V the sum of the groups' variances times
    H_g'H_g. It is the usual F where all variances are the same.
    """
    model = NestedRegression(values, members[:, 1:], covariates)
    shapes = np.stack([(model.added * member[:, None]).T @ model.added for member in members.T])

    def judge(orders: Index) -> Statistics:
        slopes = model.slopes(orders)
        noise = model.group_variances(orders, slopes, members)
        noise += _floor(noise.mean(axis=0))
        spread = np.einsum("gkp,gab->kpab", noise, shapes)
        solved = np.linalg.solve(spread, np.moveaxis(slopes, 0, -1)[..., None])[..., 0]
        edge = np.mean(np.moveaxis(solved, -1, 0) * slopes, axis=0)
        return Statistics(edge[0], edge, edge)

    return judge


def _floor(variance: Array) -> float:
    """Lower bound of the variances, so that edges that hardly vary do not dominate."""
    known = variance[variance > 0.0]
    return SPREAD_FLOOR**2 * float(np.median(known)) if known.size else 1.0
