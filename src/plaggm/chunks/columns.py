"""Chunks of rows of a table, and the roles of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd

from plaggm.tables.names import ROW_LABELS
from plaggm.wording import listed, shown

# Largest number of column names in a message.
SHOWN = 8


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a table.

    Attributes
    ----------
    x : array or DataFrame of shape (n, p)
        Variables of the rows.
    confounder : array, Series or DataFrame of shape (n,) or (n, m), or None
        Confounders of the rows.
    groups : array or Series of shape (n,), or None
        Group of every row.
    """

    x: Any
    confounder: Any
    groups: Any


@dataclass(frozen=True, slots=True)
class ChunkLabels:
    """Confounders and groups of some rows, without their variables.

    Attributes
    ----------
    n : int
        Number of rows.
    p : int
        Number of variables.
    confounder, groups
        See :class:`Chunk`.
    """

    n: int
    p: int
    confounder: Any
    groups: Any


class RowChunks(Protocol):
    """A table that can be read repeatedly, always in the same order."""

    def rows(self) -> Iterator[Chunk]:
        """Yield all rows."""
        ...

    def labels(self) -> Iterator[ChunkLabels]:
        """Yield confounders and groups of all rows, without reading the variables if possible."""
        ...


def named_columns(confounder: Any, variables: Any, groups: Any) -> ColumnNames:
    """The roles of columns from the names that a caller passed, after checking their types.

    Parameters
    ----------
    confounder : str, list of str or None
    variables : list of str or None
    groups : str or None
    """
    if isinstance(variables, str):
        raise ValueError(f"variables must be a list of column names; got {shown(variables)}.")
    if groups is not None and not isinstance(groups, str):
        raise ValueError(
            "With chunks, groups is the name of a column; labels go into the chunks themselves, as "
            f"(X, confounder, groups). Got {shown(groups)}."
        )
    confounders = _names(confounder)
    if confounders is None:
        raise ValueError(
            "With chunks, confounder is the name of a column or a list of such names; values go into the "
            f"chunks themselves, as (X, confounder). Got {shown(confounder)}."
        )
    found = None if variables is None else _names(variables)
    if found is None and variables is not None:
        raise ValueError(f"variables must be a list of column names; got {shown(variables)}.")
    return ColumnNames(confounders, found, groups)


def _names(given: Any) -> tuple[str, ...] | None:
    """One name or several as a tuple, empty for None; None for values that are not names."""
    if given is None:
        return ()
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable) or not all(isinstance(name, str) for name in given):
        return None
    return tuple(given)


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """The roles of the columns.

    Attributes
    ----------
    confounder : tuple of str
    variables : tuple of str, optional
        By default all columns without another role.
    groups : str, optional
    """

    confounder: tuple[str, ...]
    variables: tuple[str, ...] | None
    groups: str | None

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns of the confounders and of the groups."""
        return self.confounder if self.groups is None else (*self.confounder, self.groups)

    @property
    def given(self) -> bool:
        """Whether any column was named."""
        return bool(self.confounder or self.variables or self.groups)

    def settled(self, present: Sequence[str], where: str) -> ColumnNames:
        """The roles with explicit names of the variables; raises ValueError if columns are missing."""
        wanted = (*self.labels, *(self.variables or ()))
        missing = [name for name in wanted if name not in set(present)]
        if missing:
            raise ValueError(
                f"{where} has no column {quoted(missing)}. Its columns are {quoted(present)}."
            )
        both = [name for name in self.variables or () if name in self.labels]
        if both:
            raise ValueError(
                f"Column {quoted(both)} is named as a variable and as confounder or groups."
            )
        if self.variables is not None:
            return self
        rest = present[1:] if present and present[0] == ROW_LABELS else present
        variables = tuple(name for name in rest if name not in self.labels)
        return ColumnNames(self.confounder, variables, self.groups)

    def split(self, frame: pd.DataFrame) -> Chunk:
        """Split a frame into variables, confounders and groups."""
        return Chunk(
            frame[list(self.variables or ())],
            frame[list(self.confounder)] if self.confounder else None,
            None if self.groups is None else frame[self.groups],
        )


def quoted(names: Iterable[str]) -> str:
    """The first few names in quotes, for a message."""
    return listed(map(repr, names), SHOWN)
