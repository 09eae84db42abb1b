"""Tables from files: CSV, TSV, Parquet, Feather, Excel and NumPy, with errors that name file and line."""

from __future__ import annotations

import csv
import io
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# How tables are parted that do not say so by their ending.
DELIMITERS = (",", ";", "\t")
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
# How files of other kinds begin.
SIGNATURES = {
    b"PAR1": "a Parquet file (.parquet)",
    b"ARROW1": "a Feather file (.feather)",
    b"\x93NUMPY": "a NumPy file (.npy)",
    b"PK\x03\x04": "an Excel (.xlsx) or NumPy (.npz) file",
    b"\xd0\xcf\x11\xe0": "an old Excel file; save it as .xlsx",
    b"\x1f\x8b": "a compressed file; decompress it first",
}
UTF16 = (b"\xff\xfe", b"\xfe\xff")
# Names shown in a message.
SHOWN = 5
# Given to an unnamed first column, where pandas and R write the labels of the rows.
ROW_LABELS = "(row)"


class TableError(ValueError):
    """A file that cannot be read as a table; the message says why and what to do."""


def read_table(path: Path, *, sheet: str | None = None) -> pd.DataFrame:
    r"""Read a table with named columns, one row for each sample.

    The ending decides: ``.csv``, ``.tsv``, ``.tab`` and ``.txt`` are text in UTF-8 with names in the
    first line (parted by comma, semicolon or tab); ``.parquet``, ``.feather`` and ``.xlsx`` are what they
    say; ``.npy`` holds a matrix (columns x0, x1, ...) or a structured array, ``.npz`` several arrays with
    the same number of rows. Nothing in the file is executed.

    Parameters
    ----------
    path : Path
    sheet : str, optional
        Of an Excel file; the first one without it.

    Returns
    -------
    DataFrame
        Its columns have different, non-empty names. Values are as they were read: text stays text.

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
    if path.is_dir():
        raise TableError(f"{path} is a folder; name a file in it.")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise TableError(
            f"{path} ends in no known format; use one of {', '.join(sorted(_READERS))}."
        )
    if sheet is not None and reader is not _read_excel:
        raise TableError(f"{path} is no Excel file, so it has no sheet {sheet!r}.")
    try:
        if path.stat().st_size == 0:
            raise TableError(f"{path} is empty.")
        frame = reader(path, sheet) if reader is _read_excel else reader(path)
    except FileNotFoundError:
        raise TableError(f"There is no file {path}.{_near_file(path)}") from None
    except OSError as error:
        raise TableError(f"Cannot read {path} ({error.strerror or error}).") from error
    if not len(frame):
        raise TableError(f"{path} has no rows below its names.")
    return frame


def line_of_row(path: Path, row: int) -> int | None:
    """The line of a text file, or of a sheet, that holds a row of its table; None elsewhere.

    Parameters
    ----------
    path : Path
    row : int
        Counted from zero, without the names.
    """
    if path.suffix.lower() == ".xlsx":
        return row + 2
    if _READERS.get(path.suffix.lower()) is not _read_text:
        return None
    text = _text_of(path)
    for number, (line, _) in enumerate(_records(text, _delimiter(path, text))):
        if number == row + 1:
            return line
    return None


def _read_text(path: Path) -> pd.DataFrame:
    text = _text_of(path)
    delimiter = _delimiter(path, text)
    try:
        first = next(_records(text, delimiter), None)
    except csv.Error as error:
        raise TableError(f"{path} cannot be read as a table ({error}).") from error
    if first is None:
        raise TableError(f"{path} is empty.")
    names = [name.strip() for name in first[1]]
    if all(_is_number(name) for name in names):
        raise TableError(
            f"The first line of {path} holds numbers where the names of the columns should be. Write "
            "the names into the first line."
        )
    names = _checked_names(names, path)
    try:
        with warnings.catch_warnings():
            # A first row that is too long is only worth a warning to pandas.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.StringIO(text),
                sep=delimiter,
                header=0,
                names=names,
                index_col=False,
                skipinitialspace=True,
                decimal="," if _has_decimal_comma(text, delimiter) else ".",
                low_memory=False,
            )
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        _check_lengths(path, text, delimiter, len(names))
        raise TableError(f"{path} cannot be read as a table ({error}).") from error
    except (ValueError, csv.Error) as error:
        raise TableError(f"{path} cannot be read as a table ({error}).") from error
    if len(names) > 1 and frame.iloc[:, -1].isna().any():
        # Rows that end early look like rows with missing values.
        _check_lengths(path, text, delimiter, len(names))
    return frame


def _text_of(path: Path) -> str:
    content = path.read_bytes()
    if content.startswith(UTF16):
        raise TableError(f"{path} is UTF-16 text; save it as UTF-8.")
    for signature, kind in SIGNATURES.items():
        if content.startswith(signature):
            raise TableError(f"{path} is not a text table but looks like {kind}.")
    if b"\x00" in content:
        raise TableError(
            f"{path} holds binary data, not a text table (a zero byte at position "
            f"{content.index(0) + 1})."
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{path} is not UTF-8 text: line {line} holds the byte 0x{content[error.start]:02x}. Save "
            "it as UTF-8 (for Latin-1 text: iconv -f latin1 -t utf-8)."
        ) from None


def _delimiter(path: Path, text: str) -> str:
    """A tab by the ending, else what is most frequent in the first line outside quotes."""
    if path.suffix.lower() in {".tsv", ".tab"}:
        return "\t"
    first = re.sub(r'"[^"]*"', "", text.lstrip("\r\n").partition("\n")[0])
    return max(DELIMITERS, key=first.count)


def _has_decimal_comma(text: str, delimiter: str) -> bool:
    if delimiter == ",":
        return False
    records = _records(text, delimiter)
    next(records, None)
    _, fields = next(records, (0, []))
    return any(DECIMAL_COMMA.fullmatch(field.strip()) for field in fields)


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line and fields of every record, blank lines left out."""
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)
    line = 1
    for fields in reader:
        if fields and (len(fields) > 1 or fields[0].strip()):
            yield line, fields
        line = reader.line_num + 1


def _check_lengths(path: Path, text: str, delimiter: str, expected: int) -> None:
    """Raise for the first row with another number of values than there are names."""
    try:
        for line, fields in _records(text, delimiter):
            if len(fields) != expected:
                raise TableError(
                    f"Line {line} of {path} has {len(fields)} values where the first line has "
                    f"{expected} names. Every row needs one value for each name, parted by "
                    f"{_DELIMITER_NAMES[delimiter]}."
                )
    except csv.Error as error:
        raise TableError(f"{path} cannot be read as a table ({error}).") from error


def _checked_names(names: list[str], path: Path) -> list[str]:
    """Names that are there and differ; an unnamed first column holds row labels."""
    if len(names) > 1 and not names[0]:
        names = [ROW_LABELS, *names[1:]]
    unnamed = [str(number) for number, name in enumerate(names, 1) if not name]
    if unnamed:
        raise TableError(f"{path} has columns without a name: number {listed(unnamed)}.")
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise TableError(
            f"{path} has repeated column names: {listed(map(repr, repeated))}. Every column needs a "
            "name of its own."
        )
    return names


def _read_excel(path: Path, sheet: str | None) -> pd.DataFrame:
    _need("openpyxl", path)
    try:
        with pd.ExcelFile(path, engine="openpyxl") as book:
            if sheet is not None and sheet not in book.sheet_names:
                raise TableError(
                    f"{path} has no sheet {sheet!r}; it has {listed(map(repr, book.sheet_names))}."
                )
            chosen = book.sheet_names[0] if sheet is None else sheet
            raw = pd.read_excel(book, sheet_name=chosen, header=None)
    except TableError:
        raise
    except Exception as error:
        raise _unreadable(path, "an Excel file", error) from error
    raw = raw.dropna(axis=1, how="all")
    if not len(raw):
        raise TableError(f"{path} is empty.")
    names = ["" if pd.isna(name) else str(name).strip() for name in raw.iloc[0]]
    frame = raw.iloc[1:].reset_index(drop=True).infer_objects()
    frame.columns = pd.Index(_checked_names(names, path))
    return frame


def _read_arrow(path: Path) -> pd.DataFrame:
    _need("pyarrow", path)
    kind = "a Parquet file" if path.suffix.lower() == ".parquet" else "a Feather file"
    try:
        if path.suffix.lower() == ".parquet":
            from pyarrow import parquet

            table = parquet.ParquetFile(path).read()
        else:
            from pyarrow import feather

            table = feather.read_table(path)
        names = [name for name in table.column_names if not _is_pandas_index(name)]
        _checked_names([str(name) for name in names], path)
        frame = table.to_pandas()
    except (TableError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:
        raise _unreadable(path, kind, error) from error
    # A named index is a column like any other; one without a name only numbers the rows.
    frame = frame.reset_index(drop=frame.index.names == [None])
    return frame.set_axis([str(name) for name in frame.columns], axis=1)


def _is_pandas_index(name: str) -> bool:
    return name.startswith("__index_level_")


def _read_numpy(path: Path) -> pd.DataFrame:
    try:
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            arrays = (
                {"x": stored}
                if isinstance(stored, np.ndarray)
                else {name: stored[name] for name in stored.files}
            )
    except FileNotFoundError:
        raise
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, KeyError) as error:
        raise _unreadable(path, "a NumPy file", error) from error
    rows = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
    too_many = [name for name, array in arrays.items() if array.ndim not in (1, 2)]
    if too_many or len(set(rows.values())) != 1:
        raise TableError(
            f"{path} must hold vectors or matrices with one row for each sample; it holds {shapes}."
        )
    columns: dict[str, NDArray[Any]] = {}
    for name, array in arrays.items():
        for column, values in _columns_of(name, array):
            if column in columns:
                raise TableError(f"{path} has repeated column names: {column!r}.")
            columns[column] = values
    return pd.DataFrame(columns)


def _columns_of(name: str, array: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    if array.dtype.names is not None:
        yield from ((field, array[field].ravel()) for field in array.dtype.names)
    elif array.ndim == 1:
        yield name, array
    else:
        yield from ((f"{name}{k}", array[:, k]) for k in range(array.shape[1]))


def _need(package: str, path: Path) -> None:
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise TableError(f"Reading {path} needs {package}: pip install 'plaggm[cli]'")


def _unreadable(path: Path, kind: str, error: Exception) -> TableError:
    reason = " ".join(str(error).split()) or type(error).__name__
    if "pickle" in reason:
        reason = "it holds Python objects, which are never loaded"
    return TableError(f"{path} cannot be read as {kind} ({reason.rstrip('.')}).")


def _near_file(path: Path) -> str:
    from difflib import get_close_matches

    if not path.parent.is_dir():
        return ""
    near = get_close_matches(path.name, [entry.name for entry in path.parent.iterdir()], 1)
    return f" Did you mean {path.parent / near[0]}?" if near else ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def listed(items: Iterable[str]) -> str:
    """The first few items with commas, and how many more there are.

    Examples
    --------
    >>> listed("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    items = list(items)
    more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return ", ".join(items[:SHOWN]) + more


_DELIMITER_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs"}
_READERS: dict[str, Callable[..., pd.DataFrame]] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), _read_text),
    **dict.fromkeys((".parquet", ".feather"), _read_arrow),
    ".xlsx": _read_excel,
    **dict.fromkeys((".npy", ".npz"), _read_numpy),
}
