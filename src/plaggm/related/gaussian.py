"""The Gaussian likelihood: the graphical lasso on the covariance matrix from a profiler's Gram matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array
from plaggm.core.grams.node_grams import GramMatrices
from plaggm.core.lasso.fused_glasso import solve_fused_glasso
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.selection.criteria import Criterion, priced
from plaggm.selection.losses import LossPath

# Number of consecutive failures after which the rest of the path is skipped.
GIVE_UP = 3
# Precision entries of a failed step.
MISSING = np.nan


@dataclass(frozen=True, slots=True)
class GaussianLoss:
    r"""The Gaussian likelihood: one graphical lasso for each covariance matrix.

    .. math:: \operatorname{tr}(S P) - \log\det P + \alpha \sum_{i \ne j} |P_{ij}|

    Attributes
    ----------
    tol : float
        Largest duality gap.
    max_iter : int
        Largest number of proximal steps at one penalty.
    """

    tol: float
    max_iter: int

    def scale(self, grams: GramMatrices) -> Array:
        """See :class:`plaggm.selection.Loss`: ones, since the precision matrix has free variances."""
        return np.ones(grams.p)

    def largest_penalty(self, grams: Sequence[GramMatrices]) -> float:
        """See :class:`plaggm.selection.Loss`."""
        covariances = covariances_of(grams)
        off = ~np.eye(covariances.shape[1], dtype=bool)
        return float(np.abs(covariances[:, off]).max())

    def paths(
        self, grams: Sequence[GramMatrices], alphas: Array, *, n_threads: int | None = None
    ) -> list[LossPath]:
        """See :class:`plaggm.selection.Loss`; the solver has one thread."""
        return [self._path([one], alphas).of_bin(0) for one in grams]

    def held_out(
        self,
        train: Sequence[GramMatrices],
        test: Sequence[GramMatrices],
        weights: Array,
        alphas: Array,
        *,
        whole: bool,
    ) -> Array:
        """See :class:`plaggm.selection.Loss`: tr(S P) - log det P, S about the training rows' mean."""
        total = np.zeros(len(alphas))
        for weight, fitted, judged in zip(weights, train, test, strict=True):
            moments, mass = moments_about(fitted, judged)
            precision = self._path([fitted], alphas).precision[:, 0]
            total += weight * np.array([gaussian_loss(moments, one, mass) for one in precision])
        return total

    def information(
        self, grams: GramMatrices, path: LossPath, criterion: Criterion, gamma: float
    ) -> Array:
        """See :class:`plaggm.selection.Loss`: n (tr(S P) - log det P) plus the price of the edges."""
        covariance, unit = covariances_of([grams])[0], np.eye(grams.p)
        fit = np.array(
            [
                gaussian_loss(covariance, (unit - omega) / np.outer(sigma, sigma), 1.0)
                for omega, sigma in zip(path.omega, path.sigma, strict=True)
            ]
        )
        return priced(grams.n * fit, path.omega, grams.n, criterion, gamma, 0.0)

    def _path(
        self, grams: Sequence[GramMatrices], alphas: Array, fusion: float = 0.0
    ) -> PrecisionPath:
        return precision_path(
            covariances_of(grams), alphas, fusion=fusion, tol=self.tol, max_iter=self.max_iter
        )


@dataclass(frozen=True, slots=True)
class PrecisionPath:
    """Precision matrices of K bins along a decreasing grid of penalties.

    Attributes
    ----------
    precision : ndarray of shape (n_alphas, K, p, p)
        NaN where a step failed.
    gaps : ndarray of shape (n_alphas,)
        Duality gap for each bin.
    n_iter : ndarray of int of shape (n_alphas,)
    failures : dict of int to str
        Reasons by step.
    """

    precision: Array
    gaps: Array
    n_iter: NDArray[np.int64]
    failures: dict[int, str]

    def of_bin(self, k: int) -> LossPath:
        """Partial correlations and conditional standard deviations of one bin."""
        precision = self.precision[:, k]
        sigma = 1.0 / np.sqrt(np.diagonal(precision, axis1=1, axis2=2))
        # Adding zero turns -0.0 into 0.0.
        omega = -precision * sigma[:, :, None] * sigma[:, None, :] + 0.0
        index = np.arange(precision.shape[1])
        omega[:, index, index] = np.where(np.isnan(sigma), MISSING, 0.0)
        return LossPath(omega, sigma, self.gaps, self.n_iter, dict(self.failures))


def precision_path(
    covariances: Array, alphas: Array, *, fusion: float, tol: float, max_iter: int
) -> PrecisionPath:
    """Fused graphical lasso of K bins at every penalty, each started from the one before.

    Parameters
    ----------
    covariances : ndarray of shape (K, p, p)
    alphas : ndarray of shape (n_alphas,)
        Decreasing.
    fusion : float
        Penalty on differences between neighbouring bins, as a multiple of that on the entries.
    tol : float
        Largest duality gap for each bin; a step with a larger gap has failed.
    max_iter : int
        Largest number of proximal steps at one penalty.
    """
    precision = np.full((len(alphas), *covariances.shape), MISSING)
    gaps = np.full(len(alphas), MISSING)
    n_iter = np.zeros(len(alphas), np.int64)
    failures: dict[int, str] = {}
    start = None
    with single_threaded_blas():
        for step, alpha in enumerate(map(float, alphas)):
            if step >= GIVE_UP and all(step - back in failures for back in range(1, GIVE_UP + 1)):
                failures[step] = f"not tried, since {GIVE_UP} larger penalties in a row failed"
                continue
            found = solve_fused_glasso(
                covariances, alpha, fusion * alpha, start=start, tol=tol, max_iter=max_iter
            )
            if not found.gap <= tol:
                failures[step] = (
                    f"no convergence after {found.n_iter} iterations, duality gap {found.gap:.3g}"
                )
                continue
            precision[step], gaps[step], n_iter[step] = found.precision, found.gap, found.n_iter
            start = found.precision
    return PrecisionPath(precision, gaps, n_iter, failures)


def covariances_of(grams: Sequence[GramMatrices]) -> Array:
    """Covariance matrices of the columns, from Grams shared by all nodes: shape (K, p, p)."""
    full = np.stack([one.node(0) for one in grams])
    mean = full[:, :-1, -1] / full[:, -1:, -1]
    return full[:, :-1, :-1] - mean[:, :, None] * full[:, None, :-1, -1]


def moments_about(train: GramMatrices, test: GramMatrices) -> tuple[Array, float]:
    """Second moments of held-out rows about the mean of the training rows, and the weight of these rows.

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


def gaussian_loss(moments: Array, precision: Array, mass: float) -> float:
    """Minus twice the log-likelihood of one sample, without its constant: tr(S P) - mass log det P.

    NaN if the precision matrix is missing.
    """
    if np.isnan(precision).any():
        return MISSING
    return float(np.sum(moments * precision) - mass * np.linalg.slogdet(precision)[1])
