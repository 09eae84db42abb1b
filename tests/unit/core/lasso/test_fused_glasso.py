"""The solver of the fused graphical lasso against literal minimisers, its dual, and GGLasso."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.covariance import graphical_lasso

from plaggm.core.lasso.fused_glasso import solve_fused_glasso, taut_string

# The solution of a strongly convex problem is as close as the root of its gap.
TIGHT = 1e-11
CLOSE = 2e-5


def correlations(count: int, p: int, rows: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    mix = np.eye(p) + 0.4 * rng.normal(size=(p, p))
    return np.stack([np.corrcoef((rng.normal(size=(rows, p)) @ mix).T) for _ in range(count)])


class TestTautString:
    def test_minimises_the_fused_objective(self) -> None:
        """Against the box-constrained dual: x = v - D'u with |u| at most the tube."""
        rng = np.random.default_rng(0)
        for count in (1, 2, 3, 5, 9, 14):
            for tube in (0.05, 0.5, 2.0):
                v = rng.normal(size=count)
                out = np.empty(count)
                taut_string(v, tube, out)
                d = np.diff(np.eye(count), axis=0)

                def dual(u: np.ndarray, v: np.ndarray = v, d: np.ndarray = d) -> tuple:
                    rest = v - d.T @ u
                    return 0.5 * rest @ rest, -d @ rest

                bounds = [(-tube, tube)] * (count - 1)
                settings = dict(ftol=1e-15, gtol=1e-12)
                u = (
                    minimize(dual, np.zeros(count - 1), jac=True, bounds=bounds, options=settings).x
                    if count > 1
                    else np.zeros(0)
                )
                np.testing.assert_allclose(out, v - d.T @ u, atol=1e-6)

    def test_no_tube_keeps_the_values_and_a_wide_one_their_mean(self) -> None:
        v = np.array([3.0, -1.0, 0.5, 0.5, 2.0])
        out = np.empty(5)
        taut_string(v, 0.0, out)
        np.testing.assert_allclose(out, v)
        taut_string(v, 100.0, out)
        np.testing.assert_allclose(out, v.mean())


class TestSolution:
    @pytest.mark.parametrize("p", [2, 30])
    def test_one_bin_is_the_graphical_lasso(self, p: int) -> None:
        s = correlations(1, p, 200, 1)
        found = solve_fused_glasso(s, 0.1, 0.7, tol=TIGHT, max_iter=5000)
        assert found.gap <= TIGHT
        _, expected = graphical_lasso(s[0], 0.1, tol=1e-9, enet_tol=1e-9, max_iter=500)
        np.testing.assert_allclose(found.precision[0], expected, atol=CLOSE)

    # GGLasso compiles its solver for a quarter of a minute.
    @pytest.mark.slow
    @pytest.mark.parametrize("alpha", [0.2, 0.05, 0.005])
    def test_equals_gglasso(self, alpha: float) -> None:
        solver = pytest.importorskip("gglasso.solver.admm_solver")
        s = correlations(5, 6, 80, 2)
        found = solve_fused_glasso(s, alpha, 0.5 * alpha, tol=TIGHT, max_iter=5000)
        start = np.tile(np.eye(6), (5, 1, 1))
        theirs, _ = solver.ADMM_MGL(
            s, alpha, 0.5 * alpha, "FGL", start, tol=1e-9, rtol=1e-9, max_iter=20_000
        )
        np.testing.assert_allclose(found.precision, theirs["Theta"], rtol=CLOSE, atol=CLOSE)

    def test_optimality_conditions(self) -> None:
        """W - S is a subgradient: of the entries where they and their differences are not zero."""
        alpha, beta = 0.08, 0.05
        s = correlations(4, 7, 100, 3)
        found = solve_fused_glasso(s, alpha, beta, tol=1e-13, max_iter=20_000)
        p = found.precision
        u = np.linalg.inv(p) - s
        np.testing.assert_allclose(np.einsum("kii->ki", u), 0.0, atol=1e-5)
        np.testing.assert_array_equal(p, np.swapaxes(p, 1, 2))
        rows, columns = np.triu_indices(7, 1)
        checked = 0
        for i, j in zip(rows, columns, strict=True):
            x, v = p[:, i, j], u[:, i, j]
            # Prefix sums of v less those of the sign part are the dual of the differences.
            if np.all(x != 0.0):
                flow = np.cumsum(v - alpha * np.sign(x))[:-1]
                steps = np.diff(x)
                assert np.all(np.abs(flow) <= beta + 1e-5)
                moving = steps != 0.0
                np.testing.assert_allclose(flow[moving], -beta * np.sign(steps[moving]), atol=1e-5)
                checked += 1
            elif not x.any():
                assert abs(v.sum()) <= len(x) * alpha + 1e-5
        assert checked > 3

    def test_the_start_does_not_matter(self) -> None:
        s = correlations(3, 5, 60, 4)
        cold = solve_fused_glasso(s, 0.05, 0.05, tol=TIGHT, max_iter=5000)
        start = solve_fused_glasso(s, 0.1, 0.1, tol=1e-4, max_iter=5000).precision
        kept = start.copy()
        warm = solve_fused_glasso(s, 0.05, 0.05, start=start, tol=TIGHT, max_iter=5000)
        np.testing.assert_allclose(cold.precision, warm.precision, atol=CLOSE)
        np.testing.assert_array_equal(start, kept)

    def test_a_singular_covariance_has_a_solution_beside_a_penalty(self) -> None:
        s = correlations(2, 12, 6, 5)
        found = solve_fused_glasso(s, 0.2, 0.1, tol=1e-6, max_iter=5000)
        assert found.gap <= 1e-6
        assert np.linalg.eigvalsh(found.precision).min() > 0.0

    def test_too_few_steps_leave_a_gap(self) -> None:
        s = correlations(2, 8, 60, 6)
        found = solve_fused_glasso(s, 0.01, 0.01, tol=1e-9, max_iter=2)
        assert not found.gap <= 1e-9
        assert found.n_iter == 2
