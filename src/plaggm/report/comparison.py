"""The page of a comparison of methods."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from plaggm.comparison import Comparison
from plaggm.comparison.meaning import reference_paragraph
from plaggm.report.sections import Page, Picture, Section, frame_table

COLUMNS = (
    "Behind best: how far the log pseudo-likelihood of held-out samples lies below that of the method that "
    "predicts them best, ± its standard error. Stability and agreement: share of edges in common (Jaccard "
    "index), between resamples of a method and with the other methods. None of these needs the truth. A "
    "method can be stable and wrong, so prediction comes first."
)


def comparison_page(comparison: Comparison, words: Sequence[str], picture: Path) -> Page:
    """The page of a comparison: words, table, picture, and the edges that most methods share.

    Parameters
    ----------
    comparison : Comparison
    words : sequence of str
        Paragraphs at the top.
    picture : Path
        PNG of :func:`plaggm.plotting.comparison.plot_comparison`.
    """
    facts = comparison.settings
    table = comparison.table().sort_values("behind_best", kind="stable", na_position="last")
    shown = pd.DataFrame(
        {
            "method": table["title"],
            "behind best": table["behind_best"],
            "± s.e.": table["behind_best_se"],
            "stability": table["stability"],
            "agreement": table["agreement"],
            "edges": table["edges"],
            "declared by": table["declared_by"].str.replace("<=", "≤"),
            "network": table["network"],
        }
    )
    reasons = tuple((row.method, row.reason) for row in table.itertuples() if row.reason)
    sections = [
        Section(
            "What each method finds",
            (COLUMNS, reference_paragraph(facts["references"], gaussian=comparison.gaussian)),
            tables=(frame_table(shown),),
            items=reasons,
        ),
        Section(
            "Agreement, prediction and stability",
            pictures=(Picture(picture, "Edges in common, held-out likelihood, and stability."),),
        ),
        Section(
            "Edges that most methods share",
            (f"{_strengths(comparison)}; 0 where a method has no such edge.",),
            tables=(frame_table(comparison.edges(), "edges.csv"),),
        ),
    ]
    confounders = ", ".join(facts["confounders"])
    return Page(
        title=f"Methods compared, confounder {confounders}",
        kind="comparison of methods",
        tiles=(
            (str(facts["n_samples"]), "samples"),
            (str(len(comparison.names)), "variables"),
            (str(len(comparison.methods)), "methods"),
            (str(facts["resamples"]), "resamples"),
        ),
        summary=tuple(words),
        sections=tuple(sections),
    )


def _strengths(comparison: Comparison) -> str:
    if comparison.gaussian:
        return "Partial correlations"
    return "Coefficients in units of both variables' standard deviations, close to partial correlations"
