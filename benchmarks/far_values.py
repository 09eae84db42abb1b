"""What ``robust="winsor"`` does to tests of edges, on Gaussian data, heavy tails and spoilt cells.

    python benchmarks/far_values.py --sets 20 --first 9000

prints for every design the share of null pairs with p < .05, power and false discoveries at q = .05 and
the AUC of |z|, without and with it: the table of docs/decisions.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np

from plaggm import PLAGGM
from plaggm.simulate import Simulated, simulate_paper

P, N, THRESHOLD = 12, 900, 60.0
BASE = dict(p=P, n=N, shape="saturating", even=True, threshold=THRESHOLD, confounder="uniform")
CONFOUNDING: dict[str, dict[str, object]] = {
    "none": {"shape": "none"},
    "strong": {},
    "mean + variance": {"mean_shift": 1.0, "variance_inflation": 1.0},
}
Spoil = Callable[[Simulated, np.random.Generator], np.ndarray]


def gaussian(data: Simulated, draw: np.random.Generator) -> np.ndarray:
    """The data as they are."""
    return data.x


def t_rows(data: Simulated, draw: np.random.Generator) -> np.ndarray:
    """Rows of a multivariate t with three degrees of freedom."""
    return data.x * np.sqrt(3.0 / draw.chisquare(3, len(data.x)))[:, None]


def t_noise(data: Simulated, draw: np.random.Generator) -> np.ndarray:
    """Independent t noise behind every variable, with the same partial correlations."""
    precision = -data.omega
    np.fill_diagonal(precision, 1.0)
    root = np.linalg.cholesky(np.linalg.inv(precision))
    return draw.standard_t(3, data.x.shape) @ root.T


def cells(share: float) -> Spoil:
    """A share of all cells 20 to 30 standard deviations off."""

    def spoil(data: Simulated, draw: np.random.Generator) -> np.ndarray:
        x = data.x.copy()
        hit = draw.random(x.shape) < share
        far = draw.choice([-1.0, 1.0], x.shape) * draw.uniform(20.0, 30.0, x.shape)
        x[hit] += (far * x.std(axis=0))[hit]
        return x

    return spoil


def splits(data: Simulated, draw: np.random.Generator) -> np.ndarray:
    """Four rows with two cells 25 standard deviations off, as stock splits leave them."""
    x, spread = data.x.copy(), data.x.std(axis=0)
    for row in draw.choice(len(x), 4, replace=False):
        up, down = draw.choice(x.shape[1], 2, replace=False)
        x[row, up] += 25.0 * spread[up]
        x[row, down] -= 25.0 * spread[down]
    return x


DESIGNS: dict[str, tuple[Spoil, str]] = {
    "Gaussian, none": (gaussian, "none"),
    "Gaussian, strong": (gaussian, "strong"),
    "Gaussian, mean + variance": (gaussian, "mean + variance"),
    "t rows, none": (t_rows, "none"),
    "t rows, strong": (t_rows, "strong"),
    "t noise, none": (t_noise, "none"),
    "1 % of cells, none": (cells(0.01), "none"),
    "1 % of cells, strong": (cells(0.01), "strong"),
    "1 % of cells, mean + variance": (cells(0.01), "mean + variance"),
    "5 % of cells, none": (cells(0.05), "none"),
    "splits, none": (splits, "none"),
    "splits, strong": (splits, "strong"),
}


def scores(design: str, seed: int, robust: str | None) -> tuple[float, float, float, float]:
    """Null share, power, false discoveries and AUC of one data set."""
    spoil, confounding = DESIGNS[design]
    data = simulate_paper(**{**BASE, **CONFOUNDING[confounding]}, seed=seed)
    x = spoil(data, np.random.default_rng(seed))
    model = PLAGGM(0.05, threshold=THRESHOLD, robust=robust)
    tests = model.fit(x, confounder=data.confounder).inference()
    edge = data.omega[np.triu_indices(P, 1)] != 0.0
    declared, size = tests["q_value"].to_numpy() <= 0.05, tests["z"].abs().to_numpy()
    return (
        float(np.mean(tests["p_value"].to_numpy()[~edge] < 0.05)),
        float(np.mean(declared[edge])),
        float(np.sum(declared & ~edge) / max(declared.sum(), 1)),
        float(np.mean(size[edge][:, None] > size[~edge])),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=20, help="data sets for each design")
    parser.add_argument("--first", type=int, default=9000, help="seed of the first")
    given = parser.parse_args()
    print("| data | as they are | pulled in |\n|---|---|---|")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for design in DESIGNS:
            row = [design]
            for robust in (None, "winsor"):
                found = [scores(design, given.first + k, robust) for k in range(given.sets)]
                null, power, false, auc = np.mean(found, axis=0)
                row.append(f"{null:.3f} / {power:.2f} / {false:.2f} / {auc:.3f}")
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
