"""GGM: the plain graphical model of the samples that are free of confounding."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from plaggm.data import Confounder, as_positive, check_columns, in_figures
from plaggm.estimators.network_methods import scalar
from plaggm.estimators.spline_model import quantile_threshold
from plaggm.related.rival import Rival
from plaggm.related.tasks import Task, pooled_task

Array = NDArray[np.float64]


class GGM(Rival):
    r"""Gaussian graphical model of the samples with :math:`|g| \le g^*` alone.

    Section 5 of the paper. Several confounders must all be at most their thresholds. Without confounder
    all samples are used.

    Parameters
    ----------
    threshold : "auto", float or array of shape (m,), default="auto"
        g*, in the confounder's units. ``"auto"`` is the smallest quantile of the absolute confounder
        (from 10 % up) with three samples for each variable.
    min_samples : int or "auto", default="auto"
        Fewer unconfounded samples are an error; ``"auto"`` asks for as many as there are variables.
    loss : {"glasso", "pseudo"}, default="glasso"
        The graphical lasso of scikit-learn on the correlation matrix, or the pseudo-likelihood of
        :class:`plaggm.PLAGGM`.
    alpha : float, default=None
        Fixes the penalty; None chooses it from ``alphas``.
    alphas : int or array, default=100
        Number of penalties on glmnet's grid, or the penalties themselves, decreasing.
    cv : int, splitter or iterable, default=10
        Folds; an integer means that many random folds of the used samples, and
        anything else splits all samples, of which the used ones are kept.
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
        Mean of the used samples. ``scale_`` holds the conditional standard deviations.
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
    threshold_ : float, array of shape (m,) or None
    dual_gap_ : float
    n_iter_ : int
    confounder_names_ : tuple of str
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (p,)
        Only for DataFrames.

    Examples
    --------
    >>> from plaggm.related import GGM
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(6, n=400, seed=1, even=True, threshold=60.0)
    >>> model = GGM(criterion="bic", threshold=60.0).fit(data.x, confounder=data.confounder)
    >>> model.omega_.shape
    (6, 6)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Rival._parameter_constraints,
        "threshold": [StrOptions({"auto"}), Real, "array-like"],
        "min_samples": [StrOptions({"auto"}), Interval(Integral, 3, None, closed="left")],
    }

    def __init__(
        self,
        *,
        threshold: Any = "auto",
        min_samples: Any = "auto",
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
        self.threshold = threshold
        self.min_samples = min_samples

    def _task(self, x: Array, confounder: Confounder, groups: Any) -> Task:
        n, p = x.shape
        if isinstance(self.threshold, str):
            limits = quantile_threshold(confounder, p + 1)
        else:
            limits = as_positive(self.threshold, "threshold", confounder.names, zero=True)
        rows = np.flatnonzero(np.all(np.abs(confounder.values) <= limits, axis=1))
        automatic = isinstance(self.min_samples, str)
        needed = max(p, 3) if automatic else int(self.min_samples)
        if len(rows) < needed:
            wanted = f"the {p} variables" if automatic else f"min_samples={needed}"
            raise ValueError(
                f"Only {len(rows)} of {n} samples are free of confounding (threshold "
                f"{in_figures(limits)}), fewer than {wanted}. Use a larger threshold, lower min_samples, "
                "or take PLAGGM, which learns from all samples."
            )
        try:
            check_columns(x[rows], self._names)
        except ValueError as error:
            raise ValueError(f"Among the {len(rows)} unconfounded samples: {error}") from error
        self.threshold_ = scalar(limits)
        self._say(f"{len(rows)} of {n} samples are free of confounding")
        return pooled_task(x, self._names, rows)
