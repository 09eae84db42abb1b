"""The test by rearranged confounders against its literal twin, which moves the confounders themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import pytest

from plaggm.array_types import Array, Index
from plaggm.core.confounding_rows import functions_to_test, row_functions, standardized_rows
from plaggm.core.confounding_test import RowInfluence, energy_excess
from plaggm.core.rearranged_test import circular_shifts, permutations, rearranged_test

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


def statistic(z: Array, confounder: Array) -> float:
    """U of rows and their confounders, all functions made for them."""
    functions = functions_to_test(confounder, THRESHOLD)
    known = row_functions(confounder, THRESHOLD, functions)
    standard, projection = standardized_rows(z, known)
    return energy_excess(RowInfluence.of(standard), projection, functions)


@pytest.mark.parametrize("kind", ORDERS)
def test_moving_rows_is_moving_confounders(samples: tuple[Array, Array], kind: str) -> None:
    z, confounder = samples
    orders: Callable[[], Iterator[Index]] = ORDERS[kind]
    actual = statistic(z, confounder)
    others = [statistic(z, confounder[order]) for order in islice(orders(), COUNT)]
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
