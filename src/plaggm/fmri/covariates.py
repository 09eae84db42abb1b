"""Covariates of subjects from the participants table, such as age, sex, site or mean displacement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from plaggm.array_types import Array, Index
from plaggm.data import column_numbers
from plaggm.data.factors import encode, indicators, is_factor
from plaggm.fmri.permutations import arrangements, reachable_arrangements
from plaggm.fmri.problems import WHOLE_STUDY, Problems, StudyError
from plaggm.fmri.subjects import StudyData, Subject
from plaggm.wording import listed

# What is computed from the scans, and can be a covariate like the columns of the table.
DISPLACEMENT = "mean_framewise_displacement"
# Arrangements of the groups below which they limit p-values, and are told.
FEW_ARRANGEMENTS = 1_000.0
# Subjects whose value differs from the median, below which a feature's slopes on covariates are not used.
FEWEST_DIFFERING = 10


@dataclass(frozen=True, slots=True, eq=False)
class Covariates:
    """One value of every covariate for every subject.

    Attributes
    ----------
    frame : DataFrame of shape (S, c)
        Numbers, or text for factors.
    """

    frame: pd.DataFrame = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the covariates."""
        return tuple(self.frame.columns)

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of those that are factors."""
        return tuple(
            name for name in self.frame if not pd.api.types.is_numeric_dtype(self.frame[name])
        )

    def design(self) -> Array:
        """Standardised numbers and indicators of levels: shape (S, k)."""
        columns = []
        for name in self.frame:
            column = self.frame[name]
            if name in self.factors:
                codes, levels = encode(column)
                columns.append(indicators(codes[:, None], (levels,)))
            else:
                values = column.to_numpy(dtype=np.float64)
                columns.append(((values - values.mean()) / (values.std() or 1.0))[:, None])
        return np.hstack(columns)

    def of_volumes(self, rows: Index, volumes: Sequence[int]) -> pd.DataFrame:
        """The values of some subjects, repeated for each of their volumes.

        Covariates that do not vary between these subjects are left out.

        Parameters
        ----------
        rows : ndarray of int of shape (s,)
            Numbers of the subjects.
        volumes : sequence of s int
        """
        some = self.frame.iloc[rows]
        varying = [name for name in some if some[name].nunique() > 1]
        return some[varying].loc[some.index.repeat(volumes)].reset_index(drop=True)


def read_covariates(
    data: StudyData, names: Sequence[str], problems: Problems
) -> tuple[StudyData, Covariates | None]:
    """Covariates of all subjects; subjects without a value are noted and left out.

    Parameters
    ----------
    data : StudyData
    names : sequence of str
        Columns of the participants table, or ``mean_framewise_displacement``.
    problems : Problems
        Grows by subjects that are left out.

    Returns
    -------
    data : StudyData
        The subjects that have all values.
    covariates : Covariates or None
        None where no name is given.
    """
    if not names:
        return data, None
    columns = sorted({key for subject in data.subjects for key in subject.further})
    unknown = [name for name in names if name not in columns and name != DISPLACEMENT]
    if unknown:
        raise StudyError(
            f"The participants table has no column {unknown[0]!r} for --covariate; it has "
            f"{listed([*columns, DISPLACEMENT], 12)}."
        )
    raw = pd.DataFrame({name: [_value(one, name) for one in data.subjects] for name in names})
    kept = []
    for row, subject in enumerate(data.subjects):
        missing = [name for name in names if pd.isna(raw[name].iloc[row])]
        if missing:
            runs = ", or different ones in its runs" if subject.runs is not None else ""
            problems.add(subject.name, None, f"has no value of {listed(missing)}{runs}; left out.")
        else:
            kept.append(row)
    if len(kept) < len(data.subjects):
        data = data.some(kept)
    frame = raw.iloc[kept].reset_index(drop=True)
    for name in frame:
        if not is_factor(frame[name]):
            frame[name] = column_numbers(frame[name])
            if frame[name].isna().any():
                raise StudyError(f"The column {name!r} (--covariate) mixes numbers and text.")
    constant = [name for name in frame if frame[name].nunique() < 2]
    if constant:
        raise StudyError(
            f"The covariate {constant[0]!r} is the same for all subjects; there is nothing to adjust for."
        )
    return data, Covariates(frame)


def exchange_blocks(
    data: StudyData,
    column: str | None,
    problems: Problems,
    covariates: Covariates | None = None,
) -> tuple[str, ...] | None:
    """Blocks of the participants table within which subjects may be exchanged.

    Parameters
    ----------
    data : StudyData
    column : str, optional
        Column of the participants table, such as site or family.
    problems : Problems
        Grows by a note where few arrangements are left.
    covariates : Covariates, optional
        With them residuals of subjects are exchanged, which have more arrangements than groups have.

    Returns
    -------
    tuple of str, or None where no column is given
    """
    if column is None:
        return None
    values = [one.further.get(column) for one in data.subjects]
    missing = [one.name for one, value in zip(data.subjects, values, strict=True) if not value]
    if missing:
        columns = sorted({key for one in data.subjects for key in one.further})
        raise StudyError(
            f"The column {column!r} (--blocks) has no value for {listed(missing)}; the participants table "
            f"has {listed(columns, 12)}."
        )
    blocks = exchange_labels(data, column)
    groups = [one.group for one in data.subjects]
    if arrangements(groups, blocks) < 2.0:
        raise StudyError(
            f"Within the levels of {column!r} (--blocks) all subjects are in one group; there is "
            "nothing to exchange."
        )
    design = None if covariates is None else covariates.design()
    ways = reachable_arrangements(groups, design, blocks)
    what = "groups" if covariates is None else "subjects"
    if ways < FEW_ARRANGEMENTS:
        problems.add(
            WHOLE_STUDY,
            None,
            f"Within the levels of {column!r} (--blocks) there are {ways:.0f} arrangements of the {what}, "
            f"so no p-value of a difference can fall below {1.0 / ways:.2g}.",
        )
    return blocks


def exchange_labels(data: StudyData, column: str) -> tuple[str, ...]:
    """Every subject's block: what a column of the participants table says."""
    return tuple(str(one.further.get(column)) for one in data.subjects)


def displacement_design(displacement: Array, *, curved: bool = False) -> Array:
    """Mean displacement of subjects as a design matrix to be regressed out of features.

    Parameters
    ----------
    displacement : ndarray of shape (S,)
        In mm, above zero.
    curved : bool
        Whether its logarithm is a second column: networks respond to the first millimetre most.

    Returns
    -------
    ndarray of shape (S, 1) or (S, 2)
        Standardised.
    """
    columns = [displacement, np.log(displacement)] if curved else [displacement]
    design = np.column_stack(columns)
    return np.asarray((design - design.mean(axis=0)) / design.std(axis=0), dtype=np.float64)


def residuals(values: Array, design: Array, train: Index | None = None) -> Array:
    """Residuals of the subjects' values after linear regression on their covariates.

    Parameters
    ----------
    values : ndarray of shape (S, pairs)
    design : ndarray of shape (S, k)
    train : ndarray of int, optional
        Subjects from whom the slopes are learnt; all when absent.

    Returns
    -------
    ndarray of shape (S, pairs)
        The mean is left in.
    """
    rows = np.arange(len(values)) if train is None else train
    centre = design[rows].mean(axis=0)
    moved = design - centre
    slopes = np.linalg.lstsq(moved[rows], values[rows] - values[rows].mean(axis=0), rcond=None)[0]
    return np.asarray(values - moved @ slopes)


def freed_features(values: Array, design: Array, train: Index) -> Array:
    """Residuals of features that subjects are classified by; zero for features that cannot be freed.

    A feature with the same value in nearly all subjects, such as an edge that few have, has slopes that
    rest on these few, and its residuals would vary with the covariates in everybody else.

    Parameters
    ----------
    values : ndarray of shape (S, pairs)
    design : ndarray of shape (S, k)
    train : ndarray of int
        Subjects from whom the slopes are learnt.

    Returns
    -------
    ndarray of shape (S, pairs)

    Examples
    --------
    >>> values = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [5.0, 4.0]])
    >>> freed_features(values, np.array([[1.0], [0.0], [0.0], [1.0]]), np.arange(4))
    array([[0., 1.],
           [0., 2.],
           [0., 3.],
           [0., 4.]])
    """
    found = residuals(values, design, train)
    seen = values[train]
    differing = np.count_nonzero(seen != np.median(seen, axis=0), axis=0)
    found[:, differing < min(FEWEST_DIFFERING, len(train) / 2)] = 0.0
    return found


def _value(subject: Subject, name: str) -> object:
    if name == DISPLACEMENT and name not in subject.further:
        return subject.mean_displacement
    return subject.further.get(name) or np.nan
