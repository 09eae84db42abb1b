"""Section 6.2, diagnosis: telling patients from controls by networks without motion."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from plaggm.atomic_files import write_csv, write_file
from plaggm.fmri.confounds import confounder_columns
from plaggm.fmri.covariates import FEWEST_DIFFERING
from plaggm.fmri.semisynthetic import DIFFERENCE, Motion, semisynthetic_study
from plaggm.fmri.study_input import CACHE
from plaggm.fmri.study_tables import diagnosis_table
from plaggm.fmri.subjects import Progress, StudyData
from plaggm.plotting import brain
from plaggm.report.sections import (
    Cell,
    Page,
    Picture,
    Section,
    Table,
    frame_table,
    write_html,
    write_markdown,
)
from plaggm.reproduce.connectivity import CONFOUNDERS, FIRST_SEED, cobre, load_motion, study_plan
from plaggm.reproduce.diagnosis_study import (
    CURVED,
    VARIANTS,
    StudyDiagnosis,
    diagnose_study,
    studies_together,
)
from plaggm.reproduce.indicators import (
    OTHER_INDICATORS,
    indicator_sensitivity,
    sensitivity_section,
)
from plaggm.reproduce.provenance import command_line, made_by, settings_digest
from plaggm.resume import Store

PER_GROUP, QUICK_PER_GROUP = 40, 24
# With few people a larger difference is needed for an AUC above chance.
QUICK_DIFFERENCE = 0.12
# Times that the people of one study are divided into folds; further seeds tell more.
REPEATS = 1
SEEDS, QUICK_SEEDS = 5, 1
PERMUTATIONS, QUICK_PERMUTATIONS = 100, 20
METHODS = ("pla", "lr", "lr-glasso", "paper")
CONFOUNDED_NULL = "confounded null"
# What curves are drawn of.
CURVES = ("values", "signs", "values, elastic net", f"values {CURVED}")
MISSING = "–"
UNFITTED = "no method can be fitted to everybody"


class Scenario(TypedDict):
    """Parameters of a simulated study that differ between scenarios."""

    matched: bool
    difference: float


# Studies without the release: what differs, and whether motion goes with the diagnosis.
SCENARIOS: dict[str, Scenario] = {
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
    "AUC on subjects left out, in stratified ten-fold cross-validation. Networks, what their features are "
    "freed of, and the classifier are learnt from the training subjects of each fold; a few quantities "
    "that do not depend on labels (levels, filter, thresholds, the penalty of R) from all scans. The "
    "networks' penalty is chosen by AIC.",
    "The classifier is logistic regression with glmnet's grid of 100 penalties. The paper's \"selected by "
    "AIC\" may mean the networks' penalty or the classifier's; the latter is chosen by AIC (columns \"by "
    'aic") and by five-fold cross-validation inside the training subjects ("auc"), and curves show all '
    "penalties. The elastic net, half lasso and half ridge, is an example of the specialised classifiers "
    "that the paper's discussion asks for.",
    "The line of Patel et al. (2016) in the paper's figure is not drawn: the text gives no number for it.",
    '"Auc with displacement" has mean framewise displacement as one more feature. Features that are '
    "freed of displacement are residuals of a regression on it (and its logarithm), learnt from the "
    f"training subjects. Those that differ from the median in fewer than {FEWEST_DIFFERING} of these are "
    "left out: residuals of an edge that few people have would vary with displacement in all others. "
    "With exchanged labels the AUC should be about one half.",
)


def page_settings(
    methods: tuple[str, ...] = METHODS,
    confounders: tuple[str, ...] = CONFOUNDERS,
    scenarios: tuple[str, ...] = tuple(SCENARIOS),
    quick: bool = False,
    people: int | None = None,
) -> str:
    """Digest of what the page depends on, of the whole experiment by default.

    The number of seeds is not among them: it is on the page.
    """
    return settings_digest(
        methods=methods,
        confounders=confounders,
        scenarios={name: SCENARIOS[name] for name in scenarios},
        per_group=people or (QUICK_PER_GROUP if quick else PER_GROUP),
        repeats=REPEATS,
        variants=VARIANTS,
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
    seeds: int | None = None,
    null_seeds: int | None = None,
    people: int | None = None,
    permutations: int | None = None,
    quick: bool = False,
    jobs: int = 1,
    seed: int = FIRST_SEED,
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
        A method that cannot fit everybody is left out, which the page says. All of ``METHODS`` if
        empty.
    confounders : tuple of str
        Columns or presets that are adjusted for; the paper's seven unless given.
    sensitivity : bool
        Whether the indicator functions are compared, by AIC and by cross-validation.
    seeds : int, optional
        Number of simulated studies of each scenario; ``SEEDS`` or ``QUICK_SEEDS`` when absent.
    null_seeds : int, optional
        Number of studies of the confounded null; twice as many as of the others when absent.
    people : int, optional
        People in each group of a simulated study; ``PER_GROUP`` or ``QUICK_PER_GROUP`` when absent.
    permutations : int, optional
        Number of permutations of the labels. When absent, ``PERMUTATIONS`` or ``QUICK_PERMUTATIONS`` for a
        single study, and none for several, which show by themselves how far chance goes.
    quick : bool
    jobs : int
    seed : int
        The first seed.
    progress : callable, optional

    Returns
    -------
    str
        The result in a sentence.
    """
    output.mkdir(parents=True, exist_ok=True)
    command = command_line(
        "plaggm reproduce diagnosis",
        seed=seed,
        seeds=seeds,
        null_seeds=null_seeds,
        people=people,
        permutations=permutations,
        quick=quick,
        scenario=() if tuple(scenarios) == tuple(SCENARIOS) else scenarios,
        methods=",".join(methods) or None,
        confounder=() if confounders == CONFOUNDERS else confounders,
        no_sensitivity=not sensitivity,
    )
    methods = tuple(methods) or METHODS
    plan = study_plan(output, methods=methods, jobs=jobs, seed=seed, confounders=confounders)
    counts = {"cobre": 1}
    motion, source = None, "the COBRE release"
    if data_folder is None:
        size = people or (QUICK_PER_GROUP if quick else PER_GROUP)
        motion = load_motion(motion_file, size, seed)
        source = motion.source
        usual = seeds or (QUICK_SEEDS if quick else SEEDS)
        counts = dict.fromkeys(scenarios, usual)
        if CONFOUNDED_NULL in counts:
            counts[CONFOUNDED_NULL] = null_seeds or (usual if quick else 2 * usual)
    alone = QUICK_PERMUTATIONS if quick else PERMUTATIONS
    sections: list[Section] = []
    tables, lesson = [], []
    sizes: dict[str, int] = {}
    place = output / CACHE
    for name, count in counts.items():
        studies = []
        for number in range(seed, seed + count):
            if motion is None:
                assert data_folder is not None
                data, problems = cobre(data_folder, plan, progress)
                write_csv(output / "problems.csv", problems.to_frame(), index=False)
            else:
                data = scenario_study(name, motion, number, size, confounders, quick)
            own = study_plan(
                output, methods=methods, jobs=jobs, seed=number, confounders=confounders
            )
            studies.append(
                diagnose_study(
                    data,
                    own,
                    repeats=REPEATS,
                    permutations=(alone if count == 1 else 0)
                    if permutations is None
                    else permutations,
                    store=Store(place / f"{name.replace(' ', '-')}-{number}"),
                    progress=progress,
                )
            )
            each = diagnosis_table(studies[-1].found, studies[-1].alone)
            tables.append(each.assign(scenario=name, seed=number))
            if not sections and number == seed:
                first = data
        together = studies_together(studies)
        sizes[name] = len(data.subjects)
        sections.append(_section(output, name, data, together, count))
        auc = [f"{one.method} {one.auc:.2f}" for one in together.found if one.features == "values"]
        lesson.append(f"{name}: {', '.join(auc) or UNFITTED}")
    if sensitivity:
        store = Store(place / f"{next(iter(counts)).replace(' ', '-')}-{seed}")
        try:
            table = indicator_sensitivity(
                first, store=store, jobs=jobs, seed=seed, progress=progress
            )
            sections.append(sensitivity_section(output, table, first.confounder_names))
        except ValueError as error:
            sections.append(Section(OTHER_INDICATORS, (f"They are not compared. {error}",)))
    write_csv(output / "diagnosis.csv", pd.concat(tables, ignore_index=True), index=False)
    record = {"format": "plaggm-study", "scenarios": counts, "seed": seed, "quick": quick}
    write_file(output / "study.json", json.dumps(record, indent=2))
    page = Page(
        "Diagnosis from brain networks (Section 6.2 and the Supplement)",
        "study report",
        tuple((str(size), name) for name, size in sizes.items()),
        (
            made_by(
                command,
                page_settings(methods, confounders, tuple(scenarios), quick, people),
                source,
            ),
            *SUMMARY,
        ),
        tuple(sections),
    )
    write_html(output / "report.html", page)
    write_markdown(output / "diagnosis.md", page)
    return f"AUC by {'; '.join(lesson)}."


def scenario_study(
    name: str, motion: Motion, seed: int, people: int, confounders: tuple[str, ...], quick: bool
) -> StudyData:
    """The simulated study of a scenario."""
    settings = SCENARIOS[name].copy()
    if quick and settings["difference"]:
        settings["difference"] = QUICK_DIFFERENCE
    return semisynthetic_study(
        motion,
        seed=seed,
        per_group=people,
        confounders=confounder_columns(confounders),
        **settings,
    )[0]


def _section(
    output: Path, name: str, data: StudyData, together: StudyDiagnosis, count: int
) -> Section:
    stem = name.replace(" ", "_")
    table = diagnosis_table(together.found, together.alone)
    write_csv(output / f"diagnosis-{stem}.csv", table, index=False)
    pictures = []
    if shown := [one for one in together.found if one.features in CURVES]:
        curves = output / f"diagnosis-{stem}.png"
        brain.diagnosis_curves(curves, shown, together.alone)
        pictures.append(Picture(curves, "AUC along the path of the classifier's penalty."))
    if together.left:
        path = output / f"residual_motion-{stem}.png"
        brain.residual_motion_plot(path, together.left, data.atlas.distances)
        which = "" if count == 1 else " (first study)"
        pictures.append(
            Picture(path, f"Each edge's correlation with mean framewise displacement{which}.")
        )
    tables = [_readable(table, f"diagnosis-{stem}.csv")]
    if len(together.motion):
        file = f"residual_motion-{stem}.csv"
        write_csv(output / file, together.motion, index=False)
        tables.append(frame_table(together.motion, file))
    auc, low, high = together.alone
    over = "one simulated study; intervals are over folds and allow for overlapping training sets"
    if count > 1:
        over = f"means over {count} simulated studies with 95 % intervals over these"
    if name == "cobre":
        over = "intervals are over folds and allow for overlapping training sets"
    words = [
        f"{WORDS[name]} {len(data.subjects)} people; {over}.",
        f"Mean framewise displacement alone: AUC {auc:.2f} ({low:.2f} to {high:.2f}).",
        *(() if shown else (f"There is no diagnosis by networks: {UNFITTED}.",)),
        *(f"Left out: {reason.rstrip('.')}." for reason in together.skipped),
    ]
    return Section(
        name.capitalize(),
        tuple(words),
        tuple(pictures),
        tuple(tables),
    )


def _readable(table: pd.DataFrame, file: str) -> Table:
    """All rows of a table of diagnoses, intervals beside their numbers."""
    rows = []
    for row in table.to_dict("records"):
        p_value = row.get("p_value", np.nan)
        rows.append(
            (
                str(row["method"]),
                str(row["features"]),
                _interval(row, ""),
                _interval(row, "_by_aic"),
                _number(row.get("auc_with_displacement", np.nan)),
                _number(row.get("mean_auc_over_path", np.nan)),
                _number(p_value),
            )
        )
    heads = (
        "method",
        "features",
        "AUC, penalty by CV",
        "AUC, penalty by AIC",
        "AUC with displacement",
        "mean AUC over path",
        "p value",
    )
    kept = [k for k in range(len(heads)) if any(row[k] != MISSING for row in rows)]
    return Table(
        tuple(heads[k] for k in kept),
        tuple(tuple(Cell(row[k], k > 1) for k in kept) for row in rows),
        f"The table is in {file}.",
    )


def _number(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else MISSING


def _interval(row: dict[Any, Any], kind: str) -> str:
    auc, low, high = (row.get(f"{name}{kind}", np.nan) for name in ("auc", "low", "high"))
    return f"{auc:.2f} ({low:.2f} to {high:.2f})" if np.isfinite(auc) else MISSING
