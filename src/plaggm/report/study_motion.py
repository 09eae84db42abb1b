"""The section of a study's report on residual effects of motion."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from plaggm.evidence import P_VALUE
from plaggm.fmri.motion import no_edge_varies
from plaggm.fmri.study import StudyResult
from plaggm.fmri.study_motion import UNADJUSTED
from plaggm.fmri.study_plan import StudyPlan
from plaggm.fmri.study_tables import motion_table
from plaggm.fmri.treatments import METHODS
from plaggm.plotting import brain
from plaggm.report.phrases import chance
from plaggm.report.sections import Picture, Section, frame_table

# P-value above which networks are said not to show motion.
HARMLESS = 0.05


def motion_sections(plan: StudyPlan, result: StudyResult, folder: Path) -> list[Section]:
    """Draw residual motion and return the sections on it."""
    if not result.motion:
        told = "What is left of motion was not measured; the section on problems says why."
        return [Section("Motion that is left", (told,))]
    path = folder / "residual_motion.png"
    brain.residual_motion_plot(path, result.motion, result.data.atlas.distances)
    words = [
        "The correlation of each edge with mean framewise displacement across subjects (QC-FC). Edges "
        "depend on each other, so chance is judged by exchanging displacement between subjects: "
        "`chance_up_to` is what 19 of 20 studies without motion in their networks stay below. R of a "
        "subject is learnt from other subjects. Motion shows most between neighbours: `short_range_excess` "
        "is the mean correlation of the shortest sixth of the edges less that of the others. Groups that "
        f"differ both in motion and in their networks raise all this, too. {declared_words(plan)}",
        *unvarying_words(result),
        *cost_words(result),
    ]
    table = motion_table(result.motion, plan.fdr, result.networks)
    by_length = "" if result.data.atlas.distances is None else " by length of edge"
    return [
        Section(
            "Motion that is left",
            tuple(words),
            (Picture(path, f"Correlation with mean framewise displacement{by_length}."),),
            (frame_table(table, "residual_motion.csv", None),),
        ),
        *denoising_sections(plan, result),
    ]


def denoising_sections(plan: StudyPlan, result: StudyResult) -> list[Section]:
    """The section that compares denoising strategies; empty without strategies."""
    if result.denoising is None:
        return []
    words = (
        f"The networks of this study are those after `{plan.denoise[0]}`. Each strategy is followed by no "
        "adjustment, by LR-GGM and by PLA-GGM. What removes motion also takes volumes and degrees of "
        "freedom (`effective_volumes`), and subjects with too few left are left out (`subjects`); compare "
        "rows of as many subjects.",
    )
    return [
        Section(
            "Denoising strategies",
            words,
            tables=(frame_table(result.denoising, "denoising.csv", None),),
        )
    ]


def declared_words(plan: StudyPlan) -> str:
    """Explanation of the other columns of the table."""
    return (
        f"Declared edges are those whose correlation passes at a false discovery rate of {plan.fdr:.3g}; "
        "`after_edge_regression` is the part below 0.05 once edges are regressed on mean displacement by "
        "slopes of other subjects; `effective_volumes` is what a network rests on, in volumes without "
        "motion and less degrees of freedom spent."
    )


def unvarying_words(result: StudyResult) -> list[str]:
    """A sentence on the methods by whose networks no edge varies across subjects."""
    same = [METHODS[method] for method, one in result.motion.items() if no_edge_varies(one)]
    if not same:
        return []
    return [
        f"No edge varies across subjects in the networks by {'; '.join(same)}: there is nothing to "
        "correlate with displacement, and the rows of the table have no numbers."
    ]


def cost_words(result: StudyResult) -> list[str]:
    """Sentences on what adjusting costs, and on whether there is motion to adjust for."""
    costs = []
    subjects = result.data.subjects
    spent = np.mean([subject.spent for subject in subjects])
    left = np.array([len(subject.x) - subject.spent for subject in subjects])
    volumes = float(left.mean())
    for method, found in result.networks.items():
        # Of those whom a method can fit.
        lost = left - found.effective
        fitted = lost[np.isfinite(lost)]
        if method != UNADJUSTED and len(fitted):
            costs.append(f"{METHODS[method]} {fitted.mean():.0f}")
    if not costs or UNADJUSTED not in result.motion:
        return []
    source = " that denoising leaves" if spent else ""
    told = "; ".join(costs)
    price = f"Of {volumes:.0f} volumes of a subject{source}, adjusting costs the worth of: {told}."
    raw = result.motion[UNADJUSTED]
    # The p-value is NaN where no edge varies across subjects, which shows nothing either way.
    hidden = raw.p_value > HARMLESS and not raw.short_range_p_value <= HARMLESS
    if not hidden:
        return [price]
    shown = f"{raw.significant:.1%} of their edges correlate with mean displacement, and chance reaches "
    words = f"Motion does not show in the networks without adjustment: {shown}{raw.chance:.1%}."
    if depends_on_motion(result):
        return [
            f"{words} It is there all the same: the pooled networks change with it from volume to volume. "
            f"QC-FC sees only what grows with a person's mean. {price}"
        ]
    return [f"{words} Here adjusting has little to remove, and it is not free. {price}"]


def dependence_tests(result: StudyResult) -> dict[str, dict[str, float]]:
    """P-values of no dependence of a group's pooled network on motion, by title of the method and group."""
    found: dict[str, dict[str, float]] = {}
    for (method, group), network in result.groups.items():
        p_value = network.diagnostics.get(P_VALUE)
        if isinstance(p_value, float) and np.isfinite(p_value):
            found.setdefault(METHODS[method], {})[group] = p_value
    return found


def depends_on_motion(result: StudyResult) -> bool:
    """Whether the pooled network of any group depends on motion, all groups sharing one error rate."""
    return any(
        min(tests.values()) * len(tests) <= HARMLESS for tests in dependence_tests(result).values()
    )


def dependence_words(result: StudyResult) -> list[str]:
    """Sentences on tests of whether the groups' networks depend on motion."""
    return [
        f"Does the network change with {', '.join(result.data.confounder_names)}? {title}: "
        + ", ".join(f"{group} {chance(p_value)}" for group, p_value in tests.items())
        + "."
        for title, tests in dependence_tests(result).items()
    ]
