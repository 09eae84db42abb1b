"""The fused graphical lasso over ordered bins of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.grams.node_grams import GramMatrices
from plaggm.related.gaussian import GaussianLoss, covariances_of, gaussian_loss, moments_about
from plaggm.selection.losses import LossPath


@dataclass(frozen=True, slots=True)
class FusedLoss(GaussianLoss):
    r"""The Gaussian likelihood of K ordered bins with a fusion penalty on their precision matrices.

    .. math::
        \sum_k \{\operatorname{tr}(S_k P_k) - \log\det P_k\}
        + \alpha \sum_k \sum_{i \ne j} |P_{k,ij}|
        + \alpha\,\text{fusion} \sum_{k > 1} \sum_{i \ne j} |P_{k,ij} - P_{k-1,ij}|

    minimised by :mod:`plaggm.core.lasso.fused_glasso`, starting from the solution at the previous penalty.

    Attributes
    ----------
    tol : float
        Largest duality gap for each bin.
    max_iter : int
        Largest number of proximal steps at one penalty.
    fusion : float
        Penalty on differences between neighbouring bins, as a multiple of that on the entries.
    """

    fusion: float

    def largest_penalty(self, grams: Sequence[GramMatrices]) -> float:
        """See :class:`plaggm.selection.Loss`."""
        covariances = covariances_of(grams)
        off = ~np.eye(covariances.shape[1], dtype=bool)
        return emptying_penalty(covariances[:, off], self.fusion)

    def paths(
        self, grams: Sequence[GramMatrices], alphas: Array, *, n_threads: int | None = None
    ) -> list[LossPath]:
        """See :class:`plaggm.selection.Loss`; the solver has one thread."""
        found = self._path(grams, alphas, self.fusion)
        return [found.of_bin(k) for k in range(len(grams))]

    def held_out(
        self,
        train: Sequence[GramMatrices],
        test: Sequence[GramMatrices],
        weights: Array,
        alphas: Array,
        *,
        whole: bool,
    ) -> Array:
        """See :class:`plaggm.selection.Loss`."""
        precision = self._path(train, alphas, self.fusion).precision
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
