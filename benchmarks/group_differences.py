"""How often networks that are the same are said to differ, and how often those that differ are found.

python benchmarks/group_differences.py --sets 40 --seed 100
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from plaggm import PLAGGM, compare_networks
from plaggm.simulate import simulate_paper

P = 10
# Rows of each group, and what differs between the groups besides their network.
DESIGNS = {
    "equal sizes": dict(sizes=(400, 400)),
    "unequal sizes and variances": dict(sizes=(120, 1200), scales=True),
    "few rows": dict(sizes=(60, 60)),
    "heavy tails (t, 5 degrees)": dict(sizes=(400, 400), tails=5.0),
    "confounded, unlike distributions": dict(sizes=(800, 800), confounded=True),
    "subjects of 20 rows in each": dict(sizes=(600, 600), subjects=20),
    "30 people of 100 rows": dict(sizes=(100,) * 30, scales=True),
    "one network differs": dict(sizes=(400, 400), other=True),
    "30 people, one unlike the others": dict(sizes=(100,) * 30, other=True),
}


def drawn(
    seed: int,
    sizes: tuple[int, ...],
    scales: bool = False,
    tails: float = 0.0,
    confounded: bool = False,
    subjects: int = 0,
    other: bool = False,
):
    """Fits of all groups, with tests."""
    rng = np.random.default_rng(seed)
    fits = {}
    for place, n in enumerate(sizes):
        # One network for all; the last group may have its own.
        graph = seed + 10**6 if other and place == len(sizes) - 1 else seed
        # Groups reach differently far into the range of the confounder.
        values = rng.gamma(1.0, 30.0 * (1 + place), n) if confounded else np.arange(float(n))
        data = simulate_paper(
            P,
            n=n,
            seed=graph,
            even=True,
            threshold=20.0,
            confounder=values,
            target_radius=0.5,
            nuisance_radius=0.4 if confounded else 0.0,
        )
        # The same graph, but rows of its own.
        root = np.linalg.cholesky(np.linalg.inv(np.eye(P) - off_diagonal(data.omega)))
        x = data.x if confounded else rng.standard_normal((n, P)) @ root.T
        if tails:
            x = x / np.sqrt(rng.chisquare(tails, (n, 1)) / tails)
        groups = None
        if subjects:
            groups = np.arange(n) // subjects
            x = x * np.exp(0.4 * rng.standard_normal(n // subjects + 1))[groups, None]
        if scales:
            x = x * np.exp(rng.standard_normal(P)) + rng.standard_normal(P)
        model = PLAGGM(0.1, n_jobs=1, **({"threshold": 20.0} if confounded else {}))
        model.fit(x, confounder=values if confounded else None, groups=groups)
        fits[str(place)] = model
    return compare_networks(fits, fdr=0.05)


def off_diagonal(omega: np.ndarray) -> np.ndarray:
    """The network without intercepts."""
    return omega - np.diag(np.diagonal(omega))


def main() -> None:
    """Print one line for each design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of the designs' names")
    given = parser.parse_args()
    # Rows whose scale differs between subjects resemble each other, which groups take into account.
    warnings.simplefilter("ignore")
    for name, design in DESIGNS.items():
        if given.only not in name:
            continue
        began = time.perf_counter()
        found = []
        for k in range(given.sets):
            one = drawn(given.seed + k, **design)
            unusual = one.tests.unusual
            found.append(
                (
                    np.mean(one.tests.p_value < 0.05),
                    one.p_value < 0.05,
                    one.differing.any(),
                    one.differing.sum(),
                    one.tests.heterogeneity,
                    np.mean(unusual < 0.05),
                    np.argmin(unusual) == len(unusual) - 1 if len(unusual) > 2 else np.nan,
                )
            )
        means = np.mean(found, axis=0)
        print(
            f"{name} ({given.sets} sets, {time.perf_counter() - began:.0f} s): pairs with p < .05 "
            f"{means[0]:.3f}, overall p < .05 {means[1]:.3f}, any pair declared {means[2]:.3f}, pairs "
            f"declared {means[3]:.2f}, heterogeneity {means[4]:.2f}, networks unlike others p < .05 "
            f"{means[5]:.3f}, the last is the most unusual {means[6]:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
