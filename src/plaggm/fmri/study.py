"""A whole study: from the participants table to networks, comparison, diagnosis and report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plaggm.array_types import Array, Mask
from plaggm.core.edge_tests import FEW_GROUPS
from plaggm.fmri.atlas import (
    HARVARD_OXFORD,
    IMAGES,
    Atlas,
    known_atlas,
    label_atlas,
    load_atlas,
)
from plaggm.fmri.comparison import Comparison, compare_groups
from plaggm.fmri.confounds import confounder_columns
from plaggm.fmri.covariates import read_covariates
from plaggm.fmri.derivatives import bids_file
from plaggm.fmri.diagnosis import Diagnosis, diagnose, motion_auc
from plaggm.fmri.fold_networks import splits
from plaggm.fmri.images import open_image
from plaggm.fmri.label_tables import derivative_labels
from plaggm.fmri.layouts import ScanChoice, derivatives_table, folder_table
from plaggm.fmri.motion import FEWEST_SUBJECTS, ResidualMotion, residual_motion
from plaggm.fmri.networks import SubjectNetworks
from plaggm.fmri.participants import (
    Participant,
    all_scans,
    participants_from_frame,
    read_participants_table,
)
from plaggm.fmri.problems import WHOLE_STUDY, Problems, StudyError
from plaggm.fmri.study_networks import NOTES, PARTIALLY_LINEAR, fit_networks
from plaggm.fmri.study_plan import StudyPlan
from plaggm.fmri.study_reading import Reading, collect
from plaggm.fmri.subjects import Progress, StudyData
from plaggm.fmri.tables import bare_suffix, reading
from plaggm.fmri.treatments import METHODS, make_treatment
from plaggm.result import GraphResult
from plaggm.result_archive import library_versions
from plaggm.resume import Store

CACHE = "cache"
# Raised whenever the same data come to other networks, lest an earlier run's be taken for them.
GENERATION = 4


@dataclass(frozen=True, slots=True, eq=False)
class StudyResult:
    """What a study found.

    Attributes
    ----------
    data : StudyData
        Series of all subjects.
    problems : Problems
        What was wrong with single subjects.
    groups : dict of (method, group) to GraphResult
    networks : dict of method to SubjectNetworks
    comparisons : dict of method to Comparison
        Empty unless there are two groups.
    motion : dict of method to ResidualMotion
    diagnoses : list of Diagnosis
    motion_alone : tuple of three floats, optional
        AUC of mean framewise displacement alone, and its interval.
    covariates : tuple of str
        What comparisons, diagnoses and pooled networks account for.
    """

    data: StudyData
    problems: Problems
    groups: dict[tuple[str, str], GraphResult]
    networks: dict[str, SubjectNetworks]
    comparisons: dict[str, Comparison]
    motion: dict[str, ResidualMotion]
    diagnoses: list[Diagnosis]
    motion_alone: tuple[float, float, float] | None
    covariates: tuple[str, ...] = ()


def read_study(plan: StudyPlan, progress: Progress | None = None) -> tuple[StudyData, Problems]:
    """Read and check everything, extracting region series from scans.

    Parameters
    ----------
    plan : StudyPlan
        What to do.
    progress : callable, optional
        Told the description of a step, how much is done and of how much.

    Returns
    -------
    data : StudyData
        Series of all subjects.
    problems : Problems
        All that is wrong, with subject and file.
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
    return data, problems


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
    """The atlas by which scans are cut, or by which ready series are named; None where it is not known."""
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
        # By its own names, if it has any; its regions are those of another atlas than the default.
        return Atlas(label, ())
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


def analyse(
    plan: StudyPlan, data: StudyData, problems: Problems, progress: Progress | None = None
) -> StudyResult:
    """Fit, compare and classify.

    Parameters
    ----------
    plan : StudyPlan
        What to do.
    data : StudyData
        Series of all subjects.
    problems : Problems
        Grows by subjects that a method cannot fit.
    progress : callable, optional
        Told the description of a step, how much is done and of how much.

    Returns
    -------
    StudyResult
    """
    store = Store(plan.output / CACHE)
    p = len(data.atlas.names)
    data, covariates = read_covariates(data, plan.covariates, problems)
    design = None if covariates is None else covariates.design()
    comparisons: dict[str, Comparison] = {}
    motion: dict[str, ResidualMotion] = {}
    networks, groups = fit_networks(
        plan.methods,
        data,
        estimator=plan.estimators,
        criterion=plan.criterion,
        subject_criterion=plan.subject_criterion,
        scrub=plan.scrub,
        store=store,
        problems=problems,
        settings=_settings(plan),
        fdr=plan.fdr if plan.edges == "fdr" else None,
        covariates=covariates,
        n_jobs=plan.n_jobs,
        progress=progress,
    )
    _note_tests(plan, data, groups, problems)
    two_groups = len(data.groups) == 2
    if not two_groups:
        problems.add(
            WHOLE_STUDY,
            None,
            "The groups are neither compared nor told apart: that needs two groups, and there "
            f"{'is' if len(data.groups) == 1 else 'are'} {len(data.groups)} ({', '.join(data.groups)}).",
        )
    unmeasured = []
    for method, found in networks.items():
        good = found.usable
        reason = _too_few(data, good)
        if two_groups and reason:
            problems.add(
                WHOLE_STUDY,
                None,
                f"{METHODS[method]}: the groups are not compared, since {reason}.",
            )
        elif two_groups:
            comparisons[method] = compare_groups(
                found.values[good],
                data.membership[good],
                (data.groups[0], data.groups[1]),
                p,
                permutations=plan.permutations,
                seed=plan.seed,
                covariates=None if design is None else design[good],
            )
        left = residual_motion(found.values, data.mean_displacement, data.atlas.distances)
        if left is None:
            unmeasured.append(METHODS[method])
        else:
            motion[method] = left
    if unmeasured:
        problems.add(
            WHOLE_STUDY,
            None,
            f"Motion that is left in the networks of {', '.join(unmeasured)} is not measured: that needs "
            f"{FEWEST_SUBJECTS} or more fitted subjects of known mean framewise displacement, not the same "
            "in all of them.",
        )
    diagnoses, alone = _diagnose(plan, data, networks, design, problems, progress)
    named = () if covariates is None else covariates.names
    return StudyResult(
        data, problems, groups, networks, comparisons, motion, diagnoses, alone, named
    )


def _note_tests(
    plan: StudyPlan,
    data: StudyData,
    groups: dict[tuple[str, str], GraphResult],
    problems: Problems,
) -> None:
    """Note what weakens the tests of the groups' edges."""
    if plan.edges != "fdr":
        return
    for (method, group), found in groups.items():
        notes = list(found.diagnostics.get(NOTES, []))
        size = len(data.of(group))
        if method in PARTIALLY_LINEAR and size < FEW_GROUPS and not notes:
            notes.append(
                f"Standard errors rest on {size} subjects; fewer than {FEW_GROUPS} leave them hardly "
                "known, and few edges can be declared."
            )
        for note in notes:
            problems.add(
                WHOLE_STUDY, None, f"{METHODS[method]}, tests of the group {group!r}: {note}"
            )


def _too_few(data: StudyData, usable: Mask) -> str:
    """Why two groups cannot be compared, given who was fitted; empty if they can."""
    counts = np.bincount(data.membership[usable], minlength=len(data.groups))
    smallest = int(np.argmin(counts))
    if counts[smallest] >= 2:
        return ""
    return (
        f"{counts[smallest]} of {len(data.of(data.groups[smallest]))} subjects of the group "
        f"{data.groups[smallest]!r} could be fitted and two are needed"
    )


def _settings(plan: StudyPlan) -> dict[str, Any]:
    """What networks depend on besides the data and the criterion of their penalty."""
    told = {name: getattr(plan, name) for name in ("threshold", "scrub", "temporal")}
    if plan.smoothing:
        told["smoothing"] = dict(plan.smoothing)
    return {**told, "version": library_versions()["plaggm"], "generation": GENERATION}


def _diagnose(
    plan: StudyPlan,
    data: StudyData,
    networks: dict[str, SubjectNetworks],
    covariates: Array | None,
    problems: Problems,
    progress: Progress | None,
) -> tuple[list[Diagnosis], tuple[float, float, float] | None]:
    """Classify the subjects whom every method can fit, so that all methods see the same people."""
    good = np.all([found.usable for found in networks.values()], axis=0)
    y = data.membership[good]
    if not plan.repeats or len(data.groups) != 2:
        return [], None
    reason = _too_few(data, good)
    if reason:
        problems.add(
            WHOLE_STUDY, None, f"There is no diagnosis, since by every method together {reason}."
        )
        return [], None
    subjects = [subject for subject, usable in zip(data.subjects, good, strict=True) if usable]
    folds = splits(y, plan.repeats, plan.seed)
    store = Store(plan.output / CACHE)
    found: list[Diagnosis] = []
    for method in plan.methods:
        treatment = make_treatment(
            method, plan.estimators[method], data.confounder_names, plan.scrub
        )
        try:
            found += diagnose(
                treatment,
                subjects,
                y,
                folds,
                criterion=plan.subject_criterion,
                permutations=plan.label_permutations,
                seed=plan.seed,
                covariates=None if covariates is None else covariates[good],
                store=store,
                settings=_settings(plan),
                n_jobs=plan.n_jobs,
                progress=progress,
            )
        except (ValueError, np.linalg.LinAlgError) as error:
            problems.add(WHOLE_STUDY, None, f"{METHODS[method]}: there is no diagnosis. {error}")
    moved = data.mean_displacement[good]
    if np.isfinite(moved).all():
        return found, motion_auc(moved, y, folds)
    unknown = int(np.count_nonzero(~np.isfinite(moved)))
    problems.add(
        WHOLE_STUDY,
        None,
        "Mean framewise displacement alone is not tried as a diagnosis: it is unknown for "
        f"{unknown} of {len(moved)} subjects.",
    )
    return found, None
