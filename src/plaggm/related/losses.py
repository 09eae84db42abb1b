"""The two losses: graphical lasso and pseudo-likelihood, on the Grams that any profiler delivers."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import graphical_lasso
from sklearn.exceptions import ConvergenceWarning

from plaggm.core.node_grams import NodeGrams
from plaggm.core.path import Symmetry, lambda_max, solve_path
from plaggm.core.profile.profilers import Profiler
from plaggm.core.variance import conditional_scale
from plaggm.selection import cross_validate_path, information_criterion
from plaggm.selection.criteria import Criterion
from plaggm.selection.cross_validation import Fold
from plaggm.selection.parallel import run_parallel

Array = NDArray[np.float64]

# scikit-learn's tolerance of the inner lassos; they must be solved at least as well as the whole.
INNER_TOLERANCE = 1e-4
# Where the outer loop circles it is tried again with the inner tolerance times this.
TRIED_AGAIN = 1e-4
# Smaller penalties are harder: after this many failures in a row the rest of the path is left out.
GIVE_UP = 3
# Precision entries of a failed step.
MISSING = np.nan


@dataclass(frozen=True, slots=True)
class LossPath:
    """Estimates along a decreasing grid of penalties, NaN where a step failed.

    Attributes
    ----------
    omega : ndarray of shape (n_alphas, p, p)
        Partial correlations off the diagonal, zero on it.
    sigma : ndarray of shape (n_alphas, p)
        Conditional standard deviations, in the units of the Gram matrices.
    gaps : ndarray of shape (n_alphas,)
    n_iter : ndarray of shape (n_alphas,)
    failures : dict
        Reasons by the number of the step.
    """

    omega: Array
    sigma: Array
    gaps: Array
    n_iter: NDArray[np.int64]
    failures: dict[int, str]


class Loss(Protocol):
    """What the estimators ask of a loss; all Grams are about the mean."""

    def scale(self, grams: NodeGrams) -> Array:
        """By what the standardised columns are divided before anything else: shape (p,)."""
        ...

    def largest_penalty(self, parts: Sequence[NodeGrams]) -> float:
        """The smallest penalty with an empty network in every part."""
        ...

    def paths(self, parts: Sequence[NodeGrams], alphas: Array) -> list[LossPath]:
        """Estimates of every part along a decreasing grid."""
        ...

    def held_out(
        self,
        profilers: Sequence[Profiler],
        weights: Array,
        alphas: Array,
        folds: Sequence[Fold],
        scales: Sequence[Array],
    ) -> Array:
        """Weighted sum of the parts' held-out losses, columns over ``scales``: (n_alphas, n_folds)."""
        ...

    def information(
        self, grams: NodeGrams, path: LossPath, criterion: Criterion, gamma: float
    ) -> Array:
        """An information criterion of shape (n_alphas,)."""
        ...


class SeparateParts(ABC):
    """A loss whose parts have nothing to do with each other."""

    __slots__ = ()

    def largest_penalty(self, parts: Sequence[NodeGrams]) -> float:
        """See :class:`Loss`."""
        return max(self.emptying_penalty(grams) for grams in parts)

    def paths(self, parts: Sequence[NodeGrams], alphas: Array) -> list[LossPath]:
        """See :class:`Loss`."""
        return [self.path(grams, alphas) for grams in parts]

    def held_out(
        self,
        profilers: Sequence[Profiler],
        weights: Array,
        alphas: Array,
        folds: Sequence[Fold],
        scales: Sequence[Array],
    ) -> Array:
        """See :class:`Loss`."""
        return sum(
            (
                weight * self.part_held_out(profiler, alphas, folds, scale)
                for weight, profiler, scale in zip(weights, profilers, scales, strict=True)
            ),
            start=np.zeros((len(alphas), len(folds))),
        )

    @abstractmethod
    def emptying_penalty(self, grams: NodeGrams) -> float:
        """The smallest penalty with an empty network."""

    @abstractmethod
    def path(self, grams: NodeGrams, alphas: Array) -> LossPath:
        """Estimates along a decreasing grid."""

    @abstractmethod
    def part_held_out(
        self, profiler: Profiler, alphas: Array, folds: Sequence[Fold], scale: Array
    ) -> Array:
        """Held-out loss of shape (n_alphas, n_folds), columns divided by ``scale``."""


@dataclass(frozen=True, slots=True)
class PseudoLoss(SeparateParts):
    """The pseudo-likelihood with conditional variances, as :class:`plaggm.PLAGGM` uses it."""

    symmetry: Symmetry
    tol: float
    max_iter: int
    n_jobs: int | None = None
    verbose: int = 0

    def scale(self, grams: NodeGrams) -> Array:
        """See :class:`Loss`: the conditional standard deviations."""
        return conditional_scale(grams, self.symmetry).scale

    def emptying_penalty(self, grams: NodeGrams) -> float:
        """See :class:`SeparateParts`."""
        return lambda_max(grams, self.symmetry)

    def path(self, grams: NodeGrams, alphas: Array) -> LossPath:
        """See :class:`SeparateParts`."""
        path = solve_path(
            grams, alphas, symmetry=self.symmetry, tol=self.tol, max_iter=self.max_iter
        )
        missed = int(np.count_nonzero(path.gaps > self.tol))
        if missed:
            warnings.warn(
                f"The lasso did not reach tol={self.tol:g} at {missed} of {len(alphas)} penalties "
                f"(largest duality gap {path.gaps.max():.2g}): raise max_iter or tol, or leave the "
                "smallest penalties out.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return LossPath(path.omega, np.ones((len(alphas), grams.p)), path.gaps, path.n_iter, {})

    def part_held_out(
        self, profiler: Profiler, alphas: Array, folds: Sequence[Fold], scale: Array
    ) -> Array:
        """See :class:`SeparateParts`: squared residuals in units of the conditional standard deviations."""
        return cross_validate_path(
            profiler,
            alphas,
            folds,
            scale=scale,
            symmetry=self.symmetry,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        ).loss

    def information(
        self, grams: NodeGrams, path: LossPath, criterion: Criterion, gamma: float
    ) -> Array:
        """See :class:`Loss`."""
        return information_criterion(
            grams, path.omega, criterion, known_variance=False, gamma=gamma
        )


@dataclass(frozen=True, slots=True)
class GaussianLoss(SeparateParts):
    """The Gaussian likelihood: scikit-learn's graphical lasso on the covariance in the Gram matrix."""

    tol: float
    max_iter: int
    n_jobs: int | None = None
    verbose: int = 0

    def scale(self, grams: NodeGrams) -> Array:
        """See :class:`Loss`: nothing, since the precision matrix brings its own variances."""
        return np.ones(grams.p)

    def emptying_penalty(self, grams: NodeGrams) -> float:
        """See :class:`SeparateParts`."""
        covariance = grams.grams[0, :-1, :-1]
        return float(np.abs(covariance - np.diag(np.diagonal(covariance))).max())

    def path(self, grams: NodeGrams, alphas: Array) -> LossPath:
        """See :class:`SeparateParts`."""
        with convergence_is_checked_here():
            return path_of_precisions(*self._precisions(grams.grams[0, :-1, :-1], alphas))

    def part_held_out(
        self, profiler: Profiler, alphas: Array, folds: Sequence[Fold], scale: Array
    ) -> Array:
        """See :class:`SeparateParts`: tr(S P) - log det P, S about the mean of the training rows."""
        work = partial(self._fold_loss, profiler=profiler, alphas=alphas, scale=scale)
        with convergence_is_checked_here():
            found = run_parallel(work, folds, n_jobs=self.n_jobs, verbose=self.verbose)
        return np.stack(found, axis=1)

    def information(
        self, grams: NodeGrams, path: LossPath, criterion: Criterion, gamma: float
    ) -> Array:
        """See :class:`Loss`."""
        return gaussian_information(grams, path, criterion, gamma)

    def _fold_loss(self, fold: Fold, *, profiler: Profiler, alphas: Array, scale: Array) -> Array:
        covariance, moments, mass = split_moments(profiler, fold, scale)
        precision, _, _, failures = self._precisions(covariance, alphas)
        return np.array(
            [
                MISSING if step in failures else gaussian_loss(moments, matrix, mass)
                for step, matrix in enumerate(precision)
            ]
        )

    def _precisions(
        self, covariance: Array, alphas: Array
    ) -> tuple[Array, Array, NDArray[np.int64], dict[int, str]]:
        """Precision matrices, gaps, iterations and reasons for what failed."""
        precision = np.full((len(alphas), *covariance.shape), MISSING)
        gaps = np.full(len(alphas), MISSING)
        n_iter = np.zeros(len(alphas), np.int64)
        failures: dict[int, str] = {}
        first = min(INNER_TOLERANCE, self.tol)
        for step, alpha in enumerate(alphas):
            if hopeless(step, failures):
                failures[step] = f"not tried, since {GIVE_UP} larger penalties in a row failed"
                continue
            for inner in (first, first * TRIED_AGAIN):
                try:
                    precision[step], gaps[step], n_iter[step] = self._solve(
                        covariance, float(alpha), inner
                    )
                except (FloatingPointError, np.linalg.LinAlgError) as error:
                    failures[step] = str(error)
                else:
                    failures.pop(step, None)
                    break
        return precision, gaps, n_iter, failures

    def _solve(self, covariance: Array, alpha: float, inner: float) -> tuple[Array, float, int]:
        _, precision, costs, n_iter = graphical_lasso(
            covariance,
            alpha,
            tol=self.tol,
            enet_tol=inner,
            max_iter=self.max_iter,
            return_costs=True,
            return_n_iter=True,
        )
        # Without penalty scikit-learn returns one pair rather than a list of them.
        gap = float(costs[1] if isinstance(costs, tuple) else costs[-1][1])
        if not abs(gap) < self.tol:
            raise FloatingPointError(
                f"no convergence after {n_iter} iterations, duality gap {gap:.3g}"
            )
        sign, log_determinant = np.linalg.slogdet(precision)
        if sign <= 0.0 or not np.isfinite(log_determinant):
            raise FloatingPointError("The estimated precision matrix is not positive definite")
        return precision, gap, int(n_iter)


def hopeless(step: int, failures: dict[int, str]) -> bool:
    """Whether the steps before this one failed so often in a row that it is not worth a try.

    Examples
    --------
    >>> hopeless(3, {0: "circles", 1: "circles", 2: "circles"}), hopeless(3, {0: "circles"})
    (True, False)
    """
    return step >= GIVE_UP and all(step - back in failures for back in range(1, GIVE_UP + 1))


def path_of_precisions(
    precision: Array, gaps: Array, n_iter: NDArray[np.int64], failures: dict[int, str]
) -> LossPath:
    """Partial correlations and conditional deviations from precision matrices (n_alphas, p, p)."""
    sigma = 1.0 / np.sqrt(np.diagonal(precision, axis1=1, axis2=2))
    omega = -precision * sigma[:, :, None] * sigma[:, None, :]
    index = np.arange(precision.shape[1])
    # The zeros of a precision matrix become -0.0, which is not what one wants to print.
    omega = omega + 0.0
    omega[:, index, index] = np.where(np.isnan(sigma), MISSING, 0.0)
    return LossPath(omega, sigma, gaps, n_iter, failures)


def split_moments(profiler: Profiler, fold: Fold, scale: Array) -> tuple[Array, Array, float]:
    """What a fold of the Gaussian likelihood needs, columns divided by ``scale``.

    Returns
    -------
    covariance : ndarray of shape (p, p)
        Of the training rows.
    moments : ndarray of shape (p, p)
        Second moments of the held-out rows about the training mean.
    mass : float
        Weight of the held-out rows.
    """
    fitted, held_out = (grams.rescaled(scale) for grams in profiler.split(*fold))
    train, test = fitted.grams[0], held_out.grams[0]
    mean = train[:-1, -1] / train[-1, -1]
    covariance = train[:-1, :-1] - np.outer(mean, train[:-1, -1])
    shift = np.outer(mean, test[:-1, -1])
    mass = float(test[-1, -1])
    moments = test[:-1, :-1] - shift - shift.T + mass * np.outer(mean, mean)
    return covariance, moments, mass


def gaussian_information(
    grams: NodeGrams, path: LossPath, criterion: Criterion, gamma: float
) -> Array:
    """n (tr(S P) - log det P) plus the price of edges and variances: shape (n_alphas,)."""
    n, p = grams.n, grams.p
    upper = np.triu_indices(p, 1)
    price = 2.0 if criterion == "aic" else np.log(n)
    extended = 4.0 * gamma * np.log(p) if criterion == "ebic" else 0.0
    values = np.full(len(path.omega), MISSING)
    for step, (omega, sigma) in enumerate(zip(path.omega, path.sigma, strict=True)):
        if step not in path.failures:
            precision = (np.eye(p) - omega) / np.outer(sigma, sigma)
            edges = np.count_nonzero(omega[upper])
            fit = gaussian_loss(grams.grams[0, :-1, :-1], precision, 1.0)
            values[step] = n * fit + price * (edges + p) + extended * edges
    return values


@contextmanager
def convergence_is_checked_here() -> Iterator[None]:
    """Silence scikit-learn's warnings; filters are set once, since they are not safe between threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def gaussian_loss(moments: Array, precision: Array, mass: float) -> float:
    """Minus twice the log likelihood of one sample, without its constant: tr(S P) - mass log det P."""
    return float(np.sum(moments * precision) - mass * np.linalg.slogdet(precision)[1])
