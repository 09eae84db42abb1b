"""Rows of a table as time series: sorted by time, and divided at gaps and between runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plaggm.cli.column_roles import Roles, run_numbers
from plaggm.cli.messages import InputError
from plaggm.cli.samples import Samples, need_labels, place_of_row
from plaggm.cli.settings import FitSettings
from plaggm.data import column_numbers
from plaggm.wording import shown

# Largest excess of a time step over the median step, relative to it, that is not a gap.
LARGEST_EXCESS = 0.5


def in_time_order(
    frame: pd.DataFrame, roles: Roles, settings: FitSettings, source: Path
) -> tuple[pd.DataFrame, pd.Series | None]:
    """The rows sorted by time within their runs, and the number of every row's series.

    A series ends with its run or with its level of ``--group-by``, and before a time step that is more than
    one and a half times the median step. Runs stay in the order in which they appear.

    Parameters
    ----------
    frame : DataFrame
    roles : Roles
    settings : FitSettings
    source : Path
        Path of the table, for messages.

    Returns
    -------
    frame : DataFrame
    series : Series of int or None
        None if rows are not time series.
    """
    if settings.series is None:
        return frame, None
    for name, option in ((roles.group, "--group-by"), (roles.run, "--run")):
        if name is not None:
            need_labels(frame, name, option, source)
    owner = run_numbers(frame, roles)
    if roles.time is None:
        begins = np.flatnonzero(np.diff(owner, prepend=-1) != 0)
    else:
        need_labels(frame, roles.time, "--time", source)
        times = _times(frame[roles.time], source)
        order = np.lexsort((times, owner))
        frame, owner, times = frame.iloc[order], owner[order], times[order]
        begins = _begins(owner, times, frame, roles.time, source)
    number = np.zeros(len(frame), dtype=np.intp)
    number[begins] = 1
    return frame, pd.Series(np.cumsum(number) - 1, index=frame.index)


def with_runs(samples: Samples, series: pd.Series, rows: pd.Index) -> Samples:
    """Samples with the number of every row's series; a series ends where rows were left out.

    Parameters
    ----------
    samples : Samples
    series : Series of int
        Time series of every row of the table.
    rows : Index
        Rows of the table from which the samples were taken.
    """
    position = pd.Series(np.arange(len(rows)), index=rows).loc[samples.x.index].to_numpy()
    labels = series.loc[samples.x.index].to_numpy()
    begins = np.ones(len(labels), dtype=bool)
    begins[1:] = (np.diff(labels) != 0) | (np.diff(position) != 1)
    return replace(samples, runs=np.cumsum(begins) - 1)


def _begins(
    owner: np.ndarray[Any, Any],
    times: np.ndarray[Any, Any],
    frame: pd.DataFrame,
    name: str,
    source: Path,
) -> np.ndarray[Any, Any]:
    """First rows of all series; raises for times that occur twice within a run."""
    begins = np.ones(len(owner), dtype=bool)
    begins[1:] = np.diff(owner) != 0
    steps = np.diff(times, prepend=times[:1])
    twice = np.flatnonzero(~begins & (steps == 0.0))
    if twice.size:
        rows = [place_of_row(source, frame.index[row]) for row in (twice[0] - 1, twice[0])]
        raise InputError(
            f"{rows[0]} and {rows[1]} of {source} have the same time, "
            f"{shown(frame[name].iloc[twice[0]])} (--time {name}). Name the column that tells their series "
            "apart with --run, or correct the times."
        )
    inside = steps[~begins]
    if inside.size:
        begins |= steps > (1.0 + LARGEST_EXCESS) * np.median(inside)
    return np.flatnonzero(begins)


def _times(column: pd.Series, source: Path) -> np.ndarray[Any, Any]:
    """Times as numbers: numbers as they are, or dates in seconds if most cells are dates."""
    values = np.asarray(column_numbers(column), dtype=np.float64)
    odd, allowed = ~np.isfinite(values), "neither a number nor a date such as 2024-03-01"
    if odd.any():
        dates = pd.to_datetime(column.where(odd), errors="coerce", format="ISO8601", utc=True)
        if 2 * dates.notna().sum() > len(column):
            odd, allowed = dates.isna().to_numpy(), "no date such as 2024-03-01"
            values = (dates - dates.min()).dt.total_seconds().to_numpy()
    if odd.any():
        row = int(np.flatnonzero(odd)[0])
        raise InputError(
            f"Column {column.name!r} of {source} (--time) holds {shown(column.iloc[row])} in "
            f"{place_of_row(source, column.index[row])}, which is {allowed}."
        )
    return values
