"""Parameters, choice of the penalty and fitted attributes of the related methods."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from plaggm.array_types import Array, Index
from plaggm.core.cost.fit_memory import FitSize, check_fit_memory
from plaggm.core.lasso.path import Symmetry
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.data import Confounder, ConfounderLike, TableLike
from plaggm.estimators.columns import read_samples
from plaggm.estimators.fit_size import path_size
from plaggm.estimators.network_methods import (
    choice_attributes,
    network_attributes,
)
from plaggm.estimators.parameter_checks import (
    PENALTY_CONSTRAINTS,
    Constraints,
    Interval,
    StrOptions,
    checks_parameters,
    refuse_unused,
)
from plaggm.estimators.serial import NO_RUNS, run_numbers
from plaggm.group_labels import LabelsLike, group_numbers
from plaggm.parameter_types import (
    Alphas,
    Criterion,
    Folds,
    LossName,
    Seed,
    Subsample,
    Temporal,
)
from plaggm.related.fitted_related import FittedRelated
from plaggm.related.path_choice import make_loss, penalty_grid, used_folds, warn_of_gaps
from plaggm.related.series_filter import SeriesFilter, learn_filter, used_runs
from plaggm.related.tasks import (
    Segment,
    Statistics,
    Task,
    average_network,
    pooled_task,
    task_statistics,
    with_indicators,
)
from plaggm.selection import Loss, PathFit, Problem, make_selection, penalty_spec
from plaggm.selection.parallel import local_threads
from plaggm.user_warnings import warn_user


class RelatedEstimator(FittedRelated):
    """Base class of the related methods; each implements its treatment of the confounder in ``_task``.

    Parameters
    ----------
    loss : {"glasso", "pseudo"}, default="glasso"
        The graphical lasso on the correlation matrix, or the pseudo-likelihood of
        :class:`plaggm.PLAGGM`.
    alpha : float, default=None
        Fixes the penalty; None chooses it from ``alphas``.
    alphas : int or array, default=100
        Number of penalties on glmnet's grid, or the penalties themselves, decreasing.
    cv : int, splitter or iterable, default=10
        Folds. An integer is the number of random folds of the samples that the method uses, drawn by row
        position; splitters divide all samples, of which unused ones are then left out.
    criterion : {"cv", "aic", "bic", "ebic", "refit", "stars"}, default="cv"
        Held-out loss (Gaussian likelihood, or squared residuals of the pseudo-likelihood), an
        information criterion, EBIC (gamma = 1/4) of every support refitted without penalty
        (``"refit"``), or StARS, which chooses the densest network that is stable between subsamples.
    one_se : bool, default=False
        Whether to take the largest penalty within one standard error of the best; with ``criterion="cv"``.
    ebic_gamma : float, default=0.5
        Weight of the number of possible networks; with ``criterion="ebic"``.
    n_subsamples : int, default=20
        Number of subsamples of StARS.
    subsample : "auto" or float, default="auto"
        Share of the used samples in a subsample of StARS; ``"auto"`` is 10 sqrt(n) of them.
    instability : float, default=0.05
        Largest instability accepted by StARS.
    symmetry : {"joint", "and", "or"}, default="joint"
        How the two regressions of a pair are joined, see :class:`plaggm.PLAGGM`. Used with
        ``loss="pseudo"`` only.
    temporal : {None, "ar"} or int, default=None
        Whether rows are time series, in order. They are whitened within ``runs`` by one autoregression for
        all variables, whose order is given or chosen by BIC (``"ar"``). Regressors of the method are
        filtered alike, and the filter does not reach across samples that the method does not use.
        ``omega_``, ``location_`` and ``scale_`` then describe the whitened series, and standard errors of
        edges come from leaving out contiguous blocks of rows (or ``groups``). None treats rows as
        independent. See :class:`plaggm.PLAGGM`.
    tol : float, default=None
        Largest duality gap, of the graphical lasso or, for the pseudo-likelihood, as a fraction of the loss
        that the network can explain. None is 1e-6.
    max_iter : int, default=None
        Largest number of iterations at one penalty. None is 5000 proximal steps for the graphical lasso and
        1000 sweeps for the pseudo-likelihood.
    random_state : int, RandomState or None, default=0
        Seed of folds and subsamples.
    n_jobs : int, default=None
        Number of folds or subsamples fitted in parallel; None is one.
    verbose : int, default=0
        Whether to print progress messages.

    Attributes
    ----------
    omega_ : ndarray of shape (p, p)
        Partial correlations off the diagonal, intercepts on it. It describes
        z = (x - ``location_``) / ``scale_``.
    adjacency_ : ndarray of bool of shape (p, p)
        True where ``omega_`` has an edge.
    partial_correlation_ : ndarray of shape (p, p)
        Partial correlations, clipped to [-1, 1] with a :class:`plaggm.data.DependenceWarning`.
    precision_ : ndarray of shape (p, p)
        Precision matrix in the units of X, with these partial correlations.
    location_, scale_ : ndarray of shape (p,)
        ``scale_`` holds the conditional standard deviations.
    alpha_, dual_gap_ : float
        Penalty of the fit, and its duality gap.
    alphas_ : ndarray of shape (n_alphas,)
        Penalties of the path, decreasing.
    omega_path_ : ndarray of shape (n_alphas, p, p)
        Networks along the path, each in units of its own conditional deviations; NaN where the graphical
        lasso failed.
    criterion_path_ : ndarray of shape (n_alphas,)
        Criterion along the path; smaller is better. Only without a given ``alpha``.
    cv_loss_ : ndarray of shape (n_alphas, n_folds)
        Loss of every fold's held-out rows; with ``criterion="cv"`` only. NaN for penalties that were
        skipped because the loss had clearly risen before (with 120 variables and more).
    cv_standard_error_ : ndarray of shape (n_alphas,)
        Standard error of the mean held-out loss; with ``criterion="cv"`` only.
    edge_stability_ : ndarray of shape (p, p)
        Share of subsamples in which each pair is an edge at the chosen penalty; with ``criterion="stars"``.
    failures_ : dict
        Reasons for steps that did not converge, by penalty.
    ar_coefficients_ : ndarray of shape (order,)
        Coefficients of the filter, nearest row first; with ``temporal`` only.
    threshold_, bandwidth_ : float, array of shape (m,) or None
        Values in the confounder's units; None if the method has none.
    n_iter_, n_features_in_ : int
        Iterations at the chosen penalty, and number of variables.
    confounder_names_ : tuple of str
        Names of the confounders; empty without one.
    feature_names_in_ : ndarray of shape (p,)
        Only for DataFrames.

    Examples
    --------
    >>> from plaggm.related import GGM, RelatedEstimator
    >>> isinstance(GGM(threshold=1.0), RelatedEstimator)
    True
    """

    confounder_names_: tuple[str, ...]
    threshold_: float | Array | None
    bandwidth_: float | Array | None

    # Whether the method can use indicator columns of a factor.
    _takes_factors: ClassVar[bool] = False
    _parameter_constraints: ClassVar[Constraints] = {
        "loss": [StrOptions({"glasso", "pseudo"})],
        "alpha": [Interval(Real, 0, None, closed="left"), None],
        **PENALTY_CONSTRAINTS,
        "symmetry": [StrOptions({"joint", "and", "or"})],
        "temporal": [StrOptions({"ar"}), Interval(Integral, 0, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="neither"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
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
        self.loss = loss
        self.alpha = alpha
        self.alphas = alphas
        self.cv = cv
        self.criterion = criterion
        self.one_se = one_se
        self.ebic_gamma = ebic_gamma
        self.n_subsamples = n_subsamples
        self.subsample = subsample
        self.instability = instability
        self.symmetry = symmetry
        self.temporal = temporal
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @checks_parameters
    @single_threaded_blas()
    def fit(
        self,
        X: TableLike,
        y: object = None,
        *,
        confounder: ConfounderLike | None = None,
        groups: LabelsLike | None = None,
        runs: LabelsLike | None = None,
    ) -> Self:
        """Estimate the network along the path and choose the penalty.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
            Variables of the network, one row for each sample.
        y : ignored
            Present for scikit-learn's pipelines.
        confounder : array, Series or DataFrame of shape (n,) or (n, m), optional
            Confounders of the same rows. Without it all samples are pooled, whatever the method.
        groups : array of shape (n,), optional
            Group of every row, such as the subject. ``cv`` then divides the groups, and the differences of
            :class:`LRGGM` are taken within them.
        runs : array of shape (n,), optional
            Run of every row; only with ``temporal``. See ``PLAGGM.fit``.

        Returns
        -------
        self
        """
        return self._fit_anew(lambda fresh: fresh._estimate(X, confounder, groups, runs))

    def _estimate(
        self,
        X: TableLike,
        confounder: ConfounderLike | None,
        groups: LabelsLike | None,
        runs: LabelsLike | None,
    ) -> None:
        refuse_unused(self)
        if runs is not None and self.temporal is None:
            raise ValueError(NO_RUNS)
        penalties = penalty_spec(self.get_params(deep=False))
        x, self._variables, checked = read_samples(type(self), X, confounder)
        self.__dict__.update(self._variables.attributes)
        self._names = self._variables.names
        networks = 1 if checked is None else self._network_count()
        path = path_size(penalties, self.n_jobs, networks)
        check_fit_memory(FitSize(len(x), x.shape[1], False, path))
        numbers = None if groups is None else group_numbers(groups, len(x))[0]
        self.confounder_names_ = () if checked is None else checked.names
        self._levels = () if checked is None else checked.levels
        if checked is not None and any(checked.factors):
            checked = with_indicators(checked, type(self).__name__, self._takes_factors)
        self.threshold_ = self.bandwidth_ = None
        series = None if self.temporal is None else run_numbers(runs, numbers, len(x))
        self._series: SeriesFilter | None = None
        if series is not None:
            x = self._whiten(x, checked, series)
        task = (
            pooled_task(x, self._names)
            if checked is None
            else self._task(x, checked, numbers, series)
        )
        self._samples = len(x), len(task.rows)
        folds = used_folds(penalties, len(x), task.rows, numbers, series)
        selection = make_selection(penalties, folds)
        loss = self._loss()
        statistics = task_statistics(task, loss)
        grams = [part.grams for part in statistics]
        alphas = penalty_grid(statistics, loss, penalties.alphas)
        self._say(f"path of {len(alphas)} penalties")
        paths = loss.paths(grams, alphas, n_threads=local_threads(self.n_jobs))
        warn_of_gaps(loss, paths)
        problem = Problem(
            task.profilers,
            [part.unit for part in statistics],
            loss,
            task.weights,
            task.weights_of_choice,
            x.shape[1],
        )
        self._say(selection.describe(problem))
        fit = PathFit(alphas, grams, paths)
        choice = selection.choose(problem, fit, n_jobs=self.n_jobs, verbose=self.verbose)
        self.__dict__.update(choice_attributes(choice))
        self.failures_ = {float(alphas[step]): why for step, why in choice.failures.items()}
        if self.failures_:
            warn_user(
                f"{len(self.failures_)} of {len(alphas)} penalties failed and are left out; the reasons "
                "are in failures_.",
                ConvergenceWarning,
            )
        self._clusters = None if numbers is None else numbers[task.rows]
        self._finish(task, statistics, fit, choice.step)

    def _whiten(self, x: Array, confounder: Confounder | None, runs: Index) -> Array:
        """Variables whose used rows are filtered; learns the filter from these rows: shape (n, p)."""
        assert self.temporal is not None
        n = len(x)
        rows, regressors = np.arange(n), np.zeros((n, 0))
        if confounder is not None:
            rows = self._used_rows(x, confounder)
            regressors = self._regressors(confounder.values, runs)
        smooth = confounder if self._has_moving_means() else None
        owner = used_runs(runs, rows)
        self._series = learn_filter(
            self.temporal, x[rows], owner, regressors=regressors[rows], along=smooth
        )
        self.ar_coefficients_ = self._series.serial.whitening.autoregression.coefficients
        white = x.copy()
        values = np.zeros((n, 0)) if smooth is None else smooth.values
        white[rows] = self._series.variables(x[rows], values[rows], owner)
        return white

    def _network_count(self) -> int:
        """Number of networks that are estimated at every penalty."""
        return 1

    @abstractmethod
    def _task(
        self, x: Array, confounder: Confounder, groups: Index | None, runs: Index | None
    ) -> Task:
        """Data of the method, given variables that are whitened if rows are time series."""

    def _used_rows(self, x: Array, confounder: Confounder) -> Index:
        """Rows of X that the method uses, in order."""
        return np.arange(len(x))

    def _read(self, omega: Array, location: Array, scale: Array) -> tuple[Array, Array, Array]:
        """Networks (k, p, p), location (p,) and scale (k, p) of X, from those of the task's columns."""
        return omega, location, scale

    def _loss(self) -> Loss:
        return make_loss(self.loss, self.symmetry, self.tol, self.max_iter)

    def _finish(self, task: Task, statistics: list[Statistics], fit: PathFit, chosen: int) -> None:
        """Average the networks of the task and set the fitted attributes."""
        omega, location, scale = average_network(task, statistics, fit.paths)
        self._of_task = Segment(task.rows, omega[chosen], location, scale[chosen])
        omega, location, scale = self._read(omega, location, scale)
        found = network_attributes(omega[chosen], location, scale[chosen], self._names)
        self.__dict__.update(found)
        self.alphas_ = fit.alphas
        self.alpha_ = float(fit.alphas[chosen])
        self.omega_path_ = omega
        self.dual_gap_ = float(max(path.gaps[chosen] for path in fit.paths))
        self.n_iter_ = max(1, *(int(path.n_iter[chosen]) for path in fit.paths))
        self._effective = float(task.weights @ [part.grams.n for part in statistics])
        self._grams = statistics[0].grams if self._has_textbook_test() else None
        self._profiler = task.profilers[0]
