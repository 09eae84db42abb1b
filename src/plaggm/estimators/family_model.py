"""A network of variables of several families whose nuisance is a penalised spline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.confounding.confounding_test import ConfoundingTest
from plaggm.core.families.change_tests import family_change_tests
from plaggm.core.families.columns import FamilyColumns
from plaggm.core.families.confounding_test import family_confounding_test
from plaggm.core.families.covariances import node_blocks
from plaggm.core.families.edge_tests import check_enough_rows, family_edge_tests
from plaggm.core.families.moderation_tests import family_moderation_tests
from plaggm.core.families.nodes import NuisancePenalty
from plaggm.core.families.path import FamilyPath, FamilySolver
from plaggm.core.families.posterior import UnpenalisedFit, unpenalised_fit
from plaggm.core.families.profile import FamilyGroups, FamilyProfiler
from plaggm.core.families.rows import FamilyRows, family_rows
from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.inference.change_tests import ChangeTests
from plaggm.core.inference.moderation_tests import orthonormal_functions
from plaggm.core.inference.nuisance_average import in_units
from plaggm.core.inference.pair_statistics import EdgeTests
from plaggm.core.inference.score_tests import ModerationTests
from plaggm.core.inference.spline_inference import nuisance_errors
from plaggm.core.nuisance.prior import prior_form
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.core.spline.design import SplineDesign
from plaggm.core.spline.system import SplineSystem, smooth_system
from plaggm.core.variance.variance_function import VarianceFunction
from plaggm.estimators.nuisance_model import rescale_and_average
from plaggm.estimators.spline_model import SplineCurve, SplineModel

# Tolerance on the violation of the optimality conditions, and largest number of steps, for the nuisance of
# a given network.
NUISANCE_TOL, NUISANCE_STEPS = 1e-8, 100


@dataclass(frozen=True)
class FamilyModel:
    """A fitted model of variables of several families; see :class:`NuisanceModel`.

    Attributes
    ----------
    spline : SplineModel
        Spline of the columns as they enter other nodes' predictors; gives the penalty of the nuisance.
    rows : FamilyRows
    path : FamilyPath
        Solutions at all penalties.
    profiler : FamilyProfiler
    node_grams : NodeGrams
        Quadratic models of the losses around the profiler's predictors.
    nuisance_penalty : NuisancePenalty
        Penalty under which R is estimated; that of the path may shrink R too much.
    rescaling : ndarray of shape (p,)
        Scale of the columns of the fit, relative to that of the columns of the spline.
    """

    spline: SplineModel
    rows: FamilyRows
    path: FamilyPath
    profiler: FamilyProfiler
    node_grams: NodeGrams
    nuisance_penalty: NuisancePenalty
    rescaling: Array

    @property
    def columns(self) -> FamilyColumns:
        """Families and units of the variables."""
        return self.rows.columns

    @property
    def design(self) -> SplineDesign:
        """Functions of the confounders."""
        return self.spline.design

    @property
    def threshold(self) -> Array:
        """See :class:`NuisanceModel`."""
        return self.spline.threshold

    @property
    def bandwidth(self) -> None:
        """None: a spline has no bandwidth."""
        return

    @property
    def confounder(self) -> Array:
        """See :class:`NuisanceModel`."""
        return self.spline.confounder

    @property
    def variance_function(self) -> VarianceFunction:
        """See :class:`NuisanceModel`: the variance of these families follows from the mean."""
        return self.spline.variance_function

    @property
    def unconfounded(self) -> int:
        """See :class:`NuisanceModel`."""
        return self.spline.unconfounded

    @property
    def diagnostics(self) -> dict[str, float]:
        """See :class:`NuisanceModel`."""
        if not self.design.m:
            return {}
        spent = self.node_grams.smoother_trace
        return {
            **self.spline.diagnostics,
            "nuisance_degrees_of_freedom": float(spent.sum()),
            "nuisance_degrees_of_freedom_per_node": float(spent.mean()),
        }

    def nuisance_coefficients(self, omega: Array) -> Array:
        """Coefficients of all nodes given a network (p, p), under the penalty of R: ((1 + M) q, p)."""
        return self._solved(omega).coefficients

    def log_likelihood(self, x: Array, confounder: Array, omega: Array) -> Array:
        """Log pseudo-likelihood of new rows: shape (n,).

        Parameters
        ----------
        x : ndarray of shape (n, p)
        confounder : ndarray of shape (n, m)
        omega : ndarray of shape (p, p)
            Network, intercepts on the diagonal.
        """
        rows = family_rows(x, self.design.basis.evaluate(confounder), self.columns)
        eta = rows.predictors(self.nuisance_coefficients(omega))
        return np.asarray(self.columns.log_likelihood(x, eta).sum(axis=1))

    def curve(self, omega: Array, sigma: Array) -> SplineCurve:
        """See :class:`NuisanceModel`."""
        p = len(omega)
        blocks = self.nuisance_coefficients(omega).reshape(-1, p + 1, p)[1:]
        gamma = blocks[:, :p].copy()
        index = np.arange(p)
        gamma[:, index, index] = blocks[:, p]
        return SplineCurve(self.design.basis, rescale_and_average(gamma, sigma))

    def nuisance_error(
        self, omega: Array, sigma: Array, points: Array, *, baseline: bool
    ) -> Array | None:
        """See :class:`NuisanceModel`; errors by Laplace's approximation."""
        solved = self._solved(omega)
        blocks, noise = node_blocks(self.rows, solved.eta, self.nuisance_penalty)
        phi = self.design.basis.evaluate(points)
        n = round(self.rows.n)
        return rescale_and_average(nuisance_errors(blocks, phi, noise, n, baseline=baseline), sigma)

    def edge_tests(self, groups: Index | None) -> tuple[EdgeTests, Index]:
        """Tests of all pairs, and the binary variables that others predict with certainty in some rows.

        Parameters
        ----------
        groups : ndarray of int of shape (n,) or None
            Number of every row's group; None without groups.
        """
        self._check_rows("the edges")
        with single_threaded_blas():
            return family_edge_tests(self._unpenalised, groups=groups)

    def change_tests(self, groups: Index | None) -> ChangeTests:
        """Tests of the change that adjusting makes to each pair; groups as in :meth:`edge_tests`."""
        self._check_rows("what adjusting changes")
        rotation = self._seen.rotation
        return family_change_tests(self.rows, self.path.coefficients[-1], rotation, groups)

    def moderation_tests(self, groups: Index | None) -> ModerationTests:
        """Tests of which pairs change with which confounder; groups as in :meth:`edge_tests`."""
        self._check_rows("which edges change")
        profiler = self.spline.profiler
        owners = profiler.basis.confounders
        rotation = orthonormal_functions(profiler.total, owners)
        with single_threaded_blas():
            return family_moderation_tests(self._unpenalised, rotation, owners, groups)

    def confounding_test(self, groups: Index | None) -> ConfoundingTest:
        """Test of R = 0; groups as in :meth:`edge_tests`."""
        start, rotation = self.path.coefficients[-1], self._seen.rotation
        return family_confounding_test(self.rows, start, rotation, groups)

    def resampled_groups(self, groups: Index) -> FamilyGroups:
        """Groups of rows, of which any number can be drawn."""
        return FamilyGroups(self.profiler, groups)

    def _check_rows(self, what: str) -> None:
        check_enough_rows(len(self.rows.x), self.rows.p, self.rows.phi.shape[1], what)

    @cached_property
    def _seen(self) -> SplineSystem:
        """Unweighted moments of the columns as they enter other nodes' predictors, in smooth functions."""
        profiler = self.spline.profiler
        system, _ = smooth_system(profiler.total, profiler.basis)
        return in_units(system, np.append(self.rescaling, 1.0))

    @cached_property
    def _unpenalised(self) -> UnpenalisedFit:
        """The fit without lasso, on which the tests of pairs are based."""
        form = prior_form(self.spline.profiler.basis, self._seen.rotation)
        return unpenalised_fit(self.rows, self.path.coefficients[-1], self._seen, form)

    def _solved(self, omega: Array) -> FamilySolver:
        """The nuisance of a network, computed once for each."""
        known = self._known
        key = omega.tobytes()
        if key not in known:
            solver = FamilySolver(self.rows, self.nuisance_penalty)
            solver.start(omega)
            solver.solve(np.inf, NUISANCE_TOL, NUISANCE_STEPS)
            known[key] = solver
        return known[key]

    @cached_property
    def _known(self) -> dict[bytes, FamilySolver]:
        return {}


# Models whose nuisance is a combination of a design's functions.
Splines: TypeAlias = SplineModel | FamilyModel
