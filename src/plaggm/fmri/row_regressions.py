"""A subject's regressions of every region on the others, from which node Gram matrices are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.grams.common_grams import CommonGrams
from plaggm.core.grams.node_grams import NodeGrams


@dataclass(frozen=True, slots=True)
class Rows:
    """Regressions of every node on the others, row by row.

    Attributes
    ----------
    columns : ndarray of shape (n, q)
        [Z, 1].
    response : ndarray of shape (n, p), optional
        Responses of the regressions; absent if they are Z itself.
    weights : ndarray of shape (n,), optional
        Mean one.
    effective : float, optional
        Volumes without motion that these are worth, less degrees of freedom spent; n when absent.
    """

    columns: Array
    response: Array | None = None
    weights: Array | None = None
    effective: float = np.nan

    def __post_init__(self) -> None:
        if np.isnan(self.effective):
            object.__setattr__(self, "effective", float(len(self.columns)))

    @classmethod
    def of_series(cls, z: Array, spent: float) -> Self:
        """Regressions of the columns of z (n, p), with an effective sample size of n - ``spent``."""
        return cls(np.column_stack([z, np.ones(len(z))]), effective=float(len(z) - spent))

    @property
    def n(self) -> int:
        """Volumes that are used."""
        return len(self.columns)

    def grams(self) -> NodeGrams | CommonGrams:
        """See :class:`SubjectProblem`."""
        return self._grams(np.arange(self.n))

    def split(
        self, train: Index, test: Index
    ) -> tuple[NodeGrams | CommonGrams, NodeGrams | CommonGrams]:
        """See :class:`SubjectProblem`."""
        return self._grams(train), self._grams(test)

    def _grams(self, rows: Index) -> NodeGrams | CommonGrams:
        b = self.columns[rows]
        n, p = len(b), b.shape[1] - 1
        weighted = b if self.weights is None else b * self.weights[rows, None]
        common = weighted.T @ b / n
        if self.response is None:
            return NodeGrams(np.ascontiguousarray(common[None]), n, np.zeros(p))
        y = self.response[rows]
        cross = y.T @ weighted / n
        own = np.mean((y if self.weights is None else y * self.weights[rows, None]) * y, axis=0)
        return CommonGrams(common, cross, own, n, np.zeros(p))
