from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from plaggm.core.kernel.kernels import KERNELS, Kernel, product_weights, scaled_differences

# Adaptive quadrature between the kinks is exact to rounding.
QUADRATURE = 1e-12
# A polynomial and its factored form differ by a few roundings.
ROUNDING = 1e-15

every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
compact_kernels = pytest.mark.parametrize(
    "kernel", [k for k in KERNELS.values() if k.pieces], ids=lambda k: k.name
)


def integral(kernel: Kernel, power: int) -> float:
    """Integral of u**power psi(u), split at the kinks."""
    knots = [-1.0, 0.0, 1.0] if kernel.pieces else [-12.0, 0.0, 12.0]
    return sum(
        quad(lambda u: u**power * float(kernel.evaluate(np.array(u))), a, b, epsabs=1e-14)[0]
        for a, b in pairwise(knots)
    )


def test_kernels_are_listed_under_their_own_name() -> None:
    assert {name: kernel.name for name, kernel in KERNELS.items()} == {
        name: name for name in KERNELS
    }
    assert set(KERNELS) == {"gaussian", "epanechnikov", "triangular", "biweight", "uniform"}


@every_kernel
def test_integrates_to_one(kernel: Kernel) -> None:
    assert integral(kernel, 0) == pytest.approx(1.0, abs=QUADRATURE)


@pytest.mark.parametrize(
    ("name", "variance"),
    [
        ("gaussian", 1.0),
        ("epanechnikov", 1 / 5),
        ("triangular", 1 / 6),
        ("biweight", 1 / 7),
        ("uniform", 1 / 3),
    ],
)
def test_variance_is_the_textbook_one(name: str, variance: float) -> None:
    # Together with the unit integral this tells the five shapes apart.
    assert integral(KERNELS[name], 2) == pytest.approx(variance, abs=QUADRATURE)


@every_kernel
def test_is_symmetric_non_negative_and_largest_at_zero(kernel: Kernel) -> None:
    u = np.linspace(0.0, 3.0, 601)
    values = kernel.evaluate(u)
    np.testing.assert_array_equal(values, kernel.evaluate(-u))
    assert np.all(values >= 0.0)
    assert np.all(np.diff(values) <= 0.0)


@compact_kernels
def test_pieces_are_the_kernel(kernel: Kernel) -> None:
    for piece in kernel.pieces:
        u = np.linspace(piece.low, piece.high, 101)
        np.testing.assert_allclose(
            np.polynomial.polynomial.polyval(u, piece.coefficients),
            kernel.evaluate(u),
            rtol=0,
            atol=ROUNDING,
        )


@compact_kernels
def test_pieces_cover_the_support_once(kernel: Kernel) -> None:
    edges = [edge for piece in kernel.pieces for edge in (piece.low, piece.high)]
    assert edges[0] == -1.0
    assert edges[-1] == 1.0
    assert edges[1:-1:2] == edges[2:-1:2]
    outside = np.array([-5.0, -1.0 - 1e-9, 1.0 + 1e-9, 5.0])
    np.testing.assert_array_equal(kernel.evaluate(outside), 0.0)


def test_scaled_differences_look_from_the_point_to_the_source() -> None:
    source = np.array([[1.0, 10.0], [2.0, 30.0], [4.0, 50.0]])
    points = np.array([[1.0, 10.0], [3.0, 20.0]])
    u = scaled_differences(source, points, np.array([2.0, 10.0]))
    assert u.shape == (2, 3, 2)
    np.testing.assert_array_equal(u[0], [[0.0, 0.0], [0.5, 2.0], [1.5, 4.0]])
    np.testing.assert_array_equal(u[1], [[-1.0, -1.0], [-0.5, 1.0], [0.5, 3.0]])


@every_kernel
def test_product_weights_multiply_over_the_confounders(kernel: Kernel) -> None:
    u = np.random.default_rng(0).uniform(-1.2, 1.2, (4, 5, 3))
    expected = np.ones((4, 5))
    for m in range(3):
        expected *= kernel.evaluate(u[:, :, m])
    np.testing.assert_allclose(product_weights(kernel, u), expected, rtol=1e-15)
