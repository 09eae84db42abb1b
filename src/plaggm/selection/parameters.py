"""Folds, grids and selections from the parameters that estimators have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, check_cv

from plaggm.arguments import real_array
from plaggm.selection.choice import InformationCriterion, Selection
from plaggm.selection.cross_validation import CrossValidation
from plaggm.selection.parts import Fold
from plaggm.selection.refit import RefittedSupport
from plaggm.selection.stability import Stars
from plaggm.wording import shown

Array = NDArray[np.float64]

# Penalties that a grid may have; memory would end sooner.
MOST_PENALTIES = 100_000


def make_selection(
    estimator: Any, folds: Sequence[Fold] = (), *, sizes: Sequence[int] | None = None
) -> Selection:
    """The selection that an estimator's parameters ask for.

    Parameters
    ----------
    estimator : object
        With the parameters ``criterion``, ``one_se``, ``ebic_gamma``, ``n_subsamples``, ``subsample``,
        ``instability`` and ``random_state``.
    folds : sequence of (train, test)
        For ``criterion="cv"``.
    sizes : sequence of int, optional
        See :class:`plaggm.selection.CrossValidation`.

    Returns
    -------
    Selection
    """
    if estimator.criterion == "cv":
        return CrossValidation(folds, bool(estimator.one_se), sizes)
    if estimator.criterion == "stars":
        return Stars(
            int(estimator.n_subsamples),
            estimator.subsample,
            float(estimator.instability),
            estimator.random_state,
        )
    if estimator.criterion == "refit":
        return RefittedSupport()
    return InformationCriterion(estimator.criterion, float(estimator.ebic_gamma))


def make_folds(cv: Any, n: int, random_state: Any, groups: Any = None) -> list[Fold]:
    """Training and test rows; an integer means that many random folds, of groups where there are some."""
    if isinstance(cv, Integral):
        n_folds = int(cv)
        units, of = (n, "n_samples") if groups is None else (len(set(groups)), "groups")
        if not 2 <= n_folds <= units:
            raise ValueError(f"cv must be between 2 and {of}={units} folds; got {n_folds}.")
        kind = KFold if groups is None else GroupKFold
        splitter = kind(n_folds, shuffle=True, random_state=random_state)
    elif isinstance(cv, Iterable) and not hasattr(cv, "split"):
        return _given_folds(cv, n)
    else:
        splitter = check_cv(cv)
    try:
        return [(train, test) for train, test in splitter.split(np.empty((n, 1)), groups=groups)]
    except ValueError as error:
        if groups is None and "groups" in str(error):
            raise ValueError(
                f"cv={cv!r} divides groups of rows, and there are none. Pass groups= to fit, one value for "
                "each row, or use cv without groups, for example cv=10."
            ) from error
        raise


def _given_folds(cv: Iterable[Any], n: int) -> list[Fold]:
    """Check folds that a user wrote down."""
    folds = []
    # An array without axes says that it can be iterated over, and cannot.
    for number, fold in enumerate([cv] if getattr(cv, "shape", None) == () else cv):
        try:
            train, test = (np.asarray(rows) for rows in fold)
            good = all(
                rows.ndim == 1
                and rows.size
                and rows.dtype.kind in "iu"
                and rows.min() >= 0
                and rows.max() < n
                for rows in (train, test)
            )
        except (TypeError, ValueError):
            good = False
        if not good:
            raise ValueError(
                "cv must be a number of folds, a splitter of scikit-learn, or a list of pairs of training "
                f"and test rows, numbers from 0 to {n - 1}; fold {number} is {shown(fold)}."
            )
        folds.append((train, test))
    if not folds:
        raise ValueError("cv is an empty list of folds; at least one is needed.")
    return folds


def check_alphas(alphas: Any) -> Array:
    """A grid of penalties: positive or zero, finite and decreasing.

    Examples
    --------
    >>> check_alphas([0.2, 0.1])
    array([0.2, 0.1])
    """
    values = real_array(alphas, "alphas")
    if values.ndim != 1 or not len(values) or not np.all(np.isfinite(values) & (values >= 0.0)):
        raise ValueError(
            f"alphas must be a list of finite penalties of zero or more; got {alphas!r}."
        )
    if np.any(np.diff(values) >= 0.0):
        raise ValueError(
            "alphas must be strictly decreasing, since every fit starts from the one before; got "
            f"{alphas!r}. Sort them: sorted(alphas, reverse=True)."
        )
    return values
