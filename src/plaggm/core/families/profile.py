"""Node Grams of variables of several families: quadratic models of the losses around a given fit.

Folds and subsamples use the same quadratic models, around the predictors of one fit to all rows. Their
error is of third order in the difference between a network and this fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.families.nodes import (
    NuisancePenalty,
    node_statistics,
    profile_node,
)
from plaggm.core.families.rows import FamilyRows
from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.numerics.threads import threads
from plaggm.core.spline.statistics import SplineStatistics
from plaggm.core.spline.system import spline_system


@dataclass(frozen=True, slots=True)
class FamilyProfiler:
    """Quadratic models of some rows' losses; see :class:`plaggm.core.profile.profilers.Profiler`.

    Attributes
    ----------
    rows : FamilyRows
    eta : ndarray of shape (n, p)
        Predictors around which the losses are approximated.
    penalty : NuisancePenalty
    totals : tuple of SplineStatistics
        Weighted sums over all rows, of every node.
    n_threads : int
    """

    rows: FamilyRows
    eta: Array
    penalty: NuisancePenalty
    totals: tuple[SplineStatistics, ...]
    n_threads: int

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.rows.x)

    def fitted(self, index: Index | None = None) -> NodeGrams:
        """See :class:`Profiler`."""
        if index is None:
            return self._grams(self.totals)
        return self._grams(self._statistics(index))

    def split(self, train: Index, test: Index) -> tuple[NodeGrams, NodeGrams]:
        """See :class:`Profiler`; the nuisance of the test rows is profiled out as in `SplineProfiler`."""
        held_out = self._statistics(test)
        if len(np.union1d(train, test)) == self.n == len(train) + len(test):
            learnt = tuple(total - part for total, part in zip(self.totals, held_out, strict=True))
        else:
            learnt = self._statistics(train)
        return self._grams(learnt), self._grams(held_out, len(train) / len(test))

    def resampled(self, counts: Index) -> NodeGrams:
        """Grams of data in which row i occurs ``counts[i]`` times."""
        again = replace(self, rows=self.rows.repeated(counts.astype(np.float64)))
        return again._grams(again._statistics(np.flatnonzero(counts)))

    def with_threads(self, n_threads: int) -> FamilyProfiler:
        """See :class:`Profiler`."""
        return replace(self, n_threads=n_threads)

    def _statistics(self, index: Index) -> tuple[SplineStatistics, ...]:
        return all_statistics(self.rows.take(index), self.eta[index], self.n_threads)

    def _grams(self, statistics: tuple[SplineStatistics, ...], weight: float = 1.0) -> NodeGrams:
        p, q = self.rows.p, self.rows.b.shape[1]
        grams, spent = np.empty((p, q, q)), np.zeros(p)
        penalty = self.penalty.times(weight)
        unrotated = np.eye(penalty.functions)

        def work(node: int) -> None:
            found = profile_node(spline_system(statistics[node], unrotated), penalty, node)
            grams[node], spent[node] = found.gram, found.spent

        with threads(self.n_threads) as pool:
            pool.run(work, list(range(p)))
        return NodeGrams(grams, statistics[0].n, spent)


@dataclass(frozen=True, slots=True)
class FamilyGroups:
    """Groups of rows that a bootstrap draws.

    Attributes
    ----------
    profiler : FamilyProfiler
    labels : ndarray of int of shape (n,)
        Group of every row.
    """

    profiler: FamilyProfiler
    labels: Index

    @property
    def n(self) -> int:
        """Number of groups."""
        return int(self.labels.max()) + 1

    def resampled(self, counts: Index) -> NodeGrams:
        """Grams of data in which group i occurs ``counts[i]`` times."""
        return self.profiler.resampled(counts[self.labels])


def all_statistics(rows: FamilyRows, eta: Array, n_threads: int) -> tuple[SplineStatistics, ...]:
    """Weighted sums of every node; see :func:`plaggm.core.families.nodes.node_statistics`."""
    found: dict[int, SplineStatistics] = {}
    working = rows.working(eta)

    def work(node: int) -> None:
        found[node] = node_statistics(rows, working, node)

    with threads(n_threads) as pool:
        pool.run(work, list(range(rows.p)))
    return tuple(found[node] for node in range(rows.p))


def family_profiler(
    rows: FamilyRows, eta: Array, penalty: NuisancePenalty, n_threads: int
) -> FamilyProfiler:
    """Profiler of all rows around some predictors (n, p)."""
    return FamilyProfiler(rows, eta, penalty, all_statistics(rows, eta, n_threads), n_threads)
