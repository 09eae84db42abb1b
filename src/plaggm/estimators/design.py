"""The design of a spline: threshold, functions and bins, from the confounder alone."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.confounder_bins import confounder_bins, one_bin
from plaggm.core.spline_basis import SplineBasis, spline_basis
from plaggm.core.spline_design import SplineDesign
from plaggm.core.variance_function import VARIANCE_FUNCTIONS
from plaggm.data import Confounder, as_positive, in_figures
from plaggm.estimators.nuisance_model import none_below
from plaggm.parameter_types import Threshold
from plaggm.user_warnings import warn_user

# Functions a side; one more for each doubling of the samples beyond so many for each variable.
FUNCTIONS = 3
MOST_FUNCTIONS = 6
AMPLE_SAMPLES = 60
# Functions of all sides together, though at least one a side: many confounders share them.
MOST_TOGETHER = 28
DEGREE = 2
# Samples for each coefficient of a node's regression, below which functions are given up.
SAMPLES_PER_COEFFICIENT = 3
# Quantiles of |confounder| that threshold="auto" tries, smallest first.
AUTO_QUANTILES = np.arange(0.1, 0.91, 0.05)
# Unconfounded samples that threshold="auto" asks for, for each variable.
BELOW_PER_VARIABLE = 3


def spline_design(
    confounder: Confounder,
    q: int,
    *,
    threshold: Threshold,
    variance_function: bool,
    n_samples: int | None = None,
    confounder_range: tuple[Array, Array] | None = None,
) -> SplineDesign:
    """Threshold, functions and bins, from the confounder alone.

    Parameters
    ----------
    confounder : Confounder
    q : int
        Columns of [Z, 1].
    threshold : "auto", float or array of shape (m,)
    variance_function : bool
        Whether the confounder may inflate the variance.
    n_samples : int, optional
        Rows that there will be; as many as the confounder has when absent.
    confounder_range : tuple of two ndarrays of shape (m,), optional
        Smallest and largest values that there may be; the confounder's own when absent.

    Returns
    -------
    SplineDesign
    """
    values = confounder.values
    if isinstance(threshold, str):
        limits = quantile_threshold(confounder, q)
    else:
        limits = as_positive(threshold, "threshold", confounder.names, zero=True)
    if not np.all(np.any(np.abs(values) <= limits, axis=0)):
        smallest = np.abs(values).min(axis=0)
        pairs = zip(confounder.names, smallest, strict=True)
        listed = ", ".join(f"{name}: {value:.4g}" for name, value in pairs)
        raise none_below(f"the smallest absolute confounder is {listed}", limits)
    below = below_thresholds(values, limits)
    if below < q <= len(values) and not isinstance(threshold, str):
        warn_user(
            f"Only {below} samples lie below the threshold {in_figures(limits)}, fewer than the {q} "
            "coefficients of a node's regression: the baseline network rests on the smoothness of the "
            "nuisance rather than on unconfounded samples. Use a larger threshold, or threshold='auto'.",
        )
    low, high = values.min(axis=0), values.max(axis=0)
    basis = nuisance_basis(confounder, limits, n_samples or len(values), q)
    noise = SplineBasis(())
    if variance_function and basis.sides:
        noise = spline_basis(values, limits, functions=VARIANCE_FUNCTIONS, degree=1)
    if confounder_range is not None:
        low, high = confounder_range
        basis, noise = basis.stretched(low, high), noise.stretched(low, high)
    binned = len({side.confounder for side in noise.sides}) == 1
    bins = confounder_bins(values, noise) if binned else one_bin(len(limits))
    if not basis.sides:
        warn_user(
            f"No confounder exceeds its threshold ({in_figures(limits)}) in enough samples to learn its "
            "effect from: R is taken as zero and the plain model is fitted.",
        )
    return SplineDesign(confounder.names, limits, basis, noise, bins, low, high)


def nuisance_basis(confounder: Confounder, limits: Array, n: int, q: int) -> SplineBasis:
    """As many functions as the samples can bear."""
    sides = len(spline_basis(confounder.values, limits, functions=1, degree=1).sides)
    bearable = (n / (SAMPLES_PER_COEFFICIENT * q) - 1.0) / max(sides, 1)
    ample = int(np.log2(max(n / (AMPLE_SAMPLES * q), 1.0)))
    most = min(FUNCTIONS + ample, MOST_FUNCTIONS, MOST_TOGETHER // max(sides, 1))
    functions = int(np.clip(bearable, 1, max(most, 1)))
    return spline_basis(confounder.values, limits, functions=functions, degree=DEGREE)


def most_functions(confounders: int) -> int:
    """Functions that so many confounders can have together."""
    sides = 2 * confounders
    return min(sides * MOST_FUNCTIONS, max(sides, MOST_TOGETHER))


def quantile_threshold(confounder: Confounder, q: int) -> Array:
    """The smallest of some quantiles of the absolute confounder that leaves enough samples below it.

    A threshold below the true one costs variance: fewer samples tell the baseline network from R. One
    above it takes confounded samples for unconfounded, which below a tenth of the samples costs less.

    Returns
    -------
    ndarray of shape (m,)
    """
    size = np.abs(confounder.values)
    fewest = enough_below(len(size), q)
    for level in AUTO_QUANTILES:
        limits = np.quantile(size, level, axis=0)
        if below_thresholds(confounder.values, limits) >= fewest:
            break
    return limits


def enough_below(n: int, q: int) -> int:
    """Unconfounded samples that an automatic threshold has to leave."""
    return min(n, BELOW_PER_VARIABLE * q)


def below_thresholds(confounder: Array, threshold: Array) -> int:
    """Number of samples below all thresholds, since the functions are additive."""
    return int(np.count_nonzero(np.all(np.abs(confounder) <= threshold, axis=1)))
