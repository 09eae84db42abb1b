"""Residual effects of motion in the networks of a study, by method and without adjustment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plaggm.array_types import Array
from plaggm.estimators import PLAGGM
from plaggm.fmri.motion import FEWEST_SUBJECTS, ResidualMotion, residual_motion
from plaggm.fmri.networks import SubjectNetworks, fit_subjects
from plaggm.fmri.problems import WHOLE_STUDY, Problems
from plaggm.fmri.study_plan import StudyPlan
from plaggm.fmri.subjects import Progress, StudyData
from plaggm.fmri.treatments import METHODS, make_treatment
from plaggm.resume import Store

# The method that shows what motion does at all; its motion is measured in every study.
UNADJUSTED = "raw"


def motion_left(
    plan: StudyPlan,
    data: StudyData,
    networks: dict[str, SubjectNetworks],
    blocks: Sequence[object] | None,
    *,
    store: Store,
    settings: dict[str, Any],
    problems: Problems,
    progress: Progress | None = None,
) -> dict[str, ResidualMotion]:
    """QC-FC of the networks of all methods, and of networks without adjustment.

    Parameters
    ----------
    plan : StudyPlan
    data : StudyData
    networks : dict of method to SubjectNetworks
    blocks : sequence of S labels, optional
        Subjects of one block are exchangeable.
    store : Store
    settings : dict
        Settings that the networks depend on, for the keys of the store.
    problems : Problems
        Grows by the methods whose motion cannot be measured.
    progress : callable, optional

    Returns
    -------
    dict of method to ResidualMotion
    """
    values = {method: found.values for method, found in networks.items()}
    if UNADJUSTED not in values:
        values[UNADJUSTED] = _unadjusted(plan, data, store, settings, progress)
    measured, unmeasured = {}, []
    for method, found in values.items():
        left = residual_motion(
            found, data.mean_displacement, data.atlas.distances, blocks=blocks, seed=plan.seed
        )
        if left is not None:
            measured[method] = left
        elif method in networks:
            unmeasured.append(METHODS[method])
    if unmeasured:
        problems.add(
            WHOLE_STUDY,
            None,
            f"Motion that is left in the networks of {', '.join(unmeasured)} is not measured: that needs "
            f"{FEWEST_SUBJECTS} or more fitted subjects of known mean framewise displacement, not the same "
            "in all of them.",
        )
    return measured


def _unadjusted(
    plan: StudyPlan,
    data: StudyData,
    store: Store,
    settings: dict[str, Any],
    progress: Progress | None,
) -> Array:
    """Networks of subjects without adjustment: shape (S, pairs)."""
    treatment = make_treatment(
        UNADJUSTED, PLAGGM(temporal=plan.temporal), data.confounder_names, plan.scrub
    )
    return fit_subjects(
        treatment,
        data.subjects,
        criterion=plan.subject_criterion,
        store=store,
        problems=Problems(),
        settings=settings,
        n_jobs=plan.n_jobs,
        progress=progress,
    ).values
