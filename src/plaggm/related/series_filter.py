"""Whitening of time series for the related methods.

Regressors and further columns of the network are filtered like the variables. A series ends at samples that
the method does not use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.preparation.autoregression import run_positions
from plaggm.data import Confounder
from plaggm.estimators.serial import SerialRows, learn_series
from plaggm.parameter_types import Temporal


@dataclass(frozen=True, slots=True)
class SeriesFilter:
    """A filter learnt from some samples.

    Attributes
    ----------
    serial : SerialRows
        Runs, blocks and whitening filter of the used samples.
    location : ndarray of shape (p,)
        Means subtracted from the variables first.
    centre : ndarray of shape (k,)
        Means subtracted from the regressors first.
    """

    serial: SerialRows
    location: Array
    centre: Array

    def variables(self, x: Array, confounder: Array, runs: Index) -> Array:
        """Whitened variables (n, p) of samples with the confounders (n, m) and in the runs (n,)."""
        rows = [(x - self.location, confounder)]
        return next(self.serial.whitening.whitened(rows, run_positions(runs)))[0]

    def regressors(self, regressors: Array, runs: Index) -> Array:
        """Regressors (n, k), filtered like the variables."""
        filtered = self.serial.whitening.autoregression.apply
        return filtered(regressors - self.centre, run_positions(runs))


def used_runs(runs: Index, rows: Index) -> Index:
    """Number of the run of each of some rows; a run ends where rows are left out.

    Examples
    --------
    >>> used_runs(np.array([0, 0, 0, 0, 1, 1]), np.array([0, 1, 3, 4, 5]))
    array([0, 0, 1, 2, 2])
    """
    begins = np.ones(len(rows), dtype=bool)
    begins[1:] = (np.diff(runs[rows]) != 0) | (np.diff(rows) != 1)
    return np.cumsum(begins) - 1


def learn_filter(
    temporal: Temporal, x: Array, runs: Index, *, regressors: Array, along: Confounder | None
) -> SeriesFilter:
    """Fit the filter to the samples that a method uses.

    Parameters
    ----------
    temporal : "ar" or int
    x : ndarray of shape (n, p)
    runs : ndarray of int of shape (n,)
        A run ends where the number changes.
    regressors : ndarray of shape (n, k)
        Regressors that the method removes by linear regression; k may be zero.
    along : Confounder or None
        Confounders along which smooth means are removed, for methods whose means vary with them.
    """
    location, centre = x.mean(axis=0), regressors.mean(axis=0)
    left = x - location
    if regressors.shape[1]:
        design = regressors - centre
        left = left - design @ np.linalg.lstsq(design, left, rcond=None)[0]
    values = np.zeros((len(x), 0)) if along is None else along.values
    serial = learn_series(temporal, lambda: [(left, values)], along, runs, x.shape[1])
    if not regressors.shape[1]:
        return SeriesFilter(serial, location, centre)
    # The method removes the effect of the regressors, so the filter must not remove means.
    whitening = replace(serial.whitening, means=np.zeros_like(serial.whitening.means))
    return SeriesFilter(replace(serial, whitening=whitening), location, centre)
