"""One picture of a comparison of methods: agreement, prediction and stability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plaggm.comparison import Comparison
from plaggm.plotting.figure import ACCENT, FAINT, INK, LINE, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Agreement above which black numbers cannot be read on the colour.
DARK = 0.6


def plot_comparison(comparison: Comparison) -> Figure:
    """Agreement of the edges, held-out pseudo-likelihood behind the best, and stability.

    Methods without a network are marked as failed; their reasons are in ``comparison.failures``.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    Figure
    """
    plt = pyplot()
    count = len(comparison.methods)
    resampled = comparison.settings["resamples"] > 0
    figure, axes = plt.subplots(
        1,
        3 if resampled else 1,
        figsize=((12.6 if resampled else 6.4), 2.6 + 0.42 * count),
        width_ratios=[1.4, 1.0, 0.8] if resampled else None,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    _agreement(axes[0, 0], comparison)
    if resampled:
        _prediction(axes[0, 1], comparison)
        _stability(axes[0, 2], comparison)
    confounders = ", ".join(comparison.settings["confounders"])
    figure.suptitle(
        f"{count} methods on {comparison.settings['n_samples']} samples of "
        f"{len(comparison.names)} variables, confounder {confounders}",
        x=0.01,
        ha="left",
        fontsize="medium",
    )
    return figure


def _agreement(ax: Axes, comparison: Comparison) -> None:
    table = comparison.agreement()
    values = table.to_numpy()
    # Rows as high as those of the other panels, which share them.
    ax.imshow(values, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    ax.set_facecolor(FAINT)
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            ink = "white" if value > DARK else INK
            text = f"{value:.2f}"
            ax.text(column, row, text, ha="center", va="center", color=ink, fontsize=7)
    table = comparison.table().set_index("method")
    edges, named = table["edges"], table["title"]
    titles = [
        f"{named[name]} ({'failed' if name in comparison.failures else f'{edges[name]} edges'})"
        for name in comparison.methods
    ]
    ax.set_yticks(range(len(titles)), titles, fontsize=8)
    ax.set_xticks(
        range(len(titles)), comparison.methods, rotation=40, ha="right", rotation_mode="anchor"
    )
    ax.tick_params(axis="x", labelsize=8)
    ax.set_title("Edges in common (Jaccard index)", loc="left", fontsize="medium")


def _prediction(ax: Axes, comparison: Comparison) -> None:
    table = comparison.table()
    lag, error = table["behind_best"].to_numpy(), table["behind_best_se"].fillna(0.0).to_numpy()
    place = np.arange(len(table))
    known = ~np.isnan(lag)
    best = known & (np.nan_to_num(lag, nan=1.0) == 0.0)
    ax.errorbar(lag[known], place[known], xerr=error[known], fmt="o", color=LINE, zorder=2)
    ax.plot(lag[best], place[best], "o", color=ACCENT, markersize=9, zorder=3, label="best")
    _empty(ax, place[~known])
    ax.axvline(0.0, color=FAINT, zorder=0)
    ax.set_xlabel("nats for each sample, ± standard error")
    ax.set_title("Held-out likelihood, behind the best", loc="left", fontsize="medium")
    _open(ax)


def _stability(ax: Axes, comparison: Comparison) -> None:
    values = comparison.stability().reindex(list(comparison.methods)).to_numpy()
    place = np.arange(len(values))
    known = ~np.isnan(values)
    ax.barh(place[known], values[known], color=LINE, height=0.6)
    for at in place[known]:
        ax.text(values[at] + 0.01, at, f"{values[at]:.2f}", va="center", fontsize=8, color=INK)
    _empty(ax, place[~known])
    ax.set_xlim(0.0, 1.12)
    ax.set_xlabel("mean Jaccard index of resamples")
    ax.set_title("Stability of the edges", loc="left", fontsize="medium")
    _open(ax)


def _open(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="y", left=False)


def _empty(ax: Axes, places: np.ndarray) -> None:
    for at in places:
        ax.annotate(
            "none",
            (0.02, at),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=8,
            color=INK,
            style="italic",
        )
