"""Findings about a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

Level: TypeAlias = Literal["refused", "left out", "warning", "note"]
# In the order of findings.
LEVELS: tuple[Level, ...] = ("refused", "left out", "warning", "note")


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding about a table.

    Attributes
    ----------
    level : {"refused", "left out", "warning", "note"}
        ``"refused"`` if a fit refuses the table, ``"left out"`` if it leaves out the columns, ``"warning"``
        if the result may be affected, ``"note"`` for information.
    kind : str
        Short name, such as ``"id"`` or ``"outlier"``.
    columns : tuple of str
        Names of the columns; empty if the finding is about rows.
    text : str
        The finding in a sentence.
    action : str
        How ``plaggm fit`` handles it, in a sentence.
    option : str
        Option that changes this; empty if there is none.
    rows : tuple of int
        The first few rows of the finding, counted from 0.
    size : float
        Size of the finding, such as standard deviations of an outlier, a correlation or a share; may be
        NaN.
    """

    level: Level
    kind: str
    columns: tuple[str, ...]
    text: str
    action: str
    option: str = ""
    rows: tuple[int, ...] = ()
    size: float = np.nan


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings sorted by their level."""
    return tuple(sorted(findings, key=lambda finding: LEVELS.index(finding.level)))


def findings_frame(findings: Iterable[Finding]) -> pd.DataFrame:
    """Findings as a table with one row for each."""
    return pd.DataFrame(
        [
            {
                "level": finding.level,
                "kind": finding.kind,
                "columns": ", ".join(finding.columns),
                "rows": ", ".join(map(str, finding.rows)),
                "size": finding.size,
                "finding": finding.text,
                "fit": finding.action,
                "option": finding.option,
            }
            for finding in findings
        ],
        columns=["level", "kind", "columns", "rows", "size", "finding", "fit", "option"],
    )
