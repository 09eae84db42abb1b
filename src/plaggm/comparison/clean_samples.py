"""A model without confounder of the samples below the threshold, for any family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from plaggm.array_types import Array, Index
from plaggm.data import as_confounder
from plaggm.estimators import PLAGGMCV
from plaggm.parameter_types import Threshold
from plaggm.related.related_network import samples_below


@dataclass(slots=True)
class CleanSamples:
    """A model that is fitted to samples whose confounders are all within their thresholds.

    Attributes
    ----------
    model : PLAGGMCV
        Model without confounder.
    threshold : "auto", float or array of shape (m,)
        See :func:`plaggm.related.related_network.samples_below`.
    """

    model: PLAGGMCV
    threshold: Threshold

    def fit(
        self, X: pd.DataFrame, *, confounder: pd.DataFrame, groups: Index | None = None
    ) -> Self:
        """Fit the model to these samples."""
        x, names = X.to_numpy(), tuple(map(str, X))
        rows, _ = samples_below(x, names, as_confounder(confounder, X, len(X)), self.threshold)
        owners = None
        if groups is not None:
            owners = np.unique(groups[rows], return_inverse=True)[1]
        self.model.fit(X.iloc[rows], groups=owners)
        return self

    def score(self, X: pd.DataFrame, *, confounder: Any = None) -> float:
        """Mean log pseudo-likelihood of new samples, whatever their confounders."""
        return float(self.model.score(X))

    def inference(self) -> pd.DataFrame:
        """Tests of all pairs; see :meth:`plaggm.PLAGGMCV.inference`."""
        return self.model.inference()

    @property
    def omega_(self) -> Array:
        """The network."""
        return self.model.omega_

    @property
    def alphas_(self) -> Array:
        """Penalties of the path."""
        return self.model.alphas_

    @property
    def alpha_(self) -> float:
        """The chosen penalty."""
        return float(self.model.alpha_)
