"""One network for each level of a column: its samples and edges, side by side with those of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from plaggm.comparison.group_networks import NetworkComparison, compare_networks
from plaggm.report.cautions import FEW_ROWS, cautions
from plaggm.report.changes import compare
from plaggm.report.phrases import confounders_of, joined, sample_counts, share
from plaggm.result import GraphResult
from plaggm.wording import counted

# Folder with one folder for each level.
GROUPS = "groups"
# Largest number of differing pairs, and of unusual levels, that the summary names.
NAMED = 5
# Largest number of levels that a caution names, and of cautions about single levels.
NAMED_LEVELS, TOLD = 3, 6
# Columns of the table of levels after their names.
COUNTS = (
    "samples",
    "confounded",
    "edges",
    "edges_unadjusted",
    "appear",
    "vanish",
    "alpha",
    "folder",
)
# Prefix of a name from the data that is also the name of one of our columns.
OWN_NAME = "group: "


@dataclass(frozen=True, slots=True)
class Level:
    """A level with its folder and its networks.

    Attributes
    ----------
    name : str
    folder : str
        Name of its folder.
    before, after : GraphResult
        Networks without and with adjustment; the same one without a confounder.
    """

    name: str
    folder: str
    before: GraphResult
    after: GraphResult


def level_table(levels: Sequence[Level], group: str) -> pd.DataFrame:
    """Samples, edges and changes of each level, one row for each; the first column has their names."""
    rows = []
    for level in levels:
        n, confounded = sample_counts(level.after)
        changes = compare(level.before, level.after)
        appear, vanish = len(changes.appeared), len(changes.vanished)
        rows.append(
            (
                *(level.name, n, confounded, level.after.n_edges, level.before.n_edges),
                *(appear, vanish, level.after.alpha, f"{GROUPS}/{level.folder}"),
            )
        )
    return pd.DataFrame(rows, columns=[distinct_head(group, COUNTS), *COUNTS])


def level_cautions(levels: Sequence[Level]) -> tuple[str, ...]:
    """Sentences on problems of the networks, one sentence for a problem that several levels share.

    Parameters
    ----------
    levels : sequence of Level

    Returns
    -------
    tuple of str
        Levels with few samples first; empty if no problem is known.
    """
    p = len(levels[0].after.names)
    sizes = {level.name: sample_counts(level.after)[0] for level in levels}
    few = {name: n for name, n in sizes.items() if n is not None and n < FEW_ROWS * p}
    said = []
    if few:
        where = f"{len(few):,} of the {len(levels):,} networks, with {min(few.values()):,} or more"
        if len(few) <= NAMED_LEVELS:
            where = joined(tuple(f"{name} ({n:,})" for name, n in few.items()))
        said.append(
            f"Samples are few for {p:,} variables in {where}: only strong edges and large differences "
            "can be found there."
        )
    others: dict[str, list[str]] = {}
    for level in levels:
        for caution in cautions(level.after):
            if " are few for " not in caution:
                others.setdefault(caution, []).append(level.name)
    for caution, names in list(others.items())[:TOLD]:
        where = joined(tuple(names)) if len(names) <= NAMED_LEVELS else f"{len(names):,} networks"
        said.append(caution if len(names) == len(levels) else f"{where}: {caution}")
    if len(others) > TOLD:
        said.append(f"{len(others) - TOLD:,} more warnings are on the pages of single networks.")
    return tuple(said)


def pair_table(levels: Sequence[Level]) -> pd.DataFrame:
    """Partial correlations of every pair that is an edge in some level, most frequent first.

    Returns
    -------
    DataFrame
        Columns source, target, levels (in how many it is an edge), and one for each level.
    """
    names = levels[0].after.names
    networks = np.stack([level.after.network for level in levels])
    j, k = np.triu_indices(len(names), 1)
    values = networks[:, j, k]
    count = np.count_nonzero(values, axis=0)
    order = np.lexsort((-np.abs(values).mean(axis=0), -count))
    order = order[count[order] > 0]
    columns = {
        "source": [names[a] for a in j[order]],
        "target": [names[b] for b in k[order]],
        "levels": count[order],
    }
    heads = [distinct_head(level.name, tuple(columns)) for level in levels]
    return pd.DataFrame(columns | dict(zip(heads, values[:, order], strict=True)))


def distinct_head(name: str, taken: Sequence[str]) -> str:
    """Name of a column from the data, with a prefix if one of our columns has that name.

    Examples
    --------
    >>> distinct_head("site", ("samples",)), distinct_head("samples", ("samples",))
    ('site', 'group: samples')
    """
    return f"{OWN_NAME}{name}" if name in taken or name.startswith(OWN_NAME) else name


def overview_text(
    levels: Sequence[Level],
    group: str,
    comparison: NetworkComparison | None,
    notes: Sequence[str] = (),
) -> str:
    """The summary of the overview: what the networks share, how they differ, and a line for each."""
    lines = [*introduction(levels, group), *differences_in_words(comparison, group), *notes]
    for level, row in zip(levels, level_table(levels, group).to_dict("records"), strict=True):
        if not level.after.confounder_names:
            lines.append(
                f"{level.name}: {row['samples']} samples; {counted(row['edges'], 'edge')}."
            )
            continue
        # Only an amount has samples without distortion.
        known = sample_counts(level.after)[1] is not None
        harmed = f", {share(row['confounded'], row['samples'])} of them confounded" if known else ""
        lines.append(
            f"{level.name}: {row['samples']} samples{harmed}; {counted(row['edges'], 'edge')} "
            f"({row['edges_unadjusted']} without adjustment; {row['appear']} appear, "
            f"{row['vanish']} vanish)."
        )
    lines += filter(None, [uncounted_changes(levels)])
    return "\n".join(lines) + "\n"


def uncounted_changes(levels: Sequence[Level]) -> str:
    """A sentence for numbers of edges that differ by more than appears and vanishes; else empty."""
    for level in levels:
        changes = compare(level.before, level.after)
        counted_changes = len(changes.appeared) - len(changes.vanished)
        if level.after.n_edges - level.before.n_edges == counted_changes:
            continue
        if not changes.tested:
            return "Whether edges appear or vanish by adjusting was not tested."
        return (
            "An edge appears or vanishes only if its change passes a test of its own, so the numbers of "
            "edges with and without adjustment may differ by more."
        )
    return ""


def compared(levels: Sequence[Level]) -> NetworkComparison | None:
    """Tests of the differences between networks; None for a single network, or if one has no tests."""
    if len(levels) < 2 or any(level.after.edge_table is None for level in levels):
        return None
    return compare_networks({level.name: level.after for level in levels})


def introduction(levels: Sequence[Level], group: str) -> list[str]:
    """Sentences on the number of networks, their confounders, and the edges that they share."""
    after, pairs = levels[0].after, pair_table(levels)
    known = confounders_of(after)
    adjusted = f"adjusted for {known}" if known else "with no confounder taken into account"
    return [
        f"{len(levels)} networks of {len(after.names)} variables, one for each level of {group}, "
        f"{adjusted}.",
        _shared(len(pairs), shared_edges(pairs, levels)),
    ]


def _shared(anywhere: int, everywhere: int) -> str:
    """A sentence on how many of the pairs that are edges in some network are edges in all."""
    if not anywhere:
        return "No pair is an edge in any of them."
    verb = "is an edge" if anywhere == 1 else "are edges"
    return f"{counted(anywhere, 'pair')} {verb} in at least one of them, {everywhere:,} in all of them."


def differences_in_words(comparison: NetworkComparison | None, group: str) -> list[str]:
    """Sentences on whether and where the networks differ, and which of them are unusual."""
    if comparison is None:
        return []
    tests, count = comparison.tests, int(np.count_nonzero(comparison.differing))
    chance = f"p = {tests.overall:.2g}"
    rate = f"q ≤ {comparison.fdr:.3g}"
    pairs = comparison.differences().head(min(count, NAMED))
    named = joined(tuple(f"{row.source} – {row.target}" for row in pairs.itertuples()))
    if not count and tests.overall > comparison.fdr:
        lines = [f"No sign that the network differs by {group} ({chance} over all pairs)."]
    elif not count:
        lines = [
            f"The networks differ by {group} ({chance} over all pairs), but no single pair does at {rate}."
        ]
    else:
        more = f" and {count - NAMED} more" if count > NAMED else ""
        verb = "differs" if count == 1 else "differ"
        lines = [
            f"The networks differ by {group} ({chance} over all pairs): {count} of "
            f"{len(tests.q_value)} pairs {verb} at {rate}, most clearly {named}{more}."
        ]
    if len(comparison.levels) > 2 and (count or tests.overall <= comparison.fdr):
        lines.append(
            f"{comparison.heterogeneity_word.capitalize()} of the variation between them is real, "
            f"not chance (I² = {100.0 * tests.heterogeneity:.0f}%)."
        )
    table = comparison.networks()
    odd = table[table["q_value"] <= comparison.fdr]
    if len(odd):
        names = joined(tuple(odd.sort_values("p_value")["level"].head(NAMED)))
        lines.append(f"Unlike the others at {rate}: {names}.")
    return lines


def shared_edges(pairs: pd.DataFrame, levels: Sequence[Level]) -> int:
    """Pairs that are edges in all levels."""
    return int((pairs["levels"] == len(levels)).sum())
