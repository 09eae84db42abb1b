"""Do tests of changing edges hold what they promise, and what do they find? `make calibration-moderation`.

    python benchmarks/moderation.py                                  # everything, 40 seeds from 6000
    python benchmarks/moderation.py --designs none,t5 --seeds 100:120

Constants of the test were settled on seeds below 500. Each pair is also tested by what moderated network
models do: the product of the other variable and the confounder in a linear regression of each node, the t
statistics of both regressions averaged.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from calibration_designs import ROWS
from scenarios import choose
from scipy.stats import false_discovery_control, norm, t
from threadpoolctl import threadpool_limits

from plaggm import PLAGGM
from plaggm.simulate import simulate_paper

PAGE = Path(__file__).parent.parent / "docs" / "moderation.md"
# What stands above this line of the page is written by hand.
MARK = "<!-- Made by `make calibration-moderation`; edit benchmarks/moderation.py instead. -->"
FIRST_SEED, SEEDS = 6000, 40
RATES = (0.05, 0.1)
# Any penalty: tests do not depend on it.
ALPHA = 0.1
BASE: Mapping[str, Any] = dict(
    p=20,
    n=800,
    threshold=60.0,
    confounder="uniform",
    shape="ramp",
    nuisance="sparse",
    nuisance_density=0.1,
    nuisance_radius=0.5,
)
# Part of the variables whose deviation is tripled at the ends of the confounder, each on its own.
NOISY_VARIABLES, NOISY_SCALE = 0.3, 3.0
CORRELATION = 0.5


@dataclass(frozen=True)
class Sample:
    """One data set, and which pairs change: shape (m, P); ``levels`` are those of a factor."""

    x: np.ndarray
    confounder: np.ndarray
    threshold: Any
    changes: np.ndarray
    groups: np.ndarray | None = None
    levels: np.ndarray | None = None


@dataclass(frozen=True)
class Design:
    """One design: changes to ``BASE``, and what is done to the rows."""

    name: str
    about: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: str = "as they are"

    def sample(self, seed: int) -> Sample:
        """The data set of one seed."""
        return MAKERS[self.rows]({**BASE, **self.settings}, seed)


def _truth(made: Any) -> np.ndarray:
    j, k = np.triu_indices(made.x.shape[1], 1)
    return np.asarray(made.nuisance.weights[:, j, k] != 0.0)


def _plain(settings: dict[str, Any], seed: int) -> Sample:
    made = simulate_paper(**settings, seed=seed)
    return Sample(made.x, made.confounder, made.threshold, _truth(made))


def _as_in_calibration(kind: str) -> Callable[[dict[str, Any], int], Sample]:
    """Rows of the calibration of edges."""

    def make(settings: dict[str, Any], seed: int) -> Sample:
        made = simulate_paper(**settings, seed=seed)
        data = ROWS[kind](made, np.random.default_rng([seed, 77]))
        return Sample(data.x, made.confounder, made.threshold, _truth(made), data.groups)

    return make


def _uneven(settings: dict[str, Any], seed: int) -> Sample:
    """Some variables, not all, vary more the farther the confounder is from zero."""
    sample = _plain(settings, seed)
    rng = np.random.default_rng([seed, 78])
    noisy = rng.random(sample.x.shape[1]) < NOISY_VARIABLES
    far = np.abs(sample.confounder) / np.abs(sample.confounder).max()
    scale = np.where(noisy, 1.0 + (NOISY_SCALE - 1.0) * far[:, None], 1.0)
    return Sample(sample.x * scale, sample.confounder, sample.threshold, sample.changes)


def _subjects(settings: dict[str, Any], seed: int) -> Sample:
    """A confounder that is constant within each of 40 subjects, whose networks differ at random."""
    rng = np.random.default_rng([seed, 79])
    subject = np.repeat(np.arange(40), settings.pop("n") // 40)
    g = rng.permutation(np.linspace(-400.0, 399.0, 40))[subject]
    made = simulate_paper(**{**settings, "confounder": g}, seed=seed)
    p = made.x.shape[1]
    w = np.triu(rng.standard_normal((40, p, p)), 1)
    w += w.transpose(0, 2, 1)
    w *= 0.2 / np.abs(np.linalg.eigvalsh(w)).max()
    precision = np.eye(p) - made.omega_at(g) - w[subject]
    factor = np.linalg.cholesky(precision).transpose(0, 2, 1)
    x = np.linalg.solve(factor, rng.standard_normal((len(g), p, 1)))[:, :, 0]
    return Sample(x, g, made.threshold, _truth(made), subject)


def _two(settings: dict[str, Any], seed: int) -> Sample:
    """Two correlated confounders, each with pairs of its own."""
    rng = np.random.default_rng([seed, 80])
    n = settings.pop("n")
    first, second = rng.standard_normal((2, n))
    second = CORRELATION * first + np.sqrt(1.0 - CORRELATION**2) * second
    g = 400.0 * (2.0 * norm.cdf(np.column_stack([first, second])) - 1.0)
    return _plain({**settings, "confounder": g}, seed)


def _sites(settings: dict[str, Any], seed: int) -> Sample:
    """A factor of 30 levels, of sizes from a few rows to a sixth of all, each with a network of its own."""
    rng = np.random.default_rng([seed, 81])
    n = settings.pop("n")
    level = np.append(np.arange(30), rng.choice(30, n - 30, p=rng.dirichlet(np.full(30, 0.7))))
    # The sign and size of each site's part of R.
    effect = rng.standard_normal(30)
    g = 60.0 * np.sign(effect[level]) * (1.0 + np.abs(effect[level]))
    made = simulate_paper(**{**settings, "confounder": g}, seed=seed)
    return Sample(made.x, g, made.threshold, _truth(made), levels=level)


MAKERS: Mapping[str, Callable[[dict[str, Any], int], Sample]] = {
    "as they are": _plain,
    "t with 5 degrees": _as_in_calibration("t with 5 degrees"),
    "series": _as_in_calibration("series"),
    "uneven": _uneven,
    "subjects": _subjects,
    "two": _two,
    "sites": _sites,
}
NONE: dict[str, Any] = dict(shape="none")
BOTH: dict[str, Any] = dict(mean_shift=1.0, variance_inflation=2.0)
U: dict[str, Any] = dict(even=True)
DESIGNS = (
    Design("none", "R = 0", NONE),
    Design("none-p10-n400", "R = 0", {**NONE, "p": 10, "n": 400}),
    Design("none-n3000", "R = 0", {**NONE, "n": 3000}),
    Design("none-both", "R = 0, mean and variance move", {**NONE, **BOTH}),
    Design("none-uneven", "R = 0, variance of some variables moves", NONE, "uneven"),
    Design("none-t5", "R = 0, rows Student t, 5 degrees", NONE, "t with 5 degrees"),
    Design("none-series", "R = 0, 20 subjects, autocorrelated rows", {**NONE, "n": 2000}, "series"),
    Design("none-subjects", "R = 0, 40 subjects, one g each", {**NONE, "n": 4000}, "subjects"),
    Design("none-two", "R = 0, two correlated confounders", {**NONE, "n": 1500}, "two"),
    Design("none-sites", "R = 0, a factor of 30 levels, many rare", NONE, "sites"),
    Design("none-p50-n400", "R = 0, eight rows a variable", {**NONE, "p": 50, "n": 400}),
    Design("linear-n400", "a tenth of the pairs, linear", dict(n=400)),
    Design("linear", "a tenth of the pairs, linear"),
    Design("linear-n3000", "a tenth of the pairs, linear", dict(n=3000)),
    Design("linear-p10", "a tenth of the pairs, linear", dict(p=10)),
    Design("u-n400", "a tenth of the pairs, U-shaped", {**U, "n": 400}),
    Design("u", "a tenth of the pairs, U-shaped", U),
    Design("u-n3000", "a tenth of the pairs, U-shaped", {**U, "n": 3000}),
    Design("u-p10", "a tenth of the pairs, U-shaped", {**U, "p": 10}),
    Design("bump", "a tenth, rising and falling again", {**U, "shape": "bump", "n": 1500}),
    Design("both", "linear, mean and variance move", BOTH),
    Design("half", "half of the pairs, linear", dict(nuisance_density=0.5)),
    Design("uneven", "linear, variance of some variables moves", {}, "uneven"),
    Design("t5", "linear, rows Student t, 5 degrees", {}, "t with 5 degrees"),
    Design("series", "linear, 20 subjects, autocorrelated rows", dict(n=2000), "series"),
    Design("subjects", "linear, 40 subjects, one g each", dict(n=4000), "subjects"),
    Design("two", "linear, two correlated confounders", dict(n=2000), "two"),
    Design("sites", "a tenth, a factor of 30 levels, many rare", {}, "sites"),
    Design("p50-n400", "linear, eight rows a variable", dict(p=50, n=400)),
)


def moderation(sample: Sample) -> np.ndarray:
    """P-values of every confounder and pair: shape (m, P)."""
    confounder: Any = sample.confounder
    settings: dict[str, Any] = dict(threshold=sample.threshold)
    if sample.levels is not None:
        confounder, settings = pd.Series(sample.levels, name="site").map("site {}".format), {}
    model = PLAGGM(ALPHA, n_jobs=1, **settings)
    model.fit(sample.x, confounder=confounder, groups=sample.groups)
    found = model.moderation()
    return np.array([part["p_value"] for _, part in found.groupby("confounder", sort=False)])


def linear_products(sample: Sample) -> np.ndarray:
    """P-values of the products x g in linear regressions of all nodes: shape (m, P).

    The rows are taken as independent. NaN for a factor, which has no product.
    """
    if sample.levels is not None:
        return np.full(sample.changes.shape, np.nan)
    x = (sample.x - sample.x.mean(axis=0)) / sample.x.std(axis=0)
    n, p = x.shape
    g = sample.confounder.reshape(n, -1)
    g = (g - g.mean(axis=0)) / g.std(axis=0)
    m = g.shape[1]
    ratio = np.zeros((m, p, p))
    degrees = n - 1 - m - (1 + m) * (p - 1)
    for node in range(p):
        others = np.delete(np.arange(p), node)
        products = [x[:, others] * column[:, None] for column in g.T]
        design = np.column_stack([np.ones(n), g, x[:, others], *products])
        inverse = np.linalg.inv(design.T @ design)
        slope = inverse @ (design.T @ x[:, node])
        noise = np.sum((x[:, node] - design @ slope) ** 2) / degrees
        found = slope / np.sqrt(noise * np.diagonal(inverse))
        ratio[:, node, others] = found[m + p :].reshape(m, p - 1)
    j, k = np.triu_indices(p, 1)
    return np.asarray(2.0 * t.sf(np.abs(0.5 * (ratio[:, j, k] + ratio[:, k, j])), degrees))


METHODS: Mapping[str, Callable[[Sample], np.ndarray]] = {
    "plaggm": moderation,
    "linear": linear_products,
}


def judged(p_value: np.ndarray, changes: np.ndarray) -> list[float]:
    """Null pairs below .05 and .001, false discovery proportions and power at both rates."""
    if np.isnan(p_value).any():
        return [np.nan] * 6
    null = p_value[~changes]
    row = [float(np.mean(null < 0.05)), float(np.mean(null < 0.001))]
    q_value = np.array([false_discovery_control(part) for part in p_value])
    for rate in RATES:
        found = q_value <= rate
        row.append(float(np.sum(found & ~changes) / max(np.sum(found), 1)))
    for rate in RATES:
        found = q_value <= rate
        row.append(float(np.sum(found & changes) / np.sum(changes)) if changes.any() else np.nan)
    return row


def run(design: Design, seeds: range) -> dict[str, np.ndarray]:
    """One row of shares for each seed, for each method."""
    found: dict[str, list[list[float]]] = {name: [] for name in METHODS}
    for seed in seeds:
        sample = design.sample(seed)
        changes = sample.changes & (design.settings.get("shape") != "none")
        for name, method in METHODS.items():
            found[name].append(judged(method(sample), changes))
    return {name: np.array(rows) for name, rows in found.items()}


def table(results: Mapping[str, dict[str, np.ndarray]], seeds: range) -> list[str]:
    """The results as the page shows them."""
    lines = [
        f"Seeds {seeds.start} to {seeds.stop - 1}; mean ± standard error over data sets. Unless a design "
        "says otherwise p = 20, n = 800, one uniform confounder.",
        "",
        "| design | | p | n | p < .05 | p < .001 | FDP at .05 | FDP at .1 | power at .1 "
        "| linear: p < .05 | FDP at .1 | power at .1 |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for design in DESIGNS:
        if design.name not in results:
            continue
        rows = results[design.name]
        settings = {**BASE, **design.settings}
        ours, linear = rows["plaggm"], rows["linear"]
        cells = [
            design.name, design.about, str(settings["p"]), str(settings["n"]),
            _mean(ours, 0), f"{ours[:, 1].mean():.4f}", _mean(ours, 2), _mean(ours, 3),
            _share(ours, 5), _share(linear, 0), _share(linear, 3), _share(linear, 5),
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _share(rows: np.ndarray, column: int) -> str:
    value = rows[:, column]
    return "" if np.isnan(value).all() else f"{np.nanmean(value):.3f}"


def _mean(rows: np.ndarray, column: int) -> str:
    value = rows[:, column]
    return f"{value.mean():.3f} ± {value.std(ddof=1) / np.sqrt(len(value)):.3f}"


def main(argv: Sequence[str] | None = None) -> None:
    """Run the designs and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--designs", metavar="A,B", help="only these")
    parser.add_argument("--seeds", metavar="FIRST:END", help="default 6000:6040")
    parser.add_argument("--page", action="store_true", help=f"write the table into {PAGE.name}")
    options = parser.parse_args(argv)
    first, end = (options.seeds or f"{FIRST_SEED}:{FIRST_SEED + SEEDS}").split(":")
    seeds = range(int(first), int(end))
    if len(seeds) < 2:
        parser.error(f"--seeds must hold at least two seeds; got {options.seeds!r}.")
    known = [design.name for design in DESIGNS]
    names = choose(options.designs, known, known, "designs")
    results = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for design in DESIGNS:
            if design.name in names:
                start = time.process_time()
                results[design.name] = run(design, seeds)
                spent = time.process_time() - start
                print(f"{design.name}: {spent:.0f} s", file=sys.stderr)
                print("\n".join(table({design.name: results[design.name]}, seeds)[4:]))
    if options.page:
        above = PAGE.read_text().split(MARK)[0]
        PAGE.write_text(above + MARK + "\n\n" + "\n".join(table(results, seeds)) + "\n")
        print(f"Written into {PAGE}.")


if __name__ == "__main__":
    main()
