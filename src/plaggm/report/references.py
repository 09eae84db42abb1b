"""Descriptions of the reference of the baseline network."""

from __future__ import annotations

from typing import Any

import numpy as np

from plaggm.report.phrases import joined, named_confounders, number_in
from plaggm.result import GraphResult
from plaggm.wording import listed


def amounts(result: GraphResult) -> dict[str, float]:
    """Thresholds of the confounders that cause no distortion below a threshold."""
    if result.threshold is None:
        return {}
    limits = zip(result.confounder_names, result.threshold, strict=True)
    return {
        name: float(limit)
        for name, limit in limits
        if result.references.get(name, "zero") == "zero" and not np.isnan(limit)
    }


def without_or_adjusted(result: GraphResult) -> str:
    """The beginning of a title: "without" for amounts, which can be absent, "adjusted" for others.

    Examples
    --------
    >>> age = dict(names=("a",), omega=np.zeros((1, 1)), location=np.zeros(1), scale=np.ones(1))
    >>> age |= dict(alpha=0.1, confounder_names=("age",), references={"age": "average"})
    >>> without_or_adjusted(GraphResult(**age))
    'The network adjusted for'
    """
    if all(result.references.get(name, "zero") == "zero" for name in result.confounder_names):
        return "The network without"
    return "The network adjusted for"


def baseline_meaning(result: GraphResult) -> str:
    """A sentence that says where R is zero; empty if every confounder is an amount."""
    kinds = {result.references.get(name, "zero") for name in result.confounder_names}
    if kinds <= {"zero"}:
        return ""
    said = []
    if "zero" in kinds:
        said.append("zero where confounders with reference zero are at most at their threshold g*")
    if "average" in kinds:
        said.append(
            "zero on average over the samples for confounders whose average is the reference"
        )
    if kinds - {"zero", "average"}:
        said.append("zero at the value or level that is the reference")
    return f"R is {joined(tuple(said))}."


def _variances(result: GraphResult) -> str:
    """Words on the variances, which only Gaussian variables have besides their means."""
    return " and changes of the variances" if result.gaussian else ""


def reference_sentences(result: GraphResult) -> list[str]:
    """Sentences on the reference of confounders that are not amounts, and how to change it."""
    kinds = result.references
    averaged = [name for name in result.confounder_names if kinds.get(name) == "average"]
    others = {
        name: kinds[name]
        for name in result.confounder_names
        if name in kinds and kinds[name] not in ("zero", "average")
    }
    said = []
    if averaged:
        said.append(
            f"The network is the average over {named_confounders(averaged)}, as these samples have "
            f"{'it' if len(averaged) == 1 else 'them'}; shifts of the means{_variances(result)} "
            f"along {'it' if len(averaged) == 1 else 'them'} are taken out."
        )
    said += [_at(result, name, value) for name, value in others.items()]
    groups = number_in(result.diagnostics, "confounder_groups")
    if groups is not None:
        whole = list(map(str, result.diagnostics.get("group_confounders", [])))
        said.append(
            f"{joined(tuple(whole))} {'is' if len(whole) == 1 else 'are'} constant within groups: what "
            f"{'it does' if len(whole) == 1 else 'they do'} is estimated from {groups:,.0f} groups, not "
            "from all samples."
        )
    if _automatic(result):
        said += _why(result, averaged)
    return said


def _at(result: GraphResult, name: str, value: Any) -> str:
    levels = result.levels.get(name)
    if levels is not None:
        rest = listed(level for level in levels if level != value)
        return f"The network is that at level {value} of {name}; the other levels ({rest}) inform it too."
    limit = 0.0
    if result.threshold is not None:
        limit = float(result.threshold[result.confounder_names.index(name)])
    around = f", and within {limit:.4g} of it" if limit > 0.0 else ""
    return f"The network is that at {name} = {value:.6g}{around}."


def _why(result: GraphResult, averaged: list[str]) -> list[str]:
    """Sentences on why references were chosen automatically, and how to change them."""
    numbers = [name for name in averaged if name not in result.levels]
    factors = [name for name in averaged if name in result.levels]
    reasons = []
    if numbers:
        reasons.append(
            f"the values of {named_confounders(numbers)} do not look like an amount such as motion (which "
            "starts at zero and is mostly small)"
        )
    if factors:
        reasons.append(
            f"{named_confounders(factors)} {'is a factor' if len(factors) == 1 else 'are factors'}"
        )
    found = amounts(result)
    if found and not _threshold_given(result):
        verb = "looks" if len(found) == 1 else "look"
        reasons.append(
            f"{named_confounders(tuple(found))} {verb} like an amount such as motion, of which zero means "
            "none"
        )
    if not reasons:
        return []
    name = (averaged or list(found))[0]
    other = "'LEVEL'" if name in result.levels else "VALUE"
    choices = f"{name}={other}" if averaged else f"{name}=average"
    return [
        f"This was chosen since {joined(tuple(reasons))}; --reference {choices} (reference= in Python) "
        "changes it."
    ]


def _automatic(result: GraphResult) -> bool:
    settings = result.settings if isinstance(result.settings, dict) else {}
    # The only reference of the kernel smoother is zero, so that nothing was chosen.
    free = settings.get("smoother") != "kernel"
    return free and bool(result.references) and settings.get("reference", "auto") == "auto"


def _threshold_given(result: GraphResult) -> bool:
    settings = result.settings if isinstance(result.settings, dict) else {}
    return settings.get("threshold", "auto") != "auto"
