"""Free memory, as the kernel and control groups tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from plaggm.memory import available_memory, in_bytes


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


MEMINFO = {"proc/meminfo": "MemTotal:  9000 kB\nMemAvailable:    8000 kB\nBuffers:  1 kB\n"}
SECOND, FIRST = "sys/fs/cgroup/memory", "sys/fs/cgroup/memory/memory"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (MEMINFO, 8_192_000),
        ({**MEMINFO, f"{SECOND}.max": "max\n", f"{SECOND}.current": "5\n"}, 8_192_000),
        ({**MEMINFO, f"{SECOND}.max": "1000\n", f"{SECOND}.current": "400\n"}, 600),
        ({**MEMINFO, f"{SECOND}.max": "1000\n", f"{SECOND}.current": "4000\n"}, 0),
        ({f"{FIRST}.limit_in_bytes": "1000\n", f"{FIRST}.usage_in_bytes": "1\n"}, 999),
        ({"proc/meminfo": "nonsense\n"}, None),
        ({}, None),
    ],
)
def test_the_smallest_limit_counts(
    tmp_path: Path, files: dict[str, str], expected: int | None
) -> None:
    assert available_memory(machine(tmp_path, files)) == expected


def test_small_sizes() -> None:
    assert in_bytes(999) == "999 bytes"
