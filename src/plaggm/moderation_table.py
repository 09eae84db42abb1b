"""Tests of which pairs of variables change with which confounder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from plaggm.array_types import Array, Index

# False discovery rate at which edges are declared to change, for results without one.
USUAL_RATE = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class ModerationTable:
    """A test of every pair of p variables against every one of m confounders.

    All arrays have shape (m, P) with P = p (p - 1) / 2: confounders in their order, pairs j < k row
    after row.

    Attributes
    ----------
    statistic : ndarray
        Quadratic form of the pair's score over its expectation if the pair does not change.
    degrees_of_freedom : ndarray
        Degrees of freedom of the approximating chi-square distribution; zero, with a p-value of one, if the
        model has no function of the confounder.
    p_value : ndarray
    q_value : ndarray
        Smallest false discovery rate at which Benjamini and Hochberg's rule, over the pairs of one
        confounder, declares that the pair changes.
    largest_change : ndarray
        Estimated difference of the partial correlation from the baseline network where it is largest, among
        values of the confounder that more than the outermost rows reach.
    largest_at : ndarray
        Value of the confounder at which it is.

    Examples
    --------
    >>> one = np.array([[0.01]])
    >>> table = ModerationTable(one, one, one, one, one, one)
    >>> table.changing(0, 0.05)
    array([0])
    """

    statistic: Array
    degrees_of_freedom: Array
    p_value: Array
    q_value: Array
    largest_change: Array
    largest_at: Array

    def __post_init__(self) -> None:
        shape = self.statistic.shape
        for name, array in self.arrays().items():
            if array.ndim != 2 or array.shape != shape:
                raise ValueError(f"{name} must have shape {shape}; got {array.shape}.")

    def arrays(self) -> dict[str, Array]:
        """The arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def frame(
        self,
        names: tuple[str, ...],
        confounders: tuple[str, ...],
        levels: Mapping[str, tuple[str, ...]] | None = None,
    ) -> pd.DataFrame:
        """One row for each confounder and pair: source, target, confounder and the arrays.

        Parameters
        ----------
        names : tuple of p str
        confounders : tuple of m str
        levels : mapping of str to tuple of str, optional
            Names of the levels of the factors among them, for the column largest_at.

        Returns
        -------
        DataFrame
            Confounder after confounder, pairs in their order.
        """
        j, k = np.triu_indices(len(names), 1)
        labels = np.array(names, dtype=object)
        m = len(confounders)
        columns: dict[str, Any] = {
            "source": np.tile(labels[j], m),
            "target": np.tile(labels[k], m),
            "confounder": np.repeat(np.array(confounders, dtype=object), len(j)),
            **{name: array.ravel() for name, array in self.arrays().items()},
        }
        if levels:
            columns["largest_at"] = [
                levels[name][int(value)] if name in levels else value
                for name, value in zip(columns["confounder"], columns["largest_at"], strict=True)
            ]
        return pd.DataFrame(columns)

    def changing(self, confounder: int, fdr: float) -> Index:
        """Pairs that change with a confounder at a false discovery rate, smallest p-value first."""
        order = np.lexsort((-self.statistic[confounder], self.p_value[confounder]))
        return np.asarray(order[self.q_value[confounder][order] <= fdr])
