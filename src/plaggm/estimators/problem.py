"""The lasso problem after the nuisance has been profiled out: node Grams and their scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.grams.node_grams import GramMatrices
from plaggm.core.profile.profilers import Profiler, SplineSubsets
from plaggm.core.variance.conditional import conditional_scale
from plaggm.data.factors import Levels
from plaggm.estimators.columns import Columns
from plaggm.estimators.missing_information import Completion, completion_of
from plaggm.estimators.missing_rows import MissingCells
from plaggm.estimators.nuisance_model import NuisanceModel
from plaggm.estimators.preparation import NO_PREPARATION, Preparation
from plaggm.estimators.row_statistics import RowStatistics
from plaggm.estimators.row_sums import Units
from plaggm.estimators.rows import ArrayRows
from plaggm.estimators.spec import FitSpec
from plaggm.estimators.spline_model import spline_model
from plaggm.parameter_types import Fold


@dataclass(frozen=True, slots=True)
class FitProblem:
    """Node Grams of all rows and of subsets of them, with the facts about the rows that results need.

    Attributes
    ----------
    columns : Columns
    n : int
        Rows.
    units : Units
        Units of the model: Z = (X - location) / scale.
    confounder_names : tuple of str
    confounder_levels : tuple of (tuple of str or None)
        Levels of every factor, None for numbers.
    model : NuisanceModel
    sigma : ndarray of shape (p,)
        Conditional standard deviations of the columns of Z.
    node_grams : GramMatrices
        Gram matrices of all rows, columns divided by ``sigma``.
    folds : list of (train, test)
        Indices of rows or subsets, as the profiler of the model counts them.
    groups : SplineSubsets or None
        Statistics of every group of rows.
    rows : ArrayRows or None
        All rows, if they are in memory.
    preparation : Preparation
        Transformations that were applied to the rows.
    completion : Completion or None
        Facts about the missing cells, if there are any.
    missing : MissingCells or None
        Counts of missing cells, if they may be missing.
    """

    columns: Columns
    n: int
    units: Units
    confounder_names: tuple[str, ...]
    confounder_levels: tuple[Levels, ...]
    model: NuisanceModel
    sigma: Array
    node_grams: GramMatrices
    folds: list[Fold]
    groups: SplineSubsets | None
    rows: ArrayRows | None
    preparation: Preparation = NO_PREPARATION
    completion: Completion | None = None
    missing: MissingCells | None = None

    def group_numbers(self) -> Index | None:
        """Number of every row's group; None without groups, or if the rows are not in memory."""
        return None if self.rows is None else self.rows.labels.group_numbers()

    @property
    def profiler(self) -> Profiler:
        """Maps subsets of the rows to node Grams, whose columns are not yet divided by ``sigma``."""
        return self.model.profiler


def spline_problem(spec: FitSpec, statistics: RowStatistics) -> FitProblem:
    """The problem of a penalised spline; without confounder all rows are pooled."""
    model = spline_model(statistics, spec.tau, n_threads=spec.n_threads)
    groups = None
    if statistics.groups is not None:
        known = model.profiler
        subsets = SplineSubsets(
            statistics.subsets, known.basis, known.total, known.system, known.fit
        )
        groups = subsets.merged(statistics.groups, int(statistics.groups.max()) + 1)
    sigma = node_scale(spec, model.node_grams)
    return FitProblem(
        columns=statistics.columns,
        n=statistics.n,
        units=statistics.units,
        confounder_names=statistics.design.names,
        confounder_levels=statistics.design.levels,
        model=model,
        sigma=sigma,
        node_grams=model.node_grams.rescaled(sigma),
        folds=statistics.folds,
        groups=groups,
        rows=statistics.rows,
        preparation=statistics.preparation,
        completion=completion_of(statistics.completion, statistics.total, statistics.units),
        missing=statistics.missing,
    )


def node_scale(spec: FitSpec, node_grams: GramMatrices) -> Array:
    """Conditional standard deviations of the nodes, ones for ``variance="unit"``: shape (p,)."""
    if spec.variance == "unit":
        return np.ones(node_grams.p)
    return conditional_scale(node_grams, spec.symmetry, spec.n_threads)
