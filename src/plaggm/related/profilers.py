"""Profilers of the related methods: residuals of a regression, bins, and kernel weights around a point.

All nodes share one Gram matrix of [Z, 1], from which the graphical lasso computes the covariance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index, Mask
from plaggm.core.grams.node_grams import GramMatrices, NodeGrams
from plaggm.core.kernel.kernels import Kernel, product_weights, scaled_differences
from plaggm.core.profile.pooled import profile_pooled
from plaggm.data import in_figures

# Smallest number of samples of a bin, or of effective samples of a window.
FEWEST_SAMPLES = 3.0
# Determinant of the local spread, in bandwidths, up to which no line can be fitted.
ONE_PLACE = 1e-10
# Smallest eigenvalue of a local linear covariance, as a share of the largest.
SMALLEST_EIGENVALUE = 1e-3


@dataclass(frozen=True, slots=True)
class ResidualProfiler:
    """Residuals of a regression on some regressors, learnt from the training rows.

    Only the slopes are removed: the mean of the residuals is the mean where all regressors are zero.

    Attributes
    ----------
    b : ndarray of shape (n, q)
        [Z, 1].
    regressors : ndarray of shape (n, k)
    """

    b: Array
    regressors: Array

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.b)

    def fitted(self, index: Index | None = None) -> GramMatrices:
        """See :class:`plaggm.core.profile.profilers.Profiler`."""
        rows = np.arange(self.n) if index is None else index
        return self._grams(rows, self.slopes(rows))

    def split(self, train: Index, test: Index) -> tuple[GramMatrices, GramMatrices]:
        """See :class:`plaggm.core.profile.profilers.Profiler`."""
        slopes = self.slopes(train)
        return self._grams(train, slopes), self._grams(test, slopes)

    def with_threads(self, n_threads: int) -> ResidualProfiler:
        """See :class:`plaggm.core.profile.profilers.Profiler`; there is nothing to spread."""
        return self

    def slopes(self, rows: Index) -> Array:
        """Slopes of the columns on the regressors, learnt from some rows: shape (k, p)."""
        z, regressors = self.b[rows, :-1], self.regressors[rows]
        centred = regressors - regressors.mean(axis=0)
        return np.linalg.lstsq(centred, z - z.mean(axis=0), rcond=None)[0]

    def _grams(self, rows: Index, slopes: Array) -> GramMatrices:
        b = self.b[rows].copy()
        b[:, :-1] -= self.regressors[rows] @ slopes
        pooled = profile_pooled(b)
        spent = np.full(pooled.p, float(self.regressors.shape[1]))
        return NodeGrams(pooled.grams, pooled.n, spent)


@dataclass(frozen=True, slots=True)
class BinProfiler:
    """The rows of one bin of the confounder.

    Attributes
    ----------
    b : ndarray of shape (n, q)
        [Z, 1] of all rows.
    member : ndarray of bool of shape (n,)
        True for rows of the bin.
    label : str
        Description of the bin, for messages.
    """

    b: Array
    member: Mask
    label: str

    @property
    def n(self) -> int:
        """Number of rows, including those of other bins."""
        return len(self.b)

    def fitted(self, index: Index | None = None) -> GramMatrices:
        """See :class:`plaggm.core.profile.profilers.Profiler`."""
        rows = np.flatnonzero(self.member) if index is None else index[self.member[index]]
        if len(rows) < FEWEST_SAMPLES:
            raise ValueError(
                f"{self.label} holds {len(rows)} samples to learn from; at least "
                f"{FEWEST_SAMPLES:.0f} are needed. Use fewer bins or more folds."
            )
        return profile_pooled(self.b[rows])

    def split(self, train: Index, test: Index) -> tuple[GramMatrices, GramMatrices]:
        """See :class:`plaggm.core.profile.profilers.Profiler`.

        Held-out rows are weighted by the inverse of the bin's share, so that the mean over the folds is
        the mean over the bin.
        """
        inside = self.b[test[self.member[test]]]
        held_out = inside.T @ inside / (len(test) * self.member.mean())
        return self.fitted(train), NodeGrams(held_out[None], len(test), np.zeros(len(held_out) - 1))

    def with_threads(self, n_threads: int) -> BinProfiler:
        """See :class:`plaggm.core.profile.profilers.Profiler`; there is nothing to spread."""
        return self


@dataclass(frozen=True, slots=True)
class LocalProfiler:
    r"""Kernel-weighted moments around one value of the confounder.

    With :math:`u_k = (g_k - g) / h` and :math:`w_k = \psi(|u_k|)` the moments are
    :math:`\sum_k v_k b_k b_k'`, where v sums to one and is proportional to w (local constant) or to
    :math:`w_k (1 - c' (u_k - \bar u))`, the weights of the intercept of a local linear regression on u.
    The latter can be negative; a covariance that is then not positive definite has its eigenvalues
    raised to a small positive value.

    Attributes
    ----------
    b : ndarray of shape (n, q)
        [Z, 1].
    confounder : ndarray of shape (n, m)
    point : ndarray of shape (m,)
    kernel : Kernel
    bandwidth : ndarray of shape (m,)
    linear : bool
        Whether moments are local linear rather than local constant.
    """

    b: Array
    confounder: Array
    point: Array
    kernel: Kernel
    bandwidth: Array
    linear: bool

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.b)

    def fitted(self, index: Index | None = None) -> GramMatrices:
        """See :class:`plaggm.core.profile.profilers.Profiler`."""
        rows = np.arange(self.n) if index is None else index
        v = self.weights(rows)
        gram = (self.b[rows].T * v) @ self.b[rows]
        if self.linear:
            gram = positive_definite(gram)
        n = max(1, round(1.0 / np.sum(v**2)))
        return NodeGrams(gram[None], n, np.zeros(len(gram) - 1))

    def split(self, train: Index, test: Index) -> tuple[GramMatrices, GramMatrices]:
        """See :class:`plaggm.core.profile.profilers.Profiler`.

        Held-out rows are weighted by their kernel weight, relative to its mean over all rows, so that the
        mean over the folds is the weighted mean over the rows.
        """
        w = self._kernel_weights(np.arange(self.n))
        share = w[test] / (len(test) * w.mean())
        held_out = (self.b[test].T * share) @ self.b[test]
        return self.fitted(train), NodeGrams(held_out[None], len(test), np.zeros(len(held_out) - 1))

    def with_threads(self, n_threads: int) -> LocalProfiler:
        """See :class:`plaggm.core.profile.profilers.Profiler`; there is nothing to spread."""
        return self

    @property
    def is_thin(self) -> bool:
        """Whether there are too few effective samples around the point."""
        return _effective(self._kernel_weights(np.arange(self.n))) < FEWEST_SAMPLES

    def weights(self, rows: Index) -> Array:
        """The weights v of some rows, which sum to one: shape (k,)."""
        w = self._kernel_weights(rows)
        total = w.sum()
        effective = _effective(w)
        if effective < FEWEST_SAMPLES:
            raise ValueError(
                f"The window at confounder {in_figures(self.point)} with bandwidth "
                f"{in_figures(self.bandwidth)} holds {effective:.1f} effective samples; at least "
                f"{FEWEST_SAMPLES:.0f} are needed. Use a larger bandwidth, or shift the confounder so "
                "that zero means no confounding."
            )
        w = w / total
        if not self.linear:
            return w
        u = (self.confounder[rows] - self.point) / self.bandwidth
        mean = w @ u
        centred = u - mean
        spread = (centred.T * w) @ centred
        if np.linalg.det(spread) <= ONE_PLACE:
            raise ValueError(
                f"The samples near confounder {in_figures(self.point)} do not vary along it, so no local "
                "line can be fitted. Use local='constant' or a larger bandwidth."
            )
        return w * (1.0 - centred @ np.linalg.solve(spread, mean))

    def _kernel_weights(self, rows: Index) -> Array:
        u = scaled_differences(self.confounder[rows], self.point[None, :], self.bandwidth)
        return product_weights(self.kernel, u)[0]


def centre(node_grams: GramMatrices) -> tuple[NodeGrams, Array]:
    """Grams about the mean, in which the constant has its diagonal entry only, and the mean.

    Returns
    -------
    NodeGrams
        One matrix for all nodes.
    ndarray of shape (p,)
    """
    gram = node_grams.node(0)
    mean = gram[:-1, -1] / gram[-1, -1]
    out = np.zeros_like(gram)
    out[:-1, :-1] = gram[:-1, :-1] - np.outer(mean, gram[:-1, -1])
    out[-1, -1] = gram[-1, -1]
    # The mean counts as a degree of freedom, since intercepts of these Grams are zero.
    return NodeGrams(out[None], node_grams.n, node_grams.smoother_trace + 1.0), mean


def positive_definite(gram: Array) -> Array:
    """The Gram matrix of [Z, 1], with small eigenvalues of its covariance raised."""
    mean = gram[:-1, -1]
    values, vectors = np.linalg.eigh(gram[:-1, :-1] - np.outer(mean, mean))
    floor = SMALLEST_EIGENVALUE * values[-1]
    if values[0] >= floor:
        return gram
    out = gram.copy()
    out[:-1, :-1] = (vectors * np.maximum(values, floor)) @ vectors.T + np.outer(mean, mean)
    return out


def _effective(weights: Array) -> float:
    """Kish's effective number of samples."""
    total = weights.sum()
    return float(total**2 / np.sum(weights**2)) if total > 0.0 else 0.0
