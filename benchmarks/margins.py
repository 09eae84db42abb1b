"""What ``margins="rank"`` does to tests of edges, on skewed, heavy-tailed, Likert and Gaussian variables.

    python benchmarks/margins.py --sets 20 --first 9100

prints for every design, without and with it, the share of null pairs with p < .05, the share of all pairs
whose 95 % interval has the partial correlation of the latent variables, power and false discoveries at
q = .1, and the AUC of |z|: the table of docs/families.md. Choices were settled on seeds below 500.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from plaggm import PLAGGM
from plaggm.simulate import simulate_paper, with_margins

P, N, THRESHOLD = 15, 1500, 60.0
BASE = dict(p=P, n=N, shape="saturating", even=True, threshold=THRESHOLD, confounder="uniform")
CONFOUNDING: dict[str, dict[str, object]] = {
    "none": {"shape": "none"},
    "strong": {},
    "mean + variance": {"mean_shift": 1.0, "variance_inflation": 1.0},
}
DESIGNS = [
    (margins, confounding)
    for margins in ("gaussian", "skewed", "heavy-tailed", "likert")
    for confounding in CONFOUNDING
]


def scores(margins: str, confounding: str, seed: int, treatment: str) -> tuple[float, ...]:
    """Null share, coverage, power, false discoveries and AUC of one data set."""
    data = simulate_paper(**{**BASE, **CONFOUNDING[confounding]}, seed=seed)
    x = with_margins(data, margins).x
    model = PLAGGM(0.05, threshold=THRESHOLD, margins=treatment)
    tests = model.fit(x, confounder=data.confounder).inference()
    truth = data.omega[np.triu_indices(P, 1)]
    edge = truth != 0.0
    declared, size = tests["q_value"].to_numpy() <= 0.1, tests["z"].abs().to_numpy()
    inside = (tests["low"].to_numpy() <= truth) & (truth <= tests["high"].to_numpy())
    return (
        float(np.mean(tests["p_value"].to_numpy()[~edge] < 0.05)),
        float(np.mean(inside)),
        float(np.mean(declared[edge])),
        float(np.sum(declared & ~edge) / max(declared.sum(), 1)),
        float(np.mean(size[edge][:, None] > size[~edge])),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=20, help="data sets for each design")
    parser.add_argument("--first", type=int, default=9100, help="seed of the first")
    given = parser.parse_args()
    print("| margins | confounding | as they are | normal scores |\n|---|---|---|---|")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for design in DESIGNS:
            row = list(design)
            for treatment in ("gaussian", "rank"):
                found = [scores(*design, given.first + k, treatment) for k in range(given.sets)]
                null, covered, power, false, auc = np.mean(found, axis=0)
                row.append(f"{null:.3f} / {covered:.3f} / {power:.2f} / {false:.2f} / {auc:.3f}")
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
