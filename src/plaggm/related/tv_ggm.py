"""TVGGM: a graphical model that varies along the confounder, by kernel weights or by fused bins."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from plaggm.core.kernels import KERNELS
from plaggm.data import Confounder, check_columns
from plaggm.estimators.kernel_model import resolve_bandwidth
from plaggm.estimators.network_methods import scalar
from plaggm.related.fused import FusedLoss, check_gglasso
from plaggm.related.losses import Loss, LossPath
from plaggm.related.profilers import LocalProfiler, PartProfiler
from plaggm.related.rival import Rival
from plaggm.related.tasks import Segment, Statistics, Task, part_statistics, standardised

Array = NDArray[np.float64]

# Residuals of ADMM and its iterations where they are None.
FUSED_DEFAULTS = (1e-4, 1000)


class TVGGM(Rival):
    r"""Gaussian graphical model whose network varies along the confounder.

    Section 5 of the paper. With ``smoother="kernel"`` the moments of the variables at a value g of the
    confounder are estimated with the weights :math:`\psi(|g_k - g| / h)`, as a constant or as a line in
    g, and the network from them. With ``smoother="fused"`` the samples are put into ``n_bins`` ordered
    bins of g and their networks are estimated together by the fused graphical lasso of GGLasso, which
    penalises differences between neighbouring bins. The result is the network at g = 0 (of the bin that
    holds it), or the average of the networks along the samples. Means and variances vary too.

    The kernel's cross-validation counts held-out rows with their kernel weight. A fused fit has one
    penalty for all bins, so all of them choose it.

    Parameters
    ----------
    smoother : {"kernel", "fused"}, default="kernel"
        Fused bins take a single confounder, ``loss="glasso"`` and the extra ``plaggm[fused]``.
    target : {"zero", "average"}, default="zero"
        The network at g = 0, or the average over all bins, or over ``n_points`` values at evenly
        spaced ranks of the confounder. The average takes a single confounder, and with the kernel
        ``n_points`` times as long.
    local : {"constant", "linear"}, default="constant"
        Local linear moments are not biased by a slope at the edge of the data, where weights can be
        negative; a covariance that is then not positive definite has its smallest eigenvalues raised.
    kernel : {"gaussian", "epanechnikov", "triangular", "biweight", "uniform"}, default="gaussian"
        Several confounders take the product over them.
    bandwidth : "auto", float or array of shape (m,), default="auto"
        h, in the confounder's units; ``"auto"`` as for :class:`plaggm.PLAGGM`.
    n_points : int, default=20
        Of the average, and of ``score``, which describes every sample by the network at the nearest
        that has enough samples about it. Of several confounders the points are the means of cells with
        about equal numbers of samples, and the nearest is that in bandwidths.
    n_bins : int, default=9
        With equal numbers of samples. An odd number gives a symmetric confounder a bin around zero.
    fusion : float, default=1.0
        Penalty on the differences between neighbouring bins, as a multiple of ``alpha``.
    loss : {"glasso", "pseudo"}, default="glasso"
        The graphical lasso of scikit-learn on the correlation matrix, or the pseudo-likelihood of
        :class:`plaggm.PLAGGM`.
    alpha : float, default=None
        Fixes the penalty; None chooses it from ``alphas``.
    alphas : int or array, default=100
        Number of penalties on glmnet's grid, or the penalties themselves, decreasing.
    cv : int, splitter or iterable, default=10
        Folds; an integer means that many random folds.
    criterion : {"cv", "aic", "bic", "ebic", "stars"}, default="cv"
        Held-out loss (Gaussian likelihood, or squared residuals of the pseudo-likelihood), an
        information criterion, or StARS, the densest network that is stable between subsamples.
    one_se : bool, default=False
        With ``criterion="cv"``: take the largest penalty within one standard error of the best.
    ebic_gamma : float, default=0.5
    n_subsamples : int, default=20
        Of StARS.
    subsample : "auto" or float, default="auto"
        Part of the used samples in a subsample of StARS; ``"auto"`` is 10 sqrt(n) of them.
    instability : float, default=0.05
        Largest instability that StARS accepts.
    symmetry : {"joint", "and", "or"}, default="joint"
        Of the pseudo-likelihood; see :class:`plaggm.PLAGGM`.
    tol : float, default=None
        Largest duality gap. None is 1e-4 for the graphical lasso (scikit-learn) and 1e-6 of the
        explainable loss for the pseudo-likelihood (PLAGGM).
    max_iter : int, default=None
        None is 100 for the graphical lasso and 1000 for the pseudo-likelihood.
    random_state : int, RandomState or None, default=0
        For folds and subsamples.
    n_jobs : int, default=None
        Folds or subsamples side by side.
    verbose : int, default=0

    Attributes
    ----------
    omega_ : ndarray of shape (p, p)
        Partial correlations off the diagonal, intercepts on it. It describes
        z = (x - ``location_``) / ``scale_``.
    adjacency_ : ndarray of bool of shape (p, p)
    partial_correlation_ : ndarray of shape (p, p)
        Between -1 and 1; estimates beyond are held there, with a
        :class:`plaggm.data.DependenceWarning`.
    precision_ : ndarray of shape (p, p)
        In the units of X, with these partial correlations.
    location_, scale_ : ndarray of shape (p,)
        Mean at g = 0; with ``target="average"`` the average of the
        means, and of the variances. ``scale_`` holds the conditional standard deviations.
    alpha_ : float
    alphas_ : ndarray of shape (n_alphas,)
    omega_path_ : ndarray of shape (n_alphas, p, p)
        NaN where the graphical lasso failed. Each in units of its own conditional deviations.
    criterion_path_ : ndarray of shape (n_alphas,)
        Smaller is better; absent where ``alpha`` was given.
    cv_loss_ : ndarray of shape (n_alphas, n_folds)
        With ``criterion="cv"``.
    edge_stability_ : ndarray of shape (p, p)
        With ``criterion="stars"``: how often each pair was an edge at the chosen penalty.
    failures_ : dict
        Reasons by penalty, where a step did not converge.
    bandwidth_ : float, array of shape (m,) or None
    dual_gap_ : float
        With fused bins the residual of the optimality conditions.
    n_iter_ : int
    bin_edges_ : ndarray of shape (n_bins - 1,)
        With fused bins: where the confounder is cut.
    confounder_names_ : tuple of str
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (p,)
        Only for DataFrames.

    Examples
    --------
    >>> from plaggm.related import TVGGM
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(6, n=400, seed=1, even=True, threshold=60.0)
    >>> model = TVGGM(criterion="bic").fit(data.x, confounder=data.confounder)
    >>> model.omega_.shape
    (6, 6)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Rival._parameter_constraints,
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
        smoother: str = "kernel",
        target: str = "zero",
        local: str = "constant",
        kernel: str = "gaussian",
        bandwidth: Any = "auto",
        n_points: int = 20,
        n_bins: int = 9,
        fusion: float = 1.0,
        loss: str = "glasso",
        alpha: float | None = None,
        alphas: Any = 100,
        cv: Any = 10,
        criterion: str = "cv",
        one_se: bool = False,
        ebic_gamma: float = 0.5,
        n_subsamples: int = 20,
        subsample: Any = "auto",
        instability: float = 0.05,
        symmetry: str = "joint",
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: Any = 0,
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

    def _task(self, x: Array, confounder: Confounder, groups: Any) -> Task:
        n, m = confounder.values.shape
        if m > 1 and (self.target == "average" or self.smoother == "fused"):
            asked = "target='average'" if self.target == "average" else "smoother='fused'"
            raise ValueError(
                f"{asked} goes along a single confounder; got {m} "
                f"({', '.join(confounder.names[:5])}). Use target='zero' with smoother='kernel', or "
                "one of them."
            )
        if hasattr(self, "bin_edges_"):
            del self.bin_edges_
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

    def _fused_task(self, x: Array, confounder: Confounder) -> Task:
        check_gglasso()
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
            profilers.append(PartProfiler(b, member, label))
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
            float(self.fusion),
            tol if self.tol is None else float(self.tol),
            max_iter if self.max_iter is None else int(self.max_iter),
            self.n_jobs,
            self.verbose,
        )

    def _finish(
        self,
        task: Task,
        statistics: list[Statistics],
        paths: list[LossPath],
        alphas: Array,
        chosen: int,
    ) -> None:
        super()._finish(task, statistics, paths, alphas, chosen)
        self._bins = (
            [
                network_of_part(task, part, path, chosen)
                for part, path in zip(statistics, paths, strict=True)
            ]
            if hasattr(self, "bin_edges_")
            else []
        )
        self._columns = task.location, task.scale

    def _segments(self, confounder: Array) -> list[Segment]:
        if self._bins:
            networks = self._bins
            labels = np.searchsorted(self.bin_edges_, confounder[:, 0], side="right")
        else:
            points, networks = self._local_networks()
            # In bandwidths, which make several confounders comparable.
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
            # Samples in thin parts of the data are described by the nearest network that there is.
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
            statistics = [part_statistics(profiler, loss, self._names) for profiler in profilers]
            paths = loss.paths([part.grams for part in statistics], np.array([self.alpha_]))
            failed = [path.failures[0] for path in paths if path.failures]
            if failed:
                raise ValueError(
                    f"The network could not be estimated at {len(failed)} of {len(points)} points along "
                    f"the confounder, which score needs ({failed[0]}). Use a larger bandwidth or alpha, "
                    "or loss='pseudo'."
                )
            weights = np.full(len(points), 1.0 / len(points))
            task = Task(profilers, weights, *self._columns, self._names, np.arange(len(values)))
            networks = [
                network_of_part(task, part, path, 0)
                for part, path in zip(statistics, paths, strict=True)
            ]
            self._along = points, networks
        return self._along


def network_of_part(task: Task, part: Statistics, path: LossPath, step: int) -> Segment:
    """The network of one part of a task, in the units of X."""
    location = task.location + task.scale * part.mean
    scale = task.scale * part.unit * path.sigma[step]
    return Segment(np.arange(0), path.omega[step], location, scale)


def bin_edges(values: Array, count: int) -> Array:
    """Where to cut a confounder into bins with equal numbers of samples; equal values stay together.

    Parameters
    ----------
    values : ndarray of shape (n,)
    count : int

    Returns
    -------
    ndarray of shape (k,)
        At most ``count`` - 1 cuts, each between two values.

    Examples
    --------
    >>> import numpy as np
    >>> bin_edges(np.array([3.0, 1.0, 2.0, 4.0]), 2)
    array([2.5])
    """
    ordered = np.sort(values)
    if count > len(ordered):
        raise ValueError(f"n_bins={count} is more than the {len(ordered)} samples.")
    first = ordered[np.round(np.arange(1, count) * len(ordered) / count).astype(int)]
    # The largest value below each bin's first one; a bin that would start at the smallest is none.
    below = np.searchsorted(ordered, np.unique(first[first > ordered[0]]), side="left")
    return 0.5 * (ordered[below] + ordered[below - 1])


def cell_centres(values: Array, count: int) -> Array:
    """Means of cells with about equal numbers of samples, found by halving the fullest cell in turn.

    A cell is cut at the median of the column that varies most in it; for one column this is close to
    :func:`ranked_points`.

    Parameters
    ----------
    values : ndarray of shape (n, m)
    count : int

    Returns
    -------
    ndarray of shape (k, m)
        k is at most ``count``; less if there are not as many distinct samples.

    Examples
    --------
    >>> import numpy as np
    >>> cell_centres(np.array([[0.0, 0.0], [1.0, 0.1], [8.0, 0.0], [9.0, 0.1]]), 2)
    array([[0.5 , 0.05],
           [8.5 , 0.05]])
    """
    cells: list[Array] = [values]
    # Those whose samples are all the same.
    whole: list[Array] = []
    while cells and len(cells) + len(whole) < count:
        cell = cells.pop(int(np.argmax([len(cell) for cell in cells])))
        column = cell[:, np.argmax(cell.std(axis=0))]
        upper = column > np.median(column)
        if not upper.any():
            # More than half of the samples have the largest value.
            upper = column == column.max()
        if upper.all():
            whole.append(cell)
        else:
            cells += [cell[~upper], cell[upper]]
    return np.stack([cell.mean(axis=0) for cell in (*cells, *whole)])


def ranked_points(values: Array, count: int) -> tuple[Array, Array]:
    """Values at the middle of ``count`` equal parts of the ranks, with the part of the samples each has.

    Parameters
    ----------
    values : ndarray of shape (n,)
    count : int

    Returns
    -------
    points : ndarray of shape (k, 1)
        Distinct, k at most ``count``.
    weights : ndarray of shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> points, weights = ranked_points(np.arange(8.0), 2)
    >>> points.ravel(), weights
    (array([2., 6.]), array([0.5, 0.5]))
    """
    index = ((np.arange(count) + 0.5) * len(values) / count).astype(int)
    points, repeats = np.unique(np.sort(values)[index], return_counts=True)
    return points[:, None], repeats / count
