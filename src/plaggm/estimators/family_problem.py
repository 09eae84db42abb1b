"""The problem of variables of several families, which needs all rows at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from plaggm.core.families.columns import FamilyColumns, family_columns
from plaggm.core.families.nodes import nuisance_penalty
from plaggm.core.families.path import FamilyPath, solve_family_path
from plaggm.core.families.profile import family_profiler
from plaggm.core.families.rows import FamilyRows, family_rows
from plaggm.core.families.support import supported_share
from plaggm.core.inference.edge_tests import ROWS_PER_COEFFICIENT
from plaggm.core.variance.conditional import conditional_scale
from plaggm.data.column_families import check_family_values, column_families
from plaggm.estimators.category_warnings import warn_of_rare_categories
from plaggm.estimators.family_model import FamilyModel
from plaggm.estimators.problem import FitProblem
from plaggm.estimators.row_statistics import reduce_rows
from plaggm.estimators.row_sums import Units, raw_units
from plaggm.estimators.rows import ArrayRows
from plaggm.estimators.spec import FitSpec
from plaggm.estimators.spline_model import SplineModel, spline_model


def family_problem(spec: FitSpec, rows: ArrayRows) -> FitProblem:
    """Solve the path for all rows, and approximate the losses around the network with the smallest AIC."""
    names = rows.labels.columns.names
    families = column_families(spec.family, names)
    check_family_values(rows.x, families, names)
    warn_of_rare_categories(rows.x, families, names)
    first = family_columns(rows.x, families)
    columns, spline = _seen_spline(spec, rows, first)
    phi = spline.design.basis.evaluate(rows.confounder)
    table = family_rows(rows.x, phi, columns)
    rotation = spline.profiler.system.rotation
    chosen = spline.profiler.fit.penalty
    if _rescales_prior(spec, table):
        chosen = chosen / supported_share(table, rotation, chosen, spec.n_threads)
    penalties = [
        nuisance_penalty(rotation, one, columns, table.n)
        for one in (chosen, spline.nuisance_fit().penalty)
    ]
    path = solve_family_path(
        table,
        penalties[0],
        spec.penalties.alphas,
        tol=spec.tol,
        max_iter=spec.max_iter,
        n_threads=spec.n_threads,
    )
    eta = table.predictors(path.coefficients[_best_step(path, table.n)])
    profiler = family_profiler(table, eta, penalties[0], spec.n_threads)
    model = FamilyModel(
        spline, table, path, profiler, profiler.fitted(), penalties[1], columns.scale / first.scale
    )
    return FitProblem(
        columns=rows.labels.columns,
        n=rows.labels.n,
        units=Units(columns.location, columns.scale),
        confounder_names=spline.design.names,
        confounder_levels=spline.design.levels,
        model=model,
        sigma=np.ones(columns.p),
        node_grams=model.node_grams,
        folds=rows.labels.folds(spec),
        groups=None,
        rows=rows,
        missing=rows.labels.missing,
    )


def _seen_spline(
    spec: FitSpec, rows: ArrayRows, columns: FamilyColumns
) -> tuple[FamilyColumns, SplineModel]:
    """Columns in the units of the final fit, and the spline of the columns as other nodes see them.

    The spline chooses the functions of the confounders and the prior of the nuisance as if the columns were
    Gaussian, since the curvature of every family is about one in common units.
    """
    plain = replace(
        spec,
        family="gaussian",
        variance="conditional",
        standardize=False,
        penalties=replace(spec.penalties, criterion="given"),
    )
    seen = replace(rows, x=columns.seen(rows.x), units=raw_units(columns.p))
    spline = spline_model(reduce_rows(plain, seen), spec.tau, n_threads=spec.n_threads)
    gaussian = columns.of("gaussian")
    if not len(gaussian):
        return columns, spline
    scale = columns.scale.copy()
    scale[gaussian] *= conditional_scale(spline.node_grams, "joint", spec.n_threads)[gaussian]
    return columns.rescaled(scale), spline


def _rescales_prior(spec: FitSpec, rows: FamilyRows) -> bool:
    """Whether the learnt prior of the nuisance is rescaled by the likelihood of the families.

    Only for binary variables: it does not improve the ranking of edges between counts.
    """
    functions = rows.phi.shape[1]
    enough = rows.n >= ROWS_PER_COEFFICIENT * (rows.p + functions)
    binary = len(rows.columns.of("binomial")) == rows.p
    return spec.tau == "focused" and functions > 0 and enough and binary


def _best_step(path: FamilyPath, n: float) -> int:
    """The step of a path with the smallest AIC."""
    p = path.coefficients.shape[2]
    edges = np.count_nonzero(np.triu(path.omega(), 1), axis=(1, 2))
    return int(np.argmin(n * path.losses + edges + p))
