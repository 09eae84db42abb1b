"""Tests of edges of binary variables and counts: calibrated, and against two simpler ways.

    python benchmarks/family_edges.py --sets 20 --first 1100

prints for every design and three treatments (``family=``; the same without the confounder; all columns
taken as Gaussian) the share of null pairs with p < .05, false discoveries and power at q = .1, and the
share of all pairs whose 95 % interval holds the true coupling; how often ``confounding_test()`` has p <
.05. A second table has the tests of which edges change: the share of pairs that do not with p < .05, false
discoveries and power at q = .1; and the share of pairs whose ``change_p_value`` is below .05, where the
confounder does nothing at all. Choices were settled on seeds 100 to 105; weights of priors in networks
with counts on seeds 100 to 139.

    python benchmarks/family_edges.py --confounding --sets 40 --first 5000

prints for other designs, most of them without R, nothing but how often ``confounding_test()`` has p < .05,
and by which methods. Its choices were settled on seeds 100 to 107, 200 to 219 and 30000 to 31999.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd

from plaggm import PLAGGM
from plaggm.simulate import SimulatedFamily, simulate_family

THRESHOLD = 60.0
COUNTS = dict(family="poisson", mean_count=2.0)
SPARSE = dict(nuisance="sparse", nuisance_density=0.15, shape="ramp")
# Any penalty: tests do not depend on it.
ALPHA = 5.0
DESIGNS: dict[str, dict[str, Any]] = {
    "balanced binary, even R": dict(n=1500, even=True),
    "balanced binary, no R": dict(n=1500, shape="none"),
    "balanced binary, odd R": dict(n=1500),
    "balanced binary, even R, means move": dict(n=1500, even=True, mean_shift=1.0),
    "balanced binary, no R, means move": dict(n=1500, even=True, mean_shift=1.5, shape="none"),
    "binary 5 %, even R": dict(n=4000, even=True, prevalence=0.05),
    "binary 5 %, no R": dict(n=4000, shape="none", prevalence=0.05),
    "counts of mean 0.5, strong R": dict(
        n=3000, even=True, nuisance_radius=0.6, family="poisson", mean_count=0.5
    ),
    "counts, even R": dict(n=1500, even=True, **COUNTS),
    "over-dispersed counts, even R": dict(n=1500, even=True, overdispersion=0.5, **COUNTS),
    "over-dispersed counts, no R": dict(n=1500, shape="none", overdispersion=0.5, **COUNTS),
    "mixed, even R": dict(n=1500, even=True, family="mixed"),
    "balanced binary, few pairs change": dict(n=1500, **SPARSE),
    "binary 5 %, few pairs change": dict(n=4000, prevalence=0.05, **SPARSE),
    "counts, few pairs change": dict(n=1500, **SPARSE, **COUNTS),
    "over-dispersed counts, few pairs change": dict(n=1500, overdispersion=0.5, **SPARSE, **COUNTS),
    "mixed, few pairs change, means move": dict(n=1500, family="mixed", mean_shift=0.5, **SPARSE),
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


def change_scores(model: PLAGGM, data: SimulatedFamily) -> list[float]:
    """Null share, false discoveries and power of tests of changing pairs; share of changed estimates."""
    upper = np.triu_indices(data.x.shape[1], 1)
    ends = np.array([data.confounder.min(), data.confounder.max()])
    changes = np.any(data.nuisance(ends) != 0.0, axis=0)[upper]
    tests = model.inference()
    found = tests[["source", "target"]].merge(model.moderation(), on=["source", "target"])
    null = found["p_value"].to_numpy()[~changes] < 0.05
    declared = found["q_value"].to_numpy() <= 0.1
    nothing = not changes.any() and data.settings["mean_shift"] == 0.0
    return [
        float(null.mean()) if len(null) else np.nan,
        float(np.sum(declared & ~changes) / max(declared.sum(), 1)),
        float(np.mean(declared[changes])) if changes.any() else np.nan,
        float(np.mean(tests["change_p_value"] < 0.05)) if nothing else np.nan,
    ]


def judged(settings: dict[str, Any], seed: int) -> dict[str, list[float]]:
    """Scores of the three treatments of one data set, and of its other tests."""
    data = simulate_family(12, seed=seed, threshold=THRESHOLD, **settings)
    family = {f"x{j}": name for j, name in enumerate(data.families)}
    adjusted = PLAGGM(ALPHA, family=family, threshold=THRESHOLD)
    adjusted.fit(data.x, confounder=data.confounder)
    pooled = PLAGGM(ALPHA, family=family).fit(data.x)
    gaussian = PLAGGM(ALPHA, threshold=THRESHOLD).fit(data.x, confounder=data.confounder)
    return {
        "family": scores(adjusted.inference(), data, adjusted.scale_),
        "pooled": scores(pooled.inference(), data, pooled.scale_),
        "as Gaussian": scores(gaussian.inference(), data, None),
        "changes": change_scores(adjusted, data),
        "confounding": [float(adjusted.confounding_test().p_value < 0.05)],
    }


def print_confounding(sets: int, first: int, designs: list[str] | None) -> None:
    """Print how often the test of no confounding rejects."""
    print("| design | data sets | p < .05 | by sign flips |\n|---|---|---|---|")
    for name in designs or list(CONFOUNDING_DESIGNS):
        settings, found = CONFOUNDING_DESIGNS[name], []
        for seed in range(first, first + sets):
            data = simulate_family(12, seed=seed, threshold=THRESHOLD, **settings)
            family = {f"x{j}": kind for j, kind in enumerate(data.families)}
            model = PLAGGM(ALPHA, family=family, threshold=THRESHOLD)
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
    parser.add_argument("--design", action="append", help="all if left out")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.confounding:
        print_confounding(given.sets, given.first, given.design)
        return
    second = [
        "| design | pairs that do not change, p < .05 | FDP | power | changed estimates |",
        "|---|---|---|---|---|",
    ]
    print("| design | family | pooled | as Gaussian | confounding p < .05 |\n|---|---|---|---|---|")
    for name in given.design or list(DESIGNS):
        sets = [judged(DESIGNS[name], given.first + number) for number in range(given.sets)]
        cells = {
            part: [
                "–" if np.isnan(one) else f"{one:.3f}"
                for one in np.mean([found[part] for found in sets], axis=0)
            ]
            for part in sets[0]
        }
        edges = [" / ".join(cells[part]) for part in ("family", "pooled", "as Gaussian")]
        print(f"| {name} | {' | '.join([*edges, *cells['confounding']])} |", flush=True)
        second.append(f"| {name} | {' | '.join(cells['changes'])} |")
        print(second[-1], file=sys.stderr, flush=True)
    print("\n" + "\n".join(second))


if __name__ == "__main__":
    main()
