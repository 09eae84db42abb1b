"""Classification of subjects into groups by their networks, judged on held-out subjects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from plaggm.array_types import Array, Index
from plaggm.fmri.classifiers import (
    CLASSIFIERS,
    FEATURES,
    VERSION,
    classifier_grid,
    fold_aucs,
    path_aucs,
    rank_aucs,
)
from plaggm.fmri.fold_networks import FoldFeatures, fold_features
from plaggm.fmri.permutations import Orders
from plaggm.fmri.study_means import auc_interval, study_interval
from plaggm.fmri.subjects import Progress, Subject
from plaggm.fmri.treatments import METHODS, Treatment
from plaggm.resume import Store, digest, versioned_key
from plaggm.selection.parallel import run_parallel

LEVEL = 0.95
# Permutations judge the mean AUC over every so many penalties of the path.
PERMUTED_STEPS = 10


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
        P-value of the mean AUC over the path under permutations of the labels within folds; NaN if none
        were made.
    by_aic : tuple of float
        AUC with its band where AIC on the training subjects chooses the classifier's penalty.
    parts : ndarray of shape (L,)
        The classifier's penalties, as parts of the largest.
    classifier : str
        Key in ``CLASSIFIERS``.
    with_motion : tuple of float, optional
        AUC with its band where mean displacement is one more feature; penalty by cross-validation.

    Examples
    --------
    >>> path = np.array([0.6, 0.7])
    >>> band = (path - 0.1, path + 0.1)
    >>> numbers = (0.7, 0.6, 0.8, 0.01)
    >>> found = Diagnosis(
    ...     "lr", "values", "aic", path, *band, *numbers, (0.7, 0.6, 0.8), np.array([1.0, 0.1])
    ... )
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
    by_aic: tuple[float, float, float]
    parts: Array = field(repr=False)
    classifier: str = "lasso"
    with_motion: tuple[float, float, float] | None = None

    @property
    def title(self) -> str:
        """The method in words."""
        return METHODS.get(self.method, self.method)


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
    classifier: str = "lasso",
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
    classifier : {"lasso", "elastic net"}
        Penalty of the logistic regression.
    permutations : int
        Labels are exchanged within the folds of the first repeat, so that training and test sets keep
        their composition; the networks, which never saw a label, stay as they are.
    seed : int
    blocks : sequence of S labels, optional
        Labels are exchanged within blocks only.
    store : Store, optional
        Store from which finished parts are read, and to which they are written.
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
    grid, mixing = classifier_grid(features[0]), CLASSIFIERS[classifier]
    extra = (("freed of", features[0].covariates), ("added", features[0].added))
    # A store keeps one piece of each name, and the same networks are classified in several ways.
    variant = digest(y, *(part for name, one in extra if one is not None for part in (name, one)))
    place = (
        "diagnoses",
        f"{method}-{kind}-{classifier.replace(' ', '-')}-{variant[:8]}",
        versioned_key(
            VERSION,
            grid,
            mixing,
            y,
            permutations,
            seed,
            *(part for one in features for part in (one.train, one.test, one.values)),
            *(part for name, one in extra if one is not None for part in (name, one)),
            *(() if blocks is None else ("blocks", list(map(str, blocks)))),
        ),
    )
    found = None if store is None else store.get(*place)
    if found is None:
        judge = partial(fold_aucs, y=y, kind=kind, parts=grid, mixing=mixing, seed=seed)
        judged = run_parallel(judge, features, n_jobs=n_jobs)
        p_value = np.nan
        if permutations:
            repeat = _first_repeat(features, len(y))
            if progress is not None:
                progress(f"{METHODS.get(method, method)}: permutations", 0, permutations)
            few = grid[PERMUTED_STEPS - 1 :: PERMUTED_STEPS]
            mean_auc = partial(_mean_auc, repeat, kind=kind, grid=few, mixing=mixing)
            observed = mean_auc(y)
            starts = np.random.default_rng(seed).integers(2**31, size=permutations)
            shuffled = [_permute_within(y, repeat, int(start), blocks) for start in starts]
            drawn = run_parallel(mean_auc, shuffled, n_jobs=n_jobs)
            as_good = np.count_nonzero(np.array(drawn) >= observed)
            p_value = (1 + as_good) / (1 + permutations)
        found = {
            "paths": np.stack([one.path for one in judged]),
            "by_cv": np.array([one.by_cv for one in judged]),
            "by_aic": np.array([one.by_aic for one in judged]),
            "p_value": np.asarray(p_value),
        }
        if store is not None:
            store.put(place[0], place[1], place[2], **found)
    share = len(features[0].test) / len(features[0].train)
    auc, low, high = map(float, repeated_interval(found["by_cv"], share))
    aic, aic_low, aic_high = map(float, repeated_interval(found["by_aic"], share))
    return Diagnosis(
        method,
        kind,
        criterion,
        *repeated_interval(found["paths"], share),
        auc,
        low,
        high,
        float(found["p_value"]),
        (aic, aic_low, aic_high),
        grid,
        classifier,
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
    displacement: Array | None = None,
    blocks: Sequence[object] | None = None,
    store: Store | None = None,
    settings: dict[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Diagnosis]:
    """Classify subjects by one treatment's networks: their strengths, then their signs.

    Parameters are those of :func:`plaggm.fmri.fold_features` and :func:`classify`; labels are permuted
    for the strengths alone. With ``covariates`` (S, k) features are freed of what is linear in them, by
    slopes of the training subjects; those that few of these have are not used. With ``displacement`` (S,)
    subjects are also classified with it as one more feature.
    """
    shared: dict[str, Any] = dict(
        criterion=criterion, store=store, n_jobs=n_jobs, progress=progress
    )
    features = fold_features(treatment, subjects, folds, settings=settings, **shared)
    if covariates is not None:
        features = [replace(part, covariates=covariates) for part in features]
    return [
        beside_motion(
            treatment.name,
            features,
            y,
            displacement,
            kind=kind,
            permutations=permutations if kind == "values" else 0,
            seed=seed,
            blocks=blocks,
            **shared,
        )
        for kind in FEATURES
    ]


def beside_motion(
    method: str,
    features: Sequence[FoldFeatures],
    y: Index,
    displacement: Array | None,
    *,
    permutations: int = 0,
    **settings: Any,
) -> Diagnosis:
    """Classify without and, where it is known, with mean displacement (S,) as an additional feature.

    Further parameters are those of :func:`classify`.
    """
    found = classify(method, features, y, permutations=permutations, **settings)
    if displacement is None:
        return found
    moving = [replace(part, added=displacement[:, None]) for part in features]
    other = classify(method, moving, y, **settings)
    return replace(found, with_motion=(other.auc, other.low, other.high))


def over_seeds(found: Sequence[Diagnosis]) -> Diagnosis:
    """The mean of the same diagnosis on several simulated studies, with intervals over these.

    A single study keeps its own intervals, over folds.
    """
    if len(found) == 1:
        return found[0]
    path, low, high = (np.asarray(part) for part in study_interval([one.path_auc for one in found]))
    moving = [one.with_motion[0] for one in found if one.with_motion is not None]
    auc, below, above = auc_interval([one.auc for one in found])
    return replace(
        found[0],
        path_auc=path,
        path_low=low,
        path_high=high,
        auc=auc,
        low=below,
        high=above,
        by_aic=auc_interval([one.by_aic[0] for one in found]),
        p_value=np.nan,
        with_motion=auc_interval(moving) if moving else None,
    )


def exchanged_labels(y: Index, features: Sequence[FoldFeatures], seed: int) -> Index:
    """Permuted labels: those of the subjects exchanged within the folds of one repeat."""
    return _permute_within(y, _first_repeat(features, len(y)), seed, None)


def _mean_auc(
    parts: Sequence[FoldFeatures], y: Index, kind: str, grid: Array, mixing: float
) -> float:
    return float(np.mean([path_aucs(part, y, kind, grid, mixing)[0] for part in parts]))


def _first_repeat(features: Sequence[FoldFeatures], size: int) -> list[FoldFeatures]:
    """The folds of the first repeat, which test every subject once."""
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
