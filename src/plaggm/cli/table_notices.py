"""Messages about a table before it is fitted, and the findings that are stored in the result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from plaggm.checks import Finding, examine_values
from plaggm.cli.settings import FitSettings
from plaggm.cli.variable_families import Families
from plaggm.cli.variables import TableRoles, left_out_lines, one_line, place_of

# Largest number of warnings that are printed.
MOST = 5
# Kinds of findings that are not printed, since the estimator warns about them.
WARNED_BY_FIT = ("near copy", "near sum")
# Kinds of findings that are not stored, since the diagnostics of a result contain them.
IN_DIAGNOSTICS = ("neighbouring rows", "few rows")


@dataclass(frozen=True, slots=True)
class Notices:
    """Findings of the check before the fit, as text.

    Attributes
    ----------
    lines : tuple of str
        Lines about the most serious findings.
    left_out : tuple of str
        Lines about columns that were left out, and about the families that ``--family auto`` inferred.
    cautions : tuple of str
        Sentences about values that may affect the network, stored in the result.
    """

    lines: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()


def notices(
    table: TableRoles,
    settings: FitSettings,
    series: pd.Series | None,
    source: Path,
    families: Families | None = None,
) -> Notices:
    """Check a table and format the findings as lines.

    Parameters
    ----------
    table : TableRoles
        Rows are in the order of time if there is a time column.
    settings : FitSettings
    series : Series of int or None
        Number of every row's time series.
    source : Path
        Path of the table.
    families : Families, optional
        Families of the variables; all Gaussian if absent.
    """
    found = value_findings(table, settings, series, families)
    warned = [finding for finding in found if finding.level == "warning"]

    def line(finding: Finding) -> str:
        return one_line(finding, place_of(finding, table.frame, source))

    said = [line(finding) for finding in warned if finding.kind not in WARNED_BY_FIT]
    more = len(said) - MOST
    if more > 0:
        said = [*said[:MOST], f"And {more} more: plaggm check {source}"]
    cautions = [line(finding) for finding in warned if finding.kind not in IN_DIAGNOSTICS]
    taken = () if families is None else families.lines
    return Notices(tuple(said), (*left_out_lines(table.findings), *taken), tuple(cautions[:MOST]))


def value_findings(
    table: TableRoles,
    settings: FitSettings,
    series: pd.Series | None,
    families: Families | None = None,
) -> tuple[Finding, ...]:
    """Findings about the values of the remaining variables."""
    runs = None if series is None else series.to_numpy()
    if runs is None and table.roles.group is not None:
        runs = np.asarray(pd.factorize(table.frame[table.roles.group])[0])
    return examine_values(
        table.frame,
        table.roles.variables,
        table.roles.confounders,
        runs=runs,
        missing=settings.missing,
        robust=settings.robust is not None,
        ranks=settings.margins == "rank",
        families={} if families is None else families.by_name,
        series=settings.series is not None,
    )
