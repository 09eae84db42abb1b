"""All networks of a study: those of the groups and of every subject."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import delayed

from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.estimators import PLAGGM
from plaggm.fmri.comparison import FALSE_DISCOVERY
from plaggm.fmri.covariates import Covariates
from plaggm.fmri.levels import confounder_sizes
from plaggm.fmri.networks import (
    SubjectNetworks,
    finish_subjects,
    learn_shared,
    stored_subjects,
    subject_tasks,
)
from plaggm.fmri.pooled_networks import PARTIALLY_LINEAR, POOLED_ALIKE, fit_group
from plaggm.fmri.problems import WHOLE_STUDY, Problems, StudyError
from plaggm.fmri.subjects import Progress, StudyData
from plaggm.fmri.treatments import METHODS, make_treatment
from plaggm.result import GraphResult
from plaggm.resume import Store, digest
from plaggm.selection.parallel import concurrent_jobs, in_turn


@dataclass(frozen=True, slots=True)
class Failed:
    """A task that failed, with the reason."""

    reason: str


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
        Grows by subjects and groups that a method cannot fit.
    settings : dict
        Settings that the methods depend on, for the keys of the store.
    n_jobs, progress
        See :func:`plaggm.fmri.fit_subjects`.

    Returns
    -------
    subjects : dict of method to SubjectNetworks
        Without methods that cannot learn what subjects share.
    groups : dict of (method, group) to GraphResult
        Without groups that a method cannot fit.

    Raises
    ------
    StudyError
        Where no method can fit the subjects, or none a group.
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
        (f"the network of {group} by {METHODS[method]}", delayed(_or_reason(pool))(method, group))
        for method, group in pairs
    ]
    first = _side_by_side(
        n_jobs,
        [
            (
                f"what the subjects share by {METHODS[method]}",
                delayed(_or_reason(learn_shared))(fits.treatment, data.subjects, subject_criterion),
            )
            for method, fits in learning
        ]
        + grouped[:early],
    )
    shared = {}
    for done, ((method, _), learnt) in enumerate(zip(learning, first, strict=False), 1):
        if isinstance(learnt, Failed):
            lost = begun.pop(method).title
            problems.add(
                WHOLE_STUDY, None, f"{lost}: there are no networks of subjects. {learnt.reason}"
            )
        else:
            shared[method] = learnt
        tell(done)
    made = dict(zip(pairs[:early], first, strict=True))
    if not begun:
        raise StudyError(f"No method can fit the subjects. {problems}")
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
    groups = {}
    for method in methods:
        for group in data.groups:
            network = made[method, group]
            if isinstance(network, Failed):
                problems.add(
                    WHOLE_STUDY,
                    None,
                    f"{METHODS[method]}: there is no pooled network of the group {group!r}. "
                    f"{network.reason}",
                )
            else:
                groups[method, group] = network
    if not groups:
        raise StudyError(f"No method can fit any group. {problems}")
    return subjects, groups


def _or_reason(work: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a task so that an error becomes a :class:`Failed` and the other tasks continue."""

    def attempt(*given: Any) -> Any:
        try:
            return work(*given)
        except (ValueError, np.linalg.LinAlgError, FloatingPointError) as error:
            return Failed(str(error))
        except MemoryError as error:
            return Failed(f"Out of memory. {error}")

    return attempt


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
        kind = POOLED_ALIKE.get(method, method)
        place = f"groups-{kind}", group, digest(everything, *series)
        known = store.get_result(*place)
        if known is not None:
            return replace(known, settings={**known.settings, "method": METHODS[method]})
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
