"""The opening of the page: results of the tests about the confounder, and which network is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from plaggm.evidence import LEVEL, Evidence
from plaggm.report.encoding import upper_triangle
from plaggm.report.phrases import (
    chance,
    confounders_of,
    evidence_of,
    method_of,
    nothing_learnt,
    sample_counts,
)
from plaggm.report.references import without_or_adjusted
from plaggm.result import GraphResult
from plaggm.wording import counted

Lead = Literal["adjusted", "unadjusted"]
NO_SIGN = "No sign that the network depends on"
NO_CLEAR_SIGN = "No clear sign that the network depends on"
# P-value below which there is "no clear sign", and from which on there is "no sign".
CLEAR = 0.1
NOT_TESTED = "The network adjusted for"


@dataclass(frozen=True, slots=True)
class Headline:
    """The opening of the page.

    Attributes
    ----------
    title : str
        Beginning of the title, before the confounders.
    confounders : tuple of str
        Names for the title; empty without confounders, or if their effect could not be estimated.
    lead : {"adjusted", "unadjusted"}
        The network that the page draws and describes first.
    evidence : tuple of str
        Sentences on the results of the tests.
    drawn : tuple of str
        Sentences on which network is drawn, and why, if it is not the adjusted one.
    p_value : float or None
        P-value of all tests together, if none of them is significant.
    """

    title: str
    confounders: tuple[str, ...]
    lead: Lead
    evidence: tuple[str, ...]
    drawn: tuple[str, ...] = ()
    p_value: float | None = None


def headline(result: GraphResult, unadjusted: GraphResult | None) -> Headline:
    """The evidence about the confounder, in words.

    Parameters
    ----------
    result : GraphResult
        The adjusted network.
    unadjusted : GraphResult or None
        The network of the same samples without adjustment, where it is known.

    Returns
    -------
    Headline
    """
    title = without_or_adjusted(result)
    if not result.confounder_names or nothing_learnt(result):
        return Headline(title, (), "adjusted", ())
    names, found = result.confounder_names, evidence_of(result)
    said = confounders_of(result)
    if found.kind == "none":
        # A network whose edges are declared by another rule cannot be shown in place of this one.
        alike = unadjusted is not None and (unadjusted.fdr is None) == (result.fdr is None)
        lead: Lead = "unadjusted" if alike else "adjusted"
        unadjusted = unadjusted if alike else None
        return Headline(
            NO_SIGN if (found.p_value or 0.0) >= CLEAR else NO_CLEAR_SIGN,
            names,
            lead,
            _nothing(found, result),
            _drawn(result, unadjusted),
            found.p_value,
        )
    if found.kind == "untested":
        return Headline(
            NOT_TESTED,
            names,
            "adjusted",
            (f"Whether the network depends on {said} was not tested.",),
        )
    if found.kind == "adjusting":
        whole = "" if found.network is None else f" ({chance(found.network)}{method_of(result)})"
        sentence = (
            f"Adjusting for {said} changes edges, as shifts of the means along a confounder do. No sign "
            f"that the network itself is another at other values of {said}{whole}."
        )
        return Headline(title, names, "adjusted", (sentence,))
    return Headline(title, names, "adjusted", (_depends(found, result),))


def lead_of(result: GraphResult, unadjusted: GraphResult | None) -> Lead:
    """The network that a page, a summary or a picture of both networks shows first."""
    return headline(result, unadjusted).lead


def _depends(found: Evidence, result: GraphResult) -> str:
    said = confounders_of(result)
    if found.network is not None and found.network <= LEVEL:
        return f"The network depends on {said} ({chance(found.network)}{method_of(result)})."
    pairs = f"Single pairs change with {said} (smallest q = {found.pairs or 0.0:.2g})"
    if found.network is None:
        return f"{pairs}."
    return f"{pairs}; the network as a whole does not show it ({chance(found.network)})."


def _nothing(found: Evidence, result: GraphResult) -> tuple[str, ...]:
    """Sentences on tests that were not significant."""
    said = confounders_of(result)
    parts = []
    if found.network is not None:
        parts.append(
            f"the network as a whole does not differ along {said} by more than chance "
            f"({chance(found.network)}{method_of(result)})"
        )
    if found.pairs is not None:
        parts.append(f"no pair is shown to change with {said}")
    if found.adjusting is not None:
        parts.append("no pair is shown to differ with and without adjustment")
    n, _ = sample_counts(result)
    size = "" if n is None else f" in {counted(n, 'sample')}"
    together = f"together {chance(found.p_value or 0.0)}"
    return (
        f"No test shows an effect: {'; '.join(parts)}; {together}.",
        f"This does not prove that there is none: weak effects go unnoticed{size}.",
    )


def _drawn(result: GraphResult, unadjusted: GraphResult | None) -> tuple[str, ...]:
    """Sentences on the network that is shown, its files, and the assumption behind its error rate."""
    if unadjusted is None:
        return (
            "There is no network without adjustment to draw instead: this is the adjusted one.",
        )
    said = confounders_of(result)
    where = (
        "Drawn and described here is therefore the network of all samples without adjustment (files in the "
        f"folder unadjusted). The network adjusted for {said} stands beside it (edges.csv).",
    )
    old, new = (upper_triangle(one.network) != 0.0 for one in (unadjusted, result))
    edges, both = int(np.count_nonzero(old)), int(np.count_nonzero(old & new))
    if unadjusted.fdr is None or result.fdr is None or not edges:
        return where
    rest = edges - both
    has = "has" if len(result.confounder_names) == 1 else "have"
    holds = f"The drawn network's error rate holds if {said} indeed {has} no effect"
    if edges == 1:
        only = (
            "(dotted) is not declared after adjusting and rests on that assumption"
            if rest
            else "is declared after adjusting as well and holds in any case"
        )
        return (*where, f"{holds}; its only edge {only}.")
    either = f"{both:,} of its {edges:,} edges are" if rest else f"all {edges:,} edges are"
    some = f"; {rest:,} (dotted) rest{'s' if rest == 1 else ''} on that assumption"
    return (
        *where,
        f"{holds}; {either} declared after adjusting as well and hold in any case"
        f"{some if rest else ''}.",
    )
