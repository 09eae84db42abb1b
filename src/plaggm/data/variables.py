"""Validation of the table of variables, and checks shared with other inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from plaggm.array_types import Array, Mask
from plaggm.core.preparation.column_ranges import column_ranges
from plaggm.core.preparation.dependence import correlations
from plaggm.data.dependent_columns import check_dependence
from plaggm.wording import listed, shown

TableLike: TypeAlias = ArrayLike | pd.DataFrame

# Spread of a column, as a share of its size, up to which it is constant up to rounding.
CONSTANT = 1e-12
# Largest absolute value, whose inverse is the smallest range of a column, so that squares and products of
# two numbers stay within double precision.
LARGEST = 1e100
# Rows by which columns are compared first.
FIRST_ROWS = 1000
# Kinds of arrays that are refused although NumPy may convert them into numbers.
OTHER_KINDS = {
    "c": "complex numbers",
    "M": "dates",
    "m": "spans of time",
    "V": "records; pass their fields as columns, for example pandas.DataFrame(records)",
}


def in_figures(values: Array) -> str:
    """Numbers for a message, separated by commas.

    Examples
    --------
    >>> in_figures(np.array([0.57336000000001, 2.0]))
    '0.5734, 2'
    """
    return ", ".join(f"{value:.4g}" for value in values)


def variable_names(x: object, p: int) -> tuple[str, ...]:
    """Column names of a DataFrame, or x0, x1, ... as scikit-learn names them."""
    if isinstance(x, pd.DataFrame):
        return tuple(str(name) for name in x.columns)
    return tuple(f"x{j}" for j in range(p))


def as_table(x: TableLike) -> tuple[Array, tuple[str, ...]]:
    """Validated values (n, p) and names of a table, outside an estimator.

    Examples
    --------
    >>> as_table([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]])[1]
    ('x0', 'x1')
    """
    check_numeric_frame(x)
    values = as_floats(x, "X")
    if values.ndim != 2 or values.shape[0] < 3 or values.shape[1] < 2:
        raise ValueError(
            f"X must have at least three rows and two columns; got an array of shape {values.shape}."
        )
    names = variable_names(x, values.shape[1])
    check_finite(values, names, "X", of=x)
    check_columns(values, names)
    check_dependence(correlations(values), len(values), names)
    return values, names


def as_floats(
    values: Any, what: str, names: Callable[[int], tuple[str, ...]] | None = None
) -> Array:
    """An array-like of numbers as an array of double precision.

    ``names`` returns names of so many columns, for messages; by default x0, x1, ...
    """
    try:
        given = np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"{what} must have rows of the same length; got {shown(values)}."
        ) from error
    if given.dtype.kind in OTHER_KINDS:
        raise ValueError(f"{what} must hold real numbers; got {OTHER_KINDS[given.dtype.kind]}.")
    try:
        return np.asarray(given, dtype=np.float64)
    except OverflowError as error:
        refuse_huge_integers(values, what, error, names)
    except ValueError as error:
        raise ValueError(f"{what} must be numeric; text cannot be used.") from error
    except TypeError as error:
        # The message that scikit-learn's checks of estimators expect.
        raise TypeError(
            f"{what} must be numeric: an argument must be a number, or a string that reads as a number."
        ) from error


def refuse_huge_integers(
    values: Any,
    what: str,
    error: OverflowError,
    names: Callable[[int], tuple[str, ...]] | None = None,
) -> NoReturn:
    """Raise for integers that are too large for floating-point numbers, with their places."""
    table = np.asarray(values, dtype=object)
    table = table.reshape(len(table), -1) if table.ndim else table.reshape(1, 1)
    huge = np.array(
        [[isinstance(cell, int) and abs(cell) > LARGEST for cell in row] for row in table]
    )
    p = table.shape[1]
    named = variable_names(values, p) if names is None else names(p)
    raise ValueError(_beyond(huge, named, what, 0, values)) from error


def check_numeric_frame(x: object, what: str = "X") -> None:
    """Raise for a DataFrame with columns that do not hold numbers, or with repeated names."""
    if not isinstance(x, pd.DataFrame):
        return
    refuse_repeated_names(x, what)
    bad = [str(name) for name in x.columns if not _holds_numbers(x[name])]
    if bad:
        raise ValueError(
            f"{what} has columns that are not numeric: {listed(bad)}. Drop them or turn them into "
            "numbers."
        )


def refuse_repeated_names(x: pd.DataFrame, what: str) -> None:
    """Raise for a DataFrame in which two columns have the same name."""
    repeated = x.columns[x.columns.duplicated()].unique()
    if len(repeated):
        raise ValueError(
            f"{what} has repeated column names: {listed(map(str, repeated))}. Every variable needs a "
            "name of its own; rename or drop the repeated columns."
        )


def _holds_numbers(column: pd.Series) -> bool:
    """Whether a column holds real numbers, or text that represents them; dates are not numbers."""
    if getattr(column.dtype, "kind", "O") in "Mm":
        return False
    if pd.api.types.is_numeric_dtype(column):
        return not pd.api.types.is_complex_dtype(column)
    return not np.any(np.isnan(column_numbers(column)) & ~column.isna().to_numpy())


def column_numbers(column: pd.Series) -> Array:
    """A column as floats: NaN for cells that are missing or not numbers, infinity for numbers too large.

    Text that represents a number is converted; dates and complex numbers become NaN.

    Examples
    --------
    >>> column_numbers(pd.Series(["1.5", "n.d.", None, 10**400], dtype=object))
    array([1.5, nan, nan, inf])
    """
    kind = pd.api.types
    if kind.is_numeric_dtype(column) and not kind.is_complex_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if kind.is_object_dtype(column) or kind.is_string_dtype(column):
        try:
            numbers = pd.to_numeric(column, errors="coerce")
        except OverflowError:
            numbers = column.map(_number)
        if not kind.is_complex_dtype(numbers):
            return numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.full(len(column), np.nan)


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:
        return np.inf if cell > 0 else -np.inf
    except (TypeError, ValueError):
        return np.nan


def check_finite(
    values: Array, names: tuple[str, ...], what: str, first_row: int = 0, *, of: Any = None
) -> None:
    """Raise for NaN, infinity and numbers too large to be squared, with their number and places.

    Rows are counted from ``first_row``. Messages also contain the row labels of ``of``, the table that the
    values come from, unless they only count the rows.
    """
    bad = ~np.isfinite(values)
    if bad.any():
        kind = "NaN" if np.isnan(values).any() else "infinity"
        raise ValueError(
            f"{what} contains {kind}: {_places(bad, names, first_row, of)}. Drop or impute these rows "
            "first."
        )
    large = np.abs(values) > LARGEST
    if large.any():
        raise ValueError(_beyond(large, names, what, first_row, of))


def _beyond(large: Mask, names: tuple[str, ...], what: str, first_row: int, of: Any) -> str:
    return (
        f"{what} contains numbers beyond {LARGEST:g}: {_places(large, names, first_row, of)}. Correct "
        "them, drop these rows, or use a larger unit."
    )


def _places(bad: Mask, names: tuple[str, ...], first_row: int, of: Any) -> str:
    """Number of bad cells and places of the first, for a message."""
    rows, columns = np.nonzero(bad)
    labels = _row_labels(of)
    places = listed(
        f"row {first_row + row}{'' if labels is None else f' ({labels[row]!r})'} of column "
        f"{names[column]!r}"
        for row, column in zip(rows, columns, strict=True)
    )
    return (
        f"{len(rows)} value(s) in {len(np.unique(rows))} row(s) and {len(np.unique(columns))} "
        f"column(s), first {places}"
    )


def _row_labels(table: Any) -> list[Any] | None:
    """Row labels of a DataFrame or Series; None if they only count the rows."""
    index = getattr(table, "index", None)
    if not isinstance(index, pd.Index) or index.equals(pd.RangeIndex(len(index))):
        return None
    return index.tolist()


def check_columns(x: Array, names: tuple[str, ...]) -> None:
    """Raise for constant columns and for columns that repeat another."""
    check_spread(*column_ranges(x), names)
    # Only columns that agree in the first rows are compared in all rows.
    alike: dict[bytes, list[int]] = {}
    repeats = []
    for j, head in enumerate(np.ascontiguousarray(x[:FIRST_ROWS].T)):
        known = alike.setdefault(head.tobytes(), [])
        first = next((k for k in known if np.array_equal(x[:, k], x[:, j])), None)
        if first is None:
            known.append(j)
        else:
            repeats.append((first, j))
    if repeats:
        equal = listed(f"{names[j]!r} equals {names[first]!r}" for first, j in repeats)
        raise ValueError(
            f"X has duplicate columns: {equal}. Their partial correlations are not defined; "
            "keep one of each."
        )


def check_spread(low: Array, high: Array, names: tuple[str, ...]) -> None:
    """Raise for columns that are constant up to rounding, given their smallest and largest values."""
    constant = np.flatnonzero(high - low <= CONSTANT * np.maximum(np.abs(low), np.abs(high)))
    if constant.size:
        raise ValueError(
            f"X has constant columns: {listed(repr(names[j]) for j in constant)}. A variable that "
            "does not vary has no place in a network; drop it."
        )
    tiny = np.flatnonzero(high - low < 1.0 / LARGEST)
    if tiny.size:
        raise ValueError(
            f"X has columns that vary by less than {1.0 / LARGEST:g}: "
            f"{listed(repr(names[j]) for j in tiny)}. Use a smaller unit for them."
        )
