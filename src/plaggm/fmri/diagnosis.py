"""Can the networks tell the groups apart? Classification with everything fitted inside the folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold

from plaggm.core.threads import single_threaded_blas
from plaggm.fmri.networks import CRITERIA, penalty_grid, subject_path
from plaggm.fmri.store import Store, digest
from plaggm.fmri.subjects import Progress, Subject
from plaggm.fmri.treatments import METHODS, OwnNuisance, Treatment
from plaggm.selection.parallel import in_turn

Array = NDArray[np.float64]
Index = NDArray[np.intp]

FEATURES = ("values", "signs")
FOLDS = 10
# Strengths of the classifier's L1 penalty, strongest first: glmnet's lambda as a part of the largest.
PATH = np.geomspace(0.9, 0.05, 8)
INNER_FOLDS = 5
LEVEL = 0.95
# Training subjects on which the networks' penalty is chosen in every fold.
PENALTY_SUBJECTS = 12
LOGISTIC_STEPS = 500
# Excess of a slope over the penalty beyond which a column belongs into the classifier.
SLACK = 1.01


@dataclass(frozen=True, slots=True, eq=False)
class FoldFeatures:
    """Networks of everybody as one fold sees them.

    Attributes
    ----------
    train, test : ndarray of int
    values : ndarray of shape (S, pairs)
        What was learnt for them was learnt from the training subjects.
    alpha : float
        Penalty of the networks, chosen on training subjects; NaN where each subject has its own.
    """

    train: Index
    test: Index
    values: Array = field(repr=False)
    alpha: float


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """How well a method's networks classify subjects they were not trained on.

    Attributes
    ----------
    method, features, criterion : str
    path_auc : ndarray of shape (L,)
        Mean AUC at each strength of the classifier's penalty.
    path_low, path_high : ndarray of shape (L,)
        Their confidence band.
    auc, low, high : float
        With the classifier's penalty chosen by cross-validation inside the training subjects.
    p_value : float
        Of the mean of ``path_auc`` under permutations of the labels within folds; NaN if none were made.
    fold_auc : ndarray of shape (repeats * folds,)
    """

    method: str
    features: str
    criterion: str
    path_auc: Array = field(repr=False)
    path_low: Array = field(repr=False)
    path_high: Array = field(repr=False)
    auc: float
    low: float
    high: float
    p_value: float
    fold_auc: Array = field(repr=False)

    @property
    def title(self) -> str:
        """The method in words."""
        return METHODS.get(self.method, self.method)


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
    """Everybody's network in every fold, learnt from the training subjects alone.

    Parameters
    ----------
    treatment : Treatment
    subjects : sequence of Subject
    folds : sequence of (train, test)
    criterion : {"cv", "aic", "bic", "ebic"}
        Chooses the networks' penalty, one for all subjects, on training subjects.
    store : Store, optional
        Finished folds are kept there and taken from there.
    settings : dict, optional
        What the treatment depends on, for the keys of the store.
    n_jobs : int, optional
    progress : callable, optional

    Returns
    -------
    list of FoldFeatures
    """
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}; got {criterion!r}.")
    if isinstance(treatment, OwnNuisance):
        return _alone(treatment, subjects, folds, criterion, n_jobs, progress)
    results = []
    everybody = digest(
        settings, criterion, *(part for one in subjects for part in (one.x, one.confounder))
    )

    def fold(train: Index, test: Index) -> FoldFeatures:
        if store is None:
            return _one_fold(treatment, subjects, train, test, criterion)
        place = f"folds-{treatment.name}", f"fold-{digest(train)[:12]}", everybody
        known = store.get(*place)
        if known is not None:
            return FoldFeatures(train, test, known["values"], float(known["alpha"]))
        made = _one_fold(treatment, subjects, train, test, criterion)
        store.put(*place, values=made.values, alpha=made.alpha)
        return made

    work = in_turn(n_jobs, prefer="processes")(delayed(fold)(train, test) for train, test in folds)
    title = METHODS.get(treatment.name, treatment.name)
    for done, result in enumerate(work, 1):
        results.append(result)
        if progress is not None:
            progress(f"{title}: networks inside folds", done, len(folds))
    return results


def _alone(
    treatment: OwnNuisance,
    subjects: Sequence[Subject],
    folds: Sequence[tuple[Index, Index]],
    criterion: str,
    n_jobs: int | None,
    progress: Progress | None,
) -> list[FoldFeatures]:
    """Networks that no other subject has a part in, penalty included: the same in every fold."""
    rows = []
    work = in_turn(n_jobs, [subject.name for subject in subjects], prefer="processes")(
        delayed(_one_subject)(treatment, subject, criterion) for subject in subjects
    )
    for done, row in enumerate(work, 1):
        rows.append(row)
        if progress is not None:
            progress(f"{METHODS['pla-own']}: subjects", done, len(subjects))
    values = np.stack(rows)
    return [FoldFeatures(train, test, values, float("nan")) for train, test in folds]


def _one_subject(treatment: OwnNuisance, subject: Subject, criterion: str) -> Array:
    problem = treatment.problem(subject)
    path, score = subject_path(problem, penalty_grid([problem]), criterion)
    return np.asarray(path[int(np.argmin(score))], dtype=np.float64)


def _one_fold(
    treatment: Treatment, subjects: Sequence[Subject], train: Index, test: Index, criterion: str
) -> FoldFeatures:
    with single_threaded_blas():
        inside = [subjects[k] for k in train]
        learnt = treatment.learn(inside)
        problems = [learnt.problem(one) for one in subjects]
        alphas = penalty_grid([problems[k] for k in train])
        some = train[:: max(1, len(train) // PENALTY_SUBJECTS)]
        scores = [subject_path(problems[k], alphas, criterion)[1] for k in some]
        chosen = int(np.argmin(np.sum(scores, axis=0)))
        # The path up to the chosen penalty is a warm start; "bic" needs no held-out blocks.
        upto = alphas[: chosen + 1]
        values = np.stack([subject_path(problem, upto, "bic")[0][-1] for problem in problems])
    return FoldFeatures(train, test, values, float(alphas[chosen]))


def logistic_path(x: Array, y: Index, x_new: Array) -> Array:
    """Scores of new rows by L1-penalised logistic regression, along the path of its penalty.

    Columns are centred and divided by their common spread, learnt from ``x``. The penalties are fixed
    parts of the smallest one at which no column is used.

    Parameters
    ----------
    x : ndarray of shape (n, k)
    y : ndarray of shape (n,)
        0 or 1.
    x_new : ndarray of shape (n_new, k)

    Returns
    -------
    ndarray of shape (len(PATH), n_new)
    """
    centre = x.mean(axis=0)
    spread = x.std()
    if spread == 0.0:
        return np.zeros((len(PATH), len(x_new)))
    z, z_new = (x - centre) / spread, (x_new - centre) / spread
    largest = np.abs(z.T @ (y - y.mean())).max()
    if largest == 0.0:
        return np.zeros((len(PATH), len(x_new)))
    scores = np.empty((len(PATH), len(x_new)))
    slope, last = z.T @ (y.mean() - y), largest
    for step, part in enumerate(PATH):
        level = part * largest
        # Columns that may enter by the sequential strong rule; those it missed are added, which is rare.
        kept = np.abs(slope) >= 2.0 * level - last
        missed = kept
        while np.any(missed):
            kept |= missed
            model = LogisticRegression(
                C=1.0 / level,
                l1_ratio=1.0,
                solver="liblinear",
                max_iter=LOGISTIC_STEPS,
                intercept_scaling=10.0,
                random_state=0,
            )
            # Its checks of numbers that are known to be good take longer than the fit.
            with config_context(assume_finite=True, skip_parameter_validation=True):
                model.fit(z[:, kept], y)
            weights, constant = model.coef_[0], model.intercept_[0]
            slope = z.T @ (expit(z[:, kept] @ weights + constant) - y)
            missed = ~kept & (np.abs(slope) > SLACK * level)
        scores[step] = z_new[:, kept] @ weights + constant
        last = level
    return scores


def rank_aucs(y: Index, scores: Array) -> Array:
    """Area under the ROC curve of several scores, ties counted half.

    Parameters
    ----------
    y : ndarray of shape (n,)
        0 or 1, both present.
    scores : ndarray of shape (k, n)

    Returns
    -------
    ndarray of shape (k,)

    Examples
    --------
    >>> rank_aucs(np.array([0, 1, 1]), np.array([[0.1, 0.3, 0.2], [0.0, 0.0, 0.0]]))
    array([1. , 0.5])
    """
    ranks = stats.rankdata(scores, axis=1)
    positive = int(y.sum())
    excess = ranks[:, y == 1].sum(axis=1) - positive * (positive + 1) / 2
    return np.asarray(excess / (positive * (len(y) - positive)), dtype=np.float64)


def _features(values: Array, kind: str) -> Array:
    return np.sign(values) if kind == "signs" else values


def path_aucs(part: FoldFeatures, y: Index, kind: str) -> Array:
    """AUC of a fold's test subjects along the classifier's path: shape (L,)."""
    x = _features(part.values, kind)
    scores = logistic_path(x[part.train], y[part.train], x[part.test])
    return rank_aucs(y[part.test], scores)


def chosen_auc(part: FoldFeatures, y: Index, kind: str, seed: int) -> float:
    """AUC of a fold with the classifier's penalty chosen by folds of the training subjects."""
    x, inside = _features(part.values, kind), y[part.train]
    folds = min(INNER_FOLDS, int(np.bincount(inside).min()))
    step = len(PATH) // 2
    if folds >= 2:
        cut = StratifiedKFold(folds, shuffle=True, random_state=seed)
        total = np.zeros(len(PATH))
        for train, test in cut.split(x[part.train], inside):
            a, b = part.train[train], part.train[test]
            scores = logistic_path(x[a], y[a], x[b])
            total += rank_aucs(y[b], scores)
        step = int(np.argmax(total))
    scores = logistic_path(x[part.train], inside, x[part.test])
    return float(rank_aucs(y[part.test], scores)[step])


def repeated_interval(fold_auc: Array, test_share: float) -> tuple[Array, Array, Array]:
    """Mean over folds with Nadeau and Bengio's interval, which allows for overlapping training sets.

    Parameters
    ----------
    fold_auc : ndarray of shape (J, ...)
    test_share : float
        Test subjects for each training subject.

    Returns
    -------
    mean, low, high : ndarray of shape (...)
    """
    count = len(fold_auc)
    mean = fold_auc.mean(axis=0)
    variance = fold_auc.var(axis=0, ddof=1) * (1.0 / count + test_share)
    reach = stats.t.ppf(0.5 + LEVEL / 2.0, count - 1) * np.sqrt(variance)
    return mean, np.maximum(mean - reach, 0.0), np.minimum(mean + reach, 1.0)


def classify(
    method: str,
    features: Sequence[FoldFeatures],
    y: Index,
    *,
    kind: str,
    criterion: str,
    permutations: int = 0,
    seed: int = 0,
    store: Store | None = None,
    n_jobs: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Diagnosis:
    """Classify in every fold, with a band over folds and a permutation p-value.

    Parameters
    ----------
    method : str
    features : sequence of FoldFeatures
    y : ndarray of shape (S,)
        0 or 1.
    kind : {"values", "signs"}
        Whether the classifier sees strengths or only which edges there are.
    criterion : str
        By which the networks' penalty was chosen, for the record.
    permutations : int
        Labels are exchanged within the folds of the first repeat, so that training and test sets keep
        their composition; the networks, which never saw a label, stay as they are.
    seed : int
    store : Store, optional
        What is finished is kept there and taken from there.
    n_jobs : int, optional
    progress : callable, optional

    Returns
    -------
    Diagnosis
    """
    place = (
        "diagnoses",
        f"{method}-{kind}",
        digest(
            PATH,
            y,
            permutations,
            seed,
            *(part for one in features for part in (one.train, one.test, one.values)),
        ),
    )
    found = None if store is None else store.get(*place)
    if found is None:
        run = _quiet_run(n_jobs)
        both = run(delayed(_fold_aucs)(part, y, kind, seed) for part in features)
        paths = np.stack([pair[0] for pair in both])
        p_value = np.nan
        if permutations:
            repeat = _first_repeat(features, len(y))
            if progress is not None:
                progress(f"{METHODS.get(method, method)}: permutations", 0, permutations)
            observed = float(np.mean(paths[: len(repeat)]))
            rng = np.random.default_rng(seed)
            shuffled = [_permute_within(y, repeat, rng) for _ in range(permutations)]
            drawn = run(delayed(_mean_auc)(repeat, labels, kind) for labels in shuffled)
            as_good = np.count_nonzero(np.array(drawn) >= observed)
            p_value = (1 + as_good) / (1 + permutations)
        found = {
            "paths": paths,
            "chosen": np.array([pair[1] for pair in both]),
            "p_value": np.asarray(p_value),
        }
        if store is not None:
            store.put(place[0], place[1], place[2], **found)
    share = len(features[0].test) / len(features[0].train)
    mean, low, high = repeated_interval(found["paths"], share)
    chosen = found["chosen"]
    centre, below, above = repeated_interval(chosen, share)
    return Diagnosis(
        method,
        kind,
        criterion,
        mean,
        low,
        high,
        float(centre),
        float(below),
        float(above),
        float(found["p_value"]),
        chosen,
    )


def _quiet_run(n_jobs: int | None) -> Callable[[Any], list[Any]]:
    """Threads, without the classifier's warnings: ranks settle long before the last digits do."""

    def run(work: Any) -> list[Any]:
        # The filter belongs to the process, so it is set once and not in every thread.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return list(Parallel(n_jobs=n_jobs, prefer="threads")(work))

    return run


def _fold_aucs(part: FoldFeatures, y: Index, kind: str, seed: int) -> tuple[Array, float]:
    return path_aucs(part, y, kind), chosen_auc(part, y, kind, seed)


def _mean_auc(parts: Sequence[FoldFeatures], y: Index, kind: str) -> float:
    return float(np.mean([path_aucs(part, y, kind) for part in parts]))


def _first_repeat(features: Sequence[FoldFeatures], size: int) -> list[FoldFeatures]:
    """The folds that together test everybody once."""
    parts: list[FoldFeatures] = []
    for part in features:
        parts.append(part)
        if sum(len(one.test) for one in parts) == size:
            break
    return parts


def _permute_within(y: Index, parts: Sequence[FoldFeatures], rng: np.random.Generator) -> Index:
    out = y.copy()
    for part in parts:
        out[part.test] = rng.permutation(y[part.test])
    return out


def motion_auc(
    displacement: Array, y: Index, folds: Sequence[tuple[Index, Index]]
) -> tuple[float, float, float]:
    """How well mean framewise displacement alone classifies, in the same folds.

    The direction (who moves more) is learnt from the training subjects.

    Returns
    -------
    auc, low, high : float
    """
    found = []
    for train, test in folds:
        more = (
            displacement[train][y[train] == 1].mean() >= displacement[train][y[train] == 0].mean()
        )
        score = displacement[test] if more else -displacement[test]
        found.append(rank_aucs(y[test], score[None])[0])
    mean, low, high = repeated_interval(np.array(found), len(folds[0][1]) / len(folds[0][0]))
    return float(mean), float(low), float(high)
