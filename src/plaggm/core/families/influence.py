"""Influence of single rows or groups of rows on every node's unpenalised coefficients.

In the quadratic models of `plaggm.core.families.posterior`, leaving out a group changes the coefficients by
exactly -F W_g' (1 - H_g)^{-1} r_g / n, with F the inverse of the node's system, r_g the group's weighted
residuals and H_g its block of the hat matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.families.posterior import NodeFit, NodeSystems
from plaggm.core.families.rows import FamilyRows
from plaggm.core.spline.statistics import function_products

# Larger leverages of rows are clipped.
MOST_LEVERAGE = 0.99
# Rows whose changes are in memory at a time.
CHUNK_ROWS = 256


def left_out(
    rows: FamilyRows,
    eta: Array,
    systems: NodeSystems,
    fits: Sequence[NodeFit],
    groups: Index | None = None,
) -> Iterator[Array]:
    """Change of all coefficients when each row or group is left out, in batches.

    Parameters
    ----------
    rows : FamilyRows
    eta : ndarray of shape (n, p)
        Predictors around which the systems were formed.
    systems : NodeSystems
    fits : sequence of NodeFit
        Regression of every node.
    groups : ndarray of int of shape (n,), optional
        Group of every row; if absent, rows are left out one by one.

    Yields
    ------
    ndarray of shape (k, p, (1 + M) q)
        Changes of node j's coefficients at [:, j], in the systems' functions.
    """
    weights, response = rows.working(eta)
    rotation = systems.systems[0].rotation
    inverses = np.array([one.inverse for one in fits])
    coefficients = np.column_stack([one.coefficients for one in fits])
    for part in _parts(rows, groups):
        table = function_products(rows.b[part], rows.phi[part] @ rotation)
        residual = weights[part] * (response[part] - table @ coefficients)
        spread = np.matmul(table[None], inverses)
        if groups is None:
            leverage = np.einsum("jic,ic->ij", spread, table) * weights[part] / rows.n
            corrected = residual / (1.0 - np.minimum(leverage, MOST_LEVERAGE))
            yield np.einsum("jic,ij->ijc", spread, corrected) / -rows.n
            continue
        moved = np.empty((1, rows.p, table.shape[1]))
        for node in range(rows.p):
            hat = weights[part, node, None] * (spread[node] @ table.T) / rows.n
            corrected = np.linalg.solve(np.eye(len(part)) - hat, residual[:, node])
            moved[0, node] = corrected @ spread[node] / -rows.n
        yield moved


def _parts(rows: FamilyRows, groups: Index | None) -> Iterator[Index]:
    """Rows of every group, or batches of single rows."""
    if groups is not None:
        order = np.argsort(groups, kind="stable")
        yield from np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
        return
    for start in range(0, len(rows.x), CHUNK_ROWS):
        yield np.arange(start, min(start + CHUNK_ROWS, len(rows.x)))
