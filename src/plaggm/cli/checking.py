"""Implementation of ``plaggm check``: read and check the table, print and write the findings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from plaggm.atomic_files import write_csv, write_file
from plaggm.checks import Finding, findings_frame, without_values
from plaggm.checks.findings import ordered
from plaggm.checks.numbers import numbers_of
from plaggm.cli.column_roles import Roles, choose_roles
from plaggm.cli.first_look import values_of
from plaggm.cli.settings import FitSettings
from plaggm.cli.time_order import in_time_order
from plaggm.cli.variable_families import variable_families
from plaggm.cli.variables import TableRoles, find_odd, place_of, read_frame
from plaggm.result_archive import library_versions
from plaggm.wording import counted

STYLES = {
    "refused": "bold red",
    "left out": "bold yellow",
    "warning": "bold magenta",
    "note": "dim",
}


@dataclass(frozen=True, slots=True)
class Look:
    """Findings about a table.

    Attributes
    ----------
    source : Path
    frame : DataFrame
        The table, in the order of time where there is one.
    roles : Roles
        Variables are those that a fit would have.
    findings : tuple of Finding
    """

    source: Path
    frame: pd.DataFrame
    roles: Roles
    findings: tuple[Finding, ...]


def look_at(settings: FitSettings) -> Look:
    """Read a table and check it for problems.

    Parameters
    ----------
    settings : FitSettings
    """
    source = Path(settings.data)
    frame = read_frame(settings, source)
    roles = choose_roles(list(frame.columns), settings, source)
    odd = find_odd(frame, roles, settings)
    gone = without_values(odd)
    variables = tuple(name for name in roles.variables if name not in gone)
    frame, series = in_time_order(frame, roles, settings, source)
    kept = Roles(variables, roles.confounders, roles.group, roles.run, roles.time)
    table = TableRoles(frame, kept, odd)
    families = variable_families(settings.family, numbers_of(frame, variables))
    found = values_of(table, settings, series, families)
    return Look(source, frame, kept, ordered((*odd, *found)))


def show(look: Look) -> None:
    """Print the findings as a table, and one line about all."""
    console = Console()
    rows, variables = len(look.frame), len(look.roles.variables)
    summary = f"{look.source}: {counted(rows, 'row')}, {counted(variables, 'variable')}"
    if look.roles.confounders:
        summary += f", {counted(len(look.roles.confounders), 'confounder')}"
    if look.findings:
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 1, 0))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for finding in look.findings:
            place = place_of(finding, look.frame, look.source)
            where = f" First in {place}." if place else ""
            said = Text(f"{finding.text}{where}\n", "bold" if finding.level != "note" else "")
            said.append(finding.action, "not bold")
            if finding.option:
                said.append(f"\nTo change that: {finding.option}.", "not bold dim")
            table.add_row(Text(finding.level, STYLES[finding.level]), said)
        console.print(table)
    counts = [
        counted(number, level) if level in ("warning", "note") else f"{number} {level}"
        for level in STYLES
        if (number := sum(finding.level == level for finding in look.findings))
    ]
    found = ", ".join(counts) if counts else "nothing to report"
    console.print(f"{summary}: {found}.", markup=False, highlight=False, soft_wrap=True)


def write(look: Look, path: Path) -> None:
    """Write the findings to a JSON or a CSV file; rows count from 1, without the names.

    Parameters
    ----------
    look : Look
    path : Path
    """
    found = findings_frame(look.findings)
    rows = [[int(look.frame.index[row]) + 1 for row in finding.rows] for finding in look.findings]
    if path.suffix.lower() == ".csv":
        found["rows"] = [" ".join(map(str, numbers)) for numbers in rows]
        write_csv(path, found, index=False)
        return
    content = {
        "table": str(look.source),
        "rows": len(look.frame),
        "variables": list(look.roles.variables),
        "confounders": list(look.roles.confounders),
        "findings": [
            {
                "level": finding.level,
                "kind": finding.kind,
                "columns": list(finding.columns),
                "rows": numbers,
                "size": None if pd.isna(finding.size) else finding.size,
                "finding": finding.text,
                "fit": finding.action,
                "option": finding.option,
            }
            for finding, numbers in zip(look.findings, rows, strict=True)
        ],
        "versions": library_versions(),
    }
    write_file(
        path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    )
