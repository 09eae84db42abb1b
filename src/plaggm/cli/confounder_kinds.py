"""The options about confounders: which are factors, and the reference of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plaggm.cli.column_roles import Roles, find_columns
from plaggm.cli.messages import InputError
from plaggm.cli.samples import Samples, numeric_columns
from plaggm.cli.settings import FitSettings
from plaggm.data.factors import encode, is_factor, level_name
from plaggm.wording import listed

# References that are words and not values or levels.
WORDS = ("auto", "zero", "average")


def factor_columns(
    frame: pd.DataFrame, roles: Roles, settings: FitSettings, source: Path
) -> tuple[str, ...]:
    """Confounders that are factors: those that hold text or truth values, and those that were declared.

    Parameters
    ----------
    frame : DataFrame
        Table as it was read.
    roles : Roles
    settings : FitSettings
    source : Path
        Path of the table, for messages.
    """
    declared = find_columns(settings.categorical, list(frame.columns), "--categorical", source)
    odd = [name for name in declared if name not in roles.confounders]
    if odd:
        raise InputError(
            f"--categorical names {odd[0]!r}, which is not a confounder. The confounders are "
            f"{listed(map(repr, roles.confounders))}."
        )
    return tuple(name for name in roles.confounders if name in declared or is_factor(frame[name]))


def numbers_of(
    frame: pd.DataFrame, roles: Roles, settings: FitSettings, source: Path
) -> tuple[Roles, pd.DataFrame]:
    """Column roles including factors, and all used columns as numbers, with level numbers for factors.

    Parameters
    ----------
    frame, roles, settings, source
        See :func:`factor_columns`.

    Returns
    -------
    roles : Roles
    numbers : DataFrame of float
        NaN where a value is missing.
    """
    factors = factor_columns(frame, roles, settings, source)
    numbers = numeric_columns(frame, [name for name in roles.used if name not in factors], source)
    try:
        codes = {name: encode(frame[name])[0] for name in factors}
    except ValueError as error:
        raise InputError(str(error)) from error
    return replace(roles, factors=factors), numbers.assign(**codes)[roles.used]


def with_levels(samples: Samples, frame: pd.DataFrame, factors: Iterable[str]) -> Samples:
    """Samples with the names of the levels of factors in place of their numbers."""
    rows = frame.loc[samples.confounder.index]
    names = {name: rows[name].map(level_name).astype(object) for name in factors}
    return replace(samples, confounder=samples.confounder.assign(**names))


def reference_of(settings: FitSettings, confounder: pd.DataFrame) -> Any:
    """The parameter ``reference`` of the estimators from ``--reference``.

    Each text is a reference for all confounders, or ``NAME=REFERENCE`` for one.

    Parameters
    ----------
    settings : FitSettings
    confounder : DataFrame
        Confounders of the samples; text for factors.

    Examples
    --------
    >>> age = pd.DataFrame({"age": [20.0, 50.0]})
    >>> reference_of(FitSettings(reference=("age=40",)), age)
    {'age': 40.0}
    """
    found: dict[str, Any] = {}
    for text in settings.reference:
        name = next((name for name in confounder if text.startswith(f"{name}=")), None)
        if name is not None:
            found[name] = _value(text[len(name) + 1 :], confounder[name])
            continue
        if len(settings.reference) > 1:
            raise InputError(
                f"--reference {text} names no confounder: with several references each is NAME=REFERENCE. "
                f"The confounders are {listed(map(repr, confounder))}."
            )
        if "=" in text:
            raise InputError(
                f"--reference {text}: {text.split('=')[0]!r} is not a confounder. The confounders are "
                f"{listed(map(repr, confounder))}."
            )
        return {column: _value(text, confounder[column]) for column in confounder}
    return found or "auto"


def _value(text: str, column: pd.Series) -> str | float:
    """A word, a level of a factor, or a number."""
    text = text.strip()
    if text in WORDS or not pd.api.types.is_numeric_dtype(column):
        return "auto" if text == "zero" and column.dtype == object else text
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise InputError(
            f"--reference {column.name}={text}: allowed are auto, zero, average and a number. If "
            f"{column.name!r} is a factor, declare it: --categorical {column.name}."
        )
    return value
