"""Networks inside the folds of a diagnosis, learnt from the training subjects alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from joblib import delayed
from sklearn.model_selection import RepeatedStratifiedKFold

from plaggm.array_types import Array, Index
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.fmri.graphical_lasso import path_of
from plaggm.fmri.shared_nuisance import SharedNuisance
from plaggm.fmri.subject_paths import CRITERIA
from plaggm.fmri.subjects import Progress, Subject
from plaggm.fmri.treatments import METHODS, Learnt, Treatment, is_alone
from plaggm.resume import Store, digest, versioned_key
from plaggm.selection.parallel import in_turn

FOLDS = 10
# Training subjects on which the networks' penalty is chosen in every fold.
PENALTY_SUBJECTS = 12


@dataclass(frozen=True, slots=True, eq=False)
class FoldFeatures:
    """Networks of all subjects in one fold.

    Attributes
    ----------
    train, test : ndarray of int
    values : ndarray of shape (S, pairs)
        Networks of all subjects; everything shared is learnt from the training subjects.
    alpha : float
        Penalty of the lasso, or spread of the shrinkage, chosen on training subjects; NaN where each
        subject has its own.
    covariates : ndarray of shape (S, k), optional
        Covariates that are regressed out of the features, with slopes from the training subjects.
    added : ndarray of shape (S, k), optional
        Further features beside the network, such as mean displacement.
    """

    train: Index
    test: Index
    values: Array = field(repr=False)
    alpha: float
    covariates: Array | None = field(default=None, repr=False)
    added: Array | None = field(default=None, repr=False)


def splits(y: Index, repeats: int, seed: int) -> list[tuple[Index, Index]]:
    """Repeated stratified folds, ten where the smaller group allows it."""
    smallest = int(np.bincount(y).min())
    folds = min(FOLDS, smallest)
    if folds < 2:
        raise ValueError(
            f"Classification needs two or more subjects in each group; got {smallest}."
        )
    cut = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    return [(train, test) for train, test in cut.split(np.zeros(len(y)), y)]


def fold_features(
    treatment: Treatment,
    subjects: Sequence[Subject],
    folds: Sequence[tuple[Index, Index]],
    *,
    criterion: str,
    store: Store | None = None,
    settings: dict[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> list[FoldFeatures]:
    """The network of every subject in every fold, with everything shared learnt from the training subjects.

    Parameters
    ----------
    treatment : Treatment
    subjects : sequence of Subject
    folds : sequence of (train, test)
    criterion : {"shrinkage", "cv", "aic", "bic", "ebic"}
        How the networks are estimated, see :func:`plaggm.fmri.fit_subjects`; one step of the path serves
        all subjects, chosen on training subjects.
    store : Store, optional
        Finished folds are kept there and taken from there.
    settings : dict, optional
        What the treatment depends on, for the keys of the store.
    n_jobs : int, optional
    progress : callable, optional

    Returns
    -------
    list of FoldFeatures

    Examples
    --------
    >>> from plaggm.fmri.semisynthetic import semisynthetic_study, simulated_motion
    >>> motion = simulated_motion(3, seed=0, volumes=60)
    >>> data, _ = semisynthetic_study(motion, seed=0, per_group=3, regions=4)
    >>> from plaggm import PLAGGM
    >>> from plaggm.fmri.treatments import make_treatment
    >>> treatment = make_treatment("lr", PLAGGM(), data.confounder_names)
    >>> folds = [(np.array([0, 1, 3, 4]), np.array([2, 5]))]
    >>> fold_features(treatment, data.subjects, folds, criterion="aic")[0].values.shape
    (6, 6)
    """
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}; got {criterion!r}.")
    if is_alone(treatment):
        alone = partial(_one_subject, treatment, criterion=criterion, store=store, told=settings)
        return _alone(alone, treatment.name, subjects, folds, n_jobs, progress)
    results = []
    everybody = versioned_key(
        settings,
        criterion,
        *(part for one in subjects for part in (one.x, one.confounder, one.run_numbers)),
    )

    learn = _learner(treatment, subjects, folds, store, everybody)

    def fold(train: Index, test: Index) -> FoldFeatures:
        place = _place(treatment, train, everybody)
        known = None if store is None else store.get(*place)
        if known is not None:
            return FoldFeatures(train, test, known["values"], float(known["alpha"]))
        made = _one_fold(learn, subjects, train, test, criterion)
        if store is not None:
            store.put(*place, values=made.values, alpha=made.alpha)
        return made

    work = in_turn(n_jobs, prefer="processes")(delayed(fold)(train, test) for train, test in folds)
    title = METHODS.get(treatment.name, treatment.name)
    for done, result in enumerate(work, 1):
        results.append(result)
        if progress is not None:
            progress(f"{title}: networks inside folds", done, len(folds))
    return results


def _place(treatment: Treatment, train: Index, everybody: str) -> tuple[str, str, str]:
    """Where the store keeps a fold."""
    return f"folds-{treatment.name}", f"fold-{digest(train)[:12]}", everybody


def _learner(
    treatment: Treatment,
    subjects: Sequence[Subject],
    folds: Sequence[tuple[Index, Index]],
    store: Store | None,
    everybody: str,
) -> Callable[[Index], Learnt]:
    """A function that learns from subjects, given by their numbers.

    A shared nuisance sums the volumes of all subjects once, unless all folds are stored, and subtracts the
    sums of the others; a training subject's R comes from the folds that do not test that subject.
    """
    if isinstance(treatment, SharedNuisance) and not all(
        store is not None and store.get(*_place(treatment, train, everybody)) is not None
        for train, _ in folds
    ):
        with single_threaded_blas():
            pooled = treatment.pool(subjects)
        parts = fold_parts(folds, len(subjects))
        return lambda train: pooled.learn(train, parts.get(train.tobytes()))
    return lambda train: treatment.learn([subjects[k] for k in train])


def fold_parts(folds: Sequence[tuple[Index, Index]], size: int) -> dict[bytes, list[Index]]:
    """The other test sets of every fold's repeat, which divide its training subjects.

    Parameters
    ----------
    folds : sequence of (train, test)
        Folds of a repeat follow each other.
    size : int
        Number of subjects.

    Returns
    -------
    dict of bytes to list of ndarray of int
        By the bytes of the training subjects; folds whose repeat is not complete, or that are only two,
        are not in it.
    """
    parts: dict[bytes, list[Index]] = {}
    repeat: list[tuple[Index, Index]] = []
    for fold in folds:
        repeat.append(fold)
        if sum(len(test) for _, test in repeat) < size:
            continue
        if len(repeat) > 2:
            for number, (train, _) in enumerate(repeat):
                tests = [test for other, (_, test) in enumerate(repeat) if other != number]
                if np.array_equal(np.sort(np.concatenate(tests)), np.sort(train)):
                    parts[train.tobytes()] = tests
        repeat = []
    return parts


def _alone(
    alone: Callable[[Subject], Array],
    name: str,
    subjects: Sequence[Subject],
    folds: Sequence[tuple[Index, Index]],
    n_jobs: int | None,
    progress: Progress | None,
) -> list[FoldFeatures]:
    """Networks that do not depend on other subjects and so are the same in every fold."""
    rows = []
    work = in_turn(n_jobs, [subject.name for subject in subjects], prefer="processes")(
        delayed(alone)(subject) for subject in subjects
    )
    for done, row in enumerate(work, 1):
        rows.append(row)
        if progress is not None:
            progress(f"{METHODS.get(name, name)}: subjects", done, len(subjects))
    values = np.stack(rows)
    return [FoldFeatures(train, test, values, float("nan")) for train, test in folds]


def _one_subject(
    treatment: Treatment,
    subject: Subject,
    criterion: str,
    store: Store | None,
    told: dict[str, Any] | None,
) -> Array:
    place = (
        f"alone-{treatment.name}",
        subject.name,
        versioned_key(told, criterion, subject.x, subject.confounder, subject.run_numbers),
    )
    known = None if store is None else store.get(*place)
    if known is not None:
        return np.asarray(known["values"])
    with single_threaded_blas():
        problem = treatment.learn([subject]).problem(subject)
        path, score = path_of(criterion, [problem], shared=False).fit(problem)
    values = np.asarray(path[int(np.argmin(score))], dtype=np.float64)
    if store is not None:
        store.put(*place, values=values)
    return values


def _one_fold(
    learn: Callable[[Index], Learnt],
    subjects: Sequence[Subject],
    train: Index,
    test: Index,
    criterion: str,
) -> FoldFeatures:
    with single_threaded_blas():
        learnt = learn(train)
        problems = [learnt.problem(one) for one in subjects]
        path = path_of(criterion, [problems[k] for k in train], shared=True)
        some = train[:: max(1, len(train) // PENALTY_SUBJECTS)]
        chosen = int(np.argmin(np.sum([path.fit(problems[k])[1] for k in some], axis=0)))
        values = np.stack([path.network(problem, chosen) for problem in problems])
    return FoldFeatures(train, test, values, float(path.steps[chosen]))
