"""Compiled steps that the symmetric and the node-wise lasso share."""

from __future__ import annotations

from plaggm.array_types import Array
from plaggm.core.numerics.compiled import compiled


@compiled(inline=True)
def soft_threshold(value: float, level: float) -> float:
    """Shrink a number towards zero by ``level``."""
    if value > level:
        return value - level
    if value < -level:
        return value + level
    return 0.0


@compiled()
def duality_gap(own: float, energy: float, penalty: float, steepest: float, level: float) -> float:
    """Duality gap of a lasso with residuals r, from quantities that follow from its gradients.

    ``own`` and ``energy`` exclude the part of y that is orthogonal to all columns. It affects neither the
    solution nor the gradients, but would make the gap of a nearly optimal solution large.

    Parameters
    ----------
    own : float
        y'r.
    energy : float
        r'r.
    penalty : float
        lambda times the l1 norm.
    steepest : float
        Largest absolute gradient of a penalised coefficient.
    level : float
        lambda.
    """
    # The dual point is the best feasible multiple of the residuals. Rounding may make the energy negative.
    energy = max(energy, 0.0)
    scale = own / energy if energy > 0.0 else 0.0
    if steepest * abs(scale) > level:
        scale = level / steepest if scale > 0.0 else -level / steepest
    return 0.5 * energy + penalty - scale * own + 0.5 * scale * scale * energy


@compiled(fastmath=frozenset({"reassoc", "contract", "nsz", "arcp"}))
def add_scaled(total: Array, source: Array, factor: float) -> None:
    """Add a multiple of one vector to another, in place."""
    for i in range(total.shape[0]):
        total[i] += factor * source[i]
