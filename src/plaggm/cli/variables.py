"""Choice of the variables: the requested columns, without those that are not measures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from plaggm.checks import Finding, unusable_columns
from plaggm.cli.column_roles import (
    FEWEST_VARIABLES,
    Roles,
    choose_roles,
    named_columns,
    run_numbers,
)
from plaggm.cli.messages import InputError
from plaggm.cli.samples import place_of_row
from plaggm.cli.settings import FitSettings
from plaggm.data import column_numbers
from plaggm.tables import read_table
from plaggm.wording import listed, shown


@dataclass(frozen=True, slots=True)
class TableRoles:
    """A table with the roles of its columns.

    Attributes
    ----------
    frame : DataFrame
        Values as they were read; codes for missing values are missing.
    roles : Roles
        Roles of the columns; variables are those that were not left out.
    findings : tuple of Finding
        Findings about columns that were left out, and about suspicious ones that are kept.
    """

    frame: pd.DataFrame
    roles: Roles
    findings: tuple[Finding, ...]


def read_frame(settings: FitSettings, source: Path) -> pd.DataFrame:
    """Read a table and replace codes for missing values by missing values."""
    return without_codes(read_table(source, sheet=settings.sheet), settings.na, source)


def table_roles(frame: pd.DataFrame, settings: FitSettings, source: Path) -> TableRoles:
    """Choose the columns of a table, and leave out those that are not measures.

    Parameters
    ----------
    frame : DataFrame
    settings : FitSettings
    source : Path
        Path of the table, for messages.
    """
    roles = choose_roles(list(frame.columns), settings, source)
    findings = column_findings(frame, roles, settings)
    gone = [finding.columns[0] for finding in findings if finding.level == "left out"]
    for finding in findings:
        if finding.level == "refused" and finding.kind in ("sum", "copy"):
            raise InputError(f"{source}: {one_line(finding)}")
    variables = tuple(name for name in roles.variables if name not in gone)
    if len(variables) < FEWEST_VARIABLES:
        reasons = "; ".join(
            finding.text.rstrip(".") for finding in findings if finding.level == "left out"
        )
        raise InputError(
            f"A network needs at least {FEWEST_VARIABLES} variables; {len(variables)} of the columns of "
            f"{source} are left: {reasons}."
        )
    return TableRoles(frame, replace(roles, variables=variables), findings)


def column_findings(
    frame: pd.DataFrame, roles: Roles, settings: FitSettings
) -> tuple[Finding, ...]:
    """Findings about columns that are not measures."""
    named = named_columns(settings.columns, list(frame.columns))
    runs = None if roles.run is None else run_numbers(frame, roles)
    return unusable_columns(frame, roles.variables, roles.confounders, named, runs)


def without_codes(frame: pd.DataFrame, codes: Sequence[str], source: Path) -> pd.DataFrame:
    """The table with missing values for cells that are one of some codes.

    Parameters
    ----------
    frame : DataFrame
    codes : sequence of str
        Text of cells, or numbers.
    source : Path
        Path of the table, for messages.
    """
    if not codes:
        return frame
    numbers = column_numbers(pd.Series(list(codes), dtype=object))
    cleaned, used = frame.copy(), set()
    for name in frame.columns:
        column = frame[name]
        values = column_numbers(column)
        hits = [
            (values == number) | (column.astype(str) == code).to_numpy()
            for code, number in zip(codes, numbers, strict=True)
        ]
        used |= {code for code, hit in zip(codes, hits, strict=True) if hit.any()}
        coded = pd.concat([pd.Series(hit, index=frame.index) for hit in hits], axis=1).any(axis=1)
        if coded.any():
            cleaned[name] = column.mask(coded)
    absent = [code for code in codes if code not in used]
    if absent:
        raise InputError(f"{source} has no cell {listed(map(shown, absent))} (--na).")
    return cleaned


def left_out_lines(findings: Iterable[Finding]) -> list[str]:
    """One line for each kind of columns that were left out, or kept although they are suspicious."""
    kinds: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if finding.level in ("left out", "warning"):
            kinds.setdefault((finding.level, finding.kind), []).append(finding)
    lines = []
    for (level, kind), found in kinds.items():
        if len(found) == 1:
            lines.append(one_line(found[0]))
            continue
        if level == "warning":
            given = f"--exclude {','.join(finding.columns[0] for finding in found)}"
        else:
            given = found[0].option if kind != "copy" else ""
        option = f" To change that: {given}." if given else ""
        names = listed(" of ".join(map(repr, finding.columns)) for finding in found)
        verb = "Left out" if level == "left out" else "Kept, since --columns names them"
        what = "copies" if kind == "copy" else f"{kind} columns"
        lines.append(f"{verb}: {len(found)} {what}, {names}.{option}")
    return lines


def one_line(finding: Finding, place: str = "") -> str:
    """A finding with its consequence and the option that changes it."""
    option = f" To change that: {finding.option}." if finding.option else ""
    where = f" First in {place}." if place else ""
    return f"{finding.text}{where} {finding.action}{option}"


def place_of(finding: Finding, frame: pd.DataFrame, source: Path) -> str:
    """The first row of a finding, counted from one; empty for findings not about rows."""
    if not finding.rows:
        return ""
    return place_of_row(source, frame.index[finding.rows[0]])
