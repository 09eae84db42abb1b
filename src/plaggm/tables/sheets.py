"""Tables in Excel files, read row by row so that a few distant cells do not exhaust the memory."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plaggm.memory import in_bytes
from plaggm.read_errors import UnreadableFile, check_memory
from plaggm.tables.names import MORE_MISSING, TableError, checked_names
from plaggm.wording import listed, shown

# Largest numbers of rows and columns of a sheet.
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
# A sheet with more cells than this, of which a smaller share than this is filled, is not a table.
MANY_PLACES, SMALLEST_SHARE = 1_000_000, 0.01
# Bytes of cells in memory for each byte of a sheet's text.
EXPANSION = 5
# Size and compression ratio of a member of the archive beyond which it is refused.
MANY_BYTES, MOST_COMPRESSED = 10_000_000, 100
# Text of cells that are missing values or errors.
MISSING = {
    *("", "#N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "-NaN"),
    *("-nan", "#N/A N/A", "-1.#IND", "-1.#QNAN", "1.#IND", "1.#QNAN"),
    *MORE_MISSING,
    *("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!"),
}


def read_excel(path: Path, sheet: str | None) -> pd.DataFrame:
    """Read a sheet, by default the first, with names of the columns in its first row."""
    from openpyxl import load_workbook

    _check_archive(path)
    # Opened here, since openpyxl does not close a file after an error in its rows.
    with path.open("rb") as file, warnings.catch_warnings():
        # Warnings about styles and validations are irrelevant.
        warnings.simplefilter("ignore", UserWarning)
        book = load_workbook(file, read_only=True, data_only=True, keep_links=False)
        try:
            sheets = {found.title: found for found in book.worksheets}
            if not sheets:
                raise UnreadableFile("it has no sheet with cells")
            if sheet is not None and sheet not in sheets:
                raise TableError(
                    f"{path} has no sheet {sheet!r}; it has {listed(map(shown, sheets))}."
                )
            chosen = next(iter(sheets.values())) if sheet is None else sheets[sheet]
            # The stored dimensions of a sheet may be wrong.
            chosen.reset_dimensions()
            rows, columns = _filled_rows(chosen.iter_rows(values_only=True))
        finally:
            book.close()
    if not columns:
        raise TableError(f"{path} is empty.")
    values = [[row[k] if k < len(row) else np.nan for row in rows] for k in columns]
    names = ["" if pd.isna(cells[0]) else str(cells[0]).strip() for cells in values]
    frame = pd.DataFrame(
        {
            name: pd.Series(cells[1:], dtype=object)
            for name, cells in zip(checked_names(names, path), values, strict=True)
        }
    )
    return frame.infer_objects()


def _filled_rows(rows: Iterable[tuple[Any, ...]]) -> tuple[list[list[Any]], list[int]]:
    """Values of all rows up to the last filled one, and the numbers of the filled columns."""
    kept: list[list[Any]] = []
    columns: set[int] = set()
    places = filled = 0
    for number, row in enumerate(rows, 1):
        if number > MOST_ROWS:
            raise UnreadableFile(f"it has a cell below row {MOST_ROWS:,}, where no sheet has one")
        if len(row) > MOST_COLUMNS:
            raise UnreadableFile(f"row {number:,} has {len(row):,} cells, and no sheet has as many")
        values = [_value(cell) for cell in row]
        present = [k for k, value in enumerate(values) if _filled(value)]
        places += len(row)
        if present:
            kept += [[]] * (number - 1 - len(kept))
            kept.append(values[: present[-1] + 1])
            columns.update(present)
            filled += len(present)
            _check_places(max(places, number * len(columns)), filled, number, present[-1] + 1)
    return kept, sorted(columns)


def _value(cell: Any) -> Any:
    """A cell as pandas reads it: integers for whole numbers, NaN for missing values and errors."""
    if cell is None or (isinstance(cell, str) and cell in MISSING):
        return np.nan
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return cell


def _filled(value: Any) -> bool:
    return not (isinstance(value, float) and np.isnan(value))


def _check_places(places: int, filled: int, row: int, column: int) -> None:
    """Raise for sheets of which few cells are filled."""
    if places > MANY_PLACES and filled < SMALLEST_SHARE * places:
        from openpyxl.utils import get_column_letter

        cell = f"{get_column_letter(column)}{row}"
        raise UnreadableFile(
            f"its cells are spread over {places:,} places up to {cell}, of which {filled:,} are filled; "
            "delete cells far away from the table"
        )


def _check_archive(path: Path) -> None:
    """Raise for an archive whose members do not fit into memory or are compressed too strongly."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    for member in members:
        size, packed = member.file_size, member.compress_size
        if size > MANY_BYTES and size > MOST_COMPRESSED * packed:
            raise UnreadableFile(
                f"{member.filename!r} in it would grow from {in_bytes(packed)} to {in_bytes(size)}"
            )
    check_memory(EXPANSION * sum(member.file_size for member in members))
