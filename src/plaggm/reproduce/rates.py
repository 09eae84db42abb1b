"""How the error of the baseline network falls with the number of samples (Theorem 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from plaggm.comparison import METHODS, Attempt, Choices, attempt, build_method
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.metrics import edge_auc, frobenius_error, sup_error
from plaggm.reproduce.plan import FIRST_SEED, KERNEL_SWEEPS
from plaggm.simulate import Simulated, simulate_paper

# A tenth of the samples is unconfounded at every n, and the average of R over the rest is not zero.
SIMULATION: dict[str, Any] = dict(even=True, threshold=40.0)
VARIABLES = 10


@dataclass(frozen=True, slots=True)
class RateEntrant:
    """A method with its settings.

    Attributes
    ----------
    title : str
        Name in tables and figures.
    method : str
        Key of :data:`plaggm.comparison.METHODS`.
    knows_threshold : bool
        Whether it is told the true g*.
    promised : float, optional
        The slope of Theorem 1, or that of ordinary kernel estimates.
    """

    title: str
    method: str
    knows_threshold: bool = False
    promised: float | None = None


RATE_METHODS = {
    "spline": RateEntrant("PLA-GGM, spline, g* known", "spline", True, -0.5),
    "spline-auto": RateEntrant("PLA-GGM, spline (default)", "spline", False, -0.5),
    "kernel-soft": RateEntrant("PLA-GGM, the paper's estimator, g* known", "paper", True, -0.5),
    "kernel-ramp": RateEntrant("PLA-GGM, kernel with ramp, g* known", "kernel", True, -0.5),
    "ggm": RateEntrant("GGM, clean samples, g* known", "ggm", True),
    "tv-ggm": RateEntrant("TV-GGM, kernel at 0", "tv-ggm", promised=-0.4),
    "pooled": RateEntrant("GGM, all samples", "pooled"),
}


@dataclass(frozen=True, slots=True)
class RatePlan:
    """Sizes, seeds, folds and penalties of the experiment."""

    sizes: tuple[int, ...] = (400, 800, 1600, 3200, 6400, 12_800, 25_600, 50_000)
    seeds: int = 5
    folds: int = 5
    penalties: int = 40

    @classmethod
    def quick(cls) -> RatePlan:
        """A small plan, which takes less than a minute."""
        return cls((400, 1600, 6400, 25_600), 2, 5, 30)


@dataclass(frozen=True, slots=True)
class RateCell:
    """One fit: a size, a seed and a method."""

    n: int
    seed: int
    method: str

    @property
    def name(self) -> str:
        """Name of the file that keeps the cell."""
        return f"n{self.n:06d}-s{self.seed:02d}-{self.method}"

    def usual_seconds(self) -> float:
        """Usual duration, for the progress bar."""
        kernel = self.method.startswith("kernel")
        return 0.05 + self.n * (3e-4 if kernel else 5e-6)


def rate_cells(plan: RatePlan) -> list[RateCell]:
    """All cells of a plan, small ones first."""
    return [
        RateCell(n, seed, method)
        for n in plan.sizes
        for seed in range(FIRST_SEED, FIRST_SEED + plan.seeds)
        for method in RATE_METHODS
    ]


def fit_entrant(entrant: RateEntrant, choices: Choices, data: Simulated) -> Attempt:
    """The method fitted to simulated data on one BLAS thread, or the reason why it failed."""
    confounder = {"confounder": data.confounder} if METHODS[entrant.method].adjusts else {}
    with single_threaded_blas():
        return attempt(lambda: build_method(entrant.method, choices).fit(data.x, **confounder))


def run_rate_cell(cell: RateCell, plan: RatePlan) -> dict[str, Any]:
    """Simulate and fit; errors at the penalty that cross-validation chose and at the best one."""
    data = simulate_paper(VARIABLES, n=cell.n, seed=cell.seed, **SIMULATION)
    entrant = RATE_METHODS[cell.method]
    choices = Choices(
        # The values of g do not look like an amount, but R vanishes around zero.
        reference="zero",
        threshold=float(data.threshold) if entrant.knows_threshold else "auto",
        alphas=plan.penalties,
        cv=plan.folds,
        unit_variance=True,
        max_iter=KERNEL_SWEEPS,
        seed=cell.seed,
        n_jobs=1,
    )
    found = fit_entrant(entrant, choices, data)
    record: dict[str, Any] = {
        "n": cell.n,
        "seed": cell.seed,
        "method": cell.method,
        "reason": found.reason,
        "warnings": list(found.warnings),
    }
    if found.value is not None:
        model = found.value
        path = [frobenius_error(omega, data.omega) for omega in model.omega_path_]
        record |= {
            "error": frobenius_error(model.omega_, data.omega),
            "best_error": float(np.min(path)),
            "sup_error": sup_error(model.omega_, data.omega),
            "auc": edge_auc(model.omega_, data.support),
            "n_edges": int(np.count_nonzero(np.triu(model.omega_, 1))),
        }
    return record


def fitted_slopes(
    records: Sequence[dict[str, Any]], *, smallest: int = 0, measure: str = "error"
) -> pd.DataFrame:
    """Slope of log error against log n for each method, by least squares on the seeds' means.

    Parameters
    ----------
    records : sequence of dict
        Records of finished cells.
    smallest : int
        Leave out smaller n.
    measure : {"error", "best_error", "sup_error"}
        Name of the error in the records.

    Returns
    -------
    DataFrame
        Columns method, slope, low, high, promised, first, last. The interval is 1.96 times the
        standard error of the slope over seeds, each seed fitted on its own.

    Examples
    --------
    >>> records = [
    ...     dict(n=n, seed=s, method="spline", error=n**-0.5, reason="")
    ...     for n in (100, 400)
    ...     for s in (0, 1)
    ... ]
    >>> float(fitted_slopes(records)["slope"].iloc[0].round(6))
    -0.5
    """
    frame = pd.DataFrame(list(records))
    frame = frame[frame["n"] >= smallest]
    rows = []
    for method, entrant in RATE_METHODS.items():
        part = frame[frame["method"] == method]
        if part.empty or measure not in part:
            continue
        table = part.pivot_table(index="n", columns="seed", values=measure)
        if len(table) < 2:
            continue
        at = np.log(table.index.to_numpy(dtype=np.float64))
        slope = np.polyfit(at, np.log(table.mean(axis=1)), 1)[0]
        each = [
            np.polyfit(at[known], np.log(column[known]), 1)[0]
            for column in table.to_numpy().T
            if (known := ~np.isnan(column)).sum() > 1
        ]
        error = 1.96 * np.std(each, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
        mean = table.mean(axis=1)
        rows.append(
            {
                "method": method,
                "slope": slope,
                "low": slope - error,
                "high": slope + error,
                "promised": entrant.promised,
                "first": mean.iloc[0],
                "last": mean.iloc[-1],
            }
        )
    columns = ["method", "slope", "low", "high", "promised", "first", "last"]
    return pd.DataFrame(rows, columns=columns)
