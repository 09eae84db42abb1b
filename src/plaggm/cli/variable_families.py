"""The option ``--family``: families named by the user, or inferred from the values by ``auto``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd

from plaggm.checks.column_kinds import column_kind
from plaggm.cli.messages import InputError, library_errors
from plaggm.cli.samples import place_of_row
from plaggm.data.column_families import check_family_values
from plaggm.parameter_types import FamilyChoice, FamilyName
from plaggm.wording import counted, listed

AUTO = "auto"
NAMES: tuple[FamilyName, ...] = get_args(FamilyName)
# Smallest share of rows at the largest value that makes a column of few whole numbers a bounded scale.
SCALE_END = 0.02
WORDS: dict[FamilyName, str] = {
    "gaussian": "numbers",
    "binomial": "binary",
    "poisson": "counts",
}


@dataclass(frozen=True, slots=True)
class Families:
    """Family of every variable.

    Attributes
    ----------
    by_name : dict of str to str
    lines : tuple of str
        Sentences on the families that ``auto`` inferred.
    """

    by_name: dict[str, FamilyName]
    lines: tuple[str, ...] = ()

    @property
    def setting(self) -> tuple[str, ...]:
        """The values of ``--family``: none, one family for all, or ``COL=FAMILY`` for some."""
        kinds = set(self.by_name.values())
        if kinds == {"gaussian"}:
            return ()
        if len(kinds) == 1:
            return tuple(kinds)
        named = self.by_name.items()
        return tuple(f"{name}={family}" for name, family in named if family != "gaussian")


def variable_families(
    given: Sequence[str], x: pd.DataFrame, source: Path | None = None
) -> Families:
    """The family of every variable from ``--family``.

    Parameters
    ----------
    given : sequence of str
        Families for all variables (the last one counts), ``auto``, or ``COL=FAMILY`` for one.
    x : DataFrame of float
        The variables.
    source : Path, optional
        Path of the table, for the line number of a row in messages.

    Examples
    --------
    >>> table = pd.DataFrame({"smokes": [0.0, 1.0, 1.0] * 20, "age": np.linspace(20, 70, 60)})
    >>> variable_families(["auto"], table).setting
    ('smokes=binomial',)
    """
    names = [str(name) for name in x]
    common = [text for text in given if "=" not in text]
    chosen: dict[str, FamilyName] = dict.fromkeys(names, "gaussian")
    lines: tuple[str, ...] = ()
    if len(set(common)) > 1:
        raise InputError(
            f"--family {' --family '.join(common)}: one family for all variables, or COL=FAMILY for some."
        )
    if common and common[0] == AUTO:
        chosen, lines = _inferred(x)
    elif common:
        chosen = dict.fromkeys(names, _known(common[0], common[0]))
    for text in given:
        if "=" in text:
            name, family = text.rsplit("=", 1)
            if name not in chosen:
                raise InputError(
                    f"--family {text}: {name!r} is not a variable of the network. The variables are "
                    f"{listed(map(repr, names))}."
                )
            chosen[name] = _known(family.strip(), text)
    with library_errors():
        check_family_values(
            x.to_numpy(dtype=np.float64),
            tuple(chosen.values()),
            tuple(names),
            '--family "{name}=gaussian"',
            lambda row: place_of_row(source, x.index[row]),
        )
    return Families(chosen, lines)


def family_choice(setting: Sequence[str]) -> FamilyChoice:
    """The parameter ``family`` of the estimators from what :attr:`Families.setting` has.

    Examples
    --------
    >>> family_choice(()), family_choice(("binomial",)), family_choice(("a=poisson",))
    ('gaussian', 'binomial', {'a': 'poisson'})
    """
    if not setting:
        return "gaussian"
    if len(setting) == 1 and "=" not in setting[0]:
        return _known(setting[0], setting[0])
    parts = (text.rsplit("=", 1) for text in setting)
    return {name: _known(family, family) for name, family in parts}


def positional(choice: FamilyChoice, names: Sequence[str]) -> FamilyChoice:
    """Families by position, for an array without names, whose columns are x0, x1 and so on."""
    if not isinstance(choice, Mapping):
        return choice
    return {f"x{j}": choice[name] for j, name in enumerate(names) if name in choice}


def guessed_family(column: pd.Series) -> tuple[FamilyName, str]:
    """The family inferred from a column's values, with a note if none fits.

    Parameters
    ----------
    column : Series of float

    Examples
    --------
    >>> guessed_family(pd.Series([0.0, 1.0, 1.0, 0.0]))[0]
    'binomial'
    """
    kind = column_kind(column).name
    values = column.dropna().to_numpy()
    if kind == "binary":
        if set(values) == {0.0, 1.0}:
            return "binomial", ""
        low, high = sorted(set(values))
        return (
            "gaussian",
            f"two values, {low:g} and {high:g}: recode as 0 and 1 to take it as binary",
        )
    if kind == "count":
        return "poisson", ""
    if kind == "ordinal":
        low, high = values.min(), values.max()
        skewed = values.std() > 0.5 * values.mean()
        if low == 0.0 and skewed and np.mean(values == high) < SCALE_END:
            return "poisson", ""
        return "gaussian", "few levels: numbers with equal steps"
    return "gaussian", ""


def _inferred(x: pd.DataFrame) -> tuple[dict[str, FamilyName], tuple[str, ...]]:
    guessed = {str(name): guessed_family(x[name]) for name in x}
    chosen = {name: family for name, (family, _) in guessed.items()}
    parts = []
    for family, word in WORDS.items():
        names = [name for name, found in chosen.items() if found == family]
        if names:
            many = counted(len(names), "variable")
            parts.append(f"{many} as {word} ({family}): {listed(map(repr, names))}")
    lines = [f"--family auto takes {'; '.join(parts)}."]
    odd: dict[str, list[str]] = {}
    for name, (_, why) in guessed.items():
        if why:
            odd.setdefault(why, []).append(name)
    for why, names in odd.items():
        more = (
            "; --margins rank without --family takes their order alone" if "levels" in why else ""
        )
        lines.append(f"Taken as numbers: {listed(map(repr, names))} ({why}{more}).")
    return chosen, tuple(lines)


def _known(family: str, text: str) -> FamilyName:
    if family not in NAMES:
        raise InputError(
            f"--family {text}: allowed are {', '.join(NAMES)} and {AUTO}, or COL=FAMILY for one variable."
        )
    return family
