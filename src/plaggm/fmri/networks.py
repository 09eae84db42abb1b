"""Networks of single subjects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import delayed

from plaggm.array_types import Array, Index, Mask
from plaggm.core.node_grams import path_residuals
from plaggm.core.path import lambda_max, solve_path
from plaggm.core.threads import single_threaded_blas
from plaggm.fmri.problems import Problems
from plaggm.fmri.subjects import Progress, Subject
from plaggm.fmri.treatments import METHODS, Learnt, SubjectProblem, Treatment
from plaggm.resume import Store, digest
from plaggm.selection import information_criterion
from plaggm.selection.parallel import in_turn

CRITERIA = ("cv", "aic", "bic", "ebic")
# Penalties of the subjects' paths, from the largest that matters to this part of it.
SUBJECT_ALPHAS, SUBJECT_RATIO = 16, 0.03
SUBJECT_TOL, SUBJECT_SWEEPS = 1e-4, 200
# Blocks of neighbouring volumes that are held out in turn; neighbours resemble each other.
BLOCKS = 5
# Subjects whose paths place the common grid of penalties.
GRID_SUBJECTS = 20


@dataclass(frozen=True, slots=True, eq=False)
class SubjectNetworks:
    """One network for each subject, all at the same penalty.

    Attributes
    ----------
    method : str
    subjects : tuple of str
        Names of the subjects, in the order of the arrays.
    alphas : ndarray of shape (A,)
        Penalties, decreasing.
    criterion : ndarray of shape (S, A)
        Criterion of every subject and penalty; NaN for subjects that failed.
    paths : ndarray of shape (S, A, pairs)
        Upper triangles of all networks.
    chosen : int
        The penalty with the smallest sum of the criterion.

    Examples
    --------
    >>> from plaggm.fmri.semisynthetic import semisynthetic_study, simulated_motion
    >>> motion = simulated_motion(3, seed=0, volumes=60)
    >>> data, _ = semisynthetic_study(motion, seed=0, per_group=3, regions=4)
    >>> import tempfile
    >>> from pathlib import Path
    >>> from plaggm import PLAGGM
    >>> from plaggm.fmri.problems import Problems
    >>> from plaggm.fmri.treatments import make_treatment
    >>> from plaggm.resume import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = fit_subjects(
    ...         make_treatment("lr", PLAGGM(), data.confounder_names),
    ...         data.subjects,
    ...         criterion="aic",
    ...         store=Store(Path(folder)),
    ...         problems=Problems(),
    ...         settings={},
    ...     )
    >>> found.paths.shape[::2]
    (6, 6)
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
    def usable(self) -> Mask:
        """Who did not fail: shape (S,)."""
        return np.asarray(np.isfinite(self.criterion).all(axis=1))


def pair_values(omega: Array) -> Array:
    """Partial correlations, the upper triangles of (..., p, p), as (..., pairs)."""
    first, second = np.triu_indices(omega.shape[-1], 1)
    return np.clip(omega[..., first, second], -1.0, 1.0)


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


def time_blocks(n: int) -> list[tuple[Index, Index]]:
    """Training and test volumes, each block of neighbours held out once."""
    everything = np.arange(n)
    return [
        (np.setdiff1d(everything, block, assume_unique=True), block)
        for block in np.array_split(everything, BLOCKS)
    ]


def subject_path(problem: SubjectProblem, alphas: Array, criterion: str) -> tuple[Array, Array]:
    """One subject's networks along the grid, and what speaks for each penalty.

    Parameters
    ----------
    problem : SubjectProblem
    alphas : ndarray of shape (A,)
        Penalties, decreasing.
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
        loss += len(test) * path_residuals(held_out, path.omega).sum(axis=1)
    return loss / problem.n


@dataclass(frozen=True, slots=True, eq=False)
class SubjectFits:
    """The subjects of a study by one method, as far as their networks are stored.

    Attributes
    ----------
    treatment : Treatment
    subjects : sequence of Subject
    criterion : {"cv", "aic", "bic", "ebic"}
    store : Store
    key : str
        Digest of all subjects and settings together, since what they share depends on everybody.
    stored : list of dict or None
        Path, criterion and penalties of each subject; None for who has to be fitted.
    """

    treatment: Treatment
    subjects: Sequence[Subject]
    criterion: str
    store: Store
    key: str
    stored: list[dict[str, Any] | None] = field(repr=False)

    @property
    def title(self) -> str:
        """The method in words."""
        return METHODS.get(self.treatment.name, self.treatment.name)

    @property
    def missing(self) -> list[int]:
        """Places of the subjects that have to be fitted."""
        return [place for place, piece in enumerate(self.stored) if piece is None]

    @property
    def missing_names(self) -> list[str]:
        """Names of the groups."""
        return [self.subjects[place].name for place in self.missing]


def stored_subjects(
    treatment: Treatment,
    subjects: Sequence[Subject],
    *,
    criterion: str,
    store: Store,
    settings: dict[str, Any],
) -> SubjectFits:
    """Whose networks are there already; see :func:`fit_subjects`."""
    key = digest(
        settings,
        criterion,
        *(part for s in subjects for part in (s.x, s.confounder, s.run_numbers)),
    )
    stored = [
        store.get(_kind(treatment), subject.name, digest(key, subject.name)) for subject in subjects
    ]
    return SubjectFits(treatment, subjects, criterion, store, key, stored)


def learn_shared(treatment: Treatment, subjects: Sequence[Subject]) -> tuple[Learnt, Array]:
    """What the treatment learns from all subjects, and their common grid of penalties."""
    with single_threaded_blas():
        learnt = treatment.learn(subjects)
        return learnt, penalty_grid(_some_problems(learnt, subjects))


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
        Told the description of a step, how much is done and of how much.

    Returns
    -------
    SubjectNetworks

    Examples
    --------
    >>> from plaggm.fmri.semisynthetic import semisynthetic_study, simulated_motion
    >>> motion = simulated_motion(3, seed=0, volumes=60)
    >>> data, _ = semisynthetic_study(motion, seed=0, per_group=3, regions=4)
    >>> from plaggm import PLAGGM
    >>> from plaggm.fmri.treatments import make_treatment
    >>> treatment = make_treatment("lr", PLAGGM(), data.confounder_names)
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = fit_subjects(
    ...         treatment,
    ...         data.subjects,
    ...         criterion="aic",
    ...         store=Store(Path(folder)),
    ...         problems=Problems(),
    ...         settings={},
    ...     )
    >>> len(found.subjects)
    6
    """
    fits = stored_subjects(treatment, subjects, criterion=criterion, store=store, settings=settings)
    shared = None
    if fits.missing:
        if progress is not None:
            progress(f"{fits.title}: learning what the subjects share", 0, len(subjects))
        shared = learn_shared(treatment, subjects)
    work = in_turn(n_jobs, fits.missing_names, prefer="processes")
    results = work(subject_tasks(fits, shared))
    found = finish_subjects(fits, shared, results, problems, progress)
    # Lets the workers go.
    next(results, None)
    return found


def subject_tasks(fits: SubjectFits, shared: tuple[Learnt, Array] | None) -> list[Any]:
    """What is to be done for those who are missing, in their order; see :func:`finish_subjects`."""
    if shared is None:
        return []
    # joblib sends several quick subjects at once, and what they share once with each lot.
    work = delayed(_subject_work(fits, *shared))
    return [work(fits.subjects[place]) for place in fits.missing]


def finish_subjects(
    fits: SubjectFits,
    shared: tuple[Learnt, Array] | None,
    results: Iterator[dict[str, Any]],
    problems: Problems,
    progress: Progress | None = None,
) -> SubjectNetworks:
    """Take in who was missing, and choose the common penalty.

    Parameters
    ----------
    fits : SubjectFits
    shared : (Learnt, ndarray of shape (A,)), optional
        Result of :func:`learn_shared`; not needed where nobody is missing.
    results : iterator
        What :func:`subject_tasks` come to; no more is taken from it.
    problems : Problems
    progress : callable, optional
        Told the description of a step, how much is done and of how much.

    Returns
    -------
    SubjectNetworks
    """
    pieces, subjects, missing = list(fits.stored), fits.subjects, fits.missing
    known = len(subjects) - len(missing)
    for done, place in enumerate(missing, 1):
        pieces[place] = next(results)
        if progress is not None:
            progress(f"{fits.title}: subjects", known + done, len(subjects))
    found = [piece for piece in pieces if piece is not None]
    alphas = found[0]["alphas"] if shared is None else shared[1]
    pairs = subjects[0].x.shape[1] * (subjects[0].x.shape[1] - 1) // 2
    paths = np.full((len(subjects), len(alphas), pairs), np.nan)
    scores = np.full((len(subjects), len(alphas)), np.nan)
    for place, (subject, piece) in enumerate(zip(subjects, found, strict=True)):
        if "error" in piece:
            problems.add(
                subject.name, None, f"{fits.title}: {piece['error']} Left out of this method."
            )
        else:
            paths[place], scores[place] = piece["path"], piece["criterion"]
    usable = np.isfinite(scores).all(axis=1)
    chosen = int(np.argmin(scores[usable].sum(axis=0))) if usable.any() else 0
    everybody = tuple(subject.name for subject in subjects)
    name = fits.treatment.name
    return SubjectNetworks(name, everybody, np.asarray(alphas), scores, paths, chosen)


def _subject_work(
    fits: SubjectFits, learnt: Learnt, alphas: Array
) -> Callable[[Subject], dict[str, Any]]:
    """The fit of one subject, which knows no other subject and so is light to send."""
    kind, key, criterion, store = _kind(fits.treatment), fits.key, fits.criterion, fits.store

    def work(subject: Subject) -> dict[str, Any]:
        try:
            path, score = subject_path(learnt.problem(subject), alphas, criterion)
        except (ValueError, np.linalg.LinAlgError, FloatingPointError) as error:
            return {"error": str(error)}
        except MemoryError as error:
            return {"error": f"Out of memory. {error}"}
        piece = {"path": path, "criterion": score, "alphas": alphas}
        store.put(kind, subject.name, digest(key, subject.name), **piece)
        return piece

    return work


def _kind(treatment: Treatment) -> str:
    return f"networks-{treatment.name}"
