"""Dependence is found where it is, exactly or nearly, in any unit."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.preparation.dependence import correlations, find_dependence

# Sums of products over some hundred rows, in another order.
ROUNDING = 1e-13
N = 200


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((N, 4))


def found(x: np.ndarray):
    return find_dependence(correlations(x), len(x))


class TestCorrelations:
    def test_are_those_of_numpy(self, x: np.ndarray) -> None:
        expected = np.corrcoef(x, rowvar=False)
        np.testing.assert_allclose(correlations(x), expected, atol=ROUNDING)

    def test_units_and_origins_do_not_matter(self, x: np.ndarray) -> None:
        units = np.array([1e-300, 1e150, 3.0, 1e100])
        moved = x * units + np.array([0.0, 1e151, -1e5, 0.0])
        # Far from zero a column has lost digits.
        np.testing.assert_allclose(correlations(moved), correlations(x), atol=1e-9)


class TestDependence:
    def test_several_relations_at_once(self, x: np.ndarray) -> None:
        both = np.column_stack([x, x[:, 0] + x[:, 1], np.arange(N), 3.0 * x[:, 2] - x[:, 3]])
        dependence = found(both)
        assert dependence.exact
        assert dependence.columns == (0, 1, 2, 3, 4, 6)

    def test_large_means(self, x: np.ndarray) -> None:
        far = np.column_stack([x + 1e8, x.sum(axis=1) + 4e8])
        assert found(far).exact
        assert found(x + 1e8) is None

    def test_a_small_summand_is_named(self, x: np.ndarray) -> None:
        total = np.column_stack([x, x[:, 0] + 1e-3 * x[:, 1]])
        # The sum and its large part are nearly the same; exact dependence comes first.
        assert found(total).columns == (0, 1, 4)

    def test_how_much_is_left(self, x: np.ndarray) -> None:
        x[:, 3] = x[:, :3].sum(axis=1) + 0.02 * x[:, 3]
        dependence = found(x)
        assert not dependence.exact
        others = np.column_stack([x[:, :3], np.ones(N)])
        residual = x[:, 3] - others @ np.linalg.lstsq(others, x[:, 3])[0]
        unbiased = residual @ residual / (N - 4) / x[:, 3].var(ddof=1)
        assert dependence.left == pytest.approx(unbiased, rel=1e-8)

    def test_chance_is_not_dependence(self) -> None:
        # Hardly more rows than columns: the others nearly determine each column, by chance.
        x = np.random.default_rng(1).standard_normal((42, 40))
        assert found(x) is None
        assert found(x[:30]) is None
