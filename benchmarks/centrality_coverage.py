"""How often the intervals of centrality hold the truth: the declared edges' and the whole network's.

python benchmarks/centrality_coverage.py --seeds 100 119
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from plaggm import PLAGGMCV
from plaggm.simulate import simulate_paper

GROUP_ROWS = 25
# Name, variables, rows, confounded, subjects with networks of their own level, heavy tails.
DESIGNS = {
    "plain, n = 300": dict(p=12, n=300, confounded=False),
    "plain, n = 1,500": dict(p=12, n=1500, confounded=False),
    "confounded, n = 1,500": dict(p=12, n=1500, confounded=True),
    "subjects, 60 of 25 rows": dict(p=12, n=1500, confounded=False, subjects=True),
    "heavy tails (t, 5 degrees)": dict(p=12, n=1500, confounded=False, tails=5.0),
}


def fitted(seed: int, p: int, n: int, confounded: bool, subjects: bool = False, tails: float = 0.0):
    """A fit, and the true partial correlations."""
    radius = 0.4 if confounded else 0.0
    data = simulate_paper(
        p,
        n=n,
        seed=seed,
        even=True,
        threshold=n / 20.0,
        target_radius=0.5,
        nuisance_radius=radius,
    )
    x, rng = data.x.copy(), np.random.default_rng(seed)
    if tails:
        x = x / np.sqrt(rng.chisquare(tails, (n, 1)) / tails)
    groups = None
    if subjects:
        groups = np.repeat(np.arange(n // GROUP_ROWS), GROUP_ROWS)
        # Subjects vary as their rows do: each has its own scale.
        x = x * np.exp(0.5 * rng.standard_normal(n // GROUP_ROWS))[groups, None]
    model = PLAGGMCV(criterion="bic", alphas=15, n_jobs=1)
    if confounded:
        model.set_params(threshold=n / 20.0)
    model.fit(x, confounder=data.confounder if confounded else None, groups=groups)
    truth = data.omega.copy()
    np.fill_diagonal(truth, 0.0)
    return model, truth


def held(model: PLAGGMCV, truth: np.ndarray) -> dict[str, float]:
    """Shares of variables with edges whose interval holds the true sum."""
    table = model.centrality().set_index("variable").loc[list(model._names)]
    connected = table["degree"].to_numpy() > 0
    declared = np.where(model.adjacency_, truth, 0.0)
    out = {}
    for about, matrix in (("declared", declared), ("all", truth)):
        for name, sums in (
            ("strength", np.abs(matrix).sum(axis=1)),
            ("expected_influence", matrix.sum(axis=1)),
        ):
            low, high = table[f"{name}_low"].to_numpy(), table[f"{name}_high"].to_numpy()
            inside = (low <= sums) & (sums <= high)
            out[f"{name}, {about}"] = float(inside[connected].mean()) if connected.any() else np.nan
    out["edges"] = float(model.adjacency_.sum() / 2)
    return out


def main() -> None:
    """Print one line for each design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 9), metavar=("FIRST", "LAST"))
    first, last = parser.parse_args().seeds
    for name, design in DESIGNS.items():
        began = time.perf_counter()
        found = [held(*fitted(seed, **design)) for seed in range(first, last + 1)]
        means = {key: np.nanmean([one[key] for one in found]) for key in found[0]}
        words = ", ".join(f"{key} {value:.3g}" for key, value in means.items())
        print(
            f"{name} ({len(found)} sets, {time.perf_counter() - began:.0f} s): {words}", flush=True
        )


if __name__ == "__main__":
    main()
