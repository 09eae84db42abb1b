"""From the spline parameters of an estimator to a profiler: threshold, variance, penalty."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaggm.core.binned_variance import BinnedVariance, row_weights, weighted_total
from plaggm.core.confounder_bins import confounder_bins, one_bin
from plaggm.core.focused import PenaltyChoice, focused_penalty, reml_penalty
from plaggm.core.node_grams import NodeGrams
from plaggm.core.profile.profilers import SplineParts, SplineProfiler
from plaggm.core.profile.spline import (
    ProfiledSpline,
    SplineSystem,
    held_out_node_grams,
    profile_spline,
    rotated,
    smooth_system,
    spline_coefficients,
    spline_node_grams,
    spline_system,
)
from plaggm.core.spline_basis import SplineBasis, spline_basis
from plaggm.core.spline_design import SplineDesign
from plaggm.core.spline_inference import nuisance_errors, posterior_blocks, profile_nuisance
from plaggm.core.spline_statistics import (
    SplineStatistics,
    spline_statistics,
    split_statistics,
)
from plaggm.core.threads import single_threaded_blas
from plaggm.core.variance import residual_scale
from plaggm.core.variance_function import (
    VARIANCE_FUNCTIONS,
    RowVariance,
    VarianceData,
    VarianceFunction,
    constant_variance,
    learn_variance,
)
from plaggm.data import Confounder, as_positive, in_figures
from plaggm.estimators.nuisance_model import (
    no_clean_samples,
    rescale_and_average,
    undo_scale,
)
from plaggm.selection.parts import RowParts

Array = NDArray[np.float64]

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
CLEAN_PER_VARIABLE = 3


@dataclass(frozen=True, slots=True)
class SplineCurve:
    """R(g) as a combination of the basis functions.

    Attributes
    ----------
    basis : SplineBasis
    coefficients : ndarray of shape (M, p, p)
        Intercept shifts on the diagonal.
    """

    basis: SplineBasis
    coefficients: Array

    def __call__(self, points: Array) -> Array:
        """R at confounder values (k, m): shape (k, p, p)."""
        return np.tensordot(self.basis.evaluate(points), self.coefficients, axes=1)


@dataclass(frozen=True, slots=True)
class SplineModel:
    """A penalised spline with every parameter settled; see :class:`NuisanceModel`.

    Attributes
    ----------
    profiler : SplineProfiler or SplineParts
    node_grams : NodeGrams
    design : SplineDesign
    variance_function : VarianceFunction
    choice : PenaltyChoice
    confounder : ndarray of shape (n, m)
        Confounder values of the data, or a random sample of them where they were not kept.
    unconfounded : int
        See :class:`NuisanceModel`.
    """

    profiler: SplineProfiler | SplineParts
    node_grams: NodeGrams
    design: SplineDesign
    variance_function: VarianceFunction
    choice: PenaltyChoice
    confounder: Array
    unconfounded: int

    @property
    def threshold(self) -> Array:
        """In the confounder's units: shape (m,)."""
        return self.design.threshold

    @property
    def bandwidth(self) -> None:
        """A spline has none."""
        return

    @property
    def diagnostics(self) -> dict[str, float]:
        """The chosen penalty, and the degrees of freedom that the nuisance spends under it."""
        spent, choice = self.node_grams.smoother_trace, self.choice
        learnt = np.isnan(choice.smoothness)
        return {
            "tau": choice.tau,
            **({"kept": choice.retained_share} if learnt else {"smoothness": choice.smoothness}),
            "nuisance_degrees_of_freedom": float(spent.sum()),
            "nuisance_degrees_of_freedom_per_node": float(spent.mean()),
        }

    def held_out(self, b: Array, confounder: Array, n_threads: int) -> NodeGrams:
        """See :class:`NuisanceModel`."""
        profiler = self.profiler
        phi = profiler.basis.evaluate(confounder)
        statistics = spline_statistics(b, phi, self.variance_function.weights(confounder))
        system = spline_system(statistics, profiler.system.rotation)
        return held_out_node_grams(self.nuisance_fit(), system)

    def nuisance_fit(self) -> ProfiledSpline:
        """The fit that R is read from: under its own penalty where the fit's serves the target alone."""
        fit, system = self.profiler.fit, self.profiler.system
        return profile_nuisance(system, fit) if self.choice.focused else fit

    def log_variance(self, confounder: Array) -> Array:
        """See :class:`NuisanceModel`."""
        return self.variance_function.log_variance(confounder)

    def nuisance(self, omega: Array, sigma: Array, points: Array) -> Array:
        """See :class:`NuisanceModel`."""
        return self.curve(omega, sigma)(points)

    def curve(self, omega: Array, sigma: Array) -> SplineCurve:
        """See :class:`NuisanceModel`."""
        gamma = spline_coefficients(self.nuisance_fit(), undo_scale(omega, sigma))
        turned = np.einsum("ab,bij->aij", self.profiler.system.rotation, gamma)
        return SplineCurve(self.profiler.basis, rescale_and_average(turned, sigma))

    def nuisance_error(
        self, omega: Array, sigma: Array, points: Array, *, target: bool
    ) -> Array | None:
        """See :class:`NuisanceModel`; of the mixed model, see `plaggm.core.spline_inference`."""
        profiler = self.profiler
        blocks = posterior_blocks(profiler.system, self.nuisance_fit())
        phi = profiler.basis.evaluate(points) @ profiler.system.rotation
        noise = sigma * residual_scale(self.node_grams.rescaled(sigma), omega)
        errors = nuisance_errors(blocks, phi, noise, profiler.system.n, target=target)
        return rescale_and_average(errors, sigma)


def spline_model(
    b: Array,
    confounder: Confounder,
    *,
    threshold: Any,
    tau: Any,
    variance_function: bool,
    parts: RowParts | None = None,
    n_threads: int | None = None,
) -> SplineModel:
    """Learn the nuisance from all rows, choosing the threshold if asked to.

    Parameters
    ----------
    b : ndarray of shape (n, q)
        [Z, 1].
    confounder : Confounder
    threshold : "auto", float or array of shape (m,)
    tau : "focused", "reml" or float
    variance_function : bool
        Whether the confounder may inflate the variance.
    parts : RowParts, optional
        Sets of rows that the profiler is to know, instead of the rows.
    n_threads : int, optional

    Returns
    -------
    SplineModel
    """
    design = spline_design(
        confounder, b.shape[1], threshold=threshold, variance_function=variance_function
    )
    values = confounder.values
    pieces: tuple[SplineStatistics, ...] = ()
    # Thousands of small matrices: threads inside BLAS would only wait for each other.
    with single_threaded_blas():
        if parts is not None and not design.variance_basis.sides:
            phi = design.basis.evaluate(values)
            variance = constant_variance()
            pieces = split_statistics(b, phi, parts.labels, parts.count, n_threads=n_threads)
            total = weighted_total(pieces, np.ones(parts.count))
        else:
            variance, total = weigh_rows(b, values, design, n_threads)
        system, choice, fit = settle_penalty(total, design, tau)
    weights = row_weights(design, variance, values)
    rows = SplineProfiler(b, values, weights, design.basis, total, system, fit, n_threads)
    profiler: SplineProfiler | SplineParts = rows
    if pieces:
        profiler = SplineParts(pieces, design.basis, total, system, fit)
    elif parts is not None:
        profiler = rows.in_parts(parts.labels, parts.count)
    clean = clean_samples(values, design.threshold)
    grams = spline_node_grams(system, fit)
    return SplineModel(profiler, grams, design, variance, choice, values, clean)


def weigh_rows(
    b: Array, values: Array, design: SplineDesign, n_threads: int | None = None
) -> tuple[VarianceFunction, SplineStatistics]:
    """How the confounder inflates the noise, and the statistics of all rows weighted by it.

    Parameters
    ----------
    b : ndarray of shape (n, q)
    values : ndarray of shape (n, m)
        Confounders.
    design : SplineDesign
    n_threads : int, optional
    """
    data: VarianceData = RowVariance(lambda: [(b, values)], design.basis, n_threads)
    if design.one_pass:
        phi, labels = design.basis.evaluate(values), design.bins.labels(values)
        bins = split_statistics(b, phi, labels, design.bins.count, n_threads=n_threads)
        data = BinnedVariance(bins, design)
    variance = learn_variance(data, design.basis, design.variance_basis)
    return variance, data.statistics(variance)


def settle_penalty(
    total: SplineStatistics, design: SplineDesign, tau: Any
) -> tuple[SplineSystem, PenaltyChoice, ProfiledSpline]:
    """Choose the penalty on the statistics of all rows and profile the nuisance out under it."""
    system, roughness = smooth_system(total, design.basis)
    if isinstance(tau, str) and tau == "focused":
        choice = focused_penalty(system, roughness, design.basis.confounders)
    elif isinstance(tau, str):
        choice = reml_penalty(system, roughness)
    else:
        choice = reml_penalty(system, roughness, (float(tau),))
    system = rotated(system, choice.rotation)
    return system, choice, profile_spline(system, choice.penalty)


def spline_design(
    confounder: Confounder,
    q: int,
    *,
    threshold: Any,
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
        raise no_clean_samples(f"the smallest absolute confounder is {listed}", limits)
    clean = clean_samples(values, limits)
    if clean < q <= len(values) and not isinstance(threshold, str):
        warnings.warn(
            f"Only {clean} samples lie below the threshold {in_figures(limits)}, fewer than the {q} "
            "coefficients of a node's regression: the target rests on the smoothness of the nuisance "
            "rather than on unconfounded samples. Use a larger threshold, or threshold='auto'.",
            stacklevel=2,
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
        warnings.warn(
            f"No confounder exceeds its threshold ({in_figures(limits)}) in enough samples to learn its "
            "effect from: R is taken as zero and the plain model is fitted.",
            stacklevel=2,
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
    """The smallest of some quantiles of the absolute confounder that leaves enough clean samples.

    A threshold below the true one costs variance: fewer samples anchor the target. One above it takes
    confounded samples for clean. Below a tenth of the samples the first costs more than the second:
    with a twentieth the error of a simulated target was half as large again.

    Returns
    -------
    ndarray of shape (m,)
    """
    size = np.abs(confounder.values)
    fewest = enough_clean(len(size), q)
    for level in AUTO_QUANTILES:
        limits = np.quantile(size, level, axis=0)
        if clean_samples(confounder.values, limits) >= fewest:
            break
    return limits


def enough_clean(n: int, q: int) -> int:
    """Unconfounded samples that an automatic threshold has to leave."""
    return min(n, CLEAN_PER_VARIABLE * q)


def clean_samples(confounder: Array, threshold: Array) -> int:
    """Samples whose confounders are all at most their thresholds: the functions are additive."""
    return int(np.count_nonzero(np.all(np.abs(confounder) <= threshold, axis=1)))
