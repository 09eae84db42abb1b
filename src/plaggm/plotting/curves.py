"""Curves: along the penalty, along the confounder, and against a known truth."""

from __future__ import annotations

from difflib import get_close_matches
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.edge_table import square
from plaggm.network_matrices import grid_rows
from plaggm.plotting.figure import (
    ACCENT,
    FAINT,
    INK,
    LINE,
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


WIDE = (6.6, 4.4)
# Edges whose names stand beside their curve.
NAMED_EDGES = 8
# Distance of two such names, as a part of the height.
LABEL_GAP = 0.045
# Standard errors on either side of an estimate.
BAND = 2
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


def plot_edge(
    result: Drawable,
    source: str | int,
    target: str | int,
    ax: Axes | None = None,
    *,
    confounder: str | None = None,
) -> Axes:
    """How strong one edge is along a confounder: Ω0 + R(g) for the two variables.

    The grey stripe is where the model takes the samples as unconfounded, the dashed line the level of
    the baseline network, with its 95 % interval where tests declare the edges. Where the result keeps
    standard errors of R, a band shows two of them on either side.

    Parameters
    ----------
    result : GraphResult or fitted estimator
        Fitted with a confounder.
    source, target : str or int
        Names of the variables, or their positions.
    ax : Axes, optional
        Axes to draw on; new ones when absent.
    confounder : str, optional
        Along which of several confounders, the others being zero.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from plaggm import PLAGGMCV
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(5, n=800, seed=0)
    >>> model = PLAGGMCV(cv=3).fit(data.x, confounder=data.confounder)
    >>> plot_edge(model, "x0", "x1").get_xlabel()
    'confounder'
    """
    result = as_result(result)
    if not result.confounder_names:
        raise ValueError(
            "This result was fitted without confounder, so its edges do not vary along one. Fit with "
            "confounder=... to see how they do."
        )
    if result.confounder_grid is None or result.nuisance is None:
        raise ValueError(
            "This result keeps no nuisance, so there is nothing to draw along the confounder. Fit "
            "PLAGGM or PLAGGMCV, which estimate it."
        )
    j, k = _position(result, source, "source"), _position(result, target, "target")
    if j == k:
        raise ValueError(f"source and target must differ; both are {result.names[j]!r}.")
    column = _confounder_column(result, confounder)
    rows = grid_rows(result.confounder_grid, column)
    name = short_label(result.confounder_names[column])
    ax = axes_or_new(ax, WIDE)
    grid = result.confounder_grid[rows, column]
    tests = result.deciding_tests
    level = float(result.omega[j, k] if tests is None else square(tests.estimate)[j, k])
    _shade_unconfounded(ax, result, column, grid)
    levels = result.levels.get(result.confounder_names[column])
    ax.axhline(0.0, color=INK, linewidth=0.8, zorder=1)
    ax.axhline(
        level, color=ACCENT, linestyle="--", linewidth=1.6, label=f"baseline network: {level:.2g}"
    )
    if tests is not None:
        ax.axhspan(
            square(tests.low)[j, k],
            square(tests.high)[j, k],
            color=ACCENT,
            alpha=0.15,
            linewidth=0,
            label="its 95% interval",
        )
    strength = level + result.nuisance[rows, j, k]
    if result.nuisance_error is not None:
        reach = BAND * result.nuisance_error[rows, j, k]
        words = f"± {BAND} standard errors"
        if levels is not None:
            ax.errorbar(grid, strength, reach, color=LINE, linestyle="none", alpha=0.5, label=words)
        else:
            band = strength - reach, strength + reach
            ax.fill_between(grid, *band, color=LINE, alpha=0.2, linewidth=0, label=words)
    ax.plot(
        grid,
        strength,
        color=LINE,
        # Levels have no order.
        linewidth=1.8 if levels is None else 0.0,
        marker="o",
        markersize=3 if levels is None else 5,
        label="estimate at each value" if levels is None else "estimate at each level",
    )
    if levels is not None:
        ax.set_xticks(grid, [short_label(levels[int(code)]) for code in grid])
    ax.set_xlabel(name)
    ax.set_ylabel("strength of the edge")
    pair = f"{short_label(result.names[j])} – {short_label(result.names[k])}"
    ax.set_title(f"{pair} along {name}", loc="left")
    ax.margins(x=0.02, y=0.15)
    open_frame(ax)
    ax.legend(frameon=False)
    return ax


def _shade_unconfounded(ax: Axes, result: GraphResult, column: int, grid: Array) -> None:
    """Shade where the confounder is taken to do no harm, if it has a threshold."""
    if result.threshold is None or np.isnan(result.threshold[column]):
        return
    limit = float(result.threshold[column])
    reference = result.references.get(result.confounder_names[column], 0.0)
    origin = float(reference) if isinstance(reference, int | float) else 0.0
    ax.axvspan(
        max(origin - limit, grid[0]),
        min(origin + limit, grid[-1]),
        color=FAINT,
        alpha=0.4,
        linewidth=0,
        label="taken as unconfounded",
        zorder=0,
    )


def _path(result: GraphResult) -> tuple[Array, Array]:
    if result.alphas is None or result.omega_path is None:
        raise ValueError(
            "This result was fitted at a single penalty and keeps no path. Fit PLAGGMCV, which fits "
            "the whole path and chooses from it."
        )
    return result.alphas, result.omega_path


def _position(result: GraphResult, variable: str | int, argument: str) -> int:
    """Position of a variable given by its name or position."""
    if variable in result.names:
        return result.names.index(str(variable))
    p = len(result.names)
    if isinstance(variable, Integral) and 0 <= variable < p:
        return int(variable)
    near = get_close_matches(str(variable), result.names)
    if near:
        hint = f"Did you mean {', '.join(map(repr, near))}?"
    else:
        hint = f"There are {p}, from {result.names[0]!r} to {result.names[-1]!r}."
    raise ValueError(f"{argument}={variable!r} is not a variable of this result. {hint}")


def _confounder_column(result: GraphResult, confounder: str | None) -> int:
    """Position of a confounder given by its name, which a single one need not be."""
    names = result.confounder_names
    if confounder is None and len(names) == 1:
        return 0
    listed = ", ".join(map(repr, names))
    if confounder is None:
        raise ValueError(f"This result has {len(names)} confounders; choose confounder= {listed}.")
    if confounder not in names:
        raise ValueError(f"confounder={confounder!r} is none of this result; it has {listed}.")
    return names.index(confounder)


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
