"""TVGGM: a graphical model that varies along the confounder, by kernel weights or by fused bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import ClassVar, Literal

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.kernel.kernels import KERNELS
from plaggm.core.lasso.path import Symmetry
from plaggm.data import Confounder, check_columns
from plaggm.estimators.kernel_model import resolve_bandwidth
from plaggm.estimators.network_methods import scalar
from plaggm.estimators.parameter_checks import Constraints, Interval, StrOptions
from plaggm.parameter_types import (
    Alphas,
    Bandwidth,
    Criterion,
    Folds,
    LossName,
    Seed,
    Subsample,
    Temporal,
)
from plaggm.related.confounder_points import bin_edges, cell_centres, ranked_points
from plaggm.related.fused import FusedLoss
from plaggm.related.path_choice import warn_of_gaps
from plaggm.related.profilers import BinProfiler, LocalProfiler
from plaggm.related.related_estimator import RelatedEstimator
from plaggm.related.tasks import Segment, Statistics, Task, standardised, task_statistics
from plaggm.selection import Loss, LossPath, PathFit

# Default duality gap of each bin and largest number of iterations.
FUSED_DEFAULTS = (1e-4, 1000)


class TVGGM(RelatedEstimator):
    r"""Gaussian graphical model whose network varies along the confounder.

    Section 5 of the paper. With ``smoother="kernel"`` the moments of the variables at a value g of the
    confounder are estimated with the weights :math:`\psi(|g_k - g| / h)`, as a constant or as a line in
    g, and the network from them. With ``smoother="fused"`` the samples are divided into ``n_bins`` ordered
    bins of g, whose networks are estimated together by the fused graphical lasso, which penalises
    differences between neighbouring bins. The result is the network at g = 0 (of the bin that contains
    it), or the average of the networks over the samples. Means and variances vary as well.

    In cross-validation of the kernel smoother held-out rows have their kernel weights. Fused bins share one
    penalty, which is chosen by the loss of all bins.

    Parameters and attributes that are not listed here are those of all related methods; see
    :class:`RelatedEstimator`.

    Parameters
    ----------
    smoother : {"kernel", "fused"}, default="kernel"
        Kernel weights or fused bins; the latter need a single confounder and ``loss="glasso"``.
    target : {"zero", "average"}, default="zero"
        The network at g = 0, or the average over all bins or, with the kernel, over ``n_points`` values at
        evenly spaced ranks of the confounder, which takes ``n_points`` times as long. The average needs a
        single confounder.
    local : {"constant", "linear"}, default="constant"
        Order of the local moments. Local linear moments are not biased by a slope at the boundary of the
        data, but their weights can be negative there; a covariance that is then not positive definite has
        its smallest eigenvalues raised.
    kernel : {"gaussian", "epanechnikov", "triangular", "biweight", "uniform"}, default="gaussian"
        Kernel function; several confounders enter as a product of kernels.
    bandwidth : "auto", float or array of shape (m,), default="auto"
        h, in the confounder's units; ``"auto"`` as for :class:`plaggm.PLAGGM`.
    n_points : int, default=20
        Number of points at which networks are averaged, and by which ``score`` describes every sample: by
        the network at the nearest point with enough samples around it. With several confounders the
        points are the means of bins with about equal numbers of samples, and distances are in bandwidths.
    n_bins : int, default=9
        Number of bins, each with equally many samples. An odd number gives a symmetric confounder a bin
        around zero.
    fusion : float, default=1.0
        Penalty on the differences between neighbouring bins, as a multiple of ``alpha``.

    Attributes
    ----------
    location_, scale_ : ndarray of shape (p,)
        Mean at g = 0 and conditional standard deviations; with ``target="average"`` the averages of the
        means and of the variances.
    bandwidth_ : float, array of shape (m,) or None
        Bandwidth in the confounder's units; None without confounder or kernel.
    dual_gap_ : float
        Duality gap; with fused bins for each bin.
    bin_edges_ : ndarray of shape (n_bins - 1,)
        Values at which the confounder is cut into bins; with ``smoother="fused"`` only.

    Examples
    --------
    >>> from plaggm.related import TVGGM
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(6, n=400, seed=1, even=True, threshold=60.0)
    >>> model = TVGGM(criterion="bic").fit(data.x, confounder=data.confounder)
    >>> model.omega_.shape
    (6, 6)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **RelatedEstimator._parameter_constraints,
        "smoother": [StrOptions({"kernel", "fused"})],
        "target": [StrOptions({"zero", "average"})],
        "local": [StrOptions({"constant", "linear"})],
        "kernel": [StrOptions(set(KERNELS))],
        "bandwidth": [StrOptions({"auto"}), Real, "array-like"],
        "n_points": [Interval(Integral, 1, None, closed="left")],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "fusion": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        smoother: Literal["kernel", "fused"] = "kernel",
        target: Literal["zero", "average"] = "zero",
        local: Literal["constant", "linear"] = "constant",
        kernel: str = "gaussian",
        bandwidth: Bandwidth = "auto",
        n_points: int = 20,
        n_bins: int = 9,
        fusion: float = 1.0,
        loss: LossName = "glasso",
        alpha: float | None = None,
        alphas: Alphas = 100,
        cv: Folds = 10,
        criterion: Criterion = "cv",
        one_se: bool = False,
        ebic_gamma: float = 0.5,
        n_subsamples: int = 20,
        subsample: Subsample = "auto",
        instability: float = 0.05,
        symmetry: Symmetry = "joint",
        temporal: Temporal | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            loss=loss,
            alpha=alpha,
            alphas=alphas,
            cv=cv,
            criterion=criterion,
            one_se=one_se,
            ebic_gamma=ebic_gamma,
            n_subsamples=n_subsamples,
            subsample=subsample,
            instability=instability,
            symmetry=symmetry,
            temporal=temporal,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.smoother = smoother
        self.target = target
        self.local = local
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_points = n_points
        self.n_bins = n_bins
        self.fusion = fusion

    def _has_textbook_test(self) -> bool:
        """Only without confounder, where all samples have the same weight."""
        return not self.confounder_names_

    def _has_moving_means(self) -> bool:
        """True: means are estimated at every point or bin."""
        return True

    def _task(
        self, x: Array, confounder: Confounder, groups: Index | None, runs: Index | None
    ) -> Task:
        n, m = confounder.values.shape
        if m > 1 and (self.target == "average" or self.smoother == "fused"):
            asked = "target='average'" if self.target == "average" else "smoother='fused'"
            raise ValueError(
                f"{asked} needs a single confounder; got {m} "
                f"({', '.join(confounder.names[:5])}). Use target='zero' with smoother='kernel', or "
                "one of them."
            )
        self._along: tuple[Array, list[Segment]] | None = None
        if self.smoother == "fused":
            return self._fused_task(x, confounder)
        bandwidth = resolve_bandwidth(self.bandwidth, confounder, x.shape[1])
        points, weights = np.zeros((1, m)), np.ones(1)
        if self.target == "average":
            points, weights = ranked_points(confounder.values[:, 0], int(self.n_points))
        b, location, scale = standardised(x)
        self._kernel_moments = partial(
            LocalProfiler,
            b,
            confounder.values,
            kernel=KERNELS[self.kernel],
            bandwidth=bandwidth,
            linear=self.local == "linear",
        )
        self._confounder, self._bandwidth = confounder.values, bandwidth
        self.bandwidth_ = scalar(bandwidth)
        profilers = [self._kernel_moments(point) for point in points]
        return Task(profilers, weights, location, scale, self._names, np.arange(n))

    def _network_count(self) -> int:
        if self.smoother == "fused":
            return int(self.n_bins)
        return int(self.n_points) if self.target == "average" else 1

    def _fused_task(self, x: Array, confounder: Confounder) -> Task:
        if self.loss != "glasso":
            raise ValueError(
                f"smoother='fused' is the fused graphical lasso; loss={self.loss!r} has no fused form. "
                "Use loss='glasso' or smoother='kernel'."
            )
        values = confounder.values[:, 0]
        self.bin_edges_ = bin_edges(values, int(self.n_bins))
        labels = np.searchsorted(self.bin_edges_, values, side="right")
        b, location, scale = standardised(x)
        profilers, shares = [], np.empty(len(self.bin_edges_) + 1)
        for k in range(len(shares)):
            member = labels == k
            shares[k] = member.mean()
            inside = values[member]
            label = f"Bin {k + 1} of {confounder.names[0]} ({inside.min():g} to {inside.max():g})"
            try:
                check_columns(x[member], self._names)
            except ValueError as error:
                raise ValueError(f"{label}: {error} Or use fewer bins.") from error
            profilers.append(BinProfiler(b, member, label))
        weights = shares
        if self.target == "zero":
            weights = np.zeros(len(shares))
            weights[np.searchsorted(self.bin_edges_, 0.0, side="right")] = 1.0
        return Task(profilers, weights, location, scale, self._names, np.arange(len(x)), shares)

    def _loss(self) -> Loss:
        if self.smoother == "kernel" or not self.confounder_names_:
            return super()._loss()
        tol, max_iter = FUSED_DEFAULTS
        return FusedLoss(
            tol if self.tol is None else float(self.tol),
            max_iter if self.max_iter is None else int(self.max_iter),
            float(self.fusion),
        )

    def _finish(self, task: Task, statistics: list[Statistics], fit: PathFit, chosen: int) -> None:
        super()._finish(task, statistics, fit, chosen)
        self._bins = (
            _networks(task, statistics, fit.paths, chosen) if hasattr(self, "bin_edges_") else []
        )
        self._columns = task.location, task.scale

    def _segments(self, confounder: Array) -> list[Segment]:
        if self._bins:
            networks = self._bins
            labels = np.searchsorted(self.bin_edges_, confounder[:, 0], side="right")
        else:
            points, networks = self._local_networks()
            # Distances are in bandwidths, so that several confounders are comparable.
            away = [
                np.sum(((confounder - point) / self._bandwidth) ** 2, axis=1) for point in points
            ]
            labels = np.argmin(away, axis=0)
        return [
            replace(network, rows=np.flatnonzero(labels == k)) for k, network in enumerate(networks)
        ]

    def _local_networks(self) -> tuple[Array, list[Segment]]:
        """Points among the samples' confounders, and the networks there at the chosen penalty."""
        if self._along is None:
            values = self._confounder
            candidates = (
                ranked_points(values[:, 0], int(self.n_points))[0]
                if values.shape[1] == 1
                else self._bandwidth * cell_centres(values / self._bandwidth, int(self.n_points))
            )
            # Samples in sparse regions are described by the nearest network that can be estimated.
            profilers = [
                profiler
                for profiler in map(self._kernel_moments, candidates)
                if not profiler.is_thin
            ]
            if not profilers:
                raise ValueError(
                    f"score needs networks along the confounder, and none of {len(candidates)} points "
                    "has enough samples about it. Use a larger bandwidth."
                )
            points = np.stack([profiler.point for profiler in profilers])
            loss = self._loss()
            weights = np.full(len(points), 1.0 / len(points))
            task = Task(profilers, weights, *self._columns, self._names, np.arange(len(values)))
            statistics = task_statistics(task, loss)
            paths = loss.paths([part.grams for part in statistics], np.array([self.alpha_]))
            warn_of_gaps(loss, paths)
            failed = [path.failures[0] for path in paths if path.failures]
            if failed:
                raise ValueError(
                    f"The network could not be estimated at {len(failed)} of {len(points)} points along "
                    f"the confounder, which score needs ({failed[0]}). Use a larger bandwidth or alpha, "
                    "or loss='pseudo'."
                )
            self._along = points, _networks(task, statistics, paths, 0)
        return self._along


def _networks(
    task: Task, statistics: Sequence[Statistics], paths: Sequence[LossPath], step: int
) -> list[Segment]:
    """The network of every profiler of a task, in the units of X."""
    return [
        Segment(
            np.arange(0),
            path.omega[step],
            task.location + task.scale * part.mean,
            task.scale * part.unit * path.sigma[step],
        )
        for part, path in zip(statistics, paths, strict=True)
    ]
