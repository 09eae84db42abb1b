"""Estimates and intervals of the strongest edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plaggm.edge_table import square
from plaggm.plotting.figure import (
    FAINT,
    INK,
    Drawable,
    adjustment_of,
    as_result,
    axes_or_new,
    drawn_network,
    edges_in_words,
    short_label,
    strength_colours,
)
from plaggm.result_summary import strength_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Edges that fit below each other.
MOST_EDGES = 20
# Height of a row, and of all else, in inches.
ROW, REST = 0.24, 1.3


def plot_forest(result: Drawable, ax: Axes | None = None, *, most: int = MOST_EDGES) -> Axes:
    """Estimates of the strongest edges with their 95 % intervals, strongest on top.

    Where tests declare no edge, the candidates with the smallest p-values are shown, hollow.

    Parameters
    ----------
    result : GraphResult or fitted estimator
        A result that has tests of its edges.
    ax : Axes, optional
        Axes to draw on; new ones when absent.
    most : int
        Show at most so many edges.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from plaggm import PLAGGMCV
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(5, n=800, seed=0)
    >>> model = PLAGGMCV(cv=3).fit(data.x, confounder=data.confounder)
    >>> plot_forest(model, most=3).get_xlabel()
    'partial correlation, with its 95% interval'
    """
    result = as_result(result)
    if result.edge_table is None:
        raise ValueError(
            "This result holds no tests of its edges, so there are no intervals to show. Fit the model "
            "again with this version of plaggm to have them."
        )
    network, candidates = drawn_network(result)
    j, k = np.nonzero(np.triu(network, 1))
    estimate, low, high = (
        square(values)[j, k]
        for values in (result.edge_table.estimate, result.edge_table.low, result.edge_table.high)
    )
    order = np.argsort(-np.abs(estimate), kind="stable")[:most]
    j, k, estimate, low, high = (values[order] for values in (j, k, estimate, low, high))
    ax = axes_or_new(ax, (6.4, REST + ROW * max(len(order), 1)))
    place = np.arange(len(order))
    colours = strength_colours(1.0, lines=True).to_rgba(np.sign(estimate))
    ax.axvline(0.0, color=FAINT, linewidth=1.2, zorder=0)
    ax.hlines(place, low, high, colors=colours, linewidth=1.8, zorder=1)
    ax.scatter(
        *(estimate, place),
        s=30,
        facecolors="white" if candidates else colours,
        edgecolors=colours,
        linewidths=1.4,
        zorder=2,
    )
    names = [
        f"{short_label(result.names[a])} – {short_label(result.names[b])}"
        for a, b in zip(j, k, strict=True)
    ]
    ax.set_yticks(place, names, fontsize=8)
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_xlabel(f"{strength_name(result)}, with its 95% interval")
    shown = (
        "" if len(order) == np.count_nonzero(np.triu(network, 1)) else f"strongest {len(order)} of "
    )
    words = edges_in_words(result).replace("dotted", "hollow")
    ax.set_title(f"{shown}{words}\n{adjustment_of(result)}", loc="left", fontsize="medium")
    return ax
