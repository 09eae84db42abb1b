"""Tests of every pair by least squares on node Gram matrices.

Least squares on the transformed rows of a node gives the textbook t test of each coefficient, with the
degrees of freedom reduced by those of the smoother. With one Gram matrix for all nodes (of pooled samples,
of those below the threshold or of residuals) this is exactly the t test of a partial correlation.

For rows in groups, or in contiguous blocks of a time series, variances come from leaving out one group of
transformed rows at a time; the transformation remains that of all rows. Heavy tails are accounted for as in
`plaggm.core.inference.cluster_jackknife`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.grams.node_grams import CentredGrams, GramMatrices, NodeGrams, profile_intercepts
from plaggm.core.inference.cluster_jackknife import Dispersion, clear_dispersion
from plaggm.core.inference.pair_statistics import (
    EdgeTests,
    both,
    jackknife_variance,
    mixture_tests,
    pair_variances,
)
from plaggm.core.numerics.symmetric_inverse import symmetric_inverse

ONE_GROUP = (
    "Rows that all belong to one group cannot show how groups differ. Test without groups, or give every "
    "row the group (subject, batch) that it belongs to."
)


def least_squares_tests(
    node_grams: GramMatrices,
    groups: Iterable[GramMatrices] | None = None,
    blocks: Callable[[], Iterable[GramMatrices]] | None = None,
) -> EdgeTests:
    """Test every pair by the least-squares regressions of its two nodes.

    Parameters
    ----------
    node_grams : GramMatrices
        Gram matrices in any units; ``smoother_trace`` is subtracted from the degrees of freedom.
    groups : iterable of NodeGrams, optional
        Gram matrices of the transformed rows of every group, in the same units, where rows of a group
        depend on each other. If absent, rows are independent.
    blocks : callable, optional
        Gives the Gram matrices of the transformed rows of disjoint blocks of all rows, in the same units;
        called again if there are heavy tails. Not used with groups.

    Returns
    -------
    EdgeTests

    Raises
    ------
    ValueError
        If a node's regression has no degrees of freedom left, and with a single group.

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
    degrees, dispersion, method = float(np.mean(left)), 1.0, "least squares"
    if groups is None and blocks is not None:
        inflation = _block_dispersion(node_grams, blocks, variance, units)
        dispersion, degrees = inflation.factor, min(degrees, inflation.degrees)
        variance = dispersion * variance
    if groups is not None:
        variance, count = _jackknife(node_grams, groups, units)
        degrees, method = count - 1.0, f"{method}, cluster jackknife"
    return mixture_tests(
        estimate[None],
        variance[None],
        np.ones(1),
        p,
        degrees=degrees,
        method=method,
        dispersion=dispersion,
        wide=groups is not None,
    )


def _jackknife(
    node_grams: GramMatrices, parts: Iterable[GramMatrices], units: Array
) -> tuple[Array, int]:
    """Jackknife variances of the pairs, and the number of parts that were left out."""
    without = []
    for part in parts:
        if part.n == node_grams.n:
            raise ValueError(ONE_GROUP)
        rest = _regressions(_rest(node_grams, part))
        without.append(both(rest.coefficients * units))
    return jackknife_variance(np.array(without)), len(without)


def _block_dispersion(
    node_grams: GramMatrices,
    blocks: Callable[[], Iterable[GramMatrices]],
    variance: Array,
    units: Array,
) -> Dispersion:
    """Factor of all variances, estimated from blocks of rows; see `plaggm.core.inference.cluster_jackknife`."""
    # A pseudo-inverse, since the transformed constant may be zero.
    inverse = np.array(
        [np.linalg.pinv(node_grams.node(j), hermitian=True) for j in range(node_grams.p)]
    )
    total, count = np.zeros_like(variance), 0
    for block in blocks():
        total += _influence(inverse, block, block.n / node_grams.n, units) ** 2
        count += 1
    return clear_dispersion(
        total, variance, count, lambda: _jackknife(node_grams, blocks(), units)[0]
    )


def _influence(inverse: Array, block: GramMatrices, share: float, units: Array) -> Array:
    """First-order effect of a block's rows on every pair's estimate: shape (p (p - 1) / 2,).

    Parameters
    ----------
    inverse : ndarray of shape (p, q, q)
        Inverse Gram matrix of every node, including its own column.
    block : GramMatrices
    share : float
        The block's share of the rows.
    units : ndarray of shape (p, p)
    """
    nodes = np.arange(block.p)
    own = inverse[nodes, nodes]
    residual = own / own[nodes, nodes][:, None]
    score = share * np.array([block.node(j) @ residual[j] for j in range(block.p)])
    moved = np.einsum("jab,jb->ja", inverse, score)
    moved -= residual * np.einsum("ja,ja->j", own, score)[:, None]
    return both(moved[:, : block.p] * units)


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
    """The Gram matrices of all rows except those of a group."""
    assert isinstance(whole, NodeGrams)
    assert isinstance(group, NodeGrams)
    rest = whole.n - group.n
    grams = (whole.n * whole.grams - group.n * group.grams) / rest
    return NodeGrams(grams, rest, whole.smoother_trace)
