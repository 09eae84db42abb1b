"""PLAGGMCV: the model with its penalty chosen from a path."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

from plaggm.core.lasso.path import Symmetry
from plaggm.estimators.edges_member import ParameterAndMethod
from plaggm.estimators.fitted_estimator import FittedEstimator
from plaggm.estimators.parameter_checks import (
    PENALTY_CONSTRAINTS,
    Constraints,
    Interval,
    StrOptions,
)
from plaggm.estimators.plaggm import PLAGGM
from plaggm.parameter_types import (
    Alphas,
    Bandwidth,
    Criterion,
    EdgeRule,
    FamilyChoice,
    Folds,
    FormChoice,
    IndicatorChoice,
    MarginChoice,
    Missing,
    ReferenceChoice,
    Robust,
    Seed,
    Smoother,
    Standardize,
    Subsample,
    Tau,
    Temporal,
    Threshold,
    Variance,
)


class PLAGGMCV(PLAGGM):
    """Network of the variables adjusted for confounders, with a penalty chosen by the data.

    The whole regularisation path is fitted, and the penalty with the best criterion is chosen. See
    :class:`PLAGGM` for the model and the parameters that are not listed here.

    Parameters
    ----------
    alphas : int or array, default=100
        Number of penalties on glmnet's grid, or the penalties themselves, decreasing.
    cv : int, splitter or iterable, default=10
        Folds. An integer is the number of random folds, of groups if ``fit`` has them and of rows
        otherwise; with ``temporal`` and without groups, of contiguous folds, which consist of whole runs
        if there are enough of them. Folds and subsamples are drawn by row position: if the rows are
        reordered, the chosen penalty may differ. Splitters of groups such as ``LeaveOneGroupOut()`` are
        allowed.
    criterion : {"cv", "aic", "bic", "ebic", "refit", "stars"}, default="cv"
        Criterion that chooses the penalty: held-out loss, with the smoother fitted to the training rows
        only; an information criterion of the pseudo-likelihood; EBIC (gamma = 1/4) of every support of
        the path, refitted without penalty (``"refit"``); or StARS, which chooses the densest network that
        is stable between subsamples.
    one_se : bool, default=False
        Choose the largest penalty within one standard error of the best; only with ``criterion="cv"``.
    ebic_gamma : float, default=0.5
        Weight of the number of possible networks; only with ``criterion="ebic"``.
    n_subsamples : int, default=20
        Number of subsamples; only with ``criterion="stars"``.
    subsample : "auto" or float, default="auto"
        Share of the rows in a subsample, ``"auto"`` being 10 sqrt(n) rows; only with
        ``criterion="stars"``.
    instability : float, default=0.05
        Largest accepted instability; only with ``criterion="stars"``.
    edges : {"fdr", "penalty"}, default="fdr"
        Rule that declares the edges of ``adjacency_``, :meth:`edges`, results and pictures: pairs with a
        q-value (:meth:`inference`) of at most ``fdr``, with unpenalised estimates, or pairs with non-zero
        estimates at the chosen penalty. ``omega_`` is the penalised estimate in both cases, which is better
        for ranking and prediction.
    fdr : float, default=0.05
        False discovery rate of the declared edges; only with ``edges="fdr"``.
    random_state : int, RandomState or None, default=0
        Seed of folds and subsamples.
    threshold, reference, categorical, smoother, tau, indicator, form, kernel, symmetry, variance
        See :class:`PLAGGM`.
    standardize, ridge, temporal, robust, margins, family, missing, tol, max_iter
        See :class:`PLAGGM`.
    bandwidth : "auto", "cv", float or array of shape (m,), default="auto"
        See :class:`PLAGGM`; ``"cv"`` chooses the multiple of the automatic bandwidth (from a half to two)
        with the smallest held-out loss.
    n_jobs : int, default=None
        Number of folds or subsamples fitted in parallel, and of threads of a single fit. None is one unless
        ``joblib.parallel_config`` sets another number; -1 is all cores. Results do not depend on it.
    verbose : int, default=0
        Whether to print progress messages.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_alphas,)
        Penalties of the path, decreasing.
    omega_path_ : ndarray of shape (n_alphas, p, p)
        Networks along the path, in the units of ``omega_``.
    dual_gaps_ : ndarray of shape (n_alphas,)
        Duality gap at every penalty.
    criterion_path_ : ndarray of shape (n_alphas,)
        The criterion along the path; smaller is better (StARS: the instability).
    cv_loss_ : ndarray of shape (n_alphas, n_folds)
        Loss of every fold's held-out rows; with ``criterion="cv"`` only. NaN for penalties that were
        skipped because the loss had clearly risen before (with 120 variables and more).
    cv_standard_error_ : ndarray of shape (n_alphas,)
        Standard error of the mean held-out loss; with ``criterion="cv"`` only.
    edge_stability_ : ndarray of shape (p, p)
        Share of subsamples in which each pair is an edge at the chosen penalty; with ``criterion="stars"``.

    Examples
    --------
    >>> from plaggm import PLAGGMCV
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(6, n=500, seed=1, even=True, threshold=60.0)
    >>> model = PLAGGMCV(alphas=20, cv=5, threshold=60.0).fit(data.x, confounder=data.confounder)
    >>> bool(model.alphas_[0] > model.alpha_ > model.alphas_[-1])
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **{name: rule for name, rule in PLAGGM._parameter_constraints.items() if name != "alpha"},
        **PENALTY_CONSTRAINTS,
        "edges": [StrOptions({"fdr", "penalty"})],
        "fdr": [Interval(Real, 0, 1, closed="neither")],
        "bandwidth": [StrOptions({"auto", "cv"}), Real, "array-like"],
    }

    # The parameter has the name of a method.
    edges = ParameterAndMethod(FittedEstimator.edges)

    def __init__(
        self,
        *,
        alphas: Alphas = 100,
        cv: Folds = 10,
        criterion: Criterion = "cv",
        one_se: bool = False,
        ebic_gamma: float = 0.5,
        n_subsamples: int = 20,
        subsample: Subsample = "auto",
        instability: float = 0.05,
        edges: EdgeRule = "fdr",
        fdr: float = 0.05,
        random_state: Seed = 0,
        threshold: Threshold = "auto",
        reference: ReferenceChoice = "auto",
        categorical: str | Sequence[str] | None = None,
        smoother: Smoother = "spline",
        tau: Tau = "focused",
        indicator: IndicatorChoice = "ramp",
        form: FormChoice = "auto",
        kernel: str = "gaussian",
        bandwidth: Bandwidth = "auto",
        symmetry: Symmetry = "joint",
        variance: Variance = "function",
        standardize: Standardize = "auto",
        ridge: float = 0.0,
        temporal: Temporal | None = None,
        robust: Robust | None = None,
        margins: MarginChoice = "gaussian",
        family: FamilyChoice = "gaussian",
        missing: Missing = "refuse",
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.criterion = criterion
        self.one_se = one_se
        self.ebic_gamma = ebic_gamma
        self.n_subsamples = n_subsamples
        self.subsample = subsample
        self.instability = instability
        self.edges = edges
        self.fdr = fdr
        self.random_state = random_state
        self.threshold = threshold
        self.reference = reference
        self.categorical = categorical
        self.smoother = smoother
        self.tau = tau
        self.indicator = indicator
        self.form = form
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.symmetry = symmetry
        self.variance = variance
        self.standardize = standardize
        self.ridge = ridge
        self.temporal = temporal
        self.robust = robust
        self.margins = margins
        self.family = family
        self.missing = missing
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Ignored: no parameter is an estimator.

        Returns
        -------
        dict
        """
        return {**super().get_params(deep), "edges": vars(self)["edges"]}
