r"""The test of R = 0 with its null distribution from rearranged confounders.

Where rows depend on their neighbours, or tails are so heavy that the cumulants of
:mod:`plaggm.core.confounding_test` cannot be trusted, the statistic is compared with those of confounders
that cannot be related to the rows: circular shifts within runs, which keep the order of both series, or
permutations where rows are exchangeable. Rows are freed of means and scales along the actual confounder
first, since these may change with it under the null hypothesis; every rearranged confounder then takes off
its own as well, just as the actual one does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.confounding_rows import standardized_rows, testable_functions
from plaggm.core.confounding_test import ConfoundingTest, RowInfluence, energy_excess
from plaggm.core.threads import single_threaded_blas

# Rearranged confounders, unless another number is asked for.
REARRANGED = 199
# Names of the two ways, and the seed of the orders.
SHIFTS, PERMUTATIONS = "circular shifts", "permutations"
SHIFT_SEED = 0


def rearranged_test(
    z: Array,
    confounder: Array,
    threshold: Array,
    orders: Iterator[Index],
    *,
    count: int = REARRANGED,
    method: str,
    progress: Callable[[float], None] | None = None,
) -> ConfoundingTest:
    """Test whether correlations change with the confounders, by confounders in other orders.

    Parameters
    ----------
    z : ndarray of shape (n, p)
        In any units.
    confounder : ndarray of shape (n, m)
    threshold : ndarray of shape (m,)
    orders : iterator of ndarray of int of shape (n,)
        Row whose confounder each row gets; see :func:`circular_shifts` and :func:`permutations`.
    count : int
        How many of them are tried.
    method : str
        For the result.
    progress : callable, optional
        Told the share that is done after every order.

    Returns
    -------
    ConfoundingTest
        With the share of statistics at least as large as the actual one, itself included, as p-value.
    """
    with single_threaded_blas():
        functions = testable_functions(confounder, threshold)
        standard, _ = standardized_rows(z, confounder, threshold, functions)

        def excess(order: Index) -> float:
            moved = functions[order]
            rows, projection = standardized_rows(standard, confounder[order], threshold, moved)
            return energy_excess(RowInfluence.of(rows), projection, moved)

        actual = excess(np.arange(len(z)))
        others = np.empty(count)
        for number in range(count):
            others[number] = excess(next(orders))
            if progress is not None:
                progress((number + 1) / count)
    spread = float(others.std())
    statistic = (actual - float(others.mean())) / spread if spread > 0.0 else 0.0
    p_value = (1.0 + np.count_nonzero(others >= actual)) / (1.0 + count)
    return ConfoundingTest(statistic, float(p_value), np.nan, method, count)


def circular_shifts(runs: Index, seed: int) -> Iterator[Index]:
    """Orders that shift the rows of every run by a random number, those at its end to its start.

    Parameters
    ----------
    runs : ndarray of int of shape (n,)
        Number of every row's run, in order.
    seed : int
    """
    draw = np.random.default_rng(seed)
    lengths = np.bincount(runs)
    starts = np.cumsum(lengths) - lengths
    place = np.arange(len(runs)) - starts[runs]
    while True:
        shift = draw.integers(0, lengths)
        # Not at all would be the actual order.
        if shift.any() or lengths.max() == 1:
            yield starts[runs] + (place + shift[runs]) % lengths[runs]


def permutations(n: int, seed: int) -> Iterator[Index]:
    """Random orders of n rows."""
    draw = np.random.default_rng(seed)
    while True:
        yield draw.permutation(n)
