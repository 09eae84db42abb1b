from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.kernel import moments
from plaggm.core.kernel.kernels import KERNELS, Kernel, scaled_differences
from plaggm.core.kernel.moments import (
    CHUNK_ROWS,
    GAUSSIAN_REACH,
    Rows,
    chebyshev_order,
    choose_panels,
    direct_moments,
    interpolated_moments,
    moment_weights,
    packed_products,
    panel_interpolation,
)

# The promise of chebyshev_order, of the kernel's height, with room for the rounding of some hundred terms.
INTERPOLATION = 1e-13
# Sums of a thousand terms in another order.
SUMMATION = 1e-12

GAUSSIAN = KERNELS["gaussian"]


def make_rows(n: int, q: int = 3, m: int = 1, *, seed: int = 0, scale: float = 1.0) -> Rows:
    rng = np.random.default_rng(seed)
    b = rng.normal(size=(n, q)) + 0.2
    b[:, -1] = 1.0
    return Rows(b, scale * rng.uniform(-1.0, 1.0, (n, m)), rng.uniform(0.1, 1.0, n))


def naive_moments(
    rows: Rows, kernel: Kernel, bandwidth: np.ndarray, point: np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The sums of the module's docstring, term by term, as full matrices."""
    m, q = len(point), rows.b.shape[1]
    squared = {(s, t): np.zeros((q, q)) for s in range(m + 1) for t in range(s, m + 1)}
    linear = [np.zeros((q, q)) for _ in range(m + 1)]
    for b, g, indicator in zip(rows.b, rows.confounder, rows.indicator, strict=True):
        u = np.append(1.0, (g - point) / bandwidth)
        w = np.prod([float(kernel.evaluate(np.array(x))) for x in u[1:]])
        for s, t in squared:
            squared[s, t] += w * indicator**2 * u[s] * u[t] * np.outer(b, b)
        for s in range(m + 1):
            linear[s] += w * indicator * u[s] * np.outer(b, b)
    return list(squared.values()), linear


def relative_error(got: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference, as a part of the largest entry of each moment."""
    scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
    return float(np.max(np.abs(got - expected) / scale))


class TestDirect:
    def test_packed_products_are_upper_triangles(self) -> None:
        b = make_rows(7, q=4).b
        packed = packed_products(b)
        upper = np.triu_indices(4)
        for k in range(7):
            np.testing.assert_array_equal(packed[k], np.outer(b[k], b[k])[upper])

    def test_linear_weights_are_the_first_squared_ones(self) -> None:
        u = np.random.default_rng(1).normal(size=(2, 5, 3))
        squared, linear = moment_weights(GAUSSIAN, u)
        w = np.prod(GAUSSIAN.evaluate(u), axis=2)
        full = np.concatenate([np.ones((2, 5, 1)), u], axis=2)
        expected = [w * full[:, :, s] * full[:, :, t] for s in range(4) for t in range(s, 4)]
        np.testing.assert_allclose(squared, expected, rtol=1e-14)
        np.testing.assert_array_equal(linear, squared[:4])

    @pytest.mark.parametrize("m", [1, 2, 3])
    @pytest.mark.parametrize("name", ["gaussian", "triangular"])
    def test_equal_the_definition(self, name: str, m: int) -> None:
        rows = make_rows(40, m=m)
        bandwidth = np.array([0.8, 1.1, 0.9])[:m]
        points = np.random.default_rng(2).uniform(-1, 1, (3, m))
        squared, linear = direct_moments(rows, KERNELS[name], bandwidth, points)
        upper = np.triu_indices(3)
        for i, point in enumerate(points):
            full, first = naive_moments(rows, KERNELS[name], bandwidth, point)
            np.testing.assert_allclose(squared[:, i], [a[upper] for a in full], atol=SUMMATION)
            np.testing.assert_allclose(linear[:, i], [a[upper] for a in first], atol=SUMMATION)

    def test_streaming_adds_every_chunk(self) -> None:
        rows = make_rows(2 * CHUNK_ROWS + 3)
        points = np.array([[0.0], [0.5]])
        h = np.array([0.3])
        squared, linear = direct_moments(rows, GAUSSIAN, h, points)
        weights, _ = moment_weights(GAUSSIAN, scaled_differences(rows.confounder, points, h))
        products = packed_products(rows.b)
        np.testing.assert_allclose(
            squared, (weights * rows.indicator**2) @ products, rtol=SUMMATION, atol=SUMMATION
        )
        np.testing.assert_allclose(
            linear, (weights[:2] * rows.indicator) @ products, rtol=SUMMATION, atol=SUMMATION
        )


class TestPanels:
    @pytest.mark.parametrize(
        "half_width", [0.05, 0.25, 0.5, 1.0, 1.7, 2.5, 4.0, 6.0, 10.0, 15.0, 20.0]
    )
    def test_order_keeps_its_promise(self, half_width: float) -> None:
        values = np.linspace(-half_width, half_width, 401)
        nodes, weights = panel_interpolation(
            values, -half_width, half_width, chebyshev_order(half_width)
        )
        height = float(GAUSSIAN.evaluate(np.zeros(1))[0])
        reach = half_width + GAUSSIAN_REACH
        for point in np.linspace(-reach, reach, 97):
            at_nodes, at_values = nodes - point, values - point
            for power in range(3):
                interpolated = (GAUSSIAN.evaluate(at_nodes) * at_nodes**power) @ weights
                truth = GAUSSIAN.evaluate(at_values) * at_values**power
                assert np.max(np.abs(interpolated - truth)) < INTERPOLATION * height

    def test_order_is_not_wasteful(self) -> None:
        # A quarter fewer nodes would break the promise: the fit is no mere upper bound.
        half_width = 6.0
        values = np.linspace(-half_width, half_width, 401)
        few = 3 * chebyshev_order(half_width) // 4
        nodes, weights = panel_interpolation(values, -half_width, half_width, few)
        error = GAUSSIAN.evaluate(nodes) @ weights - GAUSSIAN.evaluate(values)
        assert np.max(np.abs(error)) > INTERPOLATION

    def test_interpolation_reproduces_polynomials_and_nodes(self) -> None:
        order = 7
        nodes, _ = panel_interpolation(np.array([2.5]), 2.0, 5.0, order)
        assert np.all(np.diff(nodes) > 0)
        np.testing.assert_allclose(nodes[[0, -1]], [2.0, 5.0])
        values = np.concatenate([np.linspace(2.0, 5.0, 23), nodes])
        _, weights = panel_interpolation(values, 2.0, 5.0, order)
        for power in range(order):
            np.testing.assert_allclose(nodes**power @ weights, values**power, rtol=1e-12)
        np.testing.assert_array_equal(weights[:, -order:], np.eye(order))

    def test_few_or_equal_values_are_their_own_nodes(self) -> None:
        assert choose_panels(2.0, 0.3, distinct=10) == 0

    def test_one_value_is_its_own_node(self) -> None:
        assert choose_panels(0.0, 0.3, distinct=1) == 0

    def test_an_outlier_does_not_make_the_choice_slow(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tried: list[float] = []

        def spy(half_width: float) -> int:
            tried.append(half_width)
            return chebyshev_order(half_width)

        monkeypatch.setattr(moments, "chebyshev_order", spy)
        choose_panels(1e5, 1.0, distinct=1000)
        assert len(tried) <= 1000

    def test_narrow_bandwidths_need_several_panels(self) -> None:
        wide, narrow = choose_panels(2.0, 0.5, 2000), choose_panels(2.0, 0.03, 2000)
        assert wide == 1
        assert narrow > 3

    def test_nodes_are_fewer_than_values(self) -> None:
        for bandwidth in (1.0, 0.3, 0.1, 0.03):
            source = interpolated_moments(make_rows(900), GAUSSIAN, np.array([bandwidth]))
            assert not source.exact
            assert len(source.nodes) < 900
            # Neighbouring panels share an end, up to rounding.
            assert np.all(np.diff(source.nodes[:, 0]) > -1e-14)


class TestInterpolated:
    @pytest.mark.parametrize("bandwidth", [1.0, 0.2, 0.04])
    def test_panels_equal_direct_sums(self, bandwidth: float) -> None:
        rows = make_rows(2 * CHUNK_ROWS + 100)
        h = np.array([bandwidth])
        source = interpolated_moments(rows, GAUSSIAN, h)
        assert not source.exact
        assert (source.q, source.m) == (3, 1)
        for points in np.array_split(np.linspace(-1.1, 1.1, 45)[:, None], 5):
            for got, expected in zip(
                source.evaluate(points), direct_moments(rows, GAUSSIAN, h, points), strict=True
            ):
                assert relative_error(got, expected) < SUMMATION

    def test_panels_without_rows_are_left_out(self) -> None:
        rows = make_rows(1200)
        rows.confounder[:600] -= 5.0
        h = np.array([0.1])
        source = interpolated_moments(rows, GAUSSIAN, h)
        assert not source.exact
        assert not np.any((source.nodes > -3.0) & (source.nodes < -2.0))
        for points in (np.linspace(-6.0, -4.0, 9)[:, None], np.linspace(-1.0, 1.0, 9)[:, None]):
            for got, expected in zip(
                source.evaluate(points), direct_moments(rows, GAUSSIAN, h, points), strict=True
            ):
                assert relative_error(got, expected) < SUMMATION

    @pytest.mark.parametrize(("name", "m"), [("gaussian", 2), ("uniform", 2), ("biweight", 1)])
    def test_other_cases_use_the_distinct_values(self, name: str, m: int) -> None:
        rows = make_rows(CHUNK_ROWS + 60, m=m)
        rows.confounder[:] = rows.confounder.round(1)
        h = np.array([0.4, 0.7])[:m]
        source = interpolated_moments(rows, KERNELS[name], h)
        assert source.exact
        np.testing.assert_array_equal(source.nodes, np.unique(rows.confounder, axis=0))
        points = source.nodes[3:20]
        for got, expected in zip(
            source.evaluate(points), direct_moments(rows, KERNELS[name], h, points), strict=True
        ):
            assert relative_error(got, expected) < SUMMATION

    def test_one_confounder_value_is_one_node(self) -> None:
        rows = make_rows(50)
        rows.confounder[:] = 3.0
        source = interpolated_moments(rows, GAUSSIAN, np.array([0.5]))
        assert len(source.nodes) == 1
        squared, _ = source.evaluate(np.array([[3.0]]))
        expected = (rows.indicator[:, None] ** 2 * packed_products(rows.b)).sum(axis=0)
        np.testing.assert_allclose(squared[0, 0], expected / np.sqrt(2 * np.pi), rtol=SUMMATION)
        np.testing.assert_array_equal(squared[1:], 0.0)

    def test_thin_points_fall_back_to_direct_sums(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rows = make_rows(800)
        h = np.array([0.2])
        source = interpolated_moments(rows, GAUSSIAN, h)
        assert not source.exact
        asked: list[np.ndarray] = []

        def spy(rows: Rows, kernel: Kernel, bandwidth: np.ndarray, points: np.ndarray):
            asked.append(points)
            return direct_moments(rows, kernel, bandwidth, points)

        monkeypatch.setattr(moments, "direct_moments", spy)
        points = np.array([[0.0], [0.9], [2.2], [2.6]])
        got = source.evaluate(points)
        np.testing.assert_array_equal(np.concatenate(asked), points[2:])
        for part, expected in zip(got, direct_moments(rows, GAUSSIAN, h, points), strict=True):
            for i in range(len(points)):
                assert relative_error(part[:, i : i + 1], expected[:, i : i + 1]) < SUMMATION
