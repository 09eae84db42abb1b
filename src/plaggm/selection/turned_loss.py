"""Early stopping of held-out paths once the loss has clearly risen above its minimum.

The smallest penalties of a grid give the densest networks, which take most of the time of a fold and are
never chosen once the loss has risen. A fold's path may therefore end early. Whether the mean of all folds
has passed its smallest value too is judged afterwards; if not, all folds are followed to the grid's end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from plaggm.array_types import Array

# Penalties since the smallest loss, and the rise as a share of it, for one fold and for the mean of all:
# folds differ in where their loss is smallest, and the first to end must not end the mean too early.
FOLD, MEAN = (8, 0.02), (3, 0.01)


def has_turned(losses: Sequence[float] | Array, since: int, rise: float) -> bool:
    """Whether positive losses along a path end clearly above their smallest one.

    Parameters
    ----------
    losses : sequence of float
    since : int
        Fewest penalties since the smallest loss.
    rise : float
        Least rise, as a share of the smallest loss.

    Examples
    --------
    >>> has_turned([3.0, 1.0, 1.1, 1.2, 1.3], 3, 0.02)
    True
    >>> has_turned([3.0, 1.0, 1.1, 1.2], 3, 0.02)
    False
    """
    if not len(losses):
        return False
    best = int(np.argmin(losses))
    return len(losses) - 1 - best >= since and losses[-1] > (1.0 + rise) * losses[best]


def until_turned(losses: Iterable[float]) -> Array:
    """Losses along a path, up to the point where they have clearly risen."""
    found: list[float] = []
    for loss in losses:
        found.append(loss)
        if has_turned(found, *FOLD):
            break
    return np.array(found)
