"""Pictures and words of a study's report."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plaggm.fmri.comparison import FALSE_DISCOVERY
from plaggm.fmri.study import StudyPlan, StudyResult
from plaggm.fmri.study_tables import diagnosis_table, motion_table, pooled_difference
from plaggm.fmri.treatments import METHODS
from plaggm.plotting import brain
from plaggm.report.sections import Page, Picture, Section, frame_table, write_html
from plaggm.resume import file_name

Array = NDArray[np.float64]

REPORT = "report.html"
FIGURES = "figures"


def write_study_report(
    plan: StudyPlan, result: StudyResult, sections: Sequence[Section] | None = None
) -> Path:
    """Draw the study's pictures and write ``report.html``.

    Parameters
    ----------
    plan : StudyPlan
    result : StudyResult
    sections : sequence of Section, optional
        The parts of the page, if they are there already; drawn by `study_sections` where absent.

    Returns
    -------
    Path
    """
    if sections is None:
        sections = study_sections(plan, result)
    sizes = {group: len(result.data.of(group)) for group in result.data.groups}
    tiles = [(str(size), group) for group, size in sizes.items()]
    tiles += [(str(len(result.data.atlas.names)), "regions")]
    tiles += [(str(sum(len(s.x) for s in result.data.subjects)), "volumes")]
    tiles += [(str(len(result.problems)), "problems noted")]
    page = Page(
        f"Brain networks by {plan.group}",
        "study report",
        tuple(tiles),
        tuple(study_summary(plan, result)),
        tuple(sections),
    )
    return write_html(plan.output / REPORT, page)


def study_sections(plan: StudyPlan, result: StudyResult) -> list[Section]:
    """Draw the study's pictures; returns the parts of its page."""
    folder = plan.output / FIGURES
    folder.mkdir(parents=True, exist_ok=True)
    return [
        _group_section(plan, result, folder),
        *_comparison_sections(plan, result, folder),
        *_diagnosis_sections(result, folder),
        *_motion_sections(result, folder),
        *_problem_sections(result),
    ]


def study_summary(plan: StudyPlan, result: StudyResult) -> list[str]:
    """What was done, and how much the groups moved."""
    names = ", ".join(result.data.confounder_names)
    methods = ", ".join(METHODS[method] for method in plan.methods)
    words = [
        f"Networks of {result.data.atlas.title} regions without the influence of {names}. Methods: "
        f"{methods}. Every network is a matrix of partial correlations; red edges are positive, blue "
        "ones negative."
    ]
    moved = result.data.mean_displacement
    if np.isfinite(moved).all() and len(result.data.groups) > 1:
        means = [
            f"{group} {moved[result.data.membership == k].mean():.2f} mm"
            for k, group in enumerate(result.data.groups)
        ]
        words.append(f"Mean framewise displacement: {', '.join(means)}.")
    return words


def _brains(result: StudyResult) -> bool:
    """Whether brains can be drawn: the regions have places, and nilearn is there."""
    return result.data.atlas.coordinates is not None and find_spec("nilearn") is not None


def _group_section(plan: StudyPlan, result: StudyResult, folder: Path) -> Section:
    atlas = result.data.atlas
    pictures = []
    for group in result.data.groups:
        networks = {
            f"{group}, {METHODS[method]}": result.groups[method, group].omega
            for method in plan.methods
        }
        if not _brains(result):
            path = folder / f"matrices-{file_name(group)}.png"
            brain.matrices(path, networks)
        else:
            path = folder / f"glass_brains-{file_name(group)}.png"
            brain.glass_brains(path, networks, atlas)
        pictures.append(Picture(path, f"Pooled network of the group {group}, by method."))
    views = {}
    if _brains(result):
        for group in result.data.groups:
            name = f"{group}, {METHODS[plan.methods[0]]}"
            html = brain.interactive_view(result.groups[plan.methods[0], group].omega, atlas, name)
            if html:
                views[name] = html
    words = [
        "All scans of a group are one sample; the penalty is chosen with whole subjects left out. A "
        "method that leaves motion in the data tends to a denser network."
    ]
    if not _brains(result):
        words.append("Glass brains need nilearn and the coordinates of the regions.")
    return Section("Networks of the groups", tuple(words), tuple(pictures), views=views)


def _comparison_sections(plan: StudyPlan, result: StudyResult, folder: Path) -> list[Section]:
    method = plan.methods[0]
    if method not in result.comparisons:
        return []
    found = result.comparisons[method]
    names = result.data.atlas.names
    path = folder / "regions_compared.png"
    brain.different_regions(path, found, names)
    pictures = [Picture(path, f"Regions whose edges differ most ({METHODS[method]}).")]
    difference = pooled_difference(result, method)
    if _brains(result) and difference is not None:
        sure = np.where(found.p_fdr < FALSE_DISCOVERY, found.difference, 0.0)
        path = folder / "difference.png"
        brain.glass_brains(
            path,
            {
                "difference of the pooled networks": difference,
                "differences with a false discovery rate below 5 %": sure,
            },
            result.data.atlas,
        )
        pictures.append(Picture(path, f"{found.groups[1]} minus {found.groups[0]}."))
    upper = np.triu_indices(len(names), 1)
    family = int(np.count_nonzero(found.p_family[upper] < 0.05))
    rate = int(np.count_nonzero(found.p_fdr[upper] < FALSE_DISCOVERY))
    ranked = found.regions(names, difference)["region"]
    words = [
        f"{found.groups[1]} ({found.sizes[1]} subjects) against {found.groups[0]} "
        f"({found.sizes[0]}), one network for each subject, {found.permutations} permutations of whole "
        f"subjects. {family} of {len(upper[0])} edges differ with a family-wise error below 5 %, {rate} "
        "with a false discovery rate below 5 %.",
        f"The regions that differ most are {ranked[0]} and {ranked[1]}.",
    ]
    if found.finest_fdr > FALSE_DISCOVERY:
        words.append(
            f"With {found.permutations} permutations the false discovery rate of an edge that differs "
            f"alone cannot fall below {min(found.finest_fdr, 1.0):.2g}; --permutations raises their number."
        )
    return [
        Section(
            "What differs between the groups",
            tuple(words),
            tuple(pictures),
            (frame_table(found.edges(names), f"edges_compared-{method}.csv"),),
        )
    ]


def _diagnosis_sections(result: StudyResult, folder: Path) -> list[Section]:
    if not result.diagnoses:
        return []
    path = folder / "diagnosis.png"
    brain.diagnosis_curves(path, result.diagnoses, result.motion_alone)
    words = [
        "L1-penalised logistic regression on each subject's network, AUC on subjects left out, in "
        "repeated stratified ten-fold cross-validation. Whatever the networks share, their penalty and "
        "the classifier are learnt from the training subjects of each fold. Bands are 95 % intervals "
        "that allow for overlapping training sets."
    ]
    if result.motion_alone is not None:
        auc, low, high = result.motion_alone
        words.append(
            f"Mean framewise displacement alone reaches an AUC of {auc:.2f} ({low:.2f} to {high:.2f}): "
            "what a network reaches beyond chance may owe this much to motion if motion is left in it."
        )
    table = diagnosis_table(result.diagnoses, result.motion_alone)
    return [
        Section(
            "Diagnosis from single networks",
            tuple(words),
            (Picture(path, "AUC along the path of the classifier's penalty."),),
            (frame_table(table, "diagnosis.csv"),),
        )
    ]


def _motion_sections(result: StudyResult, folder: Path) -> list[Section]:
    if not result.motion:
        return []
    path = folder / "residual_motion.png"
    brain.residual_motion_plot(path, result.motion, result.data.atlas.distances)
    words = (
        "The correlation of each edge with mean framewise displacement across subjects (QC-FC). Without "
        "residual motion about 5 % of the edges fall below p = 0.05 and length plays no part. Groups "
        "that differ both in motion and in their networks raise it, too.",
    )
    return [
        Section(
            "Motion that is left",
            words,
            (
                Picture(
                    path, "Correlation with mean framewise displacement against length of edge."
                ),
            ),
            (frame_table(motion_table(result.motion), "residual_motion.csv"),),
        )
    ]


def _problem_sections(result: StudyResult) -> list[Section]:
    if not len(result.problems):
        return []
    return [
        Section(
            "Problems",
            ("What was wrong with the input; whoever is named was left out where it says so.",),
            tables=(frame_table(result.problems.to_frame(), "problems.csv"),),
        )
    ]
