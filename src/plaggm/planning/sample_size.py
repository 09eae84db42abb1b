"""Number of samples that reaches a power."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, isotonic_regression
from scipy.stats import norm

from plaggm.array_types import Array

# Bootstrap resamples of an interval, and its level.
BOOTSTRAPS, LEVEL = 1000, 0.95
# Significant digits of numbers of samples.
DIGITS = 3


@dataclass(frozen=True, slots=True)
class SampleSize:
    """Number of samples that reaches a power.

    Attributes
    ----------
    power : float
        The power to be reached.
    samples : float
        Number of samples; infinite if none of the simulated sizes reaches the power.
    low, high : float
        95 % interval from a bootstrap of the simulated data sets.
    smallest, largest : int
        Range of the simulated sizes. ``samples``, ``low`` and ``high`` are at least the former, and
        infinite beyond the latter.
    """

    power: float
    samples: float
    low: float
    high: float
    smallest: int
    largest: int

    def words(self) -> str:
        """A short description.

        Examples
        --------
        >>> SampleSize(0.8, 521.0, 480.0, 590.0, 100, 1600).words()
        'about 520 samples (95 % interval 480 to 590)'
        >>> SampleSize(0.8, np.inf, 1550.0, np.inf, 100, 1600).words()
        'more than 1,600 samples'
        """
        if np.isinf(self.samples):
            return f"more than {self.largest:,} samples"
        if self.samples <= self.smallest:
            return f"at most {self.smallest:,} samples"
        low = f"below {self.smallest:,}" if self.low <= self.smallest else f"{rounded(self.low):,}"
        high = f"above {self.largest:,}" if np.isinf(self.high) else f"{rounded(self.high):,}"
        return f"about {rounded(self.samples):,} samples (95 % interval {low} to {high})"


def rounded(number: float) -> int:
    """A number of samples, rounded to tens or to three significant digits from 100 on.

    Examples
    --------
    >>> rounded(87.3), rounded(521.0), rounded(12_345.0)
    (87, 520, 12300)
    """
    if number < 100.0:
        return round(number)
    unit = 10 ** max(1, int(np.log10(number)) + 1 - DIGITS)
    return int(round(number / unit) * unit)


def sample_size(sizes: Array, power: Array, wanted: float, seed: int) -> SampleSize:
    """Number of samples that reaches a power, by monotone interpolation.

    The mean power over data sets is made non-decreasing by isotonic regression and interpolated linearly
    in the logarithm of the number of samples. The interval is from a bootstrap of the data sets.

    Parameters
    ----------
    sizes : ndarray of shape (s,)
        Increasing numbers of samples.
    power : ndarray of shape (d, s)
        Share of the edges found in each data set at each size.
    wanted : float
        Power to be reached.
    seed : int
        Seed of the bootstrap.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(power), (BOOTSTRAPS, len(power)))
    again = [crossing(sizes, power[rows].mean(axis=0), wanted) for rows in drawn]
    # Quantiles without interpolation, since values may be infinite.
    tails = (0.5 - LEVEL / 2, 0.5 + LEVEL / 2)
    low, high = np.quantile(again, tails, method="nearest")
    found = crossing(sizes, power.mean(axis=0), wanted)
    return SampleSize(float(wanted), found, float(low), float(high), int(sizes[0]), int(sizes[-1]))


def crossing(sizes: Array, power: Array, wanted: float) -> float:
    """Size at which a curve reaches ``wanted``; the smallest size if it starts above, else infinite.

    Examples
    --------
    >>> sizes = np.array([100, 200, 400])
    >>> round(crossing(sizes, np.array([0.2, 0.6, 0.9]), 0.75))
    283
    >>> crossing(sizes, np.array([0.2, 0.6, 0.9]), 0.95)
    inf
    """
    curve = np.asarray(isotonic_regression(power).x)
    if curve[-1] < wanted:
        return float("inf")
    after = int(np.argmax(curve >= wanted))
    if after == 0:
        return float(sizes[0])
    low, high = curve[after - 1], curve[after]
    share = (wanted - low) / (high - low)
    return float(sizes[after - 1] * (sizes[after] / sizes[after - 1]) ** share)


def clean_sample_size(p: int, edge: Array, density: float, fdr: float, wanted: float) -> float:
    """Number of samples that reaches a power without confounding, by a normal approximation.

    A pair's Fisher-transformed partial correlation has variance 1 / (n - p - 1); the Benjamini–Hochberg
    procedure declares, when it finds a share ``wanted`` of the edges, p-values up to about
    ``fdr * density * wanted``.

    Parameters
    ----------
    p : int
        Variables.
    edge : ndarray
        Partial correlations of the edges, over which power is averaged.
    density : float
        Share of the pairs that are edges.
    fdr : float
    wanted : float
        Power.
    """
    limit = norm.isf(fdr * density * wanted / 2)

    def lacking(log_degrees: float) -> float:
        return float(norm.sf(limit - np.arctanh(edge) * np.exp(log_degrees / 2)).mean() - wanted)

    return float(np.exp(brentq(lacking, 0.0, 30.0))) + p + 1
