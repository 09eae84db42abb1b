"""Sentences on which pairs change with which confounder."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Index
from plaggm.evidence import WORTH_REPORTING
from plaggm.moderation_table import ModerationTable
from plaggm.report.changes import signed
from plaggm.report.phrases import change_rate, evidence_of, joined, percent
from plaggm.result import GraphResult
from plaggm.wording import counted

# Largest number of pairs that a sentence names.
NAMED = 3


def moderation_sentences(result: GraphResult, most: int = NAMED) -> list[str]:
    """Sentences on which pairs change with each confounder, or on why that was not tested.

    Parameters
    ----------
    result : GraphResult
    most : int
        Largest number of pairs named for each confounder.

    Returns
    -------
    list of str
        Empty if it was not requested.
    """
    table, rate = result.moderation_table, change_rate(result)
    if table is None:
        reason = result.diagnostics.get("untested_moderation")
        # Without confounder there is nothing that pairs could change with.
        if not isinstance(reason, str) or not result.confounder_names:
            return []
        return [f"Which pairs change with the confounder was not tested. {reason}"]
    at = f" ({percent(rate)} FDR)"
    said, none = [], []
    for place, name in enumerate(result.confounder_names):
        changing = table.changing(place, rate)
        if not len(changing):
            none.append(name)
        elif may_change(result):
            said.append(_changing(result, table, place, changing, most))
        else:
            pairs = (
                "1 pair passes its" if len(changing) == 1 else f"{len(changing):,} pairs pass their"
            )
            said.append(
                f"{pairs} own test of changing with {name}{at}, which is within chance once all tests "
                "are taken together."
            )
    if none:
        said.append(f"No pair is shown to change with {joined(tuple(none))}{at}.")
    return said


def may_change(result: GraphResult) -> bool:
    """Whether changes of single pairs may be reported: not if all tests together show no effect."""
    return evidence_of(result).kind not in ("none", "adjusting")


def _changing(
    result: GraphResult, table: ModerationTable, place: int, changing: Index, most: int
) -> str:
    """The pairs that change with one confounder, strongest evidence first."""
    name, rows_columns = result.confounder_names[place], np.triu_indices(len(result.names), 1)
    size = np.abs(table.largest_change[place, changing])
    large, slight = changing[size >= WORTH_REPORTING], int(np.sum(size < WORTH_REPORTING))
    named = [
        f"{result.names[rows_columns[0][pair]]} – {result.names[rows_columns[1][pair]]} "
        f"(by {signed(table.largest_change[place, pair])} at "
        f"{_value(table.largest_at[place, pair], result.levels.get(name))})"
        for pair in large[:most]
    ]
    if len(large) > most:
        named.append(f"and {len(large) - most:,} more")
    at = f" ({percent(change_rate(result))} FDR)"
    verb = "changes" if len(changing) == 1 else "change"
    less = f"{slight:,} of them by less than {WORTH_REPORTING:g}" if slight else ""
    if not named:
        return f"{counted(len(changing), 'pair')} {verb} with {name}{at}, by less than {WORTH_REPORTING:g}."
    return (
        f"{counted(len(changing), 'pair')} {verb} with {name}{at}{f', {less}' if less else ''}: "
        f"{', '.join(named)}."
    )


def _value(value: float, levels: tuple[str, ...] | None) -> str:
    """A confounder's value, a level of a factor by its name.

    Examples
    --------
    >>> _value(-397.94, None), _value(2018.0, None), _value(1.0, ("Oslo", "Bonn"))
    ('−398', '2018', 'Bonn')
    """
    if levels is not None:
        return levels[int(value)]
    # Years and the like are whole numbers of four figures.
    return format(value, ".0f" if 1e3 <= abs(value) < 1e5 else ".3g").replace("-", "−")
