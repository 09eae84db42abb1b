"""The nuisance as a penalised spline, from the statistics of all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.grams.node_grams import GramMatrices
from plaggm.core.inference.missing_information import effective_statistics, typical_share
from plaggm.core.inference.spline_inference import (
    nuisance_errors,
    posterior_blocks,
    profile_nuisance,
)
from plaggm.core.nuisance.focused import PenaltyChoice, focused_penalty, reml_penalty
from plaggm.core.nuisance.prior import prior_form
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.core.profile.profilers import SplineProfiler, SplineSubsets
from plaggm.core.profile.spline import (
    ProfiledSpline,
    held_out_node_grams,
    profile_spline,
    spline_coefficients,
    spline_node_grams,
)
from plaggm.core.spline.basis import SplineBasis
from plaggm.core.spline.design import SplineDesign
from plaggm.core.spline.statistics import SplineStatistics, spline_statistics
from plaggm.core.spline.system import SplineSystem, rotated, smooth_system, spline_system
from plaggm.core.variance.binned import row_weights
from plaggm.core.variance.conditional import residual_scale
from plaggm.core.variance.variance_function import VarianceFunction
from plaggm.estimators.nuisance_model import rescale_and_average, undo_scale
from plaggm.estimators.row_statistics import RowStatistics
from plaggm.parameter_types import Tau


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
    """A fitted penalised spline; see :class:`NuisanceModel`.

    Attributes
    ----------
    profiler : SplineProfiler or SplineSubsets
    node_grams : GramMatrices
    design : SplineDesign
    variance_function : VarianceFunction
    choice : PenaltyChoice
    confounder : ndarray of shape (n, m)
        Confounder values of the data, or a random sample of them after ``partial_fit``.
    unconfounded : int
        See :class:`NuisanceModel`.
    """

    profiler: SplineProfiler | SplineSubsets
    node_grams: GramMatrices
    design: SplineDesign
    variance_function: VarianceFunction
    choice: PenaltyChoice
    confounder: Array
    unconfounded: int

    @property
    def threshold(self) -> Array:
        """Threshold of every confounder, in its units: shape (m,)."""
        return self.design.threshold

    @property
    def bandwidth(self) -> None:
        """None: a spline has no bandwidth."""
        return

    @property
    def diagnostics(self) -> dict[str, float]:
        """The chosen penalty, and the degrees of freedom of the nuisance under it."""
        spent, choice = self.node_grams.smoother_trace, self.choice
        if not self.design.m:
            return {}
        learnt = np.isnan(choice.smoothness)
        return {
            "tau": choice.tau,
            **({"kept": choice.retained_share} if learnt else {"smoothness": choice.smoothness}),
            "nuisance_degrees_of_freedom": float(spent.sum()),
            "nuisance_degrees_of_freedom_per_node": float(spent.mean()),
        }

    def held_out(self, b: Array, confounder: Array, n_threads: int) -> GramMatrices:
        """Node Grams of new rows, with the nuisance learnt from the rows of the fit."""
        profiler = self.profiler
        phi = profiler.basis.evaluate(confounder)
        weights = self.variance_function.weights(confounder)
        statistics = spline_statistics(b, phi, weights, n_threads=n_threads)
        system = spline_system(statistics, profiler.system.rotation)
        return held_out_node_grams(self.nuisance_fit(), system)

    def without(self, index: Index) -> SplineModel:
        """The spline fitted without some of the rows in memory; see :meth:`SplineProfiler.without`."""
        assert isinstance(self.profiler, SplineProfiler)
        profiler = self.profiler.without(index)
        return replace(
            self, profiler=profiler, node_grams=spline_node_grams(profiler.system, profiler.fit)
        )

    def nuisance_fit(self) -> ProfiledSpline:
        """The fit from which R is computed: under a separate penalty if that of the fit is focused."""
        fit, system = self.profiler.fit, self.profiler.system
        return profile_nuisance(system, fit) if self.choice.focused else fit

    def curve(self, omega: Array, sigma: Array) -> SplineCurve:
        """See :class:`NuisanceModel`."""
        gamma = spline_coefficients(self.nuisance_fit(), undo_scale(omega, sigma))
        rotated_back = np.einsum("ab,bij->aij", self.profiler.system.rotation, gamma)
        return SplineCurve(self.profiler.basis, rescale_and_average(rotated_back, sigma))

    def nuisance_error(
        self, omega: Array, sigma: Array, points: Array, *, baseline: bool
    ) -> Array | None:
        """See :class:`NuisanceModel`; of the mixed model, see `plaggm.core.inference.spline_inference`."""
        profiler = self.profiler
        blocks = posterior_blocks(profiler.system, self.nuisance_fit())
        phi = profiler.basis.evaluate(points) @ profiler.system.rotation
        noise = sigma * residual_scale(self.node_grams.rescaled(sigma), omega)
        errors = nuisance_errors(blocks, phi, noise, profiler.system.n, baseline=baseline)
        return rescale_and_average(errors, sigma)


def spline_model(
    statistics: RowStatistics, tau: Tau, *, n_threads: int | None = None
) -> SplineModel:
    """Choose the penalty and learn the nuisance.

    Parameters
    ----------
    statistics : RowStatistics
    tau : "focused", "reml" or float
    n_threads : int, optional
    """
    design, total, rows = statistics.design, statistics.total, statistics.rows
    # For thousands of small matrices, threads of BLAS cost more than they save.
    with single_threaded_blas():
        system, choice, fit = settle_penalty(_informative(statistics), design, tau)
    profiler: SplineProfiler | SplineSubsets
    if statistics.by_rows and rows is not None:
        weights = row_weights(design, statistics.variance, rows.confounder)
        profiler = SplineProfiler(
            rows.scaled(), rows.confounder, weights, design.basis, total, system, fit, n_threads
        )
    else:
        profiler = SplineSubsets(statistics.subsets, design.basis, total, system, fit)
    return SplineModel(
        profiler,
        spline_node_grams(system, fit),
        design,
        statistics.variance,
        choice,
        statistics.confounder,
        statistics.unconfounded,
    )


def _informative(statistics: RowStatistics) -> SplineStatistics:
    """Statistics of all rows, scaled to the effective number of complete rows."""
    if statistics.completion is None:
        return statistics.total
    return effective_statistics(statistics.total, typical_share(statistics.completion.observed()))


def settle_penalty(
    total: SplineStatistics, design: SplineDesign, tau: Tau
) -> tuple[SplineSystem, PenaltyChoice, ProfiledSpline]:
    """Choose the penalty on the statistics of all rows and profile the nuisance out under it."""
    system, roughness = smooth_system(total, design.basis)
    if isinstance(tau, str) and tau == "focused":
        choice = focused_penalty(system, roughness, prior_form(design.basis, system.rotation))
    elif isinstance(tau, str):
        choice = reml_penalty(system, roughness)
    else:
        choice = reml_penalty(system, roughness, (float(tau),))
    system = rotated(system, choice.rotation)
    return system, choice, profile_spline(system, choice.penalty)
