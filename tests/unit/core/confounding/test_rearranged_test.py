"""The test by rearranged confounders against its literal twin, which moves the confounders themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import pytest

from plaggm.array_types import Array, Index
from plaggm.core.confounding.confounding_test import RowInfluence, energy_excess
from plaggm.core.confounding.grouped_confounders import runs_as_groups
from plaggm.core.confounding.rearranged_test import (
    calibrated_test,
    circular_shifts,
    compared,
    permutations,
    rearranged_test,
)
from plaggm.core.confounding.rows import functions_to_test, row_functions, standardized_rows

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
    _, p_value = compared(np.column_stack([apart, apart.sum(axis=1)]))
    assert p_value == 0.01
    _, of_the_sum = compared(apart.sum(axis=1)[:, None])
    assert of_the_sum > 0.2


def test_what_belongs_to_runs_is_exchanged_between_them() -> None:
    """Shifts leave a confounder of whole runs as it is, so that no effect of it could be seen."""
    rng = np.random.default_rng(0)
    people, volumes = 24, 40
    age = rng.permutation(np.linspace(0.0, 1.0, people))
    # The first has two runs.
    owner = np.repeat(np.r_[0, np.arange(people)], volumes)
    runs = np.repeat(np.arange(people + 1), volumes)
    z = rng.standard_normal((len(owner), 3))
    z[:, 1] += 1.5 * age[owner] * z[:, 0]
    limits = np.zeros(1)
    found = calibrated_test(z, age[owner][:, None], limits, runs=runs)
    assert (found.method, found.p_value) == ("exchange between runs", 0.005)
    same = runs_as_groups(age[owner][:, None], runs)
    assert same is not None
    assert same[0] == same[volumes]
    assert len(np.unique(same)) == people
    # Of a factor with few levels every run is exchanged.
    sex = (owner % 2).astype(float)[:, None]
    np.testing.assert_array_equal(runs_as_groups(sex, runs), runs)
    moving = rng.random((len(owner), 1))
    assert runs_as_groups(moving, runs) is None
    assert calibrated_test(z, moving, limits, runs=runs).method == "circular shifts"


def test_unrelated_confounders_of_runs_are_rejected_at_their_level() -> None:
    """People differ in their networks, and whatever belongs to people is related to that by chance only."""
    rng = np.random.default_rng(1)
    rejected = []
    for _ in range(60):
        own = rng.standard_normal(12)
        owner = np.repeat(np.arange(12), 30)
        z = rng.standard_normal((len(owner), 3))
        z[:, 1] += own[owner] * z[:, 0]
        age = rng.standard_normal(12)[owner][:, None]
        found = calibrated_test(z, age, np.zeros(1), runs=owner, count=COUNT)
        rejected.append(found.p_value <= 0.05)
    assert np.mean(rejected) < 0.15
