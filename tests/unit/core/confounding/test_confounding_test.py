"""The test of no confounding, piece by piece against its formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from plaggm.core.confounding import confounding_test as module
from plaggm.core.confounding.confounding_test import (
    RowInfluence,
    centred_products,
    combined_p_value,
    confounding_test,
    energy_excess,
    judge,
    null_cumulants,
    projection_offset,
)
from plaggm.core.confounding.rows import (
    TestedFunctions,
    UntestableError,
    mean_functions,
    network_functions,
    row_functions,
    standardized_rows,
)

ROUNDING = 1e-10
N, P = 60, 4
PAIRS = [(j, k) for j in range(P) for k in range(j + 1, P)]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def influence(rng: np.random.Generator) -> RowInfluence:
    z = rng.normal(size=(N, P)) @ rng.normal(size=(P, P))
    return RowInfluence.of(z / np.sqrt(np.mean(z**2, axis=0)))


def literal(influence: RowInfluence) -> np.ndarray:
    """h_i[jk]: shape (n, pairs)."""
    z, r = influence.z, influence.correlation
    return np.array(
        [
            [row[j] * row[k] - r[j, k] * (row[j] ** 2 + row[k] ** 2) / 2.0 for j, k in PAIRS]
            for row in z
        ]
    )


class TestInfluence:
    def test_it_is_the_derivative_of_a_correlation(self, influence: RowInfluence) -> None:
        """Weighting one row a little more changes the correlation by its influence over n."""
        z, more = influence.z, 1e-6
        weights = np.ones(N)
        weights[7] += more
        moments = (z * weights[:, None]).T @ z
        scale = np.sqrt(np.diagonal(moments))
        moved = moments / scale[:, None] / scale
        found = [(moved - influence.correlation)[j, k] * N / more for j, k in PAIRS]
        np.testing.assert_allclose(found, literal(influence)[7], rtol=1e-4, atol=1e-6)

    def test_products_and_squares(self, influence: RowInfluence) -> None:
        h = literal(influence)
        np.testing.assert_allclose(influence.products(), h @ h.T, atol=ROUNDING)
        squares, lost = influence.squares()
        np.testing.assert_allclose(squares, np.sum(h**2, axis=1), atol=ROUNDING)
        energy = influence.z**2
        both = np.array([[row[j] + row[k] for j, k in PAIRS] for row in energy])
        gained = 0.25 * both**2 @ np.mean(h**2, axis=0)
        np.testing.assert_allclose(lost, (np.sum(both * h**2, axis=1) - gained) / N, atol=ROUNDING)

    def test_the_energy_of_all_functions(
        self, rng: np.random.Generator, influence: RowInfluence
    ) -> None:
        functions = rng.normal(size=(N, 3))
        expected = np.sum((functions.T @ literal(influence)) ** 2, axis=1)
        np.testing.assert_allclose(influence.energies(functions), expected)


def test_cumulants(rng: np.random.Generator, influence: RowInfluence) -> None:
    """Those of all functions together, and of each of two confounders alone."""
    functions = rng.normal(size=(N, 3))
    h = literal(influence)
    design = np.column_stack([np.ones(N), functions])
    hat = design @ np.linalg.pinv(design)
    kept = 1.0 - np.diagonal(hat)
    products = h @ h.T
    np.fill_diagonal(products, 0.0)
    apart = np.eye(N) - hat
    centred = (apart @ products @ apart) / np.sqrt(kept[:, None] * kept)
    np.fill_diagonal(centred, 0.0)
    tested = TestedFunctions(functions, np.array([0, 1, 1]), 2)
    found = null_cumulants(influence, tested)
    assert len(found) == 3
    for (second, third), part in zip(found, ([0], [1, 2], [0, 1, 2]), strict=True):
        a = (functions[:, part] @ functions[:, part].T) * centred
        assert second == pytest.approx(2.0 * np.trace(a @ a))
        assert third == pytest.approx(8.0 * np.trace(a @ a @ a))


def test_a_change_is_not_taken_for_noise(rng: np.random.Generator) -> None:
    """Means along the functions hardly move the products of the influences."""
    n = 500
    h, functions = rng.normal(size=(n, 5)), rng.normal(size=(n, 2))
    moved = h + 3.0 + functions @ rng.normal(size=(2, 5))
    still, found = (centred_products(rows @ rows.T, functions) for rows in (h, moved))
    assert np.std(moved @ moved.T) > 5.0 * np.std(h @ h.T)
    assert np.mean(found**2) == pytest.approx(np.mean(still**2), rel=0.05)


def test_cumulants_of_some_rows_stand_for_all(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    influence = RowInfluence.of(rng.normal(size=(2000, 6)))
    functions = TestedFunctions(rng.normal(size=(2000, 3)), np.zeros(3, dtype=np.intp), 1)
    whole = null_cumulants(influence, functions)
    monkeypatch.setattr(module, "CUMULANT_ROWS", 1500)
    most = null_cumulants(influence, functions)
    np.testing.assert_allclose(most, whole, rtol=0.25)


def test_the_offset_of_the_projection(rng: np.random.Generator) -> None:
    functions, projection = rng.normal(size=(N, 3)), rng.normal(size=(N, 5))
    squared = (projection @ projection.T) ** 2
    np.fill_diagonal(squared, 0.0)
    expected = [one @ squared @ one for one in functions.T]
    np.testing.assert_allclose(projection_offset(projection, functions), expected)


def test_the_offset_of_some_rows_stands_for_all(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 3000
    g = np.linspace(-1.0, 1.0, n)
    projection = np.linalg.qr(np.vander(g, 4))[0]
    functions = np.column_stack([g, np.abs(g) - 0.5])
    some = projection_offset(projection, functions)
    monkeypatch.setattr(module, "OFFSET_ROWS", n)
    np.testing.assert_allclose(some, projection_offset(projection, functions), rtol=0.02)


def test_every_confounder_is_tested_alone_and_with_all_others() -> None:
    """An effect along one of seven: p-values of each and of the sum, combined."""
    draw = np.random.default_rng(5)
    limits = np.append(np.zeros(6), 0.3)
    g = np.abs(draw.normal(size=(900, 1)))
    z = draw.normal(size=(900, 8))
    z[:, 1] += g[:, 0] * z[:, 0]
    confounders = np.column_stack([draw.normal(size=(900, 6)), g])
    functions = network_functions(confounders, limits)
    standard, projection = standardized_rows(z, row_functions(confounders, limits, functions))
    influence = RowInfluence.of(standard)
    values = energy_excess(influence, projection, functions)
    parts = [*(functions.owners == k for k in range(7)), np.ones(len(values), dtype=bool)]
    cumulants = null_cumulants(influence, functions)
    alone = [judge(np.sum(values[one]), *own) for one, own in zip(parts, cumulants, strict=True)]
    p_values = np.array([one.p_value for one in alone])
    assert np.argmin(p_values) == 6
    found = confounding_test(z, confounders, limits)
    assert found.p_value == pytest.approx(combined_p_value(p_values))
    assert found.statistic == pytest.approx(alone[6].statistic)
    assert found.p_value < 1e-3


def test_combined_p_values() -> None:
    """Uniform ones combine to a uniform one, and a single small one is hardly diluted by many of 0.5."""
    draw = np.random.default_rng(0)
    found = np.array([combined_p_value(draw.random(5)) for _ in range(4000)])
    for level in (0.01, 0.05, 0.2):
        error = np.sqrt(level * (1.0 - level) / len(found))
        assert abs(np.mean(found <= level) - level) < 4.0 * error
    assert combined_p_value(np.array([1.0, 1e-6])) < 1e-4


@pytest.mark.parametrize("degrees", [3, 40])
@pytest.mark.parametrize("level", [0.5, 0.1, 0.01])
def test_a_chi_square_is_judged_as_one(degrees: int, level: float) -> None:
    value = chi2.isf(level, degrees) - degrees
    found = judge(value, 2.0 * degrees, 8.0 * degrees)
    assert found.p_value == pytest.approx(level)
    assert found.degrees_of_freedom == pytest.approx(degrees)
    assert found.statistic == pytest.approx(value / np.sqrt(2.0 * degrees))


def test_without_skewness_it_is_normal() -> None:
    assert judge(1.959964, 1.0, 0.0).p_value == pytest.approx(0.025, rel=1e-5)
    assert judge(0.0, 0.0, 0.0).p_value == 0.5


class TestStandardizing:
    def test_means_and_scales_are_gone(self, rng: np.random.Generator) -> None:
        n = 4000
        g = rng.uniform(-2.0, 2.0, (n, 1))
        noise = rng.normal(size=(n, 3))
        x = 5.0 + g * [0.0, 3.0, -2.0] + np.exp(np.abs(g) * [0.0, 0.5, 1.0]) * noise
        functions = network_functions(g, np.array([0.2]))
        known = row_functions(g, np.array([0.2]), functions)
        z, _ = standardized_rows(x, known)
        np.testing.assert_allclose(np.mean(z**2, axis=0), 1.0)
        for part in (np.abs(g[:, 0]) < 0.5, g[:, 0] > 1.5, g[:, 0] < -1.5):
            np.testing.assert_allclose(z[part].mean(axis=0), 0.0, atol=0.12)
            np.testing.assert_allclose(z[part].std(axis=0), 1.0, atol=0.12)

    def test_every_value_of_a_batch_has_its_own_mean(self) -> None:
        batch = np.repeat([0.0, 1.0, 2.0], 20)[:, None]
        functions = mean_functions(batch, np.zeros(1))
        assert functions.shape == (60, 3)
        means = np.repeat([1.0, -4.0, 2.0], 20)
        left = means - functions @ np.linalg.lstsq(functions, means)[0]
        np.testing.assert_allclose(left, 0.0, atol=ROUNDING)


def test_functions_are_centred_and_flat_below_the_threshold(rng: np.random.Generator) -> None:
    g = rng.standard_t(2, size=(500, 1))
    functions = network_functions(g, np.array([0.5])).values
    assert functions.shape == (500, 6)
    np.testing.assert_allclose(functions.mean(axis=0), 0.0, atol=ROUNDING)
    assert np.all(np.ptp(functions[np.abs(g[:, 0]) <= 0.5], axis=0) < ROUNDING)
    weights = np.mean(functions**2, axis=0)
    np.testing.assert_allclose(functions.T @ functions / 500, np.diag(weights), atol=ROUNDING)
    # Ranks: no sample has much more weight than the others.
    assert np.abs(functions).max() < 5.0


class TestWhole:
    @staticmethod
    def sample(rng: np.random.Generator, slope: float) -> tuple[np.ndarray, np.ndarray]:
        g = rng.uniform(-1.0, 1.0, (800, 1))
        x = rng.normal(size=(800, P))
        x[:, 1] += slope * np.abs(g[:, 0]) * x[:, 0]
        return x, g

    def test_a_changing_network_is_seen(self, rng: np.random.Generator) -> None:
        assert confounding_test(*self.sample(rng, 1.5), np.array([0.1])).p_value < 1e-4

    def test_a_constant_one_is_not(self, rng: np.random.Generator) -> None:
        assert confounding_test(*self.sample(rng, 0.0), np.array([0.1])).p_value > 0.01

    def test_units_order_and_sign_do_not_matter(self, rng: np.random.Generator) -> None:
        x, g = self.sample(rng, 0.5)
        first = confounding_test(x, g, np.array([0.1]))
        order = rng.permutation(len(x))
        again = confounding_test(3.0 - 7.0 * x[order], 100.0 * g[order], np.array([10.0]))
        assert again.statistic == pytest.approx(first.statistic, rel=1e-6)
        assert again.p_value == pytest.approx(first.p_value, rel=1e-6)
        mirrored = confounding_test(x[:, ::-1], -g, np.array([0.1]))
        assert mirrored.p_value == pytest.approx(first.p_value, rel=1e-6)

    def test_more_variables_than_samples(self, rng: np.random.Generator) -> None:
        found = confounding_test(
            rng.normal(size=(80, 120)), rng.uniform(-1.0, 1.0, (80, 1)), np.array([0.2])
        )
        assert 0.0 < found.p_value < 1.0

    def test_two_confounders(self, rng: np.random.Generator) -> None:
        x, g = self.sample(rng, 1.5)
        both = np.column_stack([rng.uniform(-1.0, 1.0, 800), g])
        assert confounding_test(x, both, np.array([0.1, 0.1])).p_value < 1e-3

    def test_nothing_beyond_the_threshold(self, rng: np.random.Generator) -> None:
        with pytest.raises(UntestableError, match=r"exceeds its threshold \(\[2.0\]\).*smaller"):
            confounding_test(*self.sample(rng, 0.0), np.array([2.0]))

    def test_too_few_samples(self, rng: np.random.Generator) -> None:
        x, g = self.sample(rng, 0.0)
        with pytest.raises(UntestableError, match="11 samples are too few"):
            confounding_test(x[:11], np.sort(g[:11], axis=0), np.array([0.0]))
