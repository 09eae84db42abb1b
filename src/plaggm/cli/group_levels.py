"""The levels of a group column, with their rows, in their natural order."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from plaggm.checks.column_kinds import column_kind
from plaggm.cli.column_roles import Roles
from plaggm.cli.confounder_kinds import with_levels
from plaggm.cli.samples import Samples, need_labels, take_samples
from plaggm.cli.settings import FitSettings
from plaggm.cli.time_order import with_runs

# Smallest number of ids or names, and smallest share of them that occur in several levels, for a note that
# the levels share people.
FEWEST_LABELS, SHARED = 10, 0.2


class LevelSamples(NamedTuple):
    """Samples of one level of the group column, whose name is None if there is no group column."""

    name: str | None
    samples: Samples

    def step(self, step: str) -> str:
        """The name of a step of this level in the progress bar."""
        return step if self.name is None else f"{self.name}: {step}"


def split_levels(
    frame: pd.DataFrame, group: str | None, source: Path
) -> Iterator[tuple[str | None, pd.DataFrame]]:
    """Yield the name and the rows of each level of the group column; None and all rows without one.

    Levels that are numbers come by size, ordered categories in their order, others as they appear.
    """
    if group is None:
        yield None, frame
        return
    need_labels(frame, group, "--group-by", source)
    values = frame[group]
    named = values.map(_level_name).astype(object)
    parts = {str(level): rows for level, rows in frame.groupby(named, sort=False)}
    for level in _natural_order(list(parts), values):
        yield level, parts[level]


def level_samples(
    numbers: pd.DataFrame,
    frame: pd.DataFrame,
    series: pd.Series | None,
    roles: Roles,
    settings: FitSettings,
    source: Path,
) -> Iterator[LevelSamples]:
    """Yield the checked samples of each level, or of all rows without a group column.

    Parameters
    ----------
    numbers : DataFrame of float
        Variables and confounders, with numbers for the levels of factors.
    frame : DataFrame
        The same rows as they were read.
    series : Series of int or None
        Time series of every row; None if rows are not time series.
    roles : Roles
    settings : FitSettings
    source : Path
        Path of the table, for messages.
    """
    for name, rows in split_levels(frame, roles.group, source):
        where = "" if name is None else f"Level {name!r} of {roles.group!r}: "
        samples = take_samples(numbers.loc[rows.index], roles, settings, source, where)
        samples = with_levels(samples, frame, roles.factors)
        if series is not None:
            samples = with_runs(samples, series, rows.index)
        yield LevelSamples(name, samples)


def shared_labels(frame: pd.DataFrame, group: str, used: Collection[str]) -> tuple[str, ...]:
    """A note if ids or names occur in several levels, whose networks are then not independent.

    Parameters
    ----------
    frame : DataFrame
    group : str
        Name of the group column.
    used : collection of str
        Variables and confounders, which are not ids.
    """
    for name in frame.columns:
        if name == group or name in used or column_kind(frame[name]).name not in ("id", "text"):
            continue
        levels = frame.groupby(frame[name])[group].nunique()
        several = int((levels > 1).sum())
        if len(levels) >= FEWEST_LABELS and several >= SHARED * len(levels):
            return (
                f"{several:,} of {len(levels):,} values of {name!r} occur in several levels of {group!r}. "
                "If they are the same people, the networks are not independent estimates: they are more "
                "alike than the tests know, and differences may go unnoticed.",
            )
    return ()


def _natural_order(levels: list[str], values: pd.Series) -> list[str]:
    """Levels by size where all are numbers, by their categories where these have an order.

    Examples
    --------
    >>> _natural_order(["10", "9", "-1.5"], pd.Series(dtype=object))
    ['-1.5', '9', '10']
    >>> _natural_order(["south", "north"], pd.Series(dtype=object))
    ['south', 'north']
    """
    if isinstance(values.dtype, pd.CategoricalDtype) and values.dtype.ordered:
        order = [_level_name(level) for level in values.dtype.categories]
        return sorted(levels, key=order.index)
    numbers = pd.to_numeric(pd.Series(levels, dtype=object), errors="coerce")
    return [levels[k] for k in numbers.argsort(kind="stable")] if numbers.notna().all() else levels


def _level_name(value: Any) -> str:
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if whole else str(value)
