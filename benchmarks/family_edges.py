"""Tests of edges of binary variables and counts: calibrated, and against two simpler ways.

    python benchmarks/family_edges.py --sets 12 --first 1000

prints for every design and three treatments (``family=``; the same without the confounder; all columns
taken as Gaussian) the share of null pairs with p < .05, false discoveries and power at q = .1, and the
share of all pairs whose 95 % interval holds the true coupling; then how often ``confounding_test()`` has p
< .05. Choices were settled on seeds 100 to 105.

    python benchmarks/family_edges.py --confounding --sets 40 --first 5000

prints for other designs, most of them without R, nothing but how often ``confounding_test()`` has p < .05,
and by which methods. Its choices were settled on seeds 100 to 107 and 200 to 219.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import pandas as pd

from plaggm import PLAGGM
from plaggm.simulate import SimulatedFamily, simulate_family

THRESHOLD = 60.0
COUNTS = dict(family="poisson", mean_count=2.0)
DESIGNS: dict[str, dict[str, Any]] = {
    "balanced binary, even R": dict(n=1500, even=True),
    "balanced binary, no R": dict(n=1500, shape="none"),
    "balanced binary, odd R": dict(n=1500),
    "balanced binary, even R, means move": dict(n=1500, even=True, mean_shift=1.0),
    "balanced binary, no R, means move": dict(n=1500, even=True, mean_shift=1.5, shape="none"),
    "binary 5 %, even R": dict(n=4000, even=True, prevalence=0.05),
    "binary 5 %, no R": dict(n=4000, shape="none", prevalence=0.05),
    "counts, even R": dict(n=1500, even=True, **COUNTS),
    "over-dispersed counts, even R": dict(n=1500, even=True, overdispersion=0.5, **COUNTS),
    "over-dispersed counts, no R": dict(n=1500, shape="none", overdispersion=0.5, **COUNTS),
    "mixed, even R": dict(n=1500, even=True, family="mixed"),
}
# Designs of the test of no confounding alone.
RARE = dict(prevalence=0.05)
CONFOUNDING_DESIGNS: dict[str, dict[str, Any]] = {
    "binary 5 %, no R": dict(n=1500, shape="none", **RARE),
    "binary 5 %, no R, means move": dict(n=1500, shape="none", mean_shift=1.5, **RARE),
    "balanced binary, no R": dict(n=800, shape="none"),
    "counts of mean 0.5, no R": dict(n=1000, shape="none", family="poisson", mean_count=0.5),
    "mixed, no R, means move": dict(n=1000, shape="none", family="mixed", mean_shift=1.0),
    "binary 5 %, odd R": dict(n=1000, **RARE),
    "mixed, even R": dict(n=1500, family="mixed", even=True),
    "binary 5 %, n = 4000, no R": dict(n=4000, shape="none", **RARE),
}


def scores(tests: pd.DataFrame, data: SimulatedFamily, scale: np.ndarray | None) -> list[float]:
    """Null share, false discoveries, power and coverage of one data set."""
    upper = np.triu_indices(data.x.shape[1], 1)
    edge = data.support[upper]
    declared = tests["q_value"].to_numpy() <= 0.1
    inside = np.nan
    if scale is not None:
        truth = (data.omega * np.outer(scale, scale))[upper]
        inside = float(np.mean((tests["low"] <= truth) & (truth <= tests["high"])))
    return [
        float(np.mean(tests["p_value"].to_numpy()[~edge] < 0.05)),
        float(np.sum(declared & ~edge) / max(declared.sum(), 1)),
        float(np.mean(declared[edge])),
        inside,
    ]


def judged(settings: dict[str, Any], seed: int) -> tuple[dict[str, list[float]], float]:
    """Scores of the three treatments of one data set, and the p-value of the test of no confounding."""
    data = simulate_family(12, seed=seed, threshold=THRESHOLD, **settings)
    family = {f"x{j}": name for j, name in enumerate(data.families)}
    adjusted = PLAGGM(0.05, family=family, threshold=THRESHOLD)
    adjusted.fit(data.x, confounder=data.confounder)
    pooled = PLAGGM(0.05, family=family).fit(data.x)
    gaussian = PLAGGM(0.05, threshold=THRESHOLD).fit(data.x, confounder=data.confounder)
    found = {
        "family": scores(adjusted.inference(), data, adjusted.scale_),
        "pooled": scores(pooled.inference(), data, pooled.scale_),
        "as Gaussian": scores(gaussian.inference(), data, None),
    }
    return found, adjusted.confounding_test().p_value


def print_confounding(sets: int, first: int, designs: list[str] | None) -> None:
    """Print how often the test of no confounding rejects."""
    print("| design | data sets | p < .05 | by sign flips |\n|---|---|---|---|")
    for name in designs or list(CONFOUNDING_DESIGNS):
        settings, found = CONFOUNDING_DESIGNS[name], []
        for seed in range(first, first + sets):
            data = simulate_family(12, seed=seed, threshold=THRESHOLD, **settings)
            family = {f"x{j}": kind for j, kind in enumerate(data.families)}
            model = PLAGGM(0.05, family=family, threshold=THRESHOLD)
            found.append(model.fit(data.x, confounder=data.confounder).confounding_test())
        rejected = np.mean([one.p_value < 0.05 for one in found])
        flipped = np.mean([one.method == "sign flips" for one in found])
        print(f"| {name} | {sets} | {rejected:.3f} | {flipped:.2f} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=12, help="data sets for each design")
    parser.add_argument("--first", type=int, default=1000, help="seed of the first")
    parser.add_argument("--confounding", action="store_true", help="the confounding test alone")
    parser.add_argument("--design", action="append", help="of --confounding; all if left out")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.confounding:
        print_confounding(given.sets, given.first, given.design)
        return
    print("| design | family | pooled | as Gaussian | confounding p < .05 |\n|---|---|---|---|---|")
    for name, settings in DESIGNS.items():
        sets = [judged(settings, given.first + number) for number in range(given.sets)]
        cells = []
        for treatment in ("family", "pooled", "as Gaussian"):
            mean = np.mean([found[treatment] for found, _ in sets], axis=0)
            cells.append(" / ".join("–" if np.isnan(one) else f"{one:.3f}" for one in mean))
        rejected = np.mean([p_value < 0.05 for _, p_value in sets])
        print(f"| {name} | {' | '.join(cells)} | {rejected:.2f} |", flush=True)


if __name__ == "__main__":
    main()
