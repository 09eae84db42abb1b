"""Binary, count, mixed, ordinal, skewed and heavy-tailed networks: who ranks edges best, and do tests hold?

    python benchmarks/families.py                                       # part of make scenarios
    python benchmarks/families.py --scenarios rare-strong --seeds 100:103

Every data set is one line of a file in the cache, so that a run that was stopped goes on where it stopped.
Seeds 7200 to 7209 are reported; choices were settled on seeds below 500.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from plaggm import PLAGGMCV
from plaggm.metrics import best_path_auc
from plaggm.related import MRF
from plaggm.simulate import simulate_family, simulate_paper, with_margins

ROOT = Path(__file__).parent.parent
CACHE = ROOT / "build" / "families.jsonl"
FIRST_SEED, SEEDS = 7200, 10
ALPHAS, THRESHOLD = 30, 60.0
STRONG = dict(even=True, nuisance_radius=0.6)
WEAK = dict(even=True, nuisance_radius=0.25)
NONE = dict(shape="none")
COUNTS = dict(family="poisson")
# What each is, and its arguments: of simulate_family, or with margins of simulate_paper.
SCENARIOS: dict[str, tuple[str, dict[str, Any]]] = {
    "binary-none": ("balanced binary, R = 0", dict(p=15, n=1500, **NONE)),
    "binary-weak": ("balanced binary, weak R", dict(p=20, n=2000, **WEAK)),
    "binary-strong": ("balanced binary, strong R", dict(p=20, n=3000, **STRONG)),
    "binary-linear": ("balanced binary, R odd and linear", dict(p=15, n=2000, shape="ramp")),
    "binary-p40": ("balanced binary, p = 40, strong R", dict(p=40, n=4000, **STRONG)),
    "binary-shift": (
        "binary 20 %, strong R and shifted means",
        dict(p=15, n=3000, prevalence=0.2, mean_shift=0.5, **STRONG),
    ),
    "rare-none": ("binary 5 %, R = 0", dict(p=15, n=5000, prevalence=0.05, **NONE)),
    "rare-strong": ("binary 5 %, strong R", dict(p=12, n=10_000, prevalence=0.05, **STRONG)),
    "likert-none": ("Likert 5, R = 0", dict(p=15, n=800, margins="likert", **NONE)),
    "likert-strong": ("Likert 5, strong R", dict(p=15, n=2500, margins="likert", **STRONG)),
    "skewed-weak": ("log-normal, weak R", dict(p=20, n=1500, margins="skewed", **WEAK)),
    "skewed-both": (
        "log-normal, strong R, mean and variance too",
        dict(p=15, n=3000, margins="skewed", mean_shift=1.0, variance_inflation=1.0, **STRONG),
    ),
    "heavy-strong": (
        "Student t with 2 degrees, strong R",
        dict(p=15, n=3000, margins="heavy-tailed", **STRONG),
    ),
    "counts-none": ("Poisson, mean 1, R = 0", dict(p=15, n=1500, mean_count=1.0, **COUNTS, **NONE)),
    "counts-small": (
        "Poisson, mean 0.5, strong R",
        dict(p=12, n=3000, mean_count=0.5, **COUNTS, **STRONG),
    ),
    "counts-strong": ("Poisson, mean 3, strong R", dict(p=15, n=3000, **COUNTS, **STRONG)),
    "counts-over": (
        "over-dispersed counts, mean 3, strong R",
        dict(p=15, n=3000, overdispersion=0.5, **COUNTS, **STRONG),
    ),
    "mixed-none": (
        "Gaussian, binary and counts, R = 0",
        dict(p=12, n=1200, family="mixed", **NONE),
    ),
    "mixed-strong": (
        "Gaussian, binary and counts, strong R",
        dict(p=15, n=3000, family="mixed", **STRONG),
    ),
}
OURS = "own"
RIVALS = ("gaussian", "pooled", "clean", "mrf", "mrf_squares")
TITLES = {
    OURS: "PLA-GGM, family or ranks", "gaussian": "PLA-GGM, columns as Gaussian", "pooled": "all samples",
    "clean": "samples below g*", "mrf": "linear covariates", "mrf_squares": "and squares",
}  # fmt: skip


def draw(name: str, seed: int) -> tuple[Any, dict[str, Any], np.ndarray]:
    """Data, the parameters of their distribution, and the true network in units of the data."""
    settings = dict(SCENARIOS[name][1], threshold=THRESHOLD, confounder="uniform", seed=seed)
    margins = settings.pop("margins", None)
    settings.setdefault("shape", "saturating")
    if margins is not None:
        data = with_margins(simulate_paper(**settings), margins)
        return data, {"margins": "rank"}, data.omega
    data = simulate_family(**settings)
    names = [f"x{j}" for j in range(data.x.shape[1])]
    return data, {"family": dict(zip(names, data.families, strict=True))}, data.omega


def run(name: str, seed: int) -> dict[str, Any]:
    """Scores of all methods on one data set."""
    data, kind, omega = draw(name, seed)
    x, g = data.x, data.confounder
    below = np.abs(g) <= THRESHOLD
    choice = dict(criterion="bic", alphas=ALPHAS)
    families = kind.get("family", "gaussian")
    # Linear covariates know no copula: they are given ordinary normal scores.
    scores = x if "family" in kind else ndtri((rankdata(x, axis=0) - 0.5) / len(x))
    fits: dict[str, tuple[Any, np.ndarray, np.ndarray | None]] = {
        OURS: (PLAGGMCV(threshold=THRESHOLD, **kind, **choice), x, g),
        "gaussian": (PLAGGMCV(threshold=THRESHOLD, **choice), x, g),
        "pooled": (PLAGGMCV(**kind, **choice), x, None),
        "clean": (PLAGGMCV(**kind, **choice), x[below], None),
        "mrf": (MRF(family=families, **choice), scores, g),
        "mrf_squares": (MRF(family=families, regressors="squares", **choice), scores, g),
    }
    row: dict[str, Any] = {"scenario": name, "seed": seed, "auc": {}, "seconds": {}}
    for method, (model, table, confounder) in fits.items():
        start = time.perf_counter()
        try:
            model.fit(table, confounder=confounder)
        except ValueError as error:
            row["auc"][method], row["seconds"][method] = None, str(error)
            continue
        row["seconds"][method] = time.perf_counter() - start
        row["auc"][method] = best_path_auc(model.omega_path_, data.support)
        if method == OURS:
            row["tests"] = judged(model, omega, "family" in kind)
    return row


def judged(model: PLAGGMCV, omega: np.ndarray, natural: bool) -> dict[str, float]:
    """Null share, coverage, power and false discoveries of the tests of edges."""
    units = np.outer(model.scale_, model.scale_) if natural else 1.0
    truth = (omega * units)[np.triu_indices(len(omega), 1)]
    edge = truth != 0.0
    tests = model.inference()
    declared = tests["q_value"].to_numpy() <= 0.1
    inside = (tests["low"].to_numpy() <= truth) & (truth <= tests["high"].to_numpy())
    return {
        "null": float(np.mean(tests["p_value"].to_numpy()[~edge] < 0.05)),
        "covered": float(np.mean(inside)),
        "power": float(np.mean(declared[edge])),
        "false": float(np.sum(declared & ~edge) / max(declared.sum(), 1)),
    }


def page(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Tables of all scenarios that are there."""
    methods = (OURS, *RIVALS)
    heads = " | ".join(TITLES[method] for method in methods)
    lines = [
        f"| scenario | p | n | sets | {heads} | best rival |",
        "|" + "---|" * (5 + len(methods)),
    ]
    tests = [
        "| scenario | null pairs with p < .05 | FDP at q = .1 | power at q = .1 | intervals that cover |",
        "|---|---|---|---|---|",
    ]
    leads, against = [], []
    for name, (about, settings) in SCENARIOS.items():
        found = [row for row in rows if row["scenario"] == name]
        if not found:
            continue
        means = {
            method: float(
                np.mean([row["auc"][method] for row in found if row["auc"][method] is not None])
            )
            for method in methods
        }
        best = max(RIVALS[1:], key=lambda method: means[method])
        leads.append((means[OURS] - means[best], name))
        against.append((means[OURS] - means["gaussian"], name))
        scores = " | ".join(f"{means[method]:.3f}" for method in methods)
        lines.append(
            f"| {about} | {settings['p']} | {settings['n']} | {len(found)} | {scores} "
            f"| {leads[-1][0]:+.3f} |"
        )
        null, false, power, covered = (
            np.array([row["tests"][key] for row in found])
            for key in ("null", "false", "power", "covered")
        )
        error = false.std() / np.sqrt(len(false))
        tests.append(
            f"| {about} | {null.mean():.3f} | {false.mean():.3f} ± {error:.3f} | {power.mean():.2f} "
            f"| {covered.mean():.3f} |"
        )
    said = [
        f"Mean lead over {what} {np.mean([lead for lead, _ in found]):+.3f}, smallest {min(found)[0]:+.3f} "
        f"({min(found)[1]})."
        for what, found in (("the best rival", leads), ("columns as Gaussian", against))
    ]
    return [*lines, "", *said, "", *tests]


def main() -> None:
    """Run what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenarios", default=",".join(SCENARIOS), metavar="A,B")
    parser.add_argument("--seeds", default=f"{FIRST_SEED}:{FIRST_SEED + SEEDS}", metavar="FROM:TO")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--output", type=Path, help="write the tables here")
    given = parser.parse_args()
    first, last = map(int, given.seeds.split(":"))
    given.cache.parent.mkdir(parents=True, exist_ok=True)
    stored = (
        [json.loads(line) for line in given.cache.read_text().splitlines()]
        if given.cache.exists()
        else []
    )
    rows = {(row["scenario"], row["seed"]): row for row in stored}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, last):
            for name in given.scenarios.split(","):
                if (name, seed) not in rows:
                    rows[name, seed] = run(name, seed)
                    with given.cache.open("a") as file:
                        file.write(json.dumps(rows[name, seed]) + "\n")
    chosen = [row for (_, seed), row in rows.items() if first <= seed < last]
    lines = page(chosen)
    print("\n".join(lines))
    if given.output is not None:
        given.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
