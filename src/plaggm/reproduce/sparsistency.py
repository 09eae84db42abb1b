"""How often the exact structure of the baseline network is found (Theorem 1).

The theorem is about structure: with a penalty of c sqrt(log p / n) the estimate has exactly the true edges
once n / log p is large, whatever p is. Frequencies for several p, drawn against n / log p, should fall on
one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from plaggm.array_types import Array
from plaggm.comparison import Choices
from plaggm.estimators import PLAGGMCV, incoherence
from plaggm.metrics import sup_error
from plaggm.reproduce.plan import FIRST_SEED, KERNEL_SWEEPS
from plaggm.reproduce.rates import RateEntrant, fit_entrant
from plaggm.simulate import Simulated, simulate_paper

# Every variable has at most two neighbours whatever p is, and edges of the same sizes; a quarter of the
# samples is unconfounded, and R does not average out.
SIMULATION: dict[str, Any] = dict(
    even=True, threshold=100.0, graph="band", target_radius=0.45, nuisance_radius=0.5
)
# Constants c among which one is settled for each method, on seeds that are not reported.
CONSTANTS = tuple(float(c) for c in np.geomspace(1.0, 32.0, 11).round(3))
# The soft indicator leaves so little of the regressors that any of these gives the empty network.
SMALL_CONSTANTS = tuple(c / 64.0 for c in CONSTANTS)
DEVELOPMENT = 5000
# Frequency from which the structure counts as found.
FOUND = 0.9
STRUCTURE_METHODS = {
    "spline": RateEntrant("PLA-GGM, spline, g* known", "spline", True),
    "ramp": RateEntrant("PLA-GGM, kernel with ramp, g* known", "kernel", True),
    "paper": RateEntrant("PLA-GGM, the paper's estimator, g* known", "paper", True),
    "ggm": RateEntrant("GGM, clean samples, g* known", "ggm", True),
    "tv": RateEntrant("TV-GGM, kernel at 0", "tv-ggm"),
    "lr": RateEntrant("LR-GGM", "lr-ggm"),
    "pooled": RateEntrant("GGM, all samples", "pooled"),
}


@dataclass(frozen=True, slots=True)
class StructurePlan:
    """Sizes and seeds of the experiment.

    Attributes
    ----------
    variables : tuple of int
        Numbers of variables, p.
    ratios : tuple of float
        Values of n / log p.
    seeds, development : int
        Data sets that are reported, and on which the constants are settled.
    """

    variables: tuple[int, ...] = (10, 20, 40, 80)
    ratios: tuple[float, ...] = (100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0)
    seeds: int = 20
    development: int = 4

    @classmethod
    def quick(cls) -> StructurePlan:
        """A small plan, which takes less than two minutes."""
        return cls((10, 20), (200.0, 800.0), 2, 1)


@dataclass(frozen=True, slots=True)
class StructureCell:
    """One path: a number of variables, a ratio, a seed and a method."""

    p: int
    ratio: float
    seed: int
    method: str

    @property
    def n(self) -> int:
        """Number of samples."""
        return round(self.ratio * float(np.log(self.p)))

    @property
    def name(self) -> str:
        """Name of the file that keeps the cell."""
        return f"p{self.p:03d}-r{self.ratio:05g}-s{self.seed:04d}-{self.method}"

    def usual_seconds(self) -> float:
        """Usual duration, for the progress bar."""
        if self.method in ("paper", "ramp"):
            return 0.3 + 1e-8 * self.n * self.p**3
        return 0.1 + (1e-5 if self.method == "spline" else 1e-6) * self.p**3


def constants_of(method: str) -> tuple[float, ...]:
    """Constants among which that of a method is settled, in increasing order."""
    return SMALL_CONSTANTS if method == "paper" else CONSTANTS


def structure_cells(plan: StructurePlan) -> list[StructureCell]:
    """All cells of a plan, small ones first.

    Examples
    --------
    >>> len(structure_cells(StructurePlan((10,), (100.0,), seeds=2, development=1)))
    21
    """
    seeds = [
        *range(DEVELOPMENT, DEVELOPMENT + plan.development),
        *range(FIRST_SEED, FIRST_SEED + plan.seeds),
    ]
    cells = [
        StructureCell(p, ratio, seed, method)
        for p in plan.variables
        for ratio in plan.ratios
        for seed in seeds
        for method in STRUCTURE_METHODS
    ]
    return sorted(cells, key=lambda cell: (cell.usual_seconds(), cell.name))


def structure_data(p: int, n: int, seed: int) -> Simulated:
    """Data whose network is a chain: two neighbours for every variable, whatever p is."""
    return simulate_paper(p, n=n, seed=seed, density=2.0 / p, **SIMULATION)


def run_structure_cell(cell: StructureCell) -> dict[str, Any]:
    """Simulate, and fit at every constant: is the structure exact, and how large is the largest error."""
    data = structure_data(cell.p, cell.n, cell.seed)
    entrant = STRUCTURE_METHODS[cell.method]
    # Penalties decrease along a path.
    penalties = np.array(constants_of(cell.method)[::-1]) * np.sqrt(np.log(cell.p) / cell.n)
    choices = Choices(
        threshold=float(data.threshold) if entrant.knows_threshold else "auto",
        reference="zero",
        criterion="bic",
        edges="penalty",
        alphas=penalties,
        unit_variance=True,
        max_iter=KERNEL_SWEEPS,
        seed=cell.seed,
        n_jobs=1,
    )
    found = fit_entrant(entrant, choices, data)
    record: dict[str, Any] = {
        "p": cell.p,
        "ratio": cell.ratio,
        "n": cell.n,
        "seed": cell.seed,
        "method": cell.method,
        "reason": found.reason,
        "warnings": list(found.warnings),
    }
    if found.value is not None:
        path = np.asarray(found.value.omega_path_)[::-1]
        record |= {name: values.tolist() for name, values in _judged(path, data).items()}
        if isinstance(found.value, PLAGGMCV):
            judged = incoherence(found.value, data.omega)
            record["incoherence"] = judged.norm if np.isfinite(judged.norm) else None
    return record


def _judged(path: Array, data: Simulated) -> dict[str, Array]:
    """Of every network of a path: exact signs, wrong and missing edges, largest error."""
    off = ~np.eye(len(data.omega), dtype=bool)
    signs = np.sign(path[:, off])
    true = np.sign(data.omega[off])
    return {
        "exact": np.all(signs == true, axis=1).astype(int),
        "wrong": np.count_nonzero((signs != 0.0) & (true == 0.0), axis=1) // 2,
        "missing": np.count_nonzero((signs == 0.0) & (true != 0.0), axis=1) // 2,
        "sup_error": np.array([sup_error(omega, data.omega) for omega in path]),
    }


def settled_constants(records: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The constant of each method, from the development seeds: the most exact structures, then least error.

    Parameters
    ----------
    records : sequence of dict
        Records of :func:`run_structure_cell`.
    """
    settled = {}
    for method in STRUCTURE_METHODS:
        own = [
            record
            for record in records
            if record["method"] == method and record["seed"] >= DEVELOPMENT and not record["reason"]
        ]
        if own:
            exact = np.mean([record["exact"] for record in own], axis=0)
            error = np.mean([record["sup_error"] for record in own], axis=0)
            settled[method] = constants_of(method)[int(np.lexsort((error, -exact))[0])]
    return settled


def structure_table(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Frequency of the exact structure and mean largest error, by method, p and n / log p.

    Only seeds on which no constant was settled count. A fit that failed has no structure.

    Returns
    -------
    DataFrame
        ``method``, ``constant``, ``p``, ``ratio``, ``n``, ``seeds``, ``failed``, ``frequency``, ``wrong``,
        ``missing``, ``sup_error`` and ``incoherence``, all but the frequency over fits that did not fail.
    """
    constants = settled_constants(records)
    rows = []
    for record in records:
        method = record["method"]
        if record["seed"] >= DEVELOPMENT or method not in constants:
            continue
        place = constants_of(method).index(constants[method])
        failed = bool(record["reason"])
        rows.append(
            {
                "method": method,
                "constant": constants[method],
                "p": record["p"],
                "ratio": record["ratio"],
                "n": record["n"],
                "failed": int(failed),
                "frequency": 0.0 if failed else float(record["exact"][place]),
                **{
                    name: np.nan if failed else float(record[name][place])
                    for name in ("wrong", "missing", "sup_error")
                },
                "incoherence": record.get("incoherence", np.nan),
            }
        )
    frame = pd.DataFrame(rows)
    if frame.empty:
        return frame
    frame["incoherence"] = frame["incoherence"].astype(float)
    keys = ["method", "constant", "p", "ratio", "n"]
    grouped = frame.groupby(keys, sort=False)
    table = grouped.mean(numeric_only=True)
    table["failed"] = grouped["failed"].sum()
    table.insert(0, "seeds", grouped.size())
    table = table.reset_index()
    order = {method: place for place, method in enumerate(STRUCTURE_METHODS)}
    return table.sort_values(
        ["method", "p", "ratio"],
        key=lambda column: column.map(order) if column.name == "method" else column,
        ignore_index=True,
    )


def first_found(table: pd.DataFrame) -> pd.DataFrame:
    """The smallest n / log p from which the structure is found in nine of ten data sets, by method and p.

    Returns
    -------
    DataFrame
        One row for each method, one column for each p; NaN where it is not found at any size.
    """
    found: dict[str, dict[int, float]] = {}
    for (method, p), own in table.groupby(["method", "p"], sort=False):
        reached = own.sort_values("ratio")
        good = (reached["frequency"] >= FOUND).to_numpy()
        # From there on at all larger sizes.
        lasting = np.logical_and.accumulate(good[::-1])[::-1]
        found.setdefault(method, {})[p] = (
            float(reached["ratio"].to_numpy()[lasting][0]) if lasting.any() else np.nan
        )
    return pd.DataFrame.from_dict(found, orient="index")
