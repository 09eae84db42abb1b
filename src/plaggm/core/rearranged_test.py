r"""The test of R = 0 with its null distribution from rearranged confounders.

Where rows depend on their neighbours, or tails are so heavy that the cumulants of
:mod:`plaggm.core.confounding_test` cannot be trusted, the statistic is compared with those of confounders
that cannot be related to the rows: circular shifts within runs, which keep the order of both series, or
permutations where rows are exchangeable. Where rows come in groups, confounders of a group as a whole are
exchanged between groups, and the others within. Every confounder takes off its own means and scales, just
as the actual one does, so that none is special where confounder and rows are unrelated. Where means or
scales do change with the actual one, rows are less alike under the others, and the test errs towards large
p-values.

Of several confounders each has a statistic of its own beside that of all. In units of their spread over all
orders, the largest is what is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.confounding_rows import (
    FARTHEST,
    RowFunctions,
    TestedFunctions,
    functions_to_test,
    row_functions,
    standardized_rows,
)
from plaggm.core.confounding_test import (
    ConfoundingTest,
    RowInfluence,
    confounding_test,
    energy_excess,
)
from plaggm.core.copies import first_copies
from plaggm.core.grouped_confounders import (
    constant_within,
    orders_within,
    rearranged_groups,
    runs_as_groups,
)
from plaggm.core.threads import single_threaded_blas

# Rearranged confounders, unless another number is asked for.
REARRANGED = 199
# Relative difference of two statistics that are the same but for rounding.
ROUNDING = 1e-10
# Names of the two ways, and the seed of the orders.
SHIFTS, PERMUTATIONS = "circular shifts", "permutations"
BETWEEN, WITHIN = "exchange between groups", "permutations within groups"
BETWEEN_RUNS = "exchange between runs"
SHIFT_SEED = 0


# Weight of the tails from which on a few rows decide and cumulants are not trusted; one for Gaussian rows.
HEAVY = 2.0
# Degrees of freedom of the null distribution below which three cumulants do not tell its tail well, and
# those below which they do not tell it at all.
FEW_DIRECTIONS, FEWEST_DIRECTIONS = 40.0, 6.0
# p-values between which that makes a difference.
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

    Time series are compared with circular shifts, rows of which a few decide with permutations. So are
    small p-values of correlated variables, whose null distribution has few degrees of freedom.
    Otherwise the cumulants tell the distribution. Copies of rows are counted once where rows are not a time
    series.
    Where every run is a single row, rows are taken as independent.

    Parameters
    ----------
    z, confounder, threshold, count, progress
        See :func:`rearranged_test`.
    runs : ndarray of int of shape (n,), optional
        Number of every row's run, in order, where rows are time series. Without groups, confounders that
        are constant within runs are exchanged between runs: shifts would leave them as they are.
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
        told = confounding_test(z, confounder, threshold)
        clear = told.p_value < BEYOND_DOUBT and told.degrees_of_freedom >= FEWEST_DIRECTIONS
        if told.degrees_of_freedom >= FEW_DIRECTIONS or told.p_value >= UNDOUBTED or clear:
            return told
    found = judge(z, confounder, orders=permutations(len(z), seed), method=PERMUTATIONS)
    if not heavy:
        return found
    row, column = influence.leading()
    return replace(found, leading_row=int(rows[row]), leading_column=column)


def row_influence(
    z: Array, confounder: Array, threshold: Array, farthest: float = FARTHEST
) -> RowInfluence:
    """Influences of the rows, freed of means and scales along the confounder, on their correlations.

    Rows whose mean square exceeds ``farthest`` are pulled back to it.
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
    """Test whether correlations change with the confounders, by confounders in other orders.

    Parameters
    ----------
    z : ndarray of shape (n, p)
        Variables, in any units.
    confounder : ndarray of shape (n, m)
    threshold : ndarray of shape (m,)
    orders : iterator of ndarray of int of shape (n,), optional
        Row whose confounder each row gets; see :func:`circular_shifts` and :func:`permutations`.
    others : iterator of ndarray of shape (n, m), optional
        Confounders to compare with in place of those in other orders.
    count : int
        How many of them are tried.
    method : str
        Name of the method, for the result.
    progress : callable, optional
        Told the share that is done after every order.

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
            # Sums over rows are the same whether confounders are moved or, the other way, the variables.
            # The functions of the confounders then stay as they are.
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
        Statistics of some sets of functions, the actual ones first. Sets are brought to one scale by all
        orders, the actual one among them, so that none is special; the largest counts.
    """
    largest = found[:, 0]
    if found.shape[1] > 1:
        spread = np.maximum(found.std(axis=0), np.finfo(float).tiny)
        largest = np.max((found - found.mean(axis=0)) / spread, axis=1)
    actual, others = float(largest[0]), largest[1:]
    spread = float(others.std())
    statistic = (actual - float(others.mean())) / spread if spread > 0.0 else 0.0
    # Sums in another order differ by rounding.
    as_large = others >= actual - ROUNDING * abs(actual)
    return statistic, float((1.0 + np.count_nonzero(as_large)) / (1.0 + len(others)))


def circular_shifts(runs: Index, seed: int) -> Iterator[Index]:
    """Orders that shift the rows of every run by a random number, those at its end to its start.

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
        # Not at all would be the actual order.
        if shift.any():
            yield starts[runs] + (place + shift[runs]) % lengths[runs]


def permutations(n: int, seed: int) -> Iterator[Index]:
    """Random orders of n rows."""
    draw = np.random.default_rng(seed)
    while True:
        yield draw.permutation(n)
