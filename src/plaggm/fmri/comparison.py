"""Do the groups' networks differ? Permutations of whole subjects, with control over all edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import stats

from plaggm.array_types import Array, Index, Mask
from plaggm.fmri.networks import from_pairs

# Part of an edge's own spread that is added to it, so that an edge that hardly varies cannot win.
SPREAD_FLOOR = 0.1
# Part of the largest below which a direction is no direction of its own.
SAME = 1e-10
# Values permuted at a time.
CHUNK = 200
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

    @property
    def finest_fdr(self) -> float:
        """The smallest adjusted value that the permutations can show for an edge that differs alone."""
        p = len(self.statistic)
        return p * (p - 1) / 2 / (1.0 + self.permutations)

    def declared(self, fdr: float) -> Mask:
        """Which edges differ at a false discovery rate: shape (p, p)."""
        return (self.p_fdr <= fdr) & ~np.eye(len(self.p_fdr), dtype=bool)

    def edges(self, names: tuple[str, ...]) -> pd.DataFrame:
        """One row for each pair of regions, the most different first."""
        first, second = np.triu_indices(len(names), 1)
        frame = pd.DataFrame(
            {
                "source": [names[k] for k in first],
                "target": [names[k] for k in second],
                "difference": self.difference[first, second],
                "statistic": self.statistic[first, second],
                "p_value": self.p_value[first, second],
                "p_family_wise": self.p_family[first, second],
                "p_fdr": self.p_fdr[first, second],
            }
        )
        order = np.argsort(-np.abs(frame["statistic"].to_numpy()), kind="stable")
        return frame.iloc[order].reset_index(drop=True)

    def region_words(self, names: tuple[str, ...]) -> str:
        """Which regions differ, with p-values; where none does, the one that comes closest."""
        order = np.argsort(-self.region_statistic, kind="stable")
        named = [
            f"{names[k]} (p = {self.region_p_family[k]:.2g})"
            for k in order[:NAMED]
            if self.region_p_family[k] < FAMILY_WISE
        ]
        if named:
            count = int(np.count_nonzero(self.region_p_family < FAMILY_WISE))
            return (
                f"{count} of {len(names)} regions differ with a family-wise error below 5 %: "
                f"{', '.join(named)}{' and others' if count > len(named) else ''}."
            )
        return (
            "No region differs with a family-wise error below 5 %; the smallest p-value is "
            f"{self.region_p_family[order[0]]:.2g} ({names[order[0]]})."
        )

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


def compare_groups(
    values: Array,
    membership: Index,
    groups: tuple[str, str],
    p: int,
    *,
    permutations: int = 30_000,
    seed: int = 0,
    covariates: Array | None = None,
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
        What the networks may depend on besides the group, linearly. The difference is then that of a
        regression on group and covariates, and residuals of a regression on the covariates alone are
        exchanged (Freedman and Lane, 1983).

    Returns
    -------
    Comparison
    """
    labels = np.asarray(membership, dtype=bool)
    sizes = (int(np.count_nonzero(~labels)), int(np.count_nonzero(labels)))
    if min(sizes) < 2:
        raise ValueError(f"Each group needs two or more subjects; got {sizes[0]} and {sizes[1]}.")
    judge = _welch if covariates is None else _adjusted(values, labels, covariates)
    everybody = np.arange(len(labels))
    observed = judge(values, labels, everybody[None], p)
    rng = np.random.default_rng(seed)
    pairs = values.shape[1]
    above, above_largest = np.zeros(pairs), np.zeros(pairs)
    above_region = np.zeros(p)
    size = np.abs(observed.edge[0])
    for start in range(0, permutations, CHUNK):
        count = min(CHUNK, permutations - start)
        orders = rng.permuted(np.repeat(everybody[None], count, axis=0), axis=1)
        drawn = judge(values, labels, orders, p)
        drawn_size = np.abs(drawn.edge)
        above += np.count_nonzero(drawn_size >= size, axis=0)
        largest = drawn_size.max(axis=1)
        above_largest += np.count_nonzero(largest[:, None] >= size, axis=0)
        top_region = drawn.region.max(axis=1)
        above_region += np.count_nonzero(top_region[:, None] >= observed.region[0], axis=0)
    p_value = (1.0 + above) / (1.0 + permutations)
    return Comparison(
        groups,
        sizes,
        from_pairs(observed.difference, p),
        from_pairs(observed.edge[0], p),
        from_pairs(p_value, p),
        from_pairs((1.0 + above_largest) / (1.0 + permutations), p),
        from_pairs(stats.false_discovery_control(p_value), p),
        observed.region[0],
        (1.0 + above_region) / (1.0 + permutations),
        permutations,
    )


@dataclass(frozen=True, slots=True)
class _Statistics:
    """Studentised differences of edges (k, pairs) and regions (k, p), and the first difference (pairs,)."""

    difference: Array
    edge: Array
    region: Array


def _welch(values: Array, labels: Mask, orders: Index, p: int) -> _Statistics:
    """Differences of the groups' means for labels in many orders (k, S)."""
    second = labels[orders].astype(np.float64)
    first = 1.0 - second
    sums, squares = values.sum(axis=0), (values**2).sum(axis=0)
    n2 = second.sum(axis=1, keepdims=True)
    n1 = first.sum(axis=1, keepdims=True)
    sum2, square2 = second @ values, second @ values**2
    mean2, mean1 = sum2 / n2, (sums - sum2) / n1
    var2 = np.maximum(square2 / n2 - mean2**2, 0.0) * n2 / np.maximum(n2 - 1.0, 1.0)
    var1 = np.maximum((squares - square2) / n1 - mean1**2, 0.0) * n1 / np.maximum(n1 - 1.0, 1.0)
    error = np.sqrt(var1 / n1 + var2 / n2)
    return _studentised(mean2 - mean1, error, p)


def _adjusted(
    values: Array, labels: Mask, covariates: Array
) -> Callable[[Array, Mask, Index, int], _Statistics]:
    """Differences by a regression on group and covariates, for residuals in many orders.

    With Q an orthonormal basis of constant and covariates, r the residuals of the values on them and h
    those of the labels, the slope of the group in permuted residuals is h'Pr / h'h, and what the covariates
    take of them is |Q'Pr|^2; both are products of permuted rows with r.
    """
    spans = np.column_stack([np.ones(len(labels)), covariates])
    basis, triangle = np.linalg.qr(spans)
    basis = basis[:, np.abs(np.diagonal(triangle)) > SAME * np.abs(triangle).max()]
    freedom = len(labels) - basis.shape[1] - 1
    own = labels - basis @ (basis.T @ labels)
    size = float(own @ own)
    if freedom < 1 or size <= SAME:
        raise ValueError(
            "The covariates tell the groups apart by themselves, or there are as many as subjects: leave "
            "some of them out."
        )
    left = values - basis @ (basis.T @ values)
    energy = np.sum(left**2, axis=0)

    def judge(_: Array, __: Mask, orders: Index, p: int) -> _Statistics:
        slope = own[orders] @ left / size
        taken = np.zeros((len(orders), left.shape[1]))
        for column in basis.T:
            taken += (column[orders] @ left) ** 2
        rest = np.maximum(energy - taken - slope**2 * size, 0.0)
        return _studentised(slope, np.sqrt(rest / freedom / size), p)

    return judge


def _studentised(difference: Array, error: Array, p: int) -> _Statistics:
    """Differences (k, pairs) over their errors, which are kept away from zero."""
    floor = SPREAD_FLOOR * np.median(error[error > 0.0]) if np.any(error > 0.0) else 1.0
    edge = difference / (error + floor)
    one, two = np.triu_indices(p, 1)
    incidence = np.zeros((len(one), p))
    incidence[np.arange(len(one)), one] = incidence[np.arange(len(one)), two] = 1.0
    return _Statistics(difference[0], edge, edge**2 @ incidence / (p - 1))
