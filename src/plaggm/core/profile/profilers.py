"""Profilers, which remove the nuisance from all rows or from subsets, for the selection of the penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.grams.node_grams import GramMatrices
from plaggm.core.kernel.kernels import Kernel
from plaggm.core.kernel.moments import Rows
from plaggm.core.profile.kernel import Form, KernelSmoother, kernel_smoother, profile_kernel
from plaggm.core.profile.pooled import profile_pooled
from plaggm.core.profile.spline import ProfiledSpline, profile_spline, spline_node_grams
from plaggm.core.spline.basis import SplineBasis
from plaggm.core.spline.statistics import (
    ScaledRows,
    SplineStatistics,
    no_rows,
    spline_statistics,
    split_statistics,
)
from plaggm.core.spline.system import SplineSystem, spline_system


class Profiler(Protocol):
    """Turns rows into node Gram matrices."""

    @property
    def n(self) -> int:
        """Number of rows."""
        ...

    def fitted(self, index: Index | None = None) -> GramMatrices:
        """Grams of some rows (all if absent), with the nuisance learnt from these rows."""
        ...

    def split(self, train: Index, test: Index) -> tuple[GramMatrices, GramMatrices]:
        """Grams of the training and of the test rows, with the nuisance learnt from the training rows."""
        ...

    def with_threads(self, n_threads: int) -> Profiler:
        """The same profiler, using this many threads."""
        ...


@dataclass(frozen=True, slots=True)
class PooledProfiler:
    """No nuisance.

    Attributes
    ----------
    b : ndarray of shape (n, q)
        [Z, 1].
    """

    b: Array

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.b)

    def fitted(self, index: Index | None = None) -> GramMatrices:
        """See :class:`Profiler`."""
        return profile_pooled(self.b if index is None else self.b[index])

    def split(self, train: Index, test: Index) -> tuple[GramMatrices, GramMatrices]:
        """See :class:`Profiler`."""
        return profile_pooled(self.b[train]), profile_pooled(self.b[test])

    def with_threads(self, n_threads: int) -> PooledProfiler:
        """See :class:`Profiler`; there is only one matrix product."""
        return self


@dataclass(frozen=True, slots=True)
class KernelProfiler:
    """Local linear smoothing of the nuisance along the confounder.

    Attributes
    ----------
    rows : Rows
    kernel : Kernel
    bandwidth : ndarray of shape (m,)
    form : {"lemma", "supplement"}
    ridge : float
    n_threads : int
    """

    rows: Rows
    kernel: Kernel
    bandwidth: Array
    form: Form
    ridge: float
    n_threads: int

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.rows.b)

    def smoother(self, index: Index | None = None) -> KernelSmoother:
        """The smoother learnt from some rows."""
        return kernel_smoother(
            self.rows if index is None else self.rows.take(index),
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            form=self.form,
            ridge=self.ridge,
        )

    def fitted(self, index: Index | None = None) -> GramMatrices:
        """See :class:`Profiler`."""
        return profile_kernel(self.smoother(index), n_threads=self.n_threads)

    def split(self, train: Index, test: Index) -> tuple[GramMatrices, GramMatrices]:
        """See :class:`Profiler`."""
        smoother = self.smoother(train)
        fitted = profile_kernel(smoother, n_threads=self.n_threads)
        held_out = profile_kernel(smoother, self.rows.take(test), n_threads=self.n_threads)
        return fitted, held_out

    def with_threads(self, n_threads: int) -> KernelProfiler:
        """See :class:`Profiler`."""
        return replace(self, n_threads=n_threads)


@dataclass(frozen=True, slots=True)
class SplineProfiler:
    """A spline for the nuisance under a given penalty.

    Attributes
    ----------
    b : ScaledRows or ndarray, of shape (n, q)
        [Z, 1].
    confounder : ndarray of shape (n, m)
    weights : ndarray of shape (n,)
        Weights of the rows.
    basis : SplineBasis
    total : SplineStatistics
        Sums over all rows.
    system : SplineSystem
        Moments of all rows; subsets use the same rotation of the functions.
    fit : ProfiledSpline
        Fit to all rows.
    n_threads : int, optional
        Number of threads; all available ones if absent.
    """

    b: ScaledRows | Array
    confounder: Array
    weights: Array
    basis: SplineBasis
    total: SplineStatistics
    system: SplineSystem
    fit: ProfiledSpline
    n_threads: int | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.b)

    def fitted(self, index: Index | None = None) -> GramMatrices:
        """See :class:`Profiler`."""
        if index is None:
            return spline_node_grams(self.system, self.fit)
        return _learn(self, self._statistics(index))

    def split(self, train: Index, test: Index) -> tuple[GramMatrices, GramMatrices]:
        """See :class:`Profiler` and :func:`_learn_and_judge`."""
        held_out = self._statistics(test)
        if len(np.union1d(train, test)) == self.n == len(train) + len(test):
            return _learn_and_judge(self, self.total - held_out, held_out)
        return _learn_and_judge(self, self._statistics(train), held_out)

    def with_threads(self, n_threads: int) -> SplineProfiler:
        """See :class:`Profiler`."""
        return replace(self, n_threads=n_threads)

    def without(self, index: Index) -> SplineProfiler:
        """The same spline, functions and penalty, fitted without the statistics of some rows."""
        rest = self.total - self._statistics(index)
        system = spline_system(rest, self.system.rotation)
        return replace(
            self, total=rest, system=system, fit=profile_spline(system, self.fit.penalty)
        )

    def in_subsets(self, labels: Index, count: int) -> SplineSubsets:
        """The same spline represented by the statistics of disjoint subsets of rows.

        Parameters
        ----------
        labels : ndarray of int of shape (n,)
            Number of every row's subset, from 0 to count - 1.
        count : int
        """
        subsets = split_statistics(
            self.b,
            self.basis.evaluate(self.confounder),
            labels,
            count,
            self.weights,
            n_threads=self.n_threads,
        )
        return SplineSubsets(subsets, self.basis, self.total, self.system, self.fit)

    def resampled(self, counts: Index) -> GramMatrices:
        """Grams of data in which row i occurs ``counts[i]`` times, the nuisance learnt from these."""
        return _learn(self, self._statistics(np.repeat(np.arange(self.n), counts)))

    def _statistics(self, index: Index) -> SplineStatistics:
        phi = self.basis.evaluate(self.confounder[index])
        return spline_statistics(self.b[index], phi, self.weights[index], n_threads=self.n_threads)


@dataclass(frozen=True, slots=True)
class SplineSubsets:
    """A spline represented by the statistics of disjoint subsets of its rows, such as folds or groups.

    The members of :class:`Profiler` refer to subsets instead of rows. Their cost does not depend on the
    number of rows.

    Attributes
    ----------
    subsets : tuple of SplineStatistics
        Weighted statistics.
    basis : SplineBasis
    total : SplineStatistics
        Sums over all rows.
    system : SplineSystem
        Moments of all rows; subsets use the same rotation of the functions.
    fit : ProfiledSpline
        Fit to all rows.
    """

    subsets: tuple[SplineStatistics, ...]
    basis: SplineBasis
    total: SplineStatistics
    system: SplineSystem
    fit: ProfiledSpline

    @property
    def n(self) -> int:
        """Number of subsets."""
        return len(self.subsets)

    def rows(self, index: Index) -> int:
        """Number of rows in some subsets."""
        return sum(self.subsets[subset].n for subset in index)

    def fitted(self, index: Index | None = None) -> GramMatrices:
        """See :class:`Profiler`."""
        if index is None:
            return spline_node_grams(self.system, self.fit)
        return _learn(self, self._sum(index))

    def split(self, train: Index, test: Index) -> tuple[GramMatrices, GramMatrices]:
        """See :class:`Profiler` and :func:`_learn_and_judge`."""
        held_out = self._sum(test)
        if self.rows(train) + held_out.n == self.total.n:
            return _learn_and_judge(self, self.total - held_out, held_out)
        return _learn_and_judge(self, self._sum(train), held_out)

    def resampled(self, counts: Index) -> GramMatrices:
        """Grams of data in which subset i occurs ``counts[i]`` times, the nuisance learnt from these."""
        chosen = np.flatnonzero(counts)
        several = [self.subsets[subset].repeated(int(counts[subset])) for subset in chosen]
        return _learn(self, sum(several, no_rows(self.total.functions, self.total.q)))

    def merged(self, labels: Index, count: int) -> SplineSubsets:
        """Fewer subsets, each the union of those with the same label (shape (number of subsets,))."""
        subsets = tuple(self._sum(np.flatnonzero(labels == label)) for label in range(count))
        return replace(self, subsets=subsets)

    def with_threads(self, n_threads: int) -> SplineSubsets:
        """See :class:`Profiler`; there are only matrix products."""
        return self

    def _sum(self, index: Index) -> SplineStatistics:
        empty = no_rows(self.total.functions, self.total.q)
        return sum((self.subsets[subset] for subset in index), empty)


def _learn(
    whole: SplineProfiler | SplineSubsets, statistics: SplineStatistics, weight: float = 1.0
) -> GramMatrices:
    """Node Grams of some rows, with the nuisance learnt from these under ``weight`` times the penalty."""
    system = spline_system(statistics, whole.system.rotation)
    return spline_node_grams(system, profile_spline(system, weight * whole.fit.penalty))


def _learn_and_judge(
    whole: SplineProfiler | SplineSubsets, train: SplineStatistics, test: SplineStatistics
) -> tuple[GramMatrices, GramMatrices]:
    """Grams of the training rows, and of the test rows with the nuisance learnt from the test rows.

    The loss of the test rows is thus their marginal likelihood, with a prior of the nuisance of the same
    weight as in training. A nuisance predicted from the training rows would compensate for missing edges
    wherever there is confounding, so that only unconfounded rows would discriminate between networks.
    """
    return _learn(whole, train), _learn(whole, test, train.n / test.n)
