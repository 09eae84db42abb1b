from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plaggm import PLAGGM
from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.lasso.path import solve_path
from plaggm.core.profile.pooled import profile_pooled
from plaggm.core.variance.conditional import (
    FEWEST_DF,
    STABLE,
    conditional_scale,
    pseudo_bic,
    residual_scale,
)
from plaggm.simulate import simulate_paper

P = 6
# The same sums in another order.
ROUNDING = 1e-10
# Conditional standard deviations are to be recovered within a tenth.
WITHIN = 0.10
# A standard deviation from n samples is known to 1 / sqrt(2 n), so n = 2,000 leaves 1.6 %; six are
# looked at.
N = 2000
SAMPLING = 4.0 / np.sqrt(2.0 * N)

WILD = np.array([1e-3, 1.0, 1e3, 10.0, 0.1, 100.0])
UNEQUAL = np.array([1.0, 2.0, 0.5, 3.0, 0.3, 1.5])


@pytest.fixture(scope="module")
def omega() -> np.ndarray:
    omega = np.zeros((P, P))
    for j, k, value in ((0, 1, 0.4), (1, 2, -0.3), (2, 3, 0.35), (4, 5, 0.45), (0, 5, -0.25)):
        omega[j, k] = omega[k, j] = value
    return omega


@pytest.fixture(scope="module")
def z(omega: np.ndarray) -> np.ndarray:
    """Samples with unit conditional variances."""
    covariance = np.linalg.inv(np.eye(P) - omega)
    rng = np.random.default_rng(1)
    return rng.multivariate_normal(np.zeros(P), covariance, size=N, method="cholesky")


def grams_of(x: np.ndarray) -> NodeGrams:
    return profile_pooled(np.column_stack([x, np.ones(len(x))]))


def off_diagonal(matrix: np.ndarray) -> np.ndarray:
    return matrix[~np.eye(len(matrix), dtype=bool)]


class TestResidualScale:
    def test_degrees_of_freedom_are_taken_off(self, z: np.ndarray) -> None:
        x = z[:50] + 1.0
        node_grams = grams_of(x)
        omega = solve_path(node_grams, np.array([0.2])).omega[0]
        off = omega - np.diag(np.diag(omega))
        squares = np.sum((x - np.diag(omega) - x @ off) ** 2, axis=0)
        # The intercept counts as one, every neighbour as one.
        left = 50 - 1 - np.count_nonzero(off, axis=0)
        found = residual_scale(node_grams, omega)
        np.testing.assert_allclose(found, np.sqrt(squares / left), rtol=ROUNDING)
        assert len(set(left)) > 1

    def test_the_smoother_spends_some_too(self, z: np.ndarray) -> None:
        plain = grams_of(z[:50])
        omega = np.diag(np.full(P, 0.1))
        trace = np.arange(P, dtype=np.float64)
        smoothed = NodeGrams(plain.grams, plain.n, trace)
        ratio = residual_scale(smoothed, omega) / residual_scale(plain, omega)
        np.testing.assert_allclose(ratio, np.sqrt(49.0 / (49.0 - trace)), rtol=ROUNDING)

    def test_the_correction_is_bounded(self, z: np.ndarray) -> None:
        plain = grams_of(z[:50])
        spent = NodeGrams(plain.grams, plain.n, np.full(P, 1000.0))
        omega = np.zeros((P, P))
        ratio = residual_scale(spent, omega) / residual_scale(plain, omega)
        np.testing.assert_allclose(ratio, 1.0 / np.sqrt(FEWEST_DF), rtol=ROUNDING)

    def test_pseudo_bic(self, z: np.ndarray, omega: np.ndarray) -> None:
        squares = np.mean((z - z @ omega) ** 2, axis=0)
        expected = N * np.log(squares).sum() + np.log(N) * (5 + P)
        assert pseudo_bic(grams_of(z), omega[None]) == pytest.approx([expected], rel=ROUNDING)


@pytest.mark.parametrize("symmetry", ["joint", "and", "or"])
class TestConditionalScale:
    def test_unit_variances(self, z: np.ndarray, symmetry: Any) -> None:
        found = conditional_scale(grams_of(z), symmetry)
        assert np.abs(found - 1.0).max() < SAMPLING
        # The marginal standard deviations are not one.
        assert z.std(axis=0).max() > 1.1

    @pytest.mark.parametrize("units", [UNEQUAL, WILD], ids=["unequal", "wild"])
    def test_units_go_into_the_scale(self, z: np.ndarray, symmetry: Any, units: np.ndarray) -> None:
        plain = conditional_scale(grams_of(z), symmetry)
        scaled = conditional_scale(grams_of(z * units), symmetry)
        # The rounds stop when nothing moves by more than STABLE.
        np.testing.assert_allclose(scaled / units, plain, rtol=STABLE)

    def test_the_mean_does_not_matter(self, z: np.ndarray, symmetry: Any) -> None:
        plain = conditional_scale(grams_of(z), symmetry)
        shifted = conditional_scale(grams_of(z + 5.0), symmetry)
        np.testing.assert_allclose(shifted, plain, rtol=STABLE)


class TestEstimator:
    def test_unequal_variances_are_recovered(self, z: np.ndarray, omega: np.ndarray) -> None:
        model = PLAGGM(0.01, variance="conditional").fit(z * UNEQUAL)
        np.testing.assert_allclose(model.scale_, UNEQUAL, rtol=WITHIN)
        # The penalty shrinks every edge by alpha / 2 at most, up to the correlation of the neighbours.
        error = np.abs(off_diagonal(model.omega_ - omega)).max()
        assert error < 0.01 + 4.0 / np.sqrt(N)

    def test_taking_them_as_one_is_wrong(self, z: np.ndarray, omega: np.ndarray) -> None:
        model = PLAGGM(0.01, variance="unit", standardize=False).fit(z * UNEQUAL)
        np.testing.assert_array_equal(model.scale_, np.ones(P))
        assert np.abs(model.scale_ / UNEQUAL - 1.0).max() > WITHIN
        assert np.abs(off_diagonal(model.omega_ - omega)).max() > 0.1

    def test_the_marginal_ones_will_not_do(self, z: np.ndarray) -> None:
        standardized = PLAGGM(0.01, variance="unit", standardize=True).fit(z * UNEQUAL)
        assert np.abs(standardized.scale_ / UNEQUAL - 1.0).max() > WITHIN

    def test_beside_a_confounder(self) -> None:
        data = simulate_paper(
            P, n=N, seed=0, even=True, threshold=60.0, target_radius=0.5, nuisance_radius=0.3
        )
        settings = dict(smoother="kernel", threshold=60.0, variance="conditional")
        model = PLAGGM(0.01, **settings).fit(data.x * UNEQUAL, confounder=data.confounder)
        np.testing.assert_allclose(model.scale_, UNEQUAL, rtol=WITHIN)

    @pytest.mark.parametrize("standardize", [True, False])
    def test_rescaled_columns_give_the_same_network(self, z: np.ndarray, standardize: bool) -> None:
        settings = dict(variance="conditional", standardize=standardize)
        plain = PLAGGM(0.05, **settings).fit(z)
        wild = PLAGGM(0.05, **settings).fit(z * WILD)
        np.testing.assert_array_equal(wild.adjacency_, plain.adjacency_)
        # Scales that are off by STABLE change the columns of the problem by as much.
        np.testing.assert_allclose(
            wild.partial_correlation_, plain.partial_correlation_, atol=2.0 * STABLE
        )
        np.testing.assert_allclose(wild.scale_ / WILD, plain.scale_, rtol=STABLE)
        np.testing.assert_allclose(
            wild.precision_ * np.outer(WILD, WILD), plain.precision_, atol=4.0 * STABLE
        )

    def test_the_literal_model_depends_on_the_units(self, z: np.ndarray) -> None:
        settings = dict(variance="unit", standardize=False)
        plain = PLAGGM(0.05, **settings).fit(z)
        wild = PLAGGM(0.05, **settings).fit(z * WILD)
        difference = np.abs(wild.partial_correlation_ - plain.partial_correlation_).max()
        assert difference > 0.1

    def test_rescaled_columns_beside_a_confounder(self) -> None:
        data = simulate_paper(P, n=400, seed=2, even=True, threshold=60.0, density=0.5)
        settings = dict(
            alpha=0.05, smoother="kernel", threshold=60.0, variance="conditional",
            standardize=False,
        )  # fmt: skip
        plain = PLAGGM(**settings).fit(data.x, confounder=data.confounder)
        wild = PLAGGM(**settings).fit(data.x * WILD, confounder=data.confounder)
        np.testing.assert_allclose(wild.scale_ / WILD, plain.scale_, rtol=STABLE)
        np.testing.assert_allclose(
            wild.partial_correlation_, plain.partial_correlation_, atol=2.0 * STABLE
        )
        np.testing.assert_allclose(
            off_diagonal(wild.nuisance(300.0)), off_diagonal(plain.nuisance(300.0)), atol=0.05
        )


@pytest.mark.parametrize("n", [40, 200])
def test_rounds_of_many_variables_may_start_from_the_network_before(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(n)
    z = draw.standard_normal((n, 30)) * np.exp(draw.normal(0.0, 0.5, 30))
    z[:, 1:] += 0.6 * z[:, :-1]
    grams = profile_pooled(np.column_stack([z, np.ones(n)]))
    monkeypatch.setattr("plaggm.core.lasso.path.MANY_VARIABLES", 30)
    near = conditional_scale(grams, "joint")
    monkeypatch.setattr("plaggm.core.variance.conditional.SIMILAR", -1.0)
    np.testing.assert_allclose(near, conditional_scale(grams, "joint"), rtol=1e-3)
