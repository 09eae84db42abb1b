"""Messages of ``plaggm fit`` about a table before the fit, and the findings stored in its result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from plaggm.checks import Finding, examine_values
from plaggm.cli.settings import FitSettings
from plaggm.cli.variable_families import Families
from plaggm.cli.variables import TableRoles, left_out_lines, one_line, place_of

# Warnings that are printed at most.
MOST = 5
# Findings that the library warns of by itself once the network is there.
TOLD_LATER = ("near copy", "near sum")
# Findings that a result knows by itself.
KNOWN = ("neighbouring rows", "few rows")


@dataclass(frozen=True, slots=True)
class Notices:
    """Findings of the first check.

    Attributes
    ----------
    lines : tuple of str
        Lines about the most serious findings.
    left_out : tuple of str
        Lines about columns that were left out, and what ``--family auto`` took the others for.
    cautions : tuple of str
        Sentences about values that undermine the network, for the result.
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
        Its rows in the order of time, where there is one.
    settings : FitSettings
    series : Series of int or None
        Number of every row's time series.
    source : Path
        Path of the table.
    families : Families, optional
        Families of the variables, where they are known.
    """
    found = values_of(table, settings, series, families)
    warned = [finding for finding in found if finding.level == "warning"]

    def line(finding: Finding) -> str:
        return one_line(finding, place_of(finding, table.frame, source))

    said = [line(finding) for finding in warned if finding.kind not in TOLD_LATER]
    more = len(said) - MOST
    if more > 0:
        said = [*said[:MOST], f"And {more} more: plaggm check {source}"]
    cautions = [line(finding) for finding in warned if finding.kind not in KNOWN]
    taken = () if families is None else families.lines
    return Notices(tuple(said), (*left_out_lines(table.odd), *taken), tuple(cautions[:MOST]))


def values_of(
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
