"""From the spline parameters of an estimator to a profiler: threshold, variance, penalty."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaggm.core.focused import PenaltyChoice, fixed_penalty, focused_penalty, reml_penalty
from plaggm.core.node_grams import NodeGrams
from plaggm.core.profile.profilers import SplineProfiler
from plaggm.core.profile.spline import (
    SplineSystem,
    held_out_node_grams,
    profile_spline,
    spline_coefficients,
    spline_node_grams,
    spline_system,
)
from plaggm.core.spline_basis import SplineBasis, spline_basis
from plaggm.core.spline_statistics import spline_statistics
from plaggm.core.threads import single_threaded_blas
from plaggm.core.variance_function import (
    VarianceFunction,
    constant_variance,
    fit_variance_function,
)
from plaggm.data import Confounder, as_positive
from plaggm.estimators.nuisance_model import (
    no_clean_samples,
    rescale_and_average,
    undo_scale,
)

Array = NDArray[np.float64]

FUNCTIONS = 3
DEGREE = 2
# Samples for each coefficient of a node's regression, below which functions are given up.
SAMPLES_PER_COEFFICIENT = 3
# Quantiles of |confounder| that threshold="auto" tries, smallest first.
AUTO_QUANTILES = np.arange(0.1, 0.91, 0.05)
# Unconfounded samples that threshold="auto" asks for, for each variable.
CLEAN_PER_VARIABLE = 3


@dataclass(frozen=True, slots=True)
class SplineModel:
    """A penalised spline with every parameter settled; see :class:`NuisanceModel`.

    Attributes
    ----------
    profiler : SplineProfiler
    node_grams : NodeGrams
    threshold : ndarray of shape (m,)
    variance_function : VarianceFunction
    choice : PenaltyChoice
    """

    profiler: SplineProfiler
    node_grams: NodeGrams
    threshold: Array
    variance_function: VarianceFunction
    choice: PenaltyChoice

    @property
    def bandwidth(self) -> None:
        """A spline has none."""
        return

    @property
    def confounder(self) -> Array:
        """Confounder values of the data: shape (n, m)."""
        return self.profiler.confounder

    @property
    def unconfounded(self) -> int:
        """See :class:`NuisanceModel`."""
        return clean_samples(self.confounder, self.threshold)

    @property
    def diagnostics(self) -> dict[str, float]:
        """The chosen penalty."""
        return {"tau": self.choice.tau, "smoothness": self.choice.smoothness}

    def held_out(self, b: Array, confounder: Array, n_threads: int) -> NodeGrams:
        """See :class:`NuisanceModel`."""
        profiler = self.profiler
        phi = profiler.basis.evaluate(confounder)
        statistics = spline_statistics(b, phi, self.variance_function.weights(confounder))
        rotation = (profiler.system.rotation, profiler.system.roughness)
        system = spline_system(statistics, profiler.basis, rotation=rotation)
        return held_out_node_grams(profiler.fit, system)

    def log_variance(self, confounder: Array) -> Array:
        """See :class:`NuisanceModel`."""
        return self.variance_function.log_variance(confounder)

    def nuisance(self, omega: Array, sigma: Array, points: Array) -> Array:
        """See :class:`NuisanceModel`."""
        gamma = spline_coefficients(self.profiler.fit, undo_scale(omega, sigma))
        phi = self.profiler.basis.evaluate(points) @ self.profiler.system.rotation
        return rescale_and_average(np.einsum("ka,aij->kij", phi, gamma), sigma)


def spline_model(
    b: Array, confounder: Confounder, *, threshold: Any, tau: Any, variance_function: bool
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

    Returns
    -------
    SplineModel
    """
    if isinstance(threshold, str):
        limits = auto_threshold(confounder, b.shape[1])
    else:
        limits = as_positive(threshold, "threshold", confounder.names, zero=True)
    if not np.all(np.any(np.abs(confounder.values) <= limits, axis=0)):
        smallest = np.abs(confounder.values).min(axis=0)
        pairs = zip(confounder.names, smallest, strict=True)
        listed = ", ".join(f"{name}: {value:.4g}" for name, value in pairs)
        raise no_clean_samples(f"the smallest absolute confounder is {listed}", limits)
    model = _fit(b, confounder, limits, tau, variance_function)
    if not model.profiler.basis.sides:
        warnings.warn(
            f"No confounder exceeds its threshold ({limits.tolist()}) in enough samples to learn its "
            "effect from: R is taken as zero and the plain model is fitted.",
            stacklevel=2,
        )
    return model


def nuisance_basis(confounder: Confounder, limits: Array, n: int, q: int) -> SplineBasis:
    """As many functions as the samples can bear."""
    sides = len(spline_basis(confounder.values, limits, functions=1, degree=1).sides)
    bearable = (n / (SAMPLES_PER_COEFFICIENT * q) - 1.0) / max(sides, 1)
    functions = int(np.clip(bearable, 1, FUNCTIONS))
    return spline_basis(confounder.values, limits, functions=functions, degree=DEGREE)


def _fit(
    b: Array, confounder: Confounder, limits: Array, tau: Any, variance_function: bool
) -> SplineModel:
    n, q = b.shape
    values = confounder.values
    basis = nuisance_basis(confounder, limits, n, q)
    variance = constant_variance()
    # Thousands of small matrices: threads inside BLAS would only wait for each other.
    with single_threaded_blas():
        if variance_function and basis.sides:
            variance = fit_variance_function(b, values, basis, limits)
        weights = variance.weights(values)
        total = spline_statistics(b, basis.evaluate(values), weights)
        system = spline_system(total, basis)
        choice = choose_penalty(system, tau)
        fit = profile_spline(system, choice.tau, choice.smoothness)
    profiler = SplineProfiler(b, values, weights, basis, total, system, fit)
    return SplineModel(profiler, spline_node_grams(system, fit), limits, variance, choice)


def choose_penalty(system: SplineSystem, tau: Any) -> PenaltyChoice:
    """The penalty by name, or a given one."""
    if not isinstance(tau, str):
        return fixed_penalty(system, float(tau))
    return focused_penalty(system) if tau == "focused" else reml_penalty(system)


def auto_threshold(confounder: Confounder, q: int) -> Array:
    """The smallest of some quantiles of the absolute confounder that leaves enough clean samples.

    A threshold below the true one is safe: R is then estimated as small just beyond it. One above it
    takes confounded samples for clean. So the smallest that still anchors the target is chosen.

    Returns
    -------
    ndarray of shape (m,)
    """
    size = np.abs(confounder.values)
    fewest = min(len(size), CLEAN_PER_VARIABLE * q)
    for level in AUTO_QUANTILES:
        limits = np.quantile(size, level, axis=0)
        if clean_samples(confounder.values, limits) >= fewest:
            break
    return limits


def clean_samples(confounder: Array, threshold: Array) -> int:
    """Samples whose confounders are all at most their thresholds: the functions are additive."""
    return int(np.count_nonzero(np.all(np.abs(confounder) <= threshold, axis=1)))
