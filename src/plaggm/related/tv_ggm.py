"""TVGGM: a graphical model that varies along the confounder, by kernel weights."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from plaggm.core.kernels import KERNELS
from plaggm.data import Confounder
from plaggm.estimators.kernel_model import resolve_bandwidth
from plaggm.estimators.network_methods import scalar
from plaggm.related.profilers import LocalProfiler
from plaggm.related.rival import Rival, Task, standardised

Array = NDArray[np.float64]


class TVGGM(Rival):
    r"""Gaussian graphical model whose network varies along the confounder.

    Section 5 of the paper. At a value g of the confounder the moments of the variables are estimated with
    the weights :math:`\psi(|g_k - g| / h)`, as a constant or as a line in g, and the network from them.
    The result is the network at g = 0, or the average of the networks along the samples. Means and
    variances vary too. In cross-validation held-out rows count with their kernel weight.

    Parameters
    ----------
    target : {"zero", "average"}, default="zero"
        The network at g = 0, or the average over ``n_points`` values at evenly spaced ranks of the
        confounder. The average takes a single confounder, and ``n_points`` times as long.
    local : {"constant", "linear"}, default="constant"
        Local linear moments are not biased by a slope at the edge of the data, where weights can be
        negative; a covariance that is then not positive definite has its smallest eigenvalues raised.
    kernel : {"gaussian", "epanechnikov", "triangular", "biweight", "uniform"}, default="gaussian"
        Several confounders take the product over them.
    bandwidth : "auto", float or array of shape (m,), default="auto"
        h, in the confounder's units; ``"auto"`` as for :class:`plaggm.PLAGGM`.
    n_points : int, default=20
        Of the average.
    loss : {"glasso", "pseudo"}, default="glasso"
        The graphical lasso of scikit-learn on the correlation matrix, or the pseudo-likelihood of
        :class:`plaggm.PLAGGM`.
    alpha : float, default=None
        Fixes the penalty; None chooses it from ``alphas``.
    alphas : int or array, default=100
        Number of penalties on glmnet's grid, or the penalties themselves, decreasing.
    cv : int, splitter or iterable, default=10
        Folds; an integer means that many random folds.
    criterion : {"cv", "aic", "bic", "ebic"}, default="cv"
        Held-out loss (Gaussian likelihood, or squared residuals of the pseudo-likelihood), or an
        information criterion.
    ebic_gamma : float, default=0.5
    symmetry : {"joint", "and", "or"}, default="joint"
        Of the pseudo-likelihood; see :class:`plaggm.PLAGGM`.
    tol : float, default=None
        Largest duality gap. None is 1e-4 for the graphical lasso (scikit-learn) and 1e-6 of the
        explainable loss for the pseudo-likelihood (PLAGGM).
    max_iter : int, default=None
        None is 100 for the graphical lasso and 1000 for the pseudo-likelihood.
    random_state : int, RandomState or None, default=0
        For the folds.
    n_jobs : int, default=None
        Folds side by side.
    verbose : int, default=0

    Attributes
    ----------
    omega_ : ndarray of shape (p, p)
        Partial correlations off the diagonal, intercepts on it. It describes
        z = (x - ``location_``) / ``scale_``.
    adjacency_ : ndarray of bool of shape (p, p)
    partial_correlation_ : ndarray of shape (p, p)
    precision_ : ndarray of shape (p, p)
        In the units of X.
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
    failures_ : dict
        Reasons by penalty, where a step did not converge.
    bandwidth_ : float, array of shape (m,) or None
    dual_gap_ : float
    n_iter_ : int
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
        "target": [StrOptions({"zero", "average"})],
        "local": [StrOptions({"constant", "linear"})],
        "kernel": [StrOptions(set(KERNELS))],
        "bandwidth": [StrOptions({"auto"}), Real, "array-like"],
        "n_points": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        target: str = "zero",
        local: str = "constant",
        kernel: str = "gaussian",
        bandwidth: Any = "auto",
        n_points: int = 20,
        loss: str = "glasso",
        alpha: float | None = None,
        alphas: Any = 100,
        cv: Any = 10,
        criterion: str = "cv",
        ebic_gamma: float = 0.5,
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
            ebic_gamma=ebic_gamma,
            symmetry=symmetry,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.target = target
        self.local = local
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_points = n_points

    def _task(self, x: Array, confounder: Confounder) -> Task:
        n, m = confounder.values.shape
        if self.target == "average" and m > 1:
            raise ValueError(
                f"target='average' goes along a single confounder; got {m} "
                f"({', '.join(confounder.names[:5])}). Use target='zero' or one of them."
            )
        bandwidth = resolve_bandwidth(self.bandwidth, confounder, x.shape[1])
        points, weights = np.zeros((1, m)), np.ones(1)
        if self.target == "average":
            points, weights = ranked_points(confounder.values[:, 0], int(self.n_points))
        b, location, scale = standardised(x)
        profilers = [
            LocalProfiler(
                b,
                confounder.values,
                point,
                KERNELS[self.kernel],
                bandwidth,
                self.local == "linear",
            )
            for point in points
        ]
        self.bandwidth_ = scalar(bandwidth)
        return Task(profilers, weights, location, scale, self._names, np.arange(n))


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
