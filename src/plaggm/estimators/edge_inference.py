"""Tests of all pairs of a fitted problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

import numpy as np

from plaggm.array_types import Index
from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.inference.change_tests import ChangeTests, change_tests
from plaggm.core.inference.desparsified import desparsified_tests
from plaggm.core.inference.edge_tests import (
    ROWS_PER_COEFFICIENT,
    edge_tests,
    enough_rows,
    warn_of_few_groups,
    warn_of_few_rows,
)
from plaggm.core.inference.gram_tests import least_squares_tests
from plaggm.core.inference.missing_information import RetainedInformation
from plaggm.core.inference.pair_statistics import EdgeTests, adjusted
from plaggm.core.numerics.row_hash import BLOCK_ROWS, BLOCKS, hashed_blocks
from plaggm.core.profile.profilers import SplineSubsets
from plaggm.core.spline.statistics import SplineStatistics
from plaggm.edge_table import EdgeTable
from plaggm.estimators.category_warnings import warn_of_separation
from plaggm.estimators.family_model import FamilyModel
from plaggm.estimators.kernel_model import KernelModel
from plaggm.estimators.problem import FitProblem
from plaggm.estimators.spline_model import SplineModel


def tested_pairs(problem: FitProblem, information: RetainedInformation | None) -> EdgeTable:
    """Test every pair of the baseline network.

    Parameters
    ----------
    problem : FitProblem
    information : RetainedInformation or None
        Retained information where cells are missing.

    Notes
    -----
    Rows of one group, or of one contiguous block of a time series, are treated as dependent. The kernel
    smoother's transformed rows are tested by least squares, or by the de-sparsified lasso if they are few.
    """
    model, grams = problem.model, problem.node_grams
    if isinstance(model, FamilyModel):
        numbers = problem.group_numbers()
        tests, separated = model.edge_tests(numbers)
        warn_of_separation([problem.columns.names[j] for j in separated])
        table = as_table(tests)
        return with_changes(table, model.change_tests(numbers)) if model.design.m else table
    if isinstance(model, KernelModel):
        return as_table(_kernel_tests(problem, model))
    assert isinstance(model, SplineModel)
    total, basis = model.profiler.total, model.profiler.basis
    groups, blocks = groups_and_blocks(problem, model, information)
    tests = edge_tests(total, basis, grams, groups=groups, blocks=blocks, information=information)
    table = as_table(tests)
    if not basis.size or not enough_rows(total):
        return table
    changes = change_tests(
        total,
        basis,
        groups=groups,
        blocks=blocks,
        dispersion=tests.dispersion,
        information=information,
    )
    return with_changes(table, changes)


def with_changes(table: EdgeTable, changes: ChangeTests) -> EdgeTable:
    """The table with tests of the differences that adjusting makes to each pair."""
    return replace(table, change_p_value=changes.p_value, change_q_value=changes.q_value)


def _kernel_tests(problem: FitProblem, model: KernelModel) -> EdgeTests:
    """Tests of the kernel smoother's transformed rows."""
    grams = problem.node_grams
    numbers = problem.group_numbers()
    if float(np.min(grams.n - grams.smoother_trace)) < ROWS_PER_COEFFICIENT * grams.p:
        if numbers is not None:
            warn_of_few_rows(grams.n, grams.p)
        return desparsified_tests(grams)

    def scaled(labels: Index) -> Iterator[NodeGrams]:
        return (part.rescaled(problem.sigma) for part in model.group_grams(labels))

    if numbers is not None:
        warn_of_few_groups(int(numbers.max()) + 1)
        return least_squares_tests(grams, scaled(numbers))
    drawn = hashed_blocks(0, grams.n)
    if grams.n < BLOCKS * BLOCK_ROWS or not np.bincount(drawn, minlength=BLOCKS).all():
        return least_squares_tests(grams)
    return least_squares_tests(grams, blocks=lambda: scaled(drawn))


def as_table(tests: EdgeTests, p: int | None = None) -> EdgeTable:
    """The tests as an :class:`EdgeTable`, of the first p variables if there are more."""
    columns = {
        field.name: getattr(tests, field.name)
        for field in fields(EdgeTable)
        if isinstance(getattr(tests, field.name, None), np.ndarray)
    }
    # With few rows an estimate may lie outside [-1, 1].
    for name in ("estimate", "low", "high"):
        columns[name] = np.clip(columns[name], -1.0, 1.0)
    if p is not None and p < tests.p:
        wanted = np.triu_indices(tests.p, 1)[1] < p
        columns = {name: values[wanted] for name, values in columns.items()}
        columns["q_value"] = adjusted(columns["p_value"])
    return EdgeTable(
        **columns, dispersion=tests.dispersion, degrees_of_freedom=tests.degrees_of_freedom
    )


def groups_and_blocks(
    problem: FitProblem, model: SplineModel, information: RetainedInformation | None
) -> tuple[Sequence[SplineStatistics], Sequence[SplineStatistics]]:
    """Statistics of the groups of rows, or else of disjoint blocks of rows, which show heavy tails.

    Blocks are the folds, or drawn by the number of the row. There are none with missing cells, for which
    the retained information accounts for heavy tails, if there are too few rows, or if a stream was too
    large for sums of blocks.
    """
    if problem.groups is not None:
        return problem.groups.subsets, ()
    profiler = model.profiler
    n = profiler.total.n
    if information is not None or n < BLOCKS * BLOCK_ROWS:
        return (), ()
    if not isinstance(profiler, SplineSubsets):
        profiler = profiler.in_subsets(hashed_blocks(0, n), BLOCKS)
    blocks = tuple(part for part in profiler.subsets if part.n)
    return (), blocks if len(blocks) > 1 else ()
