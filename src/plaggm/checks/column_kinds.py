"""Classification of a column by its values and its name: measure, id, date or text."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from plaggm.array_types import Array
from plaggm.data import CONSTANT, LARGEST, column_numbers

KindName: TypeAlias = Literal[
    "measure",
    "binary",
    "ordinal",
    "count",
    "empty",
    "constant",
    "row number",
    "id",
    "date",
    "text",
    "written number",
    "mixed",
]

# Smallest number of rows from which ids and row numbers are recognised.
FEWEST_ROWS = 10
# Largest number of different whole numbers that are levels of a scale.
MOST_LEVELS = 10
# Share of the cells of a text column that may be numbers, and share that must look like a date or a unit.
SOME, NEARLY_ALL = 0.05, 0.95
# Smallest share of differences between rows that are one, if rows are numbered within runs.
STEPS = 0.9
# Largest range of row numbers with gaps, in numbers of rows.
SPARSE = 2
# Relative tolerance of evenly spaced values.
EVEN = 1e-6
# Largest number of text cells that are examined.
LOOKED_AT = 1000
# Largest number of different units of a column of numbers with units.
MOST_UNITS = 3

# Last word of the names of ids; whole names of ids; and whole names of row numbers, which must all differ.
ID_ENDINGS = {"id", "ids", "uid", "uuid", "guid", "pid"}
ID_NAMES = {"subject", "participant", "respondent", "patient", "subj", "person", "sub"}
NUMBER_NAMES = {
    *("rowname", "rownames", "rownumber", "rowid", "unnamed", "unnamed0"),
    *("index", "idx", "row", "rownum", "nr", "number", "case", "record", "key", "obs"),
}
YEARS = (1800, 2200)
# Seconds since 1970 of the years 1990 to 2100; such numbers are times if they increase.
SECONDS = (6.3e8, 4.1e9)
# Number of rows from which whole numbers that increase in every row count as row numbers.
ORDERED_ROWS = 100
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
DATES = re.compile(
    r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?([ T]\d{1,2}:.*)?Z?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?"
    r"|\d{1,2}[- ]?[A-Za-z]{3,9}[-, ]*\d{2,4}"
    r"|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}"
    r"|\d{4}[- ]?[QqWwMm]\d{1,2}"
    r"|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
)
WRITTEN = re.compile(r"([^\w\s]?)\s?[+-]?\d[\d.,' ]*\s?(\D{0,10})")


@dataclass(frozen=True, slots=True)
class ColumnKind:
    """The kind of a column, with the reason."""

    name: KindName
    why: str = ""

    @property
    def usable(self) -> bool:
        """Whether the column can be a variable of a network."""
        return self.name in ("measure", "binary", "ordinal", "count")


def column_kind(column: pd.Series) -> ColumnKind:
    """Classify a column.

    Parameters
    ----------
    column : Series
        Values as they were read, with the name of the column.

    Examples
    --------
    >>> column_kind(pd.Series(range(1, 31), name="n")).name
    'row number'
    >>> column_kind(pd.Series(["2024-01-05", "2024-01-06"], name="day")).name
    'date'
    """
    present = ~column.isna().to_numpy()
    if not present.any():
        return ColumnKind("empty", "has no values")
    if pd.api.types.is_datetime64_any_dtype(column):
        return ColumnKind("date", "holds dates")
    numbers = column_numbers(column)
    text = present & np.isnan(numbers)
    if text.any():
        share = np.count_nonzero(text) / np.count_nonzero(present)
        words = WORDS.findall(str(column.name))
        # Some ids of letters and digits are valid numbers.
        if words and words[-1].casefold() in ID_ENDINGS and share > SOME:
            return ColumnKind("text", f"holds ids such as {str(column[text].iloc[0])[:40]!r}")
        return _kind_of_text(column[text], share)
    return _kind_of_numbers(numbers[present], str(column.name), complete=bool(present.all()))


def _kind_of_text(cells: pd.Series, share: float) -> ColumnKind:
    """The kind of a column, from its text cells and their share."""
    seen = cells.iloc[:LOOKED_AT]
    first = str(seen.iloc[0])[:40]
    if share < 1.0 - SOME:
        return ColumnKind("mixed", f"holds numbers, and {first!r}")
    dated = [
        isinstance(cell, datetime.date | datetime.time)
        or DATES.fullmatch(str(cell).strip()) is not None
        for cell in seen
    ]
    if np.mean(dated) >= NEARLY_ALL:
        return ColumnKind("date", f"holds dates such as {first!r}")
    written = [WRITTEN.fullmatch(str(cell).strip()) for cell in seen]
    units = {match.groups() for match in written if match is not None}
    if np.mean([match is not None for match in written]) >= NEARLY_ALL and len(units) <= MOST_UNITS:
        return ColumnKind("written number", f"holds numbers written as {first!r}")
    return ColumnKind("text", f"holds text such as {first!r}")


def _kind_of_numbers(values: Array, name: str, *, complete: bool) -> ColumnKind:
    if not np.all(np.abs(values) <= LARGEST):
        return ColumnKind("mixed", f"holds a number beyond {LARGEST:g}")
    low, high = values.min(), values.max()
    if high - low <= CONSTANT * max(abs(low), abs(high)):
        return ColumnKind("constant", f"is {values[0]:.6g} in every row")
    distinct = np.unique(values)
    whole = bool(np.all(values == np.round(values)))
    if whole and _is_date(values, name):
        return ColumnKind("date", f"holds dates as numbers, such as {values[0]:.0f}")
    if complete and len(values) >= FEWEST_ROWS:
        why = _row_number(values, whole)
        if why:
            return ColumnKind("row number", why)
    if whole and len(values) >= FEWEST_ROWS:
        why = _id(name, len(distinct) == len(values), len(distinct) > 2)
        if why:
            return ColumnKind("id", why)
    if len(distinct) == 2:
        return ColumnKind("binary", f"has two values, {distinct[0]:.6g} and {distinct[1]:.6g}")
    if whole and len(distinct) <= MOST_LEVELS:
        return ColumnKind("ordinal", f"has {len(distinct)} levels, {low:.6g} to {high:.6g}")
    # Counts are concentrated near zero: their standard deviation exceeds half of their mean.
    if whole and low >= 0.0 and values.std() > 0.5 * values.mean():
        return ColumnKind("count", f"holds counts, {low:.6g} to {high:.6g}")
    return ColumnKind("measure")


def _row_number(values: Array, whole: bool) -> str:
    """The reason why values only number the rows; empty if they do not."""
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.diff(values)
    if np.all(steps == 1.0):
        return "increases by one in every row"
    if steps[0] != 0.0 and np.all(np.abs(steps - steps[0]) <= EVEN * np.abs(steps[0])):
        return f"changes by {steps[0]:.6g} in every row"
    if not whole:
        return ""
    if np.all(steps > 0.0) and values[-1] - values[0] <= SPARSE * len(values):
        return "numbers the rows, with gaps"
    if np.all(steps > 0.0) and len(values) >= ORDERED_ROWS:
        return "increases in every row"
    one = steps == 1.0
    if np.mean(one) >= STEPS and np.all(steps[~one] < 0.0):
        return "numbers the rows of each run"
    return ""


def _is_date(values: Array, name: str) -> bool:
    """Whether whole numbers are years by their name, dates such as 20240131, or increasing times."""
    if name.strip().casefold() in ("year", "jahr", "annee", "año"):
        return bool(np.all((values >= YEARS[0]) & (values <= YEARS[1])))
    if np.all((values >= SECONDS[0]) & (values <= SECONDS[1])):
        return len(values) >= FEWEST_ROWS and bool(np.mean(np.diff(values) >= 0.0) >= NEARLY_ALL)
    year, month, day = values // 10_000, values // 100 % 100, values % 100
    known = (year >= YEARS[0]) & (year <= YEARS[1]) & (month >= 1) & (month <= 12)
    return bool(np.all(known & (day >= 1) & (day <= 31)))


def _id(name: str, differ: bool, several: bool) -> str:
    """The reason why whole numbers are ids; empty if they are not."""
    words = [word.casefold() for word in WORDS.findall(name)]
    if not words or not several:
        return ""
    if words[-1] in ID_ENDINGS or (len(words) == 1 and words[0] in ID_NAMES):
        return "is an id by its name" + (" and differs in every row" if differ else "")
    plain = "".join(words)
    return (
        "is an id by its name and differs in every row" if differ and plain in NUMBER_NAMES else ""
    )
