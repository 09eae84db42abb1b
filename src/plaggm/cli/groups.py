"""The overview of one network for each level of a column: its tables, its page, and reading them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from plaggm.atomic_files import original_text, write_csv, write_file
from plaggm.cli.layout import (
    DIFFERENCE_TABLE,
    GROUP_TABLE,
    GROUPS,
    MAP_TABLE,
    NOTES,
    PAIR_TABLE,
    REPORT,
    SUMMARY,
    UNADJUSTED,
)
from plaggm.read_errors import reason_in_words
from plaggm.report.groups import group_page
from plaggm.report.levels import (
    OWN_NAME,
    Level,
    compared,
    level_cautions,
    level_table,
    overview_text,
    pair_table,
)
from plaggm.report.node_groups import NODE_GROUPS_FILE, read_node_groups
from plaggm.result_reading import read_result


def write_overview(
    folder: Path, levels: Sequence[Level], group: str, notes: Sequence[str] | None = None
) -> None:
    """Write the tables and the page of the overview.

    Parameters
    ----------
    folder : Path
    levels : sequence of Level
    group : str
        Name of the group column.
    notes : sequence of str, optional
        Caveats of the comparison; by default those that an earlier run wrote to the folder.
    """
    kept = folder / NOTES
    if notes is None:
        notes = kept.read_text(encoding="utf-8").splitlines() if kept.is_file() else ()
    elif notes:
        write_file(kept, "\n".join(notes) + "\n")
    comparison = compared(levels)
    told = (*notes, *level_cautions(levels))
    write_csv(folder / GROUP_TABLE, level_table(levels, group), index=False)
    write_csv(folder / PAIR_TABLE, pair_table(levels), index=False)
    if comparison is not None:
        write_csv(folder / DIFFERENCE_TABLE, comparison.differences(), index=False)
        write_csv(folder / MAP_TABLE, comparison.networks(), index=False)
    write_file(folder / SUMMARY, overview_text(levels, group, comparison, told))
    grouped = folder / GROUPS / levels[0].folder / NODE_GROUPS_FILE
    colours = read_node_groups(grouped, levels[0].after.names) if grouped.is_file() else None
    page = group_page(levels, group, comparison, notes=told, node_groups=colours)
    # Names from a file may contain lone surrogates, which UTF-8 cannot encode.
    write_file(folder / REPORT, page.encode("utf-8", errors="replace"))


def read_levels(folder: Path) -> tuple[list[tuple[Path, Level]], str]:
    """Read the levels of a folder of several networks.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    levels : list of Path and Level
        Each level with its own folder.
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
        # Only the last component of the path is used, and no link, so that nothing outside is read.
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
