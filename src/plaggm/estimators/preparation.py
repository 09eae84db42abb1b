"""From validated arrays to scaled node Grams: everything before the path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plaggm.core.node_grams import NodeGrams
from plaggm.core.profile.profilers import PooledProfiler, Profiler
from plaggm.core.variance import conditional_scale
from plaggm.data import Confounder, as_positive
from plaggm.estimators.kernel_model import kernel_model, resolve_bandwidth
from plaggm.estimators.nuisance_model import NuisanceModel
from plaggm.estimators.spline_model import spline_model

if TYPE_CHECKING:
    from plaggm.estimators.plaggm import PLAGGM

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Validated and scaled data with their profiler.

    Attributes
    ----------
    b : ndarray of shape (n, q)
        [Z, 1] with Z = (X - location) / scale.
    location, scale : ndarray of shape (p,)
    confounder : Confounder or None
    model : NuisanceModel or None
    profiler : Profiler
    node_grams : NodeGrams
        Of all rows, columns divided by ``sigma``.
    sigma : ndarray of shape (p,)
        Conditional standard deviations of the columns of Z.
    """

    b: Array
    location: Array
    scale: Array
    confounder: Confounder | None
    model: NuisanceModel | None
    profiler: Profiler
    node_grams: NodeGrams
    sigma: Array


def prepare(
    estimator: PLAGGM,
    x: Array,
    confounder: Confounder | None,
    n_threads: int,
    bandwidth: Array | None = None,
) -> Prepared:
    """Scale the data, remove the nuisance and divide by the conditional standard deviations.

    ``bandwidth`` replaces the estimator's own where it is given.
    """
    n, p = x.shape
    location, scale = np.zeros(p), np.ones(p)
    standardize = estimator.standardize
    if standardize == "auto":
        standardize = estimator.variance != "unit"
    if standardize:
        location, scale = x.mean(axis=0), x.std(axis=0)
    b = np.column_stack([(x - location) / scale, np.ones(n)])
    model: NuisanceModel | None = None
    profiler: Profiler = PooledProfiler(b)
    if confounder is not None:
        model = _nuisance_model(estimator, b, confounder, n_threads, bandwidth)
        profiler = model.profiler
    node_grams = profiler.fitted() if model is None else model.node_grams
    sigma = np.ones(p)
    if estimator.variance != "unit":
        sigma = conditional_scale(node_grams, estimator.symmetry).scale  # type: ignore[arg-type]
    return Prepared(
        b, location, scale, confounder, model, profiler, node_grams.rescaled(sigma), sigma
    )


def _nuisance_model(
    estimator: PLAGGM,
    b: Array,
    confounder: Confounder,
    n_threads: int,
    bandwidth: Array | None,
) -> NuisanceModel:
    """Learn the nuisance as the estimator's parameters say."""
    inflation = estimator.variance == "function"
    if not isinstance(estimator.bandwidth, str):
        as_positive(estimator.bandwidth, "bandwidth", confounder.names)
    if estimator.smoother == "spline":
        return spline_model(
            b,
            confounder,
            threshold=estimator.threshold,
            tau=estimator.tau,
            variance_function=inflation,
        )
    if bandwidth is None:
        bandwidth = resolve_bandwidth(estimator.bandwidth, confounder, b.shape[1] - 1)
    return kernel_model(
        b,
        confounder,
        kernel=estimator.kernel,
        indicator=estimator.indicator,
        form=estimator.form,
        bandwidth=bandwidth,
        threshold=estimator.threshold,
        ridge=float(estimator.ridge),
        variance_function=inflation,
        n_threads=n_threads,
    )
