"""Names of columns, and how names and values are quoted in messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# Names shown in a message, and letters of a value.
SHOWN, LONGEST = 5, 60
# Given to an unnamed first column, where pandas and R write the labels of the rows.
ROW_LABELS = "(row)"


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
            f"{path} has repeated column names: {listed(map(quoted, repeated))}. Every column needs a "
            "name of its own."
        )
    return names


def listed(items: Iterable[str]) -> str:
    """The first few items with commas, and how many more there are.

    Examples
    --------
    >>> listed("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    items = list(items)
    more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return ", ".join(items[:SHOWN]) + more


def quoted(value: Any) -> str:
    """A value in quotes, cut where it is long.

    Examples
    --------
    >>> quoted("price"), quoted("x" * 100)[-8:]
    ("'price'", 'xxxxxxx…')
    """
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
