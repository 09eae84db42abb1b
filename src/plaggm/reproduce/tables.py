"""From records of cells to tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from plaggm.reproduce.plan import DESIGNS, ENTRANTS
from plaggm.reproduce.recovery import SCORES

COLUMNS = [
    "design", "p", "n", "entrant", "seeds", "failed", "auc", "auc_se", "best_path_auc", "f1",
    "precision", "recall", "frobenius_error", "edges", "true_edges", "reason",
]  # fmt: skip


def cell_table(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """One row for each cell."""
    frame = pd.DataFrame(list(records))
    frame["warnings"] = [" | ".join(told) for told in frame["warnings"]]
    # A table of failures alone has columns for scores all the same.
    missing = {name: np.nan for name in (*SCORES, "best_path_auc") if name not in frame}
    return frame.assign(**missing)


def summarise(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Means over the seeds, one row for each design, p and entrant.

    ``auc_se`` is the standard error of the mean over seeds; ``reason`` why cells are empty.

    Parameters
    ----------
    records : sequence of dict
        Records of finished cells.

    Returns
    -------
    DataFrame
    """
    frame = cell_table(records)
    rows = []
    for (design, p, entrant), part in frame.groupby(["design", "p", "entrant"], sort=False):
        scored = part["auc"].dropna()
        reasons = [reason for reason in part["reason"] if reason]
        rows.append(
            {
                "design": design,
                "p": p,
                "n": part["n"].iloc[0],
                "entrant": entrant,
                "seeds": len(part),
                "failed": len(reasons),
                "auc": scored.mean(),
                "auc_se": scored.std() / np.sqrt(len(scored)) if len(scored) > 1 else np.nan,
                "best_path_auc": part["best_path_auc"].mean(),
                "f1": part["f1"].mean(),
                "precision": part["precision"].mean(),
                "recall": part["recall"].mean(),
                "frobenius_error": part["frobenius_error"].mean(),
                "edges": part["n_edges"].mean(),
                "true_edges": part["n_true_edges"].mean(),
                "reason": reasons[0] if reasons else "",
            }
        )
    table = pd.DataFrame(rows, columns=COLUMNS)
    order = [
        table["design"].map(list(DESIGNS).index),
        table["p"],
        table["entrant"].map(list(ENTRANTS).index),
    ]
    return table.iloc[np.lexsort([key.to_numpy() for key in reversed(order)])].reset_index(
        drop=True
    )


def winners(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """For each design and p: the best PLA-GGM, the best related method, and their paired difference in AUC.

    Each is the entrant with the largest mean AUC among those with the most seeds, so both sides are
    flattered alike. The interval is 1.96 standard errors of the difference over seeds.

    Parameters
    ----------
    records : sequence of dict
        Records of finished cells.

    Returns
    -------
    DataFrame
        Columns design, p, ours, our_auc, related, related_auc, difference, low, high, seeds.
    """
    frame = cell_table(records)
    rows = []
    for (design, p), part in frame.groupby(["design", "p"], sort=False):
        auc = part.pivot_table(index="seed", columns="entrant", values="auc")
        mean, seeds = auc.mean(), auc.count()
        own = [name for name in mean.index if _is_ours(name)]
        other = [name for name in mean.index if not _is_ours(name)]
        if not own or not other:
            continue
        own, other = (
            [name for name in side if seeds[name] == seeds[side].max()] for side in (own, other)
        )
        ours, related = mean[own].idxmax(), mean[other].idxmax()
        difference = (auc[ours] - auc[related]).dropna()
        error = (
            1.96 * difference.std() / np.sqrt(len(difference)) if len(difference) > 1 else np.nan
        )
        rows.append(
            {
                "design": design,
                "p": p,
                "ours": ours,
                "our_auc": mean[ours],
                "related": related,
                "related_auc": mean[related],
                "difference": difference.mean(),
                "low": difference.mean() - error,
                "high": difference.mean() + error,
                "seeds": len(difference),
            }
        )
    columns = ["design", "p", "ours", "our_auc", "related", "related_auc"]
    table = pd.DataFrame(rows, columns=[*columns, "difference", "low", "high", "seeds"])
    return table.sort_values(["design", "p"], key=_ordered, kind="stable", ignore_index=True)


def _is_ours(entrant: str) -> bool:
    return ENTRANTS[entrant].method in ("spline", "paper", "kernel")


def _ordered(column: pd.Series) -> pd.Series:
    return column.map(list(DESIGNS).index) if column.name == "design" else column
