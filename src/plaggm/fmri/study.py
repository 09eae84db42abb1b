"""A whole study: networks of all subjects and groups, their comparison, diagnosis and residual motion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from plaggm.array_types import Array, Mask
from plaggm.core.inference.edge_tests import FEW_GROUPS
from plaggm.data import as_positive
from plaggm.fmri.comparison import Comparison, compare_groups
from plaggm.fmri.covariates import exchange_blocks, read_covariates
from plaggm.fmri.denoise_table import compare_strategies
from plaggm.fmri.denoising import denoise, parse_strategies
from plaggm.fmri.diagnosis import Diagnosis, diagnose, motion_auc
from plaggm.fmri.fold_networks import splits
from plaggm.fmri.motion import ResidualMotion
from plaggm.fmri.networks import SubjectNetworks
from plaggm.fmri.omnibus import Omnibus, compare_all_groups
from plaggm.fmri.pooled_networks import NOTES, PARTIALLY_LINEAR
from plaggm.fmri.problems import WHOLE_STUDY, Problems
from plaggm.fmri.study_input import CACHE
from plaggm.fmri.study_motion import motion_left
from plaggm.fmri.study_networks import fit_networks
from plaggm.fmri.study_plan import StudyPlan
from plaggm.fmri.subjects import Progress, StudyData
from plaggm.fmri.treatments import METHODS, make_treatment
from plaggm.result import GraphResult
from plaggm.result_archive import library_versions
from plaggm.resume import Store

# Raised whenever the same data lead to other networks, so that those of an earlier run are not reused.
GENERATION = 6
# Part of every group that a method must be able to fit to be among the diagnoses.
FEWEST_DIAGNOSED = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class StudyResult:
    """Results of a study.

    Attributes
    ----------
    data : StudyData
        Series of all subjects.
    problems : Problems
        Problems of single subjects.
    groups : dict of (method, group) to GraphResult
    networks : dict of method to SubjectNetworks
    comparisons : dict of method to Comparison
        Empty unless there are two groups.
    omnibus : dict of method to Omnibus
        Empty unless there are three groups or more.
    motion : dict of method to ResidualMotion
    diagnoses : list of Diagnosis
    motion_alone : tuple of three floats, optional
        AUC of mean framewise displacement alone, and its interval.
    covariates : tuple of str
        Covariates that comparisons, diagnoses and pooled networks adjust for.
    denoising : DataFrame, optional
        Denoising strategies side by side, where some were named.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from plaggm.fmri.problems import Problems
    >>> from plaggm.fmri.semisynthetic import semisynthetic_study, simulated_motion
    >>> motion = simulated_motion(3, seed=0, volumes=60)
    >>> data, _ = semisynthetic_study(motion, seed=0, per_group=3, regions=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plan = StudyPlan(
    ...         Path(),
    ...         "diagnosis",
    ...         ("fd",),
    ...         Path(folder),
    ...         methods=("lr",),
    ...         repeats=0,
    ...         permutations=99,
    ...     )
    ...     found = analyse(plan, data, Problems())
    >>> sorted(found.groups)
    [('lr', 'control'), ('lr', 'patient')]
    """

    data: StudyData
    problems: Problems
    groups: dict[tuple[str, str], GraphResult]
    networks: dict[str, SubjectNetworks]
    comparisons: dict[str, Comparison]
    omnibus: dict[str, Omnibus]
    motion: dict[str, ResidualMotion]
    diagnoses: list[Diagnosis]
    motion_alone: tuple[float, float, float] | None
    covariates: tuple[str, ...] = ()
    denoising: pd.DataFrame | None = field(default=None, repr=False)

    def missing(self, plan: StudyPlan) -> tuple[str, ...]:
        """Requested parts of the analysis that could not be done; the reasons are among the problems."""
        compared, told = {*self.comparisons, *self.omnibus}, {one.method for one in self.diagnoses}
        parts = {
            "pooled networks": [
                one
                for one in plan.methods
                if any((one, group) not in self.groups for group in self.data.groups)
            ],
            "comparison of the groups": [one for one in plan.methods if one not in compared],
            "diagnosis": [one for one in plan.methods if plan.repeats and one not in told],
            "residual motion": [one for one in plan.methods if one not in self.motion],
        }
        return tuple(
            part if len(lost) == len(plan.methods) else f"{part} by {METHODS[method]}"
            for part, lost in parts.items()
            for method in (lost[:1] if len(lost) == len(plan.methods) else lost)
        )


def analyse(
    plan: StudyPlan, data: StudyData, problems: Problems, progress: Progress | None = None
) -> StudyResult:
    """Fit, compare and classify.

    Parameters
    ----------
    plan : StudyPlan
        Settings of the study.
    data : StudyData
        Series of all subjects.
    problems : Problems
        Grows by subjects that a method cannot fit.
    progress : callable, optional
        Called with the description of a step, the number of finished items, and of how many.

    Returns
    -------
    StudyResult

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from plaggm.fmri.problems import Problems
    >>> from plaggm.fmri.semisynthetic import semisynthetic_study, simulated_motion
    >>> motion = simulated_motion(3, seed=0, volumes=60)
    >>> data, _ = semisynthetic_study(motion, seed=0, per_group=3, regions=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plan = StudyPlan(
    ...         Path(),
    ...         "diagnosis",
    ...         ("fd",),
    ...         Path(folder),
    ...         methods=("lr",),
    ...         repeats=0,
    ...         permutations=99,
    ...     )
    ...     found = analyse(plan, data, Problems())
    >>> found.comparisons["lr"].groups
    ('control', 'patient')
    """
    if not isinstance(plan.threshold, str):
        # A wrong setting ends the study; where only a method fails, the study goes on without it.
        as_positive(plan.threshold, "threshold", data.confounder_names, zero=True)
    store = Store(plan.output / CACHE)
    strategies = parse_strategies(plan.denoise)
    whole, covariates = read_covariates(data, plan.covariates, problems)
    data = whole
    if strategies:
        # Subjects without a covariate are noted already; denoising may leave out more.
        data = denoise(whole, strategies[0], problems)
        data, covariates = read_covariates(data, plan.covariates, Problems())
    design = None if covariates is None else covariates.design()
    blocks = exchange_blocks(data, plan.blocks, problems, covariates)
    comparisons: dict[str, Comparison] = {}
    omnibus: dict[str, Omnibus] = {}
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
    for done, (method, found) in enumerate(networks.items()):
        if progress is not None:
            progress("comparing the groups", done, len(networks))
        compared = _compare(plan, data, method, found, design, blocks, problems)
        if isinstance(compared, Comparison):
            comparisons[method] = compared
        elif compared is not None:
            omnibus[method] = compared
    motion = motion_left(
        plan,
        data,
        networks,
        blocks,
        store=store,
        settings=_settings(plan),
        problems=problems,
        progress=progress,
    )
    diagnoses, alone = _diagnose(plan, data, networks, design, blocks, problems, progress)
    compared_strategies = None
    if strategies:
        compared_strategies = compare_strategies(
            plan,
            whole,
            strategies,
            store=store,
            settings=_settings(plan),
            problems=problems,
            progress=progress,
        )
    named = () if covariates is None else covariates.names
    return StudyResult(
        data,
        problems,
        groups,
        networks,
        comparisons,
        omnibus,
        motion,
        diagnoses,
        alone,
        named,
        compared_strategies,
    )


def _compare(
    plan: StudyPlan,
    data: StudyData,
    method: str,
    found: SubjectNetworks,
    design: Array | None,
    blocks: tuple[str, ...] | None,
    problems: Problems,
) -> Comparison | Omnibus | None:
    """The comparison of two groups, or of more by an omnibus test first; None where there is none."""
    good = found.usable
    reason = "there is one group" if len(data.groups) == 1 else _too_few(data, good)
    settings: dict[str, Any] = dict(
        permutations=plan.permutations,
        seed=plan.seed,
        covariates=None if design is None else design[good],
        blocks=None if blocks is None else [blocks[k] for k in np.flatnonzero(good)],
    )
    values, membership, p = found.values[good], data.membership[good], len(data.atlas.names)
    if not reason:
        try:
            if len(data.groups) == 2:
                two = (data.groups[0], data.groups[1])
                return compare_groups(values, membership, two, p, **settings)
            return compare_all_groups(values, membership, data.groups, p, **settings)
        except ValueError as error:
            reason = f"that failed: {error}"
    problems.add(
        WHOLE_STUDY,
        None,
        f"{METHODS[method]}: the groups are not compared, since {reason.rstrip('.')}.",
    )
    return None


def _note_tests(
    plan: StudyPlan,
    data: StudyData,
    groups: dict[tuple[str, str], GraphResult],
    problems: Problems,
) -> None:
    """Note conditions that weaken the tests of the groups' edges."""
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


def _too_few(data: StudyData, usable: Mask, part: float = 0.0) -> str:
    """Why groups cannot be compared, given the fitted subjects and the share of a group that is needed."""
    counts = np.bincount(data.membership[usable], minlength=len(data.groups))
    sizes = np.bincount(data.membership, minlength=len(data.groups))
    needed = np.maximum(2, np.ceil(part * sizes).astype(int))
    worst = int(np.argmin(counts - needed))
    if counts[worst] >= needed[worst]:
        return ""
    return (
        f"{counts[worst]} of {sizes[worst]} subjects of the group {data.groups[worst]!r} could be fitted "
        f"and {'two' if needed[worst] == 2 else needed[worst]} are needed"
    )


def _settings(plan: StudyPlan) -> dict[str, Any]:
    """Settings that networks depend on, besides the data and the criterion of their penalty."""
    told = {name: getattr(plan, name) for name in ("threshold", "scrub", "temporal")}
    if plan.smoothing:
        told["smoothing"] = dict(plan.smoothing)
    return {**told, "version": library_versions()["plaggm"], "generation": GENERATION}


def _diagnose(
    plan: StudyPlan,
    data: StudyData,
    networks: dict[str, SubjectNetworks],
    covariates: Array | None,
    blocks: tuple[str, ...] | None,
    problems: Problems,
    progress: Progress | None,
) -> tuple[list[Diagnosis], tuple[float, float, float] | None]:
    """Classify the subjects whom every method can fit, so that all methods see the same people.

    A method that can fit less than half of a group is left out, so that the others keep these people.
    """
    if not plan.repeats:
        return [], None
    if len(data.groups) != 2:
        count = "one" if len(data.groups) == 1 else str(len(data.groups))
        problems.add(
            WHOLE_STUDY,
            None,
            f"There is no diagnosis, which tells two groups apart: there are {count} "
            f"({', '.join(data.groups)}). Keep two of them in the table for one.",
        )
        return [], None
    able = []
    for method, fits in networks.items():
        reason = _too_few(data, fits.usable, FEWEST_DIAGNOSED)
        if reason:
            problems.add(
                WHOLE_STUDY, None, f"{METHODS[method]}: there is no diagnosis, since {reason}."
            )
        else:
            able.append(method)
    if not able:
        return [], None
    good = np.all([networks[method].usable for method in able], axis=0)
    y = data.membership[good]
    reason = _too_few(data, good)
    if reason:
        problems.add(
            WHOLE_STUDY, None, f"There is no diagnosis, since by these methods together {reason}."
        )
        return [], None
    subjects = [subject for subject, usable in zip(data.subjects, good, strict=True) if usable]
    folds = splits(y, plan.repeats, plan.seed)
    store = Store(plan.output / CACHE)
    moved = data.mean_displacement[good]
    found: list[Diagnosis] = []
    for method in able:
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
                displacement=moved if np.isfinite(moved).all() else None,
                blocks=None if blocks is None else [blocks[k] for k in np.flatnonzero(good)],
                store=store,
                settings=_settings(plan),
                n_jobs=plan.n_jobs,
                progress=progress,
            )
        except (ValueError, np.linalg.LinAlgError) as error:
            problems.add(WHOLE_STUDY, None, f"{METHODS[method]}: there is no diagnosis. {error}")
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
