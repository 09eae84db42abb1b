"""Ranges of columns, by reshaping, against NumPy's own reduction."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.preparation.column_ranges import ROWS_TOGETHER, column_ranges

SIZES = (1, ROWS_TOGETHER - 1, ROWS_TOGETHER, ROWS_TOGETHER + 1, 7 * ROWS_TOGETHER + 5)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("p", [1, 3, 40])
@pytest.mark.parametrize("layout", ["rows", "columns", "every other column"])
def test_ranges_are_those_of_numpy(n: int, p: int, layout: str) -> None:
    x = np.random.default_rng(n + p).standard_normal((n, 2 * p))
    x = {"rows": x, "columns": np.asfortranarray(x), "every other column": x[:, ::2]}[layout]
    low, high = column_ranges(x)
    np.testing.assert_array_equal(low, x.min(axis=0))
    np.testing.assert_array_equal(high, x.max(axis=0))


def test_extremes_in_the_last_rows_are_seen() -> None:
    x = np.zeros((2 * ROWS_TOGETHER + 3, 2))
    x[-1] = (-5.0, 7.0)
    low, high = column_ranges(x)
    assert low.tolist() == [-5.0, 0.0]
    assert high.tolist() == [0.0, 7.0]
