"""Constraints that pin every dependency of pyproject.toml to the lowest version it allows.

    python benchmarks/lowest_versions.py > lowest.txt && pip install -c lowest.txt '.[dev]'

Only the libraries that plaggm itself names with ``>=`` are pinned; tools of the tests are left alone, since
nobody who uses plaggm installs them.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

TOOLS = ("test", "dev", "docs", "bench")
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)(\[[^\]]*\])?\s*>=\s*(?P<version>[0-9][0-9.]*)")


def lowest_versions(project: dict) -> dict[str, str]:
    """The lowest version of every dependency and of those of the extras that users install."""
    extras = project["optional-dependencies"]
    lines = project["dependencies"] + [
        line for name, lines in extras.items() if name not in TOOLS for line in lines
    ]
    found = (REQUIREMENT.fullmatch(line) for line in lines)
    return {match["name"]: match["version"] for match in found if match is not None}


def main() -> None:
    """Print one constraint a line."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    for name, version in sorted(lowest_versions(tomllib.loads(text)["project"]).items()):
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
