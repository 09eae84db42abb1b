"""Standard errors and degrees of freedom of the nuisance against dense matrices, one node at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from plaggm.core.inference.spline_inference import (
    REFERENCE_TAU,
    baseline_disagreement,
    nuisance_errors,
    posterior_blocks,
    profile_nuisance,
)
from plaggm.core.nuisance.node_regressions import least_squares_network
from plaggm.core.profile.spline import (
    MEAN_RIDGE,
    ProfiledSpline,
    effective_degrees,
    profile_spline,
    smoothing_penalty,
    spline_coefficients,
    spline_node_grams,
)
from plaggm.core.spline.basis import SplineBasis, spline_basis
from plaggm.core.spline.statistics import spline_statistics
from plaggm.core.spline.system import SplineSystem, smooth_system, spline_system

# Two ways of inverting the same matrices; the trace of ridge on the target is 1e-8.
AGREEMENT = 1e-6

P, N = 4, 200
Q = P + 1
NODES = range(P)
penalties = pytest.mark.parametrize(
    ("tau", "smoothness"), [(1e-2, 0.0), (1.0, 3.0), (100.0, 3000.0)]
)


@dataclass(frozen=True)
class Problem:
    b: np.ndarray
    g: np.ndarray
    weights: np.ndarray
    basis: SplineBasis
    system: SplineSystem
    roughness: np.ndarray

    def fit(self, tau: float, smoothness: float = 0.0) -> ProfiledSpline:
        return profile_spline(self.system, smoothing_penalty(self.roughness, tau, smoothness))

    def design(self, j: int, penalty: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weighted X (n, p), D (n, M p) and the penalty of D's columns (M p,), without node j."""
        root = np.sqrt(self.weights)[:, None]
        x = np.delete(self.b, j, axis=1) * root
        turned = self.basis.evaluate(self.g) @ self.system.rotation
        d = np.hstack([function[:, None] * x for function in turned.T])
        columns = np.append(
            np.tile(penalty, (P - 1, 1)), [np.full(len(penalty), MEAN_RIDGE)], axis=0
        )
        return x, d, columns.T.ravel()


@pytest.fixture(scope="module")
def problem() -> Problem:
    rng = np.random.default_rng(0)
    g = rng.uniform(-1.0, 1.0, (N, 1))
    z = rng.normal(size=(N, P))
    z[:, 1] += (0.4 + np.maximum(np.abs(g[:, 0]) - 0.2, 0.0)) * z[:, 0]
    b = np.column_stack([z, np.ones(N)])
    basis = spline_basis(g, np.array([0.2]), functions=3, degree=2)
    weights = rng.uniform(0.5, 1.5, N)
    system, roughness = smooth_system(spline_statistics(b, basis.evaluate(g), weights), basis)
    return Problem(b, g, weights, basis, system, roughness)


@penalties
def test_degrees_of_freedom_are_the_trace_of_the_smoother(
    problem: Problem, tau: float, smoothness: float
) -> None:
    fit = problem.fit(tau, smoothness)
    found = effective_degrees(fit, Q)
    for j in NODES:
        _, d, penalty = problem.design(j, fit.penalty)
        hat = d @ np.linalg.solve(d.T @ d + N * np.diag(penalty), d.T)
        assert found[j] == pytest.approx(np.trace(hat), rel=AGREEMENT)
    np.testing.assert_array_equal(spline_node_grams(problem.system, fit).smoother_trace, found)


def test_degrees_of_freedom_between_free_means_and_free_networks(problem: Problem) -> None:
    functions = problem.system.functions
    pooled = effective_degrees(problem.fit(1e12), Q)
    np.testing.assert_allclose(pooled, functions, rtol=1e-4)
    free = effective_degrees(problem.fit(1e-10), Q)
    np.testing.assert_allclose(free, functions * P, rtol=1e-4)


def test_no_function_no_degree(problem: Problem) -> None:
    nothing = np.zeros((0, 0))
    system = spline_system(spline_statistics(problem.b, np.zeros((N, 0))), nothing)
    np.testing.assert_array_equal(effective_degrees(profile_spline(system, np.zeros(0)), Q), 0.0)


def dense_covariance(problem: Problem, fit: ProfiledSpline, j: int) -> np.ndarray:
    """(1 + M, p, 1 + M, p): covariance of node j's target and nuisance, for unit noise."""
    x, d, penalty = problem.design(j, fit.penalty)
    whole = np.hstack([x, d])
    prior = np.diag(np.concatenate([np.zeros(P), N * penalty]))
    size = 1 + problem.system.functions
    return np.linalg.inv(whole.T @ whole + prior).reshape(size, P, size, P)


@penalties
def test_posterior_of_every_pair(problem: Problem, tau: float, smoothness: float) -> None:
    fit = problem.fit(tau, smoothness)
    blocks = posterior_blocks(problem.system, fit)
    for j in NODES:
        dense = dense_covariance(problem, fit, j)
        for place, k in enumerate(np.delete(np.arange(Q), j)):
            found = blocks[j, k if k < P else j] / N
            np.testing.assert_allclose(
                found, dense[:, place, :, place], atol=AGREEMENT * np.abs(dense).max()
            )


@pytest.mark.parametrize("baseline", [True, False])
def test_standard_errors_along_the_confounder(problem: Problem, baseline: bool) -> None:
    fit = problem.fit(0.3, 3.0)
    at = np.array([[-0.9], [0.1], [0.5]])
    phi = problem.basis.evaluate(at) @ problem.system.rotation
    noise = np.array([0.5, 1.0, 2.0, 1.5])
    blocks = posterior_blocks(problem.system, fit)
    found = nuisance_errors(blocks, phi, noise, N, baseline=baseline)
    for j in NODES:
        dense = dense_covariance(problem, fit, j)
        others = np.delete(np.arange(Q), j)
        for point, functions in enumerate(phi):
            c = np.append(float(baseline), functions)
            for place, k in enumerate(others):
                expected = noise[j] * np.sqrt(c @ dense[:, place, :, place] @ c)
                row = k if k < P else j
                assert found[point, row, j] == pytest.approx(expected, rel=1e-4, abs=1e-12)
    if not baseline:
        assert np.all(found[1] == 0.0)


class TestOwnPenalty:
    def test_moments_of_the_nearly_free_coefficients(self, problem: Problem) -> None:
        fit = problem.fit(50.0)
        found = profile_nuisance(problem.system, fit).penalty
        reference = problem.fit(REFERENCE_TAU)
        omega, residual = least_squares_network(problem.system, reference.penalty)
        gamma = spline_coefficients(reference, omega)
        for a in range(problem.system.functions):
            energy, of_noise = [], []
            for j in NODES:
                _, d, penalty = problem.design(j, reference.penalty)
                hat = d @ np.linalg.solve(d.T @ d + N * np.diag(penalty), d.T)
                noise = residual[j] * N / (N - P - np.trace(hat))
                dense = dense_covariance(problem, reference, j)
                for place, k in enumerate(np.delete(np.arange(P), j)):
                    energy.append(gamma[a, k, j] ** 2 / noise)
                    of_noise.append(dense[1 + a, place, 1 + a, place])
            uncertain = np.sqrt(2.0 * np.mean(np.square(of_noise)) / (P * (P - 1) / 2))
            signal = max(np.mean(energy) - np.mean(of_noise), 0.0) + 0.25 * uncertain
            assert found[a] == pytest.approx(1.0 / (N * signal), rel=1e-4)

    def test_few_samples_keep_the_penalty_of_the_fit(self, problem: Problem) -> None:
        few = slice(0, 20)
        statistics = spline_statistics(problem.b[few], problem.basis.evaluate(problem.g[few]))
        system, roughness = smooth_system(statistics, problem.basis)
        fit = profile_spline(system, smoothing_penalty(roughness, 2.0))
        assert profile_nuisance(system, fit) is fit


class TestDisagreement:
    def test_against_explicit_regressions(self, problem: Problem) -> None:
        fit = problem.fit(0.1)
        clean = problem.b[np.abs(problem.g[:, 0]) <= 0.2]
        first, second, spread, noise = (np.zeros((P, P)) for _ in range(4))
        for j in NODES:
            others = np.delete(np.arange(P), j)
            x, d, penalty = problem.design(j, fit.penalty)
            y = problem.b[:, j] * np.sqrt(problem.weights)
            hat = d @ np.linalg.solve(d.T @ d + N * np.diag(penalty), d.T)
            gram = x.T @ x - x.T @ hat @ x
            slopes = np.linalg.solve(gram, x.T @ (y - hat @ y))
            rest = y - x @ slopes
            variance = rest @ (rest - hat @ rest) / (N - P - np.trace(hat))
            alone = np.delete(clean, j, axis=1)
            few = np.linalg.lstsq(alone, clean[:, j])[0]
            rough = np.diagonal(np.linalg.inv(alone.T @ alone))
            known = np.diagonal(np.linalg.inv(gram))
            first[j, others], second[j, others] = slopes[:-1], few[:-1]
            spread[j, others] = np.sqrt(np.maximum(rough - known, 0.0))[:-1]
            noise[j] = np.sqrt(variance)
        z = []
        for j in NODES:
            for k in range(j + 1, P):
                ratio = noise[k, 0] / noise[j, 0]
                gap = (second - first)[j, k] * ratio + (second - first)[k, j] / ratio
                z.append(gap / (spread[j, k] * noise[k, 0] + spread[k, j] * noise[j, 0]))
        found = baseline_disagreement(problem.system, fit, clean)
        assert found == pytest.approx(np.sqrt(np.mean(np.square(z))), rel=1e-4)

    def test_too_few_clean_rows(self, problem: Problem) -> None:
        fit = problem.fit(0.1)
        assert np.isnan(baseline_disagreement(problem.system, fit, problem.b[: P + 1]))
