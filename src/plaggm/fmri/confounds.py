"""Motion and other confounds of a scan: which columns, and how they are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from plaggm.array_types import Array
from plaggm.fmri.tables import read_table, reading
from plaggm.wording import listed

FD = "framewise_displacement"
TRANSLATIONS = ("trans_x", "trans_y", "trans_z")
ROTATIONS = ("rot_x", "rot_y", "rot_z")
SIX = (*TRANSLATIONS, *ROTATIONS)
# Short names for sets of columns; fMRIPrep's names are the ones used throughout.
PRESETS = {"fd": (FD,), "dvars": ("std_dvars",), "motion6": SIX, "motion7": (*SIX, FD)}
# Other programs' names for the same columns, compared in lower case.
ALIASES = {
    FD: ("fd", "framewisedisplacement", "fd_power", "framewise displacement"),
    "std_dvars": ("stdvars", "dvars"),
    **{
        f"{kind}_{axis}": (f"motion_{kind[0]}{axis}", f"{kind[0]}{axis}", f"{kind}{axis}")
        for kind in ("trans", "rot")
        for axis in "xyz"
    },
}
# Radius of the sphere on which a rotation in radians becomes a displacement in mm.
HEAD_RADIUS = 50.0


class ConfoundsError(ValueError):
    """What is wrong with one table of confounds."""


class MissingColumns(ConfoundsError):
    """A table of confounds without some of the columns that were asked for."""


def confounder_columns(names: tuple[str, ...]) -> tuple[str, ...]:
    """Columns behind names and presets, each once.

    Examples
    --------
    >>> confounder_columns(("fd", "csf"))
    ('framewise_displacement', 'csf')
    """
    columns = [column for name in names for column in PRESETS.get(name.lower(), (name,))]
    return tuple(dict.fromkeys(columns))


def read_confounds(path: Path) -> pd.DataFrame:
    """A table of confounds as text and numbers, as its program wrote it."""
    with reading(ConfoundsError):
        return read_table(path)


def select_confounds(frame: pd.DataFrame, columns: tuple[str, ...]) -> Array:
    """Some columns as numbers, their unavoidable gaps filled.

    The first volume has no volume before it: framewise displacement and derivatives are zero there, and
    DVARS takes its median. Any other gap is an error.

    Parameters
    ----------
    frame : DataFrame
    columns : tuple of str

    Returns
    -------
    ndarray of shape (n, m)
    """
    found = {column: find_column(frame, column) for column in columns}
    missing = [column for column, name in found.items() if name is None]
    if missing:
        raise MissingColumns(
            f"lacks the column(s) {listed(missing)}; it has {listed(list(frame.columns), 12)}."
        )
    values = np.empty((len(frame), len(columns)))
    for place, (column, name) in enumerate(found.items()):
        try:
            numbers = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64)
        except OverflowError as error:
            raise ConfoundsError(
                f"holds a number in column {name!r} that is too large to be used."
            ) from error
        if len(numbers) and np.isnan(numbers[0]):
            numbers = numbers.copy()
            numbers[0] = first_value(column, numbers)
        bad = np.flatnonzero(~np.isfinite(numbers))
        if len(bad):
            rows = [str(row + 1) for row in bad]
            raise ConfoundsError(
                f"has no number in column {name!r} at volume(s) {listed(rows)}; only the first volume "
                "of a difference, such as framewise displacement, may be n/a."
            )
        values[:, place] = numbers
    return values


def first_value(column: str, numbers: Array) -> float:
    """Value of a measure of change at the first volume, where it is undefined; NaN for other columns."""
    if "dvars" in column:
        return float(np.nanmedian(numbers)) if np.isfinite(numbers).any() else np.nan
    if column == FD or "derivative1" in column or column in ("rmsd",):
        return 0.0
    return np.nan


def find_column(frame: pd.DataFrame, column: str) -> str | None:
    """The name under which a table holds a column, by its own or another program's name."""
    if column in frame:
        return column
    lower = {str(name).lower(): str(name) for name in frame.columns}
    for name in (column.lower(), *ALIASES.get(column, ())):
        if name in lower:
            return lower[name]
    return None


def displacement(frame: pd.DataFrame) -> Array | None:
    """Framewise displacement of a scan: its column, or Power's formula from the six parameters.

    Returns
    -------
    ndarray of shape (n,), or None where the table has neither
    """
    if find_column(frame, FD) is not None:
        return select_confounds(frame, (FD,))[:, 0]
    if any(find_column(frame, column) is None for column in SIX):
        return None
    return power_displacement(select_confounds(frame, SIX))


def power_displacement(parameters: Array) -> Array:
    """Sum of the absolute changes of three translations (mm) and three rotations (rad, on 50 mm).

    Parameters
    ----------
    parameters : ndarray of shape (n, 6)
        Motion parameters in the order of ``SIX``.

    Returns
    -------
    ndarray of shape (n,)
        Zero at the first volume.

    Examples
    --------
    >>> power_displacement(np.array([[0, 0, 0, 0, 0, 0], [0.1, 0, 0, 0, 0, 0.01]]))
    array([0. , 0.6])
    """
    change = np.abs(np.diff(parameters, axis=0, prepend=parameters[:1]))
    return change[:, :3].sum(axis=1) + HEAD_RADIUS * change[:, 3:].sum(axis=1)
