"""Tables in text files, separated by comma, semicolon or tab."""

from __future__ import annotations

import csv
import gzip
import io
import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from plaggm.read_errors import check_memory
from plaggm.tables.names import TableError, checked_names

# Delimiters for files whose extension does not imply one, and their names in messages.
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
# Extensions of files that are separated by tabs.
TABBED = (".tsv", ".tab")
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
# First bytes of files of other kinds.
SIGNATURES = {
    b"PAR1": "a Parquet file (.parquet)",
    b"ARROW1": "a Feather file (.feather)",
    b"\x93NUMPY": "a NumPy file (.npy)",
    b"PK\x03\x04": "an Excel (.xlsx) or NumPy (.npz) file",
    b"\xd0\xcf\x11\xe0": "an old or encrypted Excel file; save it as .xlsx without a password",
    b"\x1f\x8b": "a compressed file; decompress it first",
}
UTF16 = (b"\xff\xfe", b"\xfe\xff")
# Copies of a text that are held in memory while it is read: bytes, characters and the table.
COPIES = 3
# Bytes that are decompressed at a time.
BLOCK = 16_000_000


def read_text(
    path: Path,
    *,
    delimiter: str | None = None,
    numbers_as_names: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """Read a text table in UTF-8 whose first line names the columns.

    Parameters
    ----------
    path : Path
        File, which is decompressed if its name ends in ``.gz``.
    delimiter : str, optional
        By default it follows from the extension of the file or is the most frequent one in its first line.
    numbers_as_names : bool
        Whether columns may all be named by numbers.
    **options
        Further arguments of ``pandas.read_csv`` about values, such as ``dtype``.
    """
    text = _text_of(path)
    delimiter = _delimiter(path, text) if delimiter is None else delimiter
    first = next(_records(path, text, delimiter), None)
    if first is None:
        raise TableError(f"{path} is empty.")
    names = [name.strip() for name in first[1]]
    if not numbers_as_names and all(_is_number(name) for name in names):
        raise TableError(
            f"The first line of {path} holds numbers where the names of the columns should be. Write "
            "the names into the first line."
        )
    names = checked_names(names, path)
    try:
        with warnings.catch_warnings():
            # pandas only warns about a first row with too many values.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.StringIO(text),
                sep=delimiter,
                header=0,
                names=names,
                index_col=False,
                skipinitialspace=True,
                decimal=_decimal(path, text, delimiter),
                low_memory=False,
                **options,
            )
    except (ValueError, pd.errors.ParserWarning) as error:
        _check_lengths(path, text, delimiter, len(names))
        raise TableError(_reason(path, text, delimiter)) from error
    if len(names) > 1 and frame.iloc[:, -1].isna().any():
        # Rows that end early look like rows with missing values.
        _check_lengths(path, text, delimiter, len(names))
    return frame


def line_of_record(path: Path, row: int) -> int | None:
    """Number of the line that holds a row, which is counted from zero without the header."""
    text = _text_of(path)
    for number, (line, _) in enumerate(_records(path, text, _delimiter(path, text))):
        if number == row + 1:
            return line
    return None


def kind_by_content(start: bytes) -> str | None:
    """The file format recognised by its first bytes, if any."""
    return next((kind for mark, kind in SIGNATURES.items() if start.startswith(mark)), None)


def _content(path: Path) -> bytes:
    """The decompressed bytes of a file; raises if memory does not suffice for their copies."""
    if path.suffix.lower() != ".gz":
        check_memory(COPIES * path.stat().st_size)
        return path.read_bytes()
    content = bytearray()
    with gzip.open(path) as file:
        while block := file.read(BLOCK):
            content += block
            check_memory(COPIES * len(content))
    return bytes(content)


def _text_of(path: Path) -> str:
    content = _content(path)
    if content.startswith(UTF16):
        raise TableError(f"{path} is UTF-16 text; save it as UTF-8.")
    kind = kind_by_content(content)
    if kind is not None:
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


def delimiter_of(extension: str, line: str) -> str:
    """The delimiter: a tab if the extension implies it, else the most frequent one in the first line.

    Examples
    --------
    >>> delimiter_of(".csv", 'wheat;"iron, raw, cast";gold')
    ';'
    """
    if extension.lower() in TABBED:
        return "\t"
    return max(DELIMITERS, key=re.sub(r'"[^"]*"', "", line).count)


def decimal_mark(delimiter: str, fields: Iterable[str]) -> str:
    """A comma if a value of a row is written with one, else a point.

    Examples
    --------
    >>> decimal_mark(";", ["1,5", "2"]), decimal_mark(",", ["1", "5"])
    (',', '.')
    """
    commas = any(DECIMAL_COMMA.fullmatch(field.strip()) for field in fields)
    return "," if delimiter != "," and commas else "."


def _delimiter(path: Path, text: str) -> str:
    first = re.split(r"[\r\n]", text.lstrip("\r\n"), maxsplit=1)[0]
    return delimiter_of(path.suffix, first)


def _decimal(path: Path, text: str, delimiter: str) -> str:
    records = _records(path, text, delimiter)
    next(records, None)
    return decimal_mark(delimiter, next(records, (0, []))[1])


def _records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and fields of every record that is not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    line = 1
    try:
        for fields in reader:
            if fields and (len(fields) > 1 or fields[0].strip()):
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise TableError(
            f"The row from line {line} of {path} on holds a value of more than "
            f"{csv.field_size_limit():,} characters. Leave such a column out, or close a quote that "
            "is left open."
        ) from error


def _check_lengths(path: Path, text: str, delimiter: str, expected: int) -> None:
    """Raise for the first row with another number of values than there are names."""
    for line, fields in _records(path, text, delimiter):
        if len(fields) != expected:
            raise TableError(
                f"Line {line} of {path} has {len(fields)} values where the first line has "
                f"{expected} names. Every row needs one value for each name, separated by "
                f"{DELIMITERS[delimiter]}."
            )


def _reason(path: Path, text: str, delimiter: str) -> str:
    """The error message for a text that cannot be read although all rows have the right length."""
    if text.count('"') % 2:
        last = max(line for line, _ in _records(path, text, delimiter))
        return f"{path} cannot be read as a table: a quote in line {last} is never closed."
    return f"{path} cannot be read as a table: its values are not separated by {DELIMITERS[delimiter]}."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
