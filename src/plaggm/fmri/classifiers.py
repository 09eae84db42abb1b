"""Classifiers of subjects: penalised logistic regression on the features of one fold."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from plaggm.array_types import Array, Index
from plaggm.core.lasso.logistic_lasso import glmnet_parts, logistic_lasso, path_aic
from plaggm.fmri.covariates import freed_features
from plaggm.fmri.fold_networks import FoldFeatures

# Part of the penalty that is the lasso's; the rest is a ridge.
CLASSIFIERS = {"lasso": 1.0, "elastic net": 0.5}
FEATURES = ("values", "signs")
INNER_FOLDS = 5
# Accuracy of the classifier's optimum, and the violation of its conditions that causes a warning. Ranks of
# subjects need no more; where few subjects can be separated the smallest penalties do not reach the former.
TOL, WARNED = 1e-5, 1e-3
# Fraction of the largest feature below which features do not differ between subjects, and covariance of
# standardised features with the labels below which they are unrelated.
ROUNDING = 1e-10
# Part of the deviance at which glmnet ends its path.
MOST_EXPLAINED = 0.999
# Part of the keys under which classifications are stored: another classifier, another result.
VERSION = "glmnet's grid"


@dataclass(frozen=True, slots=True, eq=False)
class FoldAucs:
    """AUC of a fold's test subjects.

    Attributes
    ----------
    path : ndarray of shape (L,)
        At every penalty of the classifier.
    by_cv : float
        At the penalty that folds of the training subjects choose, by their AUC.
    by_aic : float
        At the penalty that AIC chooses on the training subjects.
    """

    path: Array = field(repr=False)
    by_cv: float
    by_aic: float


def classifier_grid(features: FoldFeatures) -> Array:
    """Penalties of the classifier as parts of the largest, glmnet's for the training subjects."""
    return glmnet_parts(len(features.train), features.values.shape[1])


def logistic_path(
    x: Array, y: Index, x_new: Array, parts: Array, mixing: float = 1.0
) -> tuple[Array, Array]:
    """Scores of new rows by penalised logistic regression, along the path of its penalty.

    Columns are centred and divided by their common spread, learnt from ``x``. Scores are zero where all
    rows are the same, and where no column is related to ``y``, as after regression on a covariate that is
    the group itself.

    Parameters
    ----------
    x : ndarray of shape (n, k)
    y : ndarray of shape (n,)
        0 or 1.
    x_new : ndarray of shape (n_new, k)
    parts : ndarray of shape (L,)
        Decreasing penalties, as parts of the smallest one at which no column is used.
    mixing : float
        Part of the penalty that is the lasso's.

    Returns
    -------
    scores : ndarray of shape (L, n_new)
    aic : ndarray of shape (L,)
        Akaike's criterion of the rows that were learnt from.
    """
    centre = x.mean(axis=0)
    spread = x.std()
    if np.abs(x - centre).max() <= ROUNDING * np.abs(x).max():
        return np.zeros((len(parts), len(x_new))), np.zeros(len(parts))
    scaled = (x - centre) / spread
    if np.abs(scaled.T @ (y - y.mean())).max() <= ROUNDING * len(y):
        return np.zeros((len(parts), len(x_new))), np.zeros(len(parts))
    path = logistic_lasso(scaled, y, parts, mixing, TOL, MOST_EXPLAINED)
    if path.violation > WARNED:
        warnings.warn(
            "The logistic regression of the diagnosis did not converge: its optimality conditions are "
            f"violated by {path.violation:.1g} of the largest penalty ({WARNED:g} is allowed).",
            ConvergenceWarning,
            stacklevel=2,
        )
    scores = path.weights @ ((x_new - centre) / spread).T + path.intercepts[:, None]
    return scores, path_aic(scaled, y, path)


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


def seen_features(part: FoldFeatures, kind: str) -> Array:
    """Features of every subject for the classifier: shape (S, pairs), or more with added columns.

    Features are freed of what is linear in covariates; columns that are added come in the mean unit of the
    others.
    """
    found = np.sign(part.values) if kind == "signs" else part.values
    if part.covariates is not None:
        found = freed_features(found, part.covariates, part.train)
    if part.added is None:
        return found
    inside = part.added[part.train]
    scale = found[part.train].std() / np.where(inside.std(axis=0) > 0.0, inside.std(axis=0), 1.0)
    return np.column_stack([found, (part.added - inside.mean(axis=0)) * scale])


def path_aucs(
    part: FoldFeatures, y: Index, kind: str, parts: Array, mixing: float = 1.0
) -> tuple[Array, Array]:
    """AUC of a fold's test subjects along the classifier's path, and AIC: both of shape (L,)."""
    x = seen_features(part, kind)
    scores, aic = logistic_path(x[part.train], y[part.train], x[part.test], parts, mixing)
    return rank_aucs(y[part.test], scores), aic


def fold_aucs(
    part: FoldFeatures, y: Index, kind: str, parts: Array, mixing: float, seed: int
) -> FoldAucs:
    """AUC of a fold along the path, and with the penalty chosen on the training subjects.

    Parameters
    ----------
    part : FoldFeatures
    y : ndarray of shape (S,)
    kind : {"values", "signs"}
    parts : ndarray of shape (L,)
    mixing : float
    seed : int
        Seed of the folds of the training subjects.
    """
    found, aic = path_aucs(part, y, kind, parts, mixing)
    x, inside = seen_features(part, kind), y[part.train]
    folds = min(INNER_FOLDS, int(np.bincount(inside).min()))
    step = len(parts) // 2
    if folds >= 2:
        cut = StratifiedKFold(folds, shuffle=True, random_state=seed)
        total = np.zeros(len(parts))
        for train, test in cut.split(x[part.train], inside):
            a, b = part.train[train], part.train[test]
            total += rank_aucs(y[b], logistic_path(x[a], y[a], x[b], parts, mixing)[0])
        step = int(np.argmax(total))
    return FoldAucs(found, float(found[step]), float(found[int(np.argmin(aic))]))
