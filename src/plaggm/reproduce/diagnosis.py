"""Section 6.2, diagnosis: telling patients from controls by networks without motion."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from plaggm.atomic_files import write_csv, write_file
from plaggm.fmri.confounds import confounder_columns
from plaggm.fmri.diagnosis import Diagnosis, diagnose, motion_auc
from plaggm.fmri.fold_networks import splits
from plaggm.fmri.motion import ResidualMotion, residual_motion
from plaggm.fmri.networks import fit_subjects
from plaggm.fmri.problems import Problems
from plaggm.fmri.semisynthetic import DIFFERENCE, semisynthetic_study
from plaggm.fmri.study_input import CACHE
from plaggm.fmri.study_tables import diagnosis_table, motion_table
from plaggm.fmri.subjects import Progress, StudyData
from plaggm.fmri.treatments import make_treatment
from plaggm.plotting import brain
from plaggm.report.sections import (
    Page,
    Picture,
    Section,
    frame_table,
    write_html,
    write_markdown,
)
from plaggm.reproduce.connectivity import CONFOUNDERS, cobre, load_motion, study_plan
from plaggm.reproduce.indicators import indicator_sensitivity, sensitivity_section
from plaggm.reproduce.provenance import made_by, settings_digest
from plaggm.resume import Store

PER_GROUP, QUICK_PER_GROUP = 40, 24
# Few people need a larger difference to be told apart.
QUICK_DIFFERENCE = 0.12
REPEATS, QUICK_REPEATS = 3, 1
PERMUTATIONS, QUICK_PERMUTATIONS = 100, 20
METHODS = ("pla", "lr", "paper", "pla-own", "scrub", "raw")
QUICK_METHODS = ("pla", "lr", "paper")
# Studies without the release: what differs, and whether motion goes with the diagnosis.
SCENARIOS = {
    "matched": dict(matched=True, difference=DIFFERENCE),
    "confounded": dict(matched=False, difference=DIFFERENCE),
    "null": dict(matched=True, difference=0.0),
    "confounded null": dict(matched=False, difference=0.0),
}
WORDS = {
    "matched": "The groups' networks differ; motion is divided at random between the groups.",
    "confounded": "The groups' networks differ, and patients move more.",
    "null": "The groups' networks are the same, and so is their motion: all is chance.",
    "confounded null": "The groups' networks are the same, but patients move more: whatever exceeds chance "
    "is motion that a method left in.",
    "cobre": "The COBRE release.",
}
SUMMARY = (
    "AUC on subjects left out, in repeated stratified ten-fold cross-validation, with everything learnt "
    "from the training subjects of each fold and the networks' penalty chosen by AIC."
)


def page_settings(
    methods: tuple[str, ...] = METHODS,
    confounders: tuple[str, ...] = CONFOUNDERS,
    scenarios: tuple[str, ...] = tuple(SCENARIOS),
    quick: bool = False,
) -> str:
    """Digest of what the page depends on, of the whole experiment unless told otherwise."""
    return settings_digest(
        methods=methods,
        confounders=confounders,
        scenarios={name: SCENARIOS[name] for name in scenarios},
        per_group=QUICK_PER_GROUP if quick else PER_GROUP,
        repeats=QUICK_REPEATS if quick else REPEATS,
        permutations=QUICK_PERMUTATIONS if quick else PERMUTATIONS,
    )


def run(
    output: Path,
    *,
    data_folder: Path | None = None,
    motion_file: Path | None = None,
    scenarios: Sequence[str] = tuple(SCENARIOS),
    methods: Sequence[str] = (),
    confounders: tuple[str, ...] = CONFOUNDERS,
    sensitivity: bool = True,
    quick: bool = False,
    jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> str:
    """Diagnose in every scenario, and under the Supplement's three indicator functions.

    Parameters
    ----------
    output : Path
        Folder for tables, pictures and ``report.html``.
    data_folder : Path, optional
        The COBRE release; without it the scenarios are semi-synthetic.
    motion_file : Path, optional
        Measured motion that drives them.
    scenarios : sequence of str
        Keys of ``SCENARIOS``.
    methods : sequence of str
        A method that cannot fit everybody is left out, which the page says. All of ``METHODS``, or
        ``QUICK_METHODS``, if empty.
    confounders : tuple of str
        Columns or presets that are adjusted for; the paper's seven unless given.
    sensitivity : bool
        Whether the indicator functions are compared, by AIC and by cross-validation.
    quick : bool
    jobs, seed : int
    progress : callable, optional

    Returns
    -------
    str
        What was found, in a sentence.
    """
    output.mkdir(parents=True, exist_ok=True)
    methods = tuple(methods) or (QUICK_METHODS if quick else METHODS)
    plan = study_plan(output, methods=methods, jobs=jobs, seed=seed, confounders=confounders)
    repeats, permutations = (
        (QUICK_REPEATS, QUICK_PERMUTATIONS) if quick else (REPEATS, PERMUTATIONS)
    )
    studies: dict[str, StudyData] = {}
    if data_folder is not None:
        studies["cobre"], problems = cobre(data_folder, plan, progress)
        source = "the COBRE release"
        write_csv(output / "problems.csv", problems.to_frame(), index=False)
    else:
        size = QUICK_PER_GROUP if quick else PER_GROUP
        motion = load_motion(motion_file, size, seed)
        source = motion.source
        for name in scenarios:
            settings = dict(SCENARIOS[name])
            if quick and settings["difference"]:
                settings["difference"] = QUICK_DIFFERENCE
            studies[name], _ = semisynthetic_study(
                motion,
                seed=seed,
                per_group=size,
                confounders=confounder_columns(confounders),
                **settings,  # type: ignore[arg-type]
            )
    sections, tables, lesson = [], [], []
    store = Store(output / CACHE)
    for name, data in studies.items():
        known, left, skipped = [], {}, []
        for method in methods:
            treatment = make_treatment(
                method, plan.estimators[method], data.confounder_names, plan.scrub
            )
            problems = Problems()
            networks = fit_subjects(
                treatment,
                data.subjects,
                criterion="aic",
                store=Store(store.folder / name.replace(" ", "-")),
                problems=problems,
                settings={"seed": seed, "confounders": list(data.confounder_names)},
                n_jobs=jobs,
                progress=progress,
            )
            motion_left = residual_motion(
                networks.values, data.mean_displacement, data.atlas.distances
            )
            if motion_left is None:
                skipped.append(f"{method}: too few subjects to measure the motion that is left")
            else:
                left[method] = motion_left
            unfitted = len(networks.subjects) - int(np.count_nonzero(networks.usable))
            if unfitted:
                skipped.append(f"{method}: {unfitted} subjects cannot be fitted")
            else:
                known.append(treatment)
        y = data.membership
        folds = splits(y, repeats, seed)
        found = [
            one
            for treatment in known
            for one in diagnose(
                treatment,
                data.subjects,
                y,
                folds,
                criterion="aic",
                permutations=permutations,
                seed=seed,
                store=Store(store.folder / name.replace(" ", "-")),
                n_jobs=jobs,
                progress=progress,
            )
        ]
        alone = motion_auc(data.mean_displacement, y, folds)
        table = diagnosis_table(found, alone)
        tables.append(table.assign(scenario=name))
        sections.append(_section(output, name, data, found, alone, left, skipped))
        auc = {one.method: one.auc for one in found if one.features == "values"}
        lesson.append(f"{name}: " + ", ".join(f"{key} {value:.2f}" for key, value in auc.items()))
    if sensitivity:
        first = next(iter(studies))
        place = Store(store.folder / first.replace(" ", "-"))
        table = indicator_sensitivity(
            studies[first], store=place, jobs=jobs, seed=seed, progress=progress
        )
        sections.append(sensitivity_section(output, table))
    everything = pd.concat(tables, ignore_index=True)
    write_csv(output / "diagnosis.csv", everything, index=False)
    record = {"format": "plaggm-study", "scenarios": list(studies), "seed": seed, "quick": quick}
    write_file(output / "study.json", json.dumps(record, indent=2))
    page = Page(
        "Diagnosis from brain networks (Section 6.2 and the Supplement)",
        "study report",
        tuple((str(len(data.subjects)), name) for name, data in studies.items()),
        (
            made_by(
                "plaggm reproduce diagnosis",
                page_settings(methods, confounders, tuple(scenarios), quick),
                source,
            ),
            SUMMARY,
        ),
        tuple(sections),
    )
    write_html(output / "report.html", page)
    write_markdown(output / "diagnosis.md", page)
    return f"AUC by {'; '.join(lesson)}."


def _section(
    output: Path,
    name: str,
    data: StudyData,
    found: list[Diagnosis],
    alone: tuple[float, float, float],
    left: dict[str, ResidualMotion],
    skipped: list[str],
) -> Section:
    stem = name.replace(" ", "_")
    curves = output / f"diagnosis-{stem}.png"
    brain.diagnosis_curves(curves, found, alone)
    pictures = [Picture(curves, "AUC along the path of the classifier's penalty.")]
    if left:
        path = output / f"residual_motion-{stem}.png"
        brain.residual_motion_plot(path, left, data.atlas.distances)
        pictures.append(Picture(path, "Each edge's correlation with mean framewise displacement."))
        write_csv(output / f"residual_motion-{stem}.csv", motion_table(left), index=False)
    words = [
        WORDS[name],
        f"Mean framewise displacement alone: AUC {alone[0]:.2f} ({alone[1]:.2f} to {alone[2]:.2f}).",
        *(f"Left out: {reason}." for reason in skipped),
    ]
    return Section(
        name.capitalize(),
        tuple(words),
        tuple(pictures),
        (frame_table(diagnosis_table(found, alone), "diagnosis.csv"),),
    )
