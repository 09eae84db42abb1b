"""The page of several networks: side by side, with their differences and a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from plaggm.comparison.group_networks import NetworkComparison
from plaggm.plotting.figure import drawn_network
from plaggm.plotting.nodes import node_colours, node_places
from plaggm.report.changes import signed
from plaggm.report.encoding import packed_floats, plain_numbers, upper_triangle
from plaggm.report.levels import (
    GROUPS,
    Level,
    differences_in_words,
    introduction,
    level_table,
    pair_table,
    shared_edges,
    uncounted_changes,
)
from plaggm.report.page import REPORT_FILE
from plaggm.report.rendering import render_page
from plaggm.report.sections import Cell, Table, strength_cell
from plaggm.result_summary import strength_name

SCRIPTS = ("data.js", "shapes.js", "charts.js", "network.js", "groups.js")
# Largest numbers of edges and of differences on the page; tables contain all.
SHOWN_PAIRS, SHOWN_DIFFERENCES = 100, 30
# Smallest number of differences on the page, if fewer pass their test.
FEWEST_DIFFERENCES = 10
# Largest number of networks drawn side by side; if there are more, the reader chooses one.
MOST_PANELS = 6
# Smallest number of networks for which a map is drawn.
FEWEST_MAPPED = 5
DIGITS = 4


def group_page(
    levels: Sequence[Level],
    group: str,
    comparison: NetworkComparison | None,
    *,
    notes: Sequence[str] = (),
    node_groups: Mapping[str, str] | None = None,
) -> str:
    """The page as text.

    Parameters
    ----------
    levels : sequence of Level
        Levels with their networks, in the order of the page.
    group : str
        Name of the group column.
    comparison : NetworkComparison or None
        Tests of their differences.
    notes : sequence of str
        Caveats of the comparison.
    node_groups : mapping of str, optional
        Group of every variable by its name.

    Returns
    -------
    str
        HTML that loads nothing from elsewhere.
    """
    pairs = pair_table(levels)
    tiles = [(str(len(levels)), "networks"), (str(len(levels[0].after.names)), "variables")]
    tiles.append((str(shared_edges(pairs, levels)), "edges in all of them"))
    if comparison is not None:
        count = int(np.count_nonzero(comparison.differing))
        tiles.append((str(count), f"pairs that differ at q ≤ {comparison.fdr:.3g}"))
    mapped = comparison is not None and len(levels) >= FEWEST_MAPPED
    return render_page(
        "groups.html.j2",
        scripts=SCRIPTS,
        payload=_payload(levels, group, comparison, node_groups),
        group=group,
        tiles=tiles,
        words=[*introduction(levels, group), *differences_in_words(comparison, group)],
        notes=list(notes),
        comparison=comparison,
        strength=strength_name(levels[0].after),
        levels=_level_rows(levels, group),
        differences=None if comparison is None else _difference_rows(comparison, group),
        pairs=_pair_rows(levels, pairs, group),
        many=len(levels) > MOST_PANELS,
        mapped=mapped,
        grouped=node_groups is not None,
    )


def _payload(
    levels: Sequence[Level],
    group: str,
    comparison: NetworkComparison | None,
    node_groups: Mapping[str, str] | None,
) -> dict[str, Any]:
    """Data for the page's scripts: the common network, those of the levels, and tests."""
    names = levels[0].after.names
    drawn = [drawn_network(level.after) for level in levels]
    networks = [network for network, _ in drawn]
    common = np.mean(networks, axis=0) if comparison is None else comparison.common_network()
    colours = {
        key: None
        if found is None
        else {"titles": list(found.titles), "labels": found.labels.tolist()}
        for key, found in (
            ("communities", node_colours("communities", names, common)),
            ("groups", node_colours(node_groups, names, common)),
        )
    }
    none = (
        *("pairs", "unadjusted", "truth", "stability", "tests", "pooled", "changed"),
        *("moderation", "path"),
    )
    return {
        "names": list(names),
        "strength": strength_name(levels[0].after),
        "listed": len(names) * (len(names) - 1) // 2,
        "lead": "adjusted",
        "adjusted": packed_floats(upper_triangle(common)),
        **dict.fromkeys(none),
        "along": [],
        "confounders": [],
        "order": list(range(len(names))),
        "places": np.round(node_places("force", *networks), DIGITS).tolist(),
        **colours,
        "centrality": [{"value": plain_numbers(np.abs(common).sum(axis=1))}],
        "levels": [
            {
                "name": _title(level.name, group),
                "network": packed_floats(upper_triangle(network)),
                "candidates": candidates,
                "edges": level.after.n_edges,
                "samples": int(level.after.diagnostics.get("n_samples") or 0),
            }
            for level, (network, candidates) in zip(levels, drawn, strict=True)
        ],
        "most": MOST_PANELS,
        "comparison": None if comparison is None else _comparison(comparison),
    }


def _title(level: str, group: str) -> str:
    """A level's name, with that of its column where it is a bare number.

    Examples
    --------
    >>> _title("1", "sex"), _title("north", "site")
    ('sex 1', 'north')
    """
    try:
        float(level)
    except ValueError:
        return level
    return f"{group} {level}"


def _comparison(comparison: NetworkComparison) -> dict[str, Any]:
    tests = [result.edge_table for result in comparison.results]
    places = comparison.networks()
    return {
        "fdr": comparison.fdr,
        "p": packed_floats(comparison.tests.p_value),
        "q": packed_floats(comparison.tests.q_value),
        "order": np.argsort(comparison.tests.p_value, kind="stable")[:SHOWN_DIFFERENCES].tolist(),
        "estimate": [packed_floats(one.estimate) for one in tests if one is not None],
        "low": [packed_floats(one.low) for one in tests if one is not None],
        "high": [packed_floats(one.high) for one in tests if one is not None],
        "x": plain_numbers(places["x"].to_numpy()),
        "y": plain_numbers(places["y"].to_numpy()),
        "unusual": plain_numbers(places["q_value"].to_numpy()),
        "distance": [plain_numbers(row) for row in comparison.tests.distance],
    }


def _level_rows(levels: Sequence[Level], group: str) -> Table:
    """The table of levels, each with a link to its own page."""
    table = level_table(levels, group)
    shown: tuple[str, ...] = ("samples", "edges")
    if levels[0].after.confounder_names:
        shown = ("samples", "confounded", "edges", "edges_unadjusted", "appear", "vanish")
    if table["confounded"].isna().all():
        shown = tuple(name for name in shown if name != "confounded")
    rows = [
        (
            Cell(level.name, link=quote(f"{GROUPS}/{level.folder}/{REPORT_FILE}")),
            *(Cell(str(row[name]), number=True) for name in shown),
        )
        for level, row in zip(levels, table.to_dict("records"), strict=True)
    ]
    heads = (group, *(name.replace("_", " ") for name in shown))
    return Table(heads, tuple(rows), uncounted_changes(levels))


def _difference_rows(comparison: NetworkComparison, group: str) -> Table:
    """The clearest differences."""
    count = max(int(np.count_nonzero(comparison.differing)), FEWEST_DIFFERENCES)
    table = comparison.differences().head(min(count, SHOWN_DIFFERENCES))
    few = len(comparison.levels) <= MOST_PANELS
    columns = [f"estimate {level}" for level in comparison.levels] if few else ["common"]
    strongest = float(np.abs(table[columns].to_numpy()).max(initial=1e-9))
    size = "difference" if "difference" in table else "spread"
    titles = tuple(_title(level, group) for level in comparison.levels) if few else ("mean",)
    heads = ("pair", *titles, size, "p", "q")
    rows = [
        (
            Cell(f"{row['source']} – {row['target']}"),
            *(strength_cell(row[name], strongest, signed(row[name])) for name in columns),
            Cell(signed(row[size]) if size == "difference" else f"{row[size]:.2f}", number=True),
            Cell(f"{row['p_value']:.2g}", number=True),
            Cell(f"{row['q_value']:.2g}", number=True),
        )
        for row in table.to_dict("records")
    ]
    left = len(comparison.tests.q_value) - len(rows)
    return Table(heads, tuple(rows), f"{left:,} more pairs are in differences.csv." if left else "")


def _pair_rows(levels: Sequence[Level], pairs: Any, group: str) -> Table | None:
    """Edges of all levels side by side; None if there are too many levels."""
    if len(levels) > 2 * MOST_PANELS:
        return None
    strongest = float(np.abs(pairs.iloc[:, 3:].to_numpy()).max(initial=0.0))
    rows = [
        (
            Cell(f"{row[0]} – {row[1]}"),
            Cell(f"{row[2]} of {len(levels)}", number=True),
            *(strength_cell(value, strongest, signed(value)) for value in row[3:]),
        )
        for row in pairs.head(SHOWN_PAIRS).itertuples(index=False, name=None)
    ]
    note = f"The {SHOWN_PAIRS} most frequent of {len(pairs):,}; all are in edges_by_group.csv."
    return Table(
        ("edge", "levels", *(_title(level.name, group) for level in levels)),
        tuple(rows),
        note if len(pairs) > SHOWN_PAIRS else "",
    )
