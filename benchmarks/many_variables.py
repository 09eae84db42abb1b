"""Paths of 50 penalties for hundreds and thousands of variables, beside R's huge: `make bench-scaling`.

Each path runs in a process of its own, on 1,000 rows and one confounder: 50 penalties of the spline, chosen
among by EBIC, and the node-wise and graphical lasso of huge (Debian's r-cran-huge), which adjust for
nothing and end their grids where their authors chose. Seconds are those of the processors, which other work
on the machine hardly changes, and of the clock. Written to docs/many-variables.json.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

DOCS = Path(__file__).parent.parent / "docs"
VARIABLES = (100, 200, 500, 1_000, 2_000)
ROWS, PENALTIES = 1_000, 50
METHODS = ("spline", "huge mb", "huge glasso")
# A method that takes longer than this at one size is not asked at larger ones.
PATIENCE = 1_500.0
# huge reads doubles, column by column; the last line has user and elapsed seconds.
R_PATH = """
suppressMessages(library(huge)); a <- commandArgs(TRUE)
x <- matrix(readBin(a[1], "double", n = as.integer(a[2]) * as.integer(a[3])), ncol = as.integer(a[3]))
t <- system.time(huge(x, nlambda = as.integer(a[4]), method = a[5], verbose = FALSE))
cat(t[["user.self"]] + t[["sys.self"]], t[["elapsed"]])
"""


def table(p: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a factor for every five variables, and a confounder that inflates their variance."""
    draw = np.random.default_rng(0)
    factors = draw.standard_normal((p, max(2, p // 5))) / np.sqrt(p)
    g = draw.uniform(0.0, 2.0, size=n)
    x = draw.standard_normal((n, p)) + draw.standard_normal((n, factors.shape[1])) @ factors.T
    return x * (1.0 + 0.2 * np.maximum(g - 0.5, 0.0))[:, None], g


def spline_path(p: int, n: int) -> dict[str, float]:
    """A path in this process, after a small one that compiles."""
    from plaggm import PLAGGMCV

    model = PLAGGMCV(alphas=PENALTIES, criterion="ebic", threshold=0.5, n_jobs=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for small in (60, 130):
            x, g = table(small, 400)
            model.fit(x, confounder=g)
        x, g = table(p, n)
        start, clock = time.process_time(), time.perf_counter()
        model.fit(x, confounder=g)
    return {
        "cpu": time.process_time() - start,
        "seconds": time.perf_counter() - clock,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "densest": float(np.count_nonzero(model.omega_path_[-1]) / p**2),
        "largest_gap": float(model.dual_gaps_.max()),
    }


def huge_path(method: str, p: int, n: int) -> dict[str, float]:
    """A path of huge, whose own time is told."""
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        file.write(np.asfortranarray(table(p, n)[0]).tobytes(order="F"))
        file.flush()
        options = [file.name, str(n), str(p), str(PENALTIES), method]
        ran = subprocess.run(
            ["Rscript", "-e", R_PATH, *options], capture_output=True, text=True, check=True
        )
    cpu, seconds = map(float, ran.stdout.split()[-2:])
    return {"cpu": cpu, "seconds": seconds}


def measured(method: str, p: int, n: int) -> dict[str, float]:
    """One path in a process of its own."""
    if method != "spline":
        return huge_path(method.split()[1], p, n)
    command = [sys.executable, __file__, "--one", str(p), str(n)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(ran.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, type=int, metavar=("P", "N"), help="one path, as JSON")
    parser.add_argument("--variables", type=int, nargs="+", default=VARIABLES)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--output", type=Path, default=DOCS / "many-variables.json")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(spline_path(*options.one)))
        return
    methods = [one for one in METHODS if one == "spline" or shutil.which("Rscript")]
    points = []
    for method in methods:
        for p in options.variables:
            found = measured(method, p, options.rows)
            points.append({"method": method, "p": p, "n": options.rows, **found})
            numbers = "  ".join(f"{name} {value:.3g}" for name, value in found.items())
            print(f"{method:<12} p = {p:>5}  {numbers}", flush=True)
            if found["seconds"] > PATIENCE:
                break
        own = [point for point in points if point["method"] == method][-3:]
        if len(own) > 1:
            sizes, cpu = ([point[key] for point in own] for key in ("p", "cpu"))
            print(f"  time ~ p^{np.polyfit(np.log(sizes), np.log(cpu), 1)[0]:.2f}", flush=True)
    options.output.write_text(json.dumps(points, indent=1) + "\n")


if __name__ == "__main__":
    main()
