"""Compiled steps that the symmetric and the node-wise lasso share."""

from __future__ import annotations

from plaggm.array_types import Array
from plaggm.core.compiled import compiled


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
    """Gap of a lasso with residuals r, from quantities that its gradients already hold.

    The part of y that is orthogonal to all columns changes neither the solution nor the gradients. Its
    energy is taken off ``own`` and ``energy``: left in, it would make the gap of a nearly optimal
    solution look large wherever most of y is out of reach of the columns.

    Parameters
    ----------
    own : float
        y'r.
    energy : float
        r'r.
    penalty : float
        lambda times the l1 norm.
    steepest : float
        Largest absolute gradient of a penalised coefficient. The residuals, scaled so that it does not
        exceed lambda, are dual feasible.
    level : float
        lambda.
    """
    # The best multiple of the residuals, as far as it is feasible. Rounding may leave it no energy.
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
