"""PLAGGM: the partially linear additive Gaussian graphical model at one penalty."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import ClassVar

from plaggm.core.kernel.kernels import KERNELS
from plaggm.core.lasso.path import Symmetry
from plaggm.estimators.fit_methods import FitMethods
from plaggm.estimators.parameter_checks import Constraints, Interval, StrOptions
from plaggm.parameter_types import (
    Bandwidth,
    FamilyChoice,
    FormChoice,
    IndicatorChoice,
    MarginChoice,
    Missing,
    ReferenceChoice,
    Robust,
    Smoother,
    Standardize,
    Tau,
    Temporal,
    Threshold,
    Variance,
)


class PLAGGM(FitMethods):
    r"""Network of the variables adjusted for confounders, at a given penalty.

    Given G = g the variables follow a Gaussian graphical model with parameter
    :math:`\Omega(g) = \Omega_0 + R(g)`, where R is smooth and zero for :math:`|g| \le g^*`, or at another
    reference, or on average: see ``reference``. The
    baseline network :math:`\Omega_0` minimises

    .. math::
        \frac{1}{2n} \sum_j \lVert y'_j - x'_j \Omega_{0 \cdot j} \rVert^2
        + \alpha \sum_{j<k} |\Omega_{0jk}|

    over symmetric matrices, where x' and y' are the data with the smoothed nuisance removed (Geng, Yan,
    Kolar and Koyejo, ICML 2019, Sections 3.1 to 3.3). Without confounder this is the
    pseudo-likelihood Gaussian graphical model.

    The nuisance is removed by a penalised spline whose penalty minimises the estimated error of
    :math:`\Omega_0` itself. ``PLAGGM(smoother="kernel", indicator="soft", variance="unit")`` is
    exactly the paper's estimator.

    Parameters
    ----------
    alpha : float, default=0.1
        Penalty of the edges.
    threshold : "auto", float or array of shape (m,), default="auto"
        g*, in the confounder's units: R is zero where the confounder is at most g* in absolute value or, if
        ``reference`` is a value, at most g* away from it. Not used for confounders whose reference is the
        average or a level. ``"auto"`` with ``smoother="spline"`` is the smallest quantile of the absolute
        confounder, from 10 % up, with at least two samples below it for each variable; if other quantiles
        with as many samples have a clearly larger restricted likelihood, it is the largest of these whose
        likelihood is nearly the best. ``"auto"`` with ``smoother="kernel"`` is the smallest quantile,
        from 5 % up, for which every local system is well conditioned and every direction of every node's
        design has an effective sample size of at least one (the paper's rule).
        :func:`plaggm.threshold_sensitivity` compares thresholds and tests which the data contradict.
    reference : "auto", "zero", "average", number, level or dict, default="auto"
        Value of the confounder that :math:`\Omega_0` refers to, where R is zero; one for all confounders,
        or a dict by their names. ``"zero"``, for amounts such as motion: R is zero below the threshold,
        as in the paper. A number: the network at that value of the confounder (and within the threshold
        around it, if one is given). A level of a factor: the network at that level. ``"average"``: the
        average network over the samples' values or levels; R is the deviation from it, and shifts of the
        mean and changes of the variance along the confounder are removed. ``"auto"``: zero for an amount,
        the average otherwise and for factors. A confounder is an amount if ``threshold`` is given or if its
        values are never negative and either start near zero and are skewed to the right or have at least
        5 % exact zeros, or if they have both signs and are concentrated at zero. Only ``"zero"`` depends on
        the origin of the column. ``smoother="kernel"`` has ``"zero"`` only.
    categorical : str or list of str, default=None
        Names of confounders whose numbers are codes of levels. Text, booleans and pandas categories are
        always factors. Levels with fewer than five samples share an effect; levels that do not occur in
        the data have no effect.
    smoother : {"spline", "kernel"}, default="spline"
        How the nuisance is estimated: by a penalised spline, or by the paper's local linear smoothing.
    tau : {"focused", "reml"} or float, default="focused"
        Penalty of the nuisance, per sample; only with ``smoother="spline"``. ``"focused"`` learns a
        prior of the nuisance from all pairs, and scales the component that would bias a pooled estimate
        to minimise the estimated mean squared error of :math:`\Omega_0`; ``"reml"`` chooses a
        ridge and a smoothness penalty by restricted likelihood. Small values remove all confounding,
        large ones pool the samples. Since the focused penalty may shrink R too much, :meth:`nuisance`,
        :meth:`omega_at` and :meth:`score` then use a separate penalty of R, estimated from the sizes of
        its coefficients.
    indicator : {"ramp", "soft", "hard"} or callable, default="ramp"
        The function I(g) of Lemma 2, of the ratio :math:`|g| / g^*` or, with several confounders, of the
        norm of the ratios; only with ``smoother="kernel"``. ``"soft"`` is the paper's
        :math:`1 - e^{-k^2 g^2} / 2` with :math:`k = 5.78 / g^*`; ``"ramp"`` is zero up to g* and one
        from 2 g* on; ``"hard"`` jumps. A callable maps an array of ratios to values in [0, 1].
    form : {"auto", "lemma", "supplement"}, default="auto"
        Whether the smoother's row is [x, 0] (Lemma 2) or [I(g) x, 0] (Supplement); only with
        ``smoother="kernel"``. ``"auto"`` takes the lemma for the soft indicator and the supplement
        otherwise.
    kernel : {"gaussian", "epanechnikov", "triangular", "biweight", "uniform"}, default="gaussian"
        Kernel function used to weight samples near g; only with ``smoother="kernel"``.
    bandwidth : "auto", float or array of shape (m,), default="auto"
        Width of the kernel in the confounder's units; only with ``smoother="kernel"``. ``"auto"``
        minimises Assumption 1's rate c_n(h) for the confounder scaled to [-1, 1]. :class:`PLAGGMCV` also
        takes ``"cv"``.
    symmetry : {"joint", "and", "or"}, default="joint"
        One problem over symmetric matrices, or one lasso for each node (with half the penalty) joined
        by the AND or the OR rule.
    variance : {"function", "conditional", "unit"}, default="function"
        Conditional variances of the nodes. ``"conditional"`` estimates a constant for every node,
        ``"function"`` also a common factor that depends on the confounder, and ``"unit"`` sets all to one
        (the paper).
    standardize : bool or "auto", default="auto"
        Centre the columns and divide them by their standard deviation first. ``"auto"`` does so unless
        ``variance="unit"``, under which the units of the data matter.
    ridge : float, default=0.0
        Ridge added to every local system, as a multiple of its diagonal; needed if local systems are
        singular. Only with ``smoother="kernel"``.
    temporal : {None, "ar"} or int, default=None
        Whether rows are time series. Rows are then first whitened by one autoregressive filter, which is
        shared by all variables and fitted within runs (``runs`` of :meth:`fit`) after removing means along
        the confounder. A number is the order of the filter; ``"ar"`` chooses it by BIC. The network and R
        are those of the whitened series: associations within a row, given the preceding rows. Standard
        errors come from leaving out contiguous blocks of rows, folds are contiguous, and
        :meth:`confounding_test` compares with circular shifts of the confounder. None treats rows as
        independent.
    robust : {None, "winsor"}, default=None
        Treatment of outliers. ``"winsor"`` first moves every value that is more than three robust standard
        deviations (from the median absolute deviation) away from its variable's location back to that
        distance, which affects 0.3 % of Gaussian values. Location and spread depend on the confounder, so
        that neither shifts of the mean nor inflated variances are removed. Variables of which more than
        half of the values are equal are not changed. Not with :meth:`partial_fit`.
    margins : {"gaussian", "rank"}, default="gaussian"
        Assumption on each variable's marginal distribution. ``"rank"`` is the Gaussian copula, for skewed,
        heavy-tailed and ordinal variables: each is replaced by normal scores of its ranks, by one monotone
        function for all rows, after which it is Gaussian around a mean and with a variance that may follow
        the confounder. Tied values (ordinal items) share the score of their mid-rank. The network, its
        tests, ``omega_at``, ``location_``, ``scale_``, ``precision_`` and :meth:`score` then describe the
        latent Gaussian variables; :meth:`sample` returns values of X. The result is invariant under
        monotone transformations of the variables. Not with :meth:`partial_fit`, ``robust="winsor"`` or
        ``missing="em"``.
    family : {"gaussian", "binomial", "poisson"} or dict, default="gaussian"
        Distribution of each variable given the others and the confounder: one for all, or by the
        variable's name (others are then Gaussian). ``"binomial"`` takes zeros and ones, ``"poisson"``
        counts, which enter the regressions of other variables on a logarithmic scale. ``omega_`` divided by
        the product of two variables' ``scale_`` is the coefficient in the natural parameter: the log odds
        ratio of two binary variables. The penalty applies to ``omega_``, so that edges of rare and of
        frequent categories are equally likely to be selected by chance. Other families need all rows in
        memory (:meth:`fit`) and ``symmetry="joint"``, and take neither ``variance``, ``standardize``,
        ``robust``, ``temporal``, ``missing="em"`` nor ``smoother="kernel"``. See ``docs/families.md``.
    missing : {"refuse", "drop", "em"}, default="refuse"
        Treatment of missing values (NaN) among the variables. ``"refuse"`` raises an error that says
        where they are; ``"drop"`` leaves out their rows; ``"em"`` uses these rows: missing cells are
        replaced by their conditional mean and covariance given the observed cells and the confounder of the
        row, under a model that is estimated from all rows by the EM algorithm, and standard errors account
        for missing cells. This is valid if cells are missing at random, that is, depending on observed
        values only. ``"em"`` needs ``smoother="spline"`` and rows that are not time series. Rows without
        their confounder, or without any variable, are left out by both, with a warning.
    tol : float, default=1e-6
        Largest duality gap, as a fraction of the loss that the network can explain.
    max_iter : int, default=1000
        Largest number of sweeps of coordinate descent.
    n_jobs : int, default=None
        Number of threads. None is one unless ``joblib.parallel_config`` sets another number; -1 is all
        cores. Results do not depend on it.
    verbose : int, default=0
        Whether to print progress messages.

    Attributes
    ----------
    omega_ : ndarray of shape (p, p)
        Off the diagonal the baseline network; on it the intercepts. It describes
        z = (x - ``location_``) / ``scale_``.
    adjacency_ : ndarray of bool of shape (p, p)
        True where ``omega_`` has an edge.
    partial_correlation_ : ndarray of shape (p, p)
        Partial correlations of the baseline network, clipped to [-1, 1] with a
        :class:`plaggm.data.DependenceWarning`; ``omega_`` has the unclipped estimates.
    precision_ : ndarray of shape (p, p)
        Precision matrix in the units of X, with these partial correlations. A pseudo-likelihood estimate
        need not be positive definite.
    location_, scale_ : ndarray of shape (p,)
        ``scale_`` includes the conditional standard deviations.
    alpha_ : float
        Penalty of the fit.
    threshold_, bandwidth_ : float, array of shape (m,) or None
        Values in the confounder's units; None, or NaN among several, for a confounder without threshold.
    reference_ : dict
        Reference of every confounder by its name: "zero", "average", a value or the name of a level.
    families_ : tuple of str
        Family of every variable; only where they are not all Gaussian.
    levels_ : dict
        Names of the levels of every factor among the confounders, by its name.
    tau_ : float or None
        Penalty of the spline.
    nuisance_df_ : ndarray of shape (p,)
        Effective degrees of freedom of the nuisance in each variable's regression: the trace of its
        smoother.
    design_ : SplineDesign
        Threshold and functions of a spline with confounder, for :meth:`partial_fit` of another model.
    ar_coefficients_ : ndarray of shape (order,)
        Coefficients of the filter, nearest row first; with ``temporal`` only.
    edge_stability_ : ndarray of shape (p, p)
        After :meth:`bootstrap`: how often each pair was an edge.
    dual_gap_ : float
        Duality gap at this penalty, as a fraction of the loss that the network can explain.
    n_iter_ : int
        Number of sweeps of the lasso.
    confounder_names_ : tuple of str
        Names of the confounders; empty without one.
    n_features_in_ : int
        Number of variables, p.
    feature_names_in_ : ndarray of shape (p,)
        Only for DataFrames.

    Examples
    --------
    >>> from plaggm import PLAGGM
    >>> from plaggm.metrics import edge_auc
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(8, n=600, seed=0, even=True, threshold=60.0)
    >>> model = PLAGGM(alpha=0.02, threshold=60.0).fit(data.x, confounder=data.confounder)
    >>> model.omega_.shape
    (8, 8)
    >>> bool(model.dual_gap_ <= model.tol)
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "threshold": [StrOptions({"auto"}), Real, "array-like"],
        "reference": [str, Real, dict],
        "categorical": [str, "array-like", None],
        "smoother": [StrOptions({"spline", "kernel"})],
        "tau": [StrOptions({"focused", "reml"}), Interval(Real, 0, None, closed="neither")],
        "indicator": [StrOptions({"soft", "ramp", "hard"}), callable],
        "form": [StrOptions({"auto", "lemma", "supplement"})],
        "kernel": [StrOptions(set(KERNELS))],
        "bandwidth": [StrOptions({"auto"}), Real, "array-like"],
        "symmetry": [StrOptions({"joint", "and", "or"})],
        "variance": [StrOptions({"function", "conditional", "unit"})],
        "standardize": ["boolean", StrOptions({"auto"})],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "temporal": [StrOptions({"ar"}), Interval(Integral, 0, None, closed="left"), None],
        "robust": [StrOptions({"winsor"}), None],
        "margins": [StrOptions({"gaussian", "rank"})],
        "family": [StrOptions({"gaussian", "binomial", "poisson"}), dict],
        "missing": [StrOptions({"refuse", "drop", "em"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        alpha: float = 0.1,
        *,
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
        self.alpha = alpha
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
