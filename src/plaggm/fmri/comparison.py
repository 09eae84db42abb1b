"""Permutation tests of differences between groups' networks, with control over all edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import stats

from plaggm.array_types import Array, Index, Mask
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

# Part of an edge's own spread that is added to it, so that an edge that hardly varies cannot win.
SPREAD_FLOOR = 0.1
# False discovery rate of the edges that are declared, in networks and as different between groups.
FALSE_DISCOVERY = 0.05
# Family-wise error below which a region is said to differ, and regions that are named.
FAMILY_WISE, NAMED = 0.05, 2


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Second group minus first, edge by edge and region by region.

    Attributes
    ----------
    groups : tuple of str
        The two groups.
    sizes : tuple of int
        Number of subjects in each group.
    difference : ndarray of shape (p, p)
        Difference of the groups' means of Ω̂0 over their subjects.
    statistic : ndarray of shape (p, p)
        Studentised difference.
    p_value, p_family, p_fdr : ndarray of shape (p, p)
        P-values of each edge by itself; of the largest statistic over all edges (family-wise error); and
        Benjamini and Hochberg's adjusted value (false discovery rate).
    region_statistic : ndarray of shape (p,)
        Mean squared statistic of a region's edges.
    region_p_family : ndarray of shape (p,)
        Family-wise p-values of the regions.
    permutations : int
        Number of permutations.
    arrangements : float
        Number of different arrangements of the subjects that permutations can reach.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = compare_groups(
    ...     rng.standard_normal((10, 3)), np.repeat([0, 1], 5), ("a", "b"), 3, permutations=99
    ... )
    >>> found.edges(("x", "y", "z"))[["source", "target"]].shape
    (3, 2)
    """

    groups: tuple[str, str]
    sizes: tuple[int, int]
    difference: Array = field(repr=False)
    statistic: Array = field(repr=False)
    p_value: Array = field(repr=False)
    p_family: Array = field(repr=False)
    p_fdr: Array = field(repr=False)
    region_statistic: Array = field(repr=False)
    region_p_family: Array = field(repr=False)
    permutations: int
    arrangements: float = float("inf")

    @property
    def finest_fdr(self) -> float:
        """The smallest adjusted p-value attainable by the permutations if one edge differs."""
        return finest_fdr(len(self.statistic), self.arrangements, self.permutations)

    def declared(self, fdr: float) -> Mask:
        """Which edges differ at a false discovery rate: shape (p, p)."""
        return (self.p_fdr <= fdr) & ~np.eye(len(self.p_fdr), dtype=bool)

    def edges(self, names: tuple[str, ...]) -> pd.DataFrame:
        """One row for each pair of regions, the most different first."""
        return edge_frame(
            names,
            {
                "difference": self.difference,
                "statistic": self.statistic,
                "p_value": self.p_value,
                "p_family_wise": self.p_family,
                "p_fdr": self.p_fdr,
            },
        )

    def region_words(self, names: tuple[str, ...]) -> str:
        """Which regions differ, with p-values; where none does, the smallest p-value."""
        return region_words(names, self.region_statistic, self.region_p_family)

    def regions(self, names: tuple[str, ...], pooled_difference: Array | None) -> pd.DataFrame:
        """One row for each region, the most different first.

        Parameters
        ----------
        names : tuple of str
            Names of the regions.
        pooled_difference : ndarray of shape (p, p), optional
            Difference of the groups' pooled networks, whose sums of absolute values are listed too:
            the quantity behind the paper's two regions.
        """
        frame = pd.DataFrame(
            {
                "region": list(names),
                "statistic": self.region_statistic,
                "p_family_wise": self.region_p_family,
                "mean_difference": np.abs(self.difference).sum(axis=1),
            }
        )
        if pooled_difference is not None:
            off = pooled_difference - np.diag(np.diagonal(pooled_difference))
            frame["pooled_difference"] = np.abs(off).sum(axis=1)
        return frame.sort_values("statistic", ascending=False, kind="stable").reset_index(drop=True)


def edge_frame(names: tuple[str, ...], matrices: Mapping[str, Array | Mask]) -> pd.DataFrame:
    """One row for each pair of regions, with the values of symmetric matrices in columns of these names.

    The rows with the largest absolute values of the matrix "statistic" come first.
    """
    first, second = np.triu_indices(len(names), 1)
    frame = pd.DataFrame(
        {
            "source": [names[k] for k in first],
            "target": [names[k] for k in second],
            **{title: matrix[first, second] for title, matrix in matrices.items()},
        }
    )
    order = np.argsort(-np.abs(frame["statistic"].to_numpy()), kind="stable")
    return frame.iloc[order].reset_index(drop=True)


def region_words(names: tuple[str, ...], statistic: Array, p_family: Array) -> str:
    """Which regions differ, with p-values; where none does, the smallest p-value and no name."""
    order = np.argsort(-statistic, kind="stable")
    named = [
        f"{names[k]} (p = {p_family[k]:.2g})" for k in order[:NAMED] if p_family[k] < FAMILY_WISE
    ]
    if not named:
        return (
            "No region differs with a family-wise error below 5 %; the smallest p-value is "
            f"{p_family[order[0]]:.2g}."
        )
    count = int(np.count_nonzero(p_family < FAMILY_WISE))
    return (
        f"{count} of {len(names)} regions {'differs' if count == 1 else 'differ'} with a family-wise error "
        f"below 5 %: {', '.join(named)}{' and others' if count > len(named) else ''}."
    )


def compare_groups(
    values: Array,
    membership: Index,
    groups: tuple[str, str],
    p: int,
    *,
    permutations: int = 30_000,
    seed: int = 0,
    covariates: Array | None = None,
    blocks: Sequence[object] | None = None,
) -> Comparison:
    """Permutation test of the difference between two groups of subjects.

    Subjects, not volumes, are exchanged: under the null hypothesis the networks of the two groups come
    from one distribution. Every subject is one observation, however long the scan.

    Parameters
    ----------
    values : ndarray of shape (S, pairs)
        Upper triangles of the subjects' networks.
    membership : ndarray of shape (S,)
        0 or 1.
    groups : tuple of str
    p : int
        Regions.
    permutations : int
        Number of permutations.
    seed : int
    covariates : ndarray of shape (S, k), optional
        Covariates of which the networks are linear functions besides the group. The difference is then
        that of a regression on group and covariates, each group with a variance of its own, and residuals
        of a regression on the covariates alone are exchanged (Freedman and Lane, 1983).
    blocks : sequence of S labels, optional
        Subjects are exchanged within these only, such as sites or families.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> networks = rng.standard_normal((20, 3))
    >>> networks[10:, 0] += 5.0
    >>> found = compare_groups(networks, np.repeat([0, 1], 10), ("a", "b"), 3, permutations=999)
    >>> found.declared(0.05)[0]
    array([False,  True, False])
    """
    labels = np.asarray(membership, dtype=bool)
    sizes = (int(np.count_nonzero(~labels)), int(np.count_nonzero(labels)))
    if min(sizes) < 2:
        raise ValueError(f"Each group needs two or more subjects; got {sizes[0]} and {sizes[1]}.")
    judge = _welch(values, labels) if covariates is None else _adjusted(values, labels, covariates)
    orders = Orders(len(labels), permutations, seed, blocks)
    observed = judge(np.arange(len(labels))[None])
    tails = permutation_tails(judge, observed, orders, p)
    return Comparison(
        groups,
        sizes,
        from_pairs(observed.difference, p),
        from_pairs(observed.edge[0], p),
        from_pairs(tails.p_value, p),
        from_pairs(tails.p_family, p),
        from_pairs(stats.false_discovery_control(tails.p_value), p),
        tails.region_statistic,
        tails.region_p_family,
        permutations,
        reachable_arrangements(labels.tolist(), covariates, blocks),
    )


def _welch(values: Array, labels: Mask) -> Judge:
    """Differences of the groups' means over their standard errors, for labels in many orders."""
    sums, squares = values.sum(axis=0), (values**2).sum(axis=0)

    def judge(orders: Index) -> Statistics:
        second = labels[orders].astype(np.float64)
        n2 = second.sum(axis=1, keepdims=True)
        n1 = len(labels) - n2
        sum2, square2 = second @ values, second @ values**2
        mean2, mean1 = sum2 / n2, (sums - sum2) / n1
        var2 = np.maximum(square2 / n2 - mean2**2, 0.0) * n2 / np.maximum(n2 - 1.0, 1.0)
        var1 = np.maximum((squares - square2) / n1 - mean1**2, 0.0) * n1 / np.maximum(n1 - 1.0, 1.0)
        return _studentised(mean2 - mean1, np.sqrt(var1 / n1 + var2 / n2))

    return judge


def _adjusted(values: Array, labels: Mask, covariates: Array) -> Judge:
    """Differences by a regression on group and covariates, for residuals in many orders.

    Each group has a variance of its own, as with Welch: with h the one direction that the groups add to the
    covariates, the slope along it has the variance sum_g v_g |h_g|^2, h_g being the members' part of h.
    """
    second = labels.astype(np.float64)
    model = NestedRegression(values, second[:, None], covariates)
    # The residuals of the labels are a multiple of h.
    own, direction = model.residual_labels[:, 0], model.added[:, 0]
    length = float(direction @ own)
    members = np.column_stack([1.0 - second, second])
    shares = direction**2 @ members

    def judge(orders: Index) -> Statistics:
        slopes = model.slopes(orders)
        noise = model.group_variances(orders, slopes, members)
        error = np.sqrt(np.einsum("gkp,g->kp", noise, shares)) / abs(length)
        return _studentised(slopes[0] / length, error)

    return judge


def _studentised(difference: Array, error: Array) -> Statistics:
    """Differences (k, pairs) over their standard errors plus a small constant."""
    floor = SPREAD_FLOOR * np.median(error[error > 0.0]) if np.any(error > 0.0) else 1.0
    edge = difference / (error + floor)
    return Statistics(difference[0], edge, edge**2)
