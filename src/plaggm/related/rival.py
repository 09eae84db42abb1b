"""What the related methods share: parameters, selection along a path, and the fitted names."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from plaggm.core.node_grams import NodeGrams
from plaggm.core.path import lambda_grid
from plaggm.core.profile.profilers import PooledProfiler, Profiler
from plaggm.data import Confounder
from plaggm.estimators.network_methods import NetworkMethods
from plaggm.estimators.plaggm_cv import check_alphas, make_folds
from plaggm.related.losses import GaussianLoss, Loss, LossPath, PseudoLoss
from plaggm.related.profilers import centre
from plaggm.selection.cross_validation import Fold

Array = NDArray[np.float64]

# Tolerance and iterations where they are None: scikit-learn's own, and those of PLAGGM.
GLASSO_DEFAULTS = (1e-4, 100)
PSEUDO_DEFAULTS = (1e-6, 1000)
# Standard deviation of a standardised column of which the treatment of the confounder left nothing.
NOTHING_LEFT = 1e-7


@dataclass(frozen=True, slots=True)
class Task:
    """What a method makes of the data: one or several weightings of rows, whose networks are averaged.

    Attributes
    ----------
    profilers : sequence of Profiler
    weights : ndarray of shape (n_profilers,)
        Of the networks; they sum to one.
    location, scale : ndarray of shape (p,)
        Of the columns that the profilers hold.
    names : tuple of str
        Of these columns.
    rows : ndarray of int of shape (n_rows,)
        Rows of X that are used.
    """

    profilers: Sequence[Profiler]
    weights: Array
    location: Array
    scale: Array
    names: tuple[str, ...]
    rows: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Statistics:
    """One profiler's Gram matrix about its mean.

    Attributes
    ----------
    grams : NodeGrams
        Columns divided by ``unit``.
    mean, unit : ndarray of shape (p,)
    """

    grams: NodeGrams
    mean: Array
    unit: Array


class Rival(NetworkMethods, BaseEstimator, ABC):
    """Base class; a method says what it does about the confounder in ``_task``."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions({"glasso", "pseudo"})],
        "alpha": [Interval(Real, 0, None, closed="left"), None],
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "criterion": [StrOptions({"cv", "aic", "bic", "ebic"})],
        "ebic_gamma": [Interval(Real, 0, None, closed="left")],
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
        ebic_gamma: float = 0.5,
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
        self.ebic_gamma = ebic_gamma
        self.symmetry = symmetry
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, confounder: Any = None) -> Self:
        """Estimate the network along the path and choose the penalty.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
        y : ignored
            For scikit-learn's pipelines.
        confounder : array, Series or DataFrame of shape (n,) or (n, m), optional
            Without it all samples are pooled, whatever the method.

        Returns
        -------
        self
        """
        given = self._given_alphas()
        x, checked = self._validate(X, confounder)
        self.confounder_names_ = () if checked is None else checked.names
        self.threshold_ = self.bandwidth_ = None
        for name in ("criterion_path_", "cv_loss_", "cv_standard_error_"):
            if hasattr(self, name):
                delattr(self, name)
        task = pooled_task(x, self._names) if checked is None else self._task(x, checked)
        self._n_samples, self._n_unconfounded = len(x), len(task.rows)
        folds = self._folds(task.rows) if self.alpha is None and self.criterion == "cv" else []
        loss = self._loss()
        statistics = [_statistics(profiler, loss, task.names) for profiler in task.profilers]
        alphas = _grid(statistics, loss, int(self.alphas)) if given is None else given
        self._say(f"path of {len(alphas)} penalties")
        paths = [loss.path(part.grams, alphas) for part in statistics]
        self.failures_ = {
            float(alphas[step]): reason for path in paths for step, reason in path.failures.items()
        }
        chosen = self._choose(loss, task, statistics, paths, alphas, folds)
        self._finish(task, statistics, paths, alphas, chosen)
        return self

    @abstractmethod
    def _task(self, x: Array, confounder: Confounder) -> Task:
        """What the method does about the confounder."""

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
        if self.criterion == "cv":
            criterion = self._cross_validate(loss, task, statistics, alphas, folds)
        else:
            values = [
                loss.information(part.grams, path, self.criterion, self.ebic_gamma)  # type: ignore[arg-type]
                for part, path in zip(statistics, paths, strict=True)
            ]
            criterion = task.weights @ np.stack(values)
        # A step that failed on all rows may have a held-out loss all the same.
        criterion[[float(alpha) in self.failures_ for alpha in alphas]] = np.nan
        self.criterion_path_ = criterion
        self._check_any(~np.isnan(criterion), alphas)
        return int(np.nanargmin(criterion))

    def _cross_validate(
        self,
        loss: Loss,
        task: Task,
        statistics: list[Statistics],
        alphas: Array,
        folds: list[Fold],
    ) -> Array:
        self._say(f"cross-validation with {len(folds)} folds")
        held_out = np.zeros((len(alphas), len(folds)))
        for weight, profiler, part in zip(task.weights, task.profilers, statistics, strict=True):
            held_out += weight * loss.held_out(profiler, alphas, folds, part.unit)
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

    def _folds(self, rows: NDArray[np.intp]) -> list[Fold]:
        """Folds as positions among the used rows; a splitter of one's own sees all rows of X."""
        if isinstance(self.cv, Integral):
            return make_folds(self.cv, len(rows), self.random_state)
        folds = [
            (np.flatnonzero(np.isin(rows, train)), np.flatnonzero(np.isin(rows, test)))
            for train, test in make_folds(self.cv, self._n_samples, self.random_state)
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
        omega, location, scale = self._read(
            omega, task.location + task.scale * mean, task.scale * unit
        )
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


def standardised(x: Array) -> tuple[Array, Array, Array]:
    """[Z, 1] with Z the centred columns over their standard deviation, their means and deviations."""
    location, scale = x.mean(axis=0), x.std(axis=0)
    return np.column_stack([(x - location) / scale, np.ones(len(x))]), location, scale


def pooled_task(x: Array, names: tuple[str, ...], rows: NDArray[np.intp] | None = None) -> Task:
    """All rows, or some, as one sample."""
    used = np.arange(len(x)) if rows is None else rows
    b, location, scale = standardised(x[used])
    return Task([PooledProfiler(b)], np.ones(1), location, scale, names, used)


def _statistics(profiler: Profiler, loss: Loss, names: tuple[str, ...]) -> Statistics:
    grams, mean = centre(profiler.fitted())
    deviation = np.sqrt(np.maximum(np.diagonal(grams.grams[0])[:-1], 0.0))
    gone = [name for name, left in zip(names, deviation, strict=True) if left < NOTHING_LEFT]
    if gone:
        raise ValueError(
            f"Nothing is left of the column(s) {', '.join(map(repr, gone[:5]))} once the confounder is "
            "taken into account: they do not vary beyond it. Drop them."
        )
    scaled = grams.rescaled(deviation)
    sigma = loss.scale(scaled)
    return Statistics(scaled.rescaled(sigma), mean, deviation * sigma)


def _grid(statistics: list[Statistics], loss: Loss, count: int) -> Array:
    largest = max(loss.largest_penalty(part.grams) for part in statistics)
    fewest = min(part.grams.n for part in statistics)
    return lambda_grid(largest, count, fewest, statistics[0].grams.p)
