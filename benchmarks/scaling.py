"""Time and peak memory of whole fits against n and p, with fitted exponents: `make bench-scaling`.

Every fit runs in a process of its own, since a process can only tell the largest memory it ever had. What
importing takes is measured by the same process and told apart. Written to docs/scaling.json and .png.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
ROWS = (500, 2_000, 10_000, 50_000, 200_000, 1_000_000)
VARIABLES = (10, 20, 50, 100, 200, 500)
# What stays fixed while the other varies.
FEW_VARIABLES, SOME_ROWS = 10, 2_000
SMOOTHERS = ("kernel", "spline")
# Exponents are of the larger sizes, where fixed costs no longer count.
FITTED = 3
LIMIT_GB = 12.0


def peak_gb() -> float:
    """Largest memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def fit_once(smoother: str, p: int, n: int) -> dict[str, float]:
    """One fit in this process, after a small one that compiles."""
    from plaggm import PLAGGM

    draw = np.random.default_rng(0)
    factors = draw.standard_normal((p, max(2, p // 5))) / np.sqrt(p)

    def table(rows: int) -> tuple[np.ndarray, np.ndarray]:
        # Even, so that every window of the kernel holds many samples for any number of variables.
        g = draw.uniform(0.0, 2.0, size=rows)
        x = draw.standard_normal((rows, p))
        x += draw.standard_normal((rows, factors.shape[1])) @ factors.T
        x *= 1.0 + 0.2 * np.maximum(g - 0.5, 0.0)[:, None]
        return x, g

    settings: dict[str, Any] = dict(alpha=0.15, threshold=0.5, n_jobs=-1)
    if smoother == "kernel":
        settings |= dict(smoother="kernel", indicator="ramp", bandwidth=2.0, ridge=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x, g = table(min(n, 40 * min(p, 20)))
        PLAGGM(**settings).fit(x[:, : min(p, 20)], confounder=g)
        x, g = table(n)
        before = peak_gb()
        start = time.perf_counter()
        model = PLAGGM(**settings).fit(x, confounder=g)
        seconds = time.perf_counter() - start
    edges = int(np.count_nonzero(np.triu(model.adjacency_, 1)))
    return {
        "seconds": seconds,
        "peak_gb": peak_gb(),
        "before_gb": before,
        "data_gb": x.nbytes / 2**30,
        "edges": edges,
    }


def in_own_process(smoother: str, p: int, n: int) -> dict[str, float]:
    """The same in a fresh process."""
    command = [sys.executable, __file__, "--one", smoother, str(p), str(n)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{smoother}, p = {p}, n = {n}: {ran.stderr.strip().splitlines()[-1]}")
    found: dict[str, float] = json.loads(ran.stdout)
    return found


def exponent(sizes: list[int], figures: list[float]) -> float:
    """Slope of the logarithms over the larger sizes."""
    few = slice(-FITTED, None)
    return float(np.polyfit(np.log(sizes[few]), np.log(figures[few]), 1)[0])


def curve(smoother: str, axis: str, sizes: tuple[int, ...]) -> dict[str, Any]:
    """All sizes of one curve, with its exponents."""
    points = []
    for size in sizes:
        p, n = (FEW_VARIABLES, size) if axis == "n" else (size, SOME_ROWS)
        found = in_own_process(smoother, p, n)
        points.append({"p": p, "n": n, **found})
        print(
            f"{smoother:<8} p = {p:>4}  n = {n:>9,}  {found['seconds']:9.3f} s  "
            f"{found['peak_gb']:6.2f} GB",
            flush=True,
        )
    seconds = [point["seconds"] for point in points]
    grown = [max(point["peak_gb"] - point["before_gb"], 1e-3) for point in points]
    found = {
        "smoother": smoother,
        "axis": axis,
        "points": points,
        "time_exponent": exponent(list(sizes), seconds),
        "memory_exponent": exponent(list(sizes), grown),
    }
    print(f"  time ~ {axis}^{found['time_exponent']:.2f}", flush=True)
    return found


def draw_curves(curves: list[dict[str, Any]], path: Path) -> None:
    """Time above, memory below, against n and p."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    colours = dict(zip(SMOOTHERS, ("#3b6ea8", "#c8553d"), strict=True))
    figure, axes = plt.subplots(2, 2, figsize=(9, 6.5), sharex="col", layout="constrained")
    for one in curves:
        column = 0 if one["axis"] == "n" else 1
        sizes = [point[one["axis"]] for point in one["points"]]
        for row, what in enumerate(("seconds", "peak_gb")):
            values = [point[what] for point in one["points"]]
            label = one["smoother"]
            if what == "seconds":
                label += f": {one['axis']}$^{{{one['time_exponent']:.2f}}}$"
            axes[row, column].plot(sizes, values, "o-", color=colours[one["smoother"]], label=label)
    fixed = (f"p = {FEW_VARIABLES}", f"n = {SOME_ROWS:,}")
    for column, (name, still) in enumerate(zip(("rows n", "variables p"), fixed, strict=True)):
        axes[0, column].set_title(f"against {name}, {still}", loc="left", fontsize=10)
        axes[1, column].set_xlabel(name)
    for axis, name in zip(axes.ravel(), ("seconds", "", "peak memory, GB", ""), strict=True):
        axis.set(xscale="log", yscale="log")
        axis.set_ylabel(name)
        axis.grid(alpha=0.3)
        axis.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="small sizes only, nothing written to docs"
    )
    parser.add_argument("--one", nargs=3, metavar=("SMOOTHER", "P", "N"), help="one fit, as JSON")
    parser.add_argument("--output", type=Path, help="folder for JSON and figure [docs]")
    options = parser.parse_args()
    if options.one:
        smoother, p, n = options.one
        print(json.dumps(fit_once(smoother, int(p), int(n))))
        return
    rows, variables = ROWS, VARIABLES
    if options.quick:
        rows, variables = (200, 400, 800), (4, 6, 8)
    curves = [curve(one, "n", rows) for one in SMOOTHERS]
    curves += [curve(one, "p", variables) for one in SMOOTHERS]
    largest = [point for one in curves for point in one["points"] if point["p"] == max(variables)]
    over = [point for point in largest if point["peak_gb"] > LIMIT_GB]
    for point in largest:
        print(f"p = {point['p']}, n = {point['n']}: {point['peak_gb']:.2f} of {LIMIT_GB:g} GB")
    folder = options.output or (None if options.quick else DOCS)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "scaling.json").write_text(json.dumps(curves, indent=1) + "\n")
        draw_curves(curves, folder / "scaling.png")
    if over:
        raise SystemExit(f"More than {LIMIT_GB:g} GB: {over}")


if __name__ == "__main__":
    main()
