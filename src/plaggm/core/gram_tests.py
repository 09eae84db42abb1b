"""Tests of every pair by least squares on node Gram matrices.

Every way to remove the nuisance delivers, for each node, the Gram matrix of its transformed columns. Least
squares on the transformed rows gives the textbook t test of each coefficient, with the degrees of freedom
that the smoother spent taken off. With one Gram matrix for all nodes (of pooled samples, of those below the
threshold or of residuals) this is exactly the t test of a partial correlation.
"""

from __future__ import annotations

import numpy as np

from plaggm.core.node_grams import NodeGrams, profile_intercepts
from plaggm.core.node_regressions import symmetric_inverse
from plaggm.core.pair_statistics import EdgeTests, both, mixture_tests, pair_variances


def least_squares_tests(node_grams: NodeGrams) -> EdgeTests:
    """Test every pair by the least-squares regressions of its two nodes.

    Parameters
    ----------
    node_grams : NodeGrams
        Gram matrices in any units. What the confounders took of the samples' degrees of freedom is its
        ``smoother_trace``.

    Returns
    -------
    EdgeTests

    Raises
    ------
    ValueError
        Where a node's regression has no degrees of freedom left.

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
    centred = profile_intercepts(node_grams)
    precision = np.empty((p, p, p))
    for place, gram in enumerate(centred.grams):
        precision[centred.index == place] = symmetric_inverse(gram)
    nodes = np.arange(p)
    own = precision[nodes, nodes, nodes]
    row = precision[nodes, nodes]
    coefficients = -row / own[:, None]
    # The diagonal of the inverse of the Gram matrix without the node's own column.
    spread = np.einsum("jkk->jk", precision) - row**2 / own[:, None]
    noise = n / (own * left)
    coefficients[nodes, nodes] = spread[nodes, nodes] = 0.0
    units = np.sqrt(noise[None, :] / noise[:, None])
    return mixture_tests(
        both(coefficients * units)[None],
        pair_variances(spread * noise[:, None] / n, units)[None],
        np.ones(1),
        p,
        degrees=float(np.mean(left)),
        method="least squares",
    )
