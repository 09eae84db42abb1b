"""The sums themselves: by parts, in other units, on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.spline import statistics as module
from plaggm.core.spline.basis import spline_basis
from plaggm.core.spline.statistics import (
    ScaledRows,
    SplineStatistics,
    no_rows,
    spline_statistics,
    split_statistics,
)

# The same sums in another order.
ROUNDING = 1e-12


def literal(b: np.ndarray, phi: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Row by row, as the module's docstring has it."""
    first, second = np.triu_indices(phi.shape[1])
    upper = np.triu_indices(b.shape[1])
    factors = np.column_stack([np.ones(len(b)), phi, phi[:, first] * phi[:, second]])
    products = b[:, upper[0]] * b[:, upper[1]]
    return np.einsum("i,if,ik->fk", weights, factors, products)


def rows(n: int, p: int, m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    g = rng.normal(size=(n, m))
    basis = spline_basis(g, np.full(m, 0.4), functions=4, degree=3)
    b = np.column_stack([rng.normal(size=(n, p)), np.ones(n)])
    return b, basis.evaluate(g), rng.uniform(0.2, 2.0, n)


def assert_sums(found: SplineStatistics, expected: np.ndarray) -> None:
    atol = ROUNDING * np.abs(expected).max()
    np.testing.assert_allclose(found.sums, expected, rtol=0.0, atol=atol)


class TestSums:
    # One confounder: few patterns of busy functions. Three: thousands, most of them rare, and more
    # functions than a table of all their combinations could hold.
    @pytest.mark.parametrize(("n", "m"), [(3, 1), (700, 1), (700, 2), (500, 3)])
    def test_literal(self, n: int, m: int) -> None:
        rng = np.random.default_rng(m)
        b, phi, weights = rows(700, 4, m)
        chosen = rng.permutation(700)[:n]
        b, phi, weights = b[chosen], phi[chosen], weights[chosen]
        assert_sums(spline_statistics(b, phi, weights), literal(b, phi, weights))

    def test_pieces_of_work_of_any_size(self, monkeypatch: pytest.MonkeyPatch) -> None:
        b, phi, weights = rows(400, 3, 1)
        expected = literal(b, phi, weights)
        for chunk, task, alike, waiting in [(7, 20, 5, 2), (1, 1, 1, 1), (64, 10_000, 10_000, 3)]:
            monkeypatch.setattr(module, "CHUNK_ROWS", chunk)
            monkeypatch.setattr(module, "TASK_ROWS", task)
            monkeypatch.setattr(module, "FEWEST_ALIKE", alike)
            monkeypatch.setattr(module, "WAITING", waiting)
            assert_sums(spline_statistics(b, phi, weights), expected)

    def test_threads_change_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "TASK_ROWS", 50)
        b, phi, weights = rows(1000, 4, 1)
        one, two, five = (spline_statistics(b, phi, weights, n_threads=k) for k in (1, 2, 5))
        np.testing.assert_array_equal(one.sums, two.sums)
        np.testing.assert_array_equal(one.sums, five.sums)

    def test_no_rows_and_no_functions(self) -> None:
        b, phi, _ = rows(50, 3, 1)
        nothing = spline_statistics(b[:0], phi[:0])
        assert nothing.n == 0
        assert not nothing.sums.any()
        plain = spline_statistics(b, np.zeros((50, 0)))
        np.testing.assert_allclose(plain.matrices()[0], b.T @ b / 50, rtol=ROUNDING)


class TestParts:
    def test_each_part_is_the_sum_of_its_rows(self) -> None:
        b, phi, weights = rows(600, 4, 1)
        labels = np.random.default_rng(1).integers(-1, 5, 600)
        # One part is left without rows.
        labels[labels == 3] = 2
        parts = split_statistics(b, phi, labels, 5, weights)
        for label, part in enumerate(parts):
            mine = labels == label
            assert part.n == np.count_nonzero(mine)
            if part.n:
                assert_sums(part, literal(b[mine], phi[mine], weights[mine]))
        assert parts[3].n == 0

    def test_scaled_rows_are_scaled_rows(self) -> None:
        b, phi, weights = rows(300, 4, 1)
        location, scale = np.array([3.0, -1.0, 0.0, 10.0]), np.array([1.0, 2.0, 0.1, 30.0])
        x = b[:, :-1] * scale + location
        labels = np.zeros(300, dtype=np.intp)
        found = split_statistics(ScaledRows(x, location, scale), phi, labels, 1, weights)[0]
        assert ScaledRows(x, location, scale).shape == b.shape
        assert_sums(found, literal(b, phi, weights))

    def test_other_units_without_the_rows(self) -> None:
        b, phi, weights = rows(300, 3, 1)
        shift, scale = np.array([0.5, -2.0, 0.0]), np.array([2.0, 0.3, 1.0])
        moved = b.copy()
        moved[:, :-1] = (b[:, :-1] - shift) / scale
        found = spline_statistics(b, phi, weights).recentred(shift, scale)
        assert_sums(found, literal(moved, phi, weights))

    def test_rows_repeated_and_weights_doubled(self) -> None:
        b, phi, weights = rows(120, 3, 1)
        once = spline_statistics(b, phi, weights)
        twice = spline_statistics(*(np.repeat(part, 2, axis=0) for part in (b, phi, weights)))
        assert_sums(twice, once.repeated(2).sums)
        assert twice.n == once.repeated(2).n == 240
        doubled = spline_statistics(b, phi, 2.0 * weights)
        assert_sums(doubled, once.times(2.0).sums)
        assert doubled.n == once.times(2.0).n == 120

    def test_starting_from_nothing(self) -> None:
        b, phi, _ = rows(80, 3, 1)
        total = spline_statistics(b, phi)
        start = no_rows(phi.shape[1], b.shape[1])
        np.testing.assert_array_equal((start + total).sums, total.sums)
        assert (start + total).n == 80
