"""How central the variables are: strength and expected influence, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from plaggm.plotting.figure import (
    FAINT,
    INK,
    LINE,
    Drawable,
    adjustment_of,
    as_result,
    open_frame,
    pyplot,
    short_label,
)
from plaggm.plotting.nodes import node_colours

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Variables that fit below each other.
MOST_VARIABLES = 40
# Height of a row, and of all else, in inches; width of a panel.
ROW, REST, PANEL = 0.22, 1.5, 3.2
TITLES = {
    "strength": "Strength",
    "expected_influence": "Expected influence",
    "bridge_strength": "Bridge strength",
    "bridge_expected_influence": "Bridge expected influence",
}


def plot_centrality(
    result: Drawable, groups: Mapping[str, Any] | None = None, *, most: int = MOST_VARIABLES
) -> Figure:
    """Centrality of the variables with 95 % intervals, the strongest on top.

    Parameters
    ----------
    result : GraphResult or fitted estimator
        Network whose variables are shown; see :meth:`plaggm.GraphResult.centrality`.
    groups : mapping of str, optional
        Group of every variable by its name: colours the variables, and adds bridge centralities.
    most : int
        Show at most so many variables.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from plaggm import PLAGGMCV
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(5, n=800, seed=0)
    >>> model = PLAGGMCV(cv=3).fit(data.x, confounder=data.confounder)
    >>> len(plot_centrality(model).axes)
    2
    """
    result = as_result(result)
    table = result.centrality(groups)
    rows = table.head(most)
    kinds = [name for name in TITLES if name in table]
    figure, axes = pyplot().subplots(
        1,
        len(kinds),
        figsize=(1.6 + PANEL * len(kinds), REST + ROW * max(len(rows), 1)),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    nodes = None if groups is None else node_colours(groups, result.names, result.network)
    inks = [LINE] * len(rows)
    if nodes is not None:
        by_name = dict(zip(result.names, nodes.outlines(), strict=True))
        inks = [by_name[name] for name in rows["variable"]]
    place = np.arange(len(rows))
    for ax, kind in zip(axes[0], kinds, strict=True):
        ax.axvline(0.0, color=FAINT, linewidth=1.2, zorder=0)
        if f"{kind}_low" in rows:
            ax.hlines(place, rows[f"{kind}_low"], rows[f"{kind}_high"], colors=inks, linewidth=1.8)
        ax.scatter(rows[kind], place, s=24, c=inks, zorder=2)
        ax.set_title(TITLES[kind], loc="left", fontsize="medium")
        ax.grid(axis="y", color="0.93", linewidth=0.6)
        ax.set_axisbelow(True)
        open_frame(ax)
    axes[0, 0].set_yticks(place, [short_label(name) for name in rows["variable"]], fontsize=8)
    axes[0, 0].set_ylim(len(rows) - 0.4, -0.6)
    axes[0, 0].tick_params(axis="y", length=0, labelcolor=INK)
    shown = f", strongest {len(rows)} of {len(table)} variables" if len(rows) < len(table) else ""
    figure.suptitle(
        f"Centrality, {adjustment_of(result)}{shown}", x=0.01, ha="left", fontsize="medium"
    )
    if nodes is not None:
        _name_groups(figure, nodes.titles, dict(zip(rows["group"], inks, strict=True)))
    return figure


def _name_groups(figure: Figure, titles: tuple[str, ...], inks: dict[str, str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="none", marker="o", color=inks[title], label=short_label(title))
        for title in titles
        if title in inks
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False, fontsize=8)
