from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.numerics.spd_inverse import SMALL, spd_inverse

# Condition number (below 1e4 here) times rounding, with room.
ACCURACY = 1e-10


def correlation(n: int, *, rank: int | None = None, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(3 * n if rank is None else rank, n))
    gram = x.T @ x
    root = np.sqrt(np.diag(gram))
    return gram / np.outer(root, root)


@pytest.mark.parametrize("n", [1, 2, 7, SMALL, SMALL + 1, 2 * SMALL + 1, 130])
def test_equals_lapack(n: int) -> None:
    a = correlation(n)
    before = a.copy()
    inverse = spd_inverse(a)
    np.testing.assert_array_equal(a, before)
    np.testing.assert_allclose(inverse, np.linalg.inv(a), rtol=ACCURACY, atol=ACCURACY)
    np.testing.assert_allclose(inverse, inverse.T, rtol=ACCURACY, atol=ACCURACY)


@pytest.mark.parametrize(
    "a",
    [
        np.zeros((3, 3)),
        np.ones((2, 2)),
        np.ones((SMALL + 6, SMALL + 6)),
        np.array([[1.0, 2.0], [2.0, 1.0]]),
        np.full((4, 4), np.nan),
        correlation(10, rank=3),
        correlation(60, rank=20),
    ],
    ids=["zero", "ones", "ones in blocks", "indefinite", "nan", "rank 3 of 10", "rank 20 of 60"],
)
def test_a_matrix_that_is_not_positive_definite_raises_nothing(a: np.ndarray) -> None:
    inverse = spd_inverse(a)
    assert inverse.shape == a.shape
    # The caller's test: no diagonal that is all positive, or a hopeless condition number.
    with np.errstate(invalid="ignore"):
        condition = np.linalg.norm(a, 1) * np.linalg.norm(inverse, 1)
        assert not (np.all(np.diag(inverse) > 0.0) and condition < 1e12)
