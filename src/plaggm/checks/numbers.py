"""Variables and confounders of a table as numbers, for checks of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from plaggm.array_types import Index
from plaggm.data import LARGEST, Confounder, column_numbers


@dataclass(frozen=True, slots=True)
class Numbers:
    """Variables and confounders of a table as numbers.

    Attributes
    ----------
    variables : DataFrame of float of shape (n, p)
        NaN where missing.
    confounder : DataFrame of float of shape (n, m)
        Confounders that are numbers.
    runs : ndarray of int of shape (n,)
        Number of every row's time series.
    """

    variables: pd.DataFrame
    confounder: pd.DataFrame
    runs: Index

    @property
    def columns(self) -> pd.DataFrame:
        """Variables and confounders."""
        return pd.concat([self.variables, self.confounder], axis=1)

    def complete(self) -> Index:
        """Numbers of the rows in which nothing is missing."""
        return np.flatnonzero(np.isfinite(self.columns.to_numpy()).all(axis=1))

    def confounders_of(self, rows: Index) -> Confounder | None:
        """The confounders that vary among some rows, in which none may be missing; None if none varies."""
        values = self.confounder.to_numpy()[rows]
        varying = np.ptp(values, axis=0) > 0.0 if len(values) else np.zeros(0, dtype=bool)
        names = tuple(np.array(list(self.confounder), dtype=object)[varying])
        return Confounder(np.ascontiguousarray(values[:, varying]), names) if names else None


def numbers_of(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Columns as numbers; NaN for missing and infinite values and for text."""
    columns = {}
    for name in names:
        values = np.array(column_numbers(frame[name]))
        values[~(np.abs(values) <= LARGEST)] = np.nan
        columns[name] = values
    return pd.DataFrame(columns, index=frame.index)
