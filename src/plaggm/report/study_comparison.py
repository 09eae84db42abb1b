"""The section of a study's report on differences between groups."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from plaggm.array_types import Array
from plaggm.edge_table import CANDIDATES
from plaggm.fmri.comparison import FAMILY_WISE, Comparison
from plaggm.fmri.omnibus import Omnibus
from plaggm.fmri.permutations import finest_fdr
from plaggm.fmri.study import StudyResult
from plaggm.fmri.study_plan import StudyPlan
from plaggm.fmri.study_tables import pooled_estimates, with_estimates
from plaggm.fmri.treatments import METHODS
from plaggm.plotting import brain
from plaggm.report.sections import Picture, Section, frame_table
from plaggm.resume import file_name
from plaggm.wording import listed

TITLE = "What differs between the groups"
ESTIMATES = (
    "Tests compare the networks of single subjects; sizes of differences are those of the groups' pooled "
    "networks, whose partial correlations are the `estimate` of each group."
)


def comparison_sections(
    plan: StudyPlan, result: StudyResult, folder: Path, *, brains: bool
) -> list[Section]:
    """The section on differences between the groups by the first method, or on why there are none.

    Parameters
    ----------
    plan : StudyPlan
    result : StudyResult
    folder : Path
        Folder for pictures.
    brains : bool
        Whether brains can be drawn.

    Returns
    -------
    list of Section
    """
    method = plan.methods[0]
    for path in folder.glob("difference*.png"):
        path.unlink()
    if method in result.comparisons:
        return [_two_groups(plan, result, result.comparisons[method], folder, brains=brains)]
    if method in result.omnibus:
        return [_more_groups(plan, result, result.omnibus[method], folder, brains=brains)]
    return [
        Section(
            TITLE,
            (
                f"The groups were not compared ({METHODS[method]}); the section on problems says why.",
            ),
        )
    ]


def _two_groups(
    plan: StudyPlan, result: StudyResult, found: Comparison, folder: Path, *, brains: bool
) -> Section:
    method, names = plan.methods[0], result.data.atlas.names
    pictures = [_regions_picture(folder, found, result, method)]
    declared = found.declared(plan.fdr)
    title = f"differences declared at a false discovery rate of {plan.fdr:.3g}"
    if brains and declared.any():
        path = folder / "difference.png"
        drawn = np.where(declared, _pooled_difference(result, method, found), 0.0)
        brain.glass_brains(path, {title: drawn}, result.data.atlas)
        pictures.append(Picture(path, f"{found.groups[1]} minus {found.groups[0]}."))
    upper = np.triu_indices(len(names), 1)
    family = int(np.count_nonzero(found.p_family[upper] < FAMILY_WISE))
    rate = int(np.count_nonzero(declared[upper]))
    words = [
        f"{found.groups[1]} ({found.sizes[1]} subjects) against {found.groups[0]} "
        f"({found.sizes[0]}), one network for each subject, {_exchanged(plan, found.permutations)}. "
        f"{family} of {len(upper[0])} edges differ with a family-wise error below 5 %, {rate} at a false "
        f"discovery rate of {plan.fdr:.3g}.",
        found.region_words(names),
        *_fineness(plan, found),
    ]
    pairs = with_estimates(found.edges(names), result, method).drop(columns="difference")
    if rate:
        pairs = pairs[pairs["p_fdr"] <= plan.fdr]
    else:
        pairs = pairs.head(CANDIDATES)
        words.append("No edge is declared different; the table has the strongest candidates.")
    words.append(ESTIMATES)
    table = frame_table(pairs)
    note = f"{table.note} All pairs are in edges_compared-{method}.csv.".strip()
    return Section(TITLE, tuple(words), tuple(pictures), (replace(table, note=note),))


def _more_groups(
    plan: StudyPlan, result: StudyResult, found: Omnibus, folder: Path, *, brains: bool
) -> Section:
    method, names = plan.methods[0], result.data.atlas.names
    upper = np.triu_indices(len(names), 1)
    declared, between = found.declared(plan.fdr), found.declared_pairs(plan.fdr)
    count = int(np.count_nonzero(declared[upper]))
    pictures = [_regions_picture(folder, found, result, method)]
    sizes = [f"{group} ({size})" for group, size in zip(found.groups, found.sizes, strict=True)]
    words = [
        f"{listed(sizes, len(sizes))}: all groups together first, one network for each subject, "
        f"{_exchanged(plan, found.permutations)}. {count} of {len(upper[0])} edges differ between any of "
        f"the groups at a false discovery rate of {plan.fdr:.3g}.",
        found.region_words(names),
        *_fineness(plan, found),
        "Then every two groups: of the edges that differ somewhere, those are declared for two groups "
        "whose p-value passes at the level that keeps the false discovery rate over all edges.",
    ]
    told = []
    for place, pair in enumerate(found.pairs):
        title = f"{pair.groups[1]} minus {pair.groups[0]}"
        edges = int(np.count_nonzero(between[place][upper]))
        told.append(f"{title}: {edges} edges")
        if edges and brains:
            path = folder / f"difference-{file_name('-'.join(pair.groups))}.png"
            drawn = np.where(between[place], _pooled_difference(result, method, pair), 0.0)
            brain.glass_brains(path, {f"{title}, declared differences": drawn}, result.data.atlas)
            pictures.append(Picture(path, f"{title}."))
    words.append(f"{'; '.join(told)}.")
    table = with_estimates(found.edges(names, plan.fdr), result, method)
    shown = table[table["p_fdr"] <= plan.fdr] if count else table.head(CANDIDATES)
    if not count:
        words.append("No edge is declared different; the table has the strongest candidates.")
    words.append(ESTIMATES)
    differences = {f"{pair.groups[1]} - {pair.groups[0]}" for pair in found.pairs}
    columns = [
        name
        for name in table
        if name not in differences and not name.startswith(("declared: ", "p_family"))
    ]
    made = frame_table(shown[columns])
    note = f"{made.note} All pairs are in edges_compared-{method}.csv.".strip()
    return Section(TITLE, tuple(words), tuple(pictures), (replace(made, note=note),))


def _pooled_difference(result: StudyResult, method: str, found: Comparison) -> Array:
    """Second group minus first: of partial correlations in pooled networks, else of subjects; (p, p)."""
    networks = [result.groups.get((method, group)) for group in found.groups]
    first, second = (None if one is None else pooled_estimates(one) for one in networks)
    return found.difference if first is None or second is None else second - first


def _regions_picture(
    folder: Path, found: Comparison | Omnibus, result: StudyResult, method: str
) -> Picture:
    path = folder / "regions_compared.png"
    names = result.data.atlas.names
    brain.different_regions(path, names, found.region_statistic, found.region_p_family)
    against = " against ".join(found.groups[::-1]) if len(found.groups) == 2 else "all groups"
    return Picture(
        path,
        f"Regions by the difference of their edges, {against}, with p-values ({METHODS[method]}).",
    )


def _exchanged(plan: StudyPlan, permutations: int) -> str:
    within = "" if plan.blocks is None else f" within the levels of {plan.blocks}"
    return f"{permutations} permutations of whole subjects{within}"


def _fineness(plan: StudyPlan, found: Comparison | Omnibus) -> list[str]:
    """A sentence if there are too few permutations to declare a single edge that differs."""
    if found.finest_fdr <= plan.fdr:
        return []
    told = "the false discovery rate of an edge that differs alone cannot fall below"
    best = finest_fdr(len(found.statistic), found.arrangements)
    if best > plan.fdr:
        return [
            f"The subjects have {found.arrangements:.0f} different arrangements, so {told} "
            f"{min(best, 1.0):.2g}, however many permutations are made."
        ]
    return [
        f"With {found.permutations} permutations {told} {min(found.finest_fdr, 1.0):.2g}; --permutations "
        "raises their number."
    ]
