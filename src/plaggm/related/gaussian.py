"""The Gaussian likelihood: the graphical lasso on the covariance that a profiler's Gram matrix holds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import graphical_lasso
from sklearn.exceptions import ConvergenceWarning

from plaggm.array_types import Array
from plaggm.core.node_grams import GramMatrices
from plaggm.selection.criteria import Criterion
from plaggm.selection.losses import LossPath

# scikit-learn's tolerance of the inner lassos; they must be solved at least as well as the whole.
INNER_TOLERANCE = 1e-4
# Factor of the inner tolerance in the second attempt, where the outer loop circles.
TRIED_AGAIN = 1e-4
# Smaller penalties are harder: after this many failures in a row the rest of the path is left out.
GIVE_UP = 3
# Precision entries of a failed step.
MISSING = np.nan


@dataclass(frozen=True, slots=True)
class GaussianLoss:
    """The Gaussian likelihood: scikit-learn's graphical lasso on the covariance in the Gram matrix."""

    tol: float
    max_iter: int

    def scale(self, grams: GramMatrices) -> Array:
        """See :class:`plaggm.selection.Loss`: ones, since the precision matrix has its own variances."""
        return np.ones(grams.p)

    def largest_penalty(self, grams: Sequence[GramMatrices]) -> float:
        """See :class:`plaggm.selection.Loss`."""
        covariances = covariances_of(grams)
        off = ~np.eye(covariances.shape[1], dtype=bool)
        return float(np.abs(covariances[:, off]).max())

    def paths(
        self, grams: Sequence[GramMatrices], alphas: Array, *, n_threads: int | None = None
    ) -> list[LossPath]:
        """See :class:`plaggm.selection.Loss`; scikit-learn's solver has one thread."""
        return [
            path_of_precisions(*self._precisions(covariance, alphas))
            for covariance in covariances_of(grams)
        ]

    def held_out(
        self,
        train: Sequence[GramMatrices],
        test: Sequence[GramMatrices],
        weights: Array,
        alphas: Array,
    ) -> Array:
        """See :class:`plaggm.selection.Loss`: tr(S P) - log det P, S about the training rows' mean."""
        total = np.zeros(len(alphas))
        for weight, fitted, judged in zip(weights, train, test, strict=True):
            precision, _, _, _ = self._precisions(covariances_of([fitted])[0], alphas)
            moments, mass = moments_about(fitted, judged)
            total += weight * np.array([gaussian_loss(moments, one, mass) for one in precision])
        return total

    def information(
        self, grams: GramMatrices, path: LossPath, criterion: Criterion, gamma: float
    ) -> Array:
        """See :class:`plaggm.selection.Loss`."""
        return gaussian_information(grams, path, criterion, gamma)

    def quietly(self) -> AbstractContextManager[None]:
        """See :class:`plaggm.selection.Loss`: convergence is checked here, not by scikit-learn."""
        return without_convergence_warnings()

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


def covariances_of(grams: Sequence[GramMatrices]) -> Array:
    """Covariance matrices of the columns, from Grams that serve all nodes: shape (K, p, p)."""
    full = np.stack([one.node(0) for one in grams])
    mean = full[:, :-1, -1] / full[:, -1:, -1]
    return full[:, :-1, :-1] - mean[:, :, None] * full[:, None, :-1, -1]


def moments_about(train: GramMatrices, test: GramMatrices) -> tuple[Array, float]:
    """Second moments of held-out rows about the mean of the training rows, and the rows' weight.

    Returns
    -------
    moments : ndarray of shape (p, p)
    mass : float
    """
    fitted, judged = train.node(0), test.node(0)
    mean = fitted[:-1, -1] / fitted[-1, -1]
    shift = np.outer(mean, judged[:-1, -1])
    mass = float(judged[-1, -1])
    return judged[:-1, :-1] - shift - shift.T + mass * np.outer(mean, mean), mass


def gaussian_information(
    grams: GramMatrices, path: LossPath, criterion: Criterion, gamma: float
) -> Array:
    """n (tr(S P) - log det P) plus the price of edges and variances: shape (n_alphas,)."""
    n, p = grams.n, grams.p
    upper = np.triu_indices(p, 1)
    covariance = covariances_of([grams])[0]
    price = 2.0 if criterion == "aic" else np.log(n)
    extended = 4.0 * gamma * np.log(p) if criterion == "ebic" else 0.0
    values = np.empty(len(path.omega))
    for step, (omega, sigma) in enumerate(zip(path.omega, path.sigma, strict=True)):
        precision = (np.eye(p) - omega) / np.outer(sigma, sigma)
        edges = np.count_nonzero(omega[upper])
        fit = gaussian_loss(covariance, precision, 1.0)
        values[step] = n * fit + price * (edges + p) + extended * edges
    return values


@contextmanager
def without_convergence_warnings() -> Iterator[None]:
    """Ignore scikit-learn's warnings; filters are set once, since they are not safe between threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def gaussian_loss(moments: Array, precision: Array, mass: float) -> float:
    """Minus twice the log likelihood of one sample, without its constant: tr(S P) - mass log det P.

    NaN where the precision matrix is missing.
    """
    if np.isnan(precision).any():
        return MISSING
    return float(np.sum(moments * precision) - mass * np.linalg.slogdet(precision)[1])
