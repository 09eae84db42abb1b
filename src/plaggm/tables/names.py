"""Checks of column names, which must be present and unique."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from plaggm.wording import listed, shown

# Given to an unnamed first column, where pandas and R write the labels of the rows.
ROW_LABELS = "(row)"
# Cells of text tables and sheets that stand for a missing value, beside those that pandas knows.
MORE_MISSING = (".", "-", "--", "?", "na", "Na", "n.a.", "N.A.")


class TableError(ValueError):
    """A file that cannot be read as a table; the message says why and what to do."""


def checked_names(names: list[str], path: Path) -> list[str]:
    """Names that are there and differ; an unnamed first column holds row labels."""
    if len(names) > 1 and not names[0]:
        names = [ROW_LABELS, *names[1:]]
    unnamed = [str(number) for number, name in enumerate(names, 1) if not name]
    if unnamed:
        raise TableError(f"{path} has columns without a name: number {listed(unnamed)}.")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise TableError(
            f"{path} has repeated column names: {listed(map(shown, repeated))}. Every column needs a "
            "name of its own."
        )
    return names
