"""Validation of confounders, and of parameters that have their units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from plaggm.array_types import Array
from plaggm.data.variables import (
    CONSTANT,
    LARGEST,
    as_floats,
    check_finite,
    check_numeric_frame,
    refuse_huge_integers,
)
from plaggm.user_warnings import warn_user
from plaggm.wording import listed, shown

ConfounderLike: TypeAlias = ArrayLike | pd.Series | pd.DataFrame

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


def join_confounders(parts: list[ConfounderLike], rows: list[int]) -> Confounder:
    """Validate confounders that come in chunks, each with as many values as its chunk has rows.

    Parameters
    ----------
    parts : list of arrays, Series or DataFrames
    rows : list of int

    Returns
    -------
    Confounder
    """
    values_of_chunks = []
    names: tuple[str, ...] | None = None
    for number, (part, n) in enumerate(zip(parts, rows, strict=True)):
        values, found = _confounder_values(part, None)
        names = found if names is None else names
        if found != names or len(values) != n:
            raise ValueError(
                f"confounder of chunk {number} has {len(values)} rows and the columns {listed(found)}; "
                f"the chunk has {n} rows, and the first chunk's confounders are {listed(names)}."
            )
        values_of_chunks.append(values)
    whole = pd.DataFrame(np.concatenate(values_of_chunks), columns=list(names or ()))
    return as_confounder(whole, None, len(whole))


def as_confounder(confounder: ConfounderLike, x: object, n: int | None) -> Confounder:
    """Validate confounders against the table they belong to.

    Parameters
    ----------
    confounder : array of shape (n,) or (n, m), Series or DataFrame
    x : array or DataFrame
        The table, for its index.
    n : int or None
        Rows of the table; None if there is no table yet.

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
    if n is None and not len(values):
        raise ValueError("confounder has no rows.")
    if n is not None and len(values) != n:
        raise ValueError(
            f"confounder has {len(values)} rows but X has {n}. Pass one value for each row of X."
        )
    if values.shape[1] == 0:
        raise ValueError("confounder has no columns; pass confounder=None to fit without one.")
    check_finite(values, names, "confounder", of=confounder)
    constant = np.flatnonzero(np.ptp(values, axis=0) <= CONSTANT * np.abs(values).max(axis=0))
    if constant.size:
        raise ValueError(
            f"confounder {listed(repr(names[k]) for k in constant)} is constant, so it cannot distort "
            "anything. Leave it out, or pass confounder=None to fit the plain model."
        )
    tiny = np.flatnonzero(np.ptp(values, axis=0) < 1.0 / LARGEST)
    if tiny.size:
        raise ValueError(
            f"confounder {listed(repr(names[k]) for k in tiny)} varies by less than {1.0 / LARGEST:g}. Use "
            "a smaller unit."
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
        warn_user(
            f"confounders {one!r} and {other!r} have correlation {pairs[strongest]:.4f}: the network "
            "without them is estimated as usual, but what each of them does can hardly be told apart. "
            "Keep one, or use their mean or first principal component.",
        )
        return
    sizes, vectors = np.linalg.eigh(correlation)
    if sizes[0] < DEPENDENT_CONFOUNDERS:
        involved = np.flatnonzero(np.abs(vectors[:, 0]) > INVOLVED)
        warn_user(
            f"confounders {listed(repr(names[k]) for k in involved)} are linearly dependent: each "
            "follows from the others. The network without them is estimated as usual, but what each of "
            "them does cannot be told apart. Leave one of them out.",
        )


def new_confounder(
    confounder: ConfounderLike | None, names: tuple[str, ...], x: object, n: int
) -> Array:
    """Confounders of new samples, matched by name to those of a fit.

    Returns
    -------
    ndarray of shape (n, m)
    """
    if confounder is None:
        raise ValueError(
            f"The model was fitted with confounder {listed(names)}; pass the values of the new samples."
        )
    if isinstance(confounder, pd.DataFrame):
        missing = [name for name in names if name not in set(map(str, confounder.columns))]
        if missing and len(names) > 1:
            raise ValueError(
                f"confounder lacks the column(s) {listed(missing)} of the fit; it has "
                f"{listed(map(str, confounder.columns))}."
            )
        if not missing:
            confounder = confounder.rename(columns=str)[list(names)]
    values, _ = _confounder_values(confounder, x)
    if values.shape != (n, len(names)):
        raise ValueError(
            f"confounder must have one row for each of the {n} samples and the {len(names)} column(s) "
            f"of the fit ({listed(names)}); got shape {values.shape}."
        )
    check_finite(values, names, "confounder", of=confounder)
    return values


def _confounder_values(confounder: ConfounderLike, x: object) -> tuple[Array, tuple[str, ...]]:
    """Values (n, m) and names of confounders, their row labels compared with those of the table."""
    if confounder is None:
        raise ValueError("confounder is missing: pass one value, or one row, for each row of X.")
    if isinstance(confounder, pd.Series):
        name = "confounder" if confounder.name is None else confounder.name
        confounder = confounder.to_frame(name)
    if isinstance(confounder, pd.DataFrame):
        check_numeric_frame(confounder, "confounder")
        if (
            isinstance(x, pd.DataFrame)
            and len(x) == len(confounder)
            and not x.index.equals(confounder.index)
        ):
            raise ValueError(
                "X and confounder have different row labels (index), so their rows may not belong "
                "together. Align them, for example confounder.loc[X.index], or pass "
                "confounder.to_numpy() if the order is right."
            )
        names = tuple(str(name) for name in confounder.columns)
        try:
            frame = confounder.apply(pd.to_numeric)
            return frame.to_numpy(dtype=np.float64, na_value=np.nan), names
        except OverflowError as error:
            refuse_huge_integers(confounder, "confounder", error)
    if isinstance(confounder, str):
        raise ValueError(
            f"confounder must hold values, one for each row, not the name of a column; got "
            f"{confounder!r}. Pass the column itself, for example data[{confounder!r}]."
        )
    values = as_floats(confounder, "confounder", _names)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise ValueError(
            f"confounder must have shape (n,) or (n, m); got an array of shape {values.shape}."
        )
    return values, _names(values.shape[1])


def _names(m: int) -> tuple[str, ...]:
    """Names of confounders that have none."""
    return ("confounder",) if m == 1 else tuple(f"confounder{k}" for k in range(m))


def as_positive(
    value: ArrayLike, name: str, confounder_names: tuple[str, ...], *, zero: bool = False
) -> Array:
    """A number, or one number for each confounder, checked to be positive.

    Returns
    -------
    ndarray of shape (m,)
    """
    m = len(confounder_names)
    try:
        values = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold numbers; got {shown(value)}.") from error
    if values.shape == (1,):
        values = np.repeat(values, m)
    if values.shape != (m,):
        raise ValueError(
            f"{name} must be one number or one for each of the {m} confounders; got {shown(value)}."
        )
    if not np.all(np.isfinite(values) & ((values >= 0.0) if zero else (values > 0.0))):
        allowed = "zero or more" if zero else "greater than zero"
        raise ValueError(
            f"{name} must be finite and {allowed}, in the confounder's units; got {shown(value)}."
        )
    if not np.all((values == 0.0) | ((values >= 1.0 / LARGEST) & (values <= LARGEST))):
        raise ValueError(
            f"{name} must be between {1.0 / LARGEST:g} and {LARGEST:g} in size; got {shown(value)}."
        )
    return values
