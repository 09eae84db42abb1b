"""The study's report: one HTML page that needs no other file."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from plaggm.atomic_files import write_file

# Rows of a table that the page shows; the files hold all.
SHOWN_ROWS = 12


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture with its caption.

    Attributes
    ----------
    path : Path
        PNG.
    caption : str
    """

    path: Path
    caption: str

    @property
    def source(self) -> str:
        """The picture as a data URL."""
        return "data:image/png;base64," + base64.b64encode(self.path.read_bytes()).decode()


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page.

    Attributes
    ----------
    title : str
    words : tuple of str
        Paragraphs.
    pictures : tuple of Picture
    table : DataFrame, optional
    file : str
        Where all rows of the table are.
    views : dict of str to str
        Interactive pages by title.
    """

    title: str
    words: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    table: pd.DataFrame | None = None
    file: str = ""
    views: dict[str, str] = field(default_factory=dict)

    @property
    def rows(self) -> list[list[str]]:
        """The first rows of the table as text."""
        if self.table is None:
            return []
        return [[_cell(value) for value in row] for row in self.table.head(SHOWN_ROWS).to_numpy()]

    @property
    def left_out(self) -> int:
        """Rows that are not shown."""
        return 0 if self.table is None else max(len(self.table) - SHOWN_ROWS, 0)


def write_page(
    path: Path,
    *,
    title: str,
    tiles: Sequence[tuple[str, str]],
    summary: Sequence[str],
    sections: Sequence[Section],
) -> None:
    """Write the page.

    Parameters
    ----------
    path : Path
    title : str
    tiles : sequence of (number, label)
    summary : sequence of str
        Paragraphs.
    sections : sequence of Section
    """
    from jinja2 import Environment

    folder = files("plaggm.fmri").joinpath("templates")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(folder.joinpath("study.html.j2").read_text(encoding="utf-8"))
    views = {name: html for section in sections for name, html in section.views.items()}
    text = template.render(
        title=title,
        tiles=tiles,
        summary=summary,
        sections=sections,
        style=folder.joinpath("study.css").read_text(encoding="utf-8"),
        views=script_json(share_lines(views)),
        has_views=bool(views),
    )
    write_file(path, text.encode("utf-8", errors="replace"))


def write_markdown(
    path: Path, *, title: str, summary: Sequence[str], sections: Sequence[Section]
) -> None:
    """Write the same as a page in Markdown, which links to its pictures and has no interactive views.

    Parameters
    ----------
    path : Path
        Pictures are linked relative to its folder, in which they must be.
    title : str
    summary : sequence of str
    sections : sequence of Section
    """
    parts = [f"# {title}", *summary]
    for section in sections:
        parts += [f"## {section.title}", *section.words]
        for picture in section.pictures:
            place = picture.path.relative_to(path.parent).as_posix()
            parts.append(f"![{picture.caption}]({place})")
        if section.table is not None and section.rows:
            lines = [
                [str(name).replace("_", " ") for name in section.table.columns],
                ["---"] * len(section.table.columns),
                *section.rows,
            ]
            parts.append("\n".join("| " + " | ".join(cells) + " |" for cells in lines))
        if section.left_out:
            parts.append(f"{section.left_out} more rows in {section.file}.")
    write_file(path, "\n\n".join(part.replace("*", "\\*") for part in parts) + "\n")


def share_lines(pages: dict[str, str]) -> dict[str, Any]:
    r"""Several pages as numbers of shared lines, so that a library they all hold is kept once.

    Examples
    --------
    >>> share_lines({"a": "x\ny", "b": "x\nz"})
    {'lines': ['x', 'y', 'z'], 'pages': {'a': [0, 1], 'b': [0, 2]}}
    """
    place: dict[str, int] = {}
    numbered = {
        name: [place.setdefault(line, len(place)) for line in text.split("\n")]
        for name, text in pages.items()
    }
    return {"lines": list(place), "pages": numbered}


def script_json(value: Any) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(value).replace("<", "\\u003c").replace("\u2028", "\\u2028")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "–" if value != value else f"{value:.3g}"
    return str(value)
