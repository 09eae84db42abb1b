"""Choice of the pairs of variables on a page: all, or a selection where there are many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.report.changes import pair_changes
from plaggm.report.encoding import upper_triangle
from plaggm.report.phrases import change_rate
from plaggm.result import GraphResult

# Largest number of pairs on a page, that of 245 variables.
MOST_PAIRS = 30_000


@dataclass(frozen=True, slots=True)
class PagePairs:
    """The pairs on a page.

    Attributes
    ----------
    total : int
        P = p (p - 1) / 2, the number of all pairs.
    listed : ndarray of int of shape (K,)
        Numbers of the pairs on the page, increasing, among the pairs j < k row after row.
    rows, columns : ndarray of int of shape (K,)
        Their variables.
    """

    total: int
    listed: Index
    rows: Index
    columns: Index

    @property
    def limited(self) -> bool:
        """Whether the page leaves pairs out."""
        return len(self.listed) < self.total

    def of(self, matrices: Array) -> Array:
        """Entries of symmetric matrices (..., p, p): shape (..., K)."""
        return matrices[..., self.rows, self.columns]

    def positions(self, pairs: Index) -> Index:
        """Positions of pairs among those on the page; pairs that are not on it are left out."""
        return np.searchsorted(self.listed, pairs[np.isin(pairs, self.listed)])


def page_pairs(
    result: GraphResult, unadjusted: GraphResult | None, most: int = MOST_PAIRS
) -> PagePairs:
    """Choose the pairs of a page: all if they are few, else edges, pairs that change and candidates.

    Parameters
    ----------
    result : GraphResult
        The network that the page is about.
    unadjusted : GraphResult or None
        The network of the same variables without the confounder.
    most : int
        Largest number of pairs on the page.
    """
    p = len(result.names)
    rows, columns = np.triu_indices(p, 1)
    total = len(rows)
    if total <= most:
        return PagePairs(total, np.arange(total), rows, columns)
    networks = [one for one in (result, unadjusted) if one is not None]
    # Edges of either network come first, then pairs that change, then those closest to being edges.
    rank = np.zeros(total)
    for network in networks:
        weights = np.abs(upper_triangle(network.network))
        rank = np.maximum(rank, np.where(weights > 0.0, 3.0 + weights, 0.0))
        tests = network.deciding_tests
        near = np.abs(upper_triangle(network.omega)) if tests is None else 1.0 - tests.p_value
        rank = np.maximum(rank, np.clip(np.nan_to_num(near), 0.0, 1.0))
    if unadjusted is not None:
        passed = pair_changes(unadjusted, result).passed
        if passed is not None:
            rank += np.where(passed, 2.0, 0.0)
    if result.moderation_table is not None:
        changing = result.moderation_table.q_value <= change_rate(result)
        rank += np.where(changing.any(axis=0), 2.0, 0.0)
    listed = np.sort(np.argsort(-rank, kind="stable")[:most])
    return PagePairs(total, listed, rows[listed], columns[listed])
