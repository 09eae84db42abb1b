"""Pictures and words of a study's report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from plaggm.edge_table import POWER, samples_needed
from plaggm.fmri.problems import WHOLE_STUDY, Problems
from plaggm.fmri.study import StudyResult
from plaggm.fmri.study_plan import StudyPlan
from plaggm.fmri.study_tables import diagnosis_table
from plaggm.fmri.treatments import METHODS
from plaggm.plotting import brain
from plaggm.plotting.brain_networks import network_pictures
from plaggm.report.phrases import declaring_tests
from plaggm.report.sections import (
    SHOWN_ROWS,
    Page,
    Picture,
    Section,
    Table,
    frame_table,
    write_html,
)
from plaggm.report.study_comparison import comparison_sections
from plaggm.report.study_motion import dependence_words, motion_sections
from plaggm.result import GraphResult
from plaggm.resume import file_name
from plaggm.wording import listed

REPORT = "report.html"
FIGURES = "figures"
# Columns of the groups' edges that the page shows.
EDGE_COLUMNS = ("source", "target", "partial_correlation", "low", "high", "p_value", "q_value")

LEFT_HALF = (
    "All regions are drawn on the left half of the brain: a region that covers both hemispheres, as those "
    "of the Harvard–Oxford atlas do, is drawn once."
)
# Largest number of subjects that are named for one problem.
MOST_NAMED = 8


def write_study_report(
    plan: StudyPlan, result: StudyResult, sections: Sequence[Section] | None = None
) -> Path:
    """Draw the study's pictures and write ``report.html``.

    Parameters
    ----------
    plan : StudyPlan
    result : StudyResult
    sections : sequence of Section, optional
        Sections of the page; made by :func:`study_sections` if absent.

    Returns
    -------
    Path
    """
    if sections is None:
        sections = study_sections(plan, result)
    sizes = {group: len(result.data.of(group)) for group in result.data.groups}
    tiles = [(str(size), group) for group, size in sizes.items()]
    tiles += [(str(len(result.data.atlas.names)), "regions")]
    scans = sum(len(subject.by_run()) for subject in result.data.subjects)
    if scans > len(result.data.subjects):
        tiles += [(str(scans), "runs")]
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
    """Draw the study's pictures and return the sections of its page."""
    folder = plan.output / FIGURES
    folder.mkdir(parents=True, exist_ok=True)
    return [
        _group_section(plan, result, folder),
        *comparison_sections(plan, result, folder, brains=_brains(result)),
        *_diagnosis_sections(plan, result, folder),
        *motion_sections(plan, result, folder),
        *_problem_sections(result),
    ]


def study_summary(plan: StudyPlan, result: StudyResult) -> list[str]:
    """The analysis, and the motion of the groups."""
    names = ", ".join(result.data.confounder_names)
    # Titles of methods have commas of their own.
    methods = "; ".join(METHODS[method] for method in plan.methods)
    words = [
        f"Networks of {_regions_words(result)} without the influence of {names}. Methods: "
        f"{methods}. Every network is a matrix of partial correlations; red edges are positive, blue "
        "ones negative."
    ]
    if plan.denoise:
        words.append(
            f"All series were denoised by `{plan.denoise[0]}` first, so that every method, no adjustment "
            "included, starts from what that leaves."
        )
    if result.covariates:
        words.append(
            f"Accounted for: {', '.join(result.covariates)}. The pooled networks of PLA-GGM are averages "
            "over them; the comparison of groups regresses subjects' edges on them (permuting residuals),"
            " and the diagnosis sees what slopes of the training subjects leave of the edges."
        )
    if missing := result.missing(plan):
        words.append(f"Missing: {', '.join(missing)}. The section on problems says why.")
    words += _series_words(plan, result)
    moved = result.data.mean_displacement
    if np.isfinite(moved).all() and len(result.data.groups) > 1:
        means = [
            f"{group} {moved[result.data.membership == k].mean():.2f} mm"
            for k, group in enumerate(result.data.groups)
        ]
        words.append(f"Mean framewise displacement: {', '.join(means)}.")
    return words


def _regions_words(result: StudyResult) -> str:
    """Description of the regions; an atlas from a file is called by the file's name."""
    atlas = result.data.atlas
    if atlas.title == "regions":
        return "regions"
    if Path(atlas.title).suffix:
        return f"the {len(atlas.names)} regions of {atlas.title}"
    return f"{atlas.title} regions"


def _series_words(plan: StudyPlan, result: StudyResult) -> list[str]:
    """Sentences on the treatment of autocorrelation of volumes."""
    if plan.temporal is None:
        return [
            "Volumes of a scan were taken as independent (--temporal none). They hardly ever are, and "
            "edges are then harder to find."
        ]
    orders = {
        int(found.diagnostics["ar_order"])
        for (method, _), found in result.groups.items()
        if method == plan.methods[0] and "ar_order" in found.diagnostics
    }
    if orders == {0}:
        return [
            "Volumes of a scan often resemble those before them. BIC found no such autocorrelation here, "
            "so series were not whitened."
        ]
    told = f" (order {' and '.join(map(str, sorted(orders)))} in the groups)" if orders else ""
    return [
        "Volumes of a scan resemble those before them. All series were whitened by one autoregression"
        f"{told} that reaches neither across scans nor across dropped volumes. A network is therefore that "
        "of what is new in each volume, given those before it: an edge joins regions that change at the "
        "same time, not one that follows the other. Whether the network changes with motion at all is "
        "judged by motion that is shifted in time within each scan."
    ]


def _brains(result: StudyResult) -> bool:
    """Whether brains can be drawn: regions have coordinates, and nilearn is installed."""
    return result.data.atlas.coordinates is not None and find_spec("nilearn") is not None


def _no_brains_words(result: StudyResult) -> str:
    """A sentence on why there are no pictures of brains, and on how to get them."""
    if result.data.atlas.coordinates is not None:
        return "Glass brains need nilearn: pip install 'plaggm[fmri]'."
    return (
        "Glass brains need the places of the regions: pass --atlas with a table of their names as the "
        "series have them, x, y and z in mm, and network where they belong to networks."
    )


def _group_section(plan: StudyPlan, result: StudyResult, folder: Path) -> Section:
    atlas = result.data.atlas
    shown = {
        f"{group}, {METHODS[method]}": network.network
        for (method, group), network in result.groups.items()
    }
    pictures, views = [], {}
    # Pictures of an earlier run may show other edges.
    for kind in ("glass_brains", "by_network", "matrices"):
        for path in folder.glob(f"{kind}-*.png"):
            path.unlink()
    for group in result.data.groups:
        networks = {
            title: shown[title]
            for title in (f"{group}, {METHODS[method]}" for method in plan.methods)
            if title in shown and shown[title].any()
        }
        if networks and _brains(result):
            path = folder / f"glass_brains-{file_name(group)}.png"
            brain.glass_brains(path, networks, atlas)
            pictures.append(Picture(path, f"Edges of the group {group}, by method."))
        first = f"{group}, {METHODS[plan.methods[0]]}"
        if atlas.networks and first in networks:
            path = folder / f"by_network-{file_name(group)}.png"
            network_pictures(path, {first: networks[first]}, atlas.networks)
            pictures.append(Picture(path, f"Edges of the group {group} by network of the regions."))
        elif networks and not _brains(result):
            path = folder / f"matrices-{file_name(group)}.png"
            brain.matrices(path, networks)
            pictures.append(Picture(path, f"Edges of the group {group}, by method."))
        if first in networks and _brains(result):
            views[first] = brain.interactive_view(networks[first], atlas, first)
    words = [*_rule_words(plan), *_declared_words(plan, result), *dependence_words(result)]
    if not _brains(result):
        words.append(_no_brains_words(result))
    elif brain.one_sided(atlas):
        words.append(LEFT_HALF)
    tables = []
    for group in result.data.groups:
        network = result.groups.get((plan.methods[0], group))
        found = pd.DataFrame() if network is None else network.edges()
        if len(found):
            columns = [name for name in EDGE_COLUMNS if name in found]
            file = f"groups/{plan.methods[0]}-{file_name(group)}/edges.csv"
            table = frame_table(found[columns], file)
            tables.append(replace(table, note=f"Edges of the group {group}. {table.note}"))
    return Section(
        "Networks of the groups", tuple(words), tuple(pictures), tuple(tables), views=views
    )


def _rule_words(plan: StudyPlan) -> list[str]:
    """Sentences on the rule that declares edges of the groups' networks."""
    pooled = "All scans of a group are one sample."
    if plan.edges != "fdr":
        return [
            f"{pooled} Edges are the pairs that the penalty keeps, which is chosen with whole subjects "
            "left out. A method that leaves motion in the data tends to a denser network."
        ]
    others = (
        "take all volumes as independent"
        if plan.temporal is None
        else "leave out blocks of volumes"
    )
    return [
        f"{pooled} Every pair is tested, and edges are those that pass at a false discovery rate of "
        f"{plan.fdr:.3g}, with unpenalised estimates. Tests of PLA-GGM take the volumes of a subject as "
        f"dependent; those of the other methods {others}, and motion that is left in the data makes false "
        "edges pass."
    ]


def _declared_words(plan: StudyPlan, result: StudyResult) -> list[str]:
    """Sentences on the number of edges of each group by each method, or on the strongest candidate."""
    said = []
    for group in result.data.groups:
        networks = {
            method: result.groups[method, group]
            for method in plan.methods
            if (method, group) in result.groups
        }
        if not networks:
            continue
        counts = "; ".join(f"{METHODS[m]} {found.n_edges}" for m, found in networks.items())
        pairs = len(result.data.atlas.names) * (len(result.data.atlas.names) - 1) // 2
        said.append(f"Edges of the group {group}, of {pairs} pairs: {counts}.")
        first = networks.get(plan.methods[0])
        if first is not None and first.deciding_tests is not None and not first.n_edges:
            said.append(_candidate_words(first, group, len(result.data.of(group))))
    return said


def _candidate_words(network: GraphResult, group: str, subjects: int) -> str:
    """The pair that comes closest to being declared, and the number of subjects it would need."""
    tests, fdr = declaring_tests(network)
    pair = int(tests.candidates(1)[0])
    one, other = (network.names[k[pair]] for k in np.triu_indices(len(network.names), 1))
    # The smallest p-value must be at most fdr / P. It follows from z, which allows for few subjects, unlike
    # the ratio of estimate and standard error.
    needed = samples_needed(float(tests.z[pair]), 1.0, subjects, fdr / len(tests.p_value))
    more = (
        f" With about {needed:.0f} subjects like these it would pass with a probability of {POWER:.0%}, if "
        "its estimate is right."
        if np.isfinite(needed)
        else ""
    )
    return (
        f"No edge of {group} passes. The strongest candidate is {one} – {other} (estimate "
        f"{tests.estimate[pair]:.2g}, q = {tests.q_value[pair]:.2g}).{more}"
    )


def _diagnosis_sections(plan: StudyPlan, result: StudyResult, folder: Path) -> list[Section]:
    if not result.diagnoses:
        why = (
            "The section on problems says why."
            if plan.repeats
            else "It was left out (--repeats 0)."
        )
        return [Section("Diagnosis from single networks", (f"There is no diagnosis. {why}",))]
    # Subjects that every method of the diagnosis could fit.
    judged = [result.networks[name].usable for name in {one.method for one in result.diagnoses}]
    known, everybody = int(np.all(judged, axis=0).sum()), len(result.data.subjects)
    path = folder / "diagnosis.png"
    brain.diagnosis_curves(path, result.diagnoses, result.motion_alone)
    words = [
        "L1-penalised logistic regression on each subject's network, AUC on subjects left out, in "
        "repeated stratified ten-fold cross-validation. R, the network towards which those of subjects are "
        "shrunk, the amount of shrinkage and the classifier are learnt from the training subjects of each "
        "fold; quantities that do not depend on labels (levels, filter, thresholds, the penalty of R) from "
        "all scans. Bands are 95 % intervals that allow for overlapping training sets."
    ]
    if known < everybody:
        words.append(
            f"It is that of {known} of {everybody} subjects, whom all of these methods could fit."
        )
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
            (frame_table(table, "diagnosis.csv", None),),
        )
    ]


def _problem_sections(result: StudyResult) -> list[Section]:
    if not len(result.problems):
        return []
    return [
        Section(
            "Problems",
            (
                "What was wrong. Scans whose files are named are left out, and others where it says so.",
            ),
            tables=(problem_table(result.problems),),
        )
    ]


def problem_table(problems: Problems) -> Table:
    """Table of problems, one row for all subjects with the same problem.

    Those of the whole study come first and are all shown, since the page refers to them.

    Parameters
    ----------
    problems : Problems

    Returns
    -------
    Table
    """
    frame = problems.to_frame()
    whole = frame["subject"] == WHOLE_STUDY
    frame = pd.concat([frame[whole], frame[~whole]])
    same = frame.groupby(["file", "problem"], sort=False)["subject"]
    frame = same.agg(lambda names: listed(list(names), MOST_NAMED)).reset_index()
    columns = ["subject", "file", "problem"] if frame["file"].any() else ["subject", "problem"]
    return frame_table(frame[columns], "problems.csv", SHOWN_ROWS + int(whole.sum()))
