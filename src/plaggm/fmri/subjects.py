"""Everybody's data, read, checked and extracted: what all analyses of a study start from."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import delayed

from plaggm.array_types import Array, Index
from plaggm.fmri.atlas import Atlas, name_regions
from plaggm.fmri.confounds import (
    ConfoundsError,
    displacement,
    read_confounds,
    select_confounds,
)
from plaggm.fmri.participants import Participant, drop_lonely_groups
from plaggm.fmri.problems import Problems, StudyError
from plaggm.fmri.scans import Cleaning, ScanError, check_series, extract_series, read_series
from plaggm.resume import Store, digest, file_stamp
from plaggm.selection.parallel import in_turn
from plaggm.wording import listed

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
        Region series, each centred and divided by its standard deviation.
    confounder : ndarray of shape (n, m)
    displacement : ndarray of shape (n,), optional
        Framewise displacement in mm, where it is known.
    further : dict
        Other columns of the participants table.
    """

    name: str
    group: str
    x: Array = field(repr=False)
    confounder: Array = field(repr=False)
    displacement: Array | None = field(default=None, repr=False)
    further: dict[str, str] = field(default_factory=dict)

    @property
    def mean_displacement(self) -> float:
        """Mean framewise displacement in mm; NaN where it is not known."""
        return float("nan") if self.displacement is None else float(self.displacement.mean())


@dataclass(frozen=True, slots=True, eq=False)
class StudyData:
    """Everybody who can be analysed.

    Attributes
    ----------
    subjects : tuple of Subject
        All that can be analysed.
    atlas : Atlas
        The regions, in the order of the columns of x.
    confounder_names : tuple of str
        Names of the confounders.
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
        """Number of everybody's group: shape (S,)."""
        groups = self.groups
        return np.array([groups.index(subject.group) for subject in self.subjects], dtype=np.intp)

    @property
    def mean_displacement(self) -> Array:
        """Mean framewise displacement of everybody: shape (S,), NaN where it is not known."""
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


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read from the files, and how.

    Attributes
    ----------
    columns : tuple of str
        Confounders.
    atlas : Atlas, optional
    mask : Any
        nibabel image, or None.
    cleaning : Cleaning
    high_motion : float
        Framewise displacement in mm beyond which a volume counts as high-motion.
    """

    columns: tuple[str, ...]
    atlas: Atlas | None
    mask: Any = None
    cleaning: Cleaning = field(default_factory=Cleaning)
    high_motion: float = HIGH_MOTION


@dataclass(frozen=True, slots=True)
class _Read:
    """A subject's files as read, or what is wrong with them."""

    person: Participant
    series: Array | None = None
    names: tuple[str, ...] | None = None
    confounder: Array | None = None
    displacement: Array | None = None
    wrong: tuple[tuple[Path | None, str], ...] = ()


def standardised(series: Array) -> Array:
    """Every region centred and divided by its standard deviation: shape (n, p)."""
    return np.asarray((series - series.mean(axis=0)) / series.std(axis=0), dtype=np.float64)


def collect(
    people: Sequence[Participant],
    reading: Reading,
    problems: Problems,
    store: Store,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyData:
    """Read everybody; whoever cannot be used is noted, and the others go on.

    Parameters
    ----------
    people : sequence of Participant
    reading : Reading
    problems : Problems
        Grows by what is wrong, everything at once.
    store : Store
        Extracted series are kept there.
    n_jobs : int, optional
    progress : callable, optional
        Called with a description, how many are done, and of how many.

    Returns
    -------
    StudyData
    """
    results: list[_Read] = []
    # nilearn warns of resampling and of regions that a mask removes; the latter are problems here. The
    # filter belongs to the process, so it is set once and not in every thread.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work = in_turn(n_jobs, [person.subject for person in people])(
            delayed(_read)(person, reading, store) for person in people
        )
        for done, result in enumerate(work, 1):
            results.append(result)
            if progress is not None:
                progress("reading scans", done, len(people))
    regions = _consensus(results, reading.atlas)
    subjects = []
    for result in results:
        wrong = list(result.wrong)
        if regions is not None and result.series is not None:
            wrong += _against_regions(result, regions)
        for file, message in wrong:
            problems.add(result.person.subject, file, message)
        if not wrong and result.series is not None and result.confounder is not None:
            subjects.append(
                Subject(
                    result.person.subject,
                    result.person.group,
                    standardised(result.series),
                    result.confounder,
                    result.displacement,
                    result.person.further,
                )
            )
    kept = drop_lonely_groups({subject.name: subject.group for subject in subjects}, problems)
    subjects = [subject for subject in subjects if subject.name in kept]
    if not subjects or regions is None:
        raise StudyError(f"No subject can be analysed. {problems}")
    return StudyData(tuple(subjects), regions, reading.columns)


def _read(person: Participant, reading: Reading, store: Store) -> _Read:
    """One subject's files, with everything that is wrong in either of them."""
    wrong: list[tuple[Path | None, str]] = []
    series, names = None, None
    try:
        series, names = _signal(person, reading, store)
    except ScanError as error:
        wrong.append((person.source, str(error)))
    confounder, moved = None, None
    if person.confounds is None:
        wrong.append((None, "has no table of confounds."))
    else:
        try:
            table = read_confounds(person.confounds)
            confounder, moved = select_confounds(table, reading.columns), displacement(table)
        except ConfoundsError as error:
            wrong.append((person.confounds, str(error)))
    if confounder is not None:
        if series is not None and len(confounder) != len(series):
            wrong.append(
                (
                    person.confounds,
                    f"has {len(confounder)} rows, but the series has {len(series)} volumes; one row for "
                    "each volume is needed.",
                )
            )
        if moved is not None and len(moved) and moved.min() > reading.high_motion:
            # A first displacement of zero only means that there was no volume before it.
            wrong.append((person.confounds, _all_moving(moved, reading)))
        elif moved is not None and len(moved) > 1 and moved[1:].min() > reading.high_motion:
            wrong.append((person.confounds, _all_moving(moved, reading)))
    return _Read(person, series, names, confounder, moved, tuple(wrong))


def _all_moving(moved: Array, reading: Reading) -> str:
    return (
        f"says that all {len(moved)} volumes are high-motion (framewise displacement above "
        f"{reading.high_motion:g} mm), so no volume shows the network without motion."
    )


def _signal(
    person: Participant, reading: Reading, store: Store
) -> tuple[Array, tuple[str, ...] | None]:
    if person.timeseries is not None:
        return read_series(person.timeseries)
    if person.image is None or reading.atlas is None:
        raise ScanError("there is no atlas to cut the scan into regions.")
    if not person.image.exists():
        raise ScanError("does not exist.")
    atlas = reading.atlas
    key = digest(
        file_stamp(person.image),
        atlas.names,
        atlas.labels,
        atlas.radius,
        None if atlas.coordinates is None else atlas.coordinates.tolist(),
        _image_key(atlas.image),
        _image_key(reading.mask),
        repr(reading.cleaning),
    )
    stored = store.get("series", person.subject, key)
    if stored is None:
        series = extract_series(person.image, atlas, reading.mask, reading.cleaning)
        store.put("series", person.subject, key, series=series)
    else:
        series = stored["series"]
    return series, atlas.names


def _image_key(image: Any) -> Any:
    """Something that differs where an image does."""
    if image is None:
        return None
    if isinstance(image, str | Path):
        return file_stamp(Path(image))
    name = image.get_filename()
    return [image.shape, image.affine.tolist(), file_stamp(Path(name)) if name else None]


def _consensus(results: Sequence[_Read], atlas: Atlas | None) -> Atlas | None:
    """The regions that most subjects have."""
    read = [result for result in results if result.series is not None]
    if not read:
        return None
    counts = Counter(
        (result.series.shape[1], result.names) for result in read if result.series is not None
    )
    named = {key: count for key, count in counts.items() if key[1] is not None}
    count, names = max(named or counts, key=lambda key: counts[key])
    return name_regions(count, names, atlas)


def _against_regions(result: _Read, regions: Atlas) -> list[tuple[Path | None, str]]:
    """What is wrong with a subject's series, given the regions of the study."""
    assert result.series is not None
    source = result.person.source
    expected = regions.names
    if result.series.shape[1] != len(expected):
        return [
            (
                source,
                f"has {result.series.shape[1]} regions, the study {len(expected)}; the labels do not "
                "match.",
            )
        ]
    if result.names is not None and result.names != expected:
        other = [
            f"{mine!r} instead of {theirs!r}"
            for mine, theirs in zip(result.names, expected, strict=True)
            if mine != theirs
        ]
        return [(source, f"its labels do not match those of the study: {listed(other, 3)}.")]
    try:
        check_series(result.series, expected)
    except ScanError as error:
        return [(source, str(error))]
    return []
