"""The test by rearranged confounders against its literal twin, which moves the confounders themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import pytest

from plaggm.array_types import Array, Index
from plaggm.core.confounding_rows import functions_to_test, row_functions, standardized_rows
from plaggm.core.confounding_test import RowInfluence, energy_excess
from plaggm.core.rearranged_test import _compared, circular_shifts, permutations, rearranged_test

N, COUNT = 150, 19
THRESHOLD = np.array([0.2, 0.2])
RUNS = np.repeat([0, 1, 2], N // 3)

ORDERS = {
    "shifts": lambda: circular_shifts(RUNS, 3),
    "permutations": lambda: permutations(N, 3),
}


@pytest.fixture
def samples() -> tuple[Array, Array]:
    draw = np.random.default_rng(0)
    confounder = np.column_stack([draw.normal(size=N), draw.gamma(1.0, size=N)])
    z = draw.normal(size=(N, 4))
    z[:, 1] += np.clip(confounder[:, 1], 0.0, 2.0) * z[:, 0]
    return z, confounder


def statistics(z: Array, confounder: Array) -> list[float]:
    """U of either confounder and of both, all functions made for these rows and confounders."""
    functions = functions_to_test(confounder, THRESHOLD)
    known = row_functions(confounder, THRESHOLD, functions)
    standard, projection = standardized_rows(z, known)
    values = energy_excess(RowInfluence.of(standard), projection, functions)
    own = [float(np.sum(values[functions.owners == k])) for k in (0, 1)]
    return [*own, float(np.sum(values))]


@pytest.mark.parametrize("kind", ORDERS)
def test_moving_rows_is_moving_confounders(samples: tuple[Array, Array], kind: str) -> None:
    z, confounder = samples
    orders: Callable[[], Iterator[Index]] = ORDERS[kind]
    moved = [statistics(z, confounder[order]) for order in islice(orders(), COUNT)]
    values = np.array([statistics(z, confounder), *moved])
    actual, *others = np.max((values - values.mean(axis=0)) / values.std(axis=0), axis=1)
    found = rearranged_test(z, confounder, THRESHOLD, orders(), count=COUNT, method=kind)
    assert found.statistic == pytest.approx((actual - np.mean(others)) / np.std(others), rel=1e-8)
    assert found.p_value == (1 + np.sum(np.array(others) >= actual)) / (1 + COUNT)


def test_an_order_that_changes_nothing_counts_as_the_actual_one(
    samples: tuple[Array, Array],
) -> None:
    """Sums over the same rows in another order differ by rounding, which is no difference."""
    z, _ = samples
    batch = np.repeat([0.0, 1.0, 2.0], N // 3)[:, None]
    draw = np.random.default_rng(1)

    def within() -> Iterator[Index]:
        while True:
            yield np.concatenate([50 * k + draw.permutation(50) for k in range(3)])

    found = rearranged_test(z, batch, np.array([0.5]), within(), count=COUNT, method="within")
    assert found.p_value == 1.0


def test_one_confounder_of_several_is_not_lost_in_their_sum() -> None:
    """The sum is in the middle of those of other orders, the statistic of one confounder far above them."""
    draw = np.random.default_rng(2)
    apart = draw.normal(size=(100, 2)) * [1.0, 50.0]
    apart[0] = [8.0, 0.0]
    _, p_value = _compared(np.column_stack([apart, apart.sum(axis=1)]))
    assert p_value == 0.01
    _, of_the_sum = _compared(apart.sum(axis=1)[:, None])
    assert of_the_sum > 0.2
