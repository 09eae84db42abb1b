"""The fused graphical lasso over ordered bins of the data."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array
from plaggm.core.fused_glasso import solve_fused_glasso
from plaggm.core.node_grams import GramMatrices
from plaggm.core.threads import single_threaded_blas
from plaggm.related.gaussian import (
    MISSING,
    covariances_of,
    gaussian_information,
    gaussian_loss,
    hopeless,
    moments_about,
    path_of_precisions,
)
from plaggm.selection.criteria import Criterion
from plaggm.selection.losses import LossPath


@dataclass(frozen=True, slots=True)
class FusedLoss:
    r"""The Gaussian likelihood of K ordered bins whose precision matrices are drawn together.

    .. math::
        \sum_k \{\operatorname{tr}(S_k P_k) - \log\det P_k\}
        + \alpha \sum_k \sum_{i \ne j} |P_{k,ij}|
        + \alpha\,\text{fusion} \sum_{k > 1} \sum_{i \ne j} |P_{k,ij} - P_{k-1,ij}|

    solved by :mod:`plaggm.core.fused_glasso`, with the result of one penalty as the start of the next.

    Attributes
    ----------
    fusion : float
        Penalty on differences between neighbours, as a multiple of that on the entries.
    tol : float
        Largest duality gap for each bin.
    max_iter : int
        Largest number of proximal steps at one penalty.
    """

    fusion: float
    tol: float
    max_iter: int

    def scale(self, grams: GramMatrices) -> Array:
        """See :class:`plaggm.selection.Loss`: ones."""
        return np.ones(grams.p)

    def largest_penalty(self, grams: Sequence[GramMatrices]) -> float:
        """See :class:`plaggm.selection.Loss`."""
        covariances = covariances_of(grams)
        off = ~np.eye(covariances.shape[1], dtype=bool)
        return emptying_penalty(covariances[:, off], self.fusion)

    def paths(
        self, grams: Sequence[GramMatrices], alphas: Array, *, n_threads: int | None = None
    ) -> list[LossPath]:
        """See :class:`plaggm.selection.Loss`; the solver has one thread."""
        with single_threaded_blas():
            precision, gaps, n_iter, failures = self._precisions(covariances_of(grams), alphas)
        return [
            path_of_precisions(precision[:, k], gaps, n_iter, dict(failures))
            for k in range(len(grams))
        ]

    def held_out(
        self,
        train: Sequence[GramMatrices],
        test: Sequence[GramMatrices],
        weights: Array,
        alphas: Array,
    ) -> Array:
        """See :class:`plaggm.selection.Loss`."""
        precision, _, _, _ = self._precisions(covariances_of(train), alphas)
        judged = [moments_about(*pair) for pair in zip(train, test, strict=True)]
        return np.array(
            [
                sum(
                    weight * gaussian_loss(moments, matrix, mass)
                    for weight, (moments, mass), matrix in zip(
                        weights, judged, matrices, strict=True
                    )
                )
                for matrices in precision
            ]
        )

    def information(
        self, grams: GramMatrices, path: LossPath, criterion: Criterion, gamma: float
    ) -> Array:
        """See :class:`plaggm.selection.Loss`."""
        return gaussian_information(grams, path, criterion, gamma)

    def quietly(self) -> AbstractContextManager[None]:
        """See :class:`plaggm.selection.Loss`: nothing is printed."""
        return nullcontext()

    def _precisions(
        self, covariances: Array, alphas: Array
    ) -> tuple[Array, Array, NDArray[np.int64], dict[int, str]]:
        """Precision matrices (n_alphas, K, p, p), duality gaps, iterations and reasons for failures."""
        precision = np.full((len(alphas), *covariances.shape), MISSING)
        gaps = np.full(len(alphas), MISSING)
        n_iter = np.zeros(len(alphas), np.int64)
        failures: dict[int, str] = {}
        start = None
        for step, alpha in enumerate(alphas):
            if hopeless(step, failures):
                failures[step] = "not tried, since larger penalties failed"
                continue
            found = solve_fused_glasso(
                covariances,
                float(alpha),
                self.fusion * float(alpha),
                start=start,
                tol=self.tol,
                max_iter=self.max_iter,
            )
            if not found.gap <= self.tol:
                failures[step] = (
                    f"no convergence after {found.n_iter} iterations, duality gap {found.gap:.3g}"
                )
                continue
            precision[step], gaps[step], n_iter[step] = found.precision, found.gap, found.n_iter
            start = found.precision
        return precision, gaps, n_iter, failures


def emptying_penalty(entries: Array, fusion: float) -> float:
    r"""The smallest penalty at which all entries of the fused graphical lasso are zero.

    Zero solves the problem of an entry with values :math:`s_1, ..., s_K` over the bins if and only if
    :math:`|\sum_{k \in I} s_k| \le \alpha (|I| + \text{fusion} \cdot e_I)` for every run I of neighbouring
    bins, with e the number of its ends inside 1, ..., K: the penalty of any x is the integral over its
    level sets, which are unions of such runs (coarea formula).

    Parameters
    ----------
    entries : ndarray of shape (K, ...)
    fusion : float

    Returns
    -------
    float

    Examples
    --------
    >>> emptying_penalty(np.array([[0.0], [0.75], [0.0]]), fusion=1.0)
    0.25
    """
    count = len(entries)
    total = np.concatenate([np.zeros((1, *entries.shape[1:])), np.cumsum(entries, axis=0)])
    largest = 0.0
    for first in range(count):
        for last in range(first + 1, count + 1):
            price = (last - first) + fusion * ((first > 0) + (last < count))
            largest = max(largest, float(np.abs(total[last] - total[first]).max()) / price)
    return largest
