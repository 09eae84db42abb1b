from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from plaggm.report.rendering import inline_scripts, script_json, security_policy
from plaggm.report.sections import (
    Cell,
    Page,
    Picture,
    Section,
    Table,
    frame_table,
    page_html,
    page_markdown,
    strength_cell,
    text_table,
    write_html,
    write_markdown,
)

HOSTILE = "</script><script>alert(1)</script>*|`"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def page(tmp_path: Path) -> Page:
    """A page with everything there is, and a hostile name everywhere."""
    picture = tmp_path / "figures" / "one.png"
    picture.parent.mkdir()
    picture.write_bytes(PNG)
    view = f"<script>draw({script_json(HOSTILE)})</script>"
    return Page(
        HOSTILE,
        HOSTILE,
        ((HOSTILE, HOSTILE),),
        ("Nothing but ` a quote",),
        (
            Section(
                HOSTILE,
                (HOSTILE, "Call `fit(x)` twice."),
                (Picture(picture, HOSTILE),),
                (Table((HOSTILE, "n"), ((Cell(HOSTILE), Cell("7", True)),), HOSTILE),),
                ((HOSTILE, HOSTILE),),
                {HOSTILE: view, "second": "<script>other()</script>"},
            ),
        ),
    )


def hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_html_holds_text_as_text(page: Page, tmp_path: Path) -> None:
    html = write_html(tmp_path / "page.html", page).read_text()
    scripts = inline_scripts(html)
    assert len(scripts) == 2
    assert "alert" not in scripts[1]
    assert html.count("alert(1)") > 8
    assert "<script>alert" not in html
    assert "Call <code>fit(x)</code> twice." in html
    # One backquote alone is a backquote.
    assert "Nothing but ` a quote" in html
    assert base64.b64encode(PNG).decode() in html


def test_policy_allows_what_is_there_by_hash(page: Page) -> None:
    html = page_html(page)
    (policy,) = re.findall(r'Security-Policy" content="([^"]*)"', html)
    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    assert parts["default-src"] == "'none'"
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.S)
    assert parts["style-src"].split() == [hash_of(style), hash_of("")]
    views = [*inline_scripts(page.sections[0].views[HOSTILE]), "other()"]
    expected = [hash_of(text) for text in (inline_scripts(html)[1], *views)]
    assert parts["script-src"].split() == [*expected, "'unsafe-eval'"]
    assert 'sandbox="allow-scripts"' in html
    without = page_html(Page("t", sections=(Section("s", ("words",)),)))
    assert "script-src 'none'" in without
    assert "unsafe" not in without
    assert "<script" not in without
    assert "unsafe" not in security_policy("style", "script")


def test_markdown_holds_text_as_text(page: Page, tmp_path: Path) -> None:
    text = write_markdown(tmp_path / "page.md", page).read_text()
    assert "<script>" not in text
    assert "![&lt;/script>" in text
    assert "](figures/one.png)" in text
    assert text.startswith("# &lt;/script>")
    assert "Call `fit(x)` twice." in text
    row = text[text.index("\n| ") :].splitlines()
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in row[1:4]] == [3, 3, 3]
    assert "|---|---|" in text


def test_markdown_levels_and_lists() -> None:
    page = Page(
        "T", sections=(Section("", ("one\ntwo",)), Section("S", items=(("a:", "b*"),), level=3))
    )
    assert page_markdown(page, Path()) == "# T\n\none two\n\n### S\n\n- **a:** b\\*\n"


def test_tables_of_frames() -> None:
    frame = pd.DataFrame({"a_b": np.arange(20), "c": np.linspace(0, 1, 20), "d": ["x"] * 20})
    frame.loc[0, "c"] = np.nan
    table = frame_table(frame, "all.csv")
    assert table.heads == ("a b", "c", "d")
    assert len(table.rows) == 12
    assert table.rows[0] == (Cell("0", True), Cell("–", True), Cell("x"))
    assert table.note == "8 more rows in all.csv."
    assert frame_table(frame.head(3), "all.csv").note == "The table is in all.csv."
    assert frame_table(frame.head(3)).note == ""


def test_missing_cells_stand_where_their_column_does() -> None:
    frame = pd.DataFrame({"classifier": ["lasso", np.nan], "auc": [0.7, np.nan]})
    words, numbers = frame_table(frame).rows[1]
    assert (words.text, words.number) == ("–", False)
    assert (numbers.text, numbers.number) == ("–", True)


def test_shades() -> None:
    assert strength_cell(0.4, 0.4, "0.40") == Cell("0.40", True, shade=9)
    assert strength_cell(1e-300, 0.4, "0.00").shade == 1
    assert text_table(["a"], [["b"]]).rows == ((Cell("b"),),)


def test_long_names_break_at_their_underscores():
    frame = pd.DataFrame({"name": ["Middle_Temporal_Gyrus,_<b>", "sub_01"]})
    html = page_html(Page("names", sections=(Section("one", tables=(frame_table(frame),)),)))
    assert "Middle_<wbr>Temporal_<wbr>Gyrus,_<wbr>&lt;b&gt;" in html
    assert "sub_01" in html


def test_missing_whole_numbers_are_dashes() -> None:
    frame = pd.DataFrame({"edges": pd.array([3, None], dtype="Int64")})
    cells = [row[0] for row in frame_table(frame).rows]
    assert [cell.text for cell in cells] == ["3", "–"]
