"""Names that are safe on every file system."""

from __future__ import annotations

import re
from collections.abc import Sequence

UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def folder_names(labels: Sequence[str]) -> list[str]:
    """A different, harmless name for each label.

    Examples
    --------
    >>> folder_names(["site A", "site/A", "..", "b"])
    ['site_A', 'site_A_2', 'level', 'b']
    """
    names: list[str] = []
    taken: set[str] = set()
    for label in labels:
        stem = UNSAFE.sub("_", label).strip("._") or "level"
        name, number = stem, 1
        while name.casefold() in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name.casefold())
        names.append(name)
    return names
