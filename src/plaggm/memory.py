"""Available memory of this process, and formatting of sizes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

# Limit of a control group that has none.
UNLIMITED = "max"
# Environment variable that sets the available memory, in gigabytes.
GIGABYTES = "PLAGGM_MEMORY_GB"
# Names of limit and usage in the two versions of control groups.
FILES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
# Names of the memory of a control group that can be reclaimed, in its two versions.
RECLAIMABLE = ("total_inactive_file", "inactive_file")


def available_memory(root: Path = Path("/")) -> int | None:
    """Bytes that can be allocated without swapping, within the limits of the control group.

    The environment variable ``PLAGGM_MEMORY_GB`` replaces the value of the system.

    Parameters
    ----------
    root : Path
        Folder in which ``proc`` and ``sys`` are found.

    Returns
    -------
    int or None
        None if unknown. Without ``proc``, that is, outside Linux, all physical memory.
    """
    given = os.environ.get(GIGABYTES)
    if given is not None:
        return _gigabytes(given)
    free = _fields(root / "proc/meminfo").get("MemAvailable:")
    found = [] if free is None else [1024 * free]
    for group in _control_groups(root):
        for limit, used in FILES:
            most, taken = _number(group / limit), _number(group / used)
            if most is not None and taken is not None:
                cache = _fields(group / "memory.stat")
                idle = next((cache[name] for name in RECLAIMABLE if name in cache), 0)
                found.append(max(most - max(taken - idle, 0), 0))
    if not found and not (root / "proc").exists():
        return _built_in()
    return min(found, default=None)


def _gigabytes(text: str) -> int:
    try:
        size = float(text)
    except ValueError:
        size = -1.0
    if not 0.0 < size < 1e9:
        raise ValueError(
            f"The environment variable {GIGABYTES} must be a number of gigabytes, such as 16; got {text!r}."
        )
    return int(1e9 * size)


def _control_groups(root: Path) -> Iterator[Path]:
    """Folders of the control groups that this process is in, and of those above them."""
    base = root / "sys/fs/cgroup"
    yield from (base, base / "memory")
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top = base / "memory" if controllers else base
        own = top / path.strip("/")
        yield from (folder for folder in (own, *own.parents) if top in folder.parents)


def _built_in() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def in_bytes(size: int) -> str:
    """A size with its unit.

    Examples
    --------
    >>> in_bytes(4_700), in_bytes(3_300_000_000), in_bytes(8_000_000_000_000_000_000)
    ('4.7 kB', '3.3 GB', '8,000,000 TB')
    """
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:,.1f}".removesuffix(".0") + f" {name}"
    return f"{size} bytes"


def _fields(path: Path) -> dict[str, int]:
    """First number of each line, by the word before it; nothing where the file cannot be read."""
    try:
        lines = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
    except (OSError, ValueError):
        return {}
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}


def _number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return None if text == UNLIMITED or not text.isdigit() else int(text)
