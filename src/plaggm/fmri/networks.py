"""Networks of single subjects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import delayed

from plaggm.array_types import Array, Mask
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.fmri.graphical_lasso import path_of
from plaggm.fmri.problems import WHOLE_STUDY, Problems
from plaggm.fmri.subject_paths import GRID_SUBJECTS, SHRINKAGE, SubjectPath
from plaggm.fmri.subjects import Progress, Subject
from plaggm.fmri.treatments import METHODS, Learnt, SubjectProblem, Treatment, is_alone
from plaggm.resume import Store, digest
from plaggm.selection.parallel import in_turn


@dataclass(frozen=True, slots=True, eq=False)
class SubjectNetworks:
    """One network for each subject, all at the same step of a path.

    Attributes
    ----------
    method : str
    subjects : tuple of str
        Names of the subjects, in the order of the arrays.
    rule : {"shrinkage", "cv", "aic", "bic", "ebic"}
        Shrinkage, or the lasso with that choice of its penalty.
    steps : ndarray of shape (A,)
        Penalties of the lasso, decreasing; spreads of the shrinkage, increasing.
    criterion : ndarray of shape (S, A)
        Criterion of every subject and step; NaN for subjects that failed.
    paths : ndarray of shape (S, A, pairs)
        Upper triangles of all networks.
    chosen : int
        The step with the smallest sum of the criterion.
    effective : ndarray of shape (S,)
        Volumes without motion that each network rests on, less degrees of freedom spent on motion.

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
    rule: str
    steps: Array
    criterion: Array
    paths: Array = field(repr=False)
    chosen: int
    effective: Array = field(repr=False)

    @property
    def values(self) -> Array:
        """Upper triangles at the chosen step: shape (S, pairs); NaN for subjects that failed."""
        return self.paths[:, self.chosen]

    @property
    def usable(self) -> Mask:
        """Subjects whose fit succeeded: shape (S,)."""
        return np.asarray(np.isfinite(self.criterion).all(axis=1))

    @property
    def edge_note(self) -> str:
        """What a choice at an end of the path means; empty for one inside it."""
        if not self.usable.any() or 0 < self.chosen < len(self.steps) - 1:
            return ""
        if self.rule == SHRINKAGE:
            return (
                "held-out volumes are predicted best by the network of all subjects: what is a subject's "
                "own cannot be told from noise, and the subjects' networks hardly differ."
                if self.chosen == 0
                else f"the weakest shrinkage that was tried (a spread of {self.steps[-1]:.2g}) predicts "
                "held-out volumes best; still weaker ones were not tried."
            )
        step = f"penalty of the subjects' lasso that was tried ({self.steps[self.chosen]:.2g})"
        if self.chosen == 0:
            empty = np.mean(~np.any(self.values[self.usable], axis=1))
            return (
                f"the largest {step} is the best by {self.rule}, and {empty:.0%} of the subjects' networks "
                "have no edge: one scan has too little information for the lasso. Comparison, diagnosis "
                "and QC-FC then show which networks have any edge. "
                f"--subject-criterion {SHRINKAGE} does without the lasso."
            )
        return (
            f"the smallest {step} is the best by {self.rule}: the grid's end decides, not the criterion. "
            f"--subject-criterion {SHRINKAGE} does without the lasso."
        )


def from_pairs(values: Array, p: int) -> Array:
    """Symmetric matrices (..., p, p) with a zero diagonal from upper triangles (..., pairs)."""
    first, second = np.triu_indices(p, 1)
    out = np.zeros((*values.shape[:-1], p, p))
    out[..., first, second] = values
    out[..., second, first] = values
    return out


def _problems(learnt: Learnt, subjects: Sequence[Subject]) -> list[SubjectProblem]:
    """Problems of the subjects that can be fitted."""
    found = []
    for subject in subjects:
        try:
            found.append(learnt.problem(subject))
        except (ValueError, np.linalg.LinAlgError):
            # Subjects that cannot be fitted are reported by the fit of each subject.
            continue
    return found


def subject_path(problem: SubjectProblem, path: SubjectPath) -> tuple[Array, Array]:
    """One subject's networks along the path (A, pairs), and the criterion at each step (A,)."""
    with single_threaded_blas():
        return path.fit(problem)


@dataclass(frozen=True, slots=True, eq=False)
class SubjectFits:
    """Fits of a study's subjects by one method, with those that are already stored.

    Attributes
    ----------
    treatment : Treatment
    subjects : sequence of Subject
    criterion : {"shrinkage", "cv", "aic", "bic", "ebic"}
    store : Store
    key : str
        Digest of all subjects and settings together, since what they share depends on all of them.
    stored : list of dict or None
        Path, criterion and steps of each subject; None for subjects that have to be fitted.
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
        """Names of the subjects that have to be fitted."""
        return [self.subjects[place].name for place in self.missing]


def stored_subjects(
    treatment: Treatment,
    subjects: Sequence[Subject],
    *,
    criterion: str,
    store: Store,
    settings: dict[str, Any],
) -> SubjectFits:
    """Look up stored networks; see :func:`fit_subjects`."""
    key = digest(
        settings,
        criterion,
        *(part for s in subjects for part in (s.x, s.confounder, s.run_numbers)),
    )
    stored = [
        store.get(_kind(treatment), subject.name, digest(key, subject.name)) for subject in subjects
    ]
    return SubjectFits(treatment, subjects, criterion, store, key, stored)


def learn_shared(
    treatment: Treatment, subjects: Sequence[Subject], criterion: str
) -> tuple[Learnt, SubjectPath]:
    """What the treatment learns from all subjects, and the path that their networks have in common."""
    with single_threaded_blas():
        learnt = treatment.learn(subjects)
        alone = is_alone(treatment)
        # Where subjects share at most a grid of penalties, only some are fitted for it.
        some = subjects[:: max(1, len(subjects) // GRID_SUBJECTS)] if alone else subjects
        if alone and criterion == SHRINKAGE:
            some = some[:1]
        problems = _problems(learnt, some) or _problems(learnt, subjects)
        return learnt, path_of(criterion, problems, shared=not alone)


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
    """One network for each subject, at the step of the path that suits all of them best.

    Every finished subject is stored; a subject that fails is noted and left out.

    Parameters
    ----------
    treatment : Treatment
    subjects : sequence of Subject
    criterion : {"shrinkage", "cv", "aic", "bic", "ebic"}
        Shrinkage towards the network of all subjects, or the lasso with this choice of its penalty. What is
        summed over the subjects to choose the common step is held-out loss of blocks of volumes for the
        first two.
    store : Store
    problems : Problems
    settings : dict
        Settings that the treatment depends on, for the keys of the store.
    n_jobs : int, optional
    progress : callable, optional
        Called with the description of a step, the number of finished items, and of how many.

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
        shared = learn_shared(treatment, subjects, criterion)
    work = in_turn(n_jobs, fits.missing_names, prefer="processes")
    results = work(subject_tasks(fits, shared))
    found = finish_subjects(fits, shared, results, problems, progress)
    # Lets the workers go.
    next(results, None)
    return found


def subject_tasks(fits: SubjectFits, shared: tuple[Learnt, SubjectPath] | None) -> list[Any]:
    """Tasks for the subjects without a stored network, in order; see :func:`finish_subjects`."""
    if shared is None:
        return []
    # joblib sends several quick subjects at once, and what they share once with each lot.
    work = delayed(_subject_work(fits, *shared))
    return [work(fits.subjects[place]) for place in fits.missing]


def finish_subjects(
    fits: SubjectFits,
    shared: tuple[Learnt, SubjectPath] | None,
    results: Iterator[dict[str, Any]],
    problems: Problems,
    progress: Progress | None = None,
) -> SubjectNetworks:
    """Add the newly fitted subjects, and choose the common step of the path.

    Parameters
    ----------
    fits : SubjectFits
    shared : (Learnt, SubjectPath), optional
        Result of :func:`learn_shared`; not needed where nobody is missing.
    results : iterator
        Results of :func:`subject_tasks`, in their order.
    problems : Problems
    progress : callable, optional
        Called with the description of a step, the number of finished items, and of how many.

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
    steps = _steps(found) if shared is None else shared[1].steps
    pairs = subjects[0].x.shape[1] * (subjects[0].x.shape[1] - 1) // 2
    paths = np.full((len(subjects), len(steps), pairs), np.nan)
    scores = np.full((len(subjects), len(steps)), np.nan)
    effective = np.full(len(subjects), np.nan)
    for place, (subject, piece) in enumerate(zip(subjects, found, strict=True)):
        if "error" in piece:
            problems.add(
                subject.name, None, f"{fits.title}: {piece['error']} Left out of this method."
            )
        else:
            paths[place], scores[place] = piece["path"], piece["criterion"]
            effective[place] = piece["effective"]
    usable = np.isfinite(scores).all(axis=1)
    chosen = int(np.argmin(scores[usable].sum(axis=0))) if usable.any() else 0
    everybody = tuple(subject.name for subject in subjects)
    name = fits.treatment.name
    made = SubjectNetworks(
        name, everybody, fits.criterion, np.asarray(steps), scores, paths, chosen, effective
    )
    if made.edge_note:
        problems.add(WHOLE_STUDY, None, f"{fits.title}: {made.edge_note}")
    return made


def _steps(pieces: Sequence[dict[str, Any]]) -> Array:
    """The steps of stored paths."""
    return np.asarray(next(piece["steps"] for piece in pieces if "steps" in piece))


def _subject_work(
    fits: SubjectFits, learnt: Learnt, path: SubjectPath
) -> Callable[[Subject], dict[str, Any]]:
    """The fit of one subject, without data of others so that it is cheap to send to a worker."""
    kind, key, store = _kind(fits.treatment), fits.key, fits.store

    def work(subject: Subject) -> dict[str, Any]:
        try:
            problem = learnt.problem(subject)
            networks, score = subject_path(problem, path)
        except (ValueError, np.linalg.LinAlgError, FloatingPointError) as error:
            return {"error": str(error)}
        except MemoryError as error:
            return {"error": f"Out of memory. {error}"}
        piece = {
            "path": networks,
            "criterion": score,
            "steps": path.steps,
            "effective": np.asarray(problem.effective),
        }
        store.put(kind, subject.name, digest(key, subject.name), **piece)
        return piece

    return work


def _kind(treatment: Treatment) -> str:
    return f"networks-{treatment.name}"
