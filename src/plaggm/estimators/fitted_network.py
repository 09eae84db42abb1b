"""A fitted network: the problem, its solution at the chosen penalty, and quantities derived from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from plaggm.array_types import Array
from plaggm.core.confounding.confounding_test import ConfoundingTest
from plaggm.core.confounding.rearranged_test import calibrated_test
from plaggm.core.grams.node_grams import residual_variances
from plaggm.core.inference.missing_information import RetainedInformation
from plaggm.core.lasso.path import PathSolution
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.core.preparation.autoregression import run_positions
from plaggm.core.profile.profilers import SplineProfiler
from plaggm.core.spline.reference import ZERO, Reference, deviations
from plaggm.data.column_families import check_family_values
from plaggm.edge_table import EdgeTable
from plaggm.estimators.confounder_grid import SAMPLE_POINTS, well_observed_values
from plaggm.estimators.edge_inference import tested_pairs
from plaggm.estimators.family_model import FamilyModel, Splines
from plaggm.estimators.kernel_model import KernelModel
from plaggm.estimators.moderation import tested_moderation
from plaggm.estimators.network_methods import (
    choice_attributes,
    finite_score,
    known_threshold,
    network_attributes,
    scalar,
)
from plaggm.estimators.problem import FitProblem
from plaggm.estimators.reference_choice import reference_labels
from plaggm.estimators.sampling import draw_family_samples, draw_samples
from plaggm.estimators.serial import NO_RUNS, run_numbers
from plaggm.estimators.spec import FitSpec
from plaggm.estimators.spline_model import SplineModel
from plaggm.group_labels import LabelsLike
from plaggm.moderation_table import ModerationTable
from plaggm.network_matrices import partial_correlations
from plaggm.selection import Choice, DrawnGroups, GroupBootstrap, group_bootstrap
from plaggm.user_warnings import warn_user


@dataclass(frozen=True)
class FittedNetwork:
    """The network at the chosen penalty."""

    spec: FitSpec
    problem: FitProblem
    path: PathSolution
    choice: Choice

    @property
    def omega(self) -> Array:
        """Baseline network off the diagonal, intercepts on it: shape (p, p)."""
        omega: Array = self.path.omega[self.choice.step]
        return omega

    @property
    def alpha(self) -> float:
        """The chosen penalty."""
        return float(self.path.alphas[self.choice.step])

    @property
    def scale(self) -> Array:
        """Scale by which centred columns of X are divided, conditional deviations included: shape (p,)."""
        return self.problem.units.scale * self.problem.sigma

    @property
    def adjusted(self) -> bool:
        """Whether there is a confounder."""
        return bool(self.problem.confounder_names)

    @property
    def references(self) -> tuple[Reference, ...]:
        """Reference of every confounder, at which R is zero."""
        model = self.problem.model
        if isinstance(model, Splines):
            return model.design.references
        return (ZERO,) * len(self.problem.confounder_names)

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """Levels of every factor among the confounders, by its name."""
        named = zip(self.problem.confounder_names, self.problem.confounder_levels, strict=True)
        return {name: levels for name, levels in named if levels is not None}

    @property
    def at_reference(self) -> int | None:
        """Number of samples at which R is zero; None if R is zero only on average or at a single value."""
        limits, references = self.problem.model.threshold, self.references
        places = any(
            one.kind in ("zero", "level") or (one.kind == "value" and limit > 0.0)
            for one, limit in zip(references, limits, strict=True)
        )
        return self.problem.model.unconfounded if places or not references else None

    @cached_property
    def confounding(self) -> ConfoundingTest:
        """The test of R = 0 on the rows of the fit, computed on first access."""
        rows = self.problem.rows
        if not self.adjusted:
            raise ValueError("The model was fitted without confounder: there is nothing to test.")
        if self.problem.completion is not None:
            raise ValueError(
                "There is no test of rows with missing cells (missing='em'): completed rows would show the "
                "confounding that they were completed with. Test complete rows: "
                "plaggm.confounding_test(X.dropna(), ...), or missing='drop'."
            )
        if rows is None:
            raise ValueError(
                "There is no test: it needs all rows at once (fit, not fit_chunks or partial_fit)."
            )
        if isinstance(self.problem.model, FamilyModel):
            return self.problem.model.confounding_test(rows.labels.given_groups())
        z, values = rows.table()[:, :-1], rows.confounder
        distances, limits = self.deviations(values)
        serial = self.problem.preparation.serial
        if serial is not None:
            # The actual confounder is compared with shifted ones, so its effect on the means is restored.
            z = rows.x + serial.whitening.mean_effects(values, serial.position)
        runs = None if serial is None else serial.runs
        groups = rows.labels.given_groups()
        return calibrated_test(z, distances, limits, runs=runs, groups=groups)

    @cached_property
    @single_threaded_blas()
    def edge_table(self) -> EdgeTable:
        """Tests of all pairs, computed on first access."""
        return tested_pairs(self.problem, self.information)

    @cached_property
    def information(self) -> RetainedInformation | None:
        """Share of the information retained despite missing cells, computed on first access."""
        problem = self.problem
        if problem.completion is None:
            return None
        assert isinstance(problem.model, SplineModel)
        return problem.completion.information(problem.model.profiler.total, problem.units)

    @cached_property
    @single_threaded_blas()
    def moderation(self) -> ModerationTable:
        """Tests of which edges change with which confounder, computed on first access."""
        points = well_observed_values(self.problem.model.confounder, SAMPLE_POINTS)
        return tested_moderation(self.problem, self.omega, points, self.information)

    @property
    def edges(self) -> Array:
        """Partial correlations of the edges, zero elsewhere: shape (p, p).

        Unpenalised estimates of the pairs that tests declare, or the entries of omega.
        """
        if self.spec.edges == "fdr":
            return self.edge_table.network(self.spec.fdr)
        found = partial_correlations(self.omega)
        np.fill_diagonal(found, 0.0)
        return found

    def attributes(self) -> dict[str, object]:
        """Fitted attributes of an estimator."""
        problem, path, model, step = self.problem, self.path, self.problem.model, self.choice.step
        found: dict[str, object] = {
            **problem.columns.attributes,
            **network_attributes(
                self.omega,
                problem.units.location,
                self.scale,
                problem.columns.names,
                gaussian=self.spec.gaussian,
            ),
            "alpha_": self.alpha,
            "dual_gap_": float(path.gaps[step]),
            "n_iter_": max(int(path.n_iter[step]), 1),
            "nuisance_df_": problem.node_grams.smoother_trace,
            "confounder_names_": problem.confounder_names,
            "reference_": reference_labels(
                problem.confounder_names, self.references, problem.confounder_levels
            ),
            "levels_": self.levels,
            "threshold_": known_threshold(model.threshold) if self.adjusted else None,
            "bandwidth_": scalar(model.bandwidth),
            "tau_": model.diagnostics.get("tau"),
        }
        if self.adjusted and isinstance(model, Splines):
            found["design_"] = model.design
        if isinstance(model, FamilyModel):
            found["families_"] = model.columns.families
        serial = problem.preparation.serial
        if serial is not None:
            found["ar_coefficients_"] = serial.whitening.autoregression.coefficients
        if self.spec.penalties.criterion != "given":
            found |= {"alphas_": path.alphas, "omega_path_": path.omega, "dual_gaps_": path.gaps}
        return found | choice_attributes(self.choice)

    def warn(self) -> None:
        """Warn of penalties at which the lasso has not converged."""
        gaps, tol = self.path.gaps, self.spec.tol
        missed = int(np.count_nonzero(gaps > tol))
        if missed:
            warn_user(
                f"The lasso did not reach tol={tol:g} at {missed} of {len(gaps)} penalties "
                f"(largest {'duality gap' if self.spec.gaussian else 'violation'} {gaps.max():.2g}, at the "
                f"chosen one {gaps[self.choice.step]:.2g}). Small penalties on nearly singular data "
                "converge slowly: raise max_iter or tol, or leave the smallest penalties out.",
                ConvergenceWarning,
            )

    def nuisance(self, points: Array) -> Array:
        """R at confounder values (k, m): shape (k, p, p)."""
        return self.problem.model.curve(self.omega, self.problem.sigma)(points)

    def nuisance_error(self, points: Array, *, baseline: bool) -> Array | None:
        """Pointwise standard errors of R, or of Ω0 + R with ``baseline``; None if the smoother has none."""
        found = self.problem.model.nuisance_error(
            self.omega, self.problem.sigma, points, baseline=baseline
        )
        if found is None or self.information is None:
            return found
        # The model counts the effective number of complete rows of a typical pair. Where R is zero by
        # definition it has no error, even for pairs that no row observes, whose other errors are infinite.
        zero = np.zeros_like(found)
        return np.multiply(found, self.information.errors(), out=zero, where=found > 0.0)

    def prepared(self, x: Array, confounder: Array | None, runs: LabelsLike | None) -> Array:
        """New rows, transformed as the rows of the fit were.

        Parameters
        ----------
        x : ndarray of shape (n, p)
        confounder : ndarray of shape (n, m) or None
        runs : array of shape (n,), optional
            Run of every row.
        """
        preparation = self.problem.preparation
        if runs is not None and preparation.serial is None:
            raise ValueError(NO_RUNS)
        values = np.zeros((len(x), 0)) if confounder is None else confounder
        position = run_positions(run_numbers(runs, None, len(x)))
        return next(preparation.each([(x, values)], position))[0]

    def score(self, x: Array, confounder: Array | None, weights: Array) -> float:
        """Weighted mean log pseudo-likelihood of new samples.

        Parameters
        ----------
        x : ndarray of shape (n, p)
        confounder : ndarray of shape (n, m) or None
        weights : ndarray of shape (n,)
        """
        problem, model = self.problem, self.problem.model
        # Divided by the largest first, since their sum could overflow.
        weights = weights / weights.max()
        weights = weights / weights.mean()
        values = np.zeros((len(x), 0)) if confounder is None else confounder
        if isinstance(model, FamilyModel):
            check_family_values(x, model.columns.families, problem.columns.names)
            found = model.log_likelihood(x, values, self.omega)
            return finite_score(float(np.mean(weights * found)))
        assert isinstance(model, SplineModel | KernelModel)
        # All terms of the score are sums of products of two entries of a row.
        b = problem.units.table(x) * np.sqrt(weights)[:, None]
        inflation = float(np.mean(weights * model.variance_function.log_variance(values)))
        grams = model.held_out(b, values, self.spec.n_threads)
        residual = residual_variances(grams.rescaled(problem.sigma), self.omega)
        p = x.shape[1]
        constant = 0.5 * p * np.log(2.0 * np.pi) + np.sum(np.log(self.scale))
        return finite_score(-0.5 * residual.sum() - 0.5 * p * inflation - constant)

    def sample(self, n_samples: int, points: Array | None, rng: np.random.RandomState) -> Array:
        """Samples in the units of X, from the baseline network or at confounder values (k, m).

        Returns
        -------
        ndarray of shape (n_samples, p) or (k * n_samples, p)
        """
        model, omegas, spreads = self.problem.model, self.omega[None], np.ones(1)
        if points is not None:
            omegas = self.omega + self.nuisance(points)
        if isinstance(model, FamilyModel):
            return draw_family_samples(model.columns, omegas, n_samples, rng)
        if points is not None:
            spreads = np.exp(0.5 * model.variance_function.log_variance(points))
        drawn = [
            draw_samples(omega, n_samples, rng, float(spread))
            for omega, spread in zip(omegas, spreads, strict=True)
        ]
        everything = np.concatenate(drawn) if drawn else np.empty((0, len(self.omega)))
        samples = everything * self.scale + self.problem.units.location
        margins = self.problem.preparation.margins
        return samples if margins is None else margins.inverse(samples)

    def bootstrap(self, n_resamples: int, rng: np.random.RandomState) -> GroupBootstrap:
        """Estimates from groups, or from rows if there are no groups, drawn with replacement."""
        groups = self._drawn_groups()
        if groups is None:
            raise ValueError(
                "bootstrap draws the groups of the fit, of which there are none, or complete rows that "
                "fit() had in memory, for smoother='spline'. Fit with groups=, one value for each row (a "
                "subject, a batch)."
            )
        return group_bootstrap(
            groups,
            self.alpha,
            scale=self.problem.sigma,
            symmetry=self.spec.symmetry,
            tol=self.spec.tol,
            max_iter=self.spec.max_iter,
            n_resamples=n_resamples,
            random_state=rng,
            n_jobs=self.spec.n_jobs,
            verbose=self.spec.verbose,
        )

    def _drawn_groups(self) -> DrawnGroups | None:
        """The groups of the fit, or else its rows if they are in memory; None without both."""
        model, numbers = self.problem.model, self.problem.group_numbers()
        if isinstance(model, FamilyModel):
            return model.profiler if numbers is None else model.resampled_groups(numbers)
        if self.problem.groups is not None or self.problem.completion is not None:
            return self.problem.groups
        rows = model.profiler if isinstance(model, SplineModel) else None
        return rows if isinstance(rows, SplineProfiler) else None

    def deviations(self, confounder: Array) -> tuple[Array, Array]:
        """See :func:`plaggm.core.spline.reference.deviations`."""
        return deviations(confounder, self.problem.model.threshold, self.references)
