"""Findings about columns that cannot be variables: ids, dates, row numbers, texts, constants, copies.

Columns that never change within a run of a time series, such as the age of a person, are among them: the
network is that of changes from row to row, and one filter for all columns would take them for persistence.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from plaggm.array_types import Array, Index
from plaggm.checks.column_kinds import ColumnKind, KindName, column_kind
from plaggm.checks.findings import Finding
from plaggm.core.preparation.dependence import (
    correlations,
    dependent_given,
    equal_pairs,
    find_dependence,
    find_total,
)
from plaggm.data import CONSTANT, LARGEST, column_numbers
from plaggm.wording import counted, listed

# Smallest number of complete rows from which copies are recognised.
FEWEST_COMPLETE = 3
# Smallest number of rows that follow another row of their run, from which columns are compared within runs.
FEWEST_REPEATS = 10
KEEP = "name it in --columns to keep it"
# Reasons to leave out columns of each kind, and options to change that.
LEFT_OUT: dict[KindName, tuple[str, str]] = {
    "id": ("names rows and measures nothing", KEEP),
    "row number": ("measures nothing", f"--time if rows are a time series; {KEEP}"),
    "date": ("is not a measure", "--time if rows are a time series"),
    "text": (
        "is not a number",
        "--confounder to adjust for it, or --group-by for one network for each of its levels",
    ),
    "constant": ("has nothing to do with any other column", ""),
    "empty": ("has nothing to do with any other column", ""),
}
REFUSED: dict[KindName, str] = {
    "written number": "write numbers alone, without units or thousands separators, or use --exclude",
    "mixed": "correct the cell; --na CELL if it stands for a missing value; or --exclude",
}
# Kinds of numbers that are used if their columns are named.
KEEPABLE = ("id", "row number")


def unusable_columns(
    frame: pd.DataFrame,
    variables: Sequence[str],
    confounders: Sequence[str] = (),
    named: Collection[str] = (),
    runs: Index | None = None,
) -> tuple[Finding, ...]:
    """Findings about columns that are left out or refused, and about suspicious ones requested by name.

    Parameters
    ----------
    frame : DataFrame
        Table as it was read.
    variables : sequence of str
        Columns that would be variables.
    confounders : sequence of str
    named : collection of str
        Variables that were requested by their names; such columns are not left out.
    runs : ndarray of int of shape (n,), optional
        Number of every row's run, -1 if unknown; without runs, columns are not compared within runs.
    """
    found, usable = [], []
    for name in variables:
        kind = column_kind(frame[name])
        finding = None
        if not kind.usable:
            finding = _about(name, kind, name in named)
        elif runs is not None:
            finding = _run_level(frame[name], runs, name in named)
        if finding is not None:
            found.append(finding)
        if finding is None or finding.level == "warning":
            usable.append(name)
    return (*found, *_copies(frame, usable, confounders, named))


def _about(name: str, kind: ColumnKind, named: bool) -> Finding:
    """Finding about a column that is not a measure."""
    text = f"{name!r} {kind.why}."
    if kind.name in REFUSED:
        return Finding("refused", kind.name, (name,), text, "Refused.", REFUSED[kind.name])
    reason, option = LEFT_OUT[kind.name]
    if not named:
        return Finding("left out", kind.name, (name,), text, f"Left out: it {reason}.", option)
    if kind.name in KEEPABLE:
        action = "Kept, since --columns names it."
        return Finding("warning", kind.name, (name,), text, action, f"--exclude {name}")
    return Finding("refused", kind.name, (name,), text, f"Refused: it {reason}.", "--exclude")


def _run_level(column: pd.Series, runs: Index, named: bool) -> Finding | None:
    """Finding about a column that is constant within every run; None for others."""
    values = column_numbers(column)
    known = np.isfinite(values) & (runs >= 0)
    by_run = pd.Series(values[known]).groupby(runs[known])
    count = by_run.ngroups
    if np.count_nonzero(known) - count < FEWEST_REPEATS:
        return None
    spread = by_run.max() - by_run.min()
    if spread.max() > CONSTANT * np.abs(values[known]).max():
        return None
    name = str(column.name)
    text = f"{name!r} never changes within a run."
    if named:
        action = f"Kept, since --columns names it; its edges rest on {counted(count, 'run')}."
        return Finding("warning", "run-level", (name,), text, action, f"--exclude {name}")
    action = "Left out: it tells nothing about changes within runs."
    option = f"--confounder to adjust for it; {KEEP}"
    return Finding("left out", "run-level", (name,), text, action, option)


def _copies(
    frame: pd.DataFrame,
    variables: Sequence[str],
    confounders: Sequence[str],
    named: Collection[str],
) -> list[Finding]:
    """Columns that are copies of confounders or of columns before them, and exact sums."""
    numeric = [name for name in confounders if column_kind(frame[name]).usable]
    names = [*numeric, *variables]
    if len(names) < 2:
        return []
    x = np.column_stack([column_numbers(frame[name]) for name in names])
    x = x[np.isfinite(x).all(axis=1)]
    varying = _varying(x)
    x, names = x[:, varying], [names[j] for j in varying]
    if len(x) < FEWEST_COMPLETE or len(names) < 2:
        return []
    correlation = correlations(x)
    found, gone = [], set()
    for j, k, _ in sorted(equal_pairs(correlation)):
        one, other = names[j], names[k]
        if other in gone or one in gone or other in numeric:
            continue
        found.append(
            _copy(one, other, one in numeric, bool(np.array_equal(x[:, j], x[:, k])), named)
        )
        gone.add(other)
    kept = [j for j, name in enumerate(names) if name not in gone and name not in numeric]
    found += _sum(x[:, kept], [names[j] for j in kept])
    given = [j for j, name in enumerate(names) if name in numeric]
    if kept and given and not any(one.kind == "sum" for one in found):
        found += _sum_given(x[:, kept], [names[j] for j in kept], x[:, given], numeric)
    return found


def _varying(x: Array) -> list[int]:
    """Indices of the columns that vary, so that correlations can be computed."""
    if not len(x):
        return []
    size = np.abs(x).max(axis=0)
    known = (size <= LARGEST) & (np.ptp(x, axis=0) > np.maximum(CONSTANT * size, 1.0 / LARGEST))
    return [int(j) for j in np.flatnonzero(known)]


def _copy(one: str, other: str, confounder: bool, equal: bool, named: Collection[str]) -> Finding:
    what = f"the confounder {one!r}" if confounder else repr(one)
    same = "equals" if equal else "is, but for unit and origin,"
    text = f"{other!r} {same} {what}."
    if other in named:
        option = f"--exclude {other}"
        return Finding(
            "refused", "copy", (other, one), text, "Refused: --columns names it.", option
        )
    action = (
        "Left out: a confounder is not a variable."
        if confounder
        else "Left out: it has the same information as the other."
    )
    option = "" if confounder else f"--exclude {one} to keep it instead"
    return Finding("left out", "copy", (other, one), text, action, option)


def _sum(x: Array, names: list[str]) -> list[Finding]:
    """A finding about linearly dependent columns, of which the user has to drop one."""
    if len(names) < 2:
        return []
    found = find_dependence(correlations(x), len(x))
    if found is None or not found.exact or not found.columns:
        return []
    involved = [names[j] for j in found.columns]
    total = find_total(x[:, list(found.columns)])
    if total is None:
        text = f"{listed(map(repr, involved))} are dependent: each follows exactly from the others."
        option = "--exclude one of them"
    else:
        parts = [name for k, name in enumerate(involved) if k != total]
        text = f"{involved[total]!r} is the sum of {listed(map(repr, parts))}, up to a constant."
        option = f"--exclude {involved[total]}, or one of the others"
    action = "Refused: partial correlations are not defined, and which to drop changes the network."
    return [Finding("refused", "sum", tuple(involved), text, action, option)]


def _sum_given(
    x: Array, names: list[str], confounder: Array, confounders: Sequence[str]
) -> list[Finding]:
    """A finding about columns that follow from others and the confounders together."""
    involved = dependent_given(correlations(x, confounder), len(x), len(names))
    if not involved:
        return []
    which = [names[j] for j in involved]
    text = (
        f"{listed(map(repr, which))} follow from each other given {listed(map(repr, confounders))}."
    )
    action = "Refused: partial correlations are not defined, and which to drop changes the network."
    return [Finding("refused", "sum", tuple(which), text, action, "--exclude one of them")]
