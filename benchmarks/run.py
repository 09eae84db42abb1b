"""Speed and memory, side by side on one machine: `make bench`.

Every figure is a ratio within one run. Rows that need R's glmnet are skipped, with a word, where it is
not installed. The tables are printed and, when all were run, written to docs/benchmarks.md, with
docs/benchmarks.json and docs/benchmarks.png. `--quick` runs the side-by-side table on tiny problems, to see
that everything works: its figures mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import side_by_side
from scipy import sparse
from scipy.io import mmwrite

from plaggm import PLAGGM, PLAGGMCV
from plaggm.comparison import COMPARED, METHODS, Choices, compare_methods
from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.kernel.indicators import INDICATORS, evaluate_indicator
from plaggm.core.kernel.kernels import KERNELS
from plaggm.core.kernel.moments import Rows
from plaggm.core.lasso.optimality import kkt_residual
from plaggm.core.lasso.path import (
    PathSolution,
    informative_rows,
    lambda_grid,
    lambda_max,
    solve_path,
)
from plaggm.core.profile.kernel import kernel_smoother, profile_kernel
from plaggm.core.profile.pooled import profile_pooled
from plaggm.core.spline.basis import spline_basis
from plaggm.core.spline.statistics import spline_statistics
from plaggm.simulate import simulate_paper

HERE = Path(__file__).parent
BANDWIDTH = 0.21
REPEATS = 5


def quickest(function: Callable[[], object], repeats: int = REPEATS) -> float:
    """Smallest wall time of several runs, after one that compiles and warms up."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def gemm_rate() -> float:
    """Floating point operations a second of a large matrix product on all cores."""
    a = np.random.default_rng(0).random((2000, 2000))
    return 2.0 * 2000**3 / quickest(lambda: a @ a)


def rows_of(p: int, n: int, threshold: float, indicator: str) -> Rows:
    data = simulate_paper(p, n, seed=0, even=True, threshold=threshold)
    z = (data.x - data.x.mean(axis=0)) / data.x.std(axis=0)
    g = data.confounder.reshape(-1, 1) / 400.0
    inside = evaluate_indicator(INDICATORS[indicator], g, np.array([threshold / 400.0]))
    return Rows(np.column_stack([z, np.ones(n)]), g, inside)


def profile(rows: Rows, form: str) -> NodeGrams:
    smoother = kernel_smoother(
        rows, kernel=KERNELS["gaussian"], bandwidth=np.array([BANDWIDTH]), form=form
    )
    return profile_kernel(smoother)


def bench_fit(p: int, n: int, threshold: float, indicator: str, form: str) -> dict[str, float]:
    """Profile and path against the flop limit and the literal formulas."""
    rows = rows_of(p, n, threshold, indicator)
    rate = gemm_rate()
    q = p + 1
    limit = n * ((2 * q) ** 3 + 8 * p * q**2 + p * q**2) / rate
    grams = profile(rows, form)
    alphas = lambda_grid(lambda_max(grams), 100, informative_rows(grams), p)
    seconds_profile = quickest(lambda: profile(rows, form))
    solve_path(grams, alphas[:3])
    paths: list[PathSolution] = []
    solve = partial(solve_path, grams, alphas, tol=1e-6, max_iter=1000)
    seconds_path = quickest(lambda: paths.append(solve()))
    path = paths[-1]
    literal = side_by_side.literal_seconds(rows, 20, form)
    return {
        "gemm GFlop/s": rate / 1e9,
        "flop limit s": limit,
        "profile s": seconds_profile,
        "path s": seconds_path,
        "path not converged": int(np.count_nonzero(path.gaps > 1e-6)),
        "profile / limit": seconds_profile / limit,
        "(profile + path) / limit": (seconds_profile + seconds_path) / limit,
        "literal s (from twenty rows of one node)": literal,
        "literal / (profile + path)": literal / (seconds_profile + seconds_path),
    }


def bench_scaling(p: int = 48) -> dict[str, float]:
    """Growth of the profile with n; peak memory of a process that profiles n = 11,000."""
    sizes = (2_000, 11_000, 50_000)
    rng = np.random.default_rng(0)
    times = []
    for n in sizes:
        b = np.column_stack([rng.standard_normal((n, p)), np.ones(n)])
        g = np.sort(rng.uniform(-1.0, 1.0, (n, 1)), axis=0)
        inside = evaluate_indicator(INDICATORS["soft"], g, np.array([0.2]))
        rows = Rows(b, g, inside)
        times.append(quickest(lambda rows=rows: profile(rows, "lemma"), repeats=2))
        if n == 11_000:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    return {
        **{f"n = {n} s": seconds for n, seconds in zip(sizes, times, strict=True)},
        "log-log slope": float(slope),
        "peak GB up to n = 11,000": peak,
    }


def stacked_design(rows: Rows) -> tuple[sparse.csc_matrix, np.ndarray]:
    """The design of the symmetric lasso without confounder: n p rows, pairs then intercepts."""
    n, q = rows.b.shape
    p = q - 1
    z = rows.b[:, :p]
    first, second = np.triu_indices(p, 1)
    blocks = []
    for a, (j, k) in enumerate(zip(first, second, strict=True)):
        column = np.full(n, a)
        blocks.append((j * n + np.arange(n), column, z[:, k]))
        blocks.append((k * n + np.arange(n), column, z[:, j]))
    for j in range(p):
        blocks.append((j * n + np.arange(n), np.full(n, len(first) + j), np.ones(n)))
    row, column, value = (np.concatenate(part) for part in zip(*blocks, strict=True))
    shape = (n * p, len(first) + p)
    return sparse.csc_matrix((value, (row, column)), shape=shape), z.T.ravel()


def bench_glmnet(p: int = 50, n: int = 800) -> dict[str, float] | str:
    """The lambda path against glmnet, both judged by the same KKT residual."""
    if shutil.which("Rscript") is None:
        return "skipped: Rscript is not installed"
    rows = rows_of(p, n, 60.0, "ramp")
    grams = profile_pooled(rows.b)
    alphas = lambda_grid(lambda_max(grams), 100, informative_rows(grams), p)
    x, y = stacked_design(rows)
    pairs = p * (p - 1) // 2
    thresholds = (1e-7, 1e-9, 1e-12)
    out: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mmwrite(folder / "x.mtx", x)
        np.savetxt(folder / "y.txt", y)
        np.savetxt(folder / "penalty.txt", np.r_[np.ones(pairs), np.zeros(p)])
        # glmnet divides by N = n p and rescales the penalty factors to mean one.
        np.savetxt(folder / "lambda.txt", alphas / p * pairs / (pairs + p), fmt="%.17g")
        np.savetxt(folder / "thresholds.txt", thresholds)
        ran = subprocess.run(
            ["Rscript", str(HERE / "glmnet_path.R"), name],
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            return f"skipped: {ran.stderr.strip().splitlines()[-1]}"
        for number, threshold in enumerate(thresholds, start=1):
            seconds = float((folder / f"seconds_{number}.txt").read_text())
            residual = _worst_residual(grams, np.loadtxt(folder / f"beta_{number}.txt"), alphas)
            tol, ours, reached = _match_residual(grams, alphas, residual)
            out[f"glmnet s at thresh {threshold:g}"] = seconds
            out[f"  KKT residual / lambda_max, glmnet {threshold:g}"] = residual
            out[f"  KKT residual / lambda_max, ours (tol {tol:g})"] = reached
            out[f"  ours s for glmnet's {threshold:g}"] = ours
            out[f"  glmnet / ours at {threshold:g}"] = seconds / ours
    return out


def _worst_residual(grams: NodeGrams, beta: np.ndarray, alphas: np.ndarray) -> float:
    p = grams.p
    upper = np.triu_indices(p, 1)
    worst = 0.0
    for step, alpha in enumerate(alphas):
        omega = np.zeros((p, p))
        omega[upper] = beta[: len(upper[0]), step]
        worst = max(worst, kkt_residual(grams, omega + omega.T, alpha))
    return worst / alphas[0]


def _match_residual(
    grams: NodeGrams, alphas: np.ndarray, residual: float
) -> tuple[float, float, float]:
    """Loosest tolerance of ours whose KKT residual is at most glmnet's, and its time."""
    for tol in 10.0 ** -np.arange(3, 16):
        path = solve_path(grams, alphas, tol=tol, max_iter=100_000)
        pairs = zip(path.omega, alphas, strict=True)
        reached = max(kkt_residual(grams, omega, alpha) for omega, alpha in pairs) / alphas[0]
        if reached <= residual:
            break
    seconds = quickest(lambda: solve_path(grams, alphas, tol=tol, max_iter=100_000))
    return float(tol), seconds, reached


def bench_spline(p: int = 50, n: int = 100_000) -> dict[str, float]:
    """Statistics against the product form's own flops, the focused choice and CV against one fit."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, p))
    g = np.abs(rng.standard_normal(n))
    b = np.column_stack([x, np.ones(n)])
    basis = spline_basis(g[:, None], np.array([0.5]), functions=4, degree=3)
    phi = basis.evaluate(g[:, None])
    families = 1 + 4 + 10
    limit = n * families * (p + 1) * (p + 2) / gemm_rate()
    seconds = quickest(lambda: spline_statistics(b, phi), repeats=2)
    given = PLAGGM(0.05, threshold=0.5, tau=1.0, variance="conditional", n_jobs=-1)
    one = quickest(lambda: given.fit(x, confounder=g), repeats=2)
    focused = PLAGGM(0.05, threshold=0.5, variance="conditional", n_jobs=-1)
    choice = quickest(lambda: focused.fit(x, confounder=g), repeats=2)
    folds = PLAGGMCV(threshold=0.5, tau=1.0, variance="conditional", n_jobs=-1)
    cross = quickest(lambda: folds.fit(x, confounder=g), repeats=2)
    return {
        "statistics s": seconds,
        "million rows a second": n / seconds / 1e6,
        "statistics / GEMM limit": seconds / limit,
        "fit with given tau s": one,
        "focused / given tau": choice / one,
        "ten-fold CV of 100 penalties / given tau": cross / one,
    }


def bench_stream(p: int = 50, n: int = 1_000_000, functions: int = 4) -> dict[str, float]:
    """Statistics of rows that are read in chunks, and a whole fit with its memory."""
    families = 1 + functions + functions * (functions + 1) // 2
    limit = n * families * (p + 1) * (p + 2) / gemm_rate()
    command = [sys.executable, str(HERE / "stream.py"), str(n), str(p), str(functions)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(ran.stdout)
    return {
        "GEMM limit s (all families in all rows)": limit,
        "statistics s": found["statistics"],
        "statistics / GEMM limit": found["statistics"] / limit,
        "fit_chunks, default settings, reading included s": found["fit"],
        "peak GB": found["peak"],
    }


def bench_study(subjects: int = 146, repeats: int = 2) -> dict[str, float]:
    """A study of so many subjects, 150 volumes and 48 regions, on one core and on two, in turns."""
    taken: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(repeats):
        for jobs, seconds in taken.items():
            command = [sys.executable, str(HERE / "study_cores.py"), str(jobs), str(subjects)]
            ran = subprocess.run(command, check=True, capture_output=True, text=True)
            seconds.append(json.loads(ran.stdout)["seconds"])
    one, two = min(taken[1]), min(taken[2])
    return {"one core s": one, "two cores s": two, "one core / two cores": one / two}


def bench_import() -> dict[str, float]:
    """Import of the package in a fresh process, its kernels cached on disk."""
    command = [sys.executable, "-c", "import plaggm"]
    base = [sys.executable, "-c", "import numpy, pandas, sklearn.linear_model, numba"]
    run = lambda args: quickest(lambda: subprocess.run(args, check=True))  # noqa: E731
    return {"import plaggm s": run(command), "import of what it stands on s": run(base)}


def bench_comparison() -> dict[str, float]:
    """The work of ``plaggm compare`` with its defaults, and of its slow methods, in two processes."""
    data = simulate_paper(20, n=500, seed=3, even=True, threshold=75.0)
    choices = Choices(reference="zero", n_jobs=1)

    def run(methods: tuple[str, ...]) -> tuple[float, dict[str, float]]:
        start = time.perf_counter()
        found = compare_methods(data.x, data.confounder, methods=methods, choices=choices, n_jobs=2)
        return time.perf_counter() - start, found.seconds()

    # Workers start and compile once.
    compare_methods(
        data.x,
        data.confounder,
        choices=replace(choices, criterion="bic", alphas=3),
        resamples=2,
        n_jobs=2,
    )
    whole, each = run(COMPARED)
    result = {"seconds of the default methods, 500 x 20": whole}
    result |= {f"  {name}, all fits in one process": took for name, took in each.items()}
    for name in METHODS:
        if name not in COMPARED:
            result[f"seconds of {name} beside them"] = run((name,))[0]
    return result


BENCHMARKS: dict[str, Callable[[], dict[str, float] | str]] = {
    "scaling, p = 48, gaussian kernel": bench_scaling,
    "fit, p = 100, n = 800, ramp indicator, g* = 100": lambda: bench_fit(
        100, 800, 100.0, "ramp", "supplement"
    ),
    "fit, p = 100, n = 800, soft indicator, g* = 100": lambda: bench_fit(
        100, 800, 100.0, "soft", "lemma"
    ),
    "spline, p = 50, n = 100,000, four functions": bench_spline,
    "stream, p = 50, n = 1,000,000, four functions": bench_stream,
    "path against glmnet, no confounder, p = 50, n = 800, 100 penalties": bench_glmnet,
    "study, 146 subjects, 150 volumes, 48 regions, two methods": bench_study,
    "comparison of methods, p = 20, n = 500, two processes": bench_comparison,
    "import": bench_import,
}


def machine() -> str:
    """Processor, cores and versions in one line."""
    names = [line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")]
    model = names[0] if names else platform.machine()
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba"))
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="run only what has one of these words in its name")
    parser.add_argument("--quick", action="store_true", help="tiny problems, nothing into docs")
    parser.add_argument("--output", type=Path, help="folder of the page, JSON and figure [docs]")
    options = parser.parse_args()
    wanted = options.words
    lines = ["# Benchmarks", "", f"Made by `make bench` on: {machine()}.", ""]
    record: dict[str, object] = {"machine": machine()}
    print(lines[2])
    rows: list[side_by_side.Row] = []
    if not wanted or any(word in "side by side" for word in wanted):
        sizes = side_by_side.QUICK if options.quick else side_by_side.Sizes()
        print("\nside by side", flush=True)
        rows = side_by_side.all_rows(sizes, lambda text: print(text, flush=True))
        lines += [*side_by_side.as_markdown(rows, sizes), "![times ours](benchmarks.png)", ""]
        record["side by side"] = side_by_side.as_json(rows, sizes)
    for name, function in BENCHMARKS.items():
        if options.quick or (wanted and not any(word in name for word in wanted)):
            continue
        print(f"\n{name}", flush=True)
        result = function()
        record[name] = result
        lines += [f"## {name}", ""]
        if isinstance(result, str):
            print(f"  {result}")
            lines += [result, ""]
            continue
        lines += ["| figure | value |", "|---|---|"]
        for label, value in result.items():
            print(f"  {label:<48} {value:12.4g}", flush=True)
            lines.append(f"| {label.strip()} | {value:.4g} |")
        lines.append("")
    folder = options.output or (None if wanted or options.quick else HERE.parent / "docs")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "benchmarks.md").write_text("\n".join(lines))
        (folder / "benchmarks.json").write_text(json.dumps(record, indent=1) + "\n")
        if rows:
            side_by_side.draw_table(rows, folder / "benchmarks.png")


if __name__ == "__main__":
    main()
