"""One table: what is done, in rows, and by whom, in columns. Part of `make bench`: see run.py.

Solvers of the same problem are brought to the same KKT residual before they are timed. A solver that is not
installed, or does not get there, is named with the reason.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from other_solvers import SOLVERS, Problem, Timing, other_folds, other_solver, our_folds, ours

from plaggm import PLAGGM, PLAGGMCV
from plaggm.core.kernel.indicators import INDICATORS, evaluate_indicator
from plaggm.core.kernel.kernels import KERNELS
from plaggm.core.kernel.literal import transform_node
from plaggm.core.kernel.moments import Rows
from plaggm.core.lasso.path import informative_rows, lambda_grid, lambda_max, solve_path
from plaggm.core.profile.kernel import kernel_smoother, profile_kernel
from plaggm.core.spline.basis import spline_basis
from plaggm.core.spline.statistics import spline_statistics
from plaggm.simulate import simulate_paper

HERE = Path(__file__).parent
# The paper's confounder reaches this size; the bandwidth is in units of it.
LARGEST, THRESHOLD, BANDWIDTH = 400.0, 100.0, 0.21
KKT_RESIDUAL = 1e-6
OURS, LITERAL, LIMIT = "ours", "literal", "flop limit"
OTHER_FITS = ("GraphicalLasso", "GGLasso")
COLUMNS = (OURS, LITERAL, *SOLVERS, *OTHER_FITS, LIMIT)


@dataclass(frozen=True)
class Sizes:
    """How large the problems are.

    Attributes
    ----------
    p, n : int
        Of the paper's simulation.
    rows : int
        For the spline's statistics.
    penalties, folds : int
    """

    p: int = 50
    n: int = 800
    rows: int = 100_000
    penalties: int = 100
    folds: int = 10


QUICK = Sizes(p=6, n=120, rows=2_000, penalties=8, folds=3)


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Attributes
    ----------
    name : str
    unit : str
    cells : dict
        Timing by column.
    """

    name: str
    unit: str
    cells: dict[str, Timing]


def quickest(function: Callable[[], object], repeats: int = 3) -> float:
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def gemm_rate(size: int = 2000) -> float:
    a = np.random.default_rng(0).random((size, size))
    return 2.0 * size**3 / quickest(lambda: a @ a)


def paper_rows(sizes: Sizes) -> Rows:
    data = simulate_paper(sizes.p, sizes.n, seed=0, even=True, threshold=THRESHOLD)
    z = (data.x - data.x.mean(axis=0)) / data.x.std(axis=0)
    g = data.confounder.reshape(-1, 1) / LARGEST
    inside = evaluate_indicator(INDICATORS["ramp"], g, np.array([THRESHOLD / LARGEST]))
    return Rows(np.column_stack([z, np.ones(sizes.n)]), g, inside)


def kernel_grams(rows: Rows) -> Any:
    smoother = kernel_smoother(
        rows, kernel=KERNELS["gaussian"], bandwidth=np.array([BANDWIDTH]), form="supplement"
    )
    return profile_kernel(smoother)


def literal_seconds(rows: Rows, few: int = 10, form: str = "supplement") -> float:
    """Time of the printed formulas, from a few rows of one node: all rows and nodes cost alike."""
    n, p = len(rows.b), rows.b.shape[1] - 1
    one_node = partial(
        transform_node,
        rows.b[:, :p],
        rows.confounder,
        rows.indicator,
        0,
        kernel=KERNELS["gaussian"],
        bandwidth=np.array([BANDWIDTH]),
        form=form,
        at=(rows.b[:few, :p], rows.confounder[:few], rows.indicator[:few]),
    )
    return quickest(one_node, 2) / few * n * p


def profile_row(sizes: Sizes) -> Row:
    rows = paper_rows(sizes)
    q = sizes.p + 1
    flops = sizes.n * ((2 * q) ** 3 + 9 * sizes.p * q**2)
    cells = {
        OURS: Timing(quickest(lambda: kernel_grams(rows))),
        LITERAL: Timing(literal_seconds(rows), note="from ten rows of one node"),
        LIMIT: Timing(flops / gemm_rate()),
    }
    return Row("profile (kernel)", "s", cells)


def statistics_row(sizes: Sizes) -> Row:
    draw = np.random.default_rng(0)
    b = np.column_stack([draw.standard_normal((sizes.rows, sizes.p)), np.ones(sizes.rows)])
    g = np.abs(draw.standard_normal((sizes.rows, 1)))
    phi = spline_basis(g, np.array([0.5]), functions=4, degree=3).evaluate(g)
    few = min(sizes.rows, 2_000)

    def literal() -> None:
        # D and its products as they are written: every function times every column.
        d = (phi[:few, :, None] * b[:few, None, :]).reshape(few, -1)
        for left, right in ((b[:few], b[:few]), (d, b[:few]), (d, d)):
            np.einsum("ni,nj->ij", left, right)

    flops = sizes.rows * 15 * (sizes.p + 1) * (sizes.p + 2)
    cells = {
        OURS: Timing(quickest(lambda: spline_statistics(b, phi))),
        LITERAL: Timing(quickest(literal, 1) * sizes.rows / few, note=f"from {few} rows"),
        LIMIT: Timing(flops / gemm_rate()),
    }
    return Row("statistics (spline)", "s", cells)


def path_problem(sizes: Sizes) -> Problem:
    z = paper_rows(sizes).b[:, :-1]
    z = z - z.mean(axis=0)
    grams = Problem(z, np.ones(1), KKT_RESIDUAL).grams
    alphas = lambda_grid(lambda_max(grams), sizes.penalties, informative_rows(grams), sizes.p)
    return Problem(z, alphas, KKT_RESIDUAL)


def path_row(sizes: Sizes) -> Row:
    problem = path_problem(sizes)
    cells = {OURS: ours(problem), **{name: other_solver(name, problem) for name in SOLVERS}}
    return Row("lambda path", "s", cells)


def cv_row(sizes: Sizes, path: Row) -> Row:
    """The path on the training rows of every fold."""
    problem = path_problem(sizes)
    part = np.random.default_rng(0).permutation(sizes.n) % sizes.folds
    folds = []
    for number in range(sizes.folds):
        z = problem.z[part != number]
        folds.append(Problem(z - z.mean(axis=0), problem.alphas, KKT_RESIDUAL))
    cells = {OURS: our_folds(folds, path.cells[OURS].tolerance or KKT_RESIDUAL)}
    for name in SOLVERS:
        known = path.cells[name].tolerance
        cells[name] = (
            Timing(None, note=path.cells[name].note)
            if known is None
            else other_folds(name, folds, known)
        )
    return Row("cross-validation", "s", cells)


def fit_row(sizes: Sizes) -> Row:
    data = simulate_paper(sizes.p, sizes.n, seed=0, even=True, threshold=THRESHOLD)
    rows = paper_rows(sizes)
    q = sizes.p + 1
    kernel = PLAGGMCV(
        n_jobs=-1,
        alphas=sizes.penalties,
        criterion="ebic",
        threshold=THRESHOLD,
        smoother="kernel",
        indicator="ramp",
        bandwidth=BANDWIDTH * LARGEST,
        variance="unit",
    )
    flops = sizes.n * ((2 * q) ** 3 + 9 * sizes.p * q**2)
    cells = {
        OURS: Timing(quickest(lambda: kernel.fit(data.x, confounder=data.confounder), 2)),
        LITERAL: Timing(literal_seconds(rows), note="its profile alone, from ten rows of one node"),
        LIMIT: Timing(flops / gemm_rate(), note="of the profile alone"),
    }
    return Row("whole fit (kernel, path)", "s", cells)


def simulation_row(sizes: Sizes) -> Row:
    make = partial(simulate_paper, sizes.p, sizes.n, seed=0, even=True)
    data = make()

    def literal() -> None:
        draw = np.random.default_rng(0)
        for g in data.confounder:
            precision = np.eye(sizes.p) - data.omega_at(g)[0]
            np.fill_diagonal(precision, 1.0)
            draw.multivariate_normal(np.zeros(sizes.p), np.linalg.inv(precision))

    cells = {OURS: Timing(quickest(make)), LITERAL: Timing(quickest(literal, 1))}
    return Row("simulation", "s", cells)


def other_fits_row(sizes: Sizes) -> Row:
    """Gaussian likelihood at one penalty, by the same residual |S - inv(P)| - alpha."""
    from sklearn.covariance import graphical_lasso

    covariance = np.cov(paper_rows(sizes).b[:, :-1], rowvar=False, bias=True)
    alpha = 0.3 * float(np.abs(np.triu(covariance, 1)).max())

    def scikit_learn(tol: float) -> np.ndarray:
        return graphical_lasso(covariance, alpha, tol=tol, enet_tol=tol, max_iter=10_000)[1]

    def gglasso(tol: float) -> np.ndarray:
        from gglasso.solver.single_admm_solver import ADMM_SGL

        settings = dict(tol=tol, rtol=tol, max_iter=100_000)
        return ADMM_SGL(covariance, alpha, np.eye(sizes.p), **settings)[0]["Theta"]

    cells = {
        "GraphicalLasso": _matched(scikit_learn, covariance, alpha),
        "GGLasso": _matched(gglasso, covariance, alpha),
    }
    grams = Problem(paper_rows(sizes).b[:, :-1], np.ones(1), KKT_RESIDUAL).grams
    pseudo = quickest(lambda: solve_path(grams, np.array([alpha]), tol=1e-9, max_iter=100_000))
    cells[OURS] = Timing(pseudo, note="pseudo-likelihood at the same alpha: another objective")
    return Row("one network (Gaussian likelihood)", "s", cells)


def _matched(solve: Callable[[float], np.ndarray], covariance: np.ndarray, alpha: float) -> Timing:
    import contextlib
    import io
    import warnings

    residual = np.inf
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for power in range(3, 13):
            tol = 10.0**-power
            try:
                precision = solve(tol)
            except ImportError as error:
                return Timing(None, note=f"skipped: {error}")
            except FloatingPointError:
                continue
            residual = _gaussian_residual(precision, covariance, alpha)
            if residual <= KKT_RESIDUAL:
                return Timing(quickest(lambda: solve(tol), 2), residual, tol)  # noqa: B023
    return Timing(None, residual, note=f"skipped: reaches {residual:.1e} only")


def _gaussian_residual(precision: np.ndarray, covariance: np.ndarray, alpha: float) -> float:
    """Largest violation of the optimality conditions, in units of alpha."""
    precision = (precision + precision.T) / 2.0
    slope = covariance - np.linalg.inv(precision)
    off = ~np.eye(len(slope), dtype=bool)
    free = np.abs(np.diagonal(slope)).max()
    busy = np.where(
        np.abs(precision) > 1e-12,
        np.abs(slope + alpha * np.sign(precision)),
        np.maximum(np.abs(slope) - alpha, 0.0),
    )
    return float(max(busy[off].max(), free) / alpha)


def memory_row(sizes: Sizes) -> Row:
    """Peak of a process that fits, against the arrays that the formulas ask for."""
    command = [sys.executable, str(HERE / "scaling.py"), "--one", "kernel"]
    ran = subprocess.run(
        [*command, str(sizes.p), str(sizes.n)], check=True, capture_output=True, text=True
    )
    found = json.loads(ran.stdout)
    q = sizes.p + 1
    literal = 8.0 * sizes.n * sizes.p * q / 2**30
    cells = {
        OURS: Timing(
            max(found["peak_gb"] - found["before_gb"], 0.0), note="beyond imports and data"
        ),
        LITERAL: Timing(literal, note="the n × p × (p + 1) transformed designs"),
    }
    return Row("memory", "GB", cells)


def spline_fit_row(sizes: Sizes) -> Row:
    data = simulate_paper(sizes.p, sizes.n, seed=0, even=True, threshold=THRESHOLD)
    one = PLAGGM(0.05, threshold=THRESHOLD, n_jobs=-1)
    cells = {OURS: Timing(quickest(lambda: one.fit(data.x, confounder=data.confounder), 2))}
    return Row("whole fit (spline, one penalty)", "s", cells)


def all_rows(sizes: Sizes, say: Callable[[str], None]) -> list[Row]:
    """Every row of the table, each told as it is done."""
    rows: list[Row] = []

    def done(row: Row) -> Row:
        rows.append(row)
        say(as_text([row], header=len(rows) == 1))
        return row

    done(profile_row(sizes))
    done(statistics_row(sizes))
    path = done(path_row(sizes))
    done(cv_row(sizes, path))
    done(fit_row(sizes))
    done(spline_fit_row(sizes))
    done(other_fits_row(sizes))
    done(simulation_row(sizes))
    done(memory_row(sizes))
    return rows


def _cell(row: Row, column: str) -> str:
    timing = row.cells.get(column)
    if timing is None:
        return "–"
    if timing.seconds is None:
        return "skipped"
    text = f"{timing.seconds:.3g} {row.unit}"
    base = row.cells[OURS].seconds
    if column != OURS and base:
        text += f" ({timing.seconds / base:.3g}×)"
    return text


def as_text(rows: list[Row], *, header: bool = True) -> str:
    """The table for a terminal."""
    width = 20
    lines = []
    if header:
        lines.append(f"{'':<34}" + "".join(f"{name:>{width}}" for name in COLUMNS))
    for row in rows:
        cells = "".join(f"{_cell(row, name):>{width}}" for name in COLUMNS)
        lines.append(f"{row.name:<34}{cells}")
    return "\n".join(lines)


def as_markdown(rows: list[Row], sizes: Sizes) -> list[str]:
    """The table and its notes for a page."""
    lines = [
        "## Side by side",
        "",
        f"p = {sizes.p}, n = {sizes.n} ({sizes.rows:,} rows for the statistics), {sizes.penalties} "
        f"penalties, {sizes.folds} folds. In brackets: times ours. The solvers of one problem were brought "
        f"to a KKT residual of at most {KKT_RESIDUAL:g} of the largest penalty before they were timed.",
        "",
        "| | " + " | ".join(COLUMNS) + " |",
        "|---" * (1 + len(COLUMNS)) + "|",
    ]
    lines += [
        f"| {row.name} | " + " | ".join(_cell(row, name) for name in COLUMNS) + " |" for row in rows
    ]
    lines += [""]
    for row in rows:
        for column, timing in row.cells.items():
            told = [timing.note] if timing.note else []
            if timing.residual is not None and timing.seconds is not None:
                told.append(f"KKT residual {timing.residual:.1e} at tolerance {timing.tolerance:g}")
            if told:
                lines.append(f"- {row.name}, {column}: {'; '.join(told)}")
    return [*lines, ""]


def as_json(rows: list[Row], sizes: Sizes) -> dict[str, Any]:
    return {
        "sizes": asdict(sizes),
        "kkt_target": KKT_RESIDUAL,
        "rows": [
            {
                "name": row.name,
                "unit": row.unit,
                "cells": {name: asdict(timing) for name, timing in row.cells.items()},
            }
            for row in rows
        ],
    }


def draw_table(rows: list[Row], path: Path) -> None:
    """Each competitor's figure over ours, row by row, on a logarithmic scale."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(8.5, 5.2), layout="constrained")
    shown = [name for name in COLUMNS if name != OURS]
    markers = "sovD^P*X"
    for number, column in enumerate(shown):
        places, ratios = [], []
        for place, row in enumerate(rows):
            timing, base = row.cells.get(column), row.cells[OURS].seconds
            if timing is not None and timing.seconds and base:
                places.append(place)
                ratios.append(timing.seconds / base)
        if places:
            axis.plot(
                ratios,
                places,
                markers[number % len(markers)],
                color=f"C{number}",
                ms=8,
                label=column,
            )
    axis.axvline(1.0, color="black", lw=1)
    axis.set_xscale("log")
    axis.set_yticks(range(len(rows)), [row.name for row in rows])
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlabel("times ours (right of the line: more time or memory than ours)")
    axis.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(path, dpi=150)
