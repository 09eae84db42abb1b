"""Early stopping of held-out paths once the loss has clearly risen above its minimum.

The smallest penalties of a grid give the densest networks, which take most of the time of a fold and are
never chosen once the loss has risen. A fold's path may therefore end early. If the mean over all folds has
not clearly risen by then, all folds are fitted at all penalties.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from plaggm.array_types import Array

# Penalties since the smallest loss, and the rise as a share of it. The limits of a single fold are stricter
# than those of the mean, since folds differ in where their loss is smallest.
FOLD, MEAN = (8, 0.02), (3, 0.01)


def has_risen(losses: Sequence[float] | Array, since: int, rise: float) -> bool:
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
    >>> has_risen([3.0, 1.0, 1.1, 1.2, 1.3], 3, 0.02)
    True
    >>> has_risen([3.0, 1.0, 1.1, 1.2], 3, 0.02)
    False
    """
    if not len(losses):
        return False
    best = int(np.argmin(losses))
    return len(losses) - 1 - best >= since and losses[-1] > (1.0 + rise) * losses[best]


def until_risen(losses: Iterable[float]) -> Array:
    """Losses along a path, up to the point where they have clearly risen."""
    found: list[float] = []
    for loss in losses:
        found.append(loss)
        if has_risen(found, *FOLD):
            break
    return np.array(found)
