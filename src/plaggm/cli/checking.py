"""Implementation of ``plaggm check``: read and check the table, print and write the findings."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, replace
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
from plaggm.cli.samples import labelled_rows
from plaggm.cli.settings import FitSettings
from plaggm.cli.table_notices import value_findings
from plaggm.cli.time_order import in_time_order
from plaggm.cli.variable_families import variable_families
from plaggm.cli.variables import TableRoles, column_findings, place_of, read_frame
from plaggm.result_archive import library_versions
from plaggm.wording import counted

STYLES = {
    "refused": "bold red",
    "left out": "bold yellow",
    "warning": "bold magenta",
    "note": "dim",
}


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """A table with the roles of its columns and the findings about it.

    Attributes
    ----------
    source : Path
    frame : DataFrame
        The table, sorted by time if there is a time column.
    roles : Roles
        Roles of the columns; variables are those that a fit would use.
    findings : tuple of Finding
    """

    source: Path
    frame: pd.DataFrame
    roles: Roles
    findings: tuple[Finding, ...]


def check_table(settings: FitSettings) -> CheckedTable:
    """Read a table and check it for problems.

    Parameters
    ----------
    settings : FitSettings
    """
    source = Path(settings.data)
    frame = read_frame(settings, source)
    roles = choose_roles(list(frame.columns), settings, source)
    of_columns = column_findings(frame, roles, settings)
    gone = without_values(of_columns)
    variables = tuple(name for name in roles.variables if name not in gone)
    labelled, note = labelled_rows(frame, roles, settings)
    if note:
        warnings.warn(note, stacklevel=2)
    frame, series = in_time_order(labelled, roles, settings, source)
    table = TableRoles(frame, replace(roles, variables=variables), of_columns)
    families = variable_families(settings.family, numbers_of(frame, variables), source)
    of_values = value_findings(table, settings, series, families)
    return CheckedTable(source, frame, table.roles, ordered((*of_columns, *of_values)))


def show(checked: CheckedTable) -> None:
    """Print the findings as a table, and a line with their number."""
    console = Console()
    rows, variables = len(checked.frame), len(checked.roles.variables)
    summary = f"{checked.source}: {counted(rows, 'row')}, {counted(variables, 'variable')}"
    if checked.roles.confounders:
        summary += f", {counted(len(checked.roles.confounders), 'confounder')}"
    if checked.findings:
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 1, 0))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for finding in checked.findings:
            place = place_of(finding, checked.frame, checked.source)
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
        if (number := sum(finding.level == level for finding in checked.findings))
    ]
    found = ", ".join(counts) if counts else "nothing to report"
    console.print(f"{summary}: {found}.", markup=False, highlight=False, soft_wrap=True)


def write(checked: CheckedTable, path: Path) -> None:
    """Write the findings to a JSON or a CSV file; rows are counted from 1, without the header.

    Parameters
    ----------
    checked : CheckedTable
    path : Path
    """
    found = findings_frame(checked.findings)
    rows = [
        [int(checked.frame.index[row]) + 1 for row in finding.rows] for finding in checked.findings
    ]
    if path.suffix.lower() == ".csv":
        found["rows"] = [" ".join(map(str, numbers)) for numbers in rows]
        write_csv(path, found, index=False)
        return
    content = {
        "table": str(checked.source),
        "rows": len(checked.frame),
        "variables": list(checked.roles.variables),
        "confounders": list(checked.roles.confounders),
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
            for finding, numbers in zip(checked.findings, rows, strict=True)
        ],
        "versions": library_versions(),
    }
    write_file(
        path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    )
