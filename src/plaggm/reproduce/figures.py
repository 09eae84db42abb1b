"""Pictures of the paper's experiments: recovery against p, error against n."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from plaggm.plotting.figure import FAINT, INK, pyplot
from plaggm.reproduce.plan import DESIGNS, ENTRANTS
from plaggm.reproduce.rates import RATE_METHODS, fitted_slopes
from plaggm.reproduce.sparsistency import STRUCTURE_METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette; PLA-GGM has warm colours and full lines, related methods the others and dashes.
COLOURS = {
    "spline": "#D55E00",
    "paper": "#E69F00",
    "kernel": "#CC79A7",
    "ggm": "#56B4E9",
    "con-ggm": "#0072B2",
    "lr-ggm": "#009E73",
    "tv-ggm": "#7F7F7F",
    "tv-ggm-average": "#B0A000",
    "tv-ggm-fused": "#4B0092",
    "pooled": "#000000",
}
MARKERS = {
    "spline": "o",
    "paper": "s",
    "kernel": "D",
    "ggm": "v",
    "con-ggm": "^",
    "lr-ggm": "<",
    "tv-ggm": ">",
    "tv-ggm-average": "P",
    "tv-ggm-fused": "X",
    "pooled": "*",
}
# Several entrants share a method: those that differ from the paper's setting are dotted.
VARIANTS = ("spline-known", "spline-auto", "literal-auto", "ggm-auto")
# Panels side by side.
PANELS = 3
SLOPES = {-0.5: "slope −1/2 (Theorem 1)", -0.4: "slope −2/5 (ordinary kernel)"}
# Methods whose errors lie on top of one another are set apart by this part of the distance of two p.
DODGE = 0.03


def plot_recovery(summary: pd.DataFrame) -> Figure:
    """Mean AUC against the number of variables, a panel for each design; bars are standard errors.

    Parameters
    ----------
    summary : DataFrame
        Table made by :func:`plaggm.reproduce.summarise`.

    Returns
    -------
    Figure
    """
    plt = pyplot()
    designs = [name for name in DESIGNS if name in set(summary["design"])]
    columns = min(len(designs), PANELS)
    rows = -(-len(designs) // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(max(4.0 * columns, 8.0), 3.6 * rows + 1.6),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for ax in axes.flat[len(designs) :]:
        ax.remove()
    panels = list(axes.flat[: len(designs)])
    for ax, name in zip(panels, designs, strict=True):
        _recovery_panel(ax, summary[summary["design"] == name])
        n = int(summary.loc[summary["design"] == name, "n"].iloc[0])
        ax.set_title(f"{DESIGNS[name].title}\n(n = {n})", loc="left", fontsize="medium")
    for ax in panels[::columns]:
        ax.set_ylabel("area under the ROC curve")
    handles: dict[str, Any] = {}
    for ax in panels:
        drawn, labels = ax.get_legend_handles_labels()
        handles |= dict(zip(labels, drawn, strict=True))
    order = [entrant.title for entrant in ENTRANTS.values() if entrant.title in handles]
    figure.legend(
        [handles[title] for title in order],
        order,
        loc="outside lower center",
        ncols=min(len(order), 3),
        frameon=False,
        fontsize="small",
    )
    return figure


def plot_rates(records: Sequence[dict[str, Any]]) -> Figure:
    """Error of the baseline network against the number of samples, on log axes, with fitted slopes.

    Parameters
    ----------
    records : sequence of dict
        Records made by :func:`plaggm.reproduce.run_rate_cell`.

    Returns
    -------
    Figure
    """
    plt = pyplot()
    figure, axes = plt.subplots(1, 2, figsize=(10.4, 7.0), sharey=True, layout="constrained")
    panels = {
        "error": "penalty chosen by cross-validation",
        "best_error": "best penalty of the path",
    }
    for ax, (measure, words) in zip(axes, panels.items(), strict=True):
        _rates_panel(ax, pd.DataFrame(list(records)), records, measure)
        ax.set_title(words[0].upper() + words[1:], loc="left", fontsize="medium")
    axes[0].set_ylabel("error of the baseline network (Frobenius)")
    return figure


def plot_structure(table: pd.DataFrame) -> Figure:
    """Frequency of the exact structure and largest error against n / log p, a column for each method.

    Parameters
    ----------
    table : DataFrame
        Table made by :func:`plaggm.reproduce.sparsistency.structure_table`.

    Returns
    -------
    Figure
    """
    plt = pyplot()
    methods = list(dict.fromkeys(table["method"]))
    figure, axes = plt.subplots(
        2,
        len(methods),
        figsize=(max(2.4 * len(methods), 6.0), 5.4),
        sharex=True,
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    sizes = sorted(table["p"].unique())
    shades = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, len(sizes)))
    for column, method in enumerate(methods):
        for p, shade in zip(sizes, shades, strict=True):
            own = table[(table["method"] == method) & (table["p"] == p)].sort_values("ratio")
            for ax, measure in zip(axes[:, column], ("frequency", "sup_error"), strict=True):
                ax.plot(
                    own["ratio"],
                    own[measure],
                    color=shade,
                    marker="o",
                    markersize=4,
                    label=f"p = {p}",
                )
        title = STRUCTURE_METHODS[method].title.replace(", ", ",\n", 1)
        axes[0, column].set_title(title, loc="left", fontsize="small")
        axes[1, column].set_xlabel("n / log p")
    axes[0, 0].set_ylim(-0.03, 1.03)
    axes[0, 0].set_ylabel("exact structure, share of data sets")
    axes[1, 0].set_ylabel("largest error of an edge")
    axes[1, 0].set_yscale("log")
    for ax in axes.flat:
        ax.set_xscale("log")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(frameon=False, fontsize="small")
    return figure


def _recovery_panel(ax: Axes, table: pd.DataFrame) -> None:
    sizes = sorted(table["p"].unique())
    place = {p: at for at, p in enumerate(sizes)}
    entrants = [name for name in ENTRANTS if name in set(table["entrant"])]
    ax.axhline(0.5, color=FAINT, linewidth=1.2, zorder=0)
    for at, name in enumerate(entrants):
        own = table[(table["entrant"] == name) & table["auc"].notna()]
        if own.empty:
            continue
        entrant = ENTRANTS[name]
        ours = entrant.method in ("spline", "paper", "kernel")
        style = ":" if name in VARIANTS else "-" if ours else "--"
        if entrant.loss == "glasso":
            style = "" if entrant.method != "tv-ggm-fused" else "-."
        ax.errorbar(
            [place[p] + DODGE * (at - len(entrants) / 2) for p in own["p"]],
            own["auc"],
            yerr=own["auc_se"].fillna(0.0),
            color=COLOURS[entrant.method],
            marker=MARKERS[entrant.method],
            markersize=5,
            markerfacecolor="white" if entrant.loss == "glasso" else None,
            linestyle=style,
            linewidth=1.8 if ours else 1.2,
            elinewidth=0.8,
            label=entrant.title,
        )
    ax.set_xticks(range(len(sizes)), [str(p) for p in sizes])
    ax.set_xlim(-0.45, len(sizes) - 0.55)
    ax.set_xlabel("variables (p)")
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelcolor=INK)


def _rates_panel(
    ax: Axes, frame: pd.DataFrame, records: Sequence[dict[str, Any]], measure: str
) -> None:
    slopes = fitted_slopes(records, measure=measure).set_index("method")
    for method, row in slopes.iterrows():
        entrant = RATE_METHODS[str(method)]
        own = frame[frame["method"] == method].groupby("n")[measure]
        mean, error = own.mean(), own.std() / np.sqrt(own.count())
        ax.errorbar(
            mean.index,
            mean,
            yerr=error.fillna(0.0),
            color=COLOURS[entrant.method],
            marker=MARKERS[entrant.method],
            markersize=5,
            linewidth=1.6,
            linestyle="--" if entrant.promised != -0.5 else ":" if method in VARIANTS else "-",
            label=f"{entrant.title}: {row['slope']:.2f}",
        )
    n = np.array(sorted(frame["n"].unique()), dtype=np.float64)
    low = float(slopes["last"].min())
    for slope, words in SLOPES.items():
        line = 0.8 * low * (n / n[-1]) ** slope
        dots: Any = ":" if slope == -0.5 else (0, (1, 4))
        ax.plot(n, line, color=INK, linewidth=0.9, linestyle=dots, label=words)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("samples (n)")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(
        frameon=False,
        fontsize="small",
        title="fitted slope",
        loc="upper center",
        bbox_to_anchor=(0.5, -0.13),
    )
