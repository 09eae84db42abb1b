"""Rows with what is known of their missing cells."""

from __future__ import annotations

import numpy as np

from plaggm import PLAGGM
from plaggm.estimators import em
from plaggm.estimators.completion import CompletedRows
from plaggm.estimators.rows import array_rows
from plaggm.estimators.spec import fit_spec
from plaggm.simulate import simulate_paper


def completed() -> tuple[np.ndarray, CompletedRows]:
    data = simulate_paper(4, n=300, seed=2, even=True, threshold=60.0)
    x = data.x.copy()
    x[np.random.default_rng(2).random(x.shape) < 0.1] = np.nan
    spec = fit_spec(PLAGGM(missing="em", threshold=60.0, variance="conditional"))
    return x, em.complete(spec, array_rows(spec, PLAGGM, x, data.confounder))


def test_rows_that_are_read_have_draws_for_missing_cells_only() -> None:
    x, rows = completed()
    read = np.concatenate([chunk for chunk, _ in rows.read()])
    seen = ~np.isnan(x)
    np.testing.assert_allclose(read[seen], x[seen])
    assert np.isfinite(read).all()
    np.testing.assert_array_equal(rows.take(np.array([3, 200])), read[[3, 200]])


def test_sums_without_a_block_are_the_rest() -> None:
    _, rows = completed()
    blocks = np.arange(300) % 3
    whole = rows.totals([rows.model])[0]
    parts = rows.totals([rows.model] * 3, blocks)
    np.testing.assert_allclose(sum(part.sums for part in parts), 2.0 * whole.sums)
    assert [part.n for part in parts] == [200, 200, 200]


def test_observed_pairs_are_counted() -> None:
    x, rows = completed()
    both = ~np.isnan(x[:, 0]) & ~np.isnan(x[:, 1])
    assert rows.observed()[0, 1] == both.mean()
    assert rows.observed()[2, 2] == (~np.isnan(x[:, 2])).mean()


def test_sums_by_bins_and_weighted_sums_agree() -> None:
    _, rows = completed()
    sums = rows.reduce(rows.design)
    total = sums.subsets(np.ones(rows.design.bins.count), rows.units, 1)[0]
    np.testing.assert_allclose(total.sums, rows.totals([rows.model])[0].sums, atol=1e-9)
