"""Profilers: one object for each way to remove the nuisance, able to work on parts of the rows.

Selection by cross-validation or subsampling only talks to these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from plaggm.core.kernels import Kernel
from plaggm.core.moments import Rows
from plaggm.core.node_grams import NodeGrams
from plaggm.core.profile.kernel import Form, KernelSmoother, kernel_smoother, profile_kernel
from plaggm.core.profile.pooled import profile_pooled
from plaggm.core.profile.spline import (
    ProfiledSpline,
    SplineSystem,
    held_out_node_grams,
    profile_spline,
    spline_node_grams,
    spline_system,
)
from plaggm.core.spline_basis import SplineBasis
from plaggm.core.spline_statistics import SplineStatistics, spline_statistics

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Profiler(Protocol):
    """Turns rows into node Gram matrices."""

    @property
    def n(self) -> int:
        """Number of rows."""
        ...

    def fitted(self, index: Index | None = None) -> NodeGrams:
        """Grams of some rows (all when absent), the nuisance learnt from these rows."""
        ...

    def split(self, train: Index, test: Index) -> tuple[NodeGrams, NodeGrams]:
        """Grams of the training and of the test rows, the nuisance learnt from the training rows."""
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

    def fitted(self, index: Index | None = None) -> NodeGrams:
        """See :class:`Profiler`."""
        return profile_pooled(self.b if index is None else self.b[index])

    def split(self, train: Index, test: Index) -> tuple[NodeGrams, NodeGrams]:
        """See :class:`Profiler`."""
        return profile_pooled(self.b[train]), profile_pooled(self.b[test])

    def with_threads(self, n_threads: int) -> PooledProfiler:
        """See :class:`Profiler`; one matrix product needs no threads of ours."""
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

    def fitted(self, index: Index | None = None) -> NodeGrams:
        """See :class:`Profiler`."""
        return profile_kernel(self.smoother(index), n_threads=self.n_threads).node_grams

    def split(self, train: Index, test: Index) -> tuple[NodeGrams, NodeGrams]:
        """See :class:`Profiler`."""
        smoother = self.smoother(train)
        fitted = profile_kernel(smoother, n_threads=self.n_threads)
        held_out = profile_kernel(smoother, self.rows.take(test), n_threads=self.n_threads)
        return fitted.node_grams, held_out.node_grams

    def with_threads(self, n_threads: int) -> KernelProfiler:
        """See :class:`Profiler`."""
        return replace(self, n_threads=n_threads)


@dataclass(frozen=True, slots=True)
class SplineProfiler:
    """A penalised spline for the nuisance, with its penalty settled.

    Attributes
    ----------
    b : ndarray of shape (n, q)
        [Z, 1].
    confounder : ndarray of shape (n, m)
    weights : ndarray of shape (n,)
        Of the rows.
    basis : SplineBasis
    total : SplineStatistics
        Of all rows.
    system : SplineSystem
        Of all rows; its rotation of the functions serves all parts.
    fit : ProfiledSpline
        Of all rows.
    """

    b: Array
    confounder: Array
    weights: Array
    basis: SplineBasis
    total: SplineStatistics
    system: SplineSystem
    fit: ProfiledSpline

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.b)

    def fitted(self, index: Index | None = None) -> NodeGrams:
        """See :class:`Profiler`."""
        if index is None:
            return spline_node_grams(self.system, self.fit)
        system = self._system(self._statistics(index))
        return spline_node_grams(system, self._profile(system))

    def split(self, train: Index, test: Index) -> tuple[NodeGrams, NodeGrams]:
        """See :class:`Profiler`; the training statistics are the total less those of the test rows."""
        held_out = self._statistics(test)
        if len(np.union1d(train, test)) == self.n == len(train) + len(test):
            learnt = self.total - held_out
        else:
            learnt = self._statistics(train)
        system = self._system(learnt)
        fit = self._profile(system)
        return spline_node_grams(system, fit), held_out_node_grams(fit, self._system(held_out))

    def with_threads(self, n_threads: int) -> SplineProfiler:
        """See :class:`Profiler`; the work is matrix products, which BLAS spreads itself."""
        return self

    def _statistics(self, index: Index) -> SplineStatistics:
        phi = self.basis.evaluate(self.confounder[index])
        return spline_statistics(self.b[index], phi, self.weights[index])

    def _system(self, statistics: SplineStatistics) -> SplineSystem:
        rotation = (self.system.rotation, self.system.roughness)
        return spline_system(
            statistics, self.basis, rotation=rotation, free_mean=self.system.free_mean
        )

    def _profile(self, system: SplineSystem) -> ProfiledSpline:
        return profile_spline(system, self.fit.tau, self.fit.smoothness)
