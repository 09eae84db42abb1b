"""Networks of groups: all volumes of their subjects pooled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupKFold

from plaggm.array_types import Array, Index
from plaggm.core.profile.kernel import SingularLocalSystemError
from plaggm.estimators import PLAGGM, PLAGGMCV
from plaggm.estimators.fitted_estimator import adopt
from plaggm.estimators.rows import array_rows
from plaggm.estimators.spec import fit_spec
from plaggm.estimators.walk import fit_network
from plaggm.fmri.comparison import FALSE_DISCOVERY
from plaggm.fmri.covariates import Covariates
from plaggm.fmri.levels import confounder_sizes, learn_levels
from plaggm.fmri.motion_roles import MotionRoles, motion_roles
from plaggm.fmri.scan_filter import learn_scan_filter
from plaggm.fmri.subjects import StudyData, Subject
from plaggm.fmri.treatments import (
    KERNEL_METHODS,
    METHODS,
    SCAN_RIDGE,
    kernel_index,
    method_estimator,
)
from plaggm.paper_parameters import PAPER_CHOICE
from plaggm.related import GGM, LRGGM
from plaggm.result import GraphResult
from plaggm.result_archive import plain_settings
from plaggm.user_warnings import collected_warnings

GROUP_FOLDS = 10
# Bytes that sums over clusters of subjects may take, and the most functions of confounders that a fit has.
CLUSTER_BYTES, FUNCTIONS = 2**29, 28
# Beginning of the warning of few clusters, for which a study has words of its own; and under which key of a
# network's diagnostics other warnings of its tests are.
FEW_SUBJECTS, NOTES = "Standard errors rest on", "notes_on_tests"
# Methods whose pooled networks take longest, as does what their subjects share.
PARTIALLY_LINEAR = ("pla", "pla-own", *KERNEL_METHODS)
# Methods that differ for subjects only, and the one whose pooled networks are theirs.
POOLED_ALIKE = {"pla-own": "pla"}
# Methods whose edges are those that the penalty keeps.
AS_IN_THE_PAPER = ("paper", "lr-glasso")
NO_COVARIATES = (
    "Covariates are not accounted for: the kernel takes only confounders with a threshold."
)

RIDGED = (
    "Too few volumes move as much as those that move most for the paper's local systems; "
    f"{SCAN_RIDGE:.0%} of their diagonal was added, as it is for single scans."
)


def volume_owners(subjects: Sequence[Subject]) -> Index:
    """Number of the subject of every pooled volume: shape (n,)."""
    return np.repeat(np.arange(len(subjects)), [len(subject.x) for subject in subjects])


def volume_series(subjects: Sequence[Subject]) -> Index:
    """Number of the unbroken time series of every pooled volume: shape (n,).

    A scan is one, or several where volumes of it were dropped.
    """
    numbers, count = [], 0
    for subject in subjects:
        own = np.zeros(len(subject.x), np.intp) if subject.unbroken is None else subject.unbroken
        numbers.append(np.unique(own, return_inverse=True)[1] + count)
        count = int(numbers[-1].max()) + 1
    return np.concatenate(numbers)


def subject_folds(subjects: Sequence[Subject]) -> list[tuple[Index, Index]]:
    """Folds of the pooled volumes that never divide a subject."""
    owner = volume_owners(subjects)
    folds = GroupKFold(min(GROUP_FOLDS, len(subjects))).split(owner, groups=owner)
    return [(train, test) for train, test in folds]


def subject_clusters(subjects: Sequence[Subject]) -> Index:
    """Cluster of every volume, by which standard errors of edges are found: shape (n,).

    Volumes of a subject depend on each other, so a cluster holds whole subjects: one, or several of a fold
    where there are so many regions that sums over each subject would not fit into memory.
    """
    owner = volume_owners(subjects)
    folds = subject_folds(subjects)
    q = subjects[0].x.shape[1] + 1
    numbers = (1 + FUNCTIONS) * (2 + FUNCTIONS) // 2 * q * (q + 1) // 2
    for_each_fold = max(1, CLUSTER_BYTES // (8 * numbers * len(folds)))
    cluster = np.empty(len(subjects), dtype=np.intp)
    taken = 0
    for _, test in folds:
        people = np.unique(owner[test])
        for part in np.array_split(people, min(for_each_fold, len(people))):
            cluster[part] = taken
            taken += 1
    return cluster[owner]


def fit_group(
    method: str,
    data: StudyData,
    subjects: Sequence[Subject],
    *,
    estimator: PLAGGM,
    criterion: str,
    scrub: float,
    label: str,
    fdr: float | None = FALSE_DISCOVERY,
    covariates: Covariates | None = None,
) -> GraphResult:
    """The network of some subjects pooled, the penalty chosen with whole subjects left out.

    Tests of PLA-GGM's edges take the volumes of a subject as dependent. Those of the other methods leave
    out contiguous blocks of volumes where the estimator's ``temporal`` says that scans are time series,
    each a run, and are otherwise the textbook's, which take all volumes as independent.

    Parameters
    ----------
    method : str
        Key in ``METHODS``; ``"pla-own"`` pools as ``"pla"`` does. The edges of ``"paper"`` and of
        ``"lr-glasso"`` are those that the penalty keeps, as in the paper. Local systems of ``"paper"``
        get a ridge where some are singular, and a note says so.
    data : StudyData
        Study, for names of regions and confounders.
    subjects : sequence of Subject
    estimator : PLAGGM
        Threshold, smoother and so on of PLA-GGM, and ``temporal`` of all methods.
    criterion : {"cv", "aic", "bic", "ebic"}
    scrub : float
        Framewise displacement in mm, for ``"scrub"``.
    label : str
        Group, for the record.
    fdr : float or None
        False discovery rate of the edges that tests declare; None leaves the decision to the penalty.
    covariates : Covariates, optional
        Covariates of all subjects of the study: further confounders of PLA-GGM, whose average is the
        reference, and of LR-GGM.

    Returns
    -------
    GraphResult

    Examples
    --------
    >>> from plaggm.fmri.semisynthetic import semisynthetic_study, simulated_motion
    >>> data, _ = semisynthetic_study(simulated_motion(3, seed=0, volumes=60), seed=0, regions=4)
    >>> choice = {"estimator": PLAGGM(), "criterion": "bic", "scrub": 0.5}
    >>> len(fit_group("lr", data, data.subjects[:3], label="control", **choice).names)
    4
    """
    series = [s.x for s in subjects]
    moved = np.concatenate([s.confounder for s in subjects])
    if method in PARTIALLY_LINEAR:
        estimator = method_estimator(method, estimator)
    kinds: dict[str, Any] = {}
    roles = MotionRoles(data.confounder_names, ())
    if method not in KERNEL_METHODS:
        roles = motion_roles(data.confounder_names, moved, estimator.threshold)
    if method in PARTIALLY_LINEAR:
        levels = learn_levels(subjects, confounder_sizes(data.subjects), roles.positions)
        series = [levels.levelled(s) for s in subjects]
        if roles.positions:
            estimator = _with_thresholds(estimator, roles, series, subjects, moved)
            kinds = {"reference": roles.references}
    x = pd.DataFrame(np.concatenate(series), columns=list(data.atlas.names))
    motion = pd.DataFrame(moved, columns=list(data.confounder_names))
    own_notes = []
    if covariates is not None and method in KERNEL_METHODS:
        own_notes.append(NO_COVARIATES)
    elif covariates is not None:
        place = {subject.name: row for row, subject in enumerate(data.subjects)}
        rows = np.array([place[subject.name] for subject in subjects])
        further = covariates.of_volumes(rows, [len(s.x) for s in subjects])
        kinds = _kinds(estimator, roles, further)
        motion = pd.concat([motion, further], axis=1)
    temporal = estimator.temporal
    shared: dict[str, Any] = dict(criterion=criterion, n_jobs=1)
    runs: dict[str, Any] = {} if temporal is None else {"runs": volume_series(subjects)}
    words = {}
    rule: dict[str, Any] = {"edges": PAPER_CHOICE["edges"]}
    if fdr is not None and method not in AS_IN_THE_PAPER:
        rule = {"edges": "fdr", "fdr": fdr}
    if criterion == "cv":
        # Folds are thousands of row numbers; what they are is said in words.
        shared["cv"] = subject_folds(subjects)
        words["cv"] = f"{len(shared['cv'])} folds of whole subjects"
    if method in PARTIALLY_LINEAR:
        settings = {k: v for k, v in estimator.get_params().items() if k not in ("alpha", "n_jobs")}
        if method in KERNEL_METHODS:
            motion, settings["threshold"] = kernel_index(method, motion, estimator.threshold)
        model: Any = PLAGGMCV(**{**settings, **kinds}, **shared, **rule)
        runs["groups"] = subject_clusters(subjects)
        try:
            _fit(model, x, motion, runs, roles)
        except SingularLocalSystemError:
            if method != "paper":
                raise
            model.set_params(ridge=SCAN_RIDGE).fit(x, confounder=motion, **runs)
            own_notes.append(RIDGED)
    elif method in ("lr", "lr-glasso"):
        model = LRGGM(loss="pseudo" if method == "lr" else "glasso", temporal=temporal, **shared)
        model.fit(x, confounder=motion, **runs)
    elif method == "scrub":
        size = np.concatenate([_displacement(subject) for subject in subjects])
        model = GGM(loss="pseudo", threshold=scrub, temporal=temporal, **shared)
        model.fit(x, confounder=size, **runs)
    else:
        model = GGM(loss="pseudo", temporal=temporal, **shared).fit(x, **runs)
    # Groups may be fitted in threads.
    with collected_warnings() as notes:
        result = model.to_result()
    return replace(
        result,
        settings={
            **plain_settings({**result.settings, **words, **rule}),
            "method": METHODS[method],
            "group": label,
        },
        diagnostics={
            **result.diagnostics,
            "n_subjects": len(subjects),
            NOTES: own_notes + [note for note in notes if not note.startswith(FEW_SUBJECTS)],
        },
    )


def _fit(
    model: PLAGGMCV,
    x: pd.DataFrame,
    motion: pd.DataFrame,
    given: dict[str, Any],
    roles: MotionRoles,
) -> None:
    """Fit PLA-GGM with groups and runs, R being linear along positions of the head."""
    if not roles.positions:
        model.fit(x, confounder=motion, **given)
        return
    spec = fit_spec(model)
    rows = array_rows(spec, type(model), x, motion, **given)
    confounder = rows.labels.confounder
    assert confounder is not None
    labels = replace(rows.labels, confounder=roles.linear(confounder))
    adopt(model, fit_network(spec, replace(rows, labels=labels)))


def _with_thresholds(
    estimator: PLAGGM,
    roles: MotionRoles,
    series: Sequence[Array],
    subjects: Sequence[Subject],
    moved: Array,
) -> PLAGGM:
    """The estimator with the thresholds of amounts beside positions, from whitened series."""
    runs = [subject.unbroken for subject in subjects]
    scan_filter = learn_scan_filter(estimator.temporal, series, runs)
    white = [scan_filter.apply(one, own) for one, own in zip(series, runs, strict=True)]
    return roles.settled(estimator, np.concatenate(white), moved, 1)


def _kinds(estimator: PLAGGM, roles: MotionRoles, covariates: pd.DataFrame) -> dict[str, Any]:
    """Parameters by which motion keeps its roles and covariates are averaged over."""
    threshold = estimator.threshold
    if not isinstance(threshold, str):
        limits = np.broadcast_to(np.asarray(threshold, dtype=np.float64), (len(roles.names),))
        threshold = np.append(limits, np.full(covariates.shape[1], np.nan))
    factors = [name for name in covariates if not pd.api.types.is_numeric_dtype(covariates[name])]
    return {
        "threshold": threshold,
        "reference": roles.references | dict.fromkeys(covariates, "average"),
        "categorical": factors or None,
    }


def _displacement(subject: Subject) -> Array:
    if subject.displacement is None:
        raise ValueError(f"{subject.name} has no framewise displacement, which scrubbing needs.")
    return subject.displacement
