"""All networks of a study: those of the groups and of every subject."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import delayed
from sklearn.model_selection import GroupKFold

from plaggm.array_types import Array, Index
from plaggm.core.threads import single_threaded_blas
from plaggm.estimators import PLAGGM, PLAGGMCV
from plaggm.fmri.comparison import FALSE_DISCOVERY
from plaggm.fmri.covariates import Covariates
from plaggm.fmri.levels import confounder_sizes, learn_levels
from plaggm.fmri.networks import (
    SubjectNetworks,
    finish_subjects,
    learn_shared,
    stored_subjects,
    subject_tasks,
)
from plaggm.fmri.problems import Problems
from plaggm.fmri.subjects import Progress, StudyData, Subject
from plaggm.fmri.treatments import (
    KERNEL_METHODS,
    METHODS,
    kernel_index,
    make_treatment,
    method_estimator,
)
from plaggm.paper_parameters import PAPER_CHOICE
from plaggm.related import GGM, LRGGM
from plaggm.result import GraphResult
from plaggm.result_archive import plain_settings
from plaggm.resume import Store, digest
from plaggm.selection.parallel import concurrent_jobs, in_turn
from plaggm.user_warnings import collected_warnings

GROUP_FOLDS = 10
# Bytes that sums over clusters of subjects may take, and the most functions of confounders that a fit has.
CLUSTER_BYTES, FUNCTIONS = 2**29, 28
# Beginning of the warning of few clusters, for which a study has words of its own; and under which key of a
# network's diagnostics other warnings of its tests are.
FEW_SUBJECTS, NOTES = "Standard errors rest on", "notes_on_tests"
# Methods whose pooled networks take longest, as does what their subjects share.
PARTIALLY_LINEAR = ("pla", "pla-own", *KERNEL_METHODS)
NO_COVARIATES = (
    "Covariates are not accounted for: the kernel knows confounders with a threshold only."
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
        Key in ``METHODS``; ``"pla-own"`` pools as ``"pla"`` does. The edges of ``"paper"`` are those that
        the penalty keeps, as in the paper.
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
        Of all subjects of the study: further confounders of PLA-GGM, whose average is the reference, and of
        LR-GGM.

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
    if method in PARTIALLY_LINEAR:
        levels = learn_levels(subjects, confounder_sizes(data.subjects))
        series = [levels.levelled(s) for s in subjects]
    x = pd.DataFrame(np.concatenate(series), columns=list(data.atlas.names))
    motion = pd.DataFrame(
        np.concatenate([s.confounder for s in subjects]), columns=list(data.confounder_names)
    )
    kinds: dict[str, Any] = {}
    own_notes = []
    if covariates is not None and method in KERNEL_METHODS:
        own_notes.append(NO_COVARIATES)
    elif covariates is not None:
        place = {subject.name: row for row, subject in enumerate(data.subjects)}
        rows = np.array([place[subject.name] for subject in subjects])
        further = covariates.of_volumes(rows, [len(s.x) for s in subjects])
        kinds = _kinds(estimator, data.confounder_names, further)
        motion = pd.concat([motion, further], axis=1)
    temporal = estimator.temporal
    shared: dict[str, Any] = dict(criterion=criterion, n_jobs=1)
    runs: dict[str, Any] = {} if temporal is None else {"runs": volume_series(subjects)}
    words = {}
    rule: dict[str, Any] = {"edges": "penalty"} if fdr is None else {"edges": "fdr", "fdr": fdr}
    if criterion == "cv":
        # Folds are thousands of row numbers; what they are is said in words.
        shared["cv"] = subject_folds(subjects)
        words["cv"] = f"{len(shared['cv'])} folds of whole subjects"
    if method in PARTIALLY_LINEAR:
        own = method_estimator(method, estimator)
        settings = {k: v for k, v in own.get_params().items() if k not in ("alpha", "n_jobs")}
        if method in KERNEL_METHODS:
            motion, settings["threshold"] = kernel_index(method, motion, own.threshold)
        if method == "paper":
            rule = {"edges": PAPER_CHOICE["edges"]}
        model: Any = PLAGGMCV(**{**settings, **kinds}, **shared, **rule)
        model.fit(x, confounder=motion, groups=subject_clusters(subjects), **runs)
    elif method == "lr":
        model = LRGGM(loss="pseudo", temporal=temporal, **shared)
        model.fit(x, confounder=motion, **runs)
    elif method == "scrub":
        moved = np.concatenate([_displacement(subject) for subject in subjects])
        model = GGM(loss="pseudo", threshold=scrub, temporal=temporal, **shared)
        model.fit(x, confounder=moved, **runs)
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


def fit_networks(
    methods: Sequence[str],
    data: StudyData,
    *,
    estimator: PLAGGM | Mapping[str, PLAGGM],
    criterion: str,
    subject_criterion: str,
    scrub: float,
    store: Store,
    problems: Problems,
    settings: dict[str, Any],
    fdr: float | None = FALSE_DISCOVERY,
    covariates: Covariates | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[dict[str, SubjectNetworks], dict[tuple[str, str], GraphResult]]:
    """The networks of every subject and the pooled network of every group, by every method.

    What the subjects share is learnt beside the first pooled networks, and subjects are fitted beside the
    others, so that no worker waits.

    Parameters
    ----------
    methods : sequence of str
        Keys in ``METHODS``.
    data : StudyData
    estimator, criterion, scrub, fdr, covariates
        See :func:`fit_group`; a mapping has an estimator for each method.
    subject_criterion : {"shrinkage", "cv", "aic", "bic", "ebic"}
        See :func:`plaggm.fmri.fit_subjects`.
    store : Store
        Finished networks are kept there and taken from there.
    problems : Problems
        Grows by subjects that a method cannot fit.
    settings : dict
        What the methods depend on, for the keys of the store.
    n_jobs, progress
        See :func:`plaggm.fmri.fit_subjects`.

    Returns
    -------
    subjects : dict of method to SubjectNetworks
    groups : dict of (method, group) to GraphResult
    """
    begun = {
        method: stored_subjects(
            make_treatment(method, _of(estimator, method), data.confounder_names, scrub),
            data.subjects,
            criterion=subject_criterion,
            store=store,
            settings=settings,
        )
        for method in methods
    }
    pool = _group_work(data, estimator, criterion, scrub, fdr, covariates, store, settings)
    # Long ones first, so that none of them starts when the others are done; the sort is stable.
    pairs = [(method, group) for method in methods for group in data.groups]
    pairs.sort(key=lambda pair: pair[0] not in PARTIALLY_LINEAR)
    learning = [(method, fits) for method, fits in begun.items() if fits.missing]
    learning.sort(key=lambda pair: pair[0] not in PARTIALLY_LINEAR)
    # As many groups as there are workers to spare while others learn; the rest beside the subjects.
    early = concurrent_jobs(n_jobs) - 1 if learning else 0
    total = len(learning) + len(pairs)

    def tell(done: int) -> None:
        if progress is not None:
            progress("pooled networks of the groups, and what subjects share", done, total)

    tell(0)
    grouped = [
        (f"the network of {group} by {METHODS[method]}", delayed(pool)(method, group))
        for method, group in pairs
    ]
    first = _side_by_side(
        n_jobs,
        [
            (
                f"what the subjects share by {METHODS[method]}",
                delayed(learn_shared)(fits.treatment, data.subjects, subject_criterion),
            )
            for method, fits in learning
        ]
        + grouped[:early],
    )
    shared = {}
    for done, ((method, _), learnt) in enumerate(zip(learning, first, strict=False), 1):
        shared[method] = learnt
        tell(done)
    made = dict(zip(pairs[:early], first, strict=True))
    tell(len(learning) + len(made))
    people = [
        piece
        for method, fits in begun.items()
        for piece in zip(fits.missing_names, subject_tasks(fits, shared.get(method)), strict=True)
    ]
    second = _side_by_side(n_jobs, grouped[early:] + people)
    for pair in pairs[early:]:
        made[pair] = next(second)
        tell(len(learning) + len(made))
    subjects = {
        method: finish_subjects(fits, shared.get(method), second, problems, progress)
        for method, fits in begun.items()
    }
    # Lets the workers go.
    next(second, None)
    return subjects, {
        (method, group): made[method, group] for method in methods for group in data.groups
    }


def _side_by_side(n_jobs: int | None, pieces: Sequence[tuple[str, Any]]) -> Iterator[Any]:
    """Results of named tasks, in their order."""
    work = in_turn(n_jobs, [name for name, _ in pieces], prefer="processes")
    return work([task for _, task in pieces])


def _group_work(
    data: StudyData,
    estimator: PLAGGM | Mapping[str, PLAGGM],
    criterion: str,
    scrub: float,
    fdr: float | None,
    covariates: Covariates | None,
    store: Store,
    settings: dict[str, Any],
) -> Callable[[str, str], GraphResult]:
    """The pooled network of one group by one method, kept in the store and taken from there."""
    everything = digest(
        settings,
        criterion,
        fdr,
        data.atlas.names,
        data.confounder_names,
        confounder_sizes(data.subjects),
        *(() if covariates is None else (covariates.names, covariates.frame.to_numpy().tolist())),
    )

    def work(method: str, group: str) -> GraphResult:
        subjects = data.of(group)
        series = (
            part
            for one in subjects
            for part in (one.x, one.confounder, one.displacement, one.run_numbers)
        )
        place = f"groups-{method}", group, digest(everything, *series)
        known = store.get_result(*place)
        if known is not None:
            return known
        with single_threaded_blas():
            made = fit_group(
                method,
                data,
                subjects,
                estimator=_of(estimator, method),
                criterion=criterion,
                scrub=scrub,
                fdr=fdr,
                covariates=covariates,
                label=group,
            )
        store.put_result(*place, made)
        return made

    return work


def _of(estimator: PLAGGM | Mapping[str, PLAGGM], method: str) -> PLAGGM:
    return estimator if isinstance(estimator, PLAGGM) else estimator[method]


def _kinds(estimator: PLAGGM, motion: Sequence[str], covariates: pd.DataFrame) -> dict[str, Any]:
    """Parameters by which motion stays an amount of harm and covariates are averaged over."""
    threshold = estimator.threshold
    if not isinstance(threshold, str):
        limits = np.broadcast_to(np.asarray(threshold, dtype=np.float64), (len(motion),))
        threshold = np.append(limits, np.full(covariates.shape[1], np.nan))
    factors = [name for name in covariates if not pd.api.types.is_numeric_dtype(covariates[name])]
    return {
        "threshold": threshold,
        "reference": dict.fromkeys(motion, "zero") | dict.fromkeys(covariates, "average"),
        "categorical": factors or None,
    }


def _displacement(subject: Subject) -> Array:
    if subject.displacement is None:
        raise ValueError(f"{subject.name} has no framewise displacement, which scrubbing needs.")
    return subject.displacement
