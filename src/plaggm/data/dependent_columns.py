"""Checks of variables that follow from other variables or from a confounder."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.preparation.dependence import EXACT, dependent_given, find_dependence
from plaggm.user_warnings import warn_user
from plaggm.wording import listed


class DependenceWarning(UserWarning):
    """Variables are nearly collinear, so that their partial correlations are poorly determined."""


def check_dependence(
    correlation: Array,
    n: int,
    names: tuple[str, ...],
    *,
    when: str = "",
    warn: bool = True,
    ridge: float | None = None,
) -> None:
    """Raise for exactly dependent columns, and warn of nearly dependent ones.

    Parameters
    ----------
    correlation : ndarray of shape (p, p)
    n : int
        Rows from which it was estimated. If there are no more rows than columns, every column depends on
        the others, which is no problem under a penalty: only pairs are then compared.
    names : tuple of str
    when : str
        Description of preceding transformations, for the message.
    warn : bool
        Whether to warn of nearly dependent columns.
    ridge : float, optional
        Ridge of the estimator; if positive, exactly dependent columns are only warned of.

    Examples
    --------
    >>> from plaggm.core.preparation.dependence import correlations
    >>> x = np.random.default_rng(0).standard_normal((50, 2))
    >>> shares = np.column_stack([x, 1.0 - x.sum(axis=1)])
    >>> check_dependence(correlations(shares), 50, ("bread", "meat", "rest"))
    Traceback (most recent call last):
    ...
    ValueError: X has linearly dependent columns: 'bread', 'meat', 'rest'...
    """
    found = find_dependence(correlation, n)
    if found is None or not (found.exact or warn):
        return
    columns = listed(repr(names[j]) for j in found.columns)
    pairs = listed(
        f"{names[k]!r} and {names[j]!r}" + ("" if found.exact else f" (r = {r:.6g})")
        for j, k, r in found.pairs
    )
    if not found.exact:
        what = f"hardly differ: {pairs}" if pairs else f"nearly follow from others: {columns}"
        message = (
            f"X has columns that{when} {what}. Of one of them only {found.left:.2g} of the variance is its "
            "own, and its partial correlations describe no more than that. Keep one of them, or their mean."
        )
    else:
        what = (
            f"duplicate columns{when}: {pairs} are the same but for unit and origin"
            if pairs
            else f"linearly dependent columns{when}: {columns}. Each follows exactly from the others, as "
            "do totals, shares that add up to one and a column for every level of a category"
        )
        message = (
            f"X has {what}. Their partial correlations are not defined; keep one fewer of them."
        )
        if not ridge:
            raise ValueError(message + ("" if ridge is None else " Or set ridge > 0."))
        message += " The ridge and the penalty share them out."
    warn_user(message, DependenceWarning)


def refuse_confounder_among(
    correlation: Array, names: tuple[str, ...], confounder_names: tuple[str, ...]
) -> None:
    """Raise for a variable that is a confounder, up to unit and origin.

    Parameters
    ----------
    correlation : ndarray of shape (p, m)
        Correlations of the variables with the confounders.
    names : tuple of str
    confounder_names : tuple of str

    Examples
    --------
    >>> from plaggm.core.preparation.dependence import correlations
    >>> x = np.random.default_rng(0).standard_normal((50, 2))
    >>> together = correlations(x, 2.0 * x[:, 1:])
    >>> refuse_confounder_among(together[:2, 2:], ("a", "age"), ("months",))
    Traceback (most recent call last):
    ...
    ValueError: X has the confounder among its columns: 'age' is 'months'...
    """
    same = np.argwhere(np.abs(correlation) > 1.0 - EXACT)
    if len(same):
        pairs = listed(f"{names[j]!r} is {confounder_names[k]!r}" for j, k in same)
        raise ValueError(
            f"X has the confounder among its columns: {pairs}, perhaps in other units. What is taken out "
            "cannot be a variable of the network: drop the column from X."
        )


def check_dependence_given(
    correlation: Array,
    n: int,
    names: tuple[str, ...],
    confounder_names: tuple[str, ...],
    *,
    ridge: float | None = None,
) -> None:
    """Raise for variables that follow exactly from others and the confounders together.

    Given the confounders such variables are linearly dependent, as education and experience are given age.

    Parameters
    ----------
    correlation : ndarray of shape (p + m, p + m)
        Of the variables, then of the confounders.
    n : int
    names, confounder_names : tuple of str
    ridge : float, optional
        See :func:`check_dependence`.

    Examples
    --------
    >>> from plaggm.core.preparation.dependence import correlations
    >>> x = np.random.default_rng(0).standard_normal((50, 3))
    >>> together = correlations(x, x[:, :1] + x[:, 1:2])
    >>> check_dependence_given(together, 50, ("education", "experience", "wage"), ("age",))
    Traceback (most recent call last):
    ...
    ValueError: X has columns that follow from each other given 'age': 'education', 'experience'...
    """
    involved = dependent_given(correlation, n, len(names))
    if not involved:
        return
    message = (
        f"X has columns that follow from each other given {listed(map(repr, confounder_names))}: "
        f"{listed(repr(names[j]) for j in involved)}, as education and experience do given age. "
        "Their partial correlations are not defined; keep one fewer of them."
    )
    if not ridge:
        raise ValueError(message + ("" if ridge is None else " Or set ridge > 0."))
    warn_user(message + " The ridge and the penalty share them out.", DependenceWarning)


def check_partial_correlations(omega: Array, names: tuple[str, ...]) -> None:
    """Warn of estimates beyond one in absolute value, which are impossible for Gaussian variables.

    Parameters
    ----------
    omega : ndarray of shape (p, p)
        The diagonal is ignored.
    names : tuple of str
    """
    first, second = np.nonzero(np.triu(np.abs(omega) > 1.0, 1))
    if not len(first):
        return
    size = omega[first, second]
    pairs = listed(
        f"{names[first[k]]!r} and {names[second[k]]!r} ({size[k]:.3g})"
        for k in np.argsort(-np.abs(size), kind="stable")
    )
    warn_user(
        f"The estimate of {len(first)} pair(s) is beyond one, as no partial correlation can be: {pairs}. "
        "omega_ is as estimated; partial correlations, precision matrix and edges hold them at one. Such "
        "estimates come from variables that determine each other, from few samples or from symmetry='or': "
        "use fewer variables, a larger penalty or symmetry='joint'.",
        DependenceWarning,
    )
