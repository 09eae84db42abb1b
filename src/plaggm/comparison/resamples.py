"""Random divisions of the samples into those that methods learn from and those held out."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from plaggm.array_types import Index
from plaggm.core.preparation.autoregression import contiguous_blocks

# Share of the samples (or of the groups) that methods learn from.
LEARN = 0.75
# Contiguous blocks of time series from which resamples are drawn.
BLOCKS = 20


def draw_resamples(
    n: int, labels: Index | None, series: Index | None, count: int, seed: int
) -> list[tuple[Index, Index]]:
    """Draw rows to learn from and rows that are held out, both in increasing order.

    Parameters
    ----------
    n : int
        Rows.
    labels : ndarray of int of shape (n,), optional
        Number of every row's group; groups are drawn whole.
    series : ndarray of int of shape (n,), optional
        Number of every row's time series. Without groups contiguous blocks of rows are drawn, since
        neighbouring rows depend on each other.
    count : int
        Number of resamples.
    seed : int
    """
    if not count:
        return []
    if labels is None and series is not None:
        labels = contiguous_blocks(series, -(-n // BLOCKS), BLOCKS)
    splitter = ShuffleSplit if labels is None else GroupShuffleSplit
    drawn = splitter(count, train_size=LEARN, random_state=seed)
    return [(np.sort(a), np.sort(b)) for a, b in drawn.split(np.empty((n, 1)), groups=labels)]
