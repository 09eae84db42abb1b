"""Which pairs a page holds where there are many, and how large it then is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from plaggm.edge_table import EdgeTable
from plaggm.report.page import render_report
from plaggm.report.page_pairs import MOST_PAIRS, page_pairs
from plaggm.result import GraphResult

# Bytes of a page, at any number of variables.
LARGEST_PAGE = 8_000_000


def sparse_result(p: int, edges: int, seed: int = 0) -> GraphResult:
    """A result that was never fitted: all pairs tested, of which some are declared."""
    rng = np.random.default_rng(seed)
    count = p * (p - 1) // 2
    rows, columns = np.triu_indices(p, 1)
    q = rng.uniform(0.2, 1.0, size=count)
    declared = rng.choice(count, edges, replace=False)
    q[declared] = 1e-6
    estimate = np.where(q < 0.05, 0.4, 0.01) * rng.choice([-1.0, 1.0], size=count)
    error = np.full(count, 0.03)
    omega = np.zeros((p, p))
    omega[rows[declared], columns[declared]] = 0.3
    tests = EdgeTable(
        estimate, error, estimate - 0.06, estimate + 0.06, estimate / error, q / 2.0, q
    )
    return GraphResult(
        names=tuple(f"gene {k}" for k in range(p)),
        omega=omega + omega.T,
        location=np.zeros(p),
        scale=np.ones(p),
        alpha=0.1,
        edge_table=tests,
        settings={"edges": "fdr", "fdr": 0.05},
    )


def test_few_variables_are_all_there() -> None:
    pairs = page_pairs(sparse_result(40, 10), None)
    assert not pairs.limited
    np.testing.assert_array_equal(pairs.listed, np.arange(780))
    matrix = np.arange(1600.0).reshape(40, 40)
    np.testing.assert_array_equal(pairs.of(matrix), matrix[np.triu_indices(40, 1)])
    np.testing.assert_array_equal(pairs.positions(np.array([700, 3])), [700, 3])


def test_edges_of_both_networks_come_first() -> None:
    result, before = sparse_result(40, 20), sparse_result(40, 20, seed=1)
    pairs = page_pairs(result, before, most=60)
    assert pairs.limited
    assert len(pairs.listed) == 60
    assert (np.diff(pairs.listed) > 0).all()
    upper = np.triu_indices(40, 1)
    for one in (result, before):
        assert set(np.flatnonzero(one.network[upper])) <= set(pairs.listed)
    # The rest of the room is for the pairs that are nearest to being edges.
    rest = np.setdiff1d(np.arange(780), pairs.listed)
    nearest = np.minimum(result.edge_table.p_value, before.edge_table.p_value)
    declared = (result.network[upper] != 0.0) | (before.network[upper] != 0.0)
    held = pairs.listed[~declared[pairs.listed]]
    assert nearest[held].max() <= nearest[rest].min()
    np.testing.assert_array_equal(
        pairs.listed[pairs.positions(np.append(pairs.listed[:2], rest[0]))], pairs.listed[:2]
    )


@pytest.mark.parametrize("p", [300, 700])
def test_pages_of_many_variables_are_small(p: int) -> None:
    result = sparse_result(p, 2 * p)
    page = render_report(result, unadjusted=replace(result, confounder_names=()))
    assert len(page.encode()) < LARGEST_PAGE
    total = p * (p - 1) // 2
    assert f"{MOST_PAIRS:,} of {total:,} pairs" in page
    assert "too many variables for a picture of the matrix" in page
    assert 'data-view="matrix"' not in page
    assert 'id="node-choice"' in page
