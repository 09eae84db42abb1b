"""The filter of a study's scans: one autoregression for all scans and regions.

Every scan is a time series of its own, which the filter never leaves, and one that drops volumes is several
series. A filter for each scan would rest on a few hundred volumes; networks are compared between subjects,
whose scatter shows what a shared filter leaves of a scan's own autocorrelation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.preparation.autoregression import NO_FILTER, Autoregression, run_positions
from plaggm.estimators.serial import learn_series
from plaggm.parameter_types import Temporal


@dataclass(frozen=True, slots=True)
class ScanFilter:
    """The whitening filter of scans.

    Attributes
    ----------
    autoregression : Autoregression
    """

    autoregression: Autoregression

    def apply(self, series: Array, runs: Index | None = None) -> Array:
        """Whitened series (n, p) of one subject; runs (n,) tell where they are interrupted."""
        return self.autoregression.apply(series, run_positions(_runs(series, runs)))


def learn_scan_filter(
    temporal: Temporal | None,
    scans: Sequence[Array],
    runs: Sequence[Index | None] | None = None,
) -> ScanFilter:
    """Fit the filter to some scans together.

    Parameters
    ----------
    temporal : "ar", int or None
        Order of the filter; ``"ar"`` chooses it by BIC, None does not filter.
    scans : sequence of ndarray of shape (n, p)
        Series of every scan without its means.
    runs : sequence of ndarray of int of shape (n,), optional
        Runs of the volumes of every scan; None for one that is not interrupted.
    """
    if temporal is None or not scans:
        return ScanFilter(NO_FILTER)
    numbers, count = [], 0
    for series, own in zip(scans, runs or [None] * len(scans), strict=True):
        numbers.append(_runs(series, own) + count)
        count = int(numbers[-1].max(initial=count - 1)) + 1
    chunks = [(series, np.zeros((len(series), 0))) for series in scans]
    found = learn_series(temporal, lambda: chunks, None, np.concatenate(numbers), scans[0].shape[1])
    return ScanFilter(found.whitening.autoregression)


def _runs(series: Array, runs: Index | None) -> Index:
    return np.zeros(len(series), dtype=np.intp) if runs is None else runs
