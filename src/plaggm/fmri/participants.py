"""The participants table: who was scanned, in which group, and where the data are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from plaggm.fmri.problems import WHOLE_STUDY, Problems, StudyError
from plaggm.fmri.tables import read_table, reading
from plaggm.read_errors import path_problem
from plaggm.wording import listed, shown

# BIDS calls the column participant_id.
SUBJECT_COLUMNS = ("subject", "participant_id")
SOURCES = ("timeseries", "image")
FILES = (*SOURCES, "confounds")


@dataclass(frozen=True, slots=True)
class Participant:
    """One row of the table.

    Attributes
    ----------
    subject, group : str
    timeseries, image, confounds : Path, optional
        Region series, or a 4-D image, and the table of confounds.
    further : dict
        All other columns, as text.
    """

    subject: str
    group: str
    timeseries: Path | None = None
    image: Path | None = None
    confounds: Path | None = None
    further: dict[str, str] = field(default_factory=dict)

    @property
    def source(self) -> Path | None:
        """File that the signal is read from."""
        return self.image if self.timeseries is None else self.timeseries


def read_participants(path: Path, group: str, problems: Problems) -> list[Participant]:
    """Read and check the table; rows that cannot be used are noted and left out.

    Parameters
    ----------
    path : Path
        TSV or CSV with the columns ``subject`` (or ``participant_id``), the group column, ``timeseries``
        or ``image``, and ``confounds``. Paths are relative to the table.
    group : str
        Name of the group column.
    problems : Problems
        Grows by what is wrong.

    Returns
    -------
    list of Participant
    """
    frame = read_participants_table(path)
    return participants_from_frame(frame, path, group, problems)


def read_participants_table(path: Path) -> pd.DataFrame:
    """The table as it stands in a file, all columns as text."""
    with reading(StudyError, f"The participants table {path} "):
        return read_table(path, text=True)


def participants_from_frame(
    frame: pd.DataFrame, path: Path, group: str, problems: Problems
) -> list[Participant]:
    """The same from a table in memory; paths are relative to the folder of ``path``."""
    subject_column = next((name for name in SUBJECT_COLUMNS if name in frame), None)
    if subject_column is None:
        raise StudyError(
            f"{path} has no column 'subject'; its columns are {listed(list(frame.columns), 12)}."
        )
    if group not in frame:
        raise StudyError(
            f"{path} has no column {group!r} for --group; its columns are "
            f"{listed(list(frame.columns), 12)}."
        )
    if not any(name in frame for name in SOURCES):
        raise StudyError(
            f"{path} needs a column 'timeseries' (region series) or 'image' (4-D scan); its columns "
            f"are {listed(list(frame.columns), 12)}."
        )
    subjects = frame[subject_column].str.strip()
    repeats = {name for name, count in Counter(subjects.dropna()).items() if count > 1}
    for name in sorted(repeats):
        rows = [str(row + 2) for row in frame.index[subjects == name]]
        problems.add(
            name,
            path,
            f"appears in {len(rows)} lines ({listed(rows)}), so which one is meant is not known; "
            "left out.",
        )
    people = []
    for line, (name, row) in enumerate(zip(subjects, frame.to_dict("records"), strict=True), 2):
        if not isinstance(name, str) or not name:
            problems.add(f"line {line}", path, "has no subject; left out.")
        elif name not in repeats:
            person = _participant(name, row, subject_column, group, path, problems)
            if person is not None:
                people.append(person)
    return people


def _participant(
    name: str,
    row: dict[str, object],
    subject_column: str,
    group: str,
    path: Path,
    problems: Problems,
) -> Participant | None:
    text = {key: value.strip() for key, value in row.items() if isinstance(value, str)}
    if not text.get(group):
        problems.add(name, path, f"has no value in the column {group!r}; left out.")
        return None
    files = {key: path.parent / text[key] for key in FILES if text.get(key)}
    given = [key for key in SOURCES if key in files]
    if len(given) != 1:
        problems.add(
            name,
            path,
            "has neither 'timeseries' nor 'image'; left out."
            if not given
            else "has both 'timeseries' and 'image'; keep one of them. Left out.",
        )
        return None
    for file in files.values():
        if problem := path_problem(file):
            problems.add(name, path, f"names the file {shown(file.name)}, but {problem}. Left out.")
            return None
    used = {subject_column, group, *FILES}
    further = {key: value for key, value in text.items() if key not in used}
    return Participant(name, text[group], further=further, **files)


def drop_lonely_groups(groups: dict[str, str], problems: Problems) -> dict[str, str]:
    """Leave out groups of a single subject, which have no spread to compare.

    Parameters
    ----------
    groups : dict
        Group of every subject.
    problems : Problems

    Returns
    -------
    dict
        Subjects by group, without these.
    """
    sizes = Counter(groups.values())
    for subject, group in groups.items():
        if sizes[group] == 1:
            problems.add(
                subject,
                None,
                f"is the only usable subject of the group {group!r}; a group needs two or more. "
                "Left out.",
            )
    kept = {subject: group for subject, group in groups.items() if sizes[group] > 1}
    if not kept:
        problems.add(WHOLE_STUDY, None, "no group with two or more usable subjects is left.")
    return kept
