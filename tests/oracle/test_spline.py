"""The spline profile against dense matrices, one node at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.optimize import minimize_scalar

from plaggm.core.lasso.path import solve_path
from plaggm.core.nuisance.focused import (
    FEWEST_DF,
    REFERENCE_TAUS,
    RETAINED_SHARES,
    SMOOTHNESS,
    TAUS,
    focused_penalty,
    reml_penalty,
    restricted_likelihood,
)
from plaggm.core.nuisance.node_regressions import (
    coefficient_covariance,
    least_squares_network,
    moments,
    node_regressions,
)
from plaggm.core.nuisance.prior import (
    START_TAU,
    PriorForm,
    prior_covariance,
    prior_form,
    retain_share,
)
from plaggm.core.profile.pooled import profile_pooled
from plaggm.core.profile.profilers import SplineProfiler
from plaggm.core.profile.spline import (
    MEAN_RIDGE,
    held_out_node_grams,
    profile_spline,
    smoothing_penalty,
    spline_coefficients,
    spline_node_grams,
)
from plaggm.core.spline import statistics as statistics_module
from plaggm.core.spline.anchored_terms import anchored_spline, factor_levels
from plaggm.core.spline.basis import SplineBasis, SplineSide, spline_basis
from plaggm.core.spline.statistics import SplineStatistics, spline_statistics
from plaggm.core.spline.system import (
    SplineSystem,
    demmler_reinsch,
    in_other_functions,
    rotated,
    smooth_system,
    spline_system,
)

# Of the largest entry: the same sums in another order.
ROUNDING = 1e-12
# Of the largest entry: two ways of solving the same penalised systems, far from singular ones.
AGREEMENT = 1e-10
# The least-squares regressions have a trace of ridge, which nearly dependent columns multiply.
TARGETS = 1e-7
# Rows in another order: as demanded of sums over many rows.
ROW_ORDER = 1e-8
# Of the largest difference of likelihoods: the covariance matrix of the literal one has entries of 1e8, the
# variance of the nearly unpenalised mean.
LIKELIHOOD = 1e-6

P, N = 4, 160
Q = P + 1

penalties = pytest.mark.parametrize(
    ("tau", "smoothness"), [(1e-2, 0.0), (1.0, 0.0), (0.3, 30.0), (100.0, 3000.0)]
)


@dataclass(frozen=True)
class Problem:
    """Data with their basis; everything literal is derived from these by explicit matrices."""

    z: np.ndarray
    g: np.ndarray
    weights: np.ndarray
    basis: SplineBasis

    @property
    def b(self) -> np.ndarray:
        return np.column_stack([self.z, np.ones(len(self.z))])

    @property
    def phi(self) -> np.ndarray:
        return self.basis.evaluate(self.g)

    def take(self, index: np.ndarray) -> Problem:
        return replace(self, z=self.z[index], g=self.g[index], weights=self.weights[index])

    def statistics(self) -> SplineStatistics:
        return spline_statistics(self.b, self.phi, self.weights)

    def system(self) -> SplineSystem:
        return smooth_system(self.statistics(), self.basis)[0]

    def roughness(self) -> np.ndarray:
        return smooth_system(self.statistics(), self.basis)[1]

    def penalty(self, tau: float, smoothness: float = 0.0) -> np.ndarray:
        return smoothing_penalty(self.roughness(), tau, smoothness)

    def profiler(self, tau: float = 0.5) -> SplineProfiler:
        system = self.system()
        fit = profile_spline(system, self.penalty(tau, 3.0))
        return SplineProfiler(
            self.b, self.g, self.weights, self.basis, self.statistics(), system, fit
        )


@dataclass(frozen=True)
class Node:
    """One node's regression with every matrix written out, rows multiplied by the root of their weight.

    b (n, q): [Z, 1]; x (n, p): the others and the constant; y (n,); d (n, M p): the functions times the
    columns of x; root (M p, M p): its square root'root is the penalty n P.
    """

    b: np.ndarray
    x: np.ndarray
    y: np.ndarray
    d: np.ndarray
    root: np.ndarray

    def slopes(self, of: np.ndarray) -> np.ndarray:
        """(D'D + n P)^{-1} D' of: by least squares with the penalty as further rows."""
        rows = np.vstack([self.d, self.root])
        below = np.zeros((len(self.root), *of.shape[1:]))
        return np.linalg.lstsq(rows, np.concatenate([of, below]))[0]

    def gram(self) -> np.ndarray:
        """B'B - B'D (D'D + n P)^{-1} D'B, over n."""
        n = len(self.b)
        return (self.b.T @ self.b - self.b.T @ self.d @ self.slopes(self.b)) / n

    def remover(self) -> np.ndarray:
        """W = 1 - D (D'D + n P)^{-1} D', an n x n matrix."""
        eye = np.eye(len(self.y))
        return eye - self.d @ self.slopes(eye)

    def estimator(self) -> np.ndarray:
        """A with b = A y, the generalised least-squares estimate: (X'WX)^{-1} X'W."""
        weighted = self.x.T @ self.remover()
        return np.linalg.solve(weighted @ self.x, weighted)

    def energy(self) -> float:
        """y'W(y - Xb), the generalised residual sum of squares."""
        return float(self.y @ self.remover() @ (self.y - self.x @ self.estimator() @ self.y))

    def restricted(self) -> float:
        """Minus twice the restricted log-likelihood of y = Xb + D u + e, u ~ N(0, s2 / (n P))."""
        n, fixed = self.x.shape
        half = np.linalg.solve(self.root.T, self.d.T)
        v = np.eye(n) + half.T @ half
        inverse_x = np.linalg.solve(v, self.x)
        information = self.x.T @ inverse_x
        projected = np.linalg.solve(v, self.y) - inverse_x @ np.linalg.solve(
            information, inverse_x.T @ self.y
        )
        return (
            np.linalg.slogdet(v)[1]
            + np.linalg.slogdet(information)[1]
            + (n - fixed) * np.log(self.y @ projected / n)
        )


def node(problem: Problem, system: SplineSystem, j: int, weights: np.ndarray) -> Node:
    """Node j's matrices; its own columns are left out of D before anything is computed.

    The weights, of shape (M,), are the penalty of the system's functions.
    """
    root = np.sqrt(problem.weights)[:, None]
    b = root * problem.b
    functions = problem.phi @ system.rotation
    kept = [k for k in range(b.shape[1]) if k != j]
    d, penalty = [], []
    for a in range(functions.shape[1]):
        for k in kept:
            d.append(functions[:, a] * b[:, k])
            penalty.append(MEAN_RIDGE if k == b.shape[1] - 1 else weights[a])
    columns = np.column_stack(d) if d else np.zeros((len(b), 0))
    return Node(b, b[:, kept], b[:, j], columns, np.diag(np.sqrt(len(b) * np.array(penalty))))


def correlated(problem: Problem, system: SplineSystem, j: int, precision: np.ndarray) -> Node:
    """Node j with a penalty that ties the functions of a pair together: an (M, M) matrix, over n."""
    plain = node(problem, system, j, np.ones(len(precision)))
    free = np.zeros(problem.b.shape[1] - 1, dtype=bool)
    free[-1] = True
    penalty = np.kron(precision, np.diag(~free)) + MEAN_RIDGE * np.diag(
        np.tile(free, len(precision))
    )
    return replace(plain, root=np.linalg.cholesky(len(problem.b) * penalty).T)


def nodes(problem: Problem, system: SplineSystem, weights: np.ndarray) -> list[Node]:
    return [node(problem, system, j, weights) for j in range(system.p)]


def make_problem(
    m: int = 1, *, n: int = N, p: int = P, functions: int = 3, degree: int = 2, seed: int = 7
) -> Problem:
    """Means and relations that move with the confounders, unequal weights, both signs of g."""
    rng = np.random.default_rng(seed)
    g = rng.uniform(-1.0, 1.3, (n, m))
    z = rng.normal(size=(n, p)) + 0.3
    z[:, 0] += 0.8 * np.abs(g[:, 0])
    z[:, 1] += z[:, 0] * (0.3 + np.maximum(np.abs(g[:, 0]) - 0.25, 0.0))
    basis = spline_basis(g, np.full(m, 0.25), functions=functions, degree=degree)
    return Problem(z, g, rng.uniform(0.3, 1.5, n), basis)


def assert_close(found: np.ndarray, literal: np.ndarray, tolerance: float) -> None:
    """Entries to a part of the largest one."""
    np.testing.assert_allclose(found, literal, rtol=0.0, atol=tolerance * np.abs(literal).max())


class TestStatistics:
    @pytest.mark.parametrize("m", [1, 2])
    def test_sums_of_explicit_products(self, m: int) -> None:
        problem = make_problem(m)
        b, phi, w = problem.b, problem.phi, problem.weights
        bb, db, dd = problem.statistics().matrices()
        assert_close(bb, b.T @ np.diag(w) @ b / N, ROUNDING)
        for a in range(phi.shape[1]):
            left = phi[:, [a]] * b
            assert_close(db[a], left.T @ np.diag(w) @ b / N, ROUNDING)
            for c in range(phi.shape[1]):
                literal = left.T @ np.diag(w) @ (phi[:, [c]] * b) / N
                np.testing.assert_allclose(dd[a, c], literal, atol=ROUNDING)

    def test_without_weights_all_rows_count_the_same(self) -> None:
        problem = make_problem()
        ones = spline_statistics(problem.b, problem.phi, np.ones(N))
        np.testing.assert_allclose(
            spline_statistics(problem.b, problem.phi).sums, ones.sums, rtol=ROUNDING
        )

    def test_parts_add_up_and_can_be_taken_off(self) -> None:
        problem = make_problem()
        first, second = np.arange(50), np.arange(50, N)
        total, left, right = (
            one.statistics() for one in (problem, problem.take(first), problem.take(second))
        )
        both = left + right
        rest = total - left
        assert (both.n, rest.n) == (N, len(second))
        assert_close(both.sums, total.sums, ROUNDING)
        assert_close(rest.sums, right.sums, ROUNDING)

    def test_the_size_of_the_network_is_read_off(self) -> None:
        for p in (2, 3, 7, 60):
            found = spline_statistics(np.ones((3, p + 1)), np.ones((3, 2)))
            assert (found.q, found.functions, found.n) == (p + 1, 2, 3)

    @pytest.mark.parametrize(("p", "functions"), [(P + 1, 6), (P, 5)])
    def test_statistics_of_other_shapes_cannot_be_combined(self, p: int, functions: int) -> None:
        mine = spline_statistics(np.ones((3, P + 1)), np.ones((3, 6)))
        other = spline_statistics(np.ones((3, p + 1)), np.ones((3, functions)))
        message = rf"6 functions and {P} variables .* {functions} functions and {p} variables"
        with pytest.raises(ValueError, match=message):
            mine + other
        with pytest.raises(ValueError, match=message):
            mine - other

    @pytest.mark.parametrize("rows", [1, 7, N, 10 * N])
    def test_chunks_do_not_matter(self, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
        problem = make_problem(2)
        whole = problem.statistics()
        monkeypatch.setattr(statistics_module, "CHUNK_ROWS", rows)
        assert_close(problem.statistics().sums, whole.sums, ROUNDING)

    def test_the_order_of_rows_does_not_matter(self) -> None:
        problem = make_problem(n=2000)
        order = np.random.default_rng(0).permutation(2000)
        assert_close(problem.take(order).statistics().sums, problem.statistics().sums, ROW_ORDER)

    def test_a_row_twice_is_a_row_of_twice_the_weight(self) -> None:
        problem = make_problem()
        twice = problem.take(np.repeat(np.arange(N), 2)).statistics()
        doubled = replace(problem, weights=2.0 * problem.weights).statistics()
        assert_close(twice.sums, doubled.sums, ROUNDING)
        assert (twice.n, doubled.n) == (2 * N, N)


class TestRotation:
    @pytest.mark.parametrize("degree", [1, 2, 3])
    def test_orthonormal_functions_in_the_order_of_their_roughness(self, degree: int) -> None:
        problem = make_problem(2, degree=degree, functions=4)
        phi, w = problem.phi, problem.weights
        moments = (phi * w[:, None]).T @ phi / N
        rotation, roughness = demmler_reinsch(problem.basis, moments)
        turned = phi @ rotation
        for side, part in zip(problem.basis.terms, problem.basis.slices(), strict=True):
            gram = (turned[:, part] * w[:, None]).T @ turned[:, part] / N
            # The moments have 1e-10 of their trace added before they are turned.
            np.testing.assert_allclose(gram, np.eye(side.size), atol=1e-7)
            bends = rotation[part, part].T @ side.roughness() @ rotation[part, part]
            assert_close(bends, np.diag(np.diagonal(bends)), AGREEMENT)
            relative = np.diagonal(bends) / bends[1, 1]
            np.testing.assert_allclose(roughness[part][1:], relative[1:], rtol=1e-6)
            assert roughness[part.start] == 0.0
            assert relative[0] == pytest.approx(0.0, abs=1e-6)
            outside = np.delete(rotation[:, part], np.arange(part.start, part.stop), axis=0)
            assert np.all(outside == 0.0)

    def test_the_smoothest_function_of_a_side_is_a_line(self) -> None:
        problem = make_problem(degree=2, functions=3)
        rotation, _ = demmler_reinsch(problem.basis, problem.phi.T @ problem.phi / N)
        for side, part in zip(problem.basis.terms, problem.basis.slices(), strict=True):
            excess = side.excess(problem.g)
            curve = problem.phi @ rotation[:, part.start]
            slope = curve @ excess / (excess @ excess)
            # Its roughness is zero up to what rounding leaves of an eigenvalue.
            np.testing.assert_allclose(curve, slope * excess, atol=1e-6 * np.abs(curve).max())


@pytest.mark.parametrize(("functions", "q"), [(3, 4), (1, 5), (0, 4)])
def test_quadratic_forms_in_other_functions(functions: int, q: int) -> None:
    draw = np.random.default_rng(8)
    matrix = draw.standard_normal((functions * q, functions * q))
    turn = draw.standard_normal((functions, functions))
    both = np.kron(turn, np.eye(q))
    np.testing.assert_allclose(in_other_functions(matrix, turn), both @ matrix @ both.T, atol=1e-12)


def test_moments_are_the_blocks_of_the_system() -> None:
    draw = np.random.default_rng(9)
    system = SplineSystem(
        50,
        draw.standard_normal((3, 3)),
        draw.standard_normal((6, 3)),
        draw.standard_normal((6, 6)),
        np.eye(2),
    )
    expected = np.block([[system.bb, system.c.T], [system.c, system.h]])
    np.testing.assert_array_equal(moments(system), expected)


class TestGrams:
    @penalties
    @pytest.mark.parametrize("m", [1, 2])
    @pytest.mark.parametrize("degree", [1, 2, 3])
    def test_explicit_ones(self, m: int, degree: int, tau: float, smoothness: float) -> None:
        problem = make_problem(m, degree=degree)
        system, penalty = problem.system(), problem.penalty(tau, smoothness)
        found = spline_node_grams(system, profile_spline(system, penalty))
        literal = np.array([one.gram() for one in nodes(problem, system, penalty)])
        assert found.n == N
        assert_close(found.grams, literal, AGREEMENT)

    def test_rows_of_higher_order_never_enter(self) -> None:
        """The node's own column times a function is not a nuisance of the node."""
        problem = make_problem()
        system, penalty = problem.system(), problem.penalty(1e-2)
        literal = node(problem, system, 0, penalty)
        own = (problem.phi @ system.rotation) * literal.b[:, [0]]
        extended = replace(
            literal,
            d=np.column_stack([literal.d, own]),
            root=block_diag(literal.root, np.sqrt(N * 1e-2) * np.eye(own.shape[1])),
        )
        found = spline_node_grams(system, profile_spline(system, penalty)).grams[0]
        assert_close(found, literal.gram(), AGREEMENT)
        assert np.abs(found - extended.gram()).max() > 0.01

    def test_an_infinite_penalty_pools_what_the_mean_functions_leave(self) -> None:
        problem = make_problem(2)
        system = problem.system()
        found = spline_node_grams(system, profile_spline(system, problem.penalty(1e12))).grams
        root = np.sqrt(problem.weights)[:, None]
        b, shifts = root * problem.b, root * problem.phi
        left = b - shifts @ np.linalg.lstsq(shifts, b)[0]
        # The mean functions are not quite unpenalised.
        assert_close(found, np.repeat((left.T @ left / N)[None], P, axis=0), 10.0 * MEAN_RIDGE)

    def test_without_functions_all_rows_are_pooled(self) -> None:
        problem = replace(make_problem(), basis=SplineBasis(()))
        system = problem.system()
        fit = profile_spline(system, np.zeros(0))
        b = np.sqrt(problem.weights)[:, None] * problem.b
        # One Gram matrix serves all nodes.
        pooled = (b.T @ b / N)[None]
        assert_close(spline_node_grams(system, fit).grams, pooled, ROUNDING)
        held_out = held_out_node_grams(fit, system)
        assert_close(held_out.node(0), pooled[0], ROUNDING)
        assert spline_coefficients(fit, np.eye(P)).shape == (0, P, P)

    def test_without_penalty_only_what_no_function_reaches_is_left(self) -> None:
        """B'B - B'D (D'D)^+ D'B as the penalty vanishes."""
        problem = make_problem()
        system = problem.system()
        found = spline_node_grams(system, profile_spline(system, problem.penalty(1e-10))).grams
        for j in range(P):
            one = node(problem, system, j, problem.penalty(0.0))
            left = one.b - one.d @ np.linalg.lstsq(one.d, one.b)[0]
            # What is left is of the order of the mean's ridge, over the smallest eigenvalue of D'D.
            assert_close(found[j], left.T @ left / N, 1e3 * MEAN_RIDGE)


class TestHardSeparation:
    """As many coefficients as confounded rows, which without penalty are then fitted perfectly.

    Only the unconfounded rows speak, as in a graphical model of these alone.
    """

    # The limit is approached linearly in tau, slowest along the weakest of D's directions.
    tau, limit = 1e-9, 1e-5

    @pytest.fixture
    def problem(self) -> Problem:
        n, p, confounded = 120, 8, 20
        rng = np.random.default_rng(3)
        g = np.append(rng.uniform(0.0, 0.5, n - confounded), rng.uniform(0.6, 1.0, confounded))
        z = rng.normal(size=(n, p)) + 0.6 * rng.normal(size=(n, 1))
        z[g > 0.5] = 3.0 * rng.normal(size=(confounded, p)) + 2.0
        basis = SplineBasis((SplineSide(0, 1.0, 0.5, 0.5, (0.5,), 2),))
        assert basis.size * p >= confounded
        return Problem(z, g[:, None], np.ones(n), basis)

    def test_grams(self, problem: Problem) -> None:
        system = problem.system()
        found = spline_node_grams(system, profile_spline(system, problem.penalty(self.tau)))
        clean = problem.b[problem.g[:, 0] <= 0.5]
        literal = np.repeat((clean.T @ clean / found.n)[None], found.p, axis=0)
        assert_close(found.grams, literal, self.limit)

    def test_network(self, problem: Problem) -> None:
        system = problem.system()
        grams = spline_node_grams(system, profile_spline(system, problem.penalty(self.tau)))
        clean = problem.b[problem.g[:, 0] <= 0.5]
        alphas = np.array([0.2, 0.05])
        found = solve_path(grams, alphas * len(clean) / grams.n)
        alone = solve_path(profile_pooled(clean), alphas)
        # Coefficients follow the Grams, and the solver's gap of 1e-8 allows about its square root.
        np.testing.assert_allclose(found.omega, alone.omega, atol=1e-4)


class TestHeldOut:
    @staticmethod
    def literal(
        train: Problem, test: Problem, system: SplineSystem, penalty: np.ndarray
    ) -> np.ndarray:
        """Rows b_i - D_i Gamma_j of the test data, Gamma_j being the training data's map of [Z, 1]."""
        out = []
        for j in range(P):
            slopes = node(train, system, j, penalty)
            rows = node(test, system, j, penalty)
            left = rows.b - rows.d @ slopes.slopes(slopes.b)
            out.append(left.T @ left / len(left))
        return np.array(out)

    @pytest.mark.parametrize("tau", [0.02, 5.0])
    @pytest.mark.parametrize("m", [1, 2])
    def test_residual_rows_of_new_data(self, m: int, tau: float) -> None:
        train = make_problem(m)
        test = replace(make_problem(m, n=50, seed=8), basis=train.basis)
        system, penalty = train.system(), train.penalty(tau, 3.0)
        fit = profile_spline(system, penalty)
        found = held_out_node_grams(fit, spline_system(test.statistics(), system.rotation))
        assert found.n == 50
        literal = self.literal(train, test, system, penalty)
        assert_close(np.array([found.node(j) for j in range(P)]), literal, AGREEMENT)

    @pytest.mark.parametrize(
        ("train", "test"),
        [
            (np.arange(0, 120), np.arange(120, N)),
            (np.setdiff1d(np.arange(N), np.arange(0, N, 5)), np.arange(0, N, 5)),
            # A gap between both.
            (np.arange(0, 100), np.arange(130, N)),
            # Rows in both, as many together as there are rows.
            (np.arange(0, 100), np.arange(50, 110)),
            # A bootstrap sample and what it left out.
            (np.repeat(np.arange(0, 120, 2), 2), np.arange(1, 120, 2)),
        ],
        ids=["partition", "interleaved", "gap", "overlap", "repeated"],
    )
    def test_splits(self, train: np.ndarray, test: np.ndarray) -> None:
        problem = make_problem()
        profiler = problem.profiler()
        fitted, held_out = profiler.split(train, test)
        part, system, penalty = problem.take(train), profiler.system, profiler.fit.penalty
        literal = [one.gram() for one in nodes(part, system, penalty)]
        assert (fitted.n, held_out.n) == (len(train), len(test))
        assert_close(fitted.grams, np.array(literal), AGREEMENT)
        # The nuisance of the held-out rows is their own, under the same prior.
        prior = penalty * len(train) / len(test)
        own = [one.gram() for one in nodes(problem.take(test), system, prior)]
        assert_close(held_out.grams, np.array(own), AGREEMENT)
        assert_close(profiler.fitted(train).grams, fitted.grams, AGREEMENT)

    def test_subtraction_equals_learning_from_the_training_rows(self) -> None:
        problem = make_problem(2, n=900)
        profiler = problem.profiler()
        test = np.arange(0, 900, 9)
        train = np.setdiff1d(np.arange(900), test)
        subtracted, _ = profiler.split(train, test)
        system = spline_system(problem.take(train).statistics(), profiler.system.rotation)
        direct = spline_node_grams(system, profile_spline(system, profiler.fit.penalty))
        assert_close(subtracted.grams, direct.grams, AGREEMENT)

    def test_all_rows(self) -> None:
        profiler = make_problem().profiler()
        assert profiler.n == N
        assert profiler.with_threads(3).n_threads == 3
        assert_close(profiler.fitted(np.arange(N)).grams, profiler.fitted().grams, AGREEMENT)

    def test_a_training_set_without_any_confounded_row(self) -> None:
        problem = make_problem()
        profiler = problem.profiler()
        clean = np.abs(problem.g[:, 0]) <= 0.25
        train, test = np.flatnonzero(clean), np.flatnonzero(~clean)
        fitted, held_out = profiler.split(train, test)
        part = np.sqrt(problem.weights[train])[:, None] * problem.b[train]
        pooled = np.repeat((part.T @ part / len(train))[None], P, axis=0)
        assert_close(fitted.grams, pooled, AGREEMENT)
        assert np.isfinite(held_out.grams).all()


class TestCoefficients:
    @penalties
    def test_explicit_ridge_regression(self, tau: float, smoothness: float) -> None:
        problem = make_problem(2)
        system, penalty = problem.system(), problem.penalty(tau, smoothness)
        omega = np.random.default_rng(0).normal(size=(P, P)) * 0.3
        found = spline_coefficients(profile_spline(system, penalty), omega)
        assert found.shape == (problem.basis.size, P, P)
        for j, one in enumerate(nodes(problem, system, penalty)):
            target = np.append(np.delete(omega[:, j], j), omega[j, j])
            slopes = one.slopes(one.y - one.x @ target).reshape(-1, P)
            literal = np.insert(slopes[:, :-1], j, slopes[:, -1], axis=1)
            assert_close(found[:, :, j], literal, AGREEMENT)

    def test_least_squares_network(self) -> None:
        problem = make_problem()
        system, penalty = problem.system(), problem.penalty(0.1, 3.0)
        omega, variance = least_squares_network(system, penalty)
        for j, one in enumerate(nodes(problem, system, penalty)):
            target = one.estimator() @ one.y
            found = np.append(np.delete(omega[:, j], j), omega[j, j])
            assert_close(found, target, TARGETS)
            assert variance[j] == pytest.approx(one.energy() / N, rel=TARGETS)


class TestCoefficientCovariance:
    """b = A y of every node under two penalties: A_1 A_2' from the n-column matrices."""

    @pytest.mark.parametrize("m", [1, 2])
    @pytest.mark.parametrize("second", [(1e-2, 0.0), (0.3, 30.0)], ids=["other", "same"])
    def test_all_nodes(self, m: int, second: tuple[float, float]) -> None:
        problem = make_problem(m)
        system = problem.system()
        pair = [problem.penalty(0.3, 30.0), problem.penalty(*second)]
        regressions = [node_regressions(system, penalty) for penalty in pair]
        found = coefficient_covariance(*regressions)
        noise = np.arange(1.0, 1.0 + P)
        total, traces = np.zeros((P, P)), []
        for j in range(P):
            one, two = (node(problem, system, j, penalty).estimator()[:-1] for penalty in pair)
            covariance = N * one @ two.T
            others = np.delete(np.arange(P), j)
            total[np.ix_(others, others)] += noise[j] * covariance
            traces.append(np.trace(covariance))
        assert_close(found.traces(), np.array(traces), TARGETS)
        assert_close(found.total(noise), total, TARGETS)

    def test_a_penalty_with_itself(self) -> None:
        problem = make_problem(2)
        system = problem.system()
        penalty = problem.penalty(0.3, 30.0)
        first, again = node_regressions(system, penalty), node_regressions(system, penalty)
        ones = np.ones(P)
        itself = coefficient_covariance(first, first).total(ones)
        assert_close(itself, coefficient_covariance(first, again).total(ones), ROUNDING)
        assert_close(itself, itself.T, ROUNDING)

    def test_no_function_at_all(self) -> None:
        """A confounder that never exceeds its threshold: ordinary least squares."""
        b = make_problem().b
        none = np.zeros((0, 0))
        system = SplineSystem(N, b.T @ b / N, np.zeros((0, Q)), none, none)
        omega, variance = least_squares_network(system, np.zeros(0))
        for j in range(P):
            others = np.delete(np.arange(Q), j)
            target, energy, *_ = np.linalg.lstsq(b[:, others], b[:, j])
            assert_close(np.append(np.delete(omega[:, j], j), omega[j, j]), target, TARGETS)
            assert variance[j] == pytest.approx(energy[0] / N, rel=TARGETS)


class TestPenaltyChoice:
    """Few rows, so that the n x n matrices of all 45 candidates are formed in a moment."""

    def literal_error(self, problem: Problem, system: SplineSystem, prior: np.ndarray) -> float:
        """|b - b0|^2 - tr V, not below zero, + tr Var(b), from the matrices of b = A y."""
        n = len(problem.z)
        moved = noise_in_move = variance = 0.0
        reference_tau = self.literal_reference(problem, system)
        penalty = np.linalg.inv(prior) / n
        for j in range(system.p):
            one = correlated(problem, system, j, penalty)
            reference = node(problem, system, j, problem.penalty(reference_tau))
            a, a0 = one.estimator()[:-1], reference.estimator()[:-1]
            used = (1 + problem.basis.size) * system.p
            sigma2 = reference.energy() / max(n - used, FEWEST_DF * n)
            moved += np.sum(((a - a0) @ one.y) ** 2)
            noise_in_move += sigma2 * np.sum((a - a0) ** 2)
            variance += sigma2 * np.sum(a**2)
        return max(moved - noise_in_move, 0.0) + variance

    @staticmethod
    def literal_reference(problem: Problem, system: SplineSystem) -> float:
        """The smallest penalty whose distance from pooling has a standard error of at most 0.15 |b|^2."""
        n, p = len(problem.z), system.p
        used = (1 + problem.basis.size) * p
        pooled = nodes(problem, system, problem.penalty(TAUS[-1]))
        limit = 0.15 * sum(np.sum((one.estimator()[:-1] @ one.y) ** 2) for one in pooled)
        for tau in REFERENCE_TAUS:
            total = np.zeros((p, p))
            bare = nodes(problem, system, problem.penalty(tau))
            for j, (far, one) in enumerate(zip(pooled, bare, strict=True)):
                others = np.delete(np.arange(p), j)
                apart = far.estimator()[:-1] - one.estimator()[:-1]
                sigma2 = one.energy() / max(n - used, FEWEST_DF * n)
                total[np.ix_(others, others)] += sigma2 * apart @ apart.T
            h = total / np.sqrt(np.trace(total) or 1.0)
            if np.sqrt(4.0 * np.trace(h @ h) ** 2 + 4.0 * np.trace(h @ h @ h @ h)) <= limit:
                break
        return tau

    @staticmethod
    def literal_restricted(
        problem: Problem, system: SplineSystem, tau: float, smoothness: float
    ) -> float:
        penalty = problem.penalty(tau, smoothness)
        return sum(one.restricted() for one in nodes(problem, system, penalty))

    @pytest.mark.parametrize(
        ("n", "p"), [(90, 3), (26, 5)], ids=["many rows", "one row more than coefficients"]
    )
    def test_focused_criterion(self, n: int, p: int) -> None:
        problem = make_problem(n=n, p=p)
        system = problem.system()
        choice = focused_penalty(system, problem.roughness(), PriorForm(problem.basis.confounders))
        learnt = prior_covariance(system, PriorForm(problem.basis.confounders))
        mean = np.average(problem.phi @ system.rotation, axis=0, weights=problem.weights)
        priors = [retain_share(learnt, mean, share) for share in RETAINED_SHARES]
        literal = np.array([[self.literal_error(problem, system, prior)] for prior in priors])
        np.testing.assert_allclose(choice.criterion, literal, rtol=TARGETS)
        chosen = int(np.argmin(literal))
        assert choice.retained_share == RETAINED_SHARES[chosen]
        assert choice.tau == choice.penalty.min()
        own = rotated(system, choice.rotation)
        found = spline_node_grams(own, profile_spline(own, choice.penalty))
        penalty = np.linalg.inv(priors[chosen]) / n
        for j in range(p):
            assert_close(found.grams[j], correlated(problem, system, j, penalty).gram(), TARGETS)

    def test_with_fewer_rows_than_coefficients_they_are_pooled(self) -> None:
        problem = make_problem(n=26, p=6)
        system = problem.system()
        assert len(problem.z) <= (1 + problem.basis.size) * 6
        focused = focused_penalty(system, problem.roughness(), PriorForm(problem.basis.confounders))
        for choice in (focused, reml_penalty(system, problem.roughness())):
            np.testing.assert_array_equal(choice.rotation, np.eye(system.functions))
            np.testing.assert_array_equal(choice.penalty, problem.penalty(TAUS[-1], SMOOTHNESS[-1]))

    def test_the_bias_counts(self) -> None:
        """The comparison above is not one of variances alone."""
        problem = make_problem(n=90, p=3)
        choice = focused_penalty(
            problem.system(), problem.roughness(), PriorForm(problem.basis.confounders)
        )
        assert choice.criterion[0, 0] > 1.5 * choice.criterion.min()

    def test_restricted_likelihood_of_the_mixed_model(self) -> None:
        """Up to a constant: differences from the first candidate."""
        problem = make_problem(n=90, p=3)
        system = problem.system()
        choice = reml_penalty(system, problem.roughness())
        literal = np.array(
            [[self.literal_restricted(problem, system, t, s) for s in SMOOTHNESS] for t in TAUS]
        )
        found = choice.criterion - choice.criterion[0, 0]
        assert_close(found, literal - literal[0, 0], LIKELIHOOD)
        row, column = np.unravel_index(np.argmin(literal), literal.shape)
        assert (choice.tau, choice.smoothness) == (TAUS[row], SMOOTHNESS[column])

    @pytest.mark.parametrize("start", [(0, 0), (6, 0), (10, 4)])
    def test_restricted_likelihood_by_steps_is_that_of_the_grid(
        self, start: tuple[int, int]
    ) -> None:
        problem = make_problem(n=400, p=4)
        system, roughness = problem.system(), problem.roughness()
        choice = reml_penalty(system, roughness)
        value, (row, column) = restricted_likelihood(system, roughness, start)
        assert value == choice.criterion.min()
        assert (TAUS[row], SMOOTHNESS[column]) == (choice.tau, choice.smoothness)

    def test_a_given_penalty_keeps_its_smoothness_by_restricted_likelihood(self) -> None:
        problem = make_problem(n=90, p=3)
        system = problem.system()
        choice = reml_penalty(system, problem.roughness(), (0.7,))
        literal = [self.literal_restricted(problem, system, 0.7, s) for s in SMOOTHNESS]
        assert choice.tau == 0.7
        assert choice.smoothness == SMOOTHNESS[int(np.argmin(literal))]
        found = choice.criterion[0] - choice.criterion[0, 0]
        assert_close(found, np.array(literal) - literal[0], LIKELIHOOD)

    def test_the_choice_is_on_the_grid(self) -> None:
        problem = make_problem(2)
        choice = reml_penalty(problem.system(), problem.roughness())
        assert choice.criterion.shape == (len(TAUS), len(SMOOTHNESS))
        assert choice.tau in TAUS
        assert choice.smoothness in SMOOTHNESS


class TestLearntPrior:
    """Posterior second moments of the mixed model, from its n x n covariance matrix."""

    @staticmethod
    def literal_step(problem: Problem, system: SplineSystem, prior: np.ndarray) -> np.ndarray:
        n, p, size = len(problem.z), system.p, len(prior)
        penalty = np.linalg.inv(prior) / n
        total = np.zeros((size, size))
        for j in range(p):
            one = correlated(problem, system, j, penalty)
            spread = np.linalg.inv(one.root.T @ one.root)
            v = np.eye(n) + one.d @ spread @ one.d.T
            inverse = np.linalg.inv(v)
            fixed = inverse @ one.x
            projector = inverse - fixed @ np.linalg.solve(one.x.T @ fixed, fixed.T)
            noise = one.y @ projector @ one.y / (n - p)
            means = spread @ one.d.T @ projector @ one.y
            covariance = spread - spread @ one.d.T @ projector @ one.d @ spread
            second = np.outer(means, means) / noise + covariance
            for k in range(p - 1):
                own = k + p * np.arange(size)
                total += second[np.ix_(own, own)]
        return total / (p * (p - 1))

    @pytest.mark.parametrize("m", [1, 2])
    def test_steps(self, m: int) -> None:
        problem = make_problem(m)
        system = problem.system()
        owners = problem.basis.confounders
        literal = np.eye(system.functions) / (START_TAU * system.n)
        for steps in (1, 2):
            literal = self.literal_step(problem, system, literal)
            literal[owners[:, None] != owners] = 0.0
            assert_close(prior_covariance(system, PriorForm(owners), steps), literal, LIKELIHOOD)

    def test_every_step_raises_the_restricted_likelihood(self) -> None:
        problem = make_problem()
        system = problem.system()
        losses = []
        for steps in range(6):
            prior = prior_covariance(system, PriorForm(problem.basis.confounders), steps)
            penalty = np.linalg.inv(prior) / system.n
            losses.append(
                sum(correlated(problem, system, j, penalty).restricted() for j in range(P))
            )
        assert np.all(np.diff(losses) < 0.0)

    def test_the_share_that_biases_pooled_samples(self) -> None:
        rng = np.random.default_rng(0)
        root, mean = rng.normal(size=(4, 4)), rng.normal(size=4)
        prior = root @ root.T
        across = np.linalg.svd(np.atleast_2d(prior @ mean))[2][1:]
        for share in (0.25, 1.0):
            part = retain_share(prior, mean, share)
            assert mean @ part @ mean == pytest.approx(share * mean @ prior @ mean)
            # Whatever is independent of it stays as it is.
            assert_close(across @ part @ across.T, across @ prior @ across.T, ROUNDING)
        np.testing.assert_array_equal(retain_share(prior, np.zeros(4), 0.0), prior)


def level_problem(reference: int | None = None, *, age: bool = False) -> Problem:
    """Four levels of a factor with means and a relation of their own; unequal weights."""
    rng = np.random.default_rng(11)
    codes = rng.permutation(np.repeat(np.arange(4.0), [60, 50, 30, 20]))
    g = np.column_stack([codes, rng.uniform(20.0, 70.0, N)])
    z = rng.normal(size=(N, P)) + np.array([0.0, 1.0, -0.5, 0.3])[codes.astype(int), None]
    z[:, 1] += z[:, 0] * np.array([0.2, 0.9, -0.4, 0.5])[codes.astype(int)]
    z[:, 2] += 0.02 * (g[:, 1] - 45.0) * z[:, 1]
    levels = factor_levels(g, 0, 4, reference)
    assert levels is not None
    terms = (levels, anchored_spline(g, 1, 3, 2)) if age else (levels,)
    return Problem(z, g, rng.uniform(0.3, 1.5, N), SplineBasis(terms))


class TestExchangeableLevels:
    """The levels of a factor as independent random effects of one variance."""

    @staticmethod
    def variance(moments: np.ndarray, shape: np.ndarray) -> float:
        """The s with the largest expected log-density of N(0, s shape), by looking for it."""

        def loss(log_variance: float) -> float:
            covariance = np.exp(log_variance) * shape
            return float(
                np.linalg.slogdet(covariance)[1] + np.trace(np.linalg.inv(covariance) @ moments)
            )

        found = minimize_scalar(loss, bracket=(-8.0, 0.0), tol=1e-12)
        return float(np.exp(found.x))

    @pytest.mark.parametrize("age", [False, True])
    @pytest.mark.parametrize("reference", [None, 2])
    def test_steps(self, reference: int | None, age: bool) -> None:
        problem = level_problem(reference, age=age)
        system = problem.system()
        form = prior_form(problem.basis, system.rotation)
        contrasts = np.column_stack([-np.ones(3), np.eye(3)])
        rotation = system.rotation[:3, :3]

        def constrained(moments: np.ndarray) -> np.ndarray:
            """Of the levels one variance, in the functions as they were before the rotation."""
            found = np.where(form.confounders[:, None] == form.confounders, moments, 0.0)
            shape = contrasts @ contrasts.T
            own = rotation @ moments[:3, :3] @ rotation.T
            back = np.linalg.inv(rotation)
            found[:3, :3] = self.variance(own, shape) * back @ shape @ back.T
            return found

        literal = constrained(np.eye(system.functions) / (START_TAU * system.n))
        for steps in (1, 2):
            literal = constrained(TestLearntPrior.literal_step(problem, system, literal))
            assert_close(prior_covariance(system, form, steps), literal, LIKELIHOOD)

    def test_every_step_raises_the_restricted_likelihood(self) -> None:
        problem = level_problem(age=True)
        system = problem.system()
        form = prior_form(problem.basis, system.rotation)
        losses = []
        for steps in range(6):
            penalty = np.linalg.inv(prior_covariance(system, form, steps)) / system.n
            losses.append(
                sum(correlated(problem, system, j, penalty).restricted() for j in range(P))
            )
        assert np.all(np.diff(losses) < 0.0)

    @staticmethod
    def random_levels(problem: Problem, j: int, variance: float) -> Node:
        """Node j with an effect of every level itself, none of them the reference."""
        n = len(problem.z)
        b = np.sqrt(problem.weights)[:, None] * problem.b
        kept = [k for k in range(Q) if k != j]
        indicator = problem.g[:, [0]] == np.arange(4.0)
        d = np.column_stack([indicator[:, level] * b[:, k] for level in range(4) for k in kept])
        penalty = [MEAN_RIDGE if k == P else 1.0 / (n * variance) for k in kept]
        root = np.diag(np.sqrt(n * np.tile(penalty, 4)))
        return Node(b, b[:, kept], b[:, j], d, root)

    @pytest.mark.parametrize("reference", [None, 0, 3])
    def test_the_likelihood_is_that_of_random_level_effects(self, reference: int | None) -> None:
        """Whatever the reference: what all levels share belongs to the baseline network."""
        problem = level_problem(reference)
        system = problem.system()
        (index, shape), *_ = prior_form(problem.basis, system.rotation).shapes
        np.testing.assert_array_equal(index, np.arange(3))
        sizes = (1e-3, 0.03, 1.0)
        for j in range(P):
            ours, literal = [], []
            for variance in sizes:
                penalty = np.linalg.inv(variance * shape) / system.n
                ours.append(correlated(problem, system, j, penalty).restricted())
                literal.append(self.random_levels(problem, j, variance).restricted())
            assert_close(np.diff(ours), np.diff(literal), LIKELIHOOD)

    def test_one_direction_is_counted_for_a_factor(self) -> None:
        problem = level_problem(age=True)
        form = prior_form(problem.basis, problem.system().rotation)
        assert form.learnt == 1 + 3
        assert PriorForm(form.confounders).learnt == 3 + 3
