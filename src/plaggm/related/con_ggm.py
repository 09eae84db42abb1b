"""ConGGM: the graphical model of the variables and the confounders together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaggm.core.dependence import correlations
from plaggm.data import Confounder, check_columns, check_dependence
from plaggm.related.rival import Rival
from plaggm.related.tasks import Task, pooled_task

Array = NDArray[np.float64]


class ConGGM(Rival):
    r"""Gaussian graphical model of (Z, G) jointly, read as the network of Z given G = 0.

    Section 5 of the paper. The conditional precision matrix

    .. math::
        [\Sigma_{ZZ} - \Sigma_{ZG} \Sigma_{GG}^{-1} \Sigma_{GZ}]^{-1}

    is the ZZ block of the joint one, so it keeps the zeros of the joint estimate and does not depend on
    the value of G; that value only moves the intercepts on the diagonal of ``omega_``. The edges between
    variables and confounders are penalised like all others, and the criterion is that of the joint model.
    Any number of confounders is taken.

    Parameters
    ----------
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
        Mean of all samples. ``scale_`` holds the conditional standard deviations.
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
    dual_gap_ : float
    n_iter_ : int
    confounder_names_ : tuple of str
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (p,)
        Only for DataFrames.

    Examples
    --------
    >>> from plaggm.related import ConGGM
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(6, n=400, seed=1, even=True, threshold=60.0)
    >>> model = ConGGM(criterion="bic").fit(data.x, confounder=data.confounder)
    >>> model.omega_.shape
    (6, 6)
    """

    def _task(self, x: Array, confounder: Confounder, groups: Any) -> Task:
        joint, names = np.column_stack([x, confounder.values]), self._names + confounder.names
        check_columns(joint, names)
        check_dependence(correlations(joint), len(joint), names, warn=False)
        return pooled_task(joint, names)

    def _read(self, omega: Array, location: Array, scale: Array) -> tuple[Array, Array, Array]:
        p = len(self._names)
        # Node j at G = 0: the joint intercept plus the confounders' coefficients times where zero lies.
        at_zero = -location[p:] / scale[:, p:]
        out = omega[:, :p, :p].copy()
        index = np.arange(p)
        out[:, index, index] += np.matmul(omega[:, :p, p:], at_zero[:, :, None])[:, :, 0]
        return out, location[:p], scale[:, :p]

    def _intercept_shift(self, confounder: Array, groups: Any) -> Array:
        # omega_ is read at G = 0; the joint network says what a confounder adds to each intercept.
        p, joint = len(self._names), self._of_task
        return (confounder / joint.scale[p:]) @ joint.omega[p:, :p]
