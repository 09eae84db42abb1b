"""The input of a study, from a table or a folder: participants, regions and region series."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from plaggm.fmri.atlas import (
    HARVARD_OXFORD,
    IMAGES,
    Atlas,
    harvard_oxford,
    known_atlas,
    label_atlas,
    load_atlas,
)
from plaggm.fmri.confounds import confounder_columns
from plaggm.fmri.derivatives import bids_file
from plaggm.fmri.images import open_image
from plaggm.fmri.label_tables import derivative_labels
from plaggm.fmri.layouts import ScanChoice, derivatives_table, folder_table
from plaggm.fmri.participants import (
    Participant,
    all_scans,
    participants_from_frame,
    read_participants_table,
)
from plaggm.fmri.problems import WHOLE_STUDY, Problems, StudyError
from plaggm.fmri.study_plan import StudyPlan
from plaggm.fmri.study_reading import Reading, collect
from plaggm.fmri.subjects import Progress, StudyData
from plaggm.fmri.tables import bare_suffix, reading
from plaggm.resume import Store
from plaggm.wording import listed

CACHE = "cache"
# Methods whose networks do not depend on the confounders.
WITHOUT_CONFOUNDERS = {"raw", "scrub"}


def read_study(plan: StudyPlan, progress: Progress | None = None) -> tuple[StudyData, Problems]:
    r"""Read and check everything, extracting region series from scans.

    Parameters
    ----------
    plan : StudyPlan
        Settings of the study.
    progress : callable, optional
        Called with the description of a step, the number of finished items, and of how many.

    Returns
    -------
    data : StudyData
        Series of all subjects.
    problems : Problems
        All that is wrong, with subject and file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     for k in range(4):
    ...         series = pd.DataFrame(rng.standard_normal((50, 3)), columns=["a", "b", "c"])
    ...         series.to_csv(folder / f"{k}.csv", index=False)
    ...         moved = pd.DataFrame({"framewise_displacement": rng.gamma(1.0, 0.1, 50)})
    ...         moved.to_csv(folder / f"{k}_confounds.tsv", sep="\t", index=False)
    ...     people = pd.DataFrame({"subject": list("0123"), "diagnosis": ["x", "x", "y", "y"]})
    ...     people["timeseries"] = people["subject"] + ".csv"
    ...     people["confounds"] = people["subject"] + "_confounds.tsv"
    ...     people.to_csv(folder / "participants.tsv", sep="\t", index=False)
    ...     plan = StudyPlan(folder / "participants.tsv", "diagnosis", ("fd",), folder / "results")
    ...     data, problems = read_study(plan)
    >>> len(data.subjects), data.atlas.names
    (4, ('a', 'b', 'c'))
    """
    problems = Problems()
    people = _people(plan, problems)
    if not people:
        raise StudyError(f"No subject can be analysed. {problems}")
    atlas = _regions(plan, people, problems)
    reading = Reading(
        confounder_columns(plan.confounders),
        atlas,
        None if plan.mask is None else _mask(plan.mask),
        plan.cleaning,
        plan.scrub,
    )
    store = Store(plan.output / CACHE)
    data = collect(people, reading, problems, store, n_jobs=plan.n_jobs, progress=progress)
    _note_other_names(plan, atlas, data.atlas, problems)
    _check_motion(plan, data)
    return data, problems


def _check_motion(plan: StudyPlan, data: StudyData) -> None:
    """Raise where a method has to adjust for confounders that never change."""
    values = np.concatenate([subject.confounder for subject in data.subjects])
    if set(plan.methods) <= WITHOUT_CONFOUNDERS or np.any(values != values[0]):
        return
    told = ", ".join(
        f"{name} = {value:g}" for name, value in zip(data.confounder_names, values[0], strict=True)
    )
    raise StudyError(
        f"The confounders are the same in all volumes of all subjects ({told}), so that there is nothing "
        "to adjust for. Check the confounds tables, choose other columns with --confounder, or leave "
        "motion in with --methods raw."
    )


def _note_other_names(
    plan: StudyPlan, asked: Atlas | None, found: Atlas, problems: Problems
) -> None:
    """Note that ready series have other regions than the atlas that was asked for."""
    default = plan.atlas == HARVARD_OXFORD and plan.labels is None
    if default or asked is None or not asked.names or found.title == asked.title:
        return
    lost = "places" if asked.coordinates is not None else "networks" if asked.networks else ""
    if not lost:
        return
    problems.add(
        WHOLE_STUDY,
        plan.labels or Path(plan.atlas),
        f"has other regions ({listed(map(repr, asked.names), 2)}) than the series "
        f"({listed(map(repr, found.names), 2)}), so that the {lost} of theirs are not known. "
        "Capitals, spaces and signs may differ in a name; all else must agree.",
    )


def _people(plan: StudyPlan, problems: Problems) -> list[Participant]:
    path = plan.participants
    for folder in (plan.fmriprep, plan.derivatives):
        if folder is not None and not folder.is_dir():
            raise StudyError(f"There is no folder {folder}.")
    # The name of an atlas may be the label that region series have.
    atlas = None if known_atlas(plan.atlas) else plan.atlas
    choice = ScanChoice(plan.space, plan.session, plan.task, atlas)
    if path.is_dir():
        if plan.derivatives is not None:
            raise StudyError("With --derivatives, pass the participants table instead of a folder.")
        table, source = folder_table(path, problems, choice, plan.fmriprep)
        return participants_from_frame(table, source, plan.group, problems)
    table = read_participants_table(path)
    if plan.fmriprep is None and plan.derivatives is None:
        if plan.space is not None:
            raise StudyError(
                "--space chooses among the scans of a folder; the table names its files."
            )
        choose = {"session": plan.session, "task": plan.task}
        return participants_from_frame(table, path, plan.group, problems, choose=choose)
    folder = plan.derivatives or plan.fmriprep
    assert folder is not None
    table = derivatives_table(folder, table, problems, choice, plan.fmriprep)
    return participants_from_frame(table, path, plan.group, problems)


def _regions(plan: StudyPlan, people: list[Participant], problems: Problems) -> Atlas | None:
    """The atlas that parcellates scans or names the columns of extracted series; None if unknown."""
    scans = [scan for _, scan in all_scans(people)]
    images = any(scan.image is not None for scan in scans)
    series = next((scan.timeseries for scan in scans if scan.timeseries is not None), None)
    label = "" if series is None else bids_file(series).atlas
    if not images and plan.labels is not None and bare_suffix(Path(plan.atlas)) not in IMAGES:
        return label_atlas(plan.labels, label or plan.labels.name)
    if images or not label or plan.atlas not in (HARVARD_OXFORD, label):
        return load_atlas(plan.atlas, plan.labels, plan.radius, problems, images=images)
    folder = plan.derivatives or plan.fmriprep or plan.participants
    table = derivative_labels(folder, label) if folder.is_dir() else None
    if table is None:
        # By its own names: places are those of the default where all names are.
        return harvard_oxford()
    image = table.with_name(table.name.replace(".tsv", ".nii.gz"))
    if image.is_file():
        return load_atlas(str(image), table, plan.radius, problems, images=False)
    return label_atlas(table, label)


def _mask(path: Path) -> Any:
    with reading(StudyError, f"The mask {path} "):
        mask = open_image(path)
        if len(mask.shape) == 3:
            mask.get_fdata()
    if len(mask.shape) != 3:
        raise StudyError(f"The mask {path} must be a 3-D image; its shape is {mask.shape}.")
    return mask
