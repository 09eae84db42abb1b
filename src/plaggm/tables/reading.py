"""Reading a table from a file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from plaggm.read_errors import path_problem, reason_in_words
from plaggm.tables.columns import read_arrow, read_numpy
from plaggm.tables.names import MORE_MISSING, TableError
from plaggm.tables.sheets import read_excel
from plaggm.tables.text import kind_by_content, line_of_record, read_text


class Format(NamedTuple):
    """A file format.

    Attributes
    ----------
    name : str
        Name of the kind of file, for messages.
    read : callable
        Returns a DataFrame, given a path and for Excel the name of a sheet.
    package : str, optional
        Package needed for reading, in addition to the requirements of plaggm.
    """

    name: str
    read: Callable[..., pd.DataFrame]
    package: str | None = None


TEXT, EXCEL = (
    Format("a text table", partial(read_text, na_values=list(MORE_MISSING))),
    Format("an Excel file", read_excel, "openpyxl"),
)
FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), TEXT),
    ".parquet": Format("a Parquet file", read_arrow, "pyarrow"),
    ".feather": Format("a Feather file", read_arrow, "pyarrow"),
    ".xlsx": EXCEL,
    **dict.fromkeys((".npy", ".npz"), Format("a NumPy file", read_numpy)),
}


def read_table(path: Path, *, sheet: str | None = None) -> pd.DataFrame:
    r"""Read a table with named columns, one row for each sample.

    The file extension determines the format: ``.csv``, ``.tsv``, ``.tab`` and ``.txt`` are text in UTF-8
    with names in the first line, separated by comma, semicolon or tab; ``.parquet``, ``.feather`` and
    ``.xlsx`` are the formats of that name; ``.npy`` holds a matrix (columns x0, x1, ...) or a structured
    array, ``.npz`` several arrays with the same number of rows. Nothing in the file is executed, and sizes
    are checked before anything is loaded.

    Parameters
    ----------
    path : Path
    sheet : str, optional
        Sheet of an Excel file; by default the first.

    Returns
    -------
    DataFrame
        Table with unique, non-empty column names. Text is not converted. Empty cells of text files and
        sheets are missing values, as are NA and the like, ``.``, ``-`` and ``?``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "prices.csv"
    ...     _ = path.write_text("steel,wheat\n1.5,2\n1.7,3\n")
    ...     read_table(path)
       steel  wheat
    0    1.5      2
    1    1.7      3
    """
    path = Path(path)
    if problem := path_problem(path):
        raise TableError(f"Cannot read {path} ({problem}).")
    if path.is_dir():
        raise TableError(f"{path} is a folder; name a file in it.")
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise TableError(
            f"{path} has no known file extension; use one of {', '.join(sorted(FORMATS))}."
        )
    if sheet is not None and kind is not EXCEL:
        raise TableError(f"{path} is not an Excel file, so it has no sheet {sheet!r}.")
    try:
        with path.open("rb") as file:
            start = file.read(8)
        if not start:
            raise TableError(f"{path} is empty.")
        if kind.package is not None and find_spec(kind.package) is None:
            raise TableError(f"Reading {path} needs {kind.package}: pip install 'plaggm[cli]'")
        frame = kind.read(path, sheet) if kind is EXCEL else kind.read(path)
    except TableError:
        raise
    except FileNotFoundError:
        raise TableError(f"There is no file {path}.{_near_file(path)}") from None
    except Exception as error:
        # Damaged files cause errors of many kinds in the readers.
        if isinstance(error, OSError) and error.strerror:
            raise TableError(f"Cannot read {path} ({error.strerror}).") from error
        looks = kind_by_content(start)
        hint = f"; it looks like {looks}" if looks and path.suffix.lower() not in looks else ""
        raise TableError(
            f"{path} cannot be read as {kind.name} ({reason_in_words(error)}{hint})."
        ) from error
    if not len(frame):
        raise TableError(f"{path} has no rows below its names.")
    return frame


def line_of_row(path: Path, row: int) -> int | None:
    """Number of the line of a text file, or row of a sheet, that holds a row of its table; None otherwise.

    Parameters
    ----------
    path : Path
    row : int
        Number of the row, from zero, without the header.
    """
    kind = FORMATS.get(path.suffix.lower())
    if kind is EXCEL:
        return row + 2
    return line_of_record(path, row) if kind is TEXT else None


def _near_file(path: Path) -> str:
    from difflib import get_close_matches

    if not path.parent.is_dir():
        return ""
    near = get_close_matches(path.name, [entry.name for entry in path.parent.iterdir()], 1)
    return f" Did you mean {path.parent / near[0]}?" if near else ""
