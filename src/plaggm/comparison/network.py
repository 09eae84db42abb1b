"""Results of a fit that a comparison stores."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from plaggm.array_types import Array, Mask


@dataclass(frozen=True, slots=True)
class Network:
    """Stored results of a fit.

    Attributes
    ----------
    omega : ndarray of shape (p, p)
    alpha : float
    tests : DataFrame or None
        Tests of all pairs as returned by the estimators' ``inference``; None if the penalty declares the
        edges.
    fdr : float
        False discovery rate of declared edges.
    score : float
        Held-out log pseudo-likelihood; NaN for a fit to all samples or if it could not be computed.
    score_reason : str
        Reason why it could not be computed.
    """

    omega: Array = field(repr=False)
    alpha: float
    tests: pd.DataFrame | None = field(default=None, repr=False)
    fdr: float = 0.05
    score: float = float("nan")
    score_reason: str = ""

    @property
    def strength(self) -> Array:
        """Partial correlations of the edges, zero for other pairs j < k: shape (p (p - 1) / 2,)."""
        if self.tests is not None:
            declared = self.tests["q_value"] <= self.fdr
            return self.tests["estimate"].where(declared, 0.0).to_numpy()
        return np.clip(self.omega[np.triu_indices(len(self.omega), 1)], -1.0, 1.0)

    @property
    def edges(self) -> Mask:
        """Which pairs j < k are edges: shape (p (p - 1) / 2,)."""
        return self.strength != 0.0
