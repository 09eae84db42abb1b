"""The row with the most influence on the correlations, if outlying rows dominate them."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.confounding.confounding_test import RowInfluence
from plaggm.core.confounding.rearranged_test import row_influence, tail_weight

# Weight of the tails, one for Gaussian rows, from which the most influential row is named.
OUTLYING = 4.0


def outlying_sample(
    z: Array, deviations: tuple[Array, Array] | None, heavy: bool
) -> tuple[int, int] | None:
    """Row with the most influence on the correlations, and the column in which it is most extreme.

    Parameters
    ----------
    z : ndarray of shape (n, p)
        Variables, in any units.
    deviations : (ndarray of shape (n, m), ndarray of shape (m,)) or None
        Confounders and thresholds along which means and scales are removed; None without confounder.
    heavy : bool
        Whether tails are known to be heavy.

    Returns
    -------
    row, column : int, or None if no row is outlying

    Examples
    --------
    >>> z = np.random.default_rng(0).standard_normal((200, 4))
    >>> outlying_sample(z, None, False)
    >>> z[17, 2] = 50.0
    >>> outlying_sample(z, None, False)
    (17, 2)
    """
    if deviations is None:
        influence = RowInfluence.of((z - z.mean(axis=0)) / z.std(axis=0))
    else:
        # Rows are not winsorised here, other than for the test of R = 0.
        influence = row_influence(z, *deviations, np.inf)
    far = heavy or tail_weight(influence.squares()[0], z.shape[1]) >= OUTLYING
    return influence.leading() if far else None
