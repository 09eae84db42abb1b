"""Tests of every edge of a fitted problem, from what any way of fitting leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from plaggm.core.change_tests import change_tests
from plaggm.core.desparsified import desparsified_tests
from plaggm.core.edge_tests import ROWS_PER_COEFFICIENT, edge_tests, enough_rows
from plaggm.core.gram_tests import least_squares_tests
from plaggm.core.pair_statistics import EdgeTests, adjusted
from plaggm.core.profile.profilers import SplineSubsets
from plaggm.core.row_hash import row_hash
from plaggm.core.spline_statistics import SplineStatistics
from plaggm.edge_table import EdgeTable
from plaggm.estimators.problem import FitProblem
from plaggm.estimators.spline_model import SplineModel

# Blocks of rows by which heavy tails are seen, and rows that each needs at least.
BLOCKS, BLOCK_ROWS = 10, 10
# Seed of the blocks that rows in memory fall into; that of the folds of a stream.
BLOCK_SEED = 1


def tested_pairs(problem: FitProblem) -> EdgeTable:
    """Test every pair of the baseline network.

    Rows of a group are taken as dependent where the fit has groups. The kernel smoother's transformed rows
    are tested by least squares, or by the de-sparsified lasso where they are few.
    """
    model, grams = problem.model, problem.node_grams
    if not isinstance(model, SplineModel):
        left = float(np.min(grams.n - grams.smoother_trace))
        few = left < ROWS_PER_COEFFICIENT * grams.p
        return as_table(desparsified_tests(grams) if few else least_squares_tests(grams))
    groups = () if problem.groups is None else problem.groups.subsets
    total, basis = model.profiler.total, model.profiler.basis
    blocks = () if groups else row_blocks(model)
    tests = edge_tests(total, basis, grams, groups=groups, blocks=blocks)
    table = as_table(tests)
    if not basis.size or not enough_rows(total):
        return table
    changes = change_tests(total, basis, groups=groups, dispersion=tests.dispersion)
    return replace(table, change_p_value=changes.p_value, change_q_value=changes.q_value)


def as_table(tests: EdgeTests, p: int | None = None) -> EdgeTable:
    """The tests as results keep them, of the first p variables where there are more."""
    columns = {
        field.name: getattr(tests, field.name)
        for field in fields(EdgeTable)
        if isinstance(getattr(tests, field.name, None), np.ndarray)
    }
    # With few rows an estimate may lie beyond one, as no partial correlation can.
    columns["estimate"] = np.clip(columns["estimate"], -1.0, 1.0)
    if p is not None and p < tests.p:
        wanted = np.triu_indices(tests.p, 1)[1] < p
        columns = {name: values[wanted] for name, values in columns.items()}
        columns["q_value"] = adjusted(columns["p_value"])
    return EdgeTable(**columns, dispersion=tests.dispersion)


def row_blocks(model: SplineModel) -> Sequence[SplineStatistics]:
    """Statistics of disjoint blocks of rows: the folds, or blocks drawn by the row's number.

    None where rows are neither in memory nor summed by folds, and where there are too few.
    """
    profiler = model.profiler
    n = profiler.total.n
    if n < BLOCKS * BLOCK_ROWS:
        return ()
    if not isinstance(profiler, SplineSubsets):
        drawn = row_hash(0, n, BLOCK_SEED) % np.uint64(BLOCKS)
        profiler = profiler.in_subsets(drawn.astype(np.intp), BLOCKS)
    return profiler.subsets if len(profiler.subsets) > 1 else ()
