"""Transformations of the rows that are learnt from all of them before they are summed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from plaggm.array_types import Array, Index, Labels
from plaggm.data import Confounder
from plaggm.estimators.margins import Margins, learn_margins
from plaggm.estimators.serial import SerialRows, learn_series, run_numbers
from plaggm.estimators.smooth_means import Chunks
from plaggm.estimators.spec import FitSpec
from plaggm.estimators.winsor import Winsor, learn_winsor
from plaggm.group_labels import LabelsLike


@dataclass(frozen=True, slots=True)
class Preparation:
    """Transformations of the rows, in the order in which they are applied; None for those not used.

    Attributes
    ----------
    winsor : Winsor or None
        Limits to which outlying values are moved.
    margins : Margins or None
        Maps of the variables to normal scores.
    serial : SerialRows or None
        Filter, runs and blocks of rows that are time series.
    """

    winsor: Winsor | None = None
    margins: Margins | None = None
    serial: SerialRows | None = None

    def each(self, chunks: Chunks, position: Index | None = None) -> Iterator[tuple[Array, Array]]:
        """Transformed variables and unchanged confounders of every chunk.

        Parameters
        ----------
        chunks : iterable of (x, confounder)
        position : ndarray of int of shape (n,), optional
            Number of predecessors of every row in its run; by default that of the rows of the fit.
        """
        if self.winsor is not None:
            chunks = self.winsor.each(chunks)
        if self.margins is not None:
            chunks = self.margins.each(chunks)
        if self.serial is not None:
            place = self.serial.position if position is None else position
            chunks = self.serial.whitening.whitened(chunks, place)
        return iter(chunks)


NO_PREPARATION = Preparation()


def learn_preparation(
    spec: FitSpec,
    read: Callable[[], Chunks],
    confounder: Confounder | None,
    n: int,
    names: tuple[str, ...],
    groups: Labels | None,
    runs: LabelsLike | None = None,
) -> Preparation:
    """Learn the transformations that ``robust``, ``margins`` and ``temporal`` ask for.

    Parameters
    ----------
    spec : FitSpec
    read : callable
        Returns variables and confounders of all rows, chunk by chunk.
    confounder : Confounder or None
    n : int
        Rows.
    names : tuple of str
        Names of the variables.
    groups, runs : array of shape (n,) or None
        A time series ends where one of these changes.
    """
    found = NO_PREPARATION

    def prepared() -> Chunks:
        return found.each(read())

    def take(index: Index) -> Array:
        return rows_among(prepared(), index)

    if spec.robust is not None:
        found = replace(found, winsor=learn_winsor(take, confounder, n, names))
    if spec.margins == "rank":
        found = replace(found, margins=learn_margins(take, prepared, confounder, n, len(names)))
    if spec.temporal is not None:
        numbers = run_numbers(runs, groups, n)
        series = learn_series(spec.temporal, prepared, confounder, numbers, len(names))
        found = replace(found, serial=series)
    return found


def rows_among(chunks: Chunks, index: Index) -> Array:
    """Variables of some rows of all chunks, by increasing number: shape (len(index), p)."""
    found, start = [], 0
    for x, _ in chunks:
        inside = index[(index >= start) & (index < start + len(x))]
        found.append(x[inside - start])
        start += len(x)
    return np.concatenate(found)
