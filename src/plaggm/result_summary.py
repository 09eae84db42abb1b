"""A short description of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plaggm.evidence import LEVEL, gather

if TYPE_CHECKING:
    from plaggm.result import GraphResult


def summary_text(result: GraphResult) -> str:
    """Evidence of confounding, number of edges, rule that declares them, and reference of the network."""
    p = len(result.names)
    share = result.n_edges / (p * (p - 1) / 2)
    rule = f"alpha = {result.alpha:.4g}"
    if result.fdr is not None:
        rule = f"declared at a false discovery rate of {result.fdr:.4g}"
    lines = [
        *_evidence(result),
        f"{result.n_edges} edges between {p} variables ({share:.0%} of all pairs), {rule}.",
    ]
    if result.confounder_names and result.threshold is not None:
        named = zip(result.confounder_names, result.threshold, strict=True)
        limits = ", ".join(
            f"|{name}{_offset(result.references.get(name))}| <= {limit:.4g}"
            for name, limit in named
            if not np.isnan(limit)
        )
        lines.append(f"Taken as free of confounding: {limits}.")
    elif result.confounder_names:
        lines.append(f"Adjusted for {', '.join(result.confounder_names)}.")
    else:
        lines.append("No confounder was taken into account.")
    lines += [
        f"Reference of {name}: {value}."
        for name, value in result.references.items()
        if value != "zero"
    ]
    return "\n".join(lines)


def strength_name(result: GraphResult) -> str:
    """Name of the weight of an edge, for labels: "partial correlation" for Gaussian variables."""
    if result.gaussian:
        return "partial correlation"
    binary = result.settings["family"] == "binomial"
    return "scaled log odds ratio" if binary else "scaled coefficient"


def _evidence(result: GraphResult) -> list[str]:
    """A sentence about the tests of an effect of the confounders; empty without tests."""
    if not result.confounder_names:
        return []
    found = gather(result.diagnostics, result.edge_table, result.moderation_table)
    names = ", ".join(result.confounder_names)
    whole = "" if found.network is None else f" (p = {found.network:.2g})"
    if found.kind == "network":
        clear = found.network is not None and found.network <= LEVEL
        return [f"The network depends on {names}{whole if clear else ''}."]
    if found.kind == "adjusting":
        return [
            f"Adjusting for {names} changes edges; no sign that the network itself depends on it{whole}."
        ]
    if found.kind == "none":
        return [
            f"No sign that the network depends on {names} (p = {found.p_value:.2g} for all tests together)."
        ]
    return []


def _offset(reference: Any) -> str:
    """The reference value that is subtracted from a confounder before it is compared with its threshold."""
    return f" - {reference:g}" if isinstance(reference, int | float) and reference else ""
