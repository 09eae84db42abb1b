"""Names that are safe on every file system."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Largest number of characters of a name, without the number that makes it unique.
LONGEST = 100
UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def folder_names(labels: Sequence[str]) -> list[str]:
    """A unique and safe folder name for each label.

    Examples
    --------
    >>> folder_names(["site A", "site/A", "..", "b"])
    ['site_A', 'site_A_2', 'level', 'b']
    >>> [len(name) for name in folder_names(["x" * 1000, "x" * 1000 + "y"])]
    [100, 102]
    """
    names: list[str] = []
    taken: set[str] = set()
    for label in labels:
        stem = UNSAFE.sub("_", label)[:LONGEST].strip("._") or "level"
        name, number = stem, 1
        while name.casefold() in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name.casefold())
        names.append(name)
    return names
