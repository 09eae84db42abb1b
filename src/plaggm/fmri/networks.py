"""Networks of groups and of single subjects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from plaggm.core.node_grams import residual_variances
from plaggm.core.path import lambda_max, solve_path
from plaggm.core.threads import single_threaded_blas
from plaggm.estimators import PLAGGM, PLAGGMCV
from plaggm.fmri.problems import Problems
from plaggm.fmri.store import Store, digest
from plaggm.fmri.subjects import Progress, StudyData, Subject
from plaggm.fmri.treatments import (
    METHODS,
    Learnt,
    SubjectProblem,
    Treatment,
    confounder_units,
    levelled,
)
from plaggm.related import GGM, LRGGM
from plaggm.result import GraphResult, plain_settings
from plaggm.selection import information_criterion
from plaggm.selection.parallel import in_turn

Array = NDArray[np.float64]

CRITERIA = ("cv", "aic", "bic", "ebic")
# Penalties of the subjects' paths, from the largest that matters to this part of it.
SUBJECT_ALPHAS, SUBJECT_RATIO = 16, 0.03
SUBJECT_TOL, SUBJECT_SWEEPS = 1e-4, 200
# Blocks of neighbouring volumes that are held out in turn; neighbours resemble each other.
BLOCKS = 5
GROUP_FOLDS = 10
# Subjects whose paths place the common grid of penalties.
GRID_SUBJECTS = 20


@dataclass(frozen=True, slots=True, eq=False)
class SubjectNetworks:
    """One network for each subject, all at the same penalty.

    Attributes
    ----------
    method : str
    subjects : tuple of str
    alphas : ndarray of shape (A,)
    criterion : ndarray of shape (S, A)
        Of every subject and penalty; NaN for subjects that failed.
    paths : ndarray of shape (S, A, pairs)
        Upper triangles of all networks.
    chosen : int
        The penalty with the smallest sum of the criterion.
    """

    method: str
    subjects: tuple[str, ...]
    alphas: Array
    criterion: Array
    paths: Array = field(repr=False)
    chosen: int

    @property
    def values(self) -> Array:
        """Upper triangles at the chosen penalty: shape (S, pairs); NaN for subjects that failed."""
        return self.paths[:, self.chosen]

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Who did not fail: shape (S,)."""
        return np.asarray(np.isfinite(self.criterion).all(axis=1))


def pair_values(omega: Array) -> Array:
    """Upper triangles of (..., p, p) as (..., pairs)."""
    first, second = np.triu_indices(omega.shape[-1], 1)
    return omega[..., first, second]


def from_pairs(values: Array, p: int) -> Array:
    """Symmetric matrices (..., p, p) with a zero diagonal from upper triangles (..., pairs)."""
    first, second = np.triu_indices(p, 1)
    out = np.zeros((*values.shape[:-1], p, p))
    out[..., first, second] = values
    out[..., second, first] = values
    return out


def penalty_grid(problems: Sequence[SubjectProblem]) -> Array:
    """A common grid of penalties: from the median subject's empty network down.

    Parameters
    ----------
    problems : sequence of SubjectProblem
        Some of them, evenly spread, are looked at.

    Returns
    -------
    ndarray of shape (SUBJECT_ALPHAS,)
    """
    step = max(1, len(problems) // GRID_SUBJECTS)
    largest = [lambda_max(problem.grams()) for problem in problems[::step]]
    top = float(np.median(largest)) if largest else 1.0
    return np.geomspace(top, SUBJECT_RATIO * top, SUBJECT_ALPHAS)


def _some_problems(learnt: Learnt, subjects: Sequence[Subject]) -> list[SubjectProblem]:
    """Problems of some subjects, evenly spread, to place the grid by."""
    some = []
    for subject in subjects[:: max(1, len(subjects) // GRID_SUBJECTS)]:
        try:
            some.append(learnt.problem(subject))
        except (ValueError, np.linalg.LinAlgError):
            # Whoever cannot be fitted is reported when it is that subject's turn.
            continue
    return some


def time_blocks(n: int, blocks: int = BLOCKS) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Training and test volumes, each block of neighbours held out once."""
    everything = np.arange(n)
    return [
        (np.setdiff1d(everything, block, assume_unique=True), block)
        for block in np.array_split(everything, blocks)
    ]


def subject_path(problem: SubjectProblem, alphas: Array, criterion: str) -> tuple[Array, Array]:
    """One subject's networks along the grid, and what speaks for each penalty.

    Parameters
    ----------
    problem : SubjectProblem
    alphas : ndarray of shape (A,)
    criterion : {"cv", "aic", "bic", "ebic"}

    Returns
    -------
    path : ndarray of shape (A, pairs)
    criterion : ndarray of shape (A,)
        Held-out loss for each volume, or the information criterion; smaller is better.
    """
    with single_threaded_blas():
        grams = problem.grams()
        omega = solve_path(grams, alphas, tol=SUBJECT_TOL, max_iter=SUBJECT_SWEEPS).omega
        if criterion != "cv":
            score = information_criterion(grams, omega, criterion, known_variance=False)  # type: ignore[arg-type]
            return pair_values(omega), score
        return pair_values(omega), held_out_loss(problem, alphas)


def held_out_loss(problem: SubjectProblem, alphas: Array) -> Array:
    """Mean squared residual of held-out blocks of volumes, summed over the nodes: shape (A,)."""
    loss = np.zeros(len(alphas))
    for train, test in time_blocks(problem.n):
        fitted, held_out = problem.split(train, test)
        path = solve_path(fitted, alphas, tol=SUBJECT_TOL, max_iter=SUBJECT_SWEEPS)
        loss += len(test) * np.array(
            [residual_variances(held_out, omega).sum() for omega in path.omega]
        )
    return loss / problem.n


def fit_subjects(
    treatment: Treatment,
    subjects: Sequence[Subject],
    *,
    criterion: str,
    store: Store,
    problems: Problems,
    settings: dict[str, Any],
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> SubjectNetworks:
    """One network for each subject, at the penalty that suits all of them best.

    Every finished subject is stored; a subject that fails is noted and left out.

    Parameters
    ----------
    treatment : Treatment
    subjects : sequence of Subject
    criterion : {"cv", "aic", "bic", "ebic"}
        What is summed over the subjects to choose the common penalty.
    store : Store
    problems : Problems
    settings : dict
        What the treatment depends on, for the keys of the store.
    n_jobs : int, optional
    progress : callable, optional

    Returns
    -------
    SubjectNetworks
    """
    title = METHODS.get(treatment.name, treatment.name)
    kind = f"networks-{treatment.name}"
    everybody = digest(
        settings, criterion, *(part for s in subjects for part in (s.x, s.confounder))
    )
    stored = [
        store.get(kind, subject.name, digest(everybody, subject.name)) for subject in subjects
    ]
    if all(piece is not None for piece in stored):
        pieces = [piece for piece in stored if piece is not None]
        alphas = pieces[0]["alphas"]
    else:
        if progress is not None:
            progress(f"{title}: learning what the subjects share", 0, len(subjects))
        with single_threaded_blas():
            learnt = treatment.learn(subjects)
            alphas = penalty_grid(_some_problems(learnt, subjects))

        def work(subject: Subject, known: dict[str, Any] | None) -> dict[str, Any]:
            if known is not None:
                return known
            try:
                path, score = subject_path(learnt.problem(subject), alphas, criterion)
            except (ValueError, np.linalg.LinAlgError, FloatingPointError) as error:
                return {"error": str(error)}
            except MemoryError as error:
                return {"error": f"Out of memory. {error}"}
            piece = {"path": path, "criterion": score, "alphas": alphas}
            store.put(kind, subject.name, digest(everybody, subject.name), **piece)
            return piece

        pieces = []
        results = in_turn(n_jobs, [subject.name for subject in subjects], prefer="processes")(
            delayed(work)(subject, known) for subject, known in zip(subjects, stored, strict=True)
        )
        for done, piece in enumerate(results, 1):
            pieces.append(piece)
            if progress is not None:
                progress(f"{title}: subjects", done, len(subjects))
    pairs = subjects[0].x.shape[1] * (subjects[0].x.shape[1] - 1) // 2
    paths = np.full((len(subjects), len(alphas), pairs), np.nan)
    scores = np.full((len(subjects), len(alphas)), np.nan)
    for place, (subject, piece) in enumerate(zip(subjects, pieces, strict=True)):
        if "error" in piece:
            problems.add(subject.name, None, f"{title}: {piece['error']} Left out of this method.")
        else:
            paths[place], scores[place] = piece["path"], piece["criterion"]
    usable = np.isfinite(scores).all(axis=1)
    chosen = int(np.argmin(scores[usable].sum(axis=0))) if usable.any() else 0
    names = tuple(subject.name for subject in subjects)
    return SubjectNetworks(treatment.name, names, np.asarray(alphas), scores, paths, chosen)


def subject_folds(subjects: Sequence[Subject]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Folds of the pooled volumes that never divide a subject."""
    owner = np.repeat(np.arange(len(subjects)), [len(subject.x) for subject in subjects])
    folds = GroupKFold(min(GROUP_FOLDS, len(subjects))).split(owner, groups=owner)
    return [(train, test) for train, test in folds]


def fit_group(
    method: str,
    data: StudyData,
    subjects: Sequence[Subject],
    *,
    estimator: PLAGGM,
    criterion: str,
    scrub: float,
    label: str,
) -> GraphResult:
    """The network of some subjects pooled, the penalty chosen with whole subjects left out.

    Parameters
    ----------
    method : str
        Key in ``METHODS``; ``"pla-own"`` pools as ``"pla"`` does.
    data : StudyData
        For names of regions and confounders.
    subjects : sequence of Subject
    estimator : PLAGGM
        Threshold, smoother and so on of PLA-GGM.
    criterion : {"cv", "aic", "bic", "ebic"}
    scrub : float
        Framewise displacement in mm, for ``"scrub"``.
    label : str
        Group, for the record.

    Returns
    -------
    GraphResult
    """
    import pandas as pd

    series = [s.x for s in subjects]
    if method in ("pla", "pla-own"):
        units = confounder_units(data.subjects)
        series = [levelled(s, units) for s in subjects]
    x = pd.DataFrame(np.concatenate(series), columns=list(data.atlas.names))
    motion = pd.DataFrame(
        np.concatenate([s.confounder for s in subjects]), columns=list(data.confounder_names)
    )
    folds = subject_folds(subjects)
    shared: dict[str, Any] = dict(cv=folds, criterion=criterion, n_jobs=1)
    if method in ("pla", "pla-own"):
        settings = {k: v for k, v in estimator.get_params().items() if k not in ("alpha", "n_jobs")}
        model: Any = PLAGGMCV(**settings, **shared).fit(x, confounder=motion)
    elif method == "lr":
        model = LRGGM(loss="pseudo", **shared).fit(x, confounder=motion)
    elif method == "scrub":
        moved = np.concatenate([_displacement(subject) for subject in subjects])
        model = GGM(loss="pseudo", threshold=scrub, **shared).fit(x, confounder=moved)
    else:
        model = GGM(loss="pseudo", **shared).fit(x)
    result = model.to_result()
    # Folds are thousands of row numbers; what they are is said in words.
    plain = plain_settings({**result.settings, "cv": f"{len(folds)} folds of whole subjects"})
    return replace(
        result,
        settings={**plain, "method": METHODS[method], "group": label},
        diagnostics={**result.diagnostics, "n_subjects": len(subjects)},
    )


def fit_groups(
    methods: Sequence[str],
    data: StudyData,
    *,
    estimator: PLAGGM,
    criterion: str,
    scrub: float,
    store: Store,
    settings: dict[str, Any],
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> dict[tuple[str, str], GraphResult]:
    """The pooled network of every group by every method, side by side.

    Parameters
    ----------
    methods : sequence of str
    data : StudyData
    estimator, criterion, scrub
        See :func:`fit_group`.
    store : Store
        Finished networks are kept there and taken from there.
    settings : dict
        What the methods depend on, for the keys of the store.
    n_jobs : int, optional
    progress : callable, optional

    Returns
    -------
    dict of (method, group) to GraphResult
    """
    wanted = [(method, group) for method in methods for group in data.groups]
    everything = digest(
        settings,
        criterion,
        data.atlas.names,
        data.confounder_names,
        confounder_units(data.subjects),
    )

    def work(method: str, group: str) -> GraphResult:
        subjects = data.of(group)
        series = (part for one in subjects for part in (one.x, one.confounder, one.displacement))
        place = f"groups-{method}", group, digest(everything, *series)
        known = store.get_result(*place)
        if known is not None:
            return known
        with single_threaded_blas():
            made = fit_group(
                method,
                data,
                subjects,
                estimator=estimator,
                criterion=criterion,
                scrub=scrub,
                label=group,
            )
        store.put_result(*place, made)
        return made

    found = {}
    names = [f"{METHODS[method]} of {group}" for method, group in wanted]
    results = in_turn(n_jobs, names, prefer="processes")(delayed(work)(*pair) for pair in wanted)
    if progress is not None:
        progress("pooled networks of the groups", 0, len(wanted))
    for done, (pair, result) in enumerate(zip(wanted, results, strict=True), 1):
        found[pair] = result
        if progress is not None:
            progress("pooled networks of the groups", done, len(wanted))
    return found


def _displacement(subject: Subject) -> Array:
    if subject.displacement is None:
        raise ValueError(f"{subject.name} has no framewise displacement, which scrubbing needs.")
    return subject.displacement
