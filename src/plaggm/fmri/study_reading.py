"""Reading, checking and extraction of all scans of a study."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from joblib import delayed

from plaggm.array_types import Array, Index
from plaggm.fmri.atlas import Atlas, name_regions
from plaggm.fmri.confounds import (
    PRESETS,
    ConfoundsError,
    MissingColumns,
    displacement,
    read_confounds,
    select_confounds,
)
from plaggm.fmri.participants import Participant, Scan, all_scans, drop_lonely_groups
from plaggm.fmri.problems import Problems, StudyError
from plaggm.fmri.scans import (
    Cleaning,
    ScanError,
    check_runs,
    check_series,
    extract_series,
    read_series,
)
from plaggm.fmri.subjects import HIGH_MOTION, Progress, StudyData, Subject, standardised
from plaggm.resume import Store, file_stamp, versioned_key
from plaggm.selection.parallel import in_turn
from plaggm.wording import listed

CHOOSE = (
    f"--confounder takes a column of the confounds tables, or one of {', '.join(PRESETS)}, whose columns "
    "have fMRIPrep's names."
)


@dataclass(frozen=True, slots=True)
class Reading:
    """Settings for reading the files of a study.

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
    """The content of a scan's files, or their problems; whether the confounders' columns are missing."""

    person: Participant
    scan: Scan
    series: Array | None = None
    names: tuple[str, ...] | None = None
    confounder: Array | None = None
    displacement: Array | None = None
    wrong: tuple[tuple[Path | None, str], ...] = ()
    lacks_columns: bool = False


def collect(
    people: Sequence[Participant],
    reading: Reading,
    problems: Problems,
    store: Store,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyData:
    """Read all subjects; unusable scans and subjects are noted and left out.

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
        Called with the description of a step, the number of finished items, and of how many.

    Returns
    -------
    StudyData
    """
    scans = all_scans(people)
    results: list[_Read] = []
    if progress is not None:
        progress("reading scans", 0, len(scans))
    # nilearn warns of resampling and of regions that a mask removes; the latter are problems here. The
    # filter belongs to the process, so it is set once and not in every thread.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work = in_turn(n_jobs, [person.subject for person, _ in scans])(
            delayed(_read)(person, scan, reading, store) for person, scan in scans
        )
        for done, result in enumerate(work, 1):
            results.append(result)
            if progress is not None:
                progress("reading scans", done, len(scans))
    regions = _consensus(results, reading.atlas)
    usable: dict[str, list[_Read]] = {}
    for result in results:
        wrong = list(result.wrong)
        if regions is not None and result.series is not None:
            wrong += _against_regions(result, regions)
        more = len(result.person.scans) > 1
        for file, message in wrong:
            told = f"{message} This run is left out." if more else message
            problems.add(result.person.subject, file, told)
        if not wrong and result.series is not None and result.confounder is not None:
            usable.setdefault(result.person.subject, []).append(result)
    subjects = []
    for own in usable.values():
        assert regions is not None
        subject = _joined(own)
        wrong = _against_study(subject, own, regions, reading)
        for file, message in wrong:
            problems.add(subject.name, file, message)
        if not wrong:
            subjects.append(subject)
    kept = drop_lonely_groups({subject.name: subject.group for subject in subjects}, problems)
    subjects = [subject for subject in subjects if subject.name in kept]
    if not subjects or regions is None:
        remedy = f"\n{CHOOSE}" if any(result.lacks_columns for result in results) else ""
        raise StudyError(f"No subject can be analysed. {problems}{remedy}")
    return StudyData(tuple(subjects), regions, reading.columns)


def _joined(runs: Sequence[_Read]) -> Subject:
    """A subject with its runs one after the other, each with means and spread of its own removed."""
    person = runs[0].person
    series = [standardised(run.series) for run in runs if run.series is not None]
    confounders = [run.confounder for run in runs if run.confounder is not None]
    moved = [run.displacement for run in runs if run.displacement is not None]
    numbers: Index = np.repeat(np.arange(len(runs)), [len(one) for one in series])
    return Subject(
        person.subject,
        person.group,
        np.concatenate(series),
        np.concatenate(confounders),
        np.concatenate(moved) if len(moved) == len(runs) else None,
        person.further,
        numbers if len(runs) > 1 else None,
        tuple(run.scan for run in runs),
    )


def _read(person: Participant, scan: Scan, reading: Reading, store: Store) -> _Read:
    """The files of one scan, with everything that is wrong in either of them."""
    wrong: list[tuple[Path | None, str]] = []
    series, names = None, None
    try:
        series, names = _signal(person, scan, reading, store)
    except ScanError as error:
        wrong.append((scan.source, str(error)))
    confounder, moved, lacks_columns = None, None, False
    if scan.confounds is None:
        told = (
            "has no table of confounds. The column 'confounds' of the participants table names it."
        )
        wrong.append((None, told))
    else:
        try:
            table = read_confounds(scan.confounds)
            confounder, moved = select_confounds(table, reading.columns), displacement(table)
        except ConfoundsError as error:
            wrong.append((scan.confounds, str(error)))
            lacks_columns = isinstance(error, MissingColumns)
    if confounder is not None and series is not None and len(confounder) != len(series):
        told = (
            f"has {len(confounder)} rows, but the series has {len(series)} volumes; one row for each "
            "volume is needed."
        )
        if len(series) < len(confounder):
            # XCP-D and giga_connectome may censor.
            told += " Series whose high-motion volumes were dropped cannot be used: keep them."
        wrong.append((scan.confounds, told))
    return _Read(person, scan, series, names, confounder, moved, tuple(wrong), lacks_columns)


def _signal(
    person: Participant, scan: Scan, reading: Reading, store: Store
) -> tuple[Array, tuple[str, ...] | None]:
    if scan.timeseries is not None:
        return read_series(scan.timeseries)
    if scan.image is None or reading.atlas is None:
        raise ScanError("there is no atlas to cut the scan into regions.")
    if not scan.image.exists():
        raise ScanError("does not exist.")
    atlas = reading.atlas
    key = versioned_key(
        file_stamp(scan.image),
        atlas.names,
        atlas.labels,
        atlas.radius,
        None if atlas.coordinates is None else atlas.coordinates.tolist(),
        _image_key(atlas.image),
        _image_key(reading.mask),
        repr(reading.cleaning),
    )
    # A part replaces that of the same name, so every run needs a name.
    name = person.subject
    if len(person.scans) > 1:
        name = f"{person.subject} {scan.label or person.scans.index(scan) + 1}"
    stored = store.get("series", name, key)
    if stored is None:
        series = extract_series(scan.image, atlas, reading.mask, reading.cleaning)
        store.put("series", name, key, series=series)
    else:
        series = stored["series"]
    return series, atlas.names


def _image_key(image: Any) -> Any:
    """A key that differs between different images."""
    if image is None:
        return None
    if isinstance(image, str | Path):
        return file_stamp(Path(image))
    name = image.get_filename()
    return [image.shape, image.affine.tolist(), file_stamp(Path(name)) if name else None]


def _consensus(results: Sequence[_Read], atlas: Atlas | None) -> Atlas | None:
    """The regions that most scans have."""
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
    """Problems of a scan's series, given the regions of the study."""
    assert result.series is not None
    source = result.scan.source
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
        check_series(result.series, expected, alone=len(result.person.scans) == 1)
    except ScanError as error:
        return [(source, str(error))]
    return []


def _against_study(
    subject: Subject, runs: Sequence[_Read], regions: Atlas, reading: Reading
) -> list[tuple[Path | None, str]]:
    """Problems of a subject, all runs together."""
    alone = runs[0].scan if len(runs) == 1 else Scan()
    if len(runs[0].person.scans) > 1:
        try:
            check_runs(subject.x, regions.names)
        except ScanError as error:
            return [(alone.source, str(error))]
    if subject.displacement is None or not len(subject.displacement):
        return []
    # A first displacement of zero only means that there was no volume before it.
    moved = [one.displacement for one in subject.by_run() if one.displacement is not None]
    later = [one[1:] if len(one) > 1 else one for one in moved]
    if min(float(one.min()) for one in later) <= reading.high_motion:
        return []
    return [
        (
            alone.confounds,
            f"says that all {len(subject.x)} volumes are high-motion (framewise displacement above "
            f"{reading.high_motion:g} mm), so no volume shows the network without motion. It must be in "
            "mm; --scrub sets the limit.",
        )
    ]
