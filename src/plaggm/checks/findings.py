"""A finding about a table: what and where it is, how a fit handles it, and the option to change that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

Level: TypeAlias = Literal["refused", "left out", "warning", "note"]
# In the order in which they are told.
LEVELS: tuple[Level, ...] = ("refused", "left out", "warning", "note")


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding about a table.

    Attributes
    ----------
    level : {"refused", "left out", "warning", "note"}
        Whether a fit refuses the table, leaves the columns out, or goes on though the result may suffer; a
        note only says how the columns are taken.
    kind : str
        Short name, such as ``"id"`` or ``"outlier"``.
    columns : tuple of str
        Names of the columns it is about; empty where it is about rows.
    text : str
        The finding in a sentence.
    action : str
        How ``plaggm fit`` handles it, in a sentence.
    option : str
        The option that changes that; empty if there is none.
    rows : tuple of int
        Rows it is about, the first being 0; at most the first few.
    size : float
        Its size: standard deviations of an outlier, a correlation, a share; NaN where there is none.
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
    """Findings by their level, those of one level as they came."""
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
