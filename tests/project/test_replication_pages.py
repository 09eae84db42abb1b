"""Pages under docs/replication are those of the experiments as they are, or are named as outdated."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("nilearn")

from plaggm.cli.experiments import page_settings, rates_work, recovery_work, structure_work
from plaggm.reproduce import connectivity, diagnosis
from plaggm.reproduce.provenance import outdated

DOCS = Path(__file__).parents[2] / "docs"
OVERVIEWS = ("replication.md", "replication-brain.md")
# How an overview names a page that its command would make otherwise today.
NOTICE = "Outdated pages:"
SETTINGS = {
    "recovery": page_settings(recovery_work(False, (), ())),
    "rates": page_settings(rates_work(False)),
    "sparsistency": page_settings(structure_work(False)),
    "connectivity": connectivity.page_settings(),
    "diagnosis": diagnosis.page_settings(),
}


def outdated_pages() -> set[str]:
    pages = DOCS.glob("replication/*/*.md")
    return {page.stem for page in pages if outdated(page.read_text(), SETTINGS[page.stem])}


def named_pages() -> set[str]:
    """Pages in the sentence that follows the notice."""
    texts = [(DOCS / name).read_text() for name in OVERVIEWS]
    notices = [text.partition(NOTICE)[2].partition(" were made ")[0] for text in texts]
    return {name for name in SETTINGS for notice in notices if name in notice}


def test_outdated_pages_are_named_and_no_others() -> None:
    assert named_pages() == outdated_pages()
