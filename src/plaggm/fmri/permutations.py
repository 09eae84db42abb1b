"""Permutations of whole subjects: their orders, and the p-values of edges and regions that follow.

Subjects, not volumes, are exchanged: under the null hypothesis their networks come from one distribution,
given their covariates. Every subject is one observation, however long the scans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import exp, lgamma

import numpy as np

from plaggm.array_types import Array, Index

# Orders that are judged at a time.
CHUNK = 200
# Part of the largest below which a direction is no direction of its own.
SAME = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """Test statistics of a difference, for many orders of the subjects.

    Attributes
    ----------
    difference : ndarray of shape (pairs,)
        Difference in the first of the orders.
    edge : ndarray of shape (k, pairs)
        Statistics of the edges; large absolute values speak for a difference.
    square : ndarray of shape (k, pairs)
        Their share in the statistic of a region.
    """

    difference: Array
    edge: Array
    square: Array


Judge = Callable[[Index], Statistics]


@dataclass(frozen=True, slots=True)
class Orders:
    """Random orders of subjects, within blocks if there are any.

    Attributes
    ----------
    subjects : int
    count : int
        Number of orders.
    seed : int
    blocks : sequence of labels, optional
        Subjects are exchanged within a block only.
    """

    subjects: int
    count: int
    seed: int
    blocks: Sequence[object] | None = None

    def __iter__(self) -> Iterator[Index]:
        """Orders by chunks, each of shape (k, subjects)."""
        rng = np.random.default_rng(self.seed)
        everybody = np.arange(self.subjects)
        members = [everybody]
        if self.blocks is not None:
            labels = list(dict.fromkeys(self.blocks))
            numbers = np.array([labels.index(label) for label in self.blocks])
            members = [np.flatnonzero(numbers == block) for block in range(len(labels))]
        for start in range(0, self.count, CHUNK):
            size = min(CHUNK, self.count - start)
            orders = np.repeat(everybody[None], size, axis=0)
            for rows in members:
                orders[:, rows] = rng.permuted(orders[:, rows], axis=1)
            yield orders


def arrangements(membership: Sequence[object], blocks: Sequence[object] | None = None) -> float:
    """Number of different assignments of subjects to groups that permutations within blocks reach.

    Examples
    --------
    >>> round(arrangements("aabb"))
    6
    >>> round(arrangements("aabb", ["x", "x", "y", "y"]))
    1
    """
    labels = ["" for _ in membership] if blocks is None else list(blocks)
    total = 0.0
    for block in dict.fromkeys(labels):
        inside = [group for group, own in zip(membership, labels, strict=True) if own == block]
        total += lgamma(len(inside) + 1.0)
        total -= sum(lgamma(count + 1.0) for count in Counter(inside).values())
    return exp(min(total, 700.0))


def reachable_arrangements(
    membership: Sequence[object], covariates: Array | None, blocks: Sequence[object] | None
) -> float:
    """Number of different arrangements of the subjects that a comparison's permutations reach.

    With covariates residuals are exchanged, which differ between all subjects; otherwise groups are.

    Examples
    --------
    >>> round(reachable_arrangements("aabb", None, None))
    6
    >>> round(reachable_arrangements("aabb", np.ones((4, 1)), ["x", "x", "y", "y"]))
    4
    """
    return arrangements(membership if covariates is None else range(len(membership)), blocks)


def finest_fdr(p: int, arrangements: float, permutations: float = float("inf")) -> float:
    """Smallest adjusted p-value that permutations can show for one of all pairs of p regions.

    Examples
    --------
    >>> round(finest_fdr(5, 1000.0, 99), 3), round(finest_fdr(5, 1000.0), 3)
    (0.1, 0.01)
    """
    return p * (p - 1) / 2 / min(1.0 + permutations, arrangements)


@dataclass(frozen=True, slots=True, eq=False)
class Tails:
    """How often permuted statistics reach the observed ones.

    Attributes
    ----------
    p_value, p_family : ndarray of shape (pairs,)
        P-values of each edge, and of the largest statistic over all edges.
    region_statistic, region_p_family : ndarray of shape (p,)
        Mean of the squared statistics of a region's edges, and p-values of the largest over all regions.
    """

    p_value: Array = field(repr=False)
    p_family: Array = field(repr=False)
    region_statistic: Array = field(repr=False)
    region_p_family: Array = field(repr=False)


def permutation_tails(judge: Judge, observed: Statistics, orders: Orders, p: int) -> Tails:
    """Count permutations whose statistics are at least as large as the observed ones.

    Parameters
    ----------
    judge : callable
        Gives the statistics for orders (k, S).
    observed : Statistics
        Those of the subjects as they are.
    orders : Orders
    p : int
        Regions.

    Returns
    -------
    Tails
    """
    one, two = np.triu_indices(p, 1)
    incidence = np.zeros((len(one), p))
    incidence[np.arange(len(one)), one] = incidence[np.arange(len(one)), two] = 1.0 / (p - 1)
    size = np.abs(observed.edge[0])
    region = observed.square[0] @ incidence
    above, above_largest, above_region = np.zeros(len(size)), np.zeros(len(size)), np.zeros(p)
    for chunk in orders:
        drawn = judge(chunk)
        drawn_size = np.abs(drawn.edge)
        above += np.count_nonzero(drawn_size >= size, axis=0)
        largest = drawn_size.max(axis=1)
        above_largest += np.count_nonzero(largest[:, None] >= size, axis=0)
        top_region = (drawn.square @ incidence).max(axis=1)
        above_region += np.count_nonzero(top_region[:, None] >= region, axis=0)
    total = 1.0 + orders.count
    return Tails(
        (1.0 + above) / total, (1.0 + above_largest) / total, region, (1.0 + above_region) / total
    )


class NestedRegression:
    """Regressions of edges on groups and covariates, for residuals in many orders (Freedman and Lane).

    With Q an orthonormal basis of constant and covariates, H one of what the groups add to it, and r the
    residuals of the values on Q, permuted residuals Pr have the slopes H'Pr on the groups and Q'Pr on the
    covariates; both are products of permuted rows with r.

    Parameters
    ----------
    values : ndarray of shape (S, pairs)
    labels : ndarray of shape (S, k)
        Indicators of the groups but one.
    covariates : ndarray of shape (S, c)
    """

    def __init__(self, values: Array, labels: Array, covariates: Array) -> None:
        basis = _directions(np.column_stack([np.ones(len(labels)), covariates]))
        own = labels - basis @ (basis.T @ labels)
        self.residual_labels = own
        sizes = np.sqrt(np.sum(own**2, axis=0))
        freedom = len(labels) - basis.shape[1] - labels.shape[1]
        self.added = _directions(own) if sizes.min() > SAME else own[:, :0]
        if freedom < 1 or self.added.shape[1] < labels.shape[1]:
            raise ValueError(
                "The covariates tell the groups apart by themselves, or there are as many as subjects: "
                "leave some of them out."
            )
        self._basis = basis
        self._left = values - basis @ (basis.T @ values)

    def slopes(self, orders: Index) -> Array:
        """Slopes along what the groups add: shape (h, k, pairs)."""
        return np.stack([column[orders] @ self._left for column in self.added.T])

    def group_variances(self, orders: Index, slopes: Array, members: Array) -> Array:
        """Residual variances of each group: shape (g, k, pairs).

        With B = [Q, H] and c = B'Pr, the squares of the residuals Pr - Bc in a group are those of Pr, less
        twice c'B'Pr and plus c'B'Bc over its members; they are divided by what the regression leaves of
        the group's size.

        Parameters
        ----------
        orders : ndarray of int of shape (k, S)
        slopes : ndarray of shape (h, k, pairs)
            Result of :meth:`slopes`.
        members : ndarray of shape (S, g)
            Indicators of all groups.
        """
        basis = np.column_stack([self._basis, self.added])
        own = np.stack([column[orders] @ self._left for column in self._basis.T])
        taken = np.concatenate([own, slopes])
        squares = self._left**2
        found = []
        for member in members.T:
            inside = basis * member[:, None]
            total = member[orders] @ squares
            for column, part in zip(inside.T, taken, strict=True):
                total -= 2.0 * part * (column[orders] @ self._left)
            total += np.einsum("akp,ab,bkp->kp", taken, inside.T @ basis, taken)
            free = member.sum() - np.sum(inside**2)
            found.append(np.maximum(total, 0.0) / max(free, SAME))
        return np.stack(found)


def _directions(columns: Array) -> Array:
    """Orthonormal basis of the span of some columns."""
    basis, triangle = np.linalg.qr(columns)
    kept = np.abs(np.diagonal(triangle)) > SAME * np.abs(triangle).max()
    return np.asarray(basis[:, kept])
