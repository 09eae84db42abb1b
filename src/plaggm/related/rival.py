"""What the related methods share: parameters, selection along a path, and the fitted names."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from plaggm.core.path import lambda_grid
from plaggm.data import Confounder, new_confounder
from plaggm.estimators.network_methods import NetworkMethods, finite_score
from plaggm.estimators.plaggm_cv import FEWEST_ROWS, check_alphas, make_folds
from plaggm.group_labels import group_numbers
from plaggm.related.losses import (
    GaussianLoss,
    Loss,
    LossPath,
    PseudoLoss,
    convergence_is_checked_here,
)
from plaggm.related.profilers import centre
from plaggm.related.tasks import Segment, Statistics, Task, part_statistics, pooled_task
from plaggm.selection import Stability
from plaggm.selection.cross_validation import Fold
from plaggm.selection.parallel import run_parallel
from plaggm.selection.stability import subsample_size

Array = NDArray[np.float64]

# Tolerance and iterations where they are None: scikit-learn's own, and those of PLAGGM.
GLASSO_DEFAULTS = (1e-4, 100)
PSEUDO_DEFAULTS = (1e-6, 1000)


class Rival(NetworkMethods, BaseEstimator, ABC):
    """Base class; a method says what it does about the confounder in ``_task``."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions({"glasso", "pseudo"})],
        "alpha": [Interval(Real, 0, None, closed="left"), None],
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "criterion": [StrOptions({"cv", "aic", "bic", "ebic", "stars"})],
        "one_se": ["boolean"],
        "ebic_gamma": [Interval(Real, 0, None, closed="left")],
        "n_subsamples": [Interval(Integral, 2, None, closed="left")],
        "subsample": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "instability": [Interval(Real, 0, 0.5, closed="neither")],
        "symmetry": [StrOptions({"joint", "and", "or"})],
        "tol": [Interval(Real, 0, None, closed="neither"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
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
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, confounder: Any = None, groups: Any = None) -> Self:
        """Estimate the network along the path and choose the penalty.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
        y : ignored
            For scikit-learn's pipelines.
        confounder : array, Series or DataFrame of shape (n,) or (n, m), optional
            Without it all samples are pooled, whatever the method.
        groups : array of shape (n,), optional
            Which rows belong together, such as those of a subject: ``cv`` then divides the groups, and
            the differences of :class:`LRGGM` stay within them.

        Returns
        -------
        self
        """
        given = self._given_alphas()
        x, checked = self._validate(X, confounder)
        numbers = None if groups is None else group_numbers(groups, len(x))[0]
        self.confounder_names_ = () if checked is None else checked.names
        self.threshold_ = self.bandwidth_ = None
        for name in ("criterion_path_", "cv_loss_", "cv_standard_error_", "edge_stability_"):
            if hasattr(self, name):
                delattr(self, name)
        task = pooled_task(x, self._names) if checked is None else self._task(x, checked, numbers)
        self._n_samples, self._n_unconfounded = len(x), len(task.rows)
        chosen_by_folds = self.alpha is None and self.criterion == "cv"
        folds = self._folds(task.rows, numbers) if chosen_by_folds else []
        loss = self._loss()
        statistics = [part_statistics(profiler, loss, task.names) for profiler in task.profilers]
        alphas = _grid(statistics, loss, int(self.alphas)) if given is None else given
        self._say(f"path of {len(alphas)} penalties")
        paths = loss.paths([part.grams for part in statistics], alphas)
        self.failures_ = {
            float(alphas[step]): reason for path in paths for step, reason in path.failures.items()
        }
        chosen = self._choose(loss, task, statistics, paths, alphas, folds)
        self._finish(task, statistics, paths, alphas, chosen)
        return self

    def score(
        self, X: Any, y: Any = None, *, confounder: Any = None, sample_weight: Any = None
    ) -> float:
        """Mean log pseudo-likelihood of new samples under the method's own model of the confounder.

        It can be compared with that of :class:`plaggm.PLAGGM`.

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
        return self._score(X, confounder, sample_weight)

    def _score(self, X: Any, confounder: Any, sample_weight: Any, groups: Any = None) -> float:
        check_is_fitted(self)
        x = self._validate_x(X, reset=False)
        weights = _check_sample_weight(sample_weight, x, ensure_non_negative=True)
        shift, segments = np.zeros_like(x), [self._everywhere(len(x))]
        if self.confounder_names_:
            values = new_confounder(confounder, self.confounder_names_, X, len(x))
            shift, segments = self._intercept_shift(values, groups), self._segments(values)
        elif confounder is not None:
            raise ValueError("The model was fitted without confounder; score takes none either.")
        likelihood = np.empty(len(x))
        for part in segments:
            z = (x[part.rows] - part.location) / part.scale
            coefficients = part.omega - np.diag(np.diagonal(part.omega))
            residual = z - z @ coefficients - np.diagonal(part.omega) - shift[part.rows]
            constant = 0.5 * len(part.scale) * np.log(2.0 * np.pi) + np.sum(np.log(part.scale))
            likelihood[part.rows] = -0.5 * np.sum(residual**2, axis=1) - constant
        return finite_score(np.average(likelihood, weights=weights / weights.max()))

    @abstractmethod
    def _task(self, x: Array, confounder: Confounder, groups: NDArray[np.intp] | None) -> Task:
        """What the method does about the confounder."""

    def _intercept_shift(self, confounder: Array, groups: Any) -> Array:
        """How far the nodes' intercepts move at confounder values (n, m), in units of omega: (n, p)."""
        return np.zeros((len(confounder), len(self._names)))

    def _segments(self, confounder: Array) -> list[Segment]:
        """The networks that describe samples with these confounder values (n, m)."""
        return [self._everywhere(len(confounder))]

    def _everywhere(self, n: int) -> Segment:
        return Segment(np.arange(n), self.omega_, self.location_, self.scale_)

    def _read(self, omega: Array, location: Array, scale: Array) -> tuple[Array, Array, Array]:
        """The network of X from that of the task's columns: omega (k, p, p), (p,) and (k, p)."""
        return omega, location, scale

    def _given_alphas(self) -> Array | None:
        if self.alpha is not None:
            return np.array([float(self.alpha)])
        return None if isinstance(self.alphas, Integral) else check_alphas(self.alphas)

    def _loss(self) -> Loss:
        tol, max_iter = GLASSO_DEFAULTS if self.loss == "glasso" else PSEUDO_DEFAULTS
        tol = tol if self.tol is None else float(self.tol)
        max_iter = max_iter if self.max_iter is None else int(self.max_iter)
        if self.loss == "glasso":
            return GaussianLoss(tol, max_iter, self.n_jobs, self.verbose)
        return PseudoLoss(self.symmetry, tol, max_iter, self.n_jobs, self.verbose)  # type: ignore[arg-type]

    def _choose(
        self,
        loss: Loss,
        task: Task,
        statistics: list[Statistics],
        paths: list[LossPath],
        alphas: Array,
        folds: list[Fold],
    ) -> int:
        """The number of the step with the smallest criterion."""
        if self.alpha is not None:
            self._check_any(~np.isnan(np.sum([path.sigma for path in paths], axis=(0, 2))), alphas)
            return 0
        if self.criterion == "stars":
            return self._choose_stable(loss, task, statistics, alphas)
        if self.criterion == "cv":
            criterion = self._cross_validate(loss, task, statistics, alphas, folds)
        else:
            values = [
                loss.information(part.grams, path, self.criterion, self.ebic_gamma)  # type: ignore[arg-type]
                for part, path in zip(statistics, paths, strict=True)
            ]
            criterion = task.weights_of_choice @ np.stack(values)
        # A step that failed on all rows may have a held-out loss all the same.
        criterion[[float(alpha) in self.failures_ for alpha in alphas]] = np.nan
        self.criterion_path_ = criterion
        self._check_any(~np.isnan(criterion), alphas)
        best = int(np.nanargmin(criterion))
        if self.criterion == "cv" and self.one_se:
            limit = criterion[best] + self.cv_standard_error_[best]
            return int(np.flatnonzero(criterion[: best + 1] <= limit)[0])
        return best

    def _choose_stable(
        self, loss: Loss, task: Task, statistics: list[Statistics], alphas: Array
    ) -> int:
        """StARS: the densest network that is stable between subsamples of the used rows."""
        n = task.profilers[0].n
        size = subsample_size(n) if isinstance(self.subsample, str) else int(self.subsample * n)
        if size < FEWEST_ROWS:
            raise ValueError(
                f"subsample={self.subsample} of {n} rows leaves {size}; at least {FEWEST_ROWS} are "
                "needed."
            )
        self._say(f"StARS with {self.n_subsamples} subsamples of {size} rows")
        random = check_random_state(self.random_state)
        subsamples = [np.sort(random.permutation(n)[:size]) for _ in range(self.n_subsamples)]
        work = partial(_edges_of_rows, loss=loss, task=task, statistics=statistics, alphas=alphas)
        with convergence_is_checked_here():
            found = run_parallel(work, subsamples, n_jobs=self.n_jobs, verbose=self.verbose)
        # Of the variables alone: a joint model also has edges to the confounders.
        p = len(self._names)
        frequency = np.mean(found, axis=0)[:, :p, :p]
        for step in np.flatnonzero(np.isnan(frequency).any(axis=(1, 2))):
            self.failures_.setdefault(float(alphas[step]), "did not converge in some subsamples")
        upper = np.triu_indices(p, 1)
        each = (2.0 * frequency * (1.0 - frequency))[:, upper[0], upper[1]].mean(axis=1)
        each[[float(alpha) in self.failures_ for alpha in alphas]] = np.nan
        # NaN spreads to all smaller penalties, which are then not chosen.
        stability = Stability(frequency, np.maximum.accumulate(each))
        self._check_any(~np.isnan(stability.instability), alphas)
        chosen = stability.best(self.instability)
        self.criterion_path_ = stability.instability
        self.edge_stability_ = stability.frequency[chosen]
        return chosen

    def _cross_validate(
        self,
        loss: Loss,
        task: Task,
        statistics: list[Statistics],
        alphas: Array,
        folds: list[Fold],
    ) -> Array:
        self._say(f"cross-validation with {len(folds)} folds")
        held_out = loss.held_out(
            task.profilers,
            task.weights_of_choice,
            alphas,
            folds,
            [part.unit for part in statistics],
        )
        for step in np.flatnonzero(np.isnan(held_out).any(axis=1)):
            count = int(np.count_nonzero(np.isnan(held_out[step])))
            self.failures_.setdefault(
                float(alphas[step]), f"did not converge in {count} of {len(folds)} folds"
            )
        size = np.array([len(test) for _, test in folds], dtype=np.float64)
        mean = held_out @ size / size.sum()
        spread = (held_out - mean[:, None]) ** 2 @ size / size.sum()
        self.cv_loss_ = held_out
        self.cv_standard_error_ = np.sqrt(spread / max(len(folds) - 1, 1))
        return mean

    def _folds(self, rows: NDArray[np.intp], groups: NDArray[np.intp] | None) -> list[Fold]:
        """Folds as positions among the used rows; a splitter of one's own sees all rows of X."""
        if isinstance(self.cv, Integral):
            owners = None if groups is None else groups[rows]
            return make_folds(self.cv, len(rows), self.random_state, owners)
        folds = [
            (np.flatnonzero(np.isin(rows, train)), np.flatnonzero(np.isin(rows, test)))
            for train, test in make_folds(self.cv, self._n_samples, self.random_state, groups)
        ]
        kept = [(train, test) for train, test in folds if len(train) and len(test)]
        if not kept:
            raise ValueError(
                f"No fold of cv has training and test rows among the {len(rows)} used samples."
            )
        return kept

    def _check_any(self, usable: NDArray[np.bool_], alphas: Array) -> None:
        if not usable.any():
            reason = next(iter(self.failures_.values()), "no reason was given")
            raise ValueError(
                f"The graphical lasso converged at none of the {len(alphas)} penalties between "
                f"{alphas[0]:.3g} and {alphas[-1]:.3g} ({reason}). Use larger penalties, raise max_iter "
                "or tol, or take loss='pseudo'."
            )
        if self.failures_:
            warnings.warn(
                f"{len(self.failures_)} of {len(alphas)} penalties failed and are left out; the reasons "
                "are in failures_.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _finish(
        self,
        task: Task,
        statistics: list[Statistics],
        paths: list[LossPath],
        alphas: Array,
        chosen: int,
    ) -> None:
        """Average over the task's parts and set the fitted attributes."""
        weights = task.weights
        omega = np.einsum("w,wkij->kij", weights, np.stack([path.omega for path in paths]))
        mean = weights @ np.stack([part.mean for part in statistics])
        units = [part.unit * path.sigma for part, path in zip(statistics, paths, strict=True)]
        unit = np.sqrt(np.einsum("w,wkj->kj", weights, np.stack(units) ** 2))
        location, scale = task.location + task.scale * mean, task.scale * unit
        self._of_task = Segment(task.rows, omega[chosen], location, scale[chosen])
        omega, location, scale = self._read(omega, location, scale)
        self._set_network(omega[chosen], location, scale[chosen])
        self.alphas_ = alphas
        self.alpha_ = float(alphas[chosen])
        self.omega_path_ = omega
        self.dual_gap_ = float(max(path.gaps[chosen] for path in paths))
        self.n_iter_ = max(1, *(int(path.n_iter[chosen]) for path in paths))
        self._effective = float(weights @ [part.grams.n for part in statistics])

    def _diagnostics(self) -> dict[str, Any]:
        failures = {f"{alpha:.6g}": reason for alpha, reason in self.failures_.items()}
        return {
            **super()._diagnostics(),
            "effective_samples": self._effective,
            **({"failures": failures} if failures else {}),
        }


def _edges_of_rows(
    index: NDArray[np.intp],
    *,
    loss: Loss,
    task: Task,
    statistics: list[Statistics],
    alphas: Array,
) -> Array:
    """Edges (one or zero, NaN where a step failed) of a fit to some of the used rows."""
    parts = [
        centre(profiler.fitted(index))[0].rescaled(part.unit)
        for profiler, part in zip(task.profilers, statistics, strict=True)
    ]
    omega = np.einsum(
        "w,wkij->kij", task.weights, np.stack([path.omega for path in loss.paths(parts, alphas)])
    )
    edges = np.where(np.isnan(omega), np.nan, omega != 0.0)
    diagonal = np.arange(edges.shape[1])
    edges[:, diagonal, diagonal] = np.where(np.isnan(edges[:, diagonal, diagonal]), np.nan, 0.0)
    return edges


def _grid(statistics: list[Statistics], loss: Loss, count: int) -> Array:
    largest = loss.largest_penalty([part.grams for part in statistics])
    fewest = min(part.grams.n for part in statistics)
    return lambda_grid(largest, count, fewest, statistics[0].grams.p)
