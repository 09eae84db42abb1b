"""Checks of a whole table before it is fitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from plaggm.array_types import Index
from plaggm.checks.columns import unusable_columns
from plaggm.checks.findings import Finding, findings_frame, ordered
from plaggm.checks.numbers import Numbers, numbers_of
from plaggm.checks.values import find_in_values
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.data import ConfounderLike, TableLike
from plaggm.parameter_types import FamilyName


def examine(
    frame: pd.DataFrame, variables: Sequence[str], confounders: Sequence[str] = ()
) -> tuple[Finding, ...]:
    """Check columns and values of a table for problems, most serious first.

    Parameters
    ----------
    frame : DataFrame
        Table as it was read.
    variables, confounders : sequence of str
        Names of the columns.
    """
    odd = unusable_columns(frame, variables, confounders)
    gone = without_values(odd)
    kept = [name for name in variables if name not in gone]
    return ordered((*odd, *examine_values(frame, kept, confounders)))


def without_values(odd: Iterable[Finding]) -> set[str]:
    """Columns that are left out or cannot be read as numbers."""
    return {
        finding.columns[0]
        for finding in odd
        if finding.level in ("left out", "refused") and finding.kind != "sum"
    }


@single_threaded_blas()
def examine_values(
    frame: pd.DataFrame,
    variables: Sequence[str],
    confounders: Sequence[str] = (),
    *,
    runs: Index | None = None,
    missing: str = "refuse",
    robust: bool = False,
    ranks: bool = False,
    families: Mapping[str, FamilyName] | None = None,
    series: bool = False,
) -> tuple[Finding, ...]:
    """Check the numbers of a table for problems, most serious first.

    Parameters
    ----------
    frame : DataFrame
    variables, confounders : sequence of str
        Names of the columns; values that are not numbers count as missing.
    runs : ndarray of int of shape (n,), optional
        Number of every row's time series or group; by default there is one for all rows.
    missing : {"refuse", "drop", "em", "impute"}
        Treatment of missing values by the fit.
    robust, ranks, series : bool
        Whether outlying values are winsorised, whether variables are replaced by normal scores, and whether
        rows are filtered as time series.
    families : mapping of str to str, optional
        Families of variables by name; others are Gaussian.
    """
    confounder = numbers_of(frame, confounders)
    numbers = Numbers(
        numbers_of(frame, variables),
        confounder.loc[:, confounder.notna().any()],
        np.zeros(len(frame), dtype=np.intp) if runs is None else runs,
    )
    known = {} if families is None else families
    found = find_in_values(
        numbers, known, missing=missing, robust=robust, ranks=ranks, series=series
    )
    return ordered(found)


def check_table(X: TableLike, confounder: ConfounderLike | None = None) -> pd.DataFrame:
    """Check a table before it is fitted: problems, and how a fit handles each of them.

    Looks for ids, row numbers, dates, texts, constants, copies and sums among the columns; for missing
    values and codes such as -999; for outliers and heavy tails; for duplicated rows and autocorrelation;
    for binary, ordinal and count columns; and for few rows. The command ``plaggm check`` prints the same.

    Parameters
    ----------
    X : array or DataFrame of shape (n, p)
        Table with one row for each sample; columns may hold any values.
    confounder : array, Series or DataFrame of shape (n,) or (n, m), optional
        Confounders of the same rows, along which outliers are judged.

    Returns
    -------
    DataFrame
        One row for each finding, most serious first, with the columns ``level`` ("refused", "left out",
        "warning" or "note"), ``kind``, ``columns``, ``rows`` (counted from 0), ``size``, ``finding``,
        ``fit`` (how ``plaggm fit`` handles it) and ``option`` (the option that changes this). Estimators do
        not leave out columns: every column of X is a variable, and copies and constants are refused.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from plaggm import check_table
    >>> table = pd.DataFrame(
    ...     np.random.default_rng(0).standard_normal((200, 3)), columns=list("abc")
    ... )
    >>> table["person"] = range(1, 201)
    >>> table.loc[7, "b"] = 30.0
    >>> check_table(table)[["level", "kind", "columns", "rows"]]
          level        kind columns rows
    0  left out  row number  person
    1   warning     outlier       b    7
    """
    frame = _named(X, "x", "X")
    values = pd.DataFrame(index=frame.index)
    if confounder is not None:
        values = _named(confounder, "confounder", "confounder")
        if len(values) != len(frame):
            raise ValueError(
                f"confounder has {len(values)} rows but X has {len(frame)}. Pass one value for each row "
                "of X."
            )
        values = values.set_axis(
            [f"confounder {name}" if name in set(frame) else name for name in values], axis=1
        )
        values.index = frame.index
    both = pd.concat([frame, values], axis=1)
    return findings_frame(examine(both, list(frame), list(values)))


def _named(table: object, prefix: str, what: str) -> pd.DataFrame:
    """A table as a DataFrame whose column names are unique strings."""
    if isinstance(table, pd.Series):
        table = table.to_frame(prefix if table.name is None else table.name)
    if isinstance(table, pd.DataFrame):
        frame = table.set_axis([str(name) for name in table.columns], axis=1)
        frame = frame.reset_index(drop=True)
    else:
        try:
            array = np.asarray(table)
        except ValueError as error:
            raise ValueError(f"{what} must have rows of the same length.") from error
        if array.ndim == 1 and what == "confounder":
            array = array[:, None]
        if array.ndim != 2:
            raise ValueError(
                f"{what} must be a table with rows and columns; got an array of shape {array.shape}."
            )
        frame = pd.DataFrame(array, columns=[f"{prefix}{j}" for j in range(array.shape[1])])
    if frame.columns.has_duplicates:
        repeated = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"{what} has the column {repeated!r} twice. Rename or drop one.")
    if not frame.size:
        raise ValueError(f"{what} is empty: it has {len(frame)} rows and {frame.shape[1]} columns.")
    return frame
