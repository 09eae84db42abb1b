"""Subjects with their series, the starting point of all analyses of a study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from plaggm.array_types import Array, Index
from plaggm.fmri.atlas import Atlas
from plaggm.fmri.participants import Scan

Progress = Callable[[str, int, int], None]

# Framewise displacement in mm beyond which a volume is called high-motion.
HIGH_MOTION = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """One person's series.

    Attributes
    ----------
    name, group : str
    x : ndarray of shape (n, p)
        Region series of all runs, one after the other; within a run each is centred and divided by its
        standard deviation.
    confounder : ndarray of shape (n, m)
    displacement : ndarray of shape (n,), optional
        Framewise displacement in mm, where it is known.
    further : dict
        Other columns of the participants table.
    runs : ndarray of int of shape (n,), optional
        Number of the run of every volume, increasing from zero; absent for a single scan.
    scans : tuple of Scan
        The files of the runs; empty for series that come from no file.
    segments : ndarray of int of shape (n,), optional
        Number of the stretch without dropped volumes that every volume belongs to; absent where none was
        dropped.
    whole_displacement : float, optional
        Mean framewise displacement of all volumes, where some were dropped.
    spent : float
        Degrees of freedom that denoising took from the volumes.

    Examples
    --------
    >>> person = Subject(
    ...     "sub-01", "control", np.zeros((3, 2)), np.ones((3, 1)), np.array([0.0, 0.2, 0.4])
    ... )
    >>> round(person.mean_displacement, 2)
    0.2
    """

    name: str
    group: str
    x: Array = field(repr=False)
    confounder: Array = field(repr=False)
    displacement: Array | None = field(default=None, repr=False)
    further: dict[str, str] = field(default_factory=dict)
    runs: Index | None = field(default=None, repr=False)
    scans: tuple[Scan, ...] = field(default=(), repr=False)
    segments: Index | None = field(default=None, repr=False)
    whole_displacement: float | None = None
    spent: float = 0.0

    @property
    def mean_displacement(self) -> float:
        """Mean framewise displacement in mm; NaN where it is not known."""
        if self.whole_displacement is not None:
            return self.whole_displacement
        return float("nan") if self.displacement is None else float(self.displacement.mean())

    @property
    def run_numbers(self) -> Index:
        """Number of the run of every volume: shape (n,), zero for a single scan."""
        return np.zeros(len(self.x), dtype=np.intp) if self.runs is None else self.runs

    @property
    def unbroken(self) -> Index | None:
        """Numbers of the series that filters stay within: shape (n,); None for one series."""
        return self.runs if self.segments is None else self.segments

    def by_run(self) -> tuple[Subject, ...]:
        """Every run by itself, as a subject with one scan."""
        if self.runs is None:
            return (self,)
        return tuple(
            replace(
                self,
                x=self.x[rows],
                confounder=self.confounder[rows],
                displacement=None if self.displacement is None else self.displacement[rows],
                runs=None,
                segments=None if self.segments is None else self.segments[rows],
                scans=self.scans[run : run + 1],
            )
            for run, rows in enumerate(run_rows(self.runs))
        )


@dataclass(frozen=True, slots=True, eq=False)
class StudyData:
    """All usable subjects of a study.

    Attributes
    ----------
    subjects : tuple of Subject
        All that can be analysed.
    atlas : Atlas
        The regions, in the order of the columns of x.
    confounder_names : tuple of str
        Names of the confounders.

    Examples
    --------
    >>> from plaggm.fmri.semisynthetic import semisynthetic_study, simulated_motion
    >>> motion = simulated_motion(3, seed=0, volumes=60)
    >>> data, _ = semisynthetic_study(motion, seed=0, per_group=3, regions=4)
    >>> data.groups
    ('control', 'patient')
    >>> data.membership
    array([0, 0, 0, 1, 1, 1])
    """

    subjects: tuple[Subject, ...]
    atlas: Atlas
    confounder_names: tuple[str, ...]

    @property
    def groups(self) -> tuple[str, ...]:
        """Labels in alphabetical order."""
        return tuple(sorted({subject.group for subject in self.subjects}))

    @property
    def membership(self) -> Index:
        """Number of each subject's group: shape (S,)."""
        groups = self.groups
        return np.array([groups.index(subject.group) for subject in self.subjects], dtype=np.intp)

    @property
    def mean_displacement(self) -> Array:
        """Mean framewise displacement of each subject: shape (S,), NaN where it is not known."""
        return np.array([subject.mean_displacement for subject in self.subjects])

    def some(self, rows: Sequence[int]) -> StudyData:
        """Some of the subjects, in this order."""
        return replace(self, subjects=tuple(self.subjects[row] for row in rows))

    def of(self, group: str) -> tuple[Subject, ...]:
        """The members of a group."""
        return tuple(subject for subject in self.subjects if subject.group == group)

    def to_frame(self) -> pd.DataFrame:
        """One row for each subject, with the further columns of the participants table."""
        rows = []
        for subject in self.subjects:
            known = {
                "subject": subject.name,
                "group": subject.group,
                "runs": len(subject.by_run()),
                "volumes": len(subject.x),
                "mean_framewise_displacement": subject.mean_displacement,
            }
            # A column of the table that has the name of one of ours keeps its values beside it.
            further = {
                f"participants: {key}" if key in known else key: value
                for key, value in subject.further.items()
            }
            rows.append(known | further)
        return pd.DataFrame(rows)

    def scans_frame(self) -> pd.DataFrame:
        """One row for each scan: subject, session, task, run, volumes, displacement and file."""
        return pd.DataFrame(
            [
                {
                    "subject": subject.name,
                    "session": scan.session,
                    "task": scan.task,
                    "run": scan.run,
                    "volumes": len(part.x),
                    "mean_framewise_displacement": part.mean_displacement,
                    "file": "" if scan.source is None else str(scan.source),
                }
                for subject in self.subjects
                if subject.scans
                # Series that come from no file have no scans.
                for scan, part in zip(
                    subject.scans, subject.by_run() if subject.scans else (), strict=True
                )
            ]
        )


def standardised(series: Array) -> Array:
    """Every region centred and divided by its standard deviation: shape (n, p)."""
    return np.asarray((series - series.mean(axis=0)) / series.std(axis=0), dtype=np.float64)


def run_rows(runs: Index) -> list[Index]:
    """Places of the volumes of every run, in the order of the runs.

    Examples
    --------
    >>> run_rows(np.array([0, 0, 1]))
    [array([0, 1]), array([2])]
    """
    return [np.flatnonzero(runs == run) for run in np.unique(runs)]
