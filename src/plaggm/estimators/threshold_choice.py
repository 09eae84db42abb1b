"""Choice of the spline's threshold from the data.

A threshold below the true g* wastes unconfounded samples, one above it treats confounded samples as
unconfounded. The restricted likelihood of the mixed model, with the nuisance and the variance function
starting at the threshold, is large at the true threshold and at smaller ones. The largest threshold with a
large likelihood is therefore chosen; if the likelihood does not distinguish between thresholds, the
smallest that leaves enough samples below it is the default.

The likelihood is Gaussian. With heavy tails it varies more by chance, since a few outlying rows look like a
change of the variance. Differences are therefore divided by the dispersion of the rows' lengths, as in a
quasi-likelihood; it is one for Gaussian rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.nuisance.focused import restricted_likelihood
from plaggm.core.numerics.threads import available_threads, threads
from plaggm.core.spline.design import SplineDesign, plain_design
from plaggm.core.spline.statistics import split_statistics
from plaggm.core.spline.system import smooth_system
from plaggm.core.variance.binned import BinnedVariance, row_weights
from plaggm.core.variance.variance_function import RowVariance, VarianceData, learn_variance
from plaggm.data import Confounder
from plaggm.estimators.design import (
    below_thresholds,
    enough_below,
    most_functions,
    quantile_limits,
    quantile_threshold,
    spline_design,
)
from plaggm.estimators.reference_choice import in_groups
from plaggm.estimators.rows import Rows
from plaggm.estimators.spec import FitSpec

# Quantiles of |confounder|, the same for all confounders.
QUANTILES = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.85)
# Start of the search for the penalty under a threshold: tau = 1, no smoothness.
START = (6, 0)
# Largest number of rows. With several confounders, whose variance has to be estimated row by row, also the
# largest work (rows times squared number of coefficients).
MOST_ROWS = 20_000
MOST_WORK = 5e9
# Smallest gain of a threshold below and above the default, in units of log n.
FALLING, RISING = 2.0, 4.0
# Difference up to which thresholds are equally good: about twice the limit of a likelihood-ratio test at
# 5 % with one degree of freedom, since every pair counts twice.
ALIKE = 8.0
# Smallest number of rows for each coefficient.
ROWS_PER_COEFFICIENT = 3
# Bins of rows with similar confounders, within which means and variances are removed to judge tails.
LEVELS = 20
TINY = np.finfo(float).tiny


def sampled_rows(n: int, q: int, confounders: int) -> Index:
    """Rows from which the threshold is chosen: all, or evenly spaced ones.

    Parameters
    ----------
    n : int
    q : int
        Columns of [Z, 1].
    confounders : int
    """
    count = min(n, MOST_ROWS)
    if confounders > 1:
        coefficients = (1 + most_functions(confounders)) * q
        fewest = ROWS_PER_COEFFICIENT * coefficients
        count = min(count, max(fewest, int(MOST_WORK / coefficients**2)))
    return np.linspace(0, n - 1, count).round().astype(np.intp)


def make_design(spec: FitSpec, rows: Rows) -> SplineDesign:
    """The design of all rows; with ``threshold="auto"`` its threshold is chosen from a sample of them."""
    labels = rows.labels
    confounder = labels.confounder
    if confounder is None:
        return plain_design()
    confounder = in_groups(confounder, labels.given_groups())
    threshold = spec.threshold
    if isinstance(threshold, str) and confounder.amounts:
        index = sampled_rows(labels.n, labels.q, len(confounder.names))
        threshold = choose_threshold(
            rows.take(index),
            confounder.rows(index),
            variance_function=spec.inflation,
            n_threads=spec.n_threads,
        )
    return spline_design(
        confounder,
        labels.q,
        threshold=threshold,
        variance_function=spec.inflation,
    )


def choose_threshold(
    x: Array,
    confounder: Confounder,
    *,
    variance_function: bool,
    n_threads: int | None = None,
) -> Array:
    """The default threshold, or the largest with a clearly larger likelihood.

    The default is :func:`plaggm.estimators.design.quantile_threshold`. Other thresholds must increase twice
    the log-likelihood by 2 log n (the price of one parameter in BIC, since every pair counts twice), or by
    twice as much if they are larger than the default. Of those that do, the largest that fits nearly as
    well as the best is chosen. Differences are in units of :func:`length_dispersion`.

    Parameters
    ----------
    x : ndarray of shape (n, p)
        Variables of the rows of :func:`sampled_rows`.
    confounder : Confounder
        Confounders of the same rows, at least one of them an amount.
    variance_function : bool
        Whether the confounder may inflate the variance.
    n_threads : int, optional

    Returns
    -------
    ndarray of shape (m,)
    """
    n, p = x.shape
    default = quantile_threshold(confounder, p + 1)
    if np.any(x.std(axis=0) == 0.0):
        # Columns that are constant in the sample have no likelihood.
        return default
    b = _standardised(x)
    limits = [default, *_candidates(confounder, p + 1, default)]
    with warnings.catch_warnings():
        # Warnings about candidates are of no use.
        warnings.simplefilter("ignore")
        fits = lack_of_fit(b, confounder, limits, variance_function, n_threads)
    if not np.isfinite(fits[0]):
        return default
    fits = fits / length_dispersion(b[:, :-1], confounder)
    known = fits[0]
    below = [below_thresholds(confounder, one) for one in limits]
    price = np.log(n) * np.where(np.array(below) > below[0], RISING, FALLING)
    good = [place for place in range(1, len(limits)) if known - fits[place] > price[place]]
    if not good:
        return default
    enough = min(fits[place] for place in good) + ALIKE
    alike = [place for place in good if fits[place] <= enough]
    return limits[max(alike, key=lambda place: below[place])]


def length_dispersion(z: Array, confounder: Confounder) -> float:
    """Variance of the rows' Mahalanobis lengths over that of Gaussian rows, at least one.

    Means and variances are first removed within bins of rows with similar confounders.

    Parameters
    ----------
    z : ndarray of shape (n, p)
        Variables of more than p rows, none constant.
    confounder : Confounder
        Confounders of the same rows, at least one of them an amount.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> rows, g = draw.standard_normal((500, 4)), Confounder(draw.uniform(size=(500, 1)), ("g",))
    >>> round(length_dispersion(rows, g), 1)
    1.0
    >>> round(length_dispersion(rows * draw.choice([1.0, 4.0], (500, 1)), g), 1)
    3.2
    """
    n, p = z.shape
    sizes = np.abs(confounder.values[:, confounder.amounts])
    spread = sizes.std(axis=0)
    level = (sizes / np.where(spread > 0.0, spread, 1.0)).sum(axis=1)
    bins = np.argsort(np.argsort(level, kind="stable")) * min(LEVELS, n) // n
    counts = np.bincount(bins)

    def local_mean(values: Array) -> Array:
        return np.asarray((np.bincount(bins, values) / counts)[bins])

    centred = z - np.column_stack([local_mean(column) for column in z.T])
    scaled = centred / np.sqrt(np.maximum(local_mean((centred**2).mean(axis=1)), TINY))[:, None]
    values, vectors = np.linalg.eigh(scaled.T @ scaled / n)
    lengths = ((scaled @ vectors) ** 2 / np.maximum(values, TINY)).sum(axis=1)
    excess = p * (lengths / np.maximum(local_mean(lengths), TINY) - 1.0)
    dispersion: float = np.mean(excess**2) / (2.0 * p)
    return max(float(dispersion), 1.0)


def thresholds_fit(
    x: Array,
    confounder: Confounder,
    limits: Array,
    *,
    variance_function: bool,
) -> Array:
    """:func:`lack_of_fit` of some thresholds (k, m) on the same rows, minus the smallest: shape (k,).

    In units of :func:`length_dispersion`; NaN if it cannot be compared.
    """
    rows = sampled_rows(len(x), x.shape[1] + 1, len(confounder.names))
    b = _standardised(x[rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = lack_of_fit(b, confounder.rows(rows), limits, variance_function)
    found[np.isinf(found)] = np.nan
    found = found / length_dispersion(b[:, :-1], confounder.rows(rows))
    return np.asarray(found if np.isnan(found).all() else found - np.nanmin(found))


def _standardised(x: Array) -> Array:
    """[Z, 1] with the columns of Z at mean zero and variance one."""
    return np.column_stack([(x - x.mean(axis=0)) / x.std(axis=0), np.ones(len(x))])


def _candidates(confounder: Confounder, q: int, default: Array) -> list[Array]:
    limits = [quantile_limits(confounder, level) for level in QUANTILES]
    fewest = enough_below(len(confounder.values), q)
    return [
        one
        for one in limits
        if below_thresholds(confounder, one) >= fewest
        and not np.array_equal(one, default, equal_nan=True)
    ]


def lack_of_fit(
    b: Array,
    confounder: Confounder,
    thresholds: Sequence[Array] | Array,
    variance_function: bool,
    n_threads: int | None = None,
) -> Array:
    """Minus twice the restricted log-likelihood of some thresholds, up to a constant of the data.

    Parameters
    ----------
    b : ndarray of shape (n, q)
        [Z, 1].
    confounder : Confounder
    thresholds : sequence of k ndarrays of shape (m,)
    variance_function : bool
        Whether the confounder may inflate the variance.
    n_threads : int, optional

    Returns
    -------
    ndarray of shape (k,)
        Infinite where no confounder exceeds the threshold or the samples are too few to compare.
    """
    n, q = b.shape
    found = np.full(len(thresholds), np.inf)

    def work(number: int) -> None:
        design = spline_design(
            confounder,
            q,
            threshold=thresholds[number],
            variance_function=variance_function,
        )
        if not design.basis.terms or n <= (1 + design.basis.size) * q:
            return
        data = _variance_data(b, confounder.values, design)
        variance = learn_variance(data, design.basis, design.variance_basis)
        total = data.statistics(variance)
        weights = np.log(row_weights(design, variance, confounder.values))
        fit, _ = restricted_likelihood(*smooth_system(total, design.basis), START)
        found[number] = fit - (q - 1) * float(weights.sum())

    with threads(available_threads() if n_threads is None else n_threads) as pool:
        pool.run(work, list(range(len(thresholds))))
    return found


def _variance_data(b: Array, confounder: Array, design: SplineDesign) -> VarianceData:
    """Bins of the rows if the variance can be estimated from these, otherwise rows, in one thread."""
    if not design.one_pass:
        return RowVariance(lambda: [(b, confounder)], design.basis, n_threads=1)
    phi, labels = design.basis.evaluate(confounder), design.bins.labels(confounder)
    return BinnedVariance(split_statistics(b, phi, labels, design.bins.count, n_threads=1), design)
