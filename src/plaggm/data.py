"""Validation of tables and confounders: the one place where input is judged."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A column whose spread is below this part of its size is constant up to rounding.
CONSTANT = 1e-12
SHOWN = 5
# Distance of a correlation from one at which two confounders are the same.
SAME_CONFOUNDER = 1e-9
# Correlation from which two confounders are hard to tell apart.
CLOSE_CONFOUNDERS = 0.98
# Smallest eigenvalue of the correlations below which confounders are dependent, and part in it that counts.
DEPENDENT_CONFOUNDERS, INVOLVED = 1e-6, 0.05


@dataclass(frozen=True, slots=True)
class Confounder:
    """Validated confounders.

    Attributes
    ----------
    values : ndarray of shape (n, m)
    names : tuple of str
    """

    values: Array
    names: tuple[str, ...]


def in_figures(values: Array) -> str:
    """Numbers for a message, a comma between several.

    Examples
    --------
    >>> in_figures(np.array([0.57336000000001, 2.0]))
    '0.5734, 2'
    """
    return ", ".join(f"{value:.4g}" for value in values)


def variable_names(x: Any, p: int) -> tuple[str, ...]:
    """Column names of a DataFrame, or x0, x1, ... as scikit-learn names them."""
    if isinstance(x, pd.DataFrame):
        return tuple(str(name) for name in x.columns)
    return tuple(f"x{j}" for j in range(p))


def as_table(x: Any) -> tuple[Array, tuple[str, ...]]:
    """Validate a table on its own, outside an estimator: values (n, p) and names.

    Examples
    --------
    >>> as_table([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]])[1]
    ('x0', 'x1')
    """
    check_numeric_frame(x)
    try:
        values = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("X must hold numbers; text cannot be used.") from error
    if values.ndim != 2 or values.shape[0] < 3 or values.shape[1] < 2:
        raise ValueError(
            f"X must have at least three rows and two columns; got an array of shape {values.shape}."
        )
    names = variable_names(x, values.shape[1])
    check_finite(values, names, "X", of=x)
    check_columns(values, names)
    return values, names


def check_numeric_frame(x: Any, what: str = "X") -> None:
    """Raise for a DataFrame with columns that hold no numbers, or with repeated names."""
    if not isinstance(x, pd.DataFrame):
        return
    repeated = x.columns[x.columns.duplicated()].unique()
    if len(repeated):
        raise ValueError(
            f"{what} has repeated column names: {_listed(map(str, repeated))}. Every variable needs a "
            "name of its own; rename or drop the repeated columns."
        )
    bad = [str(name) for name in x.columns if not _holds_numbers(x[name])]
    if bad:
        raise ValueError(
            f"{what} has columns that are not numeric: {_listed(bad)}. Drop them or turn them into "
            "numbers."
        )


def _holds_numbers(column: pd.Series) -> bool:
    """Whether a column holds real numbers, or text that reads as such. Dates are none."""
    if pd.api.types.is_numeric_dtype(column):
        return not pd.api.types.is_complex_dtype(column)
    if not (pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column)):
        return False
    try:
        return not pd.api.types.is_complex_dtype(pd.to_numeric(column))
    except (ValueError, TypeError):
        return False


def check_finite(
    values: Array, names: tuple[str, ...], what: str, first_row: int = 0, *, of: Any = None
) -> None:
    """Raise for NaN or infinity, saying how many and where.

    Rows count from ``first_row``, and are named as well if ``of``, the table that the values come from,
    has row labels of its own.
    """
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    kind = "NaN" if np.isnan(values).any() else "infinity"
    rows, columns = np.nonzero(bad)
    labels = _row_labels(of)
    places = _listed(
        f"row {first_row + row}{'' if labels is None else f' ({labels[row]!r})'} of column "
        f"{names[column]!r}"
        for row, column in zip(rows, columns, strict=True)
    )
    raise ValueError(
        f"{what} contains {kind}: {len(rows)} value(s) in {len(np.unique(rows))} row(s) and "
        f"{len(np.unique(columns))} column(s), first {places}. Drop or impute these rows first."
    )


def _row_labels(table: Any) -> list[Any] | None:
    """Row labels of a frame or series, unless they only count the rows."""
    index = getattr(table, "index", None)
    if not isinstance(index, pd.Index) or index.equals(pd.RangeIndex(len(index))):
        return None
    return index.tolist()


def check_columns(x: Array, names: tuple[str, ...]) -> None:
    """Raise for constant columns and for columns that repeat another."""
    check_spread(x.min(axis=0), x.max(axis=0), names)
    seen: dict[bytes, int] = {}
    repeats = []
    for j, column in enumerate(np.ascontiguousarray(x.T)):
        first = seen.setdefault(column.tobytes(), j)
        if first != j:
            repeats.append((first, j))
    refuse_repeats(repeats, names)


def check_spread(low: Array, high: Array, names: tuple[str, ...]) -> None:
    """Raise for columns whose smallest and largest values say that they are constant."""
    constant = np.flatnonzero(high - low <= CONSTANT * np.maximum(np.abs(low), np.abs(high)))
    if constant.size:
        raise ValueError(
            f"X has constant columns: {_listed(repr(names[j]) for j in constant)}. A variable that "
            "does not vary has no place in a network; drop it."
        )


def refuse_repeats(repeats: list[tuple[int, int]], names: tuple[str, ...]) -> None:
    """Raise if there are pairs of equal columns."""
    if repeats:
        listed = _listed(f"{names[j]!r} equals {names[first]!r}" for first, j in repeats)
        raise ValueError(
            f"X has duplicate columns: {listed}. Their partial correlations are not defined; "
            "keep one of each."
        )


def join_confounders(parts: list[Any], rows: list[int]) -> Confounder:
    """Validate confounders that come in pieces, each with as many values as its chunk has rows.

    Parameters
    ----------
    parts : list of arrays, Series or DataFrames
    rows : list of int

    Returns
    -------
    Confounder
    """
    pieces = []
    names: tuple[str, ...] = ()
    for number, (part, n) in enumerate(zip(parts, rows, strict=True)):
        values, found = _confounder_values(part, None)
        names = names or found
        if found != names or len(values) != n:
            raise ValueError(
                f"confounder of chunk {number} has {len(values)} rows and the columns {_listed(found)}; "
                f"the chunk has {n} rows, and the first chunk's confounders are {_listed(names)}."
            )
        pieces.append(values)
    whole = pd.DataFrame(np.concatenate(pieces), columns=list(names))
    return as_confounder(whole, None, len(whole))


def as_confounder(confounder: Any, x: Any, n: int) -> Confounder:
    """Validate confounders against the table they belong to.

    Parameters
    ----------
    confounder : array of shape (n,) or (n, m), Series or DataFrame
    x : array or DataFrame
        The table, for its index.
    n : int
        Rows of the table.

    Returns
    -------
    Confounder

    Examples
    --------
    >>> import numpy as np
    >>> as_confounder(np.array([0.1, 0.5, 2.0]), None, 3).names
    ('confounder',)
    """
    values, names = _confounder_values(confounder, x)
    if len(values) != n:
        raise ValueError(
            f"confounder has {len(values)} rows but X has {n}. Pass one value for each row of X."
        )
    if values.shape[1] == 0:
        raise ValueError("confounder has no columns; pass confounder=None to fit without one.")
    check_finite(values, names, "confounder", of=confounder)
    constant = np.flatnonzero(np.ptp(values, axis=0) <= CONSTANT * np.abs(values).max(axis=0))
    if constant.size:
        raise ValueError(
            f"confounder {_listed(repr(names[k]) for k in constant)} is constant, so it cannot distort "
            "anything. Leave it out, or pass confounder=None to fit the plain model."
        )
    check_collinear(values, names)
    return Confounder(np.ascontiguousarray(values), names)


def check_collinear(values: Array, names: tuple[str, ...]) -> None:
    """Raise for confounders that repeat another, warn of those that are nearly dependent.

    Parameters
    ----------
    values : ndarray of shape (n, m)
        None constant.
    names : tuple of str

    Examples
    --------
    >>> g = np.array([0.1, 0.4, 2.0, 1.0])
    >>> check_collinear(np.column_stack([g, 2.0 * g]), ("mm", "half_mm"))
    Traceback (most recent call last):
    ...
    ValueError: confounders 'mm' and 'half_mm' have correlation 1: they are the same but for units...
    """
    if values.shape[1] < 2:
        return
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    correlation = standard.T @ standard / len(values)
    first, second = np.triu_indices(len(names), 1)
    pairs = correlation[first, second]
    strongest = int(np.argmax(np.abs(pairs)))
    one, other = names[first[strongest]], names[second[strongest]]
    if 1.0 - abs(pairs[strongest]) < SAME_CONFOUNDER:
        raise ValueError(
            f"confounders {one!r} and {other!r} have correlation {pairs[strongest]:.0f}: they are the same "
            "but for units and zero, and their effects cannot be told apart. Keep one of them."
        )
    if abs(pairs[strongest]) > CLOSE_CONFOUNDERS:
        warnings.warn(
            f"confounders {one!r} and {other!r} have correlation {pairs[strongest]:.4f}: the network "
            "without them is estimated as usual, but what each of them does can hardly be told apart. "
            "Keep one, or use their mean or first principal component.",
            stacklevel=4,
        )
        return
    sizes, vectors = np.linalg.eigh(correlation)
    if sizes[0] < DEPENDENT_CONFOUNDERS:
        involved = np.flatnonzero(np.abs(vectors[:, 0]) > INVOLVED)
        warnings.warn(
            f"confounders {_listed(repr(names[k]) for k in involved)} are linearly dependent: each "
            "follows from the others. The network without them is estimated as usual, but what each of "
            "them does cannot be told apart. Leave one of them out.",
            stacklevel=4,
        )


def new_confounder(confounder: Any, names: tuple[str, ...], x: Any, n: int) -> Array:
    """Confounders of new samples, matched by name to those of a fit.

    Returns
    -------
    ndarray of shape (n, m)
    """
    if confounder is None:
        raise ValueError(
            f"The model was fitted with confounder {_listed(names)}; pass the values of the new samples."
        )
    if isinstance(confounder, pd.DataFrame):
        missing = [name for name in names if name not in set(map(str, confounder.columns))]
        if missing and len(names) > 1:
            raise ValueError(
                f"confounder lacks the column(s) {_listed(missing)} of the fit; it has "
                f"{_listed(map(str, confounder.columns))}."
            )
        if not missing:
            confounder = confounder.rename(columns=str)[list(names)]
    values, _ = _confounder_values(confounder, x)
    if values.shape != (n, len(names)):
        raise ValueError(
            f"confounder must have one row for each of the {n} samples and the {len(names)} column(s) "
            f"of the fit ({_listed(names)}); got shape {values.shape}."
        )
    check_finite(values, names, "confounder", of=confounder)
    return values


def _confounder_values(confounder: Any, x: Any) -> tuple[Array, tuple[str, ...]]:
    """Values (n, m) and names of confounders, their row labels compared with those of the table."""
    if confounder is None:
        raise ValueError("confounder is missing: pass one value, or one row, for each row of X.")
    if isinstance(confounder, pd.Series):
        name = "confounder" if confounder.name is None else confounder.name
        confounder = confounder.to_frame(name)
    if isinstance(confounder, pd.DataFrame):
        check_numeric_frame(confounder, "confounder")
        same_length = isinstance(x, pd.DataFrame) and len(x) == len(confounder)
        if same_length and not x.index.equals(confounder.index):
            raise ValueError(
                "X and confounder have different row labels (index), so their rows may not belong "
                "together. Align them, for example confounder.loc[X.index], or pass "
                "confounder.to_numpy() if the order is right."
            )
        frame = confounder.apply(pd.to_numeric)
        names = tuple(str(name) for name in confounder.columns)
        return frame.to_numpy(dtype=np.float64, na_value=np.nan), names
    if isinstance(confounder, str):
        raise ValueError(
            f"confounder must hold values, one for each row, not the name of a column; got "
            f"{confounder!r}. Pass the column itself, for example data[{confounder!r}]."
        )
    try:
        values = np.asarray(confounder, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("confounder must be numeric; text cannot be used.") from error
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise ValueError(
            f"confounder must have shape (n,) or (n, m); got an array of shape {values.shape}."
        )
    m = values.shape[1]
    return values, ("confounder",) if m == 1 else tuple(f"confounder{k}" for k in range(m))


def as_positive(
    value: Any, name: str, confounder_names: tuple[str, ...], *, zero: bool = False
) -> Array:
    """A number, or one number for each confounder, checked to be positive.

    Returns
    -------
    ndarray of shape (m,)
    """
    m = len(confounder_names)
    try:
        values = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers; got {value!r}.") from error
    if values.shape == (1,):
        values = np.repeat(values, m)
    if values.shape != (m,):
        raise ValueError(
            f"{name} must be one number or one for each of the {m} confounders; got {value!r}."
        )
    if not np.all(np.isfinite(values) & ((values >= 0.0) if zero else (values > 0.0))):
        allowed = "zero or more" if zero else "greater than zero"
        raise ValueError(
            f"{name} must be finite and {allowed}, in the confounder's units; got {value!r}."
        )
    return values


def _listed(items: Any) -> str:
    items = list(items)
    more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return ", ".join(items[:SHOWN]) + more
