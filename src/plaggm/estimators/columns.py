"""Names and number of a table's variables, taken from the first rows and compared with later ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import validate_data

from plaggm.array_types import Array, Labels
from plaggm.core.preparation.dependence import correlations
from plaggm.data import (
    Confounder,
    ConfounderLike,
    TableLike,
    as_confounder,
    as_floats,
    check_columns,
    check_dependence,
    check_dependence_given,
    check_finite,
    check_numeric_frame,
    refuse_confounder_among,
    refuse_huge_integers,
    variable_names,
)

# Smallest numbers of rows and columns of a table.
FEWEST_ROWS, FEWEST_COLUMNS = 3, 2
# Kinds of arrays that may hold something other than numbers: objects, text, bytes, records, dates.
UNREADABLE_KINDS = "OUSVMm"


@dataclass(frozen=True, slots=True)
class Columns:
    """Names and number of the variables.

    Attributes
    ----------
    owner : type
        Class of the estimator, for scikit-learn's messages.
    names : tuple of str
    feature_names : ndarray of str or None
        The attribute ``feature_names_in_``; None for arrays.
    """

    owner: type
    names: tuple[str, ...]
    feature_names: Labels | None

    @property
    def attributes(self) -> dict[str, object]:
        """Fitted attributes ``n_features_in_`` and, for DataFrames, ``feature_names_in_``."""
        names = {} if self.feature_names is None else {"feature_names_in_": self.feature_names}
        return {"n_features_in_": len(self.names), **names}

    def values(self, X: TableLike, first_row: int = 0, *, missing: bool = False) -> Array:
        """Values of rows of the same table: shape (n, p).

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
        first_row : int
            Number of the first row in the whole table, for messages.
        missing : bool
            Whether cells may be missing (NaN).
        """
        known: Any = object.__new__(self.owner)
        for name, value in self.attributes.items():
            setattr(known, name, value)
        return _validated(known, X, first_row, reset=False, missing=missing)


def read_columns(
    owner: type, X: TableLike, *, fewest: int = FEWEST_ROWS, missing: bool = False
) -> tuple[Array, Columns]:
    """Validated values of the first rows of a table, and its columns.

    Parameters
    ----------
    owner : type
        Class of the estimator.
    X : array or DataFrame of shape (n, p)
    fewest : int
        Smallest number of rows.
    missing : bool
        Whether cells may be missing (NaN).

    Returns
    -------
    x : ndarray of shape (n, p)
    columns : Columns
    """
    blank: Any = object.__new__(owner)
    x = _validated(blank, X, 0, reset=True, fewest=fewest, missing=missing)
    names = variable_names(X, x.shape[1])
    return x, Columns(owner, names, getattr(blank, "feature_names_in_", None))


def read_samples(
    owner: type,
    X: TableLike,
    confounder: ConfounderLike | None,
    *,
    categorical: object = None,
    ridge: float | None = None,
    conditional: bool = False,
) -> tuple[Array, Columns, Confounder | None]:
    """Validated rows in memory and their validated confounders.

    Parameters
    ----------
    owner : type
        Class of the estimator.
    X : array or DataFrame of shape (n, p)
    confounder : array, Series or DataFrame of shape (n,) or (n, m), or None
    categorical : str, sequence of str or None
        Confounders to be treated as factors although they hold numbers.
    ridge : float, optional
        Ridge of the kernel smoother; if positive, exactly dependent columns are only warned of.
    conditional : bool
        Whether variables must not determine each other given the confounders either.

    Returns
    -------
    x : ndarray of shape (n, p)
    columns : Columns
    confounder : Confounder or None
    """
    x, columns = read_columns(owner, X)
    check_columns(x, columns.names)
    n, p = x.shape
    if confounder is None:
        check_dependence(correlations(x), n, columns.names, ridge=ridge)
        return x, columns, None
    checked = as_confounder(confounder, X, n, categorical)
    numbers = [k for k, factor in enumerate(checked.factors) if not factor]
    together = correlations(x, checked.values[:, numbers])
    check_dependence(together[:p, :p], n, columns.names, ridge=ridge)
    given = tuple(checked.names[k] for k in numbers)
    refuse_confounder_among(together[:p, p:], columns.names, given)
    if conditional:
        check_dependence_given(together, n, columns.names, given, ridge=ridge)
    return x, columns, checked


def _validated(
    known: Any,
    X: TableLike,
    first_row: int,
    *,
    reset: bool,
    fewest: int = 1,
    missing: bool = False,
) -> Array:
    check_numeric_frame(X)
    if isinstance(X, pd.DataFrame):
        if any(kind.kind == "O" for kind in X.dtypes):
            X = X.apply(_as_numbers)
    elif getattr(getattr(X, "dtype", None), "kind", "O") in UNREADABLE_KINDS:
        # Raises clearer errors than those that scikit-learn passes on from NumPy.
        as_floats(X, "X")
    try:
        x = validate_data(
            known,
            X,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite=False,
            ensure_min_samples=fewest,
            ensure_min_features=FEWEST_COLUMNS if reset else 1,
        )
    except OverflowError as error:
        refuse_huge_integers(X, "X", error)
    present = np.where(np.isnan(x), 0.0, x) if missing else x
    check_finite(present, variable_names(X, x.shape[1]), "X", first_row, of=X)
    return np.asarray(x)


def _as_numbers(column: pd.Series) -> pd.Series:
    """A column as numbers, NaN where missing; unchanged if it holds integers that are too large."""
    try:
        return pd.to_numeric(column)
    except OverflowError:
        return column
