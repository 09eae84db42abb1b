"""Numbers of rows that look random."""

from __future__ import annotations

import numpy as np

from plaggm.core.numerics.row_hash import empty_sample, row_hash


def test_folds_are_even_and_do_not_depend_on_chunks() -> None:
    whole = row_hash(0, 100_000, 1)
    parts = np.concatenate([row_hash(0, 1, 1), row_hash(1, 70_000, 1), row_hash(70_001, 29_999, 1)])
    np.testing.assert_array_equal(whole, parts)
    counts = np.bincount((whole % np.uint64(10)).astype(int))
    # Ten standard deviations of a binomial count.
    assert np.abs(counts - 10_000).max() < 10 * np.sqrt(9000)
    neighbours = np.corrcoef(whole[1:].astype(float), whole[:-1].astype(float))[0, 1]
    assert abs(neighbours) < 0.02


def test_seeds_differ() -> None:
    assert not np.any(row_hash(0, 1000, 0) == row_hash(0, 1000, 1))


def test_any_seed_will_do() -> None:
    """Products modulo 2^64 are no accident; warnings are errors here."""
    first = [int(row_hash(0, 1, seed)[0]) for seed in (1, 2, 3, 2**40)]
    assert len(set(first)) == 4


def test_sample_is_even_and_does_not_depend_on_chunks() -> None:
    values = np.arange(5000.0)[:, None]
    whole = empty_sample(1, 500).extended(0, values)
    parts = empty_sample(1, 500)
    for start, stop in [(0, 3), (3, 4000), (4000, 5000)]:
        parts = parts.extended(start, values[start:stop])
    np.testing.assert_array_equal(np.sort(whole.values, axis=0), np.sort(parts.values, axis=0))
    assert len(whole.values) == 500
    # The mean of 500 of 5000 even numbers has a standard error of 61.
    assert abs(whole.values.mean() - 2499.5) < 250
    few = empty_sample(1, 500).extended(0, values[:10])
    np.testing.assert_array_equal(few.values, values[:10])
