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
from plaggm.estimators.threshold_choice import settled_threshold
from plaggm.selection.parts import RowParts

if TYPE_CHECKING:
    from plaggm.estimators.plaggm import PLAGGM

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Validated and scaled data with their profiler.

    Attributes
    ----------
    n : int
        Rows.
    location, scale : ndarray of shape (p,)
        The model is one of Z = (X - location) / scale.
    confounder_names : tuple of str
    model : NuisanceModel or None
    profiler : Profiler
    node_grams : NodeGrams
        Of all rows, columns divided by ``sigma``.
    sigma : ndarray of shape (p,)
        Conditional standard deviations of the columns of Z.
    rows : ndarray of shape (n, p) or None
        Z, where the rows were at hand together with a confounder.
    """

    n: int
    location: Array
    scale: Array
    confounder_names: tuple[str, ...]
    model: NuisanceModel | None
    profiler: Profiler
    node_grams: NodeGrams
    sigma: Array
    rows: Array | None = None


def prepare(
    estimator: PLAGGM,
    x: Array,
    confounder: Confounder | None,
    n_threads: int,
    bandwidth: Array | None = None,
    parts: RowParts | None = None,
) -> Prepared:
    """Scale the data, remove the nuisance and divide by the conditional standard deviations.

    ``bandwidth`` replaces the estimator's own where it is given. With ``parts`` the profiler of a spline
    knows these instead of the rows.
    """
    n, p = x.shape
    location, scale = np.zeros(p), np.ones(p)
    if standardizes(estimator):
        location, scale = x.mean(axis=0), x.std(axis=0)
    b = np.column_stack([(x - location) / scale, np.ones(n)])
    model: NuisanceModel | None = None
    profiler: Profiler = PooledProfiler(b)
    if confounder is not None:
        model = _nuisance_model(estimator, b, confounder, n_threads, bandwidth, parts)
        profiler = model.profiler
    node_grams = profiler.fitted() if model is None else model.node_grams
    names = () if confounder is None else confounder.names
    sigma = node_scale(estimator, node_grams)
    scaled = node_grams.rescaled(sigma)
    rows = None if model is None else b[:, :-1]
    return Prepared(n, location, scale, names, model, profiler, scaled, sigma, rows)


def standardizes(estimator: PLAGGM) -> bool:
    """Whether the columns are centred and scaled first."""
    if estimator.standardize == "auto":
        return bool(estimator.variance != "unit")
    return bool(estimator.standardize)


def node_scale(estimator: PLAGGM, node_grams: NodeGrams) -> Array:
    """Conditional standard deviations of the nodes, ones for ``variance="unit"``: shape (p,)."""
    if estimator.variance == "unit":
        return np.ones(node_grams.p)
    return conditional_scale(node_grams, estimator.symmetry).scale  # type: ignore[arg-type]


def _nuisance_model(
    estimator: PLAGGM,
    b: Array,
    confounder: Confounder,
    n_threads: int,
    bandwidth: Array | None,
    parts: RowParts | None,
) -> NuisanceModel:
    """Learn the nuisance as the estimator's parameters say."""
    inflation = estimator.variance == "function"
    if not isinstance(estimator.bandwidth, str):
        as_positive(estimator.bandwidth, "bandwidth", confounder.names)
    if estimator.smoother == "spline":
        return spline_model(
            b,
            confounder,
            threshold=settled_threshold(estimator, b[:, :-1], confounder, n_threads),
            tau=estimator.tau,
            variance_function=inflation,
            parts=parts,
            n_threads=n_threads,
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
