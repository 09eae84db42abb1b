"""Folds, grids and selections from the parameters that estimators have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import GroupKFold, KFold, check_cv

from plaggm.arguments import real_array
from plaggm.array_types import Array, Index, Labels
from plaggm.parameter_types import Criterion, Fold, Folds, Seed, Subsample
from plaggm.selection.choice import GivenPenalty, InformationCriterion, Selection
from plaggm.selection.cross_validation import CrossValidation
from plaggm.selection.refit import RefittedSupport
from plaggm.selection.stability import Stars
from plaggm.wording import shown


@dataclass(frozen=True, slots=True)
class PenaltySpec:
    """Penalties of the edges and the choice among them; see :class:`plaggm.PLAGGMCV`.

    Attributes
    ----------
    alphas : int or ndarray
        Number of penalties on a grid, or the penalties.
    criterion : {"given", "cv", "aic", "bic", "ebic", "refit", "stars"}
        ``"given"`` takes the first penalty.
    cv, one_se, ebic_gamma, n_subsamples, subsample, instability, random_state
        See :class:`plaggm.PLAGGMCV`.
    """

    alphas: int | Array
    criterion: Criterion | Literal["given"]
    cv: Folds = 10
    one_se: bool = False
    ebic_gamma: float = 0.5
    n_subsamples: int = 20
    subsample: Subsample = "auto"
    instability: float = 0.05
    random_state: Seed = 0

    def folds(
        self, n: int, groups: Labels | None, runs: Index | None = None, *, always: bool = False
    ) -> list[Fold]:
        """Training and test rows for ``criterion="cv"``, or for any criterion if ``always``; else none."""
        if self.criterion != "cv" and not always:
            return []
        return make_folds(self.cv, n, self.random_state, groups, runs)


def penalty_spec(given: Mapping[str, Any]) -> PenaltySpec:
    """The parameters of an estimator that define the grid of penalties and the choice of one.

    Parameters
    ----------
    given : mapping
        Parameters by name, each of them valid. An ``alpha`` other than None is the only penalty.
    """
    if given.get("alpha") is not None:
        return PenaltySpec(np.array([float(given["alpha"])]), "given")
    alphas = given["alphas"]
    return PenaltySpec(
        int(alphas) if isinstance(alphas, Integral) else check_alphas(alphas),
        given["criterion"],
        given["cv"],
        bool(given["one_se"]),
        float(given["ebic_gamma"]),
        int(given["n_subsamples"]),
        given["subsample"],
        float(given["instability"]),
        given["random_state"],
    )


def make_selection(
    penalties: PenaltySpec,
    folds: Sequence[Fold] = (),
    *,
    sizes: Sequence[int] | None = None,
) -> Selection:
    """The selection that a specification asks for.

    Parameters
    ----------
    penalties : PenaltySpec
    folds : sequence of (train, test)
        Training and test rows of each fold, for ``criterion="cv"``.
    sizes : sequence of int, optional
        See :class:`plaggm.selection.CrossValidation`.
    """
    if penalties.criterion == "given":
        return GivenPenalty()
    if penalties.criterion == "cv":
        return CrossValidation(folds, penalties.one_se, sizes)
    if penalties.criterion == "stars":
        return Stars(
            penalties.n_subsamples,
            penalties.subsample,
            penalties.instability,
            penalties.random_state,
        )
    if penalties.criterion == "refit":
        return RefittedSupport()
    return InformationCriterion(penalties.criterion, penalties.ebic_gamma)


def make_folds(
    cv: Folds,
    n: int,
    random_state: Seed,
    groups: Labels | None = None,
    runs: Index | None = None,
) -> list[Fold]:
    """Training and test rows; an integer means that many folds.

    Test rows are drawn at random, or test groups if there are groups. For time series without groups they
    are contiguous rows, or whole runs if there are enough of them.
    """
    if isinstance(cv, Integral):
        n_folds = int(cv)
        units, of = (n, "n_samples") if groups is None else (len(set(groups)), "groups")
        if not 2 <= n_folds <= units:
            raise ValueError(f"cv must be between 2 and {of}={units} folds; got {n_folds}.")
        if groups is None and runs is not None:
            return _contiguous_folds(n_folds, runs)
        kind = KFold if groups is None else GroupKFold
        splitter = kind(n_folds, shuffle=True, random_state=random_state)
    elif isinstance(cv, Iterable) and not hasattr(cv, "get_n_splits"):
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


def _contiguous_folds(n_folds: int, runs: Index) -> list[Fold]:
    """Folds of contiguous test rows, of whole runs if there are as many as folds.

    Parameters
    ----------
    n_folds : int
    runs : ndarray of int of shape (n,)
        Number of every row's run, in order.
    """
    n, count = len(runs), int(runs[-1]) + 1
    middle = np.arange(n) + 0.5
    if count >= n_folds:
        # A run belongs to the fold in which its middle lies, unless a fold would then be empty.
        sizes = np.bincount(runs)
        fold = np.floor((np.cumsum(sizes) - 0.5 * sizes) * n_folds / n).astype(np.intp)
        if len(np.unique(fold)) < n_folds:
            fold = np.arange(count) * n_folds // count
        fold = fold[runs]
    else:
        fold = np.floor(middle * n_folds / n).astype(np.intp)
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]


def _given_folds(cv: Iterable[Fold], n: int) -> list[Fold]:
    """Check folds that were given as pairs of row numbers."""
    folds = []
    # An array without axes has an iterator that raises an error.
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


def check_alphas(alphas: ArrayLike) -> Array:
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
