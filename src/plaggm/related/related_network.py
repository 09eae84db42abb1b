"""Base class of all related methods."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plaggm.array_types import Array, Index
from plaggm.data import (
    Confounder,
    ConfounderLike,
    TableLike,
    as_positive,
    check_columns,
    in_figures,
    new_confounder,
)
from plaggm.data.factors import Levels, indicators
from plaggm.estimators.columns import Columns
from plaggm.estimators.design import quantile_threshold
from plaggm.estimators.network_methods import NetworkMethods, graph_result, replace_fit
from plaggm.parameter_types import Threshold
from plaggm.result import GraphResult

# Samples below the threshold for each column of [Z, 1] that threshold="auto" requires.
SAMPLES_PER_VARIABLE = 3


class RelatedNetwork(NetworkMethods):
    """Base class of all related methods, which implement ``fit``."""

    confounder_names_: tuple[str, ...]
    _variables: Columns
    _levels: tuple[Levels, ...]
    _samples: tuple[int, int]
    verbose: int

    def _fit_anew(self, estimate: Callable[[Self], None]) -> Self:
        """Fit a copy by ``estimate`` and take over its attributes, unless an error occurs."""
        fresh = copy(self)
        replace_fit(fresh, {})
        estimate(fresh)
        replace_fit(self, fresh.__dict__)
        return self

    def _new_values(self, X: TableLike, n: int, confounder: ConfounderLike | None) -> Array:
        """Confounders of new samples, with indicator columns for factors: shape (n, k)."""
        if self.confounder_names_:
            names, levels = self.confounder_names_, self._levels
            return indicators(new_confounder(confounder, names, X, n, levels), levels)
        if confounder is not None:
            raise ValueError("The model was fitted without confounder; score takes none either.")
        return np.zeros((n, 0))

    def _diagnostics(self) -> dict[str, object]:
        """Diagnostics of the result beyond those that every method has."""
        return {}

    def to_result(self) -> GraphResult:
        """The fit as a :class:`plaggm.GraphResult`, which can be saved and read again."""
        check_is_fitted(self)
        return graph_result(self, self._samples, self._diagnostics())

    def _say(self, message: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {message}")


def samples_below(
    x: Array,
    names: tuple[str, ...],
    confounder: Confounder,
    threshold: Threshold,
    fewest: int | None = None,
) -> tuple[Index, Array]:
    """Samples whose confounders are all within their thresholds, and these thresholds.

    Parameters
    ----------
    x : ndarray of shape (n, p)
    names : tuple of str
        Names of the variables.
    confounder : Confounder
    threshold : "auto", float or array of shape (m,)
        ``"auto"`` is the smallest quantile of the absolute confounder (from 10 % up) with three samples for
        each variable.
    fewest : int, optional
        Smallest number of samples; by default the number of variables.

    Returns
    -------
    rows : ndarray of int
    limits : ndarray of shape (m,)

    Raises
    ------
    ValueError
        If there are too few such samples, or columns that cannot be fitted.
    """
    n, p = x.shape
    if isinstance(threshold, str):
        limits = quantile_threshold(confounder, p + 1, SAMPLES_PER_VARIABLE)
    else:
        limits = as_positive(threshold, "threshold", confounder.names, zero=True)
    rows = np.flatnonzero(np.all(np.abs(confounder.values) <= limits, axis=1))
    needed = max(p, 3) if fewest is None else fewest
    if len(rows) < needed:
        wanted = f"the {p} variables" if fewest is None else f"min_samples={needed}"
        remedy = "" if fewest is None else "lower min_samples, "
        raise ValueError(
            f"Only {len(rows)} of {n} samples are free of confounding (threshold {in_figures(limits)}), "
            f"fewer than {wanted}. Use a larger threshold, {remedy}or take PLAGGM, which learns from all "
            "samples."
        )
    try:
        check_columns(x[rows], names)
    except ValueError as error:
        raise ValueError(f"Among the {len(rows)} unconfounded samples: {error}") from error
    return rows, limits
