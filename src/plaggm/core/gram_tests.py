"""Tests of every pair by least squares on node Gram matrices.

Every way to remove the nuisance delivers, for each node, the Gram matrix of its transformed columns. Least
squares on the transformed rows gives the textbook t test of each coefficient, with the degrees of freedom
that the smoother spent taken off. With one Gram matrix for all nodes (of pooled samples, of those below the
threshold or of residuals) this is exactly the t test of a partial correlation.

Where rows of a group, or of a contiguous block of a time series, depend on each other, variances come from
leaving out one group of transformed rows at a time (`plaggm.core.cluster_jackknife`). The transformation
stays that of all rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.node_grams import CentredGrams, GramMatrices, NodeGrams, profile_intercepts
from plaggm.core.node_regressions import symmetric_inverse
from plaggm.core.pair_statistics import EdgeTests, both, mixture_tests, pair_variances

ONE_GROUP = (
    "Rows that all belong to one group cannot show how groups differ. Test without groups, or give every "
    "row the group (subject, batch) that it belongs to."
)


def least_squares_tests(
    node_grams: GramMatrices, groups: Iterable[GramMatrices] | None = None
) -> EdgeTests:
    """Test every pair by the least-squares regressions of its two nodes.

    Parameters
    ----------
    node_grams : GramMatrices
        Gram matrices in any units. What the confounders took of the samples' degrees of freedom is its
        ``smoother_trace``.
    groups : iterable of NodeGrams, optional
        Gram matrices of the transformed rows of every group, in the same units, where rows of a group
        depend on each other; together they hold all rows. Rows are independent where absent.

    Returns
    -------
    EdgeTests

    Raises
    ------
    ValueError
        Where a node's regression has no degrees of freedom left, and with a single group.

    Examples
    --------
    >>> from plaggm.core.profile.pooled import profile_pooled
    >>> z = np.random.default_rng(0).standard_normal((50, 3))
    >>> tests = least_squares_tests(profile_pooled(np.column_stack([z, np.ones(50)])))
    >>> tests.p_value.round(3)
    array([0.434, 0.192, 0.59 ])
    """
    n, p = node_grams.n, node_grams.p
    left = n - p - node_grams.smoother_trace
    if np.min(left) <= 0.0:
        raise ValueError(
            f"Least squares has no degrees of freedom left: {n} samples, {p} coefficients of a node's "
            f"regression and {np.max(node_grams.smoother_trace):.1f} spent on the confounder. Use more "
            "samples, or fewer variables."
        )
    found = _regressions(node_grams)
    noise = n / (found.own * left)
    units = np.sqrt(noise[None, :] / noise[:, None])
    estimate = both(found.coefficients * units)
    variance = pair_variances(found.spread * noise[:, None] / n, units)
    degrees, method = float(np.mean(left)), "least squares"
    if groups is not None:
        without = []
        for group in groups:
            if group.n == n:
                raise ValueError(ONE_GROUP)
            rest = _regressions(_rest(node_grams, group))
            without.append(both(rest.coefficients * units))
        variance = (len(without) - 1.0) * np.var(without, axis=0)
        degrees, method = len(without) - 1.0, f"{method}, cluster jackknife"
    return mixture_tests(
        estimate[None],
        variance[None],
        np.ones(1),
        p,
        degrees=degrees,
        method=method,
        wide=groups is not None,
    )


@dataclass(frozen=True, slots=True)
class _Regressions:
    """Least squares of every node on the others.

    Attributes
    ----------
    coefficients : ndarray of shape (p, p)
        Row j is node j's regression; zero on the diagonal.
    spread : ndarray of shape (p, p)
        Diagonals of the inverse Gram matrices without the node's own column; zero on the diagonal.
    own : ndarray of shape (p,)
        Inverse mean squares of the residuals.
    """

    coefficients: Array
    spread: Array
    own: Array


def _regressions(node_grams: GramMatrices) -> _Regressions:
    p = node_grams.p
    centred = profile_intercepts(node_grams)
    nodes = np.arange(p)
    row, diagonal = np.empty((p, p)), np.empty((p, p))
    shared = isinstance(centred, CentredGrams) and len(centred.grams) == 1
    for j in range(1 if shared else p):
        precision = symmetric_inverse(centred.node(j))
        which = slice(None) if shared else slice(j, j + 1)
        row[which], diagonal[which] = precision[which], np.diagonal(precision)
    own = row[nodes, nodes]
    coefficients = -row / own[:, None]
    # The diagonal of the inverse of the Gram matrix without the node's own column.
    spread = diagonal - row**2 / own[:, None]
    coefficients[nodes, nodes] = spread[nodes, nodes] = 0.0
    return _Regressions(coefficients, spread, own)


def _rest(whole: GramMatrices, group: GramMatrices) -> GramMatrices:
    """The Gram matrices of all rows but those of a group."""
    assert isinstance(whole, NodeGrams)
    assert isinstance(group, NodeGrams)
    rest = whole.n - group.n
    grams = (whole.n * whole.grams - group.n * group.grams) / rest
    return NodeGrams(grams, rest, whole.smoother_trace)
