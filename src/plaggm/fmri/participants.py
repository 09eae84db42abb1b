"""The participants table: subjects, groups and data files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from plaggm.data import column_numbers
from plaggm.fmri.problems import WHOLE_STUDY, Problems, StudyError
from plaggm.fmri.tables import read_table, reading
from plaggm.read_errors import path_problem
from plaggm.wording import listed, shown

# BIDS calls the column participant_id.
SUBJECT_COLUMNS = ("subject", "participant_id")
SOURCES = ("timeseries", "image")
FILES = (*SOURCES, "confounds")
# What tells the scans of a subject apart, by the columns that may hold it; BIDS' prefixes are dropped.
ENTITIES = {
    "session": ("session", "session_id", "ses"),
    "task": ("task", "task_id"),
    "run": ("run", "run_id"),
}
PREFIXES = {"session": "ses-", "task": "task-", "run": "run-"}


@dataclass(frozen=True, slots=True)
class Scan:
    """One scan of a subject: a run.

    Attributes
    ----------
    timeseries, image, confounds : Path, optional
        Region series, or a 4-D image, and the table of confounds.
    session, task, run : str
        Labels, empty where the table has none.
    """

    timeseries: Path | None = None
    image: Path | None = None
    confounds: Path | None = None
    session: str = ""
    task: str = ""
    run: str = ""

    @property
    def source(self) -> Path | None:
        """File that the signal is read from."""
        return self.image if self.timeseries is None else self.timeseries

    @property
    def label(self) -> str:
        """Session, task and run as BIDS writes them, such as ``"ses-1_run-2"``; may be empty."""
        return "_".join(
            f"{PREFIXES[entity]}{getattr(self, entity)}"
            for entity in ENTITIES
            if getattr(self, entity)
        )


@dataclass(frozen=True, slots=True)
class Participant:
    """One person.

    Attributes
    ----------
    subject, group : str
    scans : tuple of Scan
        In the order of the table.
    further : dict
        All other columns, as text: of several scans what they agree in, and the mean of numbers in which
        they differ.
    """

    subject: str
    group: str
    scans: tuple[Scan, ...]
    further: dict[str, str] = field(default_factory=dict)


def read_participants_table(path: Path) -> pd.DataFrame:
    """The table as it stands in a file, all columns as text."""
    with reading(StudyError, f"The participants table {path} "):
        return read_table(path, text=True)


@dataclass(frozen=True, slots=True)
class _Line:
    """One usable line of the table."""

    number: int
    subject: str
    group: str
    scan: Scan
    further: dict[str, str]


def participants_from_frame(
    frame: pd.DataFrame,
    path: Path,
    group: str,
    problems: Problems,
    *,
    choose: Mapping[str, str | None] | None = None,
) -> list[Participant]:
    """Check the table; lines that cannot be used are noted and left out.

    Several lines of a subject are runs of that subject.

    Parameters
    ----------
    frame : DataFrame
        Text, with the columns ``subject`` (or ``participant_id``), the group column, ``timeseries`` or
        ``image``, and ``confounds``; ``session``, ``task`` and ``run`` where a subject has several scans.
    path : Path
        File that it comes from; paths are relative to its folder.
    group : str
        Name of the group column.
    problems : Problems
        Grows by what is wrong.
    choose : mapping of str to str, optional
        Session and task to take, of those that the table has.

    Returns
    -------
    list of Participant
    """
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
    frame = _chosen(frame, path, choose or {})
    lines = []
    for place, row in zip(frame.index, frame.to_dict("records"), strict=True):
        line = _line(int(place) + 2, row, subject_column, group, path, problems)
        if line is not None:
            lines.append(line)
    lines = _unlike(lines, path, problems)
    people: dict[str, list[_Line]] = {}
    for line in lines:
        people.setdefault(line.subject, []).append(line)
    found = []
    for name, own in people.items():
        groups = list(dict.fromkeys(line.group for line in own))
        if len(groups) > 1:
            problems.add(
                name,
                path,
                f"is in the groups {listed(groups)} (lines {listed([str(one.number) for one in own])}); "
                "left out.",
            )
            continue
        scans = tuple(line.scan for line in own)
        found.append(Participant(name, groups[0], scans, _agreed([line.further for line in own])))
    return found


def _chosen(frame: pd.DataFrame, path: Path, choose: Mapping[str, str | None]) -> pd.DataFrame:
    """The lines of one session or task."""
    for entity, label in choose.items():
        if label is None:
            continue
        column = next((name for name in ENTITIES[entity] if name in frame), None)
        if column is None:
            raise StudyError(
                f"{path} has no column {entity!r} for --{entity}; its columns are "
                f"{listed(list(frame.columns), 12)}."
            )
        bare = frame[column].str.strip().str.removeprefix(PREFIXES[entity])
        if not (bare == label.removeprefix(PREFIXES[entity])).any():
            raise StudyError(
                f"{path} has no line of the {entity} {label!r} (--{entity}); its {entity}s are "
                f"{listed(sorted(set(bare.dropna())), 12)}."
            )
        frame = frame[bare == label.removeprefix(PREFIXES[entity])]
    return frame


def _line(
    number: int,
    row: dict[str, object],
    subject_column: str,
    group: str,
    path: Path,
    problems: Problems,
) -> _Line | None:
    text = {key: value.strip() for key, value in row.items() if isinstance(value, str)}
    name = text.get(subject_column)
    if not name:
        problems.add(f"line {number}", path, "has no subject; left out.")
        return None
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
    scan = Scan(
        files.get("timeseries"),
        files.get("image"),
        files.get("confounds"),
        _label(text, "session"),
        _label(text, "task"),
        _label(text, "run"),
    )
    return _Line(number, name, text[group], scan, further)


def _label(text: Mapping[str, str], entity: str) -> str:
    """The label of a line's session, task or run, without BIDS' prefix; empty if it has none."""
    found = next((text[key] for key in ENTITIES[entity] if text.get(key)), "")
    return found.removeprefix(PREFIXES[entity])


def _unlike(lines: list[_Line], path: Path, problems: Problems) -> list[_Line]:
    """Lines after removing ambiguous ones and those whose scan is already used."""
    taken: dict[Path | None, _Line] = {}
    kept = []
    foreign: set[Path | None] = set()
    for line in lines:
        first = taken.setdefault(line.scan.source, line)
        if first is line:
            kept.append(line)
        elif first.subject == line.subject:
            problems.add(
                line.subject,
                path,
                f"names the same scan in the lines {first.number} and {line.number}; it is used once.",
            )
        else:
            foreign.add(line.scan.source)
            for one, other in ((first, line), (line, first)):
                problems.add(
                    one.subject,
                    path,
                    f"names the same scan as {other.subject} (lines {one.number} and {other.number}), so "
                    "whose it is is not known; left out.",
                )
    kept = [line for line in kept if line.scan.source not in foreign]
    counts = Counter((line.subject, line.scan.label) for line in kept if line.scan.label)
    for (name, label), count in counts.items():
        if count > 1:
            same = [
                str(one.number) for one in kept if (one.subject, one.scan.label) == (name, label)
            ]
            problems.add(
                name,
                path,
                f"has {count} lines for {label} (lines {listed(same)}), so which one is meant is not "
                "known; they are left out. Runs of one session need a column 'run'.",
            )
    return [line for line in kept if counts.get((line.subject, line.scan.label), 1) == 1]


def _agreed(further: list[dict[str, str]]) -> dict[str, str]:
    """Values in which the lines of a subject agree, and means of numbers in which they do not."""
    agreed = {}
    for key in dict.fromkeys(key for one in further for key in one):
        values = list(dict.fromkeys(one[key] for one in further if key in one))
        numbers = column_numbers(pd.Series(values))
        if len(values) == 1:
            agreed[key] = values[0]
        elif np.isfinite(numbers).all():
            agreed[key] = f"{np.mean(numbers):.10g}"
    return agreed


def drop_lonely_groups(groups: Mapping[str, str], problems: Problems) -> dict[str, str]:
    """Leave out groups of a single subject, whose variance is unknown.

    Parameters
    ----------
    groups : mapping
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


def all_scans(people: Iterable[Participant]) -> list[tuple[Participant, Scan]]:
    """Every scan with the person it belongs to."""
    return [(person, scan) for person in people for scan in person.scans]
