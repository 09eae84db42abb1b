"""From a table to checked samples: treatment of missing values, and validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from plaggm.array_types import Index
from plaggm.checks.missing_values import FEWEST_ROWS, enough_complete
from plaggm.cli.column_roles import Roles
from plaggm.cli.messages import InputError
from plaggm.cli.missing_values import completed_note, imputed, imputed_diagnostics
from plaggm.cli.settings import FitSettings
from plaggm.data import CONSTANT, LARGEST, column_numbers
from plaggm.tables import line_of_row
from plaggm.wording import MOST, counted, listed, shown

if TYPE_CHECKING:
    from plaggm.result import GraphResult


@dataclass(frozen=True, slots=True)
class Samples:
    """Checked samples, ready to be fitted.

    Attributes
    ----------
    x : DataFrame of float
        The variables.
    confounder : DataFrame of float
        Confounders of the same rows.
    note : str
        Sentence on the treatment of missing values; empty if there were none.
    runs : ndarray of int of shape (n,), optional
        Number of every row's time series.
    diagnostics : dict
        Counts of imputed cells, for the result; empty if none was imputed.
    """

    x: pd.DataFrame
    confounder: pd.DataFrame
    note: str = ""
    runs: Index | None = None
    diagnostics: dict[str, object] = field(default_factory=dict)


def labelled_rows(
    frame: pd.DataFrame, roles: Roles, settings: FitSettings, subject: str | None = None
) -> tuple[pd.DataFrame, str]:
    """The rows whose group, run, time and subject are known with ``--missing drop``, else all rows.

    Parameters
    ----------
    frame : DataFrame
    roles : Roles
    settings : FitSettings
    subject : str, optional
        Column with the subject of each row.

    Returns
    -------
    frame : DataFrame
    note : str
        Sentence on the rows that were left out; empty if none.
    """
    labels = (roles.group, roles.run, roles.time, subject)
    named = [name for name in labels if name is not None]
    if settings.missing != "drop" or not named:
        return frame, ""
    kept = frame.dropna(subset=named)
    if len(kept) == len(frame):
        return frame, ""
    without = counted(len(frame) - len(kept), "row")
    return kept, f"{without} without {' or '.join(map(repr, named))} left out (--missing drop)."


def need_labels(frame: pd.DataFrame, name: str, option: str, source: Path) -> None:
    """Raise for missing values in a column that has to identify every row.

    Parameters
    ----------
    frame : DataFrame
    name : str
        Name of the column.
    option : str
        Option that names the column, for the message.
    source : Path
        Path of the table, for the message.
    """
    missing = frame[name].isna().to_numpy()
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise InputError(
            f"Column {name!r} of {source} ({option}) has {int(missing.sum())} missing value(s), first in "
            f"{place_of_row(source, frame.index[row])}. Every row needs one; --missing drop leaves such "
            "rows out."
        )


def numeric_columns(frame: pd.DataFrame, names: Sequence[str], source: Path) -> pd.DataFrame:
    """The columns as numbers, missing ones as NaN.

    Parameters
    ----------
    frame : DataFrame
    names : sequence of str
    source : Path

    Returns
    -------
    DataFrame of float
    """
    columns = {}
    for name in names:
        cells, values = frame[name], column_numbers(frame[name])
        text = np.isnan(values) & ~cells.isna().to_numpy()
        bad = np.flatnonzero(text | (np.abs(values) > LARGEST))
        if bad.size:
            row = int(bad[0])
            held = f"Column {name!r} of {source} holds "
            place = place_of_row(source, frame.index[row])
            if text[row]:
                cell = shown(cells.iloc[row])
                remedy = (
                    f"use --na {cell} if it stands for a missing value, or leave the column out"
                )
                raise InputError(
                    f"{held}{cell} in {place}, which is not a number. Correct it, {remedy} with --exclude."
                )
            if cells.iloc[row] in (np.inf, -np.inf):
                raise InputError(
                    f"{held}an infinite value in {place}. Correct it, or remove the row."
                )
            raise InputError(
                f"{held}{shown(cells.iloc[row])} in {place}, and the square of a number beyond {LARGEST:g} "
                "cannot be held. Correct it, or use other units."
            )
        columns[name] = values
    return pd.DataFrame(columns, index=frame.index)


def take_samples(
    frame: pd.DataFrame, roles: Roles, settings: FitSettings, source: Path, where: str = ""
) -> Samples:
    """Handle missing values and check the remaining samples.

    Parameters
    ----------
    frame : DataFrame of float
        Variables and confounders.
    roles : Roles
    settings : FitSettings
    source : Path
    where : str
        The level of a group, for messages, such as ``"Level 'a' of 'site': "``.

    Returns
    -------
    Samples
    """
    note, known = "", {}
    if frame.isna().to_numpy().any():
        if settings.missing == "impute":
            known = imputed_diagnostics(frame.dropna(subset=list(roles.confounders)))
        frame, note = _without_missing(frame, roles, settings, source, where)
    if len(frame) < FEWEST_ROWS:
        raise InputError(
            f"{where}{source} has {counted(len(frame), 'usable row')}; at least {FEWEST_ROWS} are needed."
        )
    table = frame.to_numpy()
    spread = np.nanmax(table, axis=0) - np.nanmin(table, axis=0)
    size = np.nanmax(np.abs(table), axis=0)
    constant = [
        name for name, flat in zip(roles.used, spread <= CONSTANT * size, strict=True) if flat
    ]
    if constant:
        kind = "The confounder" if constant[0] in roles.confounders else "Column"
        remedy = (
            "It cannot distort anything: choose another one."
            if constant[0] in roles.confounders
            else "A variable that does not vary has no place in a network: leave it out with --exclude."
        )
        others = f" (and {len(constant) - 1} more)" if len(constant) > 1 else ""
        raise InputError(f"{where}{kind} {constant[0]!r}{others} of {source} is constant. {remedy}")
    for name, width in zip(roles.used, spread, strict=True):
        if width < 1.0 / LARGEST:
            raise InputError(
                f"{where}The values of column {name!r} of {source} vary by {width:.0e}, whose square "
                "cannot be held. Use other units."
            )
    confounder = frame[list(roles.confounders)]
    if not settings.reference:
        _check_threshold(confounder, settings.threshold, roles.factors, where)
    return Samples(frame[list(roles.variables)], confounder, note, diagnostics=known)


def _without_missing(
    frame: pd.DataFrame, roles: Roles, settings: FitSettings, source: Path, where: str
) -> tuple[pd.DataFrame, str]:
    missing = frame.isna()
    counts = missing.sum()
    counts = counts[counts > 0]
    if settings.missing == "refuse":
        first = {name: frame.index[missing[name].argmax()] for name in counts.index[:MOST]}
        places = listed(
            f"{count} in {name!r}"
            + (f" (first in {place_of_row(source, first[name])})" if name in first else "")
            for name, count in counts.items()
        )
        complete = int((~missing.any(axis=1)).sum())
        leaves = f"--missing drop, which leaves {complete} of {len(frame)} rows"
        remedy = (
            f"Use {leaves}, or --missing em, which keeps all that have a confounder."
            if enough_complete(complete, len(roles.variables))
            else "Use --missing em, which keeps all rows that have a confounder: only "
            f"{complete} of {len(frame)} rows are complete, too few for --missing drop."
        )
        raise InputError(f"{where}{source} has missing values: {places}. {remedy}")
    if settings.missing == "drop":
        kept = frame.dropna()
        return (
            kept,
            f"{where}{len(frame) - len(kept)} of {len(frame)} rows with missing values were left out.",
        )
    # A missing confounder is not imputed from the variables, which it may have distorted.
    kept = frame.dropna(subset=list(roles.confounders))
    empty = [name for name in roles.variables if kept[name].isna().all()]
    if empty:
        raise InputError(
            f"{where}Column {empty[0]!r} of {source} has no values at all; leave it out with --exclude."
        )
    filled = int(kept.isna().to_numpy().sum())
    if settings.missing == "em":
        return kept, completed_note(frame, kept, roles.variables, where)
    verb = "was" if filled == 1 else "were"
    note = f"{where}{counted(filled, 'missing value')} {verb} imputed from the other columns"
    if len(kept) < len(frame):
        note += f", and {counted(len(frame) - len(kept), 'row')} without confounder left out"
    return imputed(kept, settings.seed) if filled else kept, f"{note}."


def _check_threshold(
    confounder: pd.DataFrame,
    threshold: str | tuple[float, ...],
    factors: tuple[str, ...],
    where: str,
) -> None:
    """Raise for a threshold below or above all samples."""
    if isinstance(threshold, str):
        return
    confounder = confounder.loc[:, ~confounder.columns.isin(factors)]
    names, size = list(confounder), np.abs(confounder.to_numpy())
    if not names:
        raise InputError(
            f"{where}--threshold is not used: all confounders are factors, which have no threshold."
        )
    if len(threshold) not in (1, len(names)):
        others = f", or one for each of the {len(names)} confounders" if len(names) > 1 else ""
        raise InputError(f"--threshold takes one number{others}; got {len(threshold)}.")
    below = np.all(size <= np.array(threshold), axis=1)
    if below.any() and not below.all():
        return
    side = "below" if not below.any() else "above"
    ranges = ", ".join(
        f"|{name}| runs from {column.min():.4g} to {column.max():.4g} with half of the samples below "
        f"{np.median(column):.4g}"
        for name, column in zip(names, size.T, strict=True)
    )
    raise InputError(
        f"{where}--threshold {','.join(f'{limit:g}' for limit in threshold)} leaves no sample {side} it: "
        f"{ranges}. Choose a value in between, or leave the choice to --threshold auto."
    )


def in_table(result: GraphResult, samples: Samples, source: Path) -> GraphResult:
    """The result with the counts of imputed cells, and the file's row of the most influential sample.

    Samples are the rows of the file without those that were left out, in the order of time.

    Parameters
    ----------
    result : GraphResult
        Network of the samples.
    samples : Samples
    source : Path
        Path of the table.

    Returns
    -------
    GraphResult
    """
    known = {**result.diagnostics, **samples.diagnostics}
    sample = known.get("leading_row")
    if isinstance(sample, int):
        row = int(samples.x.index[sample])
        known |= {"leading_row": row, "leading_place": place_of_row(source, row)}
    return replace(result, diagnostics=known)


def place_of_row(source: Path | None, row: Any) -> str:
    """A row number counted from one without the header, with its line number for text files and sheets."""
    line = None if source is None else line_of_row(source, int(row))
    return f"row {int(row) + 1}" + (f" (line {line})" if line is not None else "")
