r"""The test of R = 0 with its null distribution from rearranged confounders.

If rows depend on their neighbours, or tails are too heavy for the cumulants of
:mod:`plaggm.core.confounding.confounding_test`, the statistic is compared with those of rearranged confounders:
circular shifts within runs, which preserve the autocorrelation of both series, or permutations if rows are
exchangeable. For rows in groups, confounders that are constant within groups are permuted between groups,
the others within. Means and scales along each rearranged confounder are removed as for the actual one, so
that all are exchangeable if rows and confounder are independent. If means or scales change with the actual
confounder, the test is conservative.

With several confounders there is a statistic for each and one for all. They are standardised over all
orders, and the largest is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.confounding.confounding_test import (
    ConfoundingTest,
    RowInfluence,
    confounding_test,
    energy_excess,
)
from plaggm.core.confounding.grouped_confounders import (
    constant_within,
    orders_within,
    rearranged_groups,
    runs_as_groups,
)
from plaggm.core.confounding.rows import (
    FARTHEST,
    RowFunctions,
    TestedFunctions,
    functions_to_test,
    row_functions,
    standardized_rows,
)
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.core.preparation.copies import first_copies

# Default number of rearranged confounders.
REARRANGED = 199
# Relative difference of two statistics that is attributed to rounding.
ROUNDING = 1e-10
# Values of `ConfoundingTest.method`.
SHIFTS, PERMUTATIONS = "circular shifts", "permutations"
BETWEEN, WITHIN = "exchange between groups", "permutations within groups"
BETWEEN_RUNS = "exchange between runs"
# Default seed of the orders.
SHIFT_SEED = 0
# Value of :func:`tail_weight` from which on cumulants are not used.
HEAVY = 2.0
# Degrees of freedom of the null distribution below which three cumulants approximate its tail poorly, and
# below which they are not used at all.
FEW_DIRECTIONS, FEWEST_DIRECTIONS = 40.0, 6.0
# P-values outside of this interval need no better approximation.
BEYOND_DOUBT, UNDOUBTED = 1e-8, 0.2


def calibrated_test(
    z: Array,
    confounder: Array,
    threshold: Array,
    *,
    runs: Index | None = None,
    groups: Index | None = None,
    count: int = REARRANGED,
    seed: int = SHIFT_SEED,
    progress: Callable[[float], None] | None = None,
) -> ConfoundingTest:
    """Test whether correlations change with the confounders, with a null distribution suited to the rows.

    It consists of circular shifts for time series, of permutations if a few rows dominate the statistic or
    if the p-value is small and the distribution has few degrees of freedom, and is otherwise approximated
    by its cumulants. Copies of rows count once unless rows are time series. Runs of a single row are
    independent.

    Parameters
    ----------
    z, confounder, threshold, count, progress
        See :func:`rearranged_test`.
    runs : ndarray of int of shape (n,), optional
        Number of every row's run, in order, for time series. Without groups, confounders that are constant
        within runs are permuted between runs, since shifts do not change them.
    groups : ndarray of int of shape (n,), optional
        Number of every row's group, where rows of a group depend on each other.
    seed : int
        Seed of shifts and permutations.
    """
    judge = partial(rearranged_test, threshold=threshold, count=count, progress=progress)
    if runs is not None and np.bincount(runs).max() == 1:
        # Runs of a single row cannot be shifted: they are rows without order.
        runs = None
    method = BETWEEN
    if groups is None and runs is not None:
        groups, method = runs_as_groups(confounder, runs), BETWEEN_RUNS
    if groups is not None and constant_within(confounder, groups).any():
        orders = orders_within(groups, seed) if runs is None else circular_shifts(runs, seed)
        others = rearranged_groups(confounder, groups, orders, seed)
        return judge(z, confounder, others=others, method=method)
    if runs is not None:
        return judge(z, confounder, orders=circular_shifts(runs, seed), method=SHIFTS)
    if groups is not None:
        return judge(z, confounder, orders=orders_within(groups, seed), method=WITHIN)
    distinct = first_copies(z, confounder)
    rows = np.arange(len(z)) if distinct is None else distinct
    z, confounder = z[rows], confounder[rows]
    influence = row_influence(z, confounder, threshold)
    heavy = tail_weight(influence.squares()[0], z.shape[1]) >= HEAVY
    if not heavy:
        approximate = confounding_test(z, confounder, threshold)
        clear = (
            approximate.p_value < BEYOND_DOUBT
            and approximate.degrees_of_freedom >= FEWEST_DIRECTIONS
        )
        if (
            approximate.degrees_of_freedom >= FEW_DIRECTIONS
            or approximate.p_value >= UNDOUBTED
            or clear
        ):
            return approximate
    found = judge(z, confounder, orders=permutations(len(z), seed), method=PERMUTATIONS)
    if not heavy:
        return found
    row, column = influence.leading()
    return replace(found, leading_row=int(rows[row]), leading_column=column)


def row_influence(
    z: Array, confounder: Array, threshold: Array, farthest: float = FARTHEST
) -> RowInfluence:
    """Influences of the standardised rows on their correlations.

    Parameters
    ----------
    z, confounder, threshold
        See :func:`rearranged_test`.
    farthest : float
        See :func:`plaggm.core.confounding.rows.standardized_rows`.
    """
    with single_threaded_blas():
        functions = functions_to_test(confounder, threshold)
        known = row_functions(confounder, threshold, functions)
        return RowInfluence.of(standardized_rows(z, known, farthest)[0])


def tail_weight(squares: Array, p: int) -> float:
    """Ratio of the mean fourth power of the rows' influences to that of Gaussian rows.

    Both are in units of the squared mean square: for independent Gaussian columns it is 1 + 8 / (p - 1).

    Parameters
    ----------
    squares : ndarray of shape (n,)
        Squared lengths of the influences.
    p : int
        Number of variables.
    """
    gaussian = 1.0 + 8.0 / max(p - 1, 1)
    return float(np.mean(squares**2) / max(np.mean(squares) ** 2, np.finfo(float).tiny) / gaussian)


def rearranged_test(
    z: Array,
    confounder: Array,
    threshold: Array,
    orders: Iterator[Index] | None = None,
    *,
    others: Iterator[Array] | None = None,
    count: int = REARRANGED,
    method: str,
    progress: Callable[[float], None] | None = None,
) -> ConfoundingTest:
    """Test whether correlations change with the confounders, by rearranged confounders.

    Parameters
    ----------
    z : ndarray of shape (n, p)
        Variables, in any units.
    confounder : ndarray of shape (n, m)
    threshold : ndarray of shape (m,)
    orders : iterator of ndarray of int of shape (n,), optional
        Row whose confounder each row gets; see :func:`circular_shifts` and :func:`permutations`.
    others : iterator of ndarray of shape (n, m), optional
        Rearranged confounders, instead of ``orders``.
    count : int
        Number of rearranged confounders.
    method : str
        Value of `ConfoundingTest.method`.
    progress : callable, optional
        Called with the completed share after every order.

    Returns
    -------
    ConfoundingTest
        Its p-value is the share of statistics at least as large as the actual one, itself included.
    """
    with single_threaded_blas():
        functions = functions_to_test(confounder, threshold)
        known = row_functions(confounder, threshold, functions)

        def excess(rows: Array, along: TestedFunctions, own: RowFunctions) -> Array:
            standard, projection = standardized_rows(rows, own)
            values = energy_excess(RowInfluence.of(standard), projection, along)
            return np.array([np.sum(values[one]) for one in along.sets()])

        def rearranged() -> Array:
            if others is not None:
                moved = next(others)
                along = functions_to_test(moved, threshold)
                return excess(z, along, row_functions(moved, threshold, along))
            assert orders is not None
            # The inverse order of the variables has the same effect and leaves the functions unchanged.
            moved = np.empty_like(z)
            moved[next(orders)] = z
            return excess(moved, functions, known)

        found = np.empty((1 + count, len(functions.sets())))
        found[0] = excess(z, functions, known)
        for number in range(1, 1 + count):
            found[number] = rearranged()
            if progress is not None:
                progress(number / count)
    return ConfoundingTest(*compared(found), np.nan, method, count)


def compared(found: Array) -> tuple[float, float]:
    """The observed statistic standardised by the rearranged ones, and its p-value.

    Parameters
    ----------
    found : ndarray of shape (1 + count, sets)
        Statistics of several sets of functions, the observed ones first. Sets are standardised over all
        rows, and the largest is compared.
    """
    largest = found[:, 0]
    if found.shape[1] > 1:
        spread = np.maximum(found.std(axis=0), np.finfo(float).tiny)
        largest = np.max((found - found.mean(axis=0)) / spread, axis=1)
    actual, others = float(largest[0]), largest[1:]
    spread = float(others.std())
    statistic = (actual - float(others.mean())) / spread if spread > 0.0 else 0.0
    as_large = others >= actual - ROUNDING * abs(actual)
    return statistic, float((1.0 + np.count_nonzero(as_large)) / (1.0 + len(others)))


def circular_shifts(runs: Index, seed: int) -> Iterator[Index]:
    """Orders that shift the rows of every run circularly by a random number.

    Parameters
    ----------
    runs : ndarray of int of shape (n,)
        Number of every row's run, in order; at least one run has several rows.
    seed : int
        Seed of the shifts.
    """
    draw = np.random.default_rng(seed)
    lengths = np.bincount(runs)
    starts = np.cumsum(lengths) - lengths
    place = np.arange(len(runs)) - starts[runs]
    while True:
        shift = draw.integers(0, lengths)
        if shift.any():
            yield starts[runs] + (place + shift[runs]) % lengths[runs]


def permutations(n: int, seed: int) -> Iterator[Index]:
    """Random orders of n rows."""
    draw = np.random.default_rng(seed)
    while True:
        yield draw.permutation(n)
