"""MRF: variables of several families, with confounders that enter every node linearly."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from plaggm.array_types import Array, Index
from plaggm.core.families.columns import FamilyColumns, family_columns
from plaggm.core.families.covariate_lasso import CovariatePath, covariate_lasso
from plaggm.core.families.rows import FamilyRows, family_rows
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.data import ConfounderLike, TableLike
from plaggm.data.column_families import check_family_values, column_families
from plaggm.data.factors import indicators
from plaggm.edge_table import EdgeTable
from plaggm.estimators.columns import read_samples
from plaggm.estimators.network_methods import (
    finite_score,
    network_attributes,
    scalar,
)
from plaggm.estimators.parameter_checks import (
    PENALTY_CONSTRAINTS,
    Constraints,
    Interval,
    StrOptions,
    check_sample_weight,
    checks_parameters,
    refuse_unused,
)
from plaggm.group_labels import LabelsLike, group_numbers
from plaggm.parameter_types import Alphas, FamilyChoice, Folds, Seed, Threshold
from plaggm.related.lr_ggm import expand_regressors
from plaggm.related.path_choice import used_folds
from plaggm.related.related_network import RelatedNetwork, samples_below
from plaggm.selection import HeldOutLoss, PenaltySpec, penalty_spec

# Parameters of the choice of the penalty that this method does not have.
NOT_HERE = dict(n_subsamples=20, subsample="auto", instability=0.05)


class MRF(RelatedNetwork):
    r"""Markov random field of binary, count and Gaussian variables with linear covariates.

    The estimator of MRFcov (Clark, Wells and Lindberg, 2018): every node is a generalised linear model of
    the other variables, of the confounders and of their products, all penalised by one lasso, and the two
    coefficients of a pair are averaged. If R(g) is linear in the confounder it is the natural alternative
    to :class:`plaggm.PLAGGM`. With ``covariates="none"`` all samples are pooled; with
    ``threshold`` only the samples below it are used.

    Parameters
    ----------
    family : {"gaussian", "binomial", "poisson"} or dict, default="binomial"
        Distribution of each variable given the others; see :class:`plaggm.PLAGGM`.
    covariates : {"edges", "means", "none"}, default="edges"
        Whether confounders change edges and means, means alone, or neither. The network is the one at which
        all confounders are zero.
    regressors : {"linear", "squares"}, default="linear"
        The confounders, or the confounders and their squares. Ignored with ``covariates="none"``.
    threshold : "auto", float or array of shape (m,), default=None
        Only samples whose confounders are at most this large in absolute value are used; ``"auto"`` as in
        :class:`GGM`. None uses all samples.
    alpha : float, default=None
        Fixes the penalty; None chooses it from ``alphas``.
    alphas : int or array, default=50
        Number of penalties on glmnet's grid, or the penalties themselves, decreasing.
    cv : int, splitter or iterable, default=10
        Folds of ``criterion="cv"``.
    criterion : {"cv", "aic", "bic", "ebic"}, default="cv"
        Held-out log pseudo-likelihood, or an information criterion that counts non-zero coefficients.
    one_se : bool, default=False
        Whether to take the largest penalty within one standard error of the best; with ``criterion="cv"``.
    ebic_gamma : float, default=0.5
        Weight of the number of possible coefficients; with ``criterion="ebic"``.
    tol : float, default=1e-5
        Largest violation of the optimality conditions, as a fraction of the smallest penalty without
        effects.
    max_iter : int, default=100
        Largest number of steps at one penalty.
    random_state : int, RandomState or None, default=0
        Seed of the folds.
    verbose : int, default=0
        Whether to print progress messages.

    Attributes
    ----------
    omega_ : ndarray of shape (p, p)
        Network where all confounders are zero, intercepts on the diagonal; divided by the product of two
        variables' ``scale_`` the coefficient in the natural parameter.
    coefficients_ : ndarray of shape (1 + M, p + 1, p)
        Coefficients of every node (last axis): those of the other variables and the intercept, then their
        changes by each of the M regressors.
    families_ : tuple of str
        Family of every variable.
    adjacency_, partial_correlation_, precision_, location_, scale_, alpha_, alphas_, omega_path_
        See :class:`RelatedEstimator`.
    dual_gap_ : float
        Violation of the optimality conditions at the chosen penalty.

    Examples
    --------
    >>> from plaggm.related import MRF
    >>> from plaggm.simulate import simulate_family
    >>> data = simulate_family(6, n=600, seed=0, threshold=60.0)
    >>> model = MRF(family="binomial", criterion="bic").fit(data.x, confounder=data.confounder)
    >>> model.coefficients_.shape
    (2, 7, 6)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "family": [StrOptions({"gaussian", "binomial", "poisson"}), dict],
        "covariates": [StrOptions({"edges", "means", "none"})],
        "regressors": [StrOptions({"linear", "squares"})],
        "threshold": [StrOptions({"auto"}), Real, "array-like", None],
        "alpha": [Interval(Real, 0, None, closed="left"), None],
        **{
            name: PENALTY_CONSTRAINTS[name]
            for name in ("alphas", "cv", "one_se", "ebic_gamma", "random_state")
        },
        "criterion": [StrOptions({"cv", "aic", "bic", "ebic"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        family: FamilyChoice = "binomial",
        covariates: Literal["edges", "means", "none"] = "edges",
        regressors: Literal["linear", "squares"] = "linear",
        threshold: Threshold | None = None,
        alpha: float | None = None,
        alphas: Alphas = 50,
        cv: Folds = 10,
        criterion: Literal["cv", "aic", "bic", "ebic"] = "cv",
        one_se: bool = False,
        ebic_gamma: float = 0.5,
        tol: float = 1e-5,
        max_iter: int = 100,
        random_state: Seed = 0,
        verbose: int = 0,
    ) -> None:
        self.family = family
        self.covariates = covariates
        self.regressors = regressors
        self.threshold = threshold
        self.alpha = alpha
        self.alphas = alphas
        self.cv = cv
        self.criterion = criterion
        self.one_se = one_se
        self.ebic_gamma = ebic_gamma
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    _units: FamilyColumns
    _sizes: Array
    _noise: Array

    @checks_parameters
    @single_threaded_blas()
    def fit(
        self,
        X: TableLike,
        y: object = None,
        *,
        confounder: ConfounderLike | None = None,
        groups: LabelsLike | None = None,
    ) -> Self:
        """Estimate the network along the path and choose the penalty.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
            Variables of the network, one row for each sample.
        y : ignored
            Present for scikit-learn's pipelines.
        confounder : array, Series or DataFrame of shape (n,) or (n, m), optional
            Confounders of the same rows; factors enter as indicator columns. Without it all samples are
            pooled.
        groups : array of shape (n,), optional
            Group of every row; ``cv`` then divides the groups.

        Returns
        -------
        self
        """
        return self._fit_anew(lambda fresh: fresh._estimate(X, confounder, groups))

    def _estimate(
        self, X: TableLike, confounder: ConfounderLike | None, groups: LabelsLike | None
    ) -> None:
        refuse_unused(self)
        penalties = penalty_spec({**NOT_HERE, **self.get_params(deep=False)})
        x, self._variables, checked = read_samples(type(self), X, confounder)
        self._names = self._variables.names
        self.families_ = column_families(self.family, self._names)
        check_family_values(x, self.families_, self._names)
        values = np.zeros((len(x), 0))
        self.confounder_names_, self._levels = (), ()
        rows, limits = np.arange(len(x)), None
        if checked is not None:
            self.confounder_names_, self._levels = checked.names, checked.levels
            values = indicators(checked.values, checked.levels)
            if self.threshold is not None:
                rows, limits = samples_below(x, self._names, checked, self.threshold)
        elif self.threshold is not None:
            raise ValueError("threshold needs a confounder, and none was given. Pass confounder=.")
        numbers = None if groups is None else group_numbers(groups, len(x))[0]
        folds = used_folds(penalties, len(x), rows, numbers)
        self._say(f"{len(rows)} samples of {x.shape[1]} variables")
        self._units = family_columns(x[rows], self.families_)
        regressors = self._expanded(values)
        self._sizes = np.sqrt(np.mean(regressors[rows] ** 2, axis=0))
        self._sizes[self._sizes == 0.0] = 1.0
        table = family_rows(x[rows], regressors[rows] / self._sizes, self._units)
        path = self._path(table, penalties.alphas)
        step = self._choose(path, table, penalties, folds)
        self._noise = _deviations(table, path.coefficients[step])
        p = x.shape[1]
        chosen = path.coefficients[step].reshape(-1, p + 1, p).copy()
        chosen[1:] /= self._sizes[:, None, None]
        omegas = path.omega()
        self.__dict__.update(
            self._variables.attributes
            | network_attributes(
                omegas[step],
                self._units.location,
                self._units.scale,
                self._names,
                gaussian=all(name == "gaussian" for name in self.families_),
            )
            | {
                "coefficients_": chosen,
                "alpha_": float(path.alphas[step]),
                "alphas_": path.alphas,
                "omega_path_": omegas,
                "dual_gap_": float(path.violations[step]),
                "n_iter_": max(int(path.n_iter[step]), 1),
                "threshold_": None if limits is None else scalar(limits),
                "bandwidth_": None,
                "_samples": (len(x), len(rows)),
            }
        )

    def _expanded(self, values: Array) -> Array:
        """Regressors of the nodes from confounder values (n, m): shape (n, M)."""
        if self.covariates == "none" or not values.shape[1]:
            return np.zeros((len(values), 0))
        return expand_regressors(values, self.regressors)

    def _path(self, rows: FamilyRows, alphas: Array | int) -> CovariatePath:
        return covariate_lasso(
            rows,
            alphas,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            interactions=self.covariates == "edges",
        )

    def _choose(
        self,
        path: CovariatePath,
        rows: FamilyRows,
        penalties: PenaltySpec,
        folds: list[tuple[Index, Index]],
    ) -> int:
        """The step of the path that the criterion prefers."""
        if penalties.criterion == "given":
            return 0
        if penalties.criterion == "cv":
            return self._cross_validated(path, rows, folds, penalties.one_se)
        used = np.count_nonzero(path.coefficients, axis=(1, 2))
        price = 2.0 if penalties.criterion == "aic" else np.log(rows.n)
        self.criterion_path_ = 2.0 * rows.n * path.losses + price * used
        if penalties.criterion == "ebic":
            self.criterion_path_ += 2.0 * penalties.ebic_gamma * np.log(rows.size) * used
        return int(np.argmin(self.criterion_path_))

    def _cross_validated(
        self, path: CovariatePath, rows: FamilyRows, folds: list[tuple[Index, Index]], one_se: bool
    ) -> int:
        losses = []
        for number, (train, test) in enumerate(folds, start=1):
            self._say(f"fold {number} of {len(folds)}")
            held_out, found = rows.take(test), self._path(rows.take(train), path.alphas)
            losses.append([held_out.loss(held_out.predictors(one)) for one in found.coefficients])
        self.cv_loss_ = np.array(losses).T
        mean = self.cv_loss_.mean(axis=1)
        error = self.cv_loss_.std(axis=1, ddof=1) / np.sqrt(len(folds))
        self.criterion_path_, self.cv_standard_error_ = mean, error
        curve = HeldOutLoss(self.cv_loss_, mean, error, len(mean))
        return curve.best(one_standard_error=one_se)

    @single_threaded_blas()
    def score(
        self,
        X: TableLike,
        y: object = None,
        *,
        confounder: ConfounderLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Mean log pseudo-likelihood of new samples.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
            Variables of the network, one row for each sample.
        y : ignored
            Present for scikit-learn's pipelines.
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
        x = self._variables.values(X)
        check_family_values(x, self.families_, self._names)
        weights = check_sample_weight(sample_weight, x)
        values = self._new_values(X, len(x), confounder)
        rows = family_rows(x, self._expanded(values), self._units)
        eta = rows.predictors(self.coefficients_.reshape(-1, x.shape[1]))
        units = self._units.rescaled(self._units.scale * self._noise)
        likelihood = units.log_likelihood(x, eta / self._noise).sum(axis=1)
        return finite_score(np.average(likelihood, weights=weights / weights.max()))

    def _edge_tests(self) -> EdgeTable:
        raise ValueError(
            "MRF penalises every coefficient and has no test of its edges. Use plaggm.PLAGGMCV with "
            "family=, whose edges have one."
        )


def _deviations(rows: FamilyRows, coefficients: Array) -> Array:
    """Residual deviations of Gaussian columns in their units, one for others: shape (p,)."""
    slopes, _ = rows.columns.slopes(rows.x, rows.predictors(coefficients))
    found, gaussian = np.ones(rows.p), rows.columns.of("gaussian")
    found[gaussian] = np.sqrt(np.mean(slopes[:, gaussian] ** 2, axis=0))
    return np.where(found > 0.0, found, 1.0)
