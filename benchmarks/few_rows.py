"""Hundreds of variables with as many or fewer rows: does adjusting cost anything, do tests hold?

Two kinds of confounders. *Age* takes 61 values, and the network to be found is the average over the
samples: departures from it change sign along age. *Batch* has three levels, half of the samples are of the
first, whose network is to be found; every other batch has a W of its own. W is either a technical factor,
rank one on a fifth of the variables, or a sparse change. Means move with either. A cell (design, seed) is
one file in a cache, so that a run that was stopped goes on where it stopped.

    python benchmarks/few_rows.py --seeds 7200:7205
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from joblib import delayed
from threadpoolctl import threadpool_limits

from plaggm import PLAGGMCV
from plaggm.metrics import best_path_auc, edge_auc, precision_recall
from plaggm.related import LRGGM
from plaggm.selection.parallel import in_turn
from plaggm.simulate.graphs import draw_nuisance, draw_support, draw_weights, scale_factor

CACHE = Path(__file__).parent.parent / "build" / "few-rows"
# Spectral radii of the network that is to be found and of its largest change.
RADIUS, NUISANCE_RADIUS = 0.55, 0.4
# Share of the variables that a technical factor touches, and standard deviation of the shifts of means.
TOUCHED, SHIFT = 0.2, 0.5
# Ends of edges for each variable, and variables for each hub.
DEGREE, HUB = 2.0, 8
AGES, LEVELS, SHARES = np.arange(20, 81), ("A", "B", "C"), (0.5, 0.25, 0.25)
PENALTIES = 20


@dataclass(frozen=True, slots=True)
class Design:
    """One design of data."""

    p: int
    n: int
    confounder: Literal["age", "batch"]
    graph: str
    nuisance: Literal["factor", "sparse"]

    @property
    def name(self) -> str:
        """Its settings, joined."""
        return f"p{self.p}-n{self.n}-{self.confounder}-{self.graph}-{self.nuisance}"


@dataclass(frozen=True, slots=True)
class Data:
    """A table with its confounder and the edges that are to be found."""

    x: np.ndarray
    confounder: pd.DataFrame
    reference: str
    support: np.ndarray


DESIGNS = (
    Design(500, 300, "age", "scale-free", "sparse"),
    Design(500, 300, "batch", "hub", "factor"),
    Design(500, 1_000, "age", "hub", "factor"),
    Design(500, 1_000, "batch", "scale-free", "sparse"),
    Design(1_000, 400, "age", "hub", "factor"),
    Design(1_000, 400, "batch", "scale-free", "factor"),
    Design(1_000, 1_000, "age", "scale-free", "sparse"),
    Design(1_000, 1_000, "batch", "hub", "sparse"),
)


def network(design: Design, draw: np.random.Generator) -> np.ndarray:
    """A network: hubs with seven edges each, or of the family that is named."""
    if design.graph == "hub":
        hubs = np.arange(design.p) // HUB * HUB
        support = np.zeros((design.p, design.p), dtype=bool)
        support[np.arange(design.p), hubs] = True
        support |= support.T
        np.fill_diagonal(support, False)
    else:
        support = draw_support(design.graph, design.p, DEGREE / (design.p - 1), draw)
    weights = draw_weights(support, draw)
    return np.asarray(weights * scale_factor(RADIUS, weights))


def change(design: Design, draw: np.random.Generator) -> np.ndarray:
    """A matrix W."""
    if design.nuisance == "sparse":
        found = draw_nuisance("sparse", design.p, DEGREE / (design.p - 1), draw)
    else:
        touched = draw.random(design.p) < TOUCHED
        found = draw_nuisance("rank-one", design.p, 0.0, draw) * np.outer(touched, touched)
    return np.asarray(found * scale_factor(NUISANCE_RADIUS, found))


def make(design: Design, seed: int) -> Data:
    """The data set of one seed."""
    draw = np.random.default_rng([seed, design.p, design.n])
    omega = network(design, draw)
    if design.confounder == "age":
        values = draw.choice(AGES, design.n)
        standard = (values - values.mean()) / (AGES[-1] - AGES[0]) * 2.0
        # The average of f over the samples is zero: Omega_0 is their average network.
        sizes = {age: standard[values == age][0] for age in np.unique(values)}
        w = change(design, draw)
        changes = {age: size * w for age, size in sizes.items()}
        shift = draw.standard_normal(design.p) * SHIFT
        shifts = {age: size * shift for age, size in sizes.items()}
        table, reference = pd.DataFrame({"age": values.astype(float)}), "average"
    else:
        values = draw.choice(LEVELS, design.n, p=SHARES)
        changes = {level: change(design, draw) for level in LEVELS}
        changes[LEVELS[0]] = np.zeros_like(omega)
        shifts = {level: draw.standard_normal(design.p) * SHIFT for level in LEVELS}
        table, reference = pd.DataFrame({"batch": values}), LEVELS[0]
    x = np.empty((design.n, design.p))
    for value, w in changes.items():
        rows = np.flatnonzero(values == value)
        factor = np.linalg.cholesky(np.eye(design.p) - omega - w)
        noise = draw.standard_normal((design.p, len(rows)))
        x[rows] = np.linalg.solve(factor.T, noise).T + shifts[value]
    return Data(x, table, reference, omega != 0.0)


def fits(data: Data) -> Iterator[tuple[str, Any, Any]]:
    """Methods with their confounders."""
    grid: dict[str, Any] = dict(alphas=PENALTIES, criterion="ebic", n_jobs=1)
    yield "spline", PLAGGMCV(reference=data.reference, **grid), data.confounder
    yield "pooled", PLAGGMCV(**grid), None
    columns = pd.get_dummies(data.confounder, dtype=float)
    if columns.shape[1] > 1:
        columns = columns.iloc[:, 1:]
    yield "lr", LRGGM(loss="pseudo", **grid), columns


def run(design: Design, seed: int, folder: Path) -> None:
    """All methods on one data set, unless that is done."""
    path = folder / f"{design.name}-{seed}.json"
    if path.exists():
        return
    found: dict[str, Any] = {"design": asdict(design), "seed": seed}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = make(design, seed)
        for name, model, confounder in fits(data):
            start = time.process_time()
            model.fit(data.x, confounder=confounder)
            path_time = time.process_time() - start
            declared = model.adjacency_
            precision, recall = precision_recall(declared, data.support)
            found[name] = {
                "best": best_path_auc(model.omega_path_, data.support),
                "selected": edge_auc(model.omega_, data.support),
                "fdp": 1.0 - precision if declared.any() else 0.0,
                "recall": recall,
                "cpu": path_time,
                "cpu_tests": time.process_time() - start - path_time,
            }
            if name == "spline":
                table = model.inference()
                pairs = np.triu_indices(design.p, 1)
                null = ~data.support[pairs]
                found[name]["null"] = float(np.mean(table["p_value"].to_numpy()[null] < 0.05))
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(found))
    part.replace(path)


def summary(folder: Path, seeds: range) -> list[str]:
    """A table of means over seeds."""
    lines = [
        "| design | sets | best AUC: spline | pooled | LR-GGM | lead ± s.e. | null p < .05 | FDP at .05 "
        "| recall | recall, pooled (FDP) | CPU s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for design in DESIGNS:
        paths = [folder / f"{design.name}-{seed}.json" for seed in seeds]
        rows = [json.loads(path.read_text()) for path in paths if path.exists()]
        if not rows:
            continue
        best = {
            name: np.array([row[name]["best"] for row in rows])
            for name in ("spline", "pooled", "lr")
        }
        lead = best["spline"] - np.maximum(best["pooled"], best["lr"])
        error = lead.std(ddof=1) / np.sqrt(len(lead)) if len(lead) > 1 else np.nan

        def mean(name: str, what: str, rows: list[Any] = rows) -> float:
            return float(np.mean([row[name][what] for row in rows]))

        scores = " | ".join(f"{value.mean():.3f}" for value in best.values())
        lines.append(
            f"| {design.name} | {len(rows)} | {scores} | {lead.mean():+.3f} ± {error:.3f} "
            f"| {mean('spline', 'null'):.3f} | {mean('spline', 'fdp'):.3f} "
            f"| {mean('spline', 'recall'):.3f} "
            f"| {mean('pooled', 'recall'):.3f} ({mean('pooled', 'fdp'):.3f}) "
            f"| {mean('spline', 'cpu') + mean('spline', 'cpu_tests'):.0f} |"
        )
    return lines


def main() -> None:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", default="7200:7205", metavar="A:B")
    parser.add_argument("--designs", nargs="+", choices=[design.name for design in DESIGNS])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cache", type=Path, default=CACHE)
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    seeds = range(first, last)
    designs = [one for one in DESIGNS if options.designs is None or one.name in options.designs]
    work = [(design, seed) for seed in seeds for design in designs]
    tasks = (delayed(run)(design, seed, options.cache) for design, seed in work)
    for count, _ in enumerate(in_turn(options.jobs, prefer="processes")(tasks), start=1):
        print(f"{count} of {len(work)} data sets", flush=True)
    print("\n".join(summary(options.cache, seeds)))


if __name__ == "__main__":
    main()
