"""The family of every variable, with checks that its values belong to that family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

import numpy as np

from plaggm.array_types import Array
from plaggm.parameter_types import FamilyName
from plaggm.wording import listed, shown

ALLOWED: tuple[FamilyName, ...] = get_args(FamilyName)


def column_families(choice: object, names: tuple[str, ...]) -> tuple[FamilyName, ...]:
    """The family of every variable.

    Parameters
    ----------
    choice : str or mapping of str by variable
        One family for all variables, or the families of some; variables that are not named are Gaussian.
    names : tuple of str
        Names of the variables.

    Raises
    ------
    ValueError
        For unknown families or variables.

    Examples
    --------
    >>> column_families({"b": "binomial"}, ("a", "b"))
    ('gaussian', 'binomial')
    """
    if not isinstance(choice, Mapping):
        return (_known(choice, "family"),) * len(names)
    unknown = [name for name in choice if name not in names]
    if unknown:
        raise ValueError(
            f"family names {listed(map(shown, unknown))}, which is not a variable of the table. Variables "
            f"are {listed(map(repr, names))}."
        )
    return tuple(
        _known(choice.get(name, "gaussian"), f"The family of variable {name!r}") for name in names
    )


def _known(value: object, what: str) -> FamilyName:
    if not isinstance(value, str) or value not in ALLOWED:
        raise ValueError(f"{what} must be one of {listed(map(repr, ALLOWED))}; got {shown(value)}.")
    return value


def check_family_values(
    x: Array,
    families: tuple[FamilyName, ...],
    names: tuple[str, ...],
    remedy: str = "family={{{name!r}: 'gaussian'}}",
    place: Callable[[int], str] = "row {}".format,
) -> None:
    """Raise for the first value that is not allowed in its variable's family; missing cells are ignored.

    Parameters
    ----------
    x : ndarray of shape (n, p)
    families, names : tuple of str
    remedy : str
        Example of another choice of the family for the message, with ``name`` in braces.
    place : callable
        Words for a row, given its number counted from zero.
    """
    for column, family, name in zip(x.T, families, names, strict=True):
        if family == "binomial":
            wrong = ~np.isin(column, (0.0, 1.0))
            allowed = "0 or 1"
        elif family == "poisson":
            wrong = (column < 0.0) | (column != np.round(column))
            allowed = "whole numbers from 0 on"
        else:
            continue
        wrong &= ~np.isnan(column)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"Variable {name!r} is to be {family}, whose values are {allowed}; {place(row)} has "
                f"{column[row]:g}. Recode the variable, or give it another family, for example "
                f"{remedy.format(name=name)}."
            )
