"""Can the networks tell the groups apart? Classification of subjects that were not trained on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from plaggm.array_types import Array, Index
from plaggm.core.logistic_lasso import TOL, logistic_lasso
from plaggm.fmri.covariates import residuals
from plaggm.fmri.fold_networks import FoldFeatures, fold_features
from plaggm.fmri.permutations import Orders
from plaggm.fmri.subjects import Progress, Subject
from plaggm.fmri.treatments import METHODS, Treatment
from plaggm.resume import Store, digest
from plaggm.selection.parallel import run_parallel

FEATURES = ("values", "signs")
# Strengths of the classifier's L1 penalty, strongest first: glmnet's lambda as a part of the largest.
PATH = np.geomspace(0.9, 0.05, 8)
INNER_FOLDS = 5
LEVEL = 0.95
# Part of the keys under which classifications are stored: another classifier, another result.
CLASSIFIER = "logistic lasso by proximal Newton"


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
        AUC and its band, with the classifier's penalty chosen by cross-validation inside the training
        subjects.
    p_value : float
        P-value of the mean of ``path_auc`` under permutations of the labels within folds; NaN if none
        were made.

    Examples
    --------
    >>> path = np.array([0.6, 0.7])
    >>> found = Diagnosis("lr", "values", "aic", path, path - 0.1, path + 0.1, 0.7, 0.6, 0.8, 0.01)
    >>> found.low <= found.auc <= found.high
    True
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

    @property
    def title(self) -> str:
        """The method in words."""
        return METHODS.get(self.method, self.method)


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
    path = logistic_lasso((x - centre) / spread, y, PATH)
    if path.violation > TOL:
        warnings.warn(
            "The logistic regression of the diagnosis did not converge: its optimality conditions are "
            f"violated by {path.violation:.1g} of the largest penalty ({TOL:g} is allowed).",
            ConvergenceWarning,
            stacklevel=2,
        )
    return path.weights @ ((x_new - centre) / spread).T + path.intercepts[:, None]


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


def _features(part: FoldFeatures, kind: str) -> Array:
    """What the classifier sees of everybody, without what is linear in covariates: shape (S, pairs)."""
    found = np.sign(part.values) if kind == "signs" else part.values
    if part.covariates is None:
        return found
    return residuals(found, part.covariates, part.train)


def path_aucs(part: FoldFeatures, y: Index, kind: str) -> Array:
    """AUC of a fold's test subjects along the classifier's path: shape (L,)."""
    x = _features(part, kind)
    scores = logistic_path(x[part.train], y[part.train], x[part.test])
    return rank_aucs(y[part.test], scores)


def chosen_auc(part: FoldFeatures, y: Index, kind: str, seed: int) -> float:
    """AUC of a fold with the classifier's penalty chosen by folds of the training subjects."""
    x, inside = _features(part, kind), y[part.train]
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
    blocks: Sequence[object] | None = None,
    store: Store | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
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
        Criterion by which the networks' penalty was chosen, for the record.
    permutations : int
        Labels are exchanged within the folds of the first repeat, so that training and test sets keep
        their composition; the networks, which never saw a label, stay as they are.
    seed : int
    blocks : sequence of S labels, optional
        Labels are exchanged within blocks only.
    store : Store, optional
        What is finished is kept there and taken from there.
    n_jobs : int, optional
    progress : callable, optional

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> from plaggm.fmri.fold_networks import FoldFeatures, splits
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 15)
    >>> values = rng.standard_normal((30, 3)) + 2.0 * y[:, None]
    >>> features = [FoldFeatures(train, test, values, 0.1) for train, test in splits(y, 1, seed=0)]
    >>> found = classify("lr", features, y, kind="values", criterion="aic")
    >>> found.auc > 0.9
    True
    """
    place = (
        "diagnoses",
        f"{method}-{kind}",
        digest(
            CLASSIFIER,
            PATH,
            y,
            permutations,
            seed,
            *(part for one in features for part in (one.train, one.test, one.values)),
            *(() if features[0].covariates is None else (features[0].covariates,)),
            *(() if blocks is None else ("blocks", list(map(str, blocks)))),
        ),
    )
    found = None if store is None else store.get(*place)
    if found is None:
        both = run_parallel(partial(_fold_aucs, y=y, kind=kind, seed=seed), features, n_jobs=n_jobs)
        paths = np.stack([pair[0] for pair in both])
        p_value = np.nan
        if permutations:
            repeat = _first_repeat(features, len(y))
            if progress is not None:
                progress(f"{METHODS.get(method, method)}: permutations", 0, permutations)
            observed = float(np.mean(paths[: len(repeat)]))
            starts = np.random.default_rng(seed).integers(2**31, size=permutations)
            shuffled = [_permute_within(y, repeat, int(start), blocks) for start in starts]
            drawn = run_parallel(partial(_mean_auc, repeat, kind=kind), shuffled, n_jobs=n_jobs)
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
    centre, below, above = repeated_interval(found["chosen"], share)
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
    )


def diagnose(
    treatment: Treatment,
    subjects: Sequence[Subject],
    y: Index,
    folds: Sequence[tuple[Index, Index]],
    *,
    criterion: str,
    permutations: int,
    seed: int,
    covariates: Array | None = None,
    blocks: Sequence[object] | None = None,
    store: Store | None = None,
    settings: dict[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Diagnosis]:
    """Classify subjects by one treatment's networks: their strengths, then their signs.

    Parameters are those of :func:`plaggm.fmri.fold_features` and :func:`classify`; labels are permuted
    for the strengths alone. With ``covariates`` (S, k) features are freed of what is linear in them, by
    slopes of the training subjects.
    """
    shared: dict[str, Any] = dict(
        criterion=criterion, store=store, n_jobs=n_jobs, progress=progress
    )
    features = fold_features(treatment, subjects, folds, settings=settings, **shared)
    if covariates is not None:
        features = [replace(part, covariates=covariates) for part in features]
    return [
        classify(
            treatment.name,
            features,
            y,
            kind=kind,
            permutations=permutations if kind == "values" else 0,
            seed=seed,
            blocks=blocks,
            **shared,
        )
        for kind in FEATURES
    ]


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


def _permute_within(
    y: Index, parts: Sequence[FoldFeatures], seed: int, blocks: Sequence[object] | None
) -> Index:
    out = y.copy()
    for part in parts:
        inside = None if blocks is None else [blocks[k] for k in part.test]
        order = next(iter(Orders(len(part.test), 1, seed, inside)))[0]
        out[part.test] = y[part.test][order]
        seed += 1
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
