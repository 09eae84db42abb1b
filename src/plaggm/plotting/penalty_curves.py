"""Curves along the penalty: edges, and the criterion that chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.plotting.figure import (
    ACCENT,
    FAINT,
    INK,
    LINE,
    WIDE,
    Drawable,
    as_result,
    axes_or_new,
    colour_limit,
    off_diagonal,
    open_frame,
    short_label,
    strength_colours,
)
from plaggm.result import GraphResult
from plaggm.result_summary import strength_name
from plaggm.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Edges whose names stand beside their curve.
NAMED_EDGES = 8
# Distance of two such names, as a part of the height.
LABEL_GAP = 0.045
# Curves that a picture has at most; more than the second number are one image inside a vector file.
MOST_CURVES, MOST_VECTOR_CURVES = 1500, 1000
# Places along the penalty where the number of edges is written.
COUNTED = 6
CRITERIA = {
    "cv": "held-out loss",
    "aic": "AIC",
    "bic": "BIC",
    "ebic": "extended BIC",
    "stars": "instability between subsamples",
}


def plot_path(result: Drawable, ax: Axes | None = None) -> Axes:
    """Every edge's partial correlation as the penalty falls, the chosen penalty marked.

    Edges of the chosen network are coloured by their strength there, the others are grey. Of more than
    1,500 pairs those are drawn that are strongest at the chosen penalty, then those strongest at any other.

    Parameters
    ----------
    result : GraphResult or fitted PLAGGMCV
        Result that keeps its path of penalties.
    ax : Axes, optional
        Axes to draw on; new ones when absent.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from plaggm import PLAGGMCV
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(5, n=800, seed=0)
    >>> model = PLAGGMCV(cv=3).fit(data.x, confounder=data.confounder)
    >>> ax = plot_path(model)
    >>> bool(ax.lines)
    True
    """
    result = as_result(result)
    alphas, path = _path(result)
    ax = axes_or_new(ax, WIDE)
    chosen = off_diagonal(result.partial_correlation)
    rows, columns = _drawn_pairs(path, chosen)
    curves, final = path[:, rows, columns], chosen[rows, columns]
    edge = final != 0.0
    count = int(np.count_nonzero(np.triu(chosen, 1)))
    colours = strength_colours(colour_limit(chosen), lines=True)
    many = len(final) > MOST_VECTOR_CURVES
    ax.plot(alphas, curves[:, ~edge], color=FAINT, linewidth=0.6, zorder=1, rasterized=many)
    for e in np.flatnonzero(edge):
        colour = colours.to_rgba(final[e])
        ax.plot(alphas, curves[:, e], color=colour, linewidth=1.4, zorder=2, rasterized=many)
    _penalty_axis(ax, alphas)
    _mark_chosen(ax, result.alpha)
    strongest = np.argsort(-np.abs(final), kind="stable")[: min(NAMED_EDGES, int(edge.sum()))]
    _name_curves(
        ax,
        curves[-1, strongest],
        [
            f"{short_label(result.names[rows[e]])} – {short_label(result.names[columns[e]])}"
            for e in strongest
        ],
    )
    ax.set_ylabel(strength_name(result))
    ax.set_title(
        f"Edges along the penalty: {counted(count, 'edge')} at the one chosen, "
        f"{result.alpha:.3g} (dashed)",
        loc="left",
        fontsize="medium",
    )
    return ax


def _drawn_pairs(path: Array, chosen: Array) -> tuple[Index, Index]:
    """Rows and columns of the pairs whose curves are drawn, in the order of the upper triangle."""
    rows, columns = np.triu_indices(len(chosen), 1)
    if len(rows) <= MOST_CURVES:
        return rows, columns
    strength, highest = np.abs(chosen)[rows, columns], np.zeros_like(chosen)
    for network in path:
        np.fmax(highest, np.abs(network), out=highest)
    drawn = np.sort(np.lexsort((-highest[rows, columns], -strength))[:MOST_CURVES])
    return rows[drawn], columns[drawn]


def plot_selection(result: Drawable, ax: Axes | None = None) -> Axes:
    """The criterion along the penalties, the chosen one marked; above, the number of edges.

    Parameters
    ----------
    result : GraphResult or fitted PLAGGMCV
        Result that keeps its selection curve. With ``criterion="cv"`` the standard error over the folds
        is shown too.
    ax : Axes, optional
        Axes to draw on; new ones when absent.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from plaggm import PLAGGMCV
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(5, n=800, seed=0)
    >>> model = PLAGGMCV(cv=3).fit(data.x, confounder=data.confounder)
    >>> ax = plot_selection(model)
    >>> bool(ax.lines)
    True
    """
    result = as_result(result)
    alphas, path = _path(result)
    if result.criterion_path is None:
        raise ValueError("This result keeps no criterion along its path, so there is none to show.")
    ax = axes_or_new(ax, WIDE)
    criterion = result.criterion_path
    if result.criterion_error is not None:
        band = criterion - result.criterion_error, criterion + result.criterion_error
        ax.fill_between(
            alphas, *band, color=LINE, alpha=0.15, linewidth=0, label="± 1 standard error"
        )
    ax.plot(alphas, criterion, color=LINE, linewidth=1.8)
    at = int(np.argmin(np.abs(alphas - result.alpha)))
    _penalty_axis(ax, alphas)
    _mark_chosen(ax, result.alpha)
    ax.plot(alphas[at], criterion[at], "o", color=ACCENT, markersize=7, zorder=3)
    _count_edges(ax, alphas, path)

    name = str(result.settings.get("criterion", ""))
    words = CRITERIA.get(name, "criterion")
    ax.set_ylabel(words)
    ax.set_title(f"Choice of the penalty by {words}", loc="left")
    ax.legend(frameon=False)
    return ax


def _path(result: GraphResult) -> tuple[Array, Array]:
    if result.alphas is None or result.omega_path is None:
        raise ValueError(
            "This result was fitted at a single penalty and keeps no path. Fit PLAGGMCV, which fits "
            "the whole path and chooses from it."
        )
    return result.alphas, result.omega_path


def _penalty_axis(ax: Axes, alphas: Array) -> None:
    """Penalties from the largest to the smallest, on a log scale unless zero is among them."""
    if np.all(alphas > 0.0):
        ax.set_xscale("log")
    if len(alphas) > 1:
        ax.set_xlim(alphas[0], alphas[-1])
    ax.set_xlabel("penalty (alpha), from strong to weak")
    open_frame(ax)


def _mark_chosen(ax: Axes, alpha: float) -> None:
    ax.axvline(alpha, color=ACCENT, linestyle="--", linewidth=1.4, label=f"chosen: {alpha:.3g}")


def _count_edges(ax: Axes, alphas: Array, path: Array) -> None:
    """Write the number of edges above some penalties."""
    counts = np.count_nonzero(np.triu(path, 1), axis=(1, 2))
    at = np.unique(np.linspace(0, len(alphas) - 1, COUNTED).round().astype(int))
    top = ax.secondary_xaxis("top")
    top.set_xticks(alphas[at], [str(counts[a]) for a in at], minor=False)
    top.set_xticks([], minor=True)
    top.tick_params(length=0, labelcolor=INK)
    top.spines["top"].set_visible(False)
    top.set_xlabel("edges", color=INK)


def _name_curves(ax: Axes, heights: Array, names: list[str]) -> None:
    """Write names at the right of the curves, moved apart where they would overlap."""
    low, high = ax.get_ylim()
    placed = spread(np.sort(heights), LABEL_GAP * (high - low))
    for at, which in enumerate(np.argsort(heights)):
        ax.annotate(
            names[which],
            (1.0, heights[which]),
            xytext=(1.03, placed[at]),
            xycoords=("axes fraction", "data"),
            textcoords=("axes fraction", "data"),
            fontsize=8,
            va="center",
            color=INK,
            arrowprops=dict(arrowstyle="-", color=FAINT, linewidth=0.6, shrinkA=0, shrinkB=0),
            annotation_clip=False,
        )


def spread(heights: Array, gap: float) -> Array:
    """Increasing heights moved as little as possible so that neighbours are ``gap`` apart.

    Neighbours that are too close are merged into a block with even spacing about its mean, until no
    two blocks overlap.

    Examples
    --------
    >>> spread(np.array([0.0, 0.0, 5.0]), 1.0)
    array([-0.5,  0.5,  5. ])
    """
    blocks: list[tuple[float, int]] = []
    for height in heights:
        centre, size = float(height), 1
        while blocks and centre - blocks[-1][0] < 0.5 * gap * (size + blocks[-1][1]):
            below, members = blocks.pop()
            centre = (below * members + centre * size) / (members + size)
            size += members
        blocks.append((centre, size))
    return np.concatenate(
        [
            np.empty(0),
            *(centre + gap * (np.arange(size) - 0.5 * (size - 1)) for centre, size in blocks),
        ]
    )
