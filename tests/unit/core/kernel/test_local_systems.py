from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.kernel.kernels import KERNELS
from plaggm.core.kernel.local_systems import SINGULAR, deletion_weights, invert_local_system
from plaggm.core.kernel.moments import Rows, direct_moments

# Condition numbers here are below 1e4.
ACCURACY = 1e-10
Q = 4

both = pytest.mark.parametrize("m", [1, 2])


def make_rows(m: int, n: int = 80) -> Rows:
    rng = np.random.default_rng(7)
    b = rng.normal(size=(n, Q)) + 0.4
    b[:, -1] = 1.0
    return Rows(b, rng.uniform(-1, 1, (n, m)), rng.uniform(0.2, 1.0, n))


def moments_at(rows: Rows, point: list[float]) -> tuple[np.ndarray, np.ndarray]:
    h = np.full(len(point), 0.9)
    squared, linear = direct_moments(rows, KERNELS["gaussian"], h, np.array([point]))
    return squared[:, 0], linear[:, 0]


def explicit_system(rows: Rows, point: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """A = D'WD and C = D'W[Z, 1] from the stacked design D itself."""
    u = (rows.confounder - point) / 0.9
    w = np.prod(KERNELS["gaussian"].evaluate(u), axis=1)
    scaled = rows.indicator[:, None] * rows.b
    d = np.hstack([scaled] + [u[:, [s]] * scaled for s in range(u.shape[1])])
    return d.T @ (w[:, None] * d), d.T @ (w[:, None] * rows.b)


@both
@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_inverse_of_the_explicit_system(m: int, ridge: float) -> None:
    rows, point = make_rows(m), [0.3, -0.2][:m]
    a, c = explicit_system(rows, point)
    a += ridge * np.diag(np.diag(a))
    inverse, applied, rcond = invert_local_system(*moments_at(rows, point), ridge)
    expected = np.linalg.inv(a)
    np.testing.assert_allclose(inverse, expected, rtol=ACCURACY, atol=ACCURACY)
    np.testing.assert_allclose(applied, expected @ c, rtol=ACCURACY, atol=ACCURACY)
    # With unit diagonal before the ridge is added.
    root = np.sqrt(np.diag(a) / (1.0 + ridge))
    assert rcond == pytest.approx(1.0 / np.linalg.cond(a / np.outer(root, root), 1), rel=1e-8)


@both
def test_deletion_equals_the_inverse_of_the_smaller_system(m: int) -> None:
    rows, point = make_rows(m), [0.1, 0.5][:m]
    a, _ = explicit_system(rows, point)
    inverse, _, _ = invert_local_system(*moments_at(rows, point), 0.0)
    row = np.random.default_rng(1).normal(size=len(a))
    moved = inverse @ row
    for j in range(Q - 1):
        gone = [j + s * Q for s in range(m + 1)]
        kept = np.setdiff1d(np.arange(len(a)), gone)
        shorter = moved - inverse[:, gone] @ deletion_weights(inverse, moved, Q, j)
        np.testing.assert_allclose(
            shorter[kept], np.linalg.solve(a[np.ix_(kept, kept)], row[kept]), rtol=1e-8
        )
        np.testing.assert_allclose(shorter[gone], 0.0, atol=ACCURACY)


@both
def test_an_empty_window_is_no_failure(m: int) -> None:
    size = Q * (Q + 1) // 2
    squared, linear = np.zeros(((m + 1) * (m + 2) // 2, size)), np.zeros((m + 1, size))
    inverse, applied, rcond = invert_local_system(squared, linear, 0.0)
    assert rcond == np.inf
    assert not inverse.any()
    assert not applied.any()


@pytest.mark.parametrize("n", [1, 3, 2 * Q - 1])
def test_too_few_rows_are_singular(n: int) -> None:
    _, _, rcond = invert_local_system(*moments_at(make_rows(1, n), [0.0]), 0.0)
    assert not rcond > SINGULAR


def test_enough_rows_are_not_singular() -> None:
    _, _, rcond = invert_local_system(*moments_at(make_rows(1, 2 * Q + 6), [0.0]), 0.0)
    assert rcond > SINGULAR


def test_a_column_of_zeros_is_singular() -> None:
    rows = make_rows(1)
    rows.b[:, 1] = 0.0
    _, _, rcond = invert_local_system(*moments_at(rows, [0.0]), 0.0)
    assert not rcond > SINGULAR


def test_ridge_rescues_equal_columns() -> None:
    rows = make_rows(1)
    rows.b[:, 1] = rows.b[:, 0]
    _, _, without = invert_local_system(*moments_at(rows, [0.0]), 0.0)
    _, _, rescued = invert_local_system(*moments_at(rows, [0.0]), 1e-3)
    assert not without > SINGULAR
    assert rescued > 1e-5


def test_condition_does_not_depend_on_the_units_of_the_columns() -> None:
    rows = make_rows(1)
    _, _, before = invert_local_system(*moments_at(rows, [0.2]), 0.0)
    rows.b[:, 0] *= 1e6
    _, _, after = invert_local_system(*moments_at(rows, [0.2]), 0.0)
    assert after == pytest.approx(before, rel=1e-8)


def test_a_node_whose_own_system_is_singular_has_no_weights() -> None:
    inverse = np.eye(2 * Q)
    # Rounding leaves no inverse of the block of node 1 and its slope: its determinant is negative.
    inverse[1, Q + 1] = inverse[Q + 1, 1] = 1.0 + 1e-9
    moved = np.ones(2 * Q)
    assert np.isnan(deletion_weights(inverse, moved, Q, 1)).all()
    assert np.isfinite(deletion_weights(inverse, moved, Q, 0)).all()
