from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from plaggm.core.kernel import prefix_moments as module
from plaggm.core.kernel.kernels import KERNELS, Kernel
from plaggm.core.kernel.moments import Rows, direct_moments
from plaggm.core.kernel.prefix_moments import (
    LEAF_ROWS,
    PrefixMoments,
    prefix_moments,
    shifted_polynomial,
)

# Sums of some thousand terms in another order; the panels' centres keep the powers small.
SUMMATION = 1e-12
BANDWIDTH = 0.23
COMPACT = [kernel for kernel in KERNELS.values() if kernel.pieces]

compact_kernels = pytest.mark.parametrize("kernel", COMPACT, ids=lambda k: k.name)


@pytest.fixture(scope="module")
def rows() -> Rows:
    """Many leaves in each of a dozen panels, unsorted, with ties and an offset far from zero."""
    rng = np.random.default_rng(3)
    n = 40 * LEAF_ROWS + 7
    b = rng.normal(size=(n, 3)) + 0.3
    b[:, -1] = 1.0
    g = 100.0 + rng.uniform(-1.2, 1.2, n)
    g[::3] = g[::3].round(2)
    return Rows(b, g[:, None], rng.uniform(0.05, 1.0, n))


def batches(points: np.ndarray, size: int) -> Iterator[np.ndarray]:
    for start in range(0, len(points), size):
        yield np.sort(points)[start : start + size, None]


def assert_equals_direct(source: PrefixMoments, rows: Rows, points: np.ndarray) -> None:
    h = np.array([source.bandwidth])
    for got, expected in zip(
        source.evaluate(points), direct_moments(rows, source.kernel, h, points), strict=True
    ):
        scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
        assert np.max(np.abs(got - expected) / scale) < SUMMATION


def test_shifted_polynomial_is_the_polynomial_moved() -> None:
    coefficients = (0.5, -1.0, 0.0, 2.0, 3.0)
    shift = np.array([-1.5, 0.0, 0.25, 2.0])
    moved = shifted_polynomial(coefficients, shift, 7)
    assert moved.shape == (4, 7)
    np.testing.assert_array_equal(moved[:, 5:], 0.0)
    np.testing.assert_array_equal(moved[1, :5], coefficients)
    v = np.linspace(-0.5, 0.5, 11)
    for row, s in zip(moved, shift, strict=True):
        np.testing.assert_allclose(
            np.polynomial.polynomial.polyval(v, row),
            np.polynomial.polynomial.polyval(v + s, coefficients),
            rtol=1e-13,
            atol=1e-13,
        )


@compact_kernels
@pytest.mark.parametrize("batch", [1, 32])
def test_equals_direct_sums(rows: Rows, kernel: Kernel, batch: int) -> None:
    source = prefix_moments(rows, kernel, BANDWIDTH)
    assert (source.q, source.m) == (3, 1)
    # At the data, where repeated values sit on the kinks of a kernel, and between them.
    points = np.concatenate([rows.confounder[::40, 0], np.linspace(98.7, 101.3, 23)])
    for chunk in batches(points, batch):
        assert_equals_direct(source, rows, chunk)


@compact_kernels
@pytest.mark.parametrize(("steps", "bandwidth"), [(16, 0.25), (10, 0.3), (10, 0.7)])
def test_rows_on_the_edge_of_a_window(kernel: Kernel, steps: int, bandwidth: float) -> None:
    # Every window ends on rows. Sixteenths are exact in binary; with tenths rounding decides, and it must
    # decide as it does for a single row.
    rng = np.random.default_rng(4)
    g = np.repeat(np.arange(-16, 17) / steps, 2 * LEAF_ROWS)
    b = np.column_stack([rng.normal(size=(len(g), 2)), np.ones(len(g))])
    rows = Rows(b, g[:, None], rng.uniform(0.2, 1.0, len(g)))
    source = prefix_moments(rows, kernel, bandwidth)
    for batch in (1, 4):
        for chunk in batches(np.unique(g), batch):
            assert_equals_direct(source, rows, chunk)


@compact_kernels
def test_a_bandwidth_wider_than_the_range(rows: Rows, kernel: Kernel) -> None:
    source = prefix_moments(rows, kernel, 10.0)
    assert len(source.centres) == 1
    assert_equals_direct(source, rows, np.linspace(98.8, 101.2, 9)[:, None])


@compact_kernels
def test_memory_bound_makes_longer_leaves(
    rows: Rows, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    fine = prefix_moments(rows, kernel, BANDWIDTH)
    monkeypatch.setattr(module, "PREFIX_BYTES", fine.squared.nbytes // 2)
    coarse = prefix_moments(rows, kernel, BANDWIDTH)
    assert np.diff(coarse.edges).max() > LEAF_ROWS
    assert coarse.squared.nbytes < 0.7 * fine.squared.nbytes
    for chunk in batches(np.linspace(98.9, 101.1, 12), 3):
        assert_equals_direct(coarse, rows, chunk)


def test_leaves_cover_the_rows_and_stay_within_a_panel(rows: Rows) -> None:
    source = prefix_moments(rows, KERNELS["epanechnikov"], BANDWIDTH)
    g = source.rows.confounder[:, 0]
    assert np.all(np.diff(g) >= 0.0)
    assert (source.edges[0], source.edges[-1]) == (0, len(g))
    assert len(source.centres) > 8
    for leaf, panel in enumerate(source.leaf_panel):
        assert 0 < source.edges[leaf + 1] - source.edges[leaf] <= LEAF_ROWS
        v = (g[source.edges[leaf] : source.edges[leaf + 1]] - source.centres[panel]) / BANDWIDTH
        assert np.max(np.abs(v)) <= 0.5 + 1e-12


@compact_kernels
def test_whole_leaves_are_not_summed_again(
    rows: Rows, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = prefix_moments(rows, kernel, 0.7)
    summed: list[int] = []
    original = module.add_weighted_products

    def spy(squared, linear, part, *weights) -> None:
        summed.append(len(part.b))
        original(squared, linear, part, *weights)

    monkeypatch.setattr(module, "add_weighted_products", spy)
    source.evaluate(np.array([[100.0]]))
    in_window = np.sum(np.abs(rows.confounder - 100.0) <= 0.7)
    # One leaf at each end of a piece, and rows that repeat the point itself.
    assert sum(summed) <= 4 * LEAF_ROWS < in_window / 4


def test_points_without_rows_have_no_weight(rows: Rows) -> None:
    source = prefix_moments(rows, KERNELS["biweight"], BANDWIDTH)
    for far in (0.0, 500.0):
        squared, linear = source.evaluate(np.array([[far], [far + 0.1]]))
        np.testing.assert_array_equal(squared, 0.0)
        np.testing.assert_array_equal(linear, 0.0)
