"""Formatting of numbers, shares and names within sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plaggm.edge_table import EdgeTable
from plaggm.evidence import Evidence, gather
from plaggm.moderation_table import USUAL_RATE
from plaggm.result import GraphResult

# Largest number of confounders that a sentence names.
MOST_NAMED = 3
# The default method of the test of no confounding, which sentences do not mention.
CUMULANTS = "cumulants"


def sample_counts(result: GraphResult) -> tuple[int | None, int | None]:
    """Number of samples, and number of confounded samples; None if unknown."""
    n = number_in(result.diagnostics, "n_samples")
    free = number_in(result.diagnostics, "n_unconfounded")
    if n is None or n <= 0:
        return None, None
    return int(n), None if free is None else int(n) - int(free)


def number_in(values: Any, key: str) -> float | None:
    """A finite number under a key of what may be any JSON value; None if there is none."""
    value = values.get(key) if isinstance(values, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def share(part: int, whole: int) -> str:
    """A percentage that says 0 % or 100 % only where it is exact.

    Examples
    --------
    >>> share(1, 1000), share(999, 1000), share(1, 4)
    ('<1%', '>99%', '25%')
    """
    percent = 100.0 * part / whole
    if 0.0 < percent < 1.0:
        return "<1%"
    if 99.0 < percent < 100.0:
        return ">99%"
    return f"{percent:.0f}%"


def joined(words: tuple[str, ...]) -> str:
    """Words with commas and an "and".

    Examples
    --------
    >>> joined(("a", "b", "c"))
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def named_confounders(names: Sequence[str]) -> str:
    """Confounders by their names, or their number if they are many."""
    return joined(tuple(names)) if len(names) <= MOST_NAMED else f"{len(names)} confounders"


def confounders_of(result: GraphResult) -> str:
    """The confounders of a result by their names, or their number if they are many."""
    return named_confounders(result.confounder_names)


def declaring_tests(result: GraphResult) -> tuple[EdgeTable, float]:
    """The tests that declare the edges, and their false discovery rate; ValueError if the penalty does."""
    tests, fdr = result.deciding_tests, result.fdr
    if tests is None or fdr is None:
        raise ValueError("The edges of this result are declared by the penalty, not by tests.")
    return tests, fdr


def change_rate(result: GraphResult) -> float:
    """False discovery rate at which changes of pairs are reported: that of the edges, or 5 %."""
    return USUAL_RATE if result.fdr is None else result.fdr


def nothing_learnt(result: GraphResult) -> bool:
    """Whether the estimated nuisance is zero everywhere, so that adjusting changed nothing."""
    return result.nuisance is not None and not np.any(result.nuisance)


def percent(part: float) -> str:
    """A rate as a percentage with at most three digits.

    Examples
    --------
    >>> percent(0.05), percent(0.001)
    ('5%', '0.1%')
    """
    return f"{100.0 * part:.3g}%"


def chance(p_value: float) -> str:
    """A p-value in words.

    Examples
    --------
    >>> chance(0.4123), chance(0.0149), chance(1e-5), chance(0.9999)
    ('p = 0.41', 'p = 0.015', 'p < 0.001', 'p > 0.99')
    """
    if p_value < 0.001:
        return "p < 0.001"
    return "p > 0.99" if p_value > 0.99 else f"p = {p_value:.2g}"


def evidence_of(result: GraphResult) -> Evidence:
    """Evidence for an effect of the confounders, from all tests of a result."""
    return gather(result.diagnostics, result.edge_table, result.moderation_table)


def method_of(result: GraphResult) -> str:
    """Words on the method of the test of no confounding; empty for the default method."""
    told = result.diagnostics if isinstance(result.diagnostics, dict) else {}
    method = told.get("confounding_method")
    return f", by {method}" if isinstance(method, str) and method != CUMULANTS else ""
