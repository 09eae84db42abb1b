"""The version stands in one place, and what repeats it agrees."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import plaggm

ROOT = Path(__file__).parents[2]


def test_the_installed_version_is_the_package_s_own() -> None:
    assert version("plaggm") == plaggm.__version__


def test_the_citation_names_this_version() -> None:
    stated = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert stated is not None
    assert stated[1] == plaggm.__version__


def test_the_changelog_has_this_version_and_a_place_for_what_comes() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in text
    assert re.search(
        rf"^## \[{re.escape(plaggm.__version__)}\] - \d{{4}}-\d\d-\d\d$", text, re.MULTILINE
    )
