"""Section 6.2, general analysis: pooled networks of patients and controls, by PLA-GGM and LR-GGM."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from plaggm.array_types import Array
from plaggm.atomic_files import write_csv
from plaggm.fmri.confounds import confounder_columns
from plaggm.fmri.problems import Problems
from plaggm.fmri.semisynthetic import (
    Motion,
    difference_recovery,
    edge_recovery,
    measured_motion,
    semisynthetic_study,
    simulated_motion,
)
from plaggm.fmri.study import analyse
from plaggm.fmri.study_input import CACHE, read_study
from plaggm.fmri.study_means import student_interval
from plaggm.fmri.study_plan import StudyPlan
from plaggm.fmri.study_tables import save_tables
from plaggm.fmri.subjects import Progress, StudyData
from plaggm.fmri.treatments import METHODS as TITLES
from plaggm.plotting import brain
from plaggm.report.sections import Page, Section, frame_table, write_markdown
from plaggm.report.study import study_sections, study_summary, write_study_report
from plaggm.reproduce.provenance import command_line, made_by, settings_digest

# People in each group of a semi-synthetic study: those of COBRE, and of the small version.
PER_GROUP, QUICK_PER_GROUP = 72, 12
COBRE_GROUP = "Subject Type"
METHODS = ("pla", "lr", "lr-glasso", "paper", "pla-own", "scrub")
QUICK_METHODS = ("pla", "lr", "lr-glasso", "paper")
SEEDS, QUICK_SEEDS = 5, 1
# First of the seeds that are reported; nothing was settled on these simulated studies.
FIRST_SEED = 31
# What the paper adjusts for: six motion parameters and framewise displacement.
CONFOUNDERS = ("motion7",)
SEED_COLUMNS = ("density", "precision", "recall", "f1", "auc", "null_pairs_below_0.05")
DIFFERENCE_COLUMNS = ("found", "found_wrongly", "region_correlation")
# Within which intervals lie; those of shares within 0 and 1.
LIMITS = {"found": (0.0, np.inf), "found_wrongly": (0.0, np.inf), "region_correlation": (-1.0, 1.0)}
RECOVERY = (
    "The signals are simulated, so the edges of both groups are known. AUC is that of the edges' "
    "penalised strengths; precision, recall and F1 are those of the edges that tests declare at a false "
    "discovery rate of 5 %. The last column is the part of the pairs without edge whose p-value is below "
    "0.05: valid tests have about 0.05. PLA-GGM's tests take the volumes of a subject as dependent, the "
    "others' leave out contiguous blocks of volumes."
)
DIFFERENCES = (
    "So are the edges that differ between the groups. AUC is that of the comparison's statistic; found are "
    "those declared at a false discovery rate of 5 %; the last column is Spearman's correlation between "
    "the ranking of regions and the true sizes of their differences."
)
NOT_COMPARED = "No method could compare the groups; the section on problems says why."


def study_plan(
    output: Path,
    *,
    methods: tuple[str, ...],
    jobs: int,
    seed: int,
    confounders: tuple[str, ...] = CONFOUNDERS,
) -> StudyPlan:
    """The settings that both experiments share."""
    return StudyPlan(
        output,
        COBRE_GROUP,
        confounders,
        output,
        methods=methods,
        repeats=0,
        n_jobs=jobs,
        seed=seed,
    )


def load_motion(path: Path | None, per_group: int, seed: int) -> Motion:
    """Measured motion where a file is given, otherwise motion like COBRE's."""
    return simulated_motion(per_group, seed) if path is None else measured_motion(path)


def page_settings(
    methods: tuple[str, ...] = METHODS,
    confounders: tuple[str, ...] = CONFOUNDERS,
    quick: bool = False,
) -> str:
    """Digest of what the page depends on, of the whole experiment by default."""
    per_group = QUICK_PER_GROUP if quick else PER_GROUP
    return settings_digest(methods=methods, confounders=confounders, per_group=per_group)


def cobre(folder: Path, plan: StudyPlan, progress: Progress | None) -> tuple[StudyData, Problems]:
    """The COBRE release in a folder, cut by the atlas beside it or by nilearn's."""
    beside = folder / "atlas.nii.gz"
    settings = replace(plan, participants=folder)
    if beside.is_file():
        settings = replace(settings, atlas=str(beside))
    return read_study(settings, progress)


def run(
    output: Path,
    *,
    data_folder: Path | None = None,
    motion_file: Path | None = None,
    confounders: tuple[str, ...] = CONFOUNDERS,
    seeds: int | None = None,
    quick: bool = False,
    jobs: int = 1,
    seed: int = FIRST_SEED,
    progress: Progress | None = None,
) -> str:
    """Estimate, draw and compare the groups' networks.

    Parameters
    ----------
    output : Path
        Folder for tables, pictures and ``report.html``.
    data_folder : Path, optional
        The COBRE release.
    motion_file : Path, optional
        Measured motion that drives a semi-synthetic study.
    confounders : tuple of str
        Columns or presets that are adjusted for; the paper's seven unless given.
    seeds : int, optional
        Number of simulated studies; ``SEEDS`` or ``QUICK_SEEDS`` when absent. The first is shown in
        detail.
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
    methods = QUICK_METHODS if quick or data_folder is not None else METHODS
    plan = study_plan(output, methods=methods, jobs=jobs, seed=seed, confounders=confounders)
    truth: Array | None = None
    if data_folder is not None:
        data, problems = cobre(data_folder, plan, progress)
        source = "the COBRE release"
    else:
        size = QUICK_PER_GROUP if quick else PER_GROUP
        motion = load_motion(motion_file, size, seed)
        source = motion.source
        size = min(size, int(motion.patient.sum()), int((~motion.patient).sum()))
        simulate = partial(
            semisynthetic_study,
            motion,
            per_group=size,
            matched=False,
            confounders=confounder_columns(confounders),
        )
        data, truth = simulate(seed=seed)
        problems, plan = Problems(), replace(plan, group="diagnosis")
    result = analyse(plan, data, problems, progress)
    save_tables(plan, result)
    sections = study_sections(plan, result)
    # Without methods that could fit no group; the page says why.
    drawn: dict[str, list[float]] = {}
    for (method, _), network in result.groups.items():
        drawn.setdefault(method, []).append(brain.density(network.network))
    density = {method: np.mean(shares) for method, shares in drawn.items()}
    shares = ", ".join(f"{share:.0%} by {TITLES[method]}" for method, share in density.items())
    words = [
        f"Confounders: {', '.join(data.confounder_names)}.",
        f"Edges as a part of all pairs, mean of the groups: {shares}.",
    ]
    if truth is not None:
        table = edge_recovery(data, truth, result.groups)
        write_csv(output / "recovery.csv", table, index=False)
        several = [(table, difference_recovery(truth, result.comparisons))]
        for number in range(seed + 1, seed + (seeds or (QUICK_SEEDS if quick else SEEDS))):
            other, known = simulate(seed=number)
            # A folder of its own: networks of one study would take the place of those of another.
            own = replace(plan, seed=number, output=output / CACHE / f"seed-{number}")
            found = analyse(own, other, Problems(), progress)
            several.append(
                (
                    edge_recovery(other, known, found.groups),
                    difference_recovery(known, found.comparisons),
                )
            )
        if len(several) > 1:
            sections.append(_over_seeds(output, seed, several))
        sections.append(
            Section("Recovery of the true networks", (RECOVERY,), tables=(frame_table(table),))
        )
        differences = several[0][1]
        write_csv(output / "difference_recovery.csv", differences, index=False)
        sections.append(
            Section(
                "Recovery of the true differences",
                (DIFFERENCES if len(differences) else NOT_COMPARED,),
                tables=(frame_table(differences),) if len(differences) else (),
            )
        )
        means = table.groupby("method").mean(numeric_only=True)
        words += [
            f"{TITLES[str(method)]}: AUC of the true edges {row.auc:.2f}; precision {row.precision:.2f} at "
            f"recall {row.recall:.2f}, F1 {row.f1:.2f}."
            for method, row in means.iterrows()
        ]
    write_study_report(plan, result, sections)
    page = Page(
        "Brain networks of patients and controls (Section 6.2)",
        summary=(
            made_by(
                command_line(
                    "plaggm reproduce connectivity",
                    seed=seed,
                    seeds=seeds,
                    quick=quick,
                    confounder=() if confounders == CONFOUNDERS else confounders,
                ),
                page_settings(methods, confounders, quick),
                source,
            ),
            *study_summary(plan, result),
            *words,
        ),
        sections=tuple(sections),
    )
    write_markdown(output / "connectivity.md", page)
    return " ".join(words)


def _over_seeds(
    output: Path, seed: int, several: list[tuple[pd.DataFrame, pd.DataFrame]]
) -> Section:
    """Means over simulated studies with intervals over them; groups of a study are averaged first."""
    edges = pd.concat([table.assign(seed=seed + k) for k, (table, _) in enumerate(several)])
    differences = pd.concat([table.assign(seed=seed + k) for k, (_, table) in enumerate(several)])
    write_csv(output / "recovery-seeds.csv", edges, index=False)
    write_csv(output / "difference_recovery-seeds.csv", differences, index=False)
    rows = []
    for method in dict.fromkeys(edges["method"]):
        own = edges[edges["method"] == method].groupby("seed").mean(numeric_only=True)
        other = differences[differences["method"] == method].groupby("seed").mean(numeric_only=True)
        row = {"method": TITLES[method]}
        for table, name in [(own, name) for name in SEED_COLUMNS] + [
            (other, name) for name in DIFFERENCE_COLUMNS
        ]:
            # Methods without tests, or whose groups could not be compared, have no such number.
            if name in table and table[name].notna().all() and len(table) > 1:
                mean, low, high = student_interval(table[name].to_numpy())
                low, high = np.clip((low, high), *LIMITS.get(name, (0.0, 1.0)))
                row[name] = f"{mean:.2f} ({low:.2f} to {high:.2f})"
            else:
                row[name] = "–"
        rows.append(row)
    return Section(
        f"{len(several)} simulated studies",
        (
            f"Means over {len(several)} studies with 95 % intervals over these: the networks of the groups "
            "as above, averaged over both, and the true differences that were found and wrongly found.",
        ),
        tables=(frame_table(pd.DataFrame(rows), "recovery-seeds.csv"),),
    )
