"""The problem of the kernel smoother, which needs all rows at once, and the search for its bandwidth."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.profile.kernel import SingularLocalSystemError
from plaggm.data import Confounder
from plaggm.estimators.kernel_model import kernel_model, resolve_bandwidth
from plaggm.estimators.penalty_path import held_out_loss, penalty_grid
from plaggm.estimators.problem import FitProblem, node_scale
from plaggm.estimators.rows import ArrayRows
from plaggm.estimators.spec import FitSpec
from plaggm.parameter_types import Fold

# Multiples of the automatic bandwidth that bandwidth="cv" tries.
BANDWIDTH_FACTORS = 2.0 ** np.arange(-1.0, 1.01, 0.5)


def kernel_problem(spec: FitSpec, rows: ArrayRows) -> FitProblem:
    """Smooth all rows with a given or automatic bandwidth, or with one chosen by cross-validation."""
    labels, asked = rows.labels, spec.kernel.bandwidth
    assert labels.confounder is not None
    bandwidth = resolve_bandwidth(asked, labels.confounder, labels.q - 1)
    folds = labels.folds(spec)
    if not (isinstance(asked, str) and asked == "cv"):
        return _problem(spec, rows, labels.confounder, bandwidth, folds)
    folds = folds or labels.folds(spec, always=True)
    return _best_bandwidth(spec, rows, labels.confounder, bandwidth, folds)


def _problem(
    spec: FitSpec, rows: ArrayRows, confounder: Confounder, bandwidth: Array, folds: list[Fold]
) -> FitProblem:
    """The problem with a given bandwidth."""
    chosen = spec.kernel
    model = kernel_model(
        rows.table(),
        confounder,
        kernel=chosen.kernel,
        indicator=chosen.indicator,
        form=chosen.form,
        bandwidth=bandwidth,
        threshold=spec.threshold,
        ridge=chosen.ridge,
        variance_function=spec.inflation,
        n_threads=spec.n_threads,
    )
    sigma = node_scale(spec, model.node_grams)
    return FitProblem(
        columns=rows.labels.columns,
        n=rows.labels.n,
        units=rows.units,
        confounder_names=confounder.names,
        confounder_levels=confounder.all_levels,
        model=model,
        sigma=sigma,
        node_grams=model.node_grams.rescaled(sigma),
        folds=folds,
        groups=None,
        rows=rows,
        preparation=rows.labels.preparation,
        missing=rows.labels.missing,
    )


def _best_bandwidth(
    spec: FitSpec, rows: ArrayRows, confounder: Confounder, automatic: Array, folds: list[Fold]
) -> FitProblem:
    """The multiple of the automatic bandwidth with the smallest held-out loss."""
    best: FitProblem | None = None
    reason: ValueError | None = None
    best_loss, scale = np.inf, np.ones(len(rows.labels.columns.names))
    for bandwidth in BANDWIDTH_FACTORS[:, None] * automatic:
        try:
            problem = _problem(spec, rows, confounder, bandwidth, folds)
            if best is None:
                # All losses are computed in the same units.
                scale = problem.sigma
            alphas = penalty_grid(spec, problem)
            loss = float(held_out_loss(spec, problem, alphas, scale).mean.min())
        except SingularLocalSystemError as error:
            # The bandwidth is too narrow for some window.
            reason = error
            continue
        spec.say(f"bandwidth {bandwidth}: held-out loss {loss:.6g}")
        if loss < best_loss:
            best, best_loss = problem, loss
    if best is None:
        raise ValueError(
            f"bandwidth='cv' found none of {(BANDWIDTH_FACTORS * automatic[0]).round(6).tolist()} "
            f"wide enough. {reason}"
        ) from reason
    return best
