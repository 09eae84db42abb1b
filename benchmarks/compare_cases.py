"""Cases that any revision can run through its public names; seconds as JSON: see compare.py."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np

import plaggm
from plaggm import PLAGGM, PLAGGMCV
from plaggm.simulate import simulate_paper

REPEATS = 3


def cases(p: int, n: int, rows: int) -> dict[str, Callable[[], object]]:
    data = simulate_paper(p, n, seed=0, even=True, threshold=100.0)
    x, g = data.x, data.confounder
    draw = np.random.default_rng(0)
    long_x, long_g = draw.standard_normal((rows, p)), np.abs(draw.standard_normal(rows))
    cores = dict(n_jobs=-1)
    kernel = dict(smoother="kernel", indicator="ramp", threshold=100.0, bandwidth=84.0, **cores)
    spline = dict(threshold=100.0, **cores)
    many = dict(threshold=0.5, **cores)
    return {
        "simulate": lambda: simulate_paper(p, n, seed=0, even=True),
        "no confounder, path and ten folds": lambda: PLAGGMCV(**cores).fit(x),
        "kernel, one penalty": lambda: PLAGGM(0.1, **kernel).fit(x, confounder=g),
        "kernel, path, EBIC": lambda: PLAGGMCV(criterion="ebic", **kernel).fit(x, confounder=g),
        "spline, one penalty": lambda: PLAGGM(0.1, **spline).fit(x, confounder=g),
        "spline, path and ten folds": lambda: PLAGGMCV(**spline).fit(x, confounder=g),
        "spline, many rows": lambda: PLAGGM(0.05, **many).fit(long_x, confounder=long_g),
    }


def seconds(function: Callable[[], object]) -> float | None:
    """Time of the quickest run; None if this revision cannot do it."""
    try:
        function()
    except (TypeError, ValueError):
        return None
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    sizes = (6, 150, 1_000) if "--quick" in sys.argv[1:] else (30, 800, 100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: seconds(function) for name, function in cases(*sizes).items()}
    print(json.dumps({"package": plaggm.__file__, "seconds": found}))


if __name__ == "__main__":
    main()
