"""One network for each level of a column: the overview of their folders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd

from plaggm.atomic_files import write_csv, write_file
from plaggm.cli.layout import GROUP_TABLE, GROUPS, PAIR_TABLE, REPORT, SUMMARY, UNADJUSTED
from plaggm.report.changes import compare, signed
from plaggm.report.words import confounders_of, sample_counts, share
from plaggm.result import GraphResult, read_result

# Pairs shown on the page; the table has all.
SHOWN_PAIRS = 100
# Ends of the red-blue scale of the pictures, and the smallest strength that is told from none.
POSITIVE, NEGATIVE = "178 24 43", "33 102 172"
TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Level:
    """A level with its folder and its networks.

    Attributes
    ----------
    name : str
    folder : str
        Name of its folder.
    before, after : GraphResult
    """

    name: str
    folder: str
    before: GraphResult
    after: GraphResult


def level_table(levels: Sequence[Level], group: str) -> pd.DataFrame:
    """Samples, edges and changes of each level, one row for each."""
    rows = []
    for level in levels:
        n, confounded = sample_counts(level.after)
        changes = compare(level.before, level.after)
        rows.append(
            {
                group: level.name,
                "samples": n,
                "confounded": confounded,
                "edges": changes.kept + len(changes.appeared),
                "edges_unadjusted": changes.kept + len(changes.vanished),
                "appear": len(changes.appeared),
                "vanish": len(changes.vanished),
                "alpha": level.after.alpha,
                "folder": f"{GROUPS}/{level.folder}",
            }
        )
    return pd.DataFrame(rows)


def pair_table(levels: Sequence[Level]) -> pd.DataFrame:
    """Partial correlations of every pair that is an edge in some level, most frequent first.

    Returns
    -------
    DataFrame
        Columns source, target, levels (in how many it is an edge), and one for each level.
    """
    names = levels[0].after.names
    omegas = np.stack([level.after.partial_correlation for level in levels])
    j, k = np.triu_indices(len(names), 1)
    values = omegas[:, j, k]
    count = np.count_nonzero(values, axis=0)
    order = np.lexsort((-np.abs(values).mean(axis=0), -count))
    order = order[count[order] > 0]
    table = pd.DataFrame(
        {
            "source": [names[a] for a in j[order]],
            "target": [names[b] for b in k[order]],
            "levels": count[order],
        }
    )
    columns = pd.DataFrame(values[:, order].T, columns=[level.name for level in levels])
    return pd.concat([table, columns], axis=1)


def overview_text(levels: Sequence[Level], group: str) -> str:
    """A few lines in words."""
    after = levels[0].after
    table = level_table(levels, group)
    pairs = pair_table(levels)
    shared = int((pairs["levels"] == len(levels)).sum())
    lines = [
        f"{len(levels)} networks of {len(after.names)} variables, one for each level of {group}, adjusted "
        f"for {confounders_of(after)}.",
        f"{shared} of {len(pairs)} pairs are edges in all of them.",
    ]
    for row in table.to_dict("records"):
        lines.append(
            f"{row[group]}: {row['samples']} samples, "
            f"{share(row['confounded'], row['samples'])} of them confounded; {row['edges']} edges "
            f"({row['edges_unadjusted']} without adjustment; {row['appear']} appear, "
            f"{row['vanish']} vanish)."
        )
    return "\n".join(lines) + "\n"


def overview_page(levels: Sequence[Level], group: str) -> str:
    """A page with a link to each level's own, and the edges beside each other."""
    table = level_table(levels, group)
    pairs = pair_table(levels)
    rows = [
        [
            f'<a href="{GROUPS}/{level.folder}/{REPORT}">{escape(level.name)}</a>',
            *(str(row[key]) for key in ("samples", "confounded", "edges", "edges_unadjusted")),
            *(str(row[key]) for key in ("appear", "vanish")),
        ]
        for level, row in zip(levels, table.to_dict("records"), strict=True)
    ]
    heads = [
        escape(group),
        "samples",
        "confounded",
        "edges",
        "edges unadjusted",
        "appear",
        "vanish",
    ]
    strongest = max(float(np.abs(pairs.iloc[:, 3:].to_numpy()).max(initial=0.0)), TINY)
    edge_rows = [
        [
            f"{escape(str(row[0]))} – {escape(str(row[1]))}",
            f"{row[2]} of {len(levels)}",
            *(_shaded(value, strongest) for value in row[3:]),
        ]
        for row in pairs.head(SHOWN_PAIRS).itertuples(index=False, name=None)
    ]
    edge_heads = ["edge", "levels", *(escape(level.name) for level in levels)]
    words = "".join(
        f"<p>{escape(line)}</p>" for line in overview_text(levels, group).splitlines()[:2]
    )
    more = (
        f"<p>The {SHOWN_PAIRS} most frequent of {len(pairs)}; all are in {PAIR_TABLE}.</p>"
        if len(pairs) > SHOWN_PAIRS
        else ""
    )
    return _PAGE.format(
        title=escape(f"Networks by {group}"),
        words=words,
        levels=_html_table(heads, rows),
        edges=_html_table(edge_heads, edge_rows),
        more=more,
    )


def write_overview(folder: Path, levels: Sequence[Level], group: str) -> None:
    """Write the tables and the page of the overview."""
    write_csv(folder / GROUP_TABLE, level_table(levels, group), index=False)
    write_csv(folder / PAIR_TABLE, pair_table(levels), index=False)
    write_file(folder / SUMMARY, overview_text(levels, group))
    page = overview_page(levels, group)
    write_file(folder / REPORT, page.encode("utf-8", errors="replace"))


def read_levels(folder: Path) -> tuple[list[tuple[Path, Level]], str]:
    """Read the levels of a folder of several networks.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    levels : list of Path and Level
        Each with its own folder.
    group : str
        Name of the group column.
    """
    try:
        table = pd.read_csv(folder / GROUP_TABLE, dtype=str, keep_default_na=False)
        group = str(table.columns[0])
        rows = list(zip(table[group], table["folder"], strict=True))
    except (ValueError, KeyError, IndexError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{folder / GROUP_TABLE} is not a readable table of groups ({error})."
        ) from error
    if not rows:
        raise ValueError(f"{folder / GROUP_TABLE} lists no groups.")
    levels = []
    for name, place in rows:
        # Only the last part counts, so that no table can point outside the folder.
        home = folder / GROUPS / Path(place).name
        before, after = read_result(home / UNADJUSTED), read_result(home)
        levels.append((home, Level(name, home.name, before, after)))
    if len({level.after.names for _, level in levels}) > 1:
        raise ValueError(f"The networks in {folder / GROUPS} are about different variables.")
    return levels, group


def _html_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in heads)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>{"".join(map(_cell, row[1:]))}</tr>' for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(content: str) -> str:
    return content if content.startswith("<td") else f"<td>{content}</td>"


def _shaded(value: float, strongest: float) -> str:
    """A cell whose colour shows sign and strength; empty for no edge."""
    if not value:
        return "<td></td>"
    red_green_blue = POSITIVE if value > 0.0 else NEGATIVE
    opacity = 0.1 + 0.6 * abs(value) / strongest
    return f'<td style="background: rgb({red_green_blue} / {opacity:.2f})">{signed(value)}</td>'


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }}
body {{ margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 0.25rem 0.75rem; text-align: right; border-bottom: 1px solid #8886; }}
th:first-child {{ text-align: left; font-weight: 500; }}
thead th {{ white-space: nowrap; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
{words}
<h2>Each network</h2>
{levels}
<h2>Partial correlations side by side</h2>
{more}{edges}
</main>
</body>
</html>
"""
