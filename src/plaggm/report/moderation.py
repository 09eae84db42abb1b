"""Which edges change with which confounder, in words."""

from __future__ import annotations

import numpy as np

from plaggm.moderation_table import USUAL_RATE
from plaggm.report.changes import signed
from plaggm.report.phrases import joined, percent
from plaggm.result import GraphResult
from plaggm.wording import counted

# Edges that a sentence names.
NAMED = 3


def moderation_rate(result: GraphResult) -> float:
    """False discovery rate at which edges are said to change."""
    return USUAL_RATE if result.fdr is None else result.fdr


def moderation_sentences(result: GraphResult, most: int = NAMED) -> list[str]:
    """Which edges change with each confounder, or why that is not known.

    Parameters
    ----------
    result : GraphResult
    most : int
        Edges named for each confounder.

    Returns
    -------
    list of str
        Empty where it was not asked for.
    """
    table, rate = result.moderation_table, moderation_rate(result)
    if table is None:
        reason = result.diagnostics.get("untested_moderation")
        if not isinstance(reason, str):
            return []
        return [f"Which edges change with the confounder was not tested. {reason}"]
    rows, columns = np.triu_indices(len(result.names), 1)
    at = f" ({percent(rate)} FDR)"
    said, none = [], []
    for place, name in enumerate(result.confounder_names):
        changing = table.changing(place, rate)
        if not len(changing):
            none.append(name)
            continue
        named = [
            f"{result.names[rows[pair]]} – {result.names[columns[pair]]} "
            f"(by {signed(table.largest_change[place, pair])} at "
            f"{_value(table.largest_at[place, pair], result.levels.get(name))})"
            for pair in changing[:most]
        ]
        if len(changing) > most:
            named.append(f"and {len(changing) - most:,} more")
        verb = "changes" if len(changing) == 1 else "change"
        said.append(f"{counted(len(changing), 'edge')} {verb} with {name}{at}: {', '.join(named)}.")
    if none:
        said.append(f"No edge is shown to change with {joined(tuple(none))}{at}.")
    return said


def _value(value: float, levels: tuple[str, ...] | None) -> str:
    """A confounder's value, a level of a factor by its name.

    Examples
    --------
    >>> _value(-397.94, None), _value(1.0, ("Oslo", "Bonn"))
    ('−398', 'Bonn')
    """
    return format(value, ".3g").replace("-", "−") if levels is None else levels[int(value)]
