"""Figure of the motion benchmark: every measure by every method."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from plaggm.plotting.brain import COLOURS, DPI, FAINT, INK, figures, save_figure


def benchmark_figure(path: Path, table: pd.DataFrame, measures: Mapping[str, str]) -> None:
    """Draw means over seeds with single seeds as points, one panel for each measure.

    Parameters
    ----------
    path : Path
        PNG.
    table : DataFrame
        One row for each seed and method, with the measures as columns.
    measures : mapping of str to str
        Columns and what they are in words.
    """
    plt = figures()
    methods = list(dict.fromkeys(table["method"]))
    place = np.arange(len(methods))[::-1]
    columns = 3
    rows = -(-len(measures) // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(11.0, (0.26 * len(methods) + 0.9) * rows),
        sharey=True,
        squeeze=False,
    )
    for ax, (name, title) in zip(axes.flat, measures.items(), strict=False):
        for row, method in zip(place, methods, strict=True):
            values = table.loc[table["method"] == method, name].dropna().to_numpy()
            colour = COLOURS[0] if method.startswith("PLA-GGM") else COLOURS[1]
            if len(values):
                ax.plot(values, np.full(len(values), row), "o", ms=3, alpha=0.4, color=colour)
                ax.plot(values.mean(), row, "|", ms=14, mew=2.5, color=colour)
            ax.axhline(row, color=FAINT, linewidth=0.4, zorder=0)
        ax.set_title(title, fontsize=9, color=INK)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
    for ax in axes[:, 0]:
        ax.set_yticks(place, methods, fontsize=8)
    for ax in axes.flat[len(measures) :]:
        ax.set_visible(False)
    figure.tight_layout()
    save_figure(figure, path, dpi=DPI)
