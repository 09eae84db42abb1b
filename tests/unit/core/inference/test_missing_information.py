"""What is left of the rows' information."""

from __future__ import annotations

import numpy as np

from plaggm.core.inference.missing_information import (
    RetainedInformation,
    effective_statistics,
    retained_information,
    typical_share,
)
from plaggm.core.spline.basis import SplineBasis
from plaggm.core.spline.statistics import spline_statistics


def test_effective_statistics_keep_means() -> None:
    b = np.random.default_rng(0).standard_normal((40, 4))
    whole = spline_statistics(b, np.zeros((40, 0)))
    found = effective_statistics(whole, 0.5)
    assert found.n == 20
    np.testing.assert_allclose(found.matrices()[0], whole.matrices()[0])


def test_pairs_that_nobody_observed_have_no_share() -> None:
    observed = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.5, 0.5, 0.5]])
    assert typical_share(observed) == 0.5
    found = RetainedInformation(observed, 2.0, 4.0, 10.0)
    assert np.array_equal(found.inflation(), [np.inf, 2.0, 2.0])
    assert np.array_equal(found.group_inflation(), [np.inf, 4.0, 4.0])


def test_complete_rows_lose_nothing() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2000, 6))
    b = np.column_stack([x, np.ones(2000)])
    blocks = np.arange(2000) % 10
    none = np.zeros((2000, 0))
    whole = spline_statistics(b, none)
    left = [spline_statistics(b[blocks != k], none[blocks != k]) for k in range(10)]
    found = retained_information(whole, SplineBasis(()), np.ones((6, 6)), [left] * 3)
    # The jackknife of Gaussian rows agrees with the usual variance, and is never taken for smaller.
    assert 1.0 <= found.factor < 1.3
    assert found.group_factor == 1.0
