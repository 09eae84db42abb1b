"""Random rearrangements of the confounders of grouped rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from plaggm.array_types import Array, Index, Mask


def constant_within(confounder: Array, groups: Index) -> Mask:
    """Which confounders are constant within every group, such as the age of a subject: shape (m,).

    Parameters
    ----------
    confounder : ndarray of shape (n, m)
    groups : ndarray of int of shape (n,)
        Number of every row's group.

    Examples
    --------
    >>> constant_within(np.array([[1.0, 5.0], [1.0, 6.0], [2.0, 7.0]]), np.array([0, 0, 1]))
    array([ True, False])
    """
    first = _first_rows(groups)
    return np.asarray(np.all(confounder == confounder[first[groups]], axis=0))


def rearranged_groups(
    confounder: Array, groups: Index, orders: Iterator[Index], seed: int
) -> Iterator[Array]:
    """Rearranged confounders: those constant within groups are permuted between groups, others within.

    Parameters
    ----------
    confounder : ndarray of shape (n, m)
    groups : ndarray of int of shape (n,)
        Number of every row's group.
    orders : iterator of ndarray of int of shape (n,)
        Row from which each row gets the confounders that vary within groups.
    seed : int
        Seed of the permutations of groups.

    Yields
    ------
    ndarray of shape (n, m)
    """
    draw = np.random.default_rng(seed)
    first, whole = _first_rows(groups), constant_within(confounder, groups)
    of_groups = confounder[first][:, whole]
    while True:
        moved = confounder[next(orders)]
        moved[:, whole] = of_groups[draw.permutation(len(first))][groups]
        yield moved


def runs_as_groups(confounder: Array, runs: Index) -> Index | None:
    """Groups of runs between which confounders that are constant within runs can be permuted.

    Runs with the same values form one group, since they may belong to the same subject. If there are less
    than half as many groups as runs, as with a subject's sex or site, every run is a group.

    Parameters
    ----------
    confounder : ndarray of shape (n, m)
    runs : ndarray of int of shape (n,)
        Number of every row's run, in order.

    Returns
    -------
    ndarray of int of shape (n,), or None if no confounder is constant within runs or there is one group

    Examples
    --------
    >>> runs_as_groups(np.array([[30.0], [30.0], [41.0], [30.0]]), np.array([0, 0, 1, 2]))
    array([0, 0, 1, 0])
    """
    whole = constant_within(confounder, runs)
    if not whole.any():
        return None
    of_runs = confounder[_first_rows(runs)][:, whole]
    groups = np.unique(of_runs, axis=0, return_inverse=True)[1].reshape(-1)
    if groups.max() == 0:
        return None
    return runs if 2 * (groups.max() + 1) < len(of_runs) else np.asarray(groups[runs])


def orders_within(groups: Index, seed: int) -> Iterator[Index]:
    """Random orders of rows within their groups.

    Parameters
    ----------
    groups : ndarray of int of shape (n,)
        Number of every row's group.
    seed : int
    """
    draw = np.random.default_rng(seed)
    stood = np.argsort(groups, kind="stable")
    while True:
        mixed = np.lexsort((draw.random(len(groups)), groups))
        order = np.empty(len(groups), dtype=np.intp)
        order[stood] = mixed
        yield order


def _first_rows(groups: Index) -> Index:
    """First row of every group, by the group's number."""
    return np.unique(groups, return_index=True)[1]
