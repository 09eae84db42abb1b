"""Confounders that are factors: names and numbers of their levels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from plaggm.array_types import Array
from plaggm.data.variables import column_numbers
from plaggm.wording import listed, shown

# Names of the levels of a factor, None for a confounder that is a number.
Levels: TypeAlias = tuple[str, ...] | None

# Largest number of levels of a factor.
MOST_LEVELS = 100
# Share of a text column's values that are numbers, from which it is a column of numbers with errors.
MOSTLY_NUMBERS = 0.5


def inferred(column: pd.Series) -> pd.Series:
    """A column of Python objects in the type that holds them; as it is where none does.

    Examples
    --------
    >>> inferred(pd.Series([True, False], dtype=object)).dtype
    dtype('bool')
    >>> inferred(pd.Series([1.5, 10**400], dtype=object)).dtype
    dtype('O')
    """
    try:
        return column.infer_objects()
    except OverflowError:
        # pandas before 3, for integers that no float can hold.
        return column


def is_factor(column: pd.Series) -> bool:
    """Whether a column holds levels of a factor: text, Booleans or pandas categories.

    Examples
    --------
    >>> is_factor(pd.Series(["north", "south"])), is_factor(pd.Series(["1.5", "2"]))
    (True, False)
    """
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(kind):
        return True
    if not (pd.api.types.is_object_dtype(kind) or pd.api.types.is_string_dtype(kind)):
        return False
    given = column.dropna()
    if not len(given) or not all(isinstance(cell, str | bool | np.bool_) for cell in given):
        return False
    return bool(np.isfinite(column_numbers(given)).mean() < MOSTLY_NUMBERS)


def level_name(cell: Any) -> str:
    """The name of a level, the same for whole numbers of every type.

    Examples
    --------
    >>> level_name(3.0), level_name(3), level_name("site A")
    ('3', '3', 'site A')
    """
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell))
    if isinstance(cell, Real):
        number = float(cell)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(cell)


def encode(column: pd.Series, known: Levels = None) -> tuple[Array, tuple[str, ...]]:
    """Numbers of a factor's levels, in the natural order of their names or in that of pandas categories.

    Parameters
    ----------
    column : Series of shape (n,)
    known : tuple of str, optional
        Known levels; others get the number -1. By default those of the column.

    Returns
    -------
    codes : ndarray of shape (n,)
        NaN where the column is missing.
    levels : tuple of str
    """
    missing = column.isna().to_numpy()
    names = np.array([level_name(cell) for cell in column.astype(object)], dtype=object)
    if known is None:
        found = set(names[~missing].tolist())
        if isinstance(column.dtype, pd.CategoricalDtype):
            levels = tuple(name for name in map(level_name, column.cat.categories) if name in found)
        else:
            levels = tuple(sorted(found, key=_natural))
        if len(levels) > MOST_LEVELS:
            raise ValueError(
                f"confounder {str(column.name)!r} has {len(levels)} levels ({listed(levels, 3)}), more "
                f"than the {MOST_LEVELS} that a factor may have. If it holds numbers, turn it into a "
                "column of numbers; if it names subjects, pass it as groups; otherwise join levels."
            )
    else:
        levels = known
    number = {name: place for place, name in enumerate(levels)}
    codes = np.array([number.get(name, -1) for name in names], dtype=np.float64)
    codes[missing] = np.nan
    return codes, levels


def refuse_repeated_factors(
    values: Array, levels: tuple[Levels, ...], names: Sequence[str]
) -> None:
    """Raise for a confounder that divides the samples like a factor, or that indicates one of its levels.

    Parameters
    ----------
    values : ndarray of shape (n, m)
        Numbers, and numbers of levels for factors.
    levels : tuple of (tuple of str or None)
        Levels of every factor, None for numbers.
    names : sequence of str

    Examples
    --------
    >>> site = np.array([0.0, 1.0, 2.0, 2.0])
    >>> both = np.column_stack([site, site == 1.0])
    >>> refuse_repeated_factors(both, (("a", "b", "c"), None), ("site", "at_b"))
    Traceback (most recent call last):
    ...
    ValueError: confounder 'at_b' only says which samples have the level 'b' of 'site'...
    """
    for place, known in enumerate(levels):
        if known is None:
            continue
        for other in range(values.shape[1]):
            if other == place:
                continue
            pairs = np.unique(values[:, [place, other]], axis=0)
            present, each = np.unique(pairs[:, 1], return_counts=True)
            if len(pairs) > len(np.unique(pairs[:, 0])):
                continue
            if len(present) == len(pairs):
                raise ValueError(
                    f"confounders {names[place]!r} and {names[other]!r} divide the samples in the same "
                    "way, so that their effects cannot be told apart. Keep one of them."
                )
            if len(present) == 2 and each.min() == 1:
                level = known[int(pairs[pairs[:, 1] == present[int(np.argmin(each))], 0][0])]
                raise ValueError(
                    f"confounder {names[other]!r} only says which samples have the level {level!r} of "
                    f"{names[place]!r}, whose effect is part of that factor's. Leave it out."
                )


def indicators(values: Array, levels: tuple[Levels, ...]) -> Array:
    """Confounders with one column of zeros and ones for each level of a factor but the first.

    Parameters
    ----------
    values : ndarray of shape (n, m)
        Numbers, and numbers of levels for factors; see :func:`encode`.
    levels : tuple of (tuple of str or None)
        Levels of every factor, None for numbers; empty where none is a factor.

    Returns
    -------
    ndarray of shape (n, k)
    """
    columns = []
    for column, known in zip(values.T, levels or (None,) * values.shape[1], strict=True):
        columns += (
            [column]
            if known is None
            else [(column == code).astype(np.float64) for code in range(1, len(known))]
        )
    return np.column_stack(columns)


def indicator_names(names: tuple[str, ...], levels: tuple[Levels, ...]) -> tuple[str, ...]:
    """Names of the columns of :func:`indicators`."""
    found: list[str] = []
    for name, known in zip(names, levels or (None,) * len(names), strict=True):
        found += [name] if known is None else [f"{name}={level}" for level in known[1:]]
    return tuple(found)


def check_categorical(categorical: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the confounders that were declared as factors; raises ValueError for unknown names.

    Parameters
    ----------
    categorical : str, sequence of str or None
    names : tuple of str
        Names of all confounders.
    """
    declared: Sequence[Any] = ()
    if categorical is not None:
        declared = (categorical,) if isinstance(categorical, str) else tuple(categorical)
    unknown = [name for name in declared if name not in names]
    if unknown:
        raise ValueError(
            f"categorical names {shown(unknown[0])}, which is not a confounder. The confounders are "
            f"{listed(map(repr, names))}."
        )
    return tuple(declared)


def _natural(name: str) -> tuple[tuple[int, float, str], ...]:
    """Sorting key by which "site 2" comes before "site 10"."""
    pieces = re.split(r"(\d+)", name)
    return tuple((0, float(one), "") if one.isdecimal() else (1, 0.0, one) for one in pieces if one)
