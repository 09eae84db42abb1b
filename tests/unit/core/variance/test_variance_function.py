"""The inflation of the noise along the confounder: its regression, its residuals, its recovery."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from plaggm.core.profile.spline import MEAN_RIDGE, smoothing_penalty
from plaggm.core.spline import statistics as statistics_module
from plaggm.core.spline.basis import SplineBasis, SplineSide, spline_basis
from plaggm.core.spline.statistics import spline_statistics
from plaggm.core.spline.system import SplineSystem, smooth_system, spline_system
from plaggm.core.variance import variance_function as variance_module
from plaggm.core.variance.gamma_regressions import SHRINKAGE
from plaggm.core.variance.variance_function import (
    LEAST_KEPT,
    PILOT_SMOOTHNESS,
    PILOT_TAU,
    ROUNDS,
    VARIANCE_FUNCTIONS,
    Pilot,
    VarianceFunction,
    baseline_ridge,
    constant_variance,
    fit_variance_function,
    gamma_regression,
    pilot_fit,
    row_energies,
)

# The same sums in another order.
ROUNDING = 1e-12
# Newton's method stops at steps of 1e-8, the general optimiser at gradients of 1e-7 for hundreds of rows.
OPTIMUM = 1e-6
# Two ways of solving the pilot's penalised systems, one of which has a ridge of 1e-9.
AGREEMENT = 1e-6
# Of a log-variance: its standard error from a few hundred rows of eight variables at the end of the range,
# sqrt(2 / (300 * 8)) = 0.03, several times over, and the part of it that the prior of five samples and the
# pilot's own fit take off.
RECOVERY, TAKEN_OFF = 0.15, 0.15
# Where there is nothing to recover.
NOTHING = 0.15

THRESHOLD = np.array([0.3])


def confounder(n: int, seed: int = 0, m: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (n, m))


def table(g: np.ndarray, log_variance: np.ndarray, p: int = 8, seed: int = 1) -> np.ndarray:
    """[Z, 1] with correlated columns whose noise has the given log-variance."""
    rng = np.random.default_rng(seed)
    precision = np.eye(p) - 0.3 * (np.eye(p, k=1) + np.eye(p, k=-1))
    z = rng.multivariate_normal(np.zeros(p), np.linalg.inv(precision), len(g))
    return np.column_stack([np.exp(0.5 * log_variance)[:, None] * z, np.ones(len(g))])


class TestVarianceFunction:
    def test_one_up_to_the_threshold(self) -> None:
        basis = SplineBasis((SplineSide(0, 1.0, 0.3, 0.7, (0.5,), 1),))
        function = VarianceFunction(basis, np.array([2.0, -1.0]))
        g = np.array([[-9.0], [0.0], [0.3], [0.65], [1.0], [7.0]])
        expected = np.array([0.0, 0.0, 0.0, 2.0, -1.0, -1.0])
        np.testing.assert_allclose(function.log_variance(g), expected, atol=ROUNDING)
        np.testing.assert_allclose(function.weights(g), np.exp(-expected), rtol=1e-10)

    def test_no_inflation(self) -> None:
        function = constant_variance()
        np.testing.assert_array_equal(function.log_variance(confounder(5)), np.zeros(5))
        np.testing.assert_array_equal(function.weights(confounder(5)), np.ones(5))


class TestGammaRegression:
    @staticmethod
    def literal(psi: np.ndarray, energy: np.ndarray) -> np.ndarray:
        """The penalised likelihood handed to a general optimiser."""

        def loss(a: np.ndarray) -> tuple[float, np.ndarray]:
            level = a[0] + psi @ a[1:]
            ratio = energy * np.exp(-level)
            slope = np.append(np.sum(1.0 - ratio), psi.T @ (1.0 - ratio) + SHRINKAGE * a[1:])
            return float(np.sum(level + ratio) + 0.5 * SHRINKAGE * np.sum(a[1:] ** 2)), slope

        start = np.zeros(1 + psi.shape[1])
        found = minimize(loss, start, jac=True, method="BFGS", options=dict(gtol=1e-7))
        return found.x[1:]

    @pytest.mark.parametrize("slopes", [(0.0, 0.0), (1.0, 2.0), (-2.0, 0.5), (4.0, 6.0)])
    def test_a_general_optimiser(self, slopes: tuple[float, float]) -> None:
        rng = np.random.default_rng(2)
        psi = rng.uniform(0.0, 1.0, (400, 2)) * (rng.uniform(size=(400, 1)) < 0.6)
        energy = 3.0 * np.exp(psi @ slopes) * rng.chisquare(4, 400) / 4
        np.testing.assert_allclose(
            gamma_regression(psi, energy), self.literal(psi, energy), atol=OPTIMUM
        )

    def test_the_level_does_not_matter(self) -> None:
        rng = np.random.default_rng(3)
        psi, energy = rng.uniform(size=(100, 2)), rng.chisquare(3, 100)
        np.testing.assert_allclose(
            gamma_regression(psi, 1e6 * energy), gamma_regression(psi, energy), atol=OPTIMUM
        )

    def test_the_measure_of_slopes_follows_the_functions(self) -> None:
        """Combinations of the functions, measured alike, have the same log-variance."""
        rng = np.random.default_rng(5)
        psi, energy = rng.uniform(size=(150, 2)), rng.chisquare(3, 150)
        turn = np.array([[2.0, 0.3], [-1.0, 0.5]])
        found = gamma_regression(psi @ turn, energy, size=turn.T @ turn)
        np.testing.assert_allclose(turn @ found, gamma_regression(psi, energy), atol=OPTIMUM)
        # Measured otherwise they are shrunk otherwise.
        other = gamma_regression(psi, energy, size=50.0 * np.eye(2))
        assert np.abs(other).sum() < 0.9 * np.abs(gamma_regression(psi, energy)).sum()

    def test_a_function_without_samples_stays_at_zero(self) -> None:
        rng = np.random.default_rng(4)
        psi = np.column_stack([rng.uniform(size=100), np.zeros(100)])
        assert gamma_regression(psi, rng.chisquare(3, 100))[1] == 0.0

    def test_shrinkage_of_a_function_with_few_samples(self) -> None:
        """Three samples of forty times the energy: the prior of five samples keeps them well below."""
        psi = np.zeros((200, 1))
        psi[:3] = 1.0
        energy = np.where(psi[:, 0] > 0.0, 40.0, 1.0)
        (found,) = gamma_regression(psi, energy)
        assert 0.5 < found < 0.8 * np.log(40.0)

    def test_a_large_inflation_is_reached_by_damped_steps(self) -> None:
        psi = np.linspace(0.0, 1.0, 3000)[:, None]
        energy = np.exp(12.0 * psi[:, 0])
        np.testing.assert_allclose(
            gamma_regression(psi, energy), self.literal(psi, energy), atol=1e-4
        )


class TestResidualEnergy:
    @staticmethod
    def literal(
        b: np.ndarray,
        phi: np.ndarray,
        weights: np.ndarray,
        system: SplineSystem,
        roughness: np.ndarray,
    ) -> np.ndarray:
        """Each node's regression as one penalised least-squares problem, weighted."""
        n, q = b.shape
        root = np.sqrt(weights)[:, None]
        functions = phi @ system.rotation
        energy = np.zeros(n)
        whole = np.hstack([b, *(one[:, None] * b for one in functions.T)])
        columns = [0.0] * q
        for tau in smoothing_penalty(roughness, PILOT_TAU, PILOT_SMOOTHNESS):
            columns += [tau] * (q - 1) + [MEAN_RIDGE]
        inverse = np.linalg.inv((whole * weights[:, None]).T @ whole + n * np.diag(columns))
        for j in range(q - 1):
            x = np.delete(b, j, axis=1)
            design = np.hstack([x, *(one[:, None] * x for one in functions.T)])
            penalty = [0.0] * (q - 1)
            for tau in smoothing_penalty(roughness, PILOT_TAU, PILOT_SMOOTHNESS):
                penalty += [tau] * (q - 2) + [MEAN_RIDGE]
            rows = np.vstack([root * design, np.diag(np.sqrt(n * np.array(penalty)))])
            target = np.append(root[:, 0] * b[:, j], np.zeros(len(penalty)))
            slopes = np.linalg.lstsq(rows, target)[0]
            residual = b[:, j] - design @ slopes
            # The penalised residual sum of squares is what the profiled Gram matrix has.
            total = np.sum(weights * residual**2) + n * np.sum(penalty * slopes**2)
            energy += residual**2 / (total / n)
        # The noise of row i that its residual keeps: the diagonal of (1 - H)(1 - H)' for equal noise.
        hat = root * whole @ inverse @ (root * whole).T
        left = np.eye(n) - hat
        return energy / (q - 1) / np.maximum(np.diagonal(left @ left.T), LEAST_KEPT)

    @pytest.mark.parametrize("m", [1, 2])
    @pytest.mark.parametrize("chunk", [512, 37])
    def test_explicit_residuals(self, m: int, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(variance_module, "CHUNK_ROWS", chunk)
        monkeypatch.setattr(statistics_module, "CHUNK_ROWS", chunk)
        g = confounder(150, m=m)
        b = table(g, np.abs(g[:, 0]), p=3)
        b[:, 0] += 0.7 + 0.5 * b[:, 1] * np.abs(g[:, 0])
        weights = np.random.default_rng(5).uniform(0.5, 2.0, 150)
        basis = spline_basis(g, np.repeat(THRESHOLD, m), functions=3, degree=2)
        phi = basis.evaluate(g)
        system, roughness = smooth_system(spline_statistics(b, phi, weights), basis)
        np.testing.assert_allclose(
            row_energies(pilot_fit(system, roughness), b, phi, weights),
            self.literal(b, phi, weights, system, roughness),
            rtol=AGREEMENT,
        )

    def test_units_do_not_matter(self) -> None:
        """No node outweighs the others where the pilot's penalty, which has units, has nothing to do."""
        g = confounder(300)
        b = table(g, 2.0 * np.abs(g[:, 0]), p=4)
        basis = spline_basis(g, THRESHOLD)
        phi, ones = np.zeros((300, basis.size)), np.ones(300)
        energies = []
        for one in (b, b * np.array([1.0, 10.0, 0.1, 5.0, 1.0])):
            system = spline_system(spline_statistics(one, phi, ones), np.eye(basis.size))
            pilot = pilot_fit(system, np.zeros(basis.size))
            energies.append(row_energies(pilot, one, phi, ones))
        # The ridge is of the columns' mean size.
        np.testing.assert_allclose(energies[1], energies[0], rtol=100.0 * AGREEMENT)


class TestFit:
    def test_rounds_of_pilot_and_regression(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each pilot is weighted by the regression before it, and the last regression is the answer."""
        g = confounder(300)
        b = table(g, 2.0 * np.maximum(np.abs(g[:, 0]) - 0.3, 0.0), p=4)
        psi_basis = spline_basis(g, THRESHOLD, functions=VARIANCE_FUNCTIONS, degree=1)
        psi = psi_basis.evaluate(g)
        answers, weights = [np.zeros(psi.shape[1])], []

        def regression(*arguments: np.ndarray, size: np.ndarray) -> np.ndarray:
            answers.append(gamma_regression(*arguments, size=size))
            return answers[-1]

        def energies(pilot: Pilot, b: np.ndarray, phi: np.ndarray, w: np.ndarray) -> np.ndarray:
            weights.append(w)
            return row_energies(pilot, b, phi, w)

        monkeypatch.setattr(variance_module, "gamma_regression", regression)
        monkeypatch.setattr(variance_module, "row_energies", energies)
        found = fit_variance_function(
            b, g, spline_basis(g, THRESHOLD, functions=3, degree=2), THRESHOLD
        )
        assert found.basis == psi_basis
        assert len(weights) == ROUNDS
        for w, before in zip(weights, answers, strict=False):
            np.testing.assert_allclose(w, np.exp(-psi @ before), rtol=ROUNDING)
        np.testing.assert_array_equal(found.coefficients, answers[-1])

    @pytest.mark.parametrize("slope", [1.0, 3.0])
    def test_recovers_an_inflation(self, slope: float) -> None:
        g = confounder(1500)
        b = table(g, slope * np.maximum(np.abs(g[:, 0]) - 0.3, 0.0) / 0.7)
        found = fit_variance_function(
            b, g, spline_basis(g, THRESHOLD, functions=3, degree=2), THRESHOLD
        )
        at = np.linspace(-1.0, 1.0, 41)[:, None]
        truth = slope * np.maximum(np.abs(at[:, 0]) - 0.3, 0.0) / 0.7
        np.testing.assert_allclose(found.log_variance(at), truth, atol=RECOVERY, rtol=TAKEN_OFF)

    def test_recovers_which_side_inflates(self) -> None:
        g = confounder(1500)
        b = table(g, 2.0 * np.maximum(g[:, 0] - 0.3, 0.0) / 0.7)
        found = fit_variance_function(
            b, g, spline_basis(g, THRESHOLD, functions=3, degree=2), THRESHOLD
        )
        left, right = found.log_variance(np.array([[-1.0], [1.0]]))
        assert left == pytest.approx(0.0, abs=RECOVERY)
        assert right == pytest.approx(2.0, abs=RECOVERY + 2.0 * TAKEN_OFF)

    def test_recovers_which_confounder_inflates(self) -> None:
        g = confounder(2000, m=2)
        b = table(g, 2.0 * np.maximum(np.abs(g[:, 1]) - 0.3, 0.0) / 0.7)
        threshold = np.repeat(THRESHOLD, 2)
        found = fit_variance_function(
            b, g, spline_basis(g, threshold, functions=2, degree=2), threshold
        )
        one, other = found.log_variance(np.array([[1.0, 0.0], [0.0, 1.0]]))
        assert one == pytest.approx(0.0, abs=RECOVERY)
        assert other == pytest.approx(2.0, abs=RECOVERY + 2.0 * TAKEN_OFF)

    @pytest.mark.parametrize("seed", range(3))
    def test_constant_variance_gives_about_none(self, seed: int) -> None:
        g = confounder(1500, seed)
        b = table(g, np.zeros(1500), seed=seed + 10)
        found = fit_variance_function(
            b, g, spline_basis(g, THRESHOLD, functions=3, degree=2), THRESHOLD
        )
        assert np.abs(found.log_variance(g)).max() < NOTHING

    def test_a_moving_network_is_not_taken_for_noise(self) -> None:
        """Relations that change with g have their own functions; the noise is constant."""
        rng = np.random.default_rng(6)
        g = confounder(2000)
        z = rng.normal(size=(2000, 6))
        z[:, 0] += 1.5 * np.maximum(np.abs(g[:, 0]) - 0.3, 0.0) * z[:, 1]
        b = np.column_stack([z, np.ones(2000)])
        found = fit_variance_function(
            b, g, spline_basis(g, THRESHOLD, functions=3, degree=2), THRESHOLD
        )
        assert np.abs(found.log_variance(g)).max() < NOTHING

    def test_nothing_beyond_the_threshold(self) -> None:
        g = confounder(100)
        found = fit_variance_function(table(g, np.zeros(100)), g, SplineBasis(()), np.array([1.0]))
        assert found.basis.terms == ()


def test_a_row_that_stands_for_several_counts_as_often() -> None:
    rng = np.random.default_rng(7)
    psi, energy, counts = rng.uniform(size=(40, 2)), rng.gamma(3.0, size=40), rng.integers(1, 5, 40)
    repeated = gamma_regression(np.repeat(psi, counts, axis=0), np.repeat(energy, counts))
    found = gamma_regression(psi, energy, counts.astype(float))
    np.testing.assert_allclose(found, repeated, atol=OPTIMUM)


def rows_of_many_variables(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(n)
    g = draw.uniform(0.0, 2.0, n)
    z = draw.standard_normal((n, p)) * (1.0 + 0.4 * np.maximum(g - 0.5, 0.0))[:, None]
    return np.column_stack([z, np.ones(n)]), g[:, None]


@pytest.mark.parametrize("n", [20, 40, 100])
def test_ridge_leaves_a_third_of_the_rows(n: int) -> None:
    b, confounder = rows_of_many_variables(n, 40)
    basis = spline_basis(confounder, np.array([0.5]), functions=2)
    system, _ = smooth_system(spline_statistics(b, basis.evaluate(confounder)), basis)
    ridge = baseline_ridge(system)
    z = b[:, :-1]
    hat = z @ np.linalg.solve(z.T @ z / n + max(ridge, 1e-10) * np.eye(40), z.T) / n
    if n == 100:
        assert ridge == 0.0
    else:
        assert np.trace(hat) == pytest.approx(2.0 / 3.0 * n, rel=1e-6)


@pytest.mark.parametrize("n", [100, 150])
def test_the_inflation_is_found_with_fewer_rows_than_variables(n: int) -> None:
    b, confounder = rows_of_many_variables(n, 150)
    limits = np.array([0.5])
    basis = spline_basis(confounder, limits, functions=2)
    found = fit_variance_function(b, confounder, basis, limits)
    grid = np.array([[0.3], [1.0], [1.9]])
    known = 2.0 * np.log(1.0 + 0.4 * np.maximum(grid[:, 0] - 0.5, 0.0))
    logs = found.log_variance(grid)
    # Shrunk towards none, and of the right sign: without a ridge up to three times as large.
    assert logs[0] == 0.0
    assert 0.3 * known[1] < logs[1] < 1.3 * known[1]
    assert 0.3 * known[2] < logs[2] < 1.3 * known[2]
