"""One network for each level of a column: the overview of their folders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pandas as pd

from plaggm.atomic_files import original_text, write_csv, write_file
from plaggm.cli.layout import GROUP_TABLE, GROUPS, PAIR_TABLE, REPORT, SUMMARY, UNADJUSTED
from plaggm.read_errors import reason_in_words
from plaggm.report.changes import compare, signed
from plaggm.report.phrases import confounders_of, sample_counts, share
from plaggm.report.sections import Cell, Page, Section, Table, strength_cell, write_html
from plaggm.result import GraphResult
from plaggm.result_reading import read_result

# Pairs shown on the page; the table has all.
SHOWN_PAIRS = 100
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
# Before a name from the data that would otherwise be that of another column.
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
        The same one where there is no confounder.
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
    """The head of a column that is named by the data, different from those that are named by us.

    Examples
    --------
    >>> distinct_head("site", ("samples",)), distinct_head("samples", ("samples",))
    ('site', 'group: samples')
    """
    return f"{OWN_NAME}{name}" if name in taken or name.startswith(OWN_NAME) else name


def overview_text(levels: Sequence[Level], group: str) -> str:
    """A few lines in words."""
    lines = _words(levels, group)
    for level, row in zip(levels, level_table(levels, group).to_dict("records"), strict=True):
        if not level.after.confounder_names:
            lines.append(f"{level.name}: {row['samples']} samples; {row['edges']} edges.")
            continue
        # Only an amount of harm has samples without.
        known = sample_counts(level.after)[1] is not None
        harmed = f", {share(row['confounded'], row['samples'])} of them confounded" if known else ""
        lines.append(
            f"{level.name}: {row['samples']} samples{harmed}; {row['edges']} edges "
            f"({row['edges_unadjusted']} without adjustment; {row['appear']} appear, "
            f"{row['vanish']} vanish)."
        )
    return "\n".join(lines) + "\n"


def _words(levels: Sequence[Level], group: str) -> list[str]:
    after, pairs = levels[0].after, pair_table(levels)
    known = confounders_of(after)
    adjusted = f"adjusted for {known}" if known else "with no confounder taken into account"
    return [
        f"{len(levels)} networks of {len(after.names)} variables, one for each level of {group}, "
        f"{adjusted}.",
        f"{_shared(pairs, levels)} of {len(pairs)} pairs are edges in all of them.",
    ]


def _shared(pairs: pd.DataFrame, levels: Sequence[Level]) -> int:
    """Pairs that are edges in all levels."""
    return int((pairs["levels"] == len(levels)).sum())


def overview_page(levels: Sequence[Level], group: str) -> Page:
    """A page with a link to each level's own, and the edges beside each other."""
    table, pairs = level_table(levels, group), pair_table(levels)
    shown: tuple[str, ...] = ("samples", "edges")
    if levels[0].after.confounder_names:
        shown = ("samples", "confounded", "edges", "edges_unadjusted", "appear", "vanish")
    if table["confounded"].isna().all():
        shown = tuple(name for name in shown if name != "confounded")
    rows = [
        (
            Cell(level.name, link=quote(f"{GROUPS}/{level.folder}/{REPORT}")),
            *(Cell(str(row[name]), number=True) for name in shown),
        )
        for level, row in zip(levels, table.to_dict("records"), strict=True)
    ]
    heads = (group, *(name.replace("_", " ") for name in shown))
    strongest = float(np.abs(pairs.iloc[:, 3:].to_numpy()).max(initial=0.0))
    edges = [
        (
            Cell(f"{row[0]} – {row[1]}"),
            Cell(f"{row[2]} of {len(levels)}", number=True),
            *(strength_cell(value, strongest, signed(value)) for value in row[3:]),
        )
        for row in pairs.head(SHOWN_PAIRS).itertuples(index=False, name=None)
    ]
    note = f"The {SHOWN_PAIRS} most frequent of {len(pairs)}; all are in {PAIR_TABLE}."
    return Page(
        f"Networks by {group}",
        "group report",
        tiles=(
            (str(len(levels)), "networks"),
            (str(len(levels[0].after.names)), "variables"),
            (str(_shared(pairs, levels)), "edges in all of them"),
        ),
        summary=tuple(_words(levels, group)),
        sections=(
            Section("Each network", tables=(Table(heads, tuple(rows)),)),
            Section(
                "Partial correlations side by side",
                tables=(
                    Table(
                        ("edge", "levels", *(level.name for level in levels)),
                        tuple(edges),
                        note if len(pairs) > SHOWN_PAIRS else "",
                    ),
                ),
            ),
        ),
    )


def write_overview(folder: Path, levels: Sequence[Level], group: str) -> None:
    """Write the tables and the page of the overview."""
    write_csv(folder / GROUP_TABLE, level_table(levels, group), index=False)
    write_csv(folder / PAIR_TABLE, pair_table(levels), index=False)
    write_file(folder / SUMMARY, overview_text(levels, group))
    write_html(folder / REPORT, overview_page(levels, group))


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
        group = original_text(str(table.columns[0])).removeprefix(OWN_NAME)
        rows = list(zip(table.iloc[:, 0].map(original_text), table["folder"], strict=True))
    except (ValueError, KeyError, IndexError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{folder / GROUP_TABLE} is not a readable table of groups ({reason_in_words(error)})."
        ) from error
    if not rows:
        raise ValueError(f"{folder / GROUP_TABLE} lists no groups.")
    levels = []
    for name, place in rows:
        # Only the last part counts, so that no table can point outside the folder; nor may a link.
        home = folder / GROUPS / Path(place).name
        if home.resolve().parent != folder.resolve() / GROUPS:
            raise ValueError(
                f"{home} is a link or leads out of {folder / GROUPS}; put the result itself there."
            )
        after, beside = read_result(home), home / UNADJUSTED
        # Without confounder there is nothing to adjust for.
        before = read_result(beside) if after.confounder_names or beside.is_dir() else after
        levels.append((home, Level(name, home.name, before, after)))
    if len({level.after.names for _, level in levels}) > 1:
        raise ValueError(f"The networks in {folder / GROUPS} are about different variables.")
    return levels, group
