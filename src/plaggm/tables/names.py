"""Checks of column names, which must be present and unique."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from plaggm.wording import listed, shown

# Name of an unnamed first column, in which pandas and R write row labels.
ROW_LABELS = "(row)"
# Cells of text tables and sheets that are missing values, in addition to those of pandas.
MORE_MISSING = (".", "-", "--", "?", "na", "Na", "n.a.", "N.A.")


class TableError(ValueError):
    """A file cannot be read as a table; the message contains the reason and a remedy."""


def arrow_names(names: list[str], path: Path) -> list[str]:
    """Checked names of Arrow's columns, without those in which pandas stores row labels."""
    return checked_names([name for name in names if not name.startswith("__index_level_")], path)


def checked_names(names: list[str], path: Path) -> list[str]:
    """The names, with :data:`ROW_LABELS` for an unnamed first column; all must be present and unique."""
    if len(names) > 1 and not names[0]:
        names = [ROW_LABELS, *names[1:]]
    unnamed = [str(number) for number, name in enumerate(names, 1) if not name]
    if unnamed:
        raise TableError(
            f"{path} has columns without a name: number {listed(unnamed)}. Give each a name in the "
            "header, or remove the columns."
        )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise TableError(
            f"{path} has repeated column names: {listed(map(shown, repeated))}. Every column needs a "
            "name of its own."
        )
    return names
