"""The network as a picture: variables on a circle, edges as chords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from plaggm.arguments import real_array
from plaggm.array_types import Array
from plaggm.plotting.figure import (
    DOTTED,
    INK,
    LONGEST_NAME,
    Drawable,
    adjustment_of,
    as_result,
    axes_or_new,
    colour_limit,
    drawn_network,
    edges_in_words,
    label_text,
    off_diagonal,
    pyplot,
    shortened,
    strength_colours,
    thinned,
)
from plaggm.result import GraphResult
from plaggm.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Names that fit round the circle.
MOST_NAMES = 48
# Longer names are smaller.
LONG_NAME = 10
# Where names begin, as a part of the radius.
NAME_AT = 1.08
# Size of a panel in inches and width of a letter as a part of its size, to make room for the names.
PANEL, LETTER = 4.0, 0.62
# Width of the strongest edge and of the faintest, in points.
WIDEST, THINNEST = 4.5, 0.4
# Share of the width for edges of unknown strength.
ALIKE = 0.3
# How far chords bend towards the centre: 0 is straight, 1 goes through it.
BEND = 0.25
CHORD_POINTS = 24


def plot_network(result: Drawable, ax: Axes | None = None) -> Axes:
    """The network with its variables on a circle, in their order, edges by sign and strength.

    The same variables are always at the same place, so two networks can be laid side by side. Where tests
    declare no edge, the strongest candidates are drawn as dotted lines.

    Parameters
    ----------
    result : GraphResult or fitted estimator
        Network to draw.
    ax : Axes, optional
        Axes to draw on; new ones when absent.

    Returns
    -------
    Axes
    """
    result = as_result(result)
    ax = axes_or_new(ax, (6.2, 5.4))
    strength, candidates = drawn_network(result)
    colours = strength_colours(colour_limit(strength), lines=True)
    draw_network(ax, strength, result.names, colours, dotted=candidates)
    ax.set_title(
        f"{edges_in_words(result)}{chr(10) if candidates else ', '}{adjustment_of(result)}"
    )
    ax.figure.colorbar(colours, ax=ax, label="partial correlation", shrink=0.7)
    return ax


def plot_before_after(before: Drawable, after: Drawable, truth: ArrayLike | None = None) -> Figure:
    """Two networks of the same variables side by side, with one colour scale.

    Parameters
    ----------
    before, after : GraphResult or fitted estimator
        Two results, for instance without and with the confounder.
    truth : array of shape (p, p), optional
        The true network: Ω0, or a Boolean matrix of its edges. It gets a panel of its own, and edges
        that are not in it are dotted in the other two.

    Returns
    -------
    Figure
    """
    before, after = as_result(before, "before"), as_result(after, "after")
    if before.names != after.names:
        raise ValueError(
            "before and after must be networks of the same variables in the same order; got "
            f"{_name_list(before)} and {_name_list(after)}."
        )
    names = before.names
    fits = [drawn_network(result) for result in (before, after)]
    true = None if truth is None else _true_strength(truth, len(names))
    only_edges = np.asarray(truth).dtype == np.bool_
    known = [] if true is None or only_edges else [true]
    colours = strength_colours(
        colour_limit(*(strength for strength, _ in fits), *known), lines=True
    )
    n_panels = 2 if true is None else 3
    figure, axes = pyplot().subplots(
        1,
        n_panels,
        figsize=(4.3 * n_panels + 0.7, 5.0 if true is None else 5.3),
        layout="constrained",
    )
    panels = list(axes)
    if true is not None:
        ax = panels.pop(0)
        draw_network(ax, true, names, None if only_edges else colours)
        ax.set_title(f"Truth\n{_edge_count(true)}")
    for ax, result, (strength, candidates) in zip(panels, (before, after), fits, strict=True):
        draw_network(ax, strength, names, colours, truth=true, dotted=candidates)
        words = adjustment_of(result)
        found = "" if candidates else _recovered(strength, true)
        ax.set_title(f"{words[0].upper()}{words[1:]}\n{edges_in_words(result)}{found}")
    for ax in axes:
        # The layout makes room for titles above the whole panel, not above a square within it.
        ax.set_adjustable("datalim")
    figure.colorbar(colours, ax=list(axes), label="partial correlation", shrink=0.7, pad=0.02)
    if true is not None:
        _explain_lines(figure)
    return figure


def draw_network(
    ax: Axes,
    strength: Array,
    names: tuple[str, ...],
    colours: Any,
    *,
    truth: Array | None = None,
    dotted: bool = False,
) -> None:
    """Draw one network; edges that are not in ``truth`` are dotted, or all of them.

    Parameters
    ----------
    ax : Axes
    strength : ndarray of shape (p, p)
        Zero where there is no edge.
    names : tuple of p str
    colours : ScalarMappable or None
        Its upper limit is the strength of the widest line. None draws all edges alike.
    truth : ndarray of shape (p, p), optional
    dotted : bool
    """
    from matplotlib.collections import LineCollection

    points = circle(len(names))
    j, k = np.nonzero(np.triu(strength, 1))
    weight = strength[j, k]
    # Strong edges come last and lie on top.
    order = np.argsort(np.abs(weight), kind="stable")
    j, k, weight = j[order], k[order], weight[order]
    share = np.abs(weight) / colours.norm.vmax if colours else np.full(len(weight), ALIKE)
    styles: Any = DOTTED if dotted else "solid"
    if truth is not None and not dotted:
        styles = ["solid" if true else DOTTED for true in truth[j, k] != 0.0]
    ax.add_collection(
        LineCollection(
            list(chords(points[j], points[k])),
            colors=colours.to_rgba(weight) if colours else INK,
            linewidths=THINNEST + (WIDEST - THINNEST) * share,
            linestyles=styles,
            zorder=1,
        )
    )
    size = np.clip(900 / len(names), 8, 60)
    ax.scatter(
        points[:, 0], points[:, 1], s=size, color=INK, edgecolor="white", linewidth=0.8, zorder=2
    )
    reach = _write_names(ax, points, names)
    ax.set_aspect("equal")
    ax.set_xlim(-reach, reach, auto=True)
    ax.set_ylim(-reach, reach, auto=True)
    ax.set_axis_off()


def circle(p: int) -> Array:
    """Places of p variables on the unit circle, clockwise from the top.

    Examples
    --------
    >>> circle(4).round(6) + 0.0
    array([[ 0.,  1.],
           [ 1.,  0.],
           [ 0., -1.],
           [-1.,  0.]])
    """
    angle = 0.5 * np.pi - 2.0 * np.pi * np.arange(p) / p
    return np.column_stack([np.cos(angle), np.sin(angle)])


def chords(start: Array, end: Array) -> Array:
    """Curves between points, bent towards the centre: shape (k, CHORD_POINTS, 2).

    Quadratic Bézier curves whose control point is the midpoint drawn towards the origin.
    """
    control = (1.0 - BEND) * 0.5 * (start + end)
    t = np.linspace(0.0, 1.0, CHORD_POINTS)[None, :, None]
    return (
        (1.0 - t) ** 2 * start[:, None]
        + 2.0 * t * (1.0 - t) * control[:, None]
        + t**2 * end[:, None]
    )


def _explain_lines(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    styles: Any = {"edge of the truth": "solid", "false edge": DOTTED}
    figure.legend(
        handles=[
            Line2D([], [], label=label, linestyle=style, color=INK, linewidth=2.0)
            for label, style in styles.items()
        ],
        loc="outside lower center",
        ncols=2,
        frameon=False,
    )


def _write_names(ax: Axes, points: Array, names: tuple[str, ...]) -> float:
    """Write the names round the circle; returns how far from its centre they reach."""
    shown = thinned(names, MOST_NAMES)
    if len(shown) > 1 and len(names) - shown[-1] < shown[1]:
        # Round the circle the last name would crowd the first.
        shown.pop()
    words = [shortened(names[k], LONGEST_NAME) for k in shown]
    longest = max(map(len, words))
    size = 9 if longest <= LONG_NAME and len(shown) <= MOST_NAMES // 2 else 7
    for k, name in zip(shown, words, strict=True):
        x, y = points[k]
        angle = np.degrees(np.arctan2(y, x))
        left = x < -1e-9
        ax.text(
            NAME_AT * x,
            NAME_AT * y,
            label_text(name),
            rotation=angle + 180.0 if left else angle,
            rotation_mode="anchor",
            ha="right" if left else "left",
            va="center",
            fontsize=size,
            color=INK,
        )
    # Part of half a panel that the longest name takes.
    share = longest * LETTER * size / 72.0 / (PANEL / 2.0)
    return NAME_AT / (1.0 - share)


def _true_strength(truth: ArrayLike, p: int) -> Array:
    values = real_array(truth, "truth")
    if values.shape != (p, p):
        raise ValueError(
            f"truth must be a matrix over the same {p} variables as the networks; got shape "
            f"{values.shape}."
        )
    return off_diagonal(values)


def _edge_count(strength: Array) -> str:
    return counted(int(np.count_nonzero(np.triu(strength, 1))), "edge")


def _recovered(strength: Array, truth: Array | None) -> str:
    if truth is None:
        return ""
    edges = np.triu(strength, 1) != 0.0
    true = int(np.count_nonzero(edges & (truth != 0.0)))
    return f": {true} true, {int(edges.sum()) - true} false"


def _name_list(result: GraphResult) -> str:
    return f"{len(result.names)} variables from {result.names[0]!r} to {result.names[-1]!r}"
