"""Choice of the usable rows of a table with missing values, with warnings about the others.

Rows without their confounder, and rows without any variable, are left out. Rows that miss some of the
variables are left out by ``missing="drop"`` and used by ``missing="em"``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from plaggm.array_types import Array, Index, Labels, Mask
from plaggm.data import ConfounderLike, TableLike
from plaggm.estimators.columns import Columns, read_columns
from plaggm.estimators.serial import run_numbers
from plaggm.group_labels import LabelsLike
from plaggm.parameter_types import Fold, Missing
from plaggm.user_warnings import warn_user
from plaggm.wording import counted, listed, shown

# Number of columns named in a message.
WORST = 3


@dataclass(frozen=True, slots=True)
class MissingCells:
    """Counts of missing cells and of the rows that contain them.

    Attributes
    ----------
    names : tuple of str
        Names of the variables.
    given : int
        Rows of the table.
    without_confounder : int
        Rows that miss a confounder.
    empty : int
        Other rows that miss all variables.
    incomplete : int
        Other rows that miss some variables.
    cells : ndarray of int of shape (p,)
        Missing cells of every column in these rows.
    dropped : bool
        Whether incomplete rows were left out.
    """

    names: tuple[str, ...]
    given: int
    without_confounder: int
    empty: int
    incomplete: int
    cells: Index
    dropped: bool

    @property
    def left_out(self) -> int:
        """Rows that are not used."""
        return self.without_confounder + self.empty + (self.incomplete if self.dropped else 0)

    @property
    def remaining(self) -> bool:
        """Whether used rows have missing cells."""
        return not self.dropped and self.incomplete > 0

    @property
    def usable(self) -> int:
        """Rows with confounder and at least one variable."""
        return self.given - self.without_confounder - self.empty

    @property
    def shares(self) -> Array:
        """Share of missing cells of every column among usable rows: shape (p,)."""
        return self.cells / max(self.usable, 1)

    def __add__(self, other: MissingCells) -> MissingCells:
        return MissingCells(
            self.names,
            self.given + other.given,
            self.without_confounder + other.without_confounder,
            self.empty + other.empty,
            self.incomplete + other.incomplete,
            self.cells + other.cells,
            self.dropped,
        )

    def warn(self) -> None:
        """Warn of rows that were left out."""
        reasons = []
        if self.without_confounder:
            reasons.append(f"{counted(self.without_confounder, 'row')} without confounder")
        if self.empty:
            reasons.append(f"{counted(self.empty, 'row')} without any variable")
        if self.dropped and self.incomplete:
            reasons.append(f"{counted(self.incomplete, 'row')} with missing values")
        if reasons:
            warn_user(
                f"{' and '.join(reasons)} of {self.given:,} in all "
                f"{'was' if self.left_out == 1 else 'were'} left out."
            )

    def diagnostics(self) -> dict[str, object]:
        """Numbers for a result; empty if nothing was missing."""
        if not (self.left_out or self.incomplete):
            return {}
        worst = int(np.argmax(self.cells))
        return {
            "missing": "drop" if self.dropped else "em",
            "rows_given": self.given,
            "rows_without_confounder": self.without_confounder,
            "rows_without_variables": self.empty,
            "incomplete_rows": self.incomplete,
            "missing_share": float(self.shares.mean()),
            "missing_most": self.names[worst],
            "missing_most_share": float(self.shares[worst]),
            "missing_shares": {
                name: float(share)
                for name, share in zip(self.names, self.shares, strict=True)
                if share
            },
        }


@dataclass(frozen=True, slots=True)
class UsedRows:
    """Rows of a table that a fit uses.

    Attributes
    ----------
    given : int
        Rows of the table.
    groups : ndarray of shape (given,) or None
        Group of every row of the table.
    index : ndarray of int of shape (n,)
        Numbers of the used rows.
    """

    given: int
    groups: Labels | None
    index: Index

    def folds(self, folds: Iterable[Fold]) -> list[Fold]:
        """Folds of the table, restricted to the used rows."""
        place = np.full(self.given, -1, dtype=np.intp)
        place[self.index] = np.arange(len(self.index))
        found = []
        for number, fold in enumerate(folds):
            train, test = (place[rows][place[rows] >= 0] for rows in fold)
            if not len(train) or not len(test):
                raise ValueError(
                    f"Fold {number} of cv has no rows left on one side once rows with missing values are "
                    "left out. Use other folds, a number of folds, or missing='em'."
                )
            found.append((train, test))
        return found


@dataclass(frozen=True, slots=True)
class UsableRows:
    """A table, its confounder and its labels, without the rows that cannot be used.

    Attributes
    ----------
    x, confounder, groups, runs
        The used rows of what was given.
    values : ndarray of shape (n, p)
        Variables as numbers, NaN where missing.
    columns : Columns
    missing : MissingCells
    used : UsedRows
    """

    x: TableLike
    confounder: ConfounderLike | None
    groups: LabelsLike | None
    runs: LabelsLike | None
    values: Array
    columns: Columns
    missing: MissingCells
    used: UsedRows


def usable_rows(
    missing: Missing,
    owner: type,
    X: TableLike,
    confounder: ConfounderLike | None = None,
    groups: LabelsLike | None = None,
    runs: LabelsLike | None = None,
    *,
    serial: bool = False,
    fewest: int = 1,
) -> UsableRows:
    """Leave out the rows of a table that cannot be used.

    Parameters
    ----------
    missing : {"drop", "em"}
    owner : type
        Class of the estimator.
    X : array or DataFrame of shape (n, p)
    confounder : array, Series or DataFrame of shape (n,) or (n, m), optional
    groups, runs : array of shape (n,), optional
    serial : bool
        Whether rows are time series, which end where a row is left out.
    fewest : int
        Smallest number of rows.
    """
    found = restricted_rows(
        missing, owner, X, confounder, groups, runs, serial=serial, fewest=fewest
    )
    if not len(found.values):
        counts = found.missing
        raise ValueError(
            f"Not one of the {counts.given} rows can be used with missing={missing!r}: "
            f"{counts.without_confounder} have no confounder, {counts.empty} no variable at all and "
            f"{counts.incomplete} miss some variables (most often {worst_columns(counts)}). "
            + ("Use missing='em', or leave out" if missing == "drop" else "Leave out")
            + " columns that are seldom observed."
        )
    return found


def restricted_rows(
    missing: Missing,
    owner: type,
    X: TableLike,
    confounder: ConfounderLike | None,
    groups: LabelsLike | None,
    runs: LabelsLike | None = None,
    *,
    serial: bool = False,
    fewest: int = 1,
) -> UsableRows:
    """See :func:`usable_rows`; there may be no usable rows."""
    values, columns = read_columns(owner, X, fewest=fewest, missing=True)
    counts, keep = judge_rows(missing, values, confounder, columns.names)
    index = np.flatnonzero(keep)
    used = UsedRows(len(keep), None if groups is None else np.asarray(groups), index)
    if keep.all():
        return UsableRows(X, confounder, groups, runs, values, columns, counts, used)
    if serial:
        # Every row that is left out increases the numbers of the runs after it.
        runs = (run_numbers(runs, used.groups, len(keep)) + np.cumsum(~keep))[index]
    elif runs is not None:
        runs = taken(runs, index)
    x, confounder, groups = (
        None if part is None else taken(part, index) for part in (X, confounder, groups)
    )
    return UsableRows(x, confounder, groups, runs, values[index], columns, counts, used)


def judge_rows(
    missing: Missing, values: Array, confounder: ConfounderLike | None, names: tuple[str, ...]
) -> tuple[MissingCells, Mask]:
    """Counts of missing cells, and which rows are used.

    Parameters
    ----------
    missing : {"drop", "em"}
    values : ndarray of shape (n, p)
    confounder : array, Series or DataFrame of n rows, or None
    names : tuple of str
    """
    gone = np.isnan(values)
    blind = np.zeros(len(values), dtype=bool)
    if confounder is not None:
        table = pd.DataFrame(confounder)
        # A confounder of another length is refused later, by the check of confounders.
        if len(table) == len(values):
            blind = table.isna().to_numpy().any(axis=1)
    empty = gone.all(axis=1) & ~blind
    some = gone.any(axis=1) & ~blind & ~empty
    summary = MissingCells(
        names,
        len(values),
        int(blind.sum()),
        int(empty.sum()),
        int(some.sum()),
        gone[some].sum(axis=0).astype(np.intp),
        missing == "drop",
    )
    keep = ~(blind | empty)
    return summary, keep & ~some if missing == "drop" else keep


def check_observed(missing: MissingCells) -> None:
    """Raise for columns with fewer than two observed cells."""
    observed = missing.usable - missing.cells
    bare = np.flatnonzero(observed < 2)
    if len(bare):
        raise ValueError(
            f"X has columns with no more than one value: "
            f"{listed(repr(missing.names[j]) for j in bare)}. Nothing can be learnt about them; leave "
            "them out."
        )


def worst_columns(missing: MissingCells) -> str:
    """The columns with the most missing cells and their shares, for a message."""
    order = np.argsort(-missing.cells, kind="stable")[:WORST]
    return listed(
        f"{shown(missing.names[j])} in {missing.shares[j]:.0%}" for j in order if missing.cells[j]
    )


def taken(table: Any, index: Index) -> Any:
    """Some rows of a DataFrame, a Series or an array-like."""
    return table.iloc[index] if hasattr(table, "iloc") else np.asarray(table)[index]


def drop_incomplete(
    owner: type, X: TableLike, confounder: ConfounderLike | None, groups: LabelsLike | None
) -> tuple[TableLike, ConfounderLike | None, LabelsLike | None]:
    """Variables, confounder and groups of the rows in which nothing is missing, with a warning."""
    found = usable_rows("drop", owner, X, confounder, groups)
    found.missing.warn()
    return found.x, found.confounder, found.groups


def complete_rows(
    missing: object, X: TableLike, confounder: ConfounderLike | None, groups: LabelsLike | None
) -> tuple[TableLike, ConfounderLike | None, LabelsLike | None]:
    """:func:`drop_incomplete` for methods without a model of missing cells.

    Raises ValueError unless ``missing`` is ``"drop"``.
    """
    if missing != "drop":
        raise ValueError(
            f"missing must be 'refuse' or 'drop' where methods are compared; got {shown(missing)}. "
            "missing='em' is for PLAGGM and PLAGGMCV: the other methods have no model of missing cells."
        )
    return drop_incomplete(BaseEstimator, X, confounder, groups)
