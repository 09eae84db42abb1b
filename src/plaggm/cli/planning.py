"""Implementation of ``plaggm plan``: simulate, write and print."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from plaggm import __version__
from plaggm.array_types import Array
from plaggm.atomic_files import write_csv
from plaggm.cli.plan import PAGE, PICTURE, SETTINGS, TABLE
from plaggm.planning import PowerAnalysis, plan_study
from plaggm.planning.trials import NETWORKS
from plaggm.plotting.figure import save_figure
from plaggm.plotting.plan import plot_plan
from plaggm.report.plan import answer_words, assumption_words, plan_page, power_table
from plaggm.report.sections import write_html

DPI = 150
# The curve in the terminal: rows and columns of letters, and the letter of each network.
ROWS, COLUMNS = 11, 57
MARKS = {"adjusted": "●", "clean": "○", "unadjusted": "×"}


def run(
    assumptions: Mapping[str, Any], jobs: int, progress: Callable[[int, int], None]
) -> PowerAnalysis:
    """Simulate the studies of a plan."""
    return plan_study(**assumptions, n_jobs=jobs, progress=progress)


def write(plan: PowerAnalysis, folder: Path) -> None:
    """Write table, picture, page and settings."""
    write_csv(folder / TABLE, plan.table(), index=False, float_format="%.6g")
    save_figure(plot_plan(plan), folder / PICTURE, dpi=DPI)
    write_html(folder / PAGE, plan_page(plan, folder / PICTURE))
    content = {
        "plan": plan.settings(),
        "answer": {network: plan.samples_for(network=network).words() for network in NETWORKS},
        "run": {"plaggm": __version__},
    }
    header = "# Settings of plaggm plan, with the sizes and shares that it chose, and its answer.\n"
    (folder / SETTINGS).write_text(header + tomli_w.dumps(content), encoding="utf-8")


def show(plan: PowerAnalysis) -> None:
    """Print the table, the curves of power and the assumptions."""
    console = Console()
    table = Table(
        title=f"{len(plan.trials)} simulated studies; share of the true edges found, and of the declared "
        "edges that are false",
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("samples", justify="right")
    for network, mark in MARKS.items():
        table.add_column(f"power\n{mark} {network}", justify="right")
        table.add_column("\nfalse", justify="right")
    for row in power_table(plan).itertuples(index=False):
        table.add_row(f"{row[0]:,}", *(f"{value:.2f}" for value in row[1:]))
    console.print(table)
    if len(plan.sizes) > 1:
        curves = {MARKS[network]: plan.power(network).mean(axis=0) for network in NETWORKS}
        console.print(text_curves(plan.sizes, curves, plan.wanted), markup=False, highlight=False)
    words = "; ".join(
        f"{MARKS[network]} {network}: {meaning}" for network, meaning in NETWORKS.items()
    )
    for line in (f"{words}.", assumption_words(plan.question, plan.true_edges)):
        console.print(line, markup=False, highlight=False)


def answer(plan: PowerAnalysis) -> str:
    """The answer in a few sentences."""
    return " ".join(answer_words(plan))


def text_curves(sizes: Array, curves: Mapping[str, Array], level: float) -> str:
    """A text plot of curves between zero and one against the logarithm of sizes.

    Parameters
    ----------
    sizes : ndarray of shape (s,)
        At least two, increasing.
    curves : mapping of str to ndarray of shape (s,)
        Values by the letter that draws them; earlier curves are on top.
    level : float
        Height of a dotted line.

    Returns
    -------
    str

    Examples
    --------
    >>> text = text_curves(np.array([10, 100]), {"o": np.array([0.0, 1.0])}, 0.8)
    >>> text.splitlines()[0].rstrip()[-1], text.splitlines()[-1].split()
    ('o', ['10', '100'])
    """
    place = np.log(sizes / sizes[0]) / np.log(sizes[-1] / sizes[0]) * (COLUMNS - 1)
    cells = np.full((ROWS, COLUMNS), " ")
    cells[_height(level)] = "·"
    for letter, curve in reversed(list(curves.items())):
        heights = np.interp(np.arange(COLUMNS), place, curve)
        for column, height in enumerate(heights):
            cells[_height(height), column] = letter
    lines = []
    for row, letters in enumerate(cells):
        tick = f"{1.0 - row / (ROWS - 1):.1f}" if row % 2 == 0 else ""
        lines.append(f"{tick:>5} │{''.join(letters)}".rstrip())
    axis, labels = ["─"] * COLUMNS, [" "] * (COLUMNS + 8)
    for n, column in zip(sizes, place.round().astype(int), strict=True):
        axis[column] = "┬"
        text = str(n)
        start = max(0, column - len(text) // 2)
        # Numbers that would touch the one before are left out.
        if "".join(labels[max(0, start - 1) : start + len(text)]).strip() == "":
            labels[start : start + len(text)] = text
    return "\n".join([*lines, f"{'':5} └{''.join(axis)}", f"{'':7}{''.join(labels)}".rstrip()])


def _height(value: float) -> int:
    """Row of a value between zero and one, counted from the top."""
    return round((1.0 - float(np.clip(value, 0.0, 1.0))) * (ROWS - 1))
