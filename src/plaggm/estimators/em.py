"""The EM algorithm for missing cells.

The model of the cells is first estimated without confounder, which completes rows well enough to choose a
threshold, and then with the functions of the confounder. A step computes expected sums under the current
model (:meth:`CompletedRows.totals`) and estimates the next model from them
(:mod:`plaggm.core.missing.cell_regressions`). The variance function and the prior of the effects are estimated
again in steps 1, 2, 4, 8, ... only.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from plaggm.array_types import Array
from plaggm.core.inference.missing_information import typical_share
from plaggm.core.missing.cell_regressions import PairPrior, learn_cells, learn_prior
from plaggm.core.missing.cells import CellModel, independent_cells
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.core.spline.design import SplineDesign, plain_design
from plaggm.core.spline.statistics import SplineStatistics
from plaggm.core.variance.variance_function import VarianceFunction, constant_variance
from plaggm.estimators.completion import CompletedRows
from plaggm.estimators.row_statistics import weigh
from plaggm.estimators.row_sums import Units
from plaggm.estimators.rows import Rows
from plaggm.estimators.spec import FitSpec
from plaggm.estimators.threshold_choice import make_design
from plaggm.user_warnings import warn_user

# Largest change in the last step at which the algorithm stops; see :func:`largest_change`.
TOLERANCE = 1e-4
MOST_STEPS = 200
# Largest step length of an extrapolation.
LONGEST = 32.0
# Steps without confounder before the threshold is chosen.
FIRST_STEPS = 10


def complete(spec: FitSpec, rows: Rows) -> CompletedRows:
    """Estimate the distribution of missing cells.

    Parameters
    ----------
    spec : FitSpec
    rows : Rows
        Rows with NaN where a cell is missing; every row and every column has observed cells.

    Warns
    -----
    ConvergenceWarning
        If the steps have not converged.
    """
    units = observed_units(rows)
    p = len(units.scale)
    plain = CompletedRows(
        rows, units, plain_design(), constant_variance(), independent_cells(p, 0), spec.n_threads
    )
    with single_threaded_blas():
        if rows.labels.confounder is None:
            found = fit_cells(spec, plain)
        else:
            first = fit_cells(spec, plain, FIRST_STEPS)
            design = make_design(spec, first)
            found = fit_cells(spec, _with_functions(first, design))
    spec.say(f"missing values: {found.iterations} steps of EM")
    if found.change > TOLERANCE:
        warn_user(
            f"The distribution of the missing cells has not settled after {found.iterations} steps of EM "
            f"(the last one moved a partial correlation by {found.change:.2g}). Variables that are hardly "
            "ever observed together cause it: leave out columns with few values, or use missing='drop'.",
            ConvergenceWarning,
        )
    return found


def fit_cells(spec: FitSpec, start: CompletedRows, steps: int | None = None) -> CompletedRows:
    """Iterate from an initial model of the cells until convergence.

    Every two steps are followed by an extrapolation (:func:`extrapolated`).

    Parameters
    ----------
    spec : FitSpec
    start : CompletedRows
    steps : int, optional
        Largest number of steps; by default ``MOST_STEPS``.
    """
    rows, design, change = start, start.design, np.inf
    prior: PairPrior | None = None
    recent: list[CellModel] = []
    number, observed = 0, typical_share(rows.observed())
    for number in range(1, (MOST_STEPS if steps is None else steps) + 1):
        anew = number & (number - 1) == 0
        if anew:
            variance, total = _weighted(spec, rows)
            rows = rows.under(rows.model, variance)
            recent = []
        else:
            total = rows.totals([rows.model])[0]
        if anew or prior is None:
            prior = learn_prior(total, design.basis, rows.model.deviation, observed)
        model = learn_cells(total, design.basis, rows.model.deviation, prior)
        change = largest_change(rows.model, model, total)
        recent = [*(recent or [rows.model]), model]
        rows = rows.under(model, rows.variance)
        if change <= TOLERANCE and not anew:
            break
        if len(recent) == 3:
            rows = rows.under(extrapolated(*recent), rows.variance)
            recent = []
    return replace(rows, prior=prior, iterations=number, change=change)


def extrapolated(first: CellModel, second: CellModel, third: CellModel) -> CellModel:
    """Extrapolate three successive models by a squared step (SQUAREM; Varadhan and Roland, 2008).

    EM converges slowly where few rows inform an effect. With r and v the first and second differences, the
    next step starts from x + 2 a r + a^2 v, a = |r| / |v|.
    """
    before, middle, after = (_parameters(model) for model in (first, second, third))
    step, bend = middle - before, after - 2.0 * middle + before
    size = float(np.linalg.norm(bend))
    if size == 0.0:
        return third
    length = min(max(float(np.linalg.norm(step)) / size, 1.0), LONGEST)
    found = before + 2.0 * length * step + length**2 * bend
    effects, shifts, deviation = np.split(found, np.cumsum([third.effects.size, third.shifts.size]))
    return replace(
        third,
        effects=effects.reshape(third.effects.shape),
        shifts=shifts.reshape(third.shifts.shape),
        deviation=np.exp(deviation),
    )


def _parameters(model: CellModel) -> Array:
    return np.concatenate([model.effects.ravel(), model.shifts.ravel(), np.log(model.deviation)])


def largest_change(before: CellModel, after: CellModel, total: SplineStatistics) -> float:
    """Largest change of an effect, a shift or a log deviation, with functions at their root mean square.

    Parameters
    ----------
    before, after : CellModel
    total : SplineStatistics
        Sums over all rows, from which the functions' mean squares are taken.
    """
    size = 1 + total.functions
    first, second = np.triu_indices(size)
    squares = total.sums[first == second, -1] / total.n
    typical = np.sqrt(np.maximum(squares, 0.0))
    moved = np.abs(after.effects - before.effects).max(axis=(1, 2)) @ np.diag(typical)
    shifted = np.abs(after.shifts - before.shifts).max(axis=1) @ np.diag(typical)
    spread = np.abs(np.log(after.deviation / before.deviation)).max()
    return float(max(moved.max(), shifted.max(), spread))


def observed_units(rows: Rows) -> Units:
    """Mean and standard deviation of every column's observed cells."""
    p = rows.labels.q - 1
    count, total, square = np.zeros(p), np.zeros(p), np.zeros(p)
    centre: Array | None = None
    for x, _ in rows.read():
        if centre is None:
            seen = np.isfinite(x)
            centre = np.where(seen, x, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
        known = np.where(np.isnan(x), 0.0, x - centre)
        count += np.count_nonzero(~np.isnan(x), axis=0)
        total += known.sum(axis=0)
        square += (known**2).sum(axis=0)
    assert centre is not None
    mean = total / np.maximum(count, 1)
    spread = np.sqrt(np.maximum(square / np.maximum(count, 1) - mean**2, 0.0))
    return Units(centre + mean, np.where(spread > 0.0, spread, 1.0))


def _weighted(spec: FitSpec, rows: CompletedRows) -> tuple[VarianceFunction, SplineStatistics]:
    """The variance function, and expected sums weighted by it, in the model's units."""
    if not rows.design.variance_basis.terms:
        return rows.variance, rows.totals([rows.model])[0]
    sums = rows.reduce(rows.design)
    return weigh(spec, sums, rows.units, rows)


def _with_functions(rows: CompletedRows, design: SplineDesign) -> CompletedRows:
    """The model of the cells extended by the confounder's functions, with zero effects and shifts."""
    size = design.basis.size
    model = rows.model
    effects, shifts = (
        np.concatenate([part, np.zeros((size, *part.shape[1:]))])
        for part in (model.effects, model.shifts)
    )
    variance = VarianceFunction(design.variance_basis, np.zeros(design.variance_basis.size))
    return replace(
        rows, design=design, variance=variance, model=replace(model, effects=effects, shifts=shifts)
    )
