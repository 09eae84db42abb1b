"""One cell of the recovery experiment: simulate, fit, compare with the truth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from plaggm.comparison import METHODS, Choices, attempt, build_method
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.metrics import best_path_auc, edge_auc, path_auc, recovery_report
from plaggm.reproduce.plan import DESIGNS, ENTRANTS, KERNEL_SWEEPS, Cell, Entrant, Plan
from plaggm.simulate import Simulated, simulate_paper

# Smallest penalty of the graphical lasso, as a part of the largest.
GLASSO_RATIO = 0.02
# Scores of a fit that are kept.
SCORES = ("auc", "f1", "precision", "recall", "mcc", "frobenius_error", "n_edges", "n_true_edges")


def run_cell(cell: Cell, plan: Plan) -> dict[str, Any]:
    """Simulate and fit; a fit that fails is a record with a reason and without scores.

    Parameters
    ----------
    cell : Cell
        Design, size, seed and method.
    plan : Plan
        Folds and penalties, the same for all cells.

    Returns
    -------
    dict
        Plain numbers and text, which JSON can hold.
    """
    design, entrant = DESIGNS[cell.design], ENTRANTS[cell.entrant]
    data = simulate_paper(cell.p, seed=cell.seed, **design.simulation)
    choices = Choices(
        # The values of g do not look like an amount, but R vanishes around zero.
        reference="zero",
        threshold=design.threshold if entrant.knows_threshold else "auto",
        loss=entrant.loss,
        criterion="cv",
        alphas=plan.penalties,
        cv=plan.folds,
        unit_variance=True,
        max_iter=KERNEL_SWEEPS,
        seed=cell.seed,
        n_jobs=1,
    )
    with single_threaded_blas():
        found = attempt(lambda: _fit(data, entrant, choices, plan))
    record: dict[str, Any] = {
        "design": cell.design,
        "p": cell.p,
        "n": len(data.x),
        "seed": cell.seed,
        "entrant": cell.entrant,
        "method": entrant.method,
        "loss": entrant.loss,
        "told_threshold": entrant.knows_threshold,
        "reason": found.reason,
        "warnings": list(found.warnings),
    }
    if found.value is not None:
        record |= _scores(found.value, data)
    return record


def _fit(data: Simulated, entrant: Entrant, choices: Choices, plan: Plan) -> Any:
    confounder = {"confounder": data.confounder} if METHODS[entrant.method].adjusts else {}
    if entrant.loss == "glasso":
        # The largest penalty depends on what the method makes of the data.
        first = replace(choices, alphas=1, criterion="bic")
        largest = build_method(entrant.method, first).fit(data.x, **confounder).alphas_[0]
        grid = np.geomspace(largest, GLASSO_RATIO * largest, plan.glasso_penalties)
        choices = replace(choices, alphas=grid)
    return build_method(entrant.method, choices).fit(data.x, **confounder)


def _scores(model: Any, data: Simulated) -> dict[str, Any]:
    report = recovery_report(model.omega_, data.omega)
    path = model.omega_path_[~np.isnan(model.omega_path_).any(axis=(1, 2))]
    threshold = getattr(model, "threshold_", None)
    return {
        **{name: float(report[name]) for name in SCORES},
        "auc": edge_auc(model.omega_, data.support),
        "best_path_auc": best_path_auc(path, data.support),
        "support_auc": path_auc(path, data.support),
        "alpha": float(model.alpha_),
        "alpha_rank": int(np.argmin(np.abs(model.alphas_ - model.alpha_))),
        "n_alphas": len(model.alphas_),
        "threshold": None if threshold is None else float(threshold),
        "gap": float(model.dual_gap_),
    }
