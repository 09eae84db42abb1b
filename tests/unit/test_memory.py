"""Free memory, as the kernel and control groups tell it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from plaggm.memory import available_memory, in_bytes


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


MEMINFO = {"proc/meminfo": "MemTotal:  9000 kB\nMemAvailable:    8000 kB\nBuffers:  1 kB\n"}
OWN = {"proc/self/cgroup": "0::/user.slice/batch\n"}
GROUP = "sys/fs/cgroup/user.slice/batch/memory"
ABOVE = "sys/fs/cgroup/user.slice/memory"
SECOND, FIRST = "sys/fs/cgroup/memory", "sys/fs/cgroup/memory/memory"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (MEMINFO, 8_192_000),
        ({**MEMINFO, f"{SECOND}.max": "max\n", f"{SECOND}.current": "5\n"}, 8_192_000),
        ({**MEMINFO, f"{SECOND}.max": "1000\n", f"{SECOND}.current": "400\n"}, 600),
        ({**MEMINFO, f"{SECOND}.max": "1000\n", f"{SECOND}.current": "4000\n"}, 0),
        ({f"{FIRST}.limit_in_bytes": "1000\n", f"{FIRST}.usage_in_bytes": "1\n"}, 999),
        (
            {
                f"{SECOND}.max": "1000",
                f"{SECOND}.current": "400",
                f"{SECOND}.stat": "inactive_file 300",
            },
            900,
        ),
        # The limit may be set for the process's own group, or for one above it.
        ({**MEMINFO, **OWN, f"{GROUP}.max": "900", f"{GROUP}.current": "100"}, 800),
        ({**MEMINFO, **OWN, f"{ABOVE}.max": "900", f"{ABOVE}.current": "100"}, 800),
        (
            {
                "proc/self/cgroup": "5:devices:/x\n4:cpu,memory:/jobs/7\n",
                "sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes": "700",
                "sys/fs/cgroup/memory/jobs/7/memory.usage_in_bytes": "650",
                "sys/fs/cgroup/memory/jobs/7/memory.stat": "inactive_file 1\ntotal_inactive_file 50\n",
            },
            100,
        ),
        ({"proc/meminfo": "nonsense\n"}, None),
    ],
)
def test_the_smallest_limit_counts(
    tmp_path: Path, files: dict[str, str], expected: int | None
) -> None:
    assert available_memory(machine(tmp_path, files)) == expected


def test_without_proc_all_memory_counts(tmp_path: Path) -> None:
    found = available_memory(tmp_path)
    assert found == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_the_environment_has_the_last_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAGGM_MEMORY_GB", "1.5")
    assert available_memory(machine(tmp_path, MEMINFO)) == 1_500_000_000
    for text in ("much", "-1", "nan", ""):
        monkeypatch.setenv("PLAGGM_MEMORY_GB", text)
        with pytest.raises(ValueError, match=f"PLAGGM_MEMORY_GB must be .*; got {text!r}"):
            available_memory()


def test_small_sizes() -> None:
    assert in_bytes(999) == "999 bytes"
