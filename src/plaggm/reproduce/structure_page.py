"""The page of the experiment on exact structures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from plaggm.report.sections import Page, Picture, Section, text_table
from plaggm.reproduce.pages import failures
from plaggm.reproduce.sparsistency import (
    CONSTANTS,
    DEVELOPMENT,
    FOUND,
    SIMULATION,
    SMALL_CONSTANTS,
    STRUCTURE_METHODS,
    StructurePlan,
    first_found,
    structure_table,
)


def structure_page(
    records: Sequence[dict[str, Any]], plan: StructurePlan, *, figure: Path, source: str
) -> Page:
    """The page with the design and the results.

    Parameters
    ----------
    records : sequence of dict
        Records of :func:`plaggm.reproduce.sparsistency.run_structure_cell`.
    plan : StructurePlan
    figure : Path
        The picture.
    source : str
        Where its numbers come from, see :func:`plaggm.reproduce.provenance.made_by`.

    Returns
    -------
    Page
    """
    table = structure_table(records)
    found = first_found(table)
    summary = text_table(
        ["method", "c", *[f"p = {p}" for p in found.columns], "incoherence"],
        [
            [
                STRUCTURE_METHODS[str(method)].title,
                f"{table.loc[table['method'] == method, 'constant'].iloc[0]:.3g}",
                *["–" if pd.isna(row[p]) else f"{row[p]:g}" for p in found.columns],
                _norm(table.loc[table["method"] == method, "incoherence"]),
            ]
            for method, row in found.iterrows()
        ],
    )
    sections = [
        Section("", pictures=(Picture(figure, "Exact structures and errors against n / log p"),)),
        Section(
            f"Smallest n / log p with the exact structure in {FOUND:.0%} of the data sets",
            (
                "Exact means all edges, no other pair, and all signs. By Theorem 1 a row should hold the "
                "same number for all p, up to the grid. The last column is the largest mean over sizes of "
                "Assumption 4's norm at the true network, which must be below one.",
            ),
            tables=(summary,),
        ),
    ]
    for method in found.index:
        own = table[table["method"] == method]
        sections.append(
            Section(STRUCTURE_METHODS[str(method)].title, tables=(_sizes(own),), level=3)
        )
    settings = ", ".join(f"{name}={value!r}" for name, value in SIMULATION.items())
    choices = (
        (
            "Data.",
            f"`simulate_paper(p, n=n, density=2 / p, {settings})`: a chain, so that every variable has at "
            "most two neighbours whatever p is, with the paper's f of |g|.",
        ),
        (
            "Penalty.",
            "λ = c √(log p / n). The theorem promises that some c works; for each method c is that with "
            f"most exact structures on {plan.development} development data sets of each size (seeds from "
            f"{DEVELOPMENT}), and all numbers are from the other {plan.seeds}. The grid of the paper's "
            f"estimator ends at {SMALL_CONSTANTS[0]:.2g}, that of all others at {CONSTANTS[0]:g}.",
        ),
        (
            "Threshold.",
            "Methods marked so are told g*, as the theorem has it; bandwidths follow Assumption 1.",
        ),
    )
    return Page(
        "How often the exact structure is found (Theorem 1)",
        summary=(source,),
        sections=(*sections, *failures(records), Section("What was chosen", items=choices)),
    )


def _sizes(own: pd.DataFrame) -> Any:
    ratios = sorted(own["ratio"].unique())
    cells = own.set_index(["p", "ratio"])
    rows = []
    for p in sorted(own["p"].unique()):
        row = [f"p = {p}"]
        for ratio in ratios:
            one = cells.loc[(p, ratio)]
            row.append(f"{one.frequency:.2f} ({_number(one.sup_error)})")
        rows.append(row)
    return text_table(
        ["share exact (largest error)", *[f"n / log p = {r:g}" for r in ratios]], rows
    )


def _norm(values: pd.Series) -> str:
    return "–" if values.isna().all() else f"{values.max():.2f}"


def _number(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.2f}"
