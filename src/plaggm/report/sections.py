"""Pages made of sections (words, pictures, tables, views), as HTML or as Markdown."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from plaggm.atomic_files import write_file
from plaggm.report.rendering import render_page

# Default number of rows of a table on a page; files contain all rows.
SHOWN_ROWS = 12
# Number of shades for each sign of a coloured cell.
SHADES = 9


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
class Cell:
    """A cell of a table.

    Attributes
    ----------
    text : str
    number : bool
        Whether the cell is aligned as a number.
    link : str
        Address, relative to the page; none if empty.
    shade : int
        Colour by sign and strength, from -SHADES to SHADES; 0 for none.
    """

    text: str
    number: bool = False
    link: str = ""
    shade: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a page.

    Attributes
    ----------
    heads : tuple of str
    rows : tuple of tuples of Cell
    note : str
        Note below the table, such as the file that contains all rows.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page.

    Attributes
    ----------
    title : str
    words : tuple of str
        Paragraphs; text between backquotes is code.
    pictures : tuple of Picture
    tables : tuple of Table
    items : tuple of (str, str)
        Items of a list, each with its subject and its text.
    views : dict of str to str
        Interactive pages by title, shown in a sandboxed frame.
    level : int
        Level of the heading.
    """

    title: str
    words: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    items: tuple[tuple[str, str], ...] = ()
    views: dict[str, str] = field(default_factory=dict)
    level: int = 2


@dataclass(frozen=True, slots=True)
class Page:
    """A page.

    Attributes
    ----------
    title : str
    kind : str
        Text beside the name of the program.
    tiles : tuple of (str, str)
        Numbers with their labels.
    summary : tuple of str
        Paragraphs.
    sections : tuple of Section
    """

    title: str
    kind: str = ""
    tiles: tuple[tuple[str, str], ...] = ()
    summary: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()


def frame_table(frame: pd.DataFrame, file: str = "", most: int | None = SHOWN_ROWS) -> Table:
    """The first rows of a DataFrame, formatted for a page.

    Parameters
    ----------
    frame : DataFrame
    file : str
        Name of the file with all rows.
    most : int or None
        Number of rows that are shown; None for all.

    Returns
    -------
    Table
    """
    shown = frame if most is None else frame.head(most)
    numeric = [pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes]
    rows = tuple(
        tuple(
            # Missing values are aligned like the other values of their column.
            Cell("–", number=number) if pd.isna(value) else _cell(value)
            for value, number in zip(row, numeric, strict=True)
        )
        for row in shown.itertuples(index=False, name=None)
    )
    left_out = len(frame) - len(shown)
    if left_out:
        rows_left = "1 more row" if left_out == 1 else f"{left_out} more rows"
        note = f"{rows_left}{f' in {file}' if file else ''}."
    else:
        note = f"The table is in {file}." if file else ""
    return Table(tuple(str(name).replace("_", " ") for name in frame.columns), rows, note)


def text_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table of texts."""
    return Table(tuple(heads), tuple(tuple(map(Cell, row)) for row in rows))


def strength_cell(value: float, strongest: float, text: str) -> Cell:
    """A cell whose colour shows sign and strength; empty for zero.

    Examples
    --------
    >>> strength_cell(-0.2, 0.4, "-0.20").shade, strength_cell(0.0, 0.4, "0.00").text
    (-5, '')
    """
    if not value:
        return Cell("", True)
    return Cell(
        text, True, shade=int(math.copysign(math.ceil(SHADES * abs(value / strongest)), value))
    )


def write_html(path: Path, page: Page) -> Path:
    """Write a page as one self-contained HTML file.

    Parameters
    ----------
    path : Path
    page : Page

    Returns
    -------
    Path
    """
    # Names from a file may contain lone surrogates, which UTF-8 cannot encode.
    return write_file(path, page_html(page).encode("utf-8", errors="replace"))


def page_html(page: Page) -> str:
    """A page as HTML."""
    views = {name: html for section in page.sections for name, html in section.views.items()}
    return render_page(
        "sections.html.j2",
        scripts=("views.js",) if views else (),
        payload=share_lines(views) if views else None,
        frames=tuple(views.values()),
        page=page,
    )


def write_markdown(path: Path, page: Page) -> Path:
    """Write a page in Markdown; see :func:`page_markdown`.

    Parameters
    ----------
    path : Path
        Pictures are linked relative to its folder, in which they must be.
    page : Page

    Returns
    -------
    Path
    """
    return write_file(path, page_markdown(page, path.parent).encode("utf-8", errors="replace"))


def page_markdown(page: Page, folder: Path) -> str:
    """A page in Markdown, which links to its pictures and has neither tiles nor interactive views.

    Parameters
    ----------
    page : Page
    folder : Path
        Folder of the page, relative to which pictures are linked.

    Returns
    -------
    str
    """
    parts = [f"# {_plain(page.title)}", *map(_plain, page.summary)]
    for section in page.sections:
        if section.title:
            parts.append(f"{'#' * section.level} {_plain(section.title)}")
        parts += map(_plain, section.words)
        for picture in section.pictures:
            place = picture.path.relative_to(folder).as_posix()
            parts.append(f"![{_plain(picture.caption)}]({place})")
        for table in section.tables:
            parts += [markdown_table(table), *([_plain(table.note)] if table.note else [])]
        if section.items:
            items = (f"- **{_plain(about)}** {_plain(text)}" for about, text in section.items)
            parts.append("\n".join(items))
    return "\n\n".join(parts) + "\n"


def markdown_table(table: Table) -> str:
    """A table in Markdown.

    Examples
    --------
    >>> print(markdown_table(text_table(["p", "AUC"], [["10", "0.9"]])))
    | p | AUC |
    |---|---|
    | 10 | 0.9 |
    """
    lines = [f"| {' | '.join(map(_in_cell, table.heads))} |", f"|{'---|' * len(table.heads)}"]
    for row in table.rows:
        lines.append(f"| {' | '.join(_in_cell(cell.text) for cell in row)} |")
    return "\n".join(lines)


def share_lines(pages: dict[str, str]) -> dict[str, Any]:
    r"""Encode several pages as numbers of shared lines, so that a common library is stored once.

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


def _cell(value: Any) -> Cell:
    if isinstance(value, float):
        return Cell("–" if value != value else f"{value:.3g}", True)
    return Cell(str(value), isinstance(value, int) and not isinstance(value, bool))


def _plain(text: str) -> str:
    """Text escaped for Markdown, except for code between backquotes."""
    return " ".join(text.split()).replace("*", "\\*").replace("<", "&lt;")


def _in_cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")
