"""Do tests of edges, and of what adjusting changes, hold where rows are heavy-tailed?

    python benchmarks/heavy_tails.py few --seeds 46000:46060      # a few hundred rows: edges
    python benchmarks/heavy_tails.py many --seeds 46000:46020     # fewer rows than twice the variables
    python benchmarks/heavy_tails.py changes --seeds 46000:46100  # what adjusting changes: nothing

Rows are Gaussian, or elliptical Student t (all columns of a row share their scale), or have columns that
are Student t each on its own. The confounder has nothing to do with them. Of few variables the network is
a band, and all other pairs are null; of many it is scale-free.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from plaggm import PLAGGM, PLAGGMCV
from plaggm.simulate.graphs import draw_support, draw_weights, scale_factor

LEVEL = 0.05
# Partial correlation in the band; otherwise ends of edges for each variable, and spectral radius.
BAND, DEGREE, RADIUS = 0.35, 2.0, 0.55
# Rows, variables, degrees of freedom (none: Gaussian), and whether columns are t each on its own.
Design = tuple[int, int, float | None, bool]
DESIGNS: dict[str, tuple[Design, ...]] = {
    "few": (
        (120, 25, None, False),
        (120, 25, 5.0, False),
        (120, 10, 5.0, False),
        (300, 15, None, False),
        (300, 15, 3.0, False),
        (300, 15, 5.0, False),
    ),
    "many": ((242, 128, None, False), (333, 128, None, False), (242, 128, 5.0, False)),
    "changes": (
        (300, 15, None, False),
        (300, 15, 5.0, False),
        (300, 15, 3.0, False),
        (1500, 15, 5.0, False),
        (1500, 15, 3.0, False),
        (300, 15, 4.0, True),
    ),
}


def rows_of(design: Design, network: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Rows with the partial correlations of a network."""
    n, p, degrees, own = design
    factor = np.linalg.cholesky(np.linalg.inv(np.eye(p) - network))
    if degrees is not None and own:
        return draw.standard_t(degrees, (n, p)) / np.sqrt(degrees / (degrees - 2.0)) @ factor.T
    z = draw.standard_normal((n, p)) @ factor.T
    return z if degrees is None else z / np.sqrt(draw.chisquare(degrees, (n, 1)) / degrees)


def band(p: int) -> np.ndarray:
    """Neighbours are joined."""
    return BAND * (np.eye(p, k=1) + np.eye(p, k=-1))


def scale_free(p: int, draw: np.random.Generator) -> np.ndarray:
    """A scale-free network of stated spectral radius."""
    weights = draw_weights(draw_support("scale-free", p, DEGREE / (p - 1), draw), draw)
    return np.asarray(weights * scale_factor(RADIUS, weights))


def edges_of(design: Design, seed: int, many: bool) -> dict[str, float]:
    """Null pairs with small p-values, false discoveries and power of one data set."""
    n, p, degrees, _ = design
    draw = np.random.default_rng([seed, n, p, int(degrees or 0)])
    network = scale_free(p, draw) if many else band(p)
    z = rows_of(design, network, draw)
    if many:
        found = PLAGGMCV(alphas=20, criterion="ebic").fit(z).inference()
    else:
        found = PLAGGM(0.05).fit(z, confounder=np.abs(draw.standard_normal(n))).inference()
    null = network[np.triu_indices(p, 1)] == 0.0
    declared = found["q_value"].to_numpy() <= LEVEL
    return {
        "null": float(np.mean(found["p_value"].to_numpy()[null] < LEVEL)),
        "false": np.count_nonzero(declared & null) / max(np.count_nonzero(declared), 1),
        "power": float(np.mean(declared[~null])),
        "declared": float(np.count_nonzero(declared)),
    }


def changes_of(design: Design, seed: int) -> dict[str, float]:
    """Pairs with small p-values of change, and whether any is declared, in one data set."""
    n, p, degrees, _ = design
    draw = np.random.default_rng([seed, n, p, int(degrees or 0)])
    z = rows_of(design, band(p), draw)
    found = PLAGGM(0.05).fit(z, confounder=np.abs(draw.standard_normal(n))).inference()
    return {
        "changing": float(np.mean(found["change_p_value"] < LEVEL)),
        "any": float((found["change_q_value"] <= LEVEL).any()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=list(DESIGNS))
    parser.add_argument("--seeds", default="46000:46060", help="FIRST:END")
    given = parser.parse_args()
    work: dict[str, Callable[[Design, int], dict[str, Any]]] = {
        "few": lambda design, seed: edges_of(design, seed, many=False),
        "many": lambda design, seed: edges_of(design, seed, many=True),
        "changes": changes_of,
    }
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for design in DESIGNS[given.what]:
            found = [
                work[given.what](design, seed) for seed in range(*map(int, given.seeds.split(":")))
            ]
            means = {key: round(float(np.mean([one[key] for one in found])), 4) for key in found[0]}
            told = dict(zip(("n", "p", "degrees", "own"), design, strict=True))
            print(json.dumps({**told, "sets": len(found), **means}), flush=True)


if __name__ == "__main__":
    main()
