"""PLAGGM: the partially linear additive Gaussian graphical model at one penalty."""

from __future__ import annotations

import warnings
from contextlib import suppress
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from plaggm.core.confounding_test import ConfoundingTest, UntestableError, confounding_test
from plaggm.core.kernels import KERNELS
from plaggm.core.node_grams import residual_variances
from plaggm.core.path import PathSolution, solve_path
from plaggm.core.profile.pooled import profile_pooled
from plaggm.core.threads import single_threaded_blas
from plaggm.data import check_finite, new_confounder
from plaggm.estimators.network_methods import finite_score, scalar
from plaggm.estimators.nuisance_model import NuisanceModel
from plaggm.estimators.preparation import Prepared, prepare
from plaggm.estimators.sampling import draw_samples
from plaggm.estimators.spline_model import SplineModel
from plaggm.estimators.streaming_methods import StreamingMethods
from plaggm.group_labels import group_numbers
from plaggm.selection.parts import Fold
from plaggm.wording import shown

Array = NDArray[np.float64]

# Values of each confounder at which a saved result keeps the nuisance.
GRID_POINTS = 41
# Values of each confounder that a saved result keeps.
SAMPLE_POINTS = 1001


class PLAGGM(StreamingMethods, BaseEstimator):
    r"""Network of the variables without the confounder, at a given penalty.

    Given G = g the variables follow a Gaussian graphical model with parameter
    :math:`\Omega(g) = \Omega_0 + R(g)`, where R is smooth and zero for :math:`|g| \le g^*`. The target
    :math:`\Omega_0` minimises

    .. math::
        \frac{1}{2n} \sum_j \lVert y'_j - x'_j \Omega_{0 \cdot j} \rVert^2
        + \alpha \sum_{j<k} |\Omega_{0jk}|

    over symmetric matrices, x' and y' being the data with the smoothed nuisance removed (Geng, Yan,
    Kolar and Koyejo, ICML 2019, Sections 3.1 to 3.3). Without confounder this is the
    pseudo-likelihood Gaussian graphical model.

    The nuisance is removed by a penalised spline whose penalty minimises the estimated error of
    :math:`\Omega_0` itself. ``PLAGGM(smoother="kernel", indicator="soft", variance="unit")`` is the
    paper's own estimator to the letter.

    Parameters
    ----------
    alpha : float, default=0.1
        Penalty of the edges.
    threshold : "auto", float or array of shape (m,), default="auto"
        g*, below which there is no confounding, in the confounder's units. ``"auto"`` with the spline
        starts from the smallest quantile of the absolute confounder (from 10 % up) with three
        unconfounded samples for each variable, and takes another quantile with as many if the
        restricted likelihood of the data clearly speaks for it; with the kernel it is the paper's
        rule, the smallest for which every system is well conditioned.
        :func:`plaggm.threshold_sensitivity` shows what others would do, and which the data speak
        against.
    smoother : {"spline", "kernel"}, default="spline"
        How the nuisance is learnt: a penalised spline, or the paper's local linear smoothing.
    tau : {"focused", "reml"} or float, default="focused"
        Penalty of the spline's nuisance, for each sample. ``"focused"`` learns from all pairs what the
        nuisance looks like, and minimises the estimated mean squared error of the target over how much
        of its effect on the target is taken out; ``"reml"`` chooses a ridge and a smoothness penalty by
        restricted likelihood. Small values remove all confounding, large ones pool the samples. What
        serves the target may flatten R itself, so that with ``"focused"`` :meth:`nuisance`,
        :meth:`omega_at` and :meth:`score` read R under a penalty of its own, estimated from the sizes of
        its coefficients.
    indicator : {"ramp", "soft", "hard"} or callable, default="ramp"
        Of the kernel. The function I(g) of Lemma 2, as a function of the ratio :math:`|g| / g^*`
        (several confounders: the norm of the ratios). ``"soft"`` is the paper's
        :math:`1 - e^{-k^2 g^2} / 2` with :math:`k = 5.78 / g^*`; ``"ramp"`` is zero up to g* and one
        from 2 g* on; ``"hard"`` jumps. A callable maps an array of ratios to values in [0, 1].
    form : {"auto", "lemma", "supplement"}, default="auto"
        Of the kernel. Whether the smoother's row is [x, 0] (Lemma 2) or [I(g) x, 0] (Supplement).
        ``"auto"`` takes the lemma for the soft indicator and the supplement otherwise.
    kernel : {"gaussian", "epanechnikov", "triangular", "biweight", "uniform"}, default="gaussian"
        Of the kernel smoother.
    bandwidth : "auto", float or array of shape (m,), default="auto"
        Of the kernel, in the confounder's units. ``"auto"`` minimises Assumption 1's rate c_n(h) for
        the confounder scaled to [-1, 1]. :class:`PLAGGMCV` also takes ``"cv"``.
    symmetry : {"joint", "and", "or"}, default="joint"
        One problem over symmetric matrices, or one lasso for each node (with half the penalty) joined
        by the AND or the OR rule.
    variance : {"function", "conditional", "unit"}, default="function"
        ``"conditional"`` estimates the conditional variance of every node, ``"function"`` also how the
        confounder inflates all of them, ``"unit"`` takes all as one (the paper).
    standardize : bool or "auto", default="auto"
        Centre the columns and divide them by their standard deviation first. ``"auto"`` does unless
        ``variance="unit"``, which takes the units of the data seriously.
    ridge : float, default=0.0
        Of the kernel. Added to every local system, as a multiple of its diagonal: the way out where
        local systems are singular.
    tol : float, default=1e-6
        Largest duality gap, as a part of the loss that the network can explain.
    max_iter : int, default=1000
        Largest number of sweeps of coordinate descent.
    n_jobs : int, default=None
        Threads. None uses what the process may use, as BLAS does.
    verbose : int, default=0
        Print what is done.

    Attributes
    ----------
    omega_ : ndarray of shape (p, p)
        Off the diagonal the target; on it the intercepts. It describes
        z = (x - ``location_``) / ``scale_``.
    adjacency_ : ndarray of bool of shape (p, p)
    partial_correlation_ : ndarray of shape (p, p)
        The target between -1 and 1; estimates beyond are held there, with a
        :class:`plaggm.data.DependenceWarning`, and stand in ``omega_`` as they are.
    precision_ : ndarray of shape (p, p)
        In the units of X, with these partial correlations. A pseudo-likelihood estimate need not be
        positive definite.
    location_, scale_ : ndarray of shape (p,)
        ``scale_`` includes the conditional standard deviations.
    alpha_ : float
    threshold_, bandwidth_ : float, array of shape (m,) or None
        In the confounder's units.
    tau_ : float or None
        Penalty of the spline.
    nuisance_df_ : ndarray of shape (p,)
        Effective degrees of freedom that each variable's regression spends on the nuisance: the trace of
        its smoother.
    design_ : SplineDesign
        Of a spline with confounder: threshold and functions, for :meth:`partial_fit` of another model.
    edge_stability_ : ndarray of shape (p, p)
        After :meth:`bootstrap`: how often each pair was an edge.
    dual_gap_ : float
        As a part of the loss that the network can explain.
    n_iter_ : int
    confounder_names_ : tuple of str
    n_features_in_ : int
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

    _rows: Array | None
    _confounding: ConfoundingTest | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "threshold": [StrOptions({"auto"}), Real, "array-like"],
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
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        threshold: Any = "auto",
        smoother: str = "spline",
        tau: Any = "focused",
        indicator: Any = "ramp",
        form: str = "auto",
        kernel: str = "gaussian",
        bandwidth: Any = "auto",
        symmetry: str = "joint",
        variance: str = "function",
        standardize: Any = "auto",
        ridge: float = 0.0,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.threshold = threshold
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
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @single_threaded_blas()
    def fit(self, X: Any, y: Any = None, *, confounder: Any = None, groups: Any = None) -> PLAGGM:
        """Estimate the target network.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
        y : ignored
            For scikit-learn's pipelines.
        confounder : array, Series or DataFrame of shape (n,) or (n, m), optional
            Without it the plain pseudo-likelihood model is fitted.
        groups : array of shape (n,), optional
            Group of every row, such as the subject: what :meth:`bootstrap` draws.

        Returns
        -------
        self
        """
        x, checked = self._validate(X, confounder)
        self._forget()
        numbers = None if groups is None else group_numbers(groups, len(x))[0]
        data = prepare(self, x, checked, self._threads())
        if numbers is not None:
            self._keep_groups(data.profiler, numbers)
        self._estimate(data, [])
        return self

    def _estimate(self, data: Prepared, folds: list[Fold]) -> None:
        """Solve for the target and set the fitted attributes."""
        path = solve_path(
            data.node_grams,
            np.array([float(self.alpha)]),
            symmetry=self.symmetry,  # type: ignore[arg-type]
            tol=self.tol,
            max_iter=self.max_iter,
            n_threads=self._threads(),
        )
        self._finish(data, path, 0)

    @overload
    def nuisance(self, g: Any, *, return_std: Literal[False] = ...) -> Array: ...

    @overload
    def nuisance(self, g: Any, *, return_std: Literal[True]) -> tuple[Array, Array]: ...

    @single_threaded_blas()
    def nuisance(self, g: Any, *, return_std: bool = False) -> Array | tuple[Array, Array]:
        r"""Estimate R(g), the distortion at some confounder values.

        Zero wherever the model says so, for :math:`|g| \le g^*`; elsewhere the smoother's local
        estimate, averaged over the two nodes of every pair.

        Parameters
        ----------
        g : float, array of shape (k,) or (k, m)
            In the confounder's units.
        return_std : bool, default=False
            Also return pointwise standard errors; the spline has them.

        Returns
        -------
        nuisance : ndarray of shape (k, p, p)
            In the units of ``omega_``, shift of the intercepts on the diagonal; (p, p) for a single
            value.
        std : ndarray of the same shape
            Only with ``return_std``.

        Notes
        -----
        The standard errors are those of the mixed model of which the penalised spline is the
        posterior mean: the penalty is taken as given, the target as free (not shrunk by the lasso),
        and uncertainty about the penalty, the threshold and the variances is left out. Averaged over
        the confounder and the pairs, :math:`R \pm 2\,` std covers the truth about as often as
        stated where the spline can follow it; at a single point it may be off either way, and the
        largest distortions, which are shrunk most, and a steep start just beyond the threshold are
        covered less often. The two estimates of a pair come from the same samples and are nearly the
        same number, so the standard error of their mean is the mean of both, which can only be too large.
        """
        check_is_fitted(self)
        model, points, single = self._points(g)
        out = model.nuisance(self.omega_, self._sigma, points)
        if not return_std:
            return out[0] if single else out
        std = self._standard_errors(model, points, target=False)
        return (out[0], std[0]) if single else (out, std)

    @overload
    def omega_at(self, g: Any, *, return_std: Literal[False] = ...) -> Array: ...

    @overload
    def omega_at(self, g: Any, *, return_std: Literal[True]) -> tuple[Array, Array]: ...

    @single_threaded_blas()
    def omega_at(self, g: Any, *, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Estimate Ω(g) = Ω0 + R(g), the network at some confounder values.

        Parameters
        ----------
        g : float, array of shape (k,) or (k, m)
        return_std : bool, default=False
            Also return pointwise standard errors, as :meth:`nuisance` does. Below the threshold they
            are those of the target without the lasso.

        Returns
        -------
        omega : ndarray of shape (k, p, p), or (p, p) for a single value
        std : ndarray of the same shape
            Only with ``return_std``.
        """
        check_is_fitted(self)
        model, points, single = self._points(g)
        out = self.omega_ + model.nuisance(self.omega_, self._sigma, points)
        if not return_std:
            return out[0] if single else out
        std = self._standard_errors(model, points, target=True)
        return (out[0], std[0]) if single else (out, std)

    def _standard_errors(self, model: NuisanceModel, points: Array, *, target: bool) -> Array:
        errors = model.nuisance_error(self.omega_, self._sigma, points, target=target)
        if errors is None:
            raise ValueError(
                f"smoother={self.smoother!r} has no standard errors; fit with smoother='spline', or "
                "leave return_std out."
            )
        return errors

    @single_threaded_blas()
    def confounding_test(self) -> ConfoundingTest:
        """Test whether the network changes with the confounder at all, R = 0 being the null hypothesis.

        See :func:`plaggm.confounding_test`; this one is done on the data and at the threshold of ``fit``,
        when it is first asked for.

        Returns
        -------
        ConfoundingTest
            With ``p_value``, ``statistic`` and ``degrees_of_freedom``.
        """
        check_is_fitted(self)
        if self._model is None:
            raise ValueError("The model was fitted without confounder: there is nothing to test.")
        if self._rows is None:
            raise ValueError(
                "There is no test: it needs all rows at once (fit, not fit_chunks or partial_fit)."
            )
        if self._confounding is None:
            self._confounding = confounding_test(
                self._rows, self._model.confounder, self._model.threshold
            )
        return self._confounding

    @single_threaded_blas()
    def score(
        self, X: Any, y: Any = None, *, confounder: Any = None, sample_weight: Any = None
    ) -> float:
        """Mean log pseudo-likelihood of new samples, the nuisance taken from the training data.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
        y : ignored
        confounder : array, Series or DataFrame of shape (n,) or (n, m)
            Needed if the model was fitted with one.
        sample_weight : array of shape (n,), optional
            Weights of the samples in the mean.

        Returns
        -------
        float
            Sum over the variables, mean over the samples; larger is better.
        """
        check_is_fitted(self)
        x = self._validate_x(X, reset=False)
        z = (x - self.location_) / self._z_scale
        weights = _check_sample_weight(sample_weight, x, ensure_non_negative=True)
        # First by the largest: their sum could be too large for a number.
        weights = weights / weights.max()
        weights = weights / weights.mean()
        # Everything below is a sum of products of two entries of a row.
        b = np.column_stack([z, np.ones(len(z))]) * np.sqrt(weights)[:, None]
        if self._model is None:
            if confounder is not None:
                raise ValueError(
                    "The model was fitted without confounder; score takes none either."
                )
            grams, inflation = profile_pooled(b), 0.0
        else:
            values = new_confounder(confounder, self.confounder_names_, X, len(x))
            inflation = float(np.mean(weights * self._model.log_variance(values)))
            grams = self._model.held_out(b, values, self._threads())
        residual = residual_variances(grams.rescaled(self._sigma), self.omega_)
        p = self.n_features_in_
        constant = 0.5 * p * np.log(2.0 * np.pi) + np.sum(np.log(self.scale_))
        return finite_score(-0.5 * residual.sum() - 0.5 * p * inflation - constant)

    @single_threaded_blas()
    def sample(
        self, n_samples: int = 1, *, confounder: Any = None, random_state: Any = None
    ) -> Array:
        """Draw samples from the fitted model, in the units of X.

        Parameters
        ----------
        n_samples : int, default=1
            Samples for each confounder value, or in all if there is none.
        confounder : float or array, optional
            Values to draw at; without it samples come from the target network.
        random_state : int, RandomState or None

        Returns
        -------
        ndarray of shape (n_samples, p) or (k * n_samples, p)
            Samples of one confounder value stand together.
        """
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 1:
            raise ValueError(f"n_samples must be an integer of 1 or more; got {n_samples!r}.")
        rng = check_random_state(random_state)
        omegas, spreads = self.omega_[None], np.ones(1)
        if confounder is not None:
            model, points, _ = self._points(confounder)
            omegas = self.omega_at(points)
            spreads = np.exp(0.5 * model.log_variance(points))
        drawn = np.empty((0, self.n_features_in_))
        for omega, spread in zip(omegas, spreads, strict=True):
            drawn = np.concatenate([drawn, draw_samples(omega, n_samples, rng, float(spread))])
        return drawn * self.scale_ + self.location_

    def _nuisance_on_grid(self) -> tuple[Array | None, Array | None, Array | None]:
        """Confounder values at which a saved result keeps the nuisance, R there and its errors."""
        if self._model is None:
            return None, None, None
        observed = values_at_ranks(self._model.confounder, GRID_POINTS)
        parts = []
        for column in range(observed.shape[1]):
            distinct = np.unique(observed[:, column])
            if len(distinct) == GRID_POINTS:
                # Ranks leave gaps in the tail of a skewed confounder.
                even = np.linspace(distinct[0], distinct[-1], GRID_POINTS // 2 + 1)
                distinct = np.unique(np.concatenate([distinct, even]))
            part = np.zeros((len(distinct), observed.shape[1]))
            part[:, column] = distinct
            parts.append(part)
        grid = np.concatenate(parts)
        model, points, _ = self._points(grid)
        estimate = model.nuisance(self.omega_, self._sigma, points)
        return (
            grid,
            estimate,
            model.nuisance_error(self.omega_, self._sigma, points, target=False),
        )

    def _confounder_sample(self) -> Array | None:
        return (
            None if self._model is None else values_at_ranks(self._model.confounder, SAMPLE_POINTS)
        )

    def _diagnostics(self) -> dict[str, Any]:
        extra = {} if self._model is None else self._model.diagnostics
        if self._rows is not None:
            with suppress(UntestableError):
                extra = {**extra, "confounding_p_value": self.confounding_test().p_value}
        return {**super()._diagnostics(), **extra}

    def _finish(self, data: Prepared, path: PathSolution, chosen: int) -> None:
        """Set the fitted attributes from the chosen step of a path."""
        missed = int(np.count_nonzero(path.gaps > self.tol))
        if missed:
            warnings.warn(
                f"The lasso did not reach tol={self.tol:g} at {missed} of {len(path.gaps)} penalties "
                f"(largest duality gap {path.gaps.max():.2g}, at the chosen one "
                f"{path.gaps[chosen]:.2g}). Small penalties on nearly singular data converge slowly: "
                "raise max_iter or tol, or leave the smallest penalties out.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self._set_network(path.omega[chosen], data.location, data.scale * data.sigma)
        self.alpha_ = float(path.alphas[chosen])
        self.dual_gap_ = float(path.gaps[chosen])
        self.n_iter_ = max(int(path.n_iter[chosen]), 1)
        self._sigma, self._z_scale = data.sigma, data.scale
        self._n_samples = self._n_unconfounded = data.n
        self._model = data.model
        self._rows = data.rows
        self._confounding = None
        self.nuisance_df_ = data.node_grams.smoother_trace
        self.confounder_names_: tuple[str, ...] = ()
        self.threshold_: float | Array | None = None
        self.bandwidth_: float | Array | None = None
        self.tau_: float | None = None
        if data.model is not None:
            self.confounder_names_ = data.confounder_names
            self.threshold_ = scalar(data.model.threshold)
            self.bandwidth_ = scalar(data.model.bandwidth)
            self.tau_ = data.model.diagnostics.get("tau")
            self._n_unconfounded = data.model.unconfounded
            if isinstance(data.model, SplineModel):
                self.design_ = data.model.design

    def _points(self, g: Any) -> tuple[NuisanceModel, Array, bool]:
        """The model, confounder values as (k, m), and whether they were a single one."""
        if self._model is None:
            raise ValueError(
                "The model was fitted without confounder, so its network does not vary."
            )
        m = len(self.confounder_names_)
        try:
            values = np.asarray(g, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(
                f"g must hold numbers, values of {', '.join(self.confounder_names_)}; got {shown(g)}."
            ) from error
        single = values.ndim == 0 or (m > 1 and values.ndim == 1)
        if m == 1:
            fits = values.ndim < 2 or values.shape[1:] == (1,)
        else:
            fits = values.ndim in (1, 2) and values.shape[-1] == m
        if not fits:
            shapes = "a number or have shape (k,)" if m == 1 else f"of shape ({m},) or (k, {m})"
            raise ValueError(f"g must be {shapes}; got an array of shape {values.shape}.")
        points = values.reshape(-1, m)
        check_finite(points, self.confounder_names_, "g")
        return self._model, points, single


def values_at_ranks(values: Array, points: int) -> Array:
    """Each column's values at evenly spaced ranks, smallest first: at most ``points`` rows.

    Examples
    --------
    >>> values_at_ranks(np.array([[3.0], [1.0], [2.0]]), 2)
    array([[1.],
           [3.]])
    """
    ordered = np.sort(values, axis=0)
    ranks = np.linspace(0, len(ordered) - 1, min(points, len(ordered))).round().astype(int)
    return ordered[ranks]
