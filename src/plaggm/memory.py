"""How much memory a process may still take, and sizes in words."""

from __future__ import annotations

from pathlib import Path

# Control groups state their limit in bytes, or this word.
UNLIMITED = "max"


def available_memory(root: Path = Path("/")) -> int | None:
    """Bytes that can be allocated without swapping, within the limits of the control group.

    Parameters
    ----------
    root : Path
        Where ``proc`` and ``sys`` are found.

    Returns
    -------
    int or None
        None where the system does not say, as outside Linux.
    """
    free = _meminfo(root / "proc/meminfo")
    group = root / "sys/fs/cgroup"
    for limit, used in (
        (group / "memory.max", group / "memory.current"),
        (group / "memory/memory.limit_in_bytes", group / "memory/memory.usage_in_bytes"),
    ):
        most, taken = _number(limit), _number(used)
        if most is not None and taken is not None:
            left = max(most - taken, 0)
            free = left if free is None else min(free, left)
    return free


def in_bytes(size: int) -> str:
    """A size in words.

    Examples
    --------
    >>> in_bytes(4_700), in_bytes(3_300_000_000), in_bytes(8_000_000_000_000_000_000)
    ('4.7 kB', '3.3 GB', '8,000,000 TB')
    """
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:,.1f}".removesuffix(".0") + f" {name}"
    return f"{size} bytes"


def _meminfo(path: Path) -> int | None:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    for line in lines:
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            return int(rest.split()[0]) * 1024
    return None


def _number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return None if text == UNLIMITED or not text.isdigit() else int(text)
