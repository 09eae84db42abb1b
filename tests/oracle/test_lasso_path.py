"""The lasso on Gram matrices against scikit-learn's on the explicit stacked design."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from plaggm.core.grams.node_grams import NodeGrams, profile_intercepts
from plaggm.core.kernel.kernels import KERNELS
from plaggm.core.kernel.literal import literal_objective
from plaggm.core.kernel.moments import Rows
from plaggm.core.lasso.optimality import kkt_residual
from plaggm.core.lasso.pair_descent import objective
from plaggm.core.lasso.path import lambda_grid, lambda_max, pair_gradient, solve_path
from plaggm.core.profile.kernel import kernel_smoother, profile_kernel
from plaggm.core.profile.pooled import profile_pooled

# Both solvers stop on a duality gap near 1e-14 of the loss; coefficients follow as its square root.
COEFFICIENTS = 1e-6
TIGHT = 1e-14
# Objectives are flat at the optimum: they agree to the gap itself.
OBJECTIVE = 1e-10
# Optimality conditions, of lambda_max, at a gap of TIGHT.
KKT = 1e-6
# Sums of squares formed from rows and from Gram matrices.
ROUNDING = 1e-10

# Columns have unit size: no meaningful coefficient comes near this.
UNREASONABLE = 1e3

FRACTIONS = np.array([1.1, 0.8, 0.4, 0.15, 0.03, 0.002])


@dataclass(frozen=True)
class Stacked:
    """Transformed columns T_j of every node, shape (p, n, p + 1), and the lasso they stand for."""

    t: np.ndarray

    @property
    def p(self) -> int:
        return self.t.shape[0]

    @property
    def n(self) -> int:
        return self.t.shape[1]

    @property
    def node_grams(self) -> NodeGrams:
        grams = np.einsum("jia,jib->jab", self.t, self.t) / self.n
        return NodeGrams(grams, self.n, np.zeros(self.p))

    def alphas(self) -> np.ndarray:
        return FRACTIONS * lambda_max(self.node_grams)

    def free_of_the_intercept(self, j: int) -> np.ndarray:
        """T_j without its constant, every column less its regression on that constant."""
        constant, columns = self.t[j, :, -1:], self.t[j, :, :-1]
        if not constant.any():
            return columns
        return columns - constant @ np.linalg.lstsq(constant, columns, rcond=None)[0]

    def design(self) -> tuple[np.ndarray, np.ndarray]:
        """n p rows, one column for each pair j < k, intercepts already fitted."""
        pairs = np.transpose(np.triu_indices(self.p, 1))
        x = np.zeros((self.n * self.p, len(pairs)))
        y = np.zeros(self.n * self.p)
        for j in range(self.p):
            rows = slice(j * self.n, (j + 1) * self.n)
            columns = self.free_of_the_intercept(j)
            y[rows] = columns[:, j]
            for position, (a, b) in enumerate(pairs):
                if j in (a, b):
                    x[rows, position] = columns[:, b if j == a else a]
        return x, y

    def slow_joint(self, alpha: float) -> np.ndarray:
        """Off-diagonal of the symmetric estimate by scikit-learn: its penalty is per row."""
        x, y = self.design()
        pairs = np.zeros((self.p, self.p))
        pairs[np.triu_indices(self.p, 1)] = sk_lasso(x, y, alpha / self.p)
        return pairs + pairs.T

    def slow_nodewise(self, alpha: float) -> np.ndarray:
        """Column j: node j's own lasso with half the penalty."""
        beta = np.zeros((self.p, self.p))
        for j in range(self.p):
            columns = self.free_of_the_intercept(j)
            others = np.delete(np.arange(self.p), j)
            beta[others, j] = sk_lasso(columns[:, others], columns[:, j], alpha / 2)
        return beta

    def literal_objective(self, omega: np.ndarray, alpha: float) -> float:
        """From the rows themselves, intercepts on the diagonal of omega."""
        loss = 0.0
        for j in range(self.p):
            x = self.t[j, :, :-1].copy()
            x[:, j] = self.t[j, :, -1]
            loss += np.sum((self.t[j, :, j] - x @ omega[:, j]) ** 2) / (2 * self.n)
        return loss + alpha * np.abs(np.triu(omega, 1)).sum()

    def literal_kkt(self, omega: np.ndarray, alpha: float) -> float:
        x, y = self.design()
        pairs = omega[np.triu_indices(self.p, 1)]
        slope = x.T @ (x @ pairs - y) / self.n
        active = np.abs(slope + alpha * np.sign(pairs))[pairs != 0.0]
        idle = np.maximum(np.abs(slope) - alpha, 0.0)[pairs == 0.0]
        return float(max(active.max(initial=0.0), idle.max(initial=0.0)))

    def explicable_loss(self) -> float:
        """What the loss of the intercepts alone has above node-wise least squares."""
        total = 0.0
        for j in range(self.p):
            columns = self.free_of_the_intercept(j)
            others, y = np.delete(columns, j, axis=1), columns[:, j]
            fit = others @ np.linalg.lstsq(others, y, rcond=None)[0]
            total += (y @ y - np.sum((y - fit) ** 2)) / (2 * self.n)
        return float(total)


def sk_lasso(x: np.ndarray, y: np.ndarray, alpha: float) -> np.ndarray:
    model = Lasso(alpha=alpha, fit_intercept=False, tol=1e-15, max_iter=200_000)
    return np.atleast_1d(model.fit(x, y).coef_)


def off_diagonal(omega: np.ndarray) -> np.ndarray:
    return omega - omega * np.eye(omega.shape[-1])


def make_stacked(p: int, n: int, seed: int) -> Stacked:
    """Every node has its own correlated columns, a shared signal and its own constant."""
    rng = np.random.default_rng(seed)
    t = rng.normal(size=(p, n, p + 1)) + rng.normal(size=(p, n, 1))
    t[:, :, -1] = rng.uniform(0.3, 1.0, (p, n))
    for j in range(p):
        t[j, :, j] += 0.6 * t[j, :, (j + 1) % p] - 0.3 * t[j, :, (j + 2) % p] + 0.5
    return Stacked(t)


def make_pooled(p: int, n: int, seed: int) -> tuple[Stacked, NodeGrams]:
    """One table for all nodes: the plain pseudo-likelihood."""
    rng = np.random.default_rng(seed)
    b = np.column_stack([rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 1.0, np.ones(n)])
    return Stacked(np.broadcast_to(b, (p, n, p + 1)).copy()), profile_pooled(b)


@pytest.fixture(scope="module", params=[(2, 25), (6, 40), (9, 30)], ids=["p2", "p6", "p9"])
def stacked(request: pytest.FixtureRequest) -> Stacked:
    return make_stacked(*request.param, seed=61)


class TestJoint:
    def test_equals_the_stacked_lasso(self, stacked: Stacked) -> None:
        alphas = stacked.alphas()
        solution = solve_path(stacked.node_grams, alphas, tol=TIGHT)
        for omega, alpha in zip(solution.omega, alphas, strict=True):
            np.testing.assert_array_equal(omega, omega.T)
            np.testing.assert_allclose(
                off_diagonal(omega), stacked.slow_joint(alpha), rtol=0, atol=COEFFICIENTS
            )
        # The grid runs from the empty network to nearly all pairs.
        edges = np.count_nonzero(np.triu(solution.omega, 1), axis=(1, 2))
        assert edges[0] == 0
        assert edges[-1] >= 0.8 * stacked.p * (stacked.p - 1) / 2

    def test_supports_are_the_same(self, stacked: Stacked) -> None:
        alphas = stacked.alphas()
        solution = solve_path(stacked.node_grams, alphas, tol=TIGHT)
        for omega, alpha in zip(solution.omega, alphas, strict=True):
            slow = stacked.slow_joint(alpha)
            np.testing.assert_array_equal(off_diagonal(omega) != 0.0, np.abs(slow) > COEFFICIENTS)

    def test_one_shared_gram_equals_the_stacked_lasso(self) -> None:
        stacked, shared = make_pooled(5, 50, seed=62)
        assert shared.grams.shape[0] == 1
        alphas = stacked.alphas()
        assert lambda_max(shared) == pytest.approx(alphas[0] / FRACTIONS[0])
        solution = solve_path(shared, alphas, tol=TIGHT)
        for omega, alpha in zip(solution.omega, alphas, strict=True):
            np.testing.assert_allclose(
                off_diagonal(omega), stacked.slow_joint(alpha), rtol=0, atol=COEFFICIENTS
            )

    def test_intercepts_are_least_squares_on_the_constant(self, stacked: Stacked) -> None:
        alphas = stacked.alphas()
        for omega in solve_path(stacked.node_grams, alphas).omega:
            for j, t in enumerate(stacked.t):
                rest = t[:, j] - np.delete(t[:, :-1], j, axis=1) @ np.delete(omega[:, j], j)
                expected = np.linalg.lstsq(t[:, -1:], rest, rcond=None)[0][0]
                assert omega[j, j] == pytest.approx(expected, abs=ROUNDING)

    def test_without_a_penalty_it_is_least_squares(self, stacked: Stacked) -> None:
        x, y = stacked.design()
        omega = solve_path(stacked.node_grams, np.array([0.0]), tol=TIGHT).omega[0]
        np.testing.assert_allclose(
            omega[np.triu_indices(stacked.p, 1)],
            np.linalg.lstsq(x, y, rcond=None)[0],
            rtol=0,
            atol=COEFFICIENTS,
        )

    @pytest.mark.parametrize("seed", [1542, 252, 1871, 3200])
    def test_pairs_that_the_strong_rule_drops_too_early_come_back(self, seed: int) -> None:
        # Found by search: along this grid the rule drops a pair that the solution needs.
        rng = np.random.default_rng(seed)
        p, n = int(rng.integers(4, 12)), int(rng.integers(5, 40))
        z = rng.normal(size=(n, p))
        z = z @ (rng.normal(size=(p, p)) * (rng.uniform(size=(p, p)) < 0.5) + 0.3 * np.eye(p))
        grams = profile_pooled(np.column_stack([z, np.ones(n)]))
        alphas = lambda_max(grams) * np.geomspace(1.0, 0.05, 12)
        solution = solve_path(grams, alphas, max_iter=500)
        assert np.all(solution.gaps <= 1e-8)
        for omega, alpha in zip(solution.omega, alphas, strict=True):
            # At the default tolerance; without the dropped pair it would be 0.01 or more.
            assert kkt_residual(grams, omega, alpha) < 1e-3 * alphas[0]

    def test_a_grid_of_one_equals_the_same_point_of_a_long_path(self, stacked: Stacked) -> None:
        grid = lambda_grid(lambda_max(stacked.node_grams), 40, stacked.n, stacked.p)
        path = solve_path(stacked.node_grams, grid, tol=TIGHT)
        for step in (0, 7, 20, 39):
            alone = solve_path(stacked.node_grams, grid[step : step + 1], tol=TIGHT)
            assert alone.omega.shape == (1, stacked.p, stacked.p)
            np.testing.assert_allclose(alone.omega[0], path.omega[step], rtol=0, atol=COEFFICIENTS)


class TestOptimality:
    def test_residual_equals_the_one_of_the_stacked_design(self, stacked: Stacked) -> None:
        # At solutions, where it is small, and away from them, where it is not.
        rng = np.random.default_rng(63)
        alphas = stacked.alphas()
        largest = lambda_max(stacked.node_grams)
        for omega, alpha in zip(solve_path(stacked.node_grams, alphas).omega, alphas, strict=True):
            for moved in (omega, 0.9 * omega, omega + rng.normal(size=omega.shape)):
                symmetric = (moved + moved.T) / 2
                got = kkt_residual(stacked.node_grams, symmetric, alpha)
                expected = stacked.literal_kkt(symmetric, alpha)
                assert got == pytest.approx(expected, rel=1e-8, abs=ROUNDING * largest)

    def test_solutions_meet_the_conditions(self, stacked: Stacked) -> None:
        alphas = stacked.alphas()
        solution = solve_path(stacked.node_grams, alphas, tol=TIGHT)
        for omega, alpha in zip(solution.omega, alphas, strict=True):
            assert stacked.literal_kkt(omega, alpha) < KKT * alphas[0]

    def test_objective_is_the_same_from_rows_grams_and_gradients(self, stacked: Stacked) -> None:
        alphas = stacked.alphas()
        grams = stacked.node_grams
        for omega, alpha in zip(solve_path(grams, alphas).omega, alphas, strict=True):
            from_rows = stacked.literal_objective(omega, alpha)
            assert literal_objective(grams.grams, omega, alpha) == pytest.approx(
                from_rows, rel=ROUNDING
            )
            pairs = off_diagonal(omega)
            gradient = pair_gradient(profile_intercepts(grams), pairs)
            assert objective(pairs, gradient, alpha) == pytest.approx(from_rows, rel=ROUNDING)

    def test_objective_is_no_worse_than_the_slow_one(self, stacked: Stacked) -> None:
        alphas = stacked.alphas()
        solution = solve_path(stacked.node_grams, alphas, tol=TIGHT)
        x, y = stacked.design()
        for omega, alpha in zip(solution.omega, alphas, strict=True):
            pairs = stacked.slow_joint(alpha)[np.triu_indices(stacked.p, 1)]
            slow = np.sum((y - x @ pairs) ** 2) / (2 * stacked.n) + alpha * np.abs(pairs).sum()
            assert stacked.literal_objective(omega, alpha) <= slow * (1 + OBJECTIVE)

    @staticmethod
    def unfinished(stacked: Stacked, sweeps: int) -> tuple[np.ndarray, np.ndarray]:
        """How far some sweeps end from the optimum, and how far the gap says they may."""
        grams, unit = stacked.node_grams, stacked.explicable_loss()
        distances, bounds = [], []
        for alpha in stacked.alphas()[1:]:
            rough = solve_path(grams, np.array([alpha]), tol=TIGHT, max_iter=sweeps)
            exact = solve_path(grams, np.array([alpha]), tol=TIGHT)
            assert rough.n_iter[0] <= sweeps
            distances.append(
                stacked.literal_objective(rough.omega[0], alpha)
                - stacked.literal_objective(exact.omega[0], alpha)
            )
            bounds.append(rough.gaps[0] * unit + ROUNDING * unit)
        return np.array(distances), np.array(bounds)

    @pytest.mark.parametrize("sweeps", [2, 3, 5, 8])
    def test_gap_bounds_what_is_left_to_gain(self, stacked: Stacked, sweeps: int) -> None:
        distances, bounds = self.unfinished(stacked, sweeps)
        assert np.all(distances <= bounds)
        if stacked.p > 2 and sweeps == 2:
            assert distances.max() > 1e-3, "two sweeps must leave something for the bound to bound"

    def test_gap_bounds_what_an_overshoot_leaves_to_gain(self) -> None:
        distances, bounds = self.unfinished(make_stacked(6, 40, seed=61), sweeps=1)
        assert np.all(distances <= bounds)

    @pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8])
    def test_gap_meets_the_tolerance(self, stacked: Stacked, tol: float) -> None:
        solution = solve_path(stacked.node_grams, stacked.alphas(), tol=tol)
        assert np.all(solution.gaps <= tol)
        assert np.all(solution.n_iter < 10_000)


class TestNodewise:
    def test_columns_equal_single_lassos(self, stacked: Stacked) -> None:
        alphas = stacked.alphas()
        both = {
            rule: solve_path(stacked.node_grams, alphas, symmetry=rule, tol=TIGHT)
            for rule in ("and", "or")
        }
        for step, alpha in enumerate(alphas):
            beta = stacked.slow_nodewise(alpha)
            smaller, larger = np.zeros_like(beta), np.zeros_like(beta)
            for j in range(stacked.p):
                for k in range(j):
                    couple = sorted((beta[j, k], beta[k, j]), key=abs)
                    smaller[j, k] = smaller[k, j] = couple[0]
                    larger[j, k] = larger[k, j] = couple[1]
            for rule, expected in (("and", smaller), ("or", larger)):
                omega = both[rule].omega[step]
                np.testing.assert_array_equal(omega, omega.T)
                np.testing.assert_allclose(off_diagonal(omega), expected, rtol=0, atol=COEFFICIENTS)

    def test_and_has_no_edge_that_or_lacks(self, stacked: Stacked) -> None:
        alphas = stacked.alphas()
        grams = stacked.node_grams
        edges_and = solve_path(grams, alphas, symmetry="and").omega != 0.0
        edges_or = solve_path(grams, alphas, symmetry="or").omega != 0.0
        assert np.all(edges_or | ~edges_and)
        if stacked.p > 2:
            assert np.any(edges_or & ~edges_and)

    def test_one_shared_gram(self) -> None:
        stacked, shared = make_pooled(5, 50, seed=64)
        alphas = stacked.alphas()
        for rule in ("and", "or"):
            np.testing.assert_allclose(
                solve_path(shared, alphas, symmetry=rule, tol=TIGHT).omega,
                solve_path(stacked.node_grams, alphas, symmetry=rule, tol=TIGHT).omega,
                rtol=0,
                atol=COEFFICIENTS,
            )

    def test_the_number_of_threads_changes_no_bit(self, stacked: Stacked) -> None:
        alphas = stacked.alphas()
        one = solve_path(stacked.node_grams, alphas, symmetry="or", n_threads=1)
        three = solve_path(stacked.node_grams, alphas, symmetry="or", n_threads=3)
        np.testing.assert_array_equal(one.omega, three.omega)
        np.testing.assert_array_equal(one.n_iter, three.n_iter)

    def test_gaps_are_not_negative(self) -> None:
        rng = np.random.default_rng(198)
        z = rng.normal(size=(30, 3)) + 2.0 * rng.normal(size=(30, 1))
        grams = profile_pooled(np.column_stack([z, np.ones(30)]))
        grid = lambda_max(grams, "or") * np.array([1e-4, 1e-5, 1e-6])
        for alpha in grid:
            gaps = solve_path(grams, np.array([alpha]), symmetry="or").gaps
            assert np.all(gaps >= -ROUNDING)


class TestDegenerate:
    """Problems without a unique solution, or with columns that hold nothing."""

    def check(self, stacked: Stacked) -> np.ndarray:
        grams = stacked.node_grams
        alphas = stacked.alphas()
        solution = solve_path(grams, alphas, tol=1e-12)
        assert np.all(np.isfinite(solution.omega))
        x, y = stacked.design()
        for omega, alpha in zip(solution.omega, alphas, strict=True):
            assert stacked.literal_kkt(omega, alpha) < 10 * KKT * alphas[0]
            pairs = stacked.slow_joint(alpha)[np.triu_indices(stacked.p, 1)]
            slow = np.sum((y - x @ pairs) ** 2) / (2 * stacked.n) + alpha * np.abs(pairs).sum()
            assert stacked.literal_objective(omega, alpha) <= slow + OBJECTIVE * (y @ y) / stacked.n
        for rule in ("and", "or"):
            nodewise = solve_path(grams, alphas, symmetry=rule)
            assert np.all(np.isfinite(nodewise.omega))
        return solution.omega

    def test_fewer_rows_than_columns(self) -> None:
        self.check(make_stacked(9, 6, seed=65))

    def test_equal_columns(self) -> None:
        stacked = make_stacked(5, 30, seed=66)
        stacked.t[:, :, 3] = stacked.t[:, :, 1]
        self.check(stacked)

    def test_a_column_of_zeros_has_no_edges(self) -> None:
        stacked = make_stacked(5, 30, seed=67)
        stacked.t[:, :, 2] = 0.0
        omega = self.check(stacked)
        np.testing.assert_array_equal(omega[:, 2], 0.0)
        np.testing.assert_array_equal(omega[:, :, 2], 0.0)
        assert np.any(omega[-1][[0, 1]][:, [3, 4]] != 0.0)

    def test_no_information_on_the_intercepts(self) -> None:
        stacked = make_stacked(4, 30, seed=68)
        stacked.t[:, :, -1] = 0.0
        omega = self.check(stacked)
        np.testing.assert_array_equal(np.diagonal(omega, axis1=1, axis2=2), 0.0)

    def test_orthogonal_columns_have_an_empty_network(self) -> None:
        grams = NodeGrams(np.diag([1.0, 4.0, 0.5, 1.0])[None], 20, np.zeros(3))
        assert lambda_max(grams) == 0.0
        solution = solve_path(grams, np.array([0.1, 0.01, 0.0]))
        np.testing.assert_array_equal(solution.omega, 0.0)
        np.testing.assert_array_equal(solution.gaps, 0.0)

    def test_sizes_that_differ_by_orders_of_magnitude(self) -> None:
        stacked = make_stacked(4, 40, seed=69)
        scale = np.array([1e-3, 1.0, 10.0, 1e3, 1.0])
        wide = Stacked(stacked.t * scale)
        grams, alphas = wide.node_grams, wide.alphas()
        solution = solve_path(grams, alphas, tol=TIGHT)
        for omega, alpha in zip(solution.omega, alphas, strict=True):
            assert wide.literal_kkt(omega, alpha) < KKT * alphas[0]

    def test_columns_that_the_intercept_explains_get_no_coefficients(self) -> None:
        # One row is left of every transformed column but the response: profiling the constant out
        # leaves zero, up to rounding.
        largest = 0.0
        for seed in range(20):
            rng = np.random.default_rng(seed)
            t = np.zeros((3, 40, 4))
            t[:, 0] = 1e-3 * rng.normal(size=(3, 4))
            for j in range(3):
                t[j, :, j] = rng.normal(size=40)
            grams = Stacked(t).node_grams
            alphas = lambda_grid(lambda_max(grams), 10, 40, 3)
            omega = solve_path(grams, alphas, max_iter=300).omega
            largest = max(largest, np.abs(off_diagonal(omega)).max())
        assert largest < UNREASONABLE

    def test_columns_that_the_smoother_removes_get_no_coefficients(self) -> None:
        # A hard indicator in the lemma's form: D'WD and D'WX are the same matrix, so x' is zero.
        rng = np.random.default_rng(71)
        g = rng.uniform(-1.0, 1.0, (60, 1))
        b = np.column_stack([rng.normal(size=(60, 3)), np.ones(60)])
        smoother = kernel_smoother(
            Rows(b, g, (np.abs(g[:, 0]) > 0.25).astype(np.float64)),
            kernel=KERNELS["gaussian"],
            bandwidth=np.array([0.5]),
            form="lemma",
        )
        grams = profile_kernel(smoother)
        alphas = lambda_grid(lambda_max(grams), 10, 60, 3)
        omega = solve_path(grams, alphas, max_iter=300).omega
        assert np.abs(off_diagonal(omega)).max() < UNREASONABLE

    @pytest.mark.parametrize("fractions", [[0.5, 0.5, 0.2], [0.5, 0.5, 0.5], [0.0, 0.0, 0.0]])
    def test_a_grid_may_repeat_a_penalty(self, fractions: list[float]) -> None:
        grams = make_stacked(4, 30, seed=70).node_grams
        alphas = lambda_max(grams) * np.array(fractions)
        omega = solve_path(grams, alphas, tol=TIGHT).omega
        np.testing.assert_allclose(omega[0], omega[1], rtol=0, atol=COEFFICIENTS)
