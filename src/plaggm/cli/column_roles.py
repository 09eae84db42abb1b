"""Roles of a table's columns: variables, confounders, group, run and time, found by name or pattern."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pandas as pd

from plaggm.array_types import Index
from plaggm.cli.messages import InputError
from plaggm.cli.settings import FitSettings
from plaggm.tables import ROW_LABELS
from plaggm.wording import listed

FEWEST_VARIABLES = 2


@dataclass(frozen=True, slots=True)
class Roles:
    """Names of columns by their use.

    Attributes
    ----------
    variables, confounders : tuple of str
    group, run, time : str or None
        Columns with the group, the run and the time of each row.
    factors : tuple of str
        Confounders that are factors.
    """

    variables: tuple[str, ...]
    confounders: tuple[str, ...]
    group: str | None
    run: str | None = None
    time: str | None = None
    factors: tuple[str, ...] = ()

    @property
    def used(self) -> list[str]:
        """Variables and confounders."""
        return [*self.variables, *self.confounders]


def choose_roles(columns: Sequence[str], settings: FitSettings, source: Path) -> Roles:
    """Find the columns that the settings name.

    Parameters
    ----------
    columns : sequence of str
        Names of the table's columns.
    settings : FitSettings
    source : Path
        Path of the table, for messages.

    Returns
    -------
    Roles
    """
    confounders = find_columns(settings.confounder, columns, "--confounder", source)
    group = one_column(settings.group_by, columns, "--group-by", source)
    run = one_column(settings.run, columns, "--run", source)
    time = one_column(settings.time, columns, "--time", source)
    special = [name for name in (group, run, time) if name is not None]
    excluded = set(find_columns(settings.exclude, columns, "--exclude", source))
    if settings.columns:
        wanted = find_columns(settings.columns, columns, "--columns", source)
    else:
        wanted = [name for name in columns if name != ROW_LABELS]
    # A pattern may well match the confounder too; a name is meant.
    named = named_columns(settings.columns, columns)
    both = [name for name in (*confounders, *special) if name in named]
    excluded |= {*confounders, *special}
    if both:
        raise InputError(
            f"{listed(map(repr, both))} cannot be a variable of the network and its confounder, "
            "group, run or time at once."
        )
    variables = [name for name in wanted if name not in excluded]
    if group in confounders:
        raise InputError(f"{group!r} cannot be the confounder and the group at once.")
    if len(variables) < FEWEST_VARIABLES:
        raise InputError(
            f"A network needs at least {FEWEST_VARIABLES} variables; {len(variables)} of the columns "
            f"of {source} are left."
        )
    return Roles(tuple(variables), tuple(confounders), group, run, time)


def named_columns(wanted: Iterable[str], columns: Sequence[str]) -> set[str]:
    """The columns that are named in full, not by a pattern."""
    parts = {part.strip() for text in wanted for part in (text, *text.split(","))}
    return {name for name in columns if name in parts}


def one_column(wanted: str | None, columns: Sequence[str], option: str, source: Path) -> str | None:
    """The column that an option names; None without it."""
    if wanted is None:
        return None
    name, *more = find_columns((wanted,), columns, option, source)
    if more:
        raise InputError(f"{option} takes one column; {wanted!r} names several.")
    return name


def run_numbers(frame: pd.DataFrame, roles: Roles) -> Index:
    """Number of every row's run, within its group if there are groups; -1 if run or group is missing."""
    owner, known = np.zeros(len(frame), dtype=np.intp), np.ones(len(frame), dtype=bool)
    for name in (roles.group, roles.run):
        if name is not None:
            numbers = pd.factorize(frame[name])[0]
            owner = owner * (int(numbers.max(initial=0)) + 1) + numbers
            known &= numbers >= 0
    return np.where(known, pd.factorize(owner)[0], -1)


def find_columns(
    wanted: Iterable[str], columns: Sequence[str], option: str, source: Path
) -> list[str]:
    """The columns that names, lists with commas or patterns such as ``roi_*`` stand for.

    Examples
    --------
    >>> find_columns(
    ...     ["roi_*", "fd,age"], ["age", "roi_1", "fd", "roi_2"], "--columns", Path("a.csv")
    ... )
    ['roi_1', 'roi_2', 'fd', 'age']
    """
    found: list[str] = []
    for text in wanted:
        parts = [text] if text in columns else [part.strip() for part in text.split(",")]
        for part in parts:
            if part in columns:
                found.append(part)
                continue
            matches = [name for name in columns if fnmatchcase(name, part)]
            if not matches:
                raise InputError(_unknown(part, columns, option, source))
            found += matches
    return list(dict.fromkeys(found))


def _unknown(name: str, columns: Sequence[str], option: str, source: Path) -> str:
    folded = {column.casefold(): column for column in reversed(columns)}
    near = get_close_matches(name.casefold(), folded, 3)
    if near:
        hint = f"Did you mean {listed(repr(folded[word]) for word in near)}?"
    else:
        hint = f"It has {listed(map(repr, columns))}."
    return f"{source} has no column {name!r} ({option}). {hint}"
