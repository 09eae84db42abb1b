"""The network as a picture: variables placed by forces or on a circle, edges by sign and strength."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plaggm.array_types import Array, Mask
from plaggm.plotting.figure import (
    DOTTED,
    FAINT,
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
    shortened,
    strength_colours,
    thinned,
)
from plaggm.plotting.nodes import (
    Groups,
    Layout,
    NodeColours,
    names_inside,
    node_colours,
    node_places,
    write_names_beside,
)
from plaggm.result_summary import strength_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Names that fit round the circle.
MOST_NAMES = 48
# Longer names are smaller.
LONG_NAME = 10
# Where names begin, as a part of the radius, and the farthest that they may reach: longer ones are cut.
NAME_AT, FARTHEST = 1.08, 1.8
# Size of a panel in inches and width of a letter as a part of its size, to make room for the names.
PANEL, LETTER = 4.0, 0.62
# Room around places that are not on a circle, as a part of the square they fill.
MARGIN = 1.14
# Width of the strongest edge and of the faintest, in points; opacity of the faintest.
WIDEST, THINNEST, FAINTEST = 4.5, 0.4, 0.35
# Share of the width for edges of unknown strength.
ALIKE = 0.3
# How far chords bend towards the centre: 0 is straight, 1 goes through it.
BEND = 0.25
CHORD_POINTS = 24
# Groups that a legend names.
MOST_GROUPS = 16


def plot_network(
    result: Drawable,
    ax: Axes | None = None,
    *,
    layout: Layout = "force",
    groups: Groups = "communities",
) -> Axes:
    """The network, edges by sign and strength, variables by how strongly they are connected.

    Where tests declare no edge, the strongest candidates are drawn as dotted lines.

    Parameters
    ----------
    result : GraphResult or fitted estimator
        Network to draw.
    ax : Axes, optional
        Axes to draw on; new ones when absent.
    layout : {"force", "circle"} or array of shape (p, 2)
        Where the variables are: strongly connected ones near each other, on a circle in their order, or at
        given places. The layout by forces has no random start: the same network gives the same picture.
    groups : "communities", mapping of str, or None
        Groups that colour the variables: communities of the network, found by modularity; groups that are
        known, by the variables' names; or nothing.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from plaggm import PLAGGMCV
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(5, n=800, seed=0)
    >>> model = PLAGGMCV().fit(data.x, confounder=data.confounder)
    >>> traits = {"x0": "mood", "x1": "mood", "x2": "sleep", "x3": "sleep", "x4": "sleep"}
    >>> ax = plot_network(model, layout="circle", groups=traits)
    >>> [text.get_text() for text in ax.get_legend().get_texts()][:2]
    ['mood', 'sleep']
    """
    result = as_result(result)
    ax = axes_or_new(ax, (6.8, 5.4))
    strength, candidates = drawn_network(result)
    places = node_places(layout, strength)
    nodes = node_colours(groups, result.names, strength)
    colours = strength_colours(colour_limit(strength), lines=True)
    draw_network(
        ax,
        strength,
        result.names,
        colours,
        dotted=candidates,
        places=places,
        nodes=nodes,
        round_circle=is_circle(layout),
    )
    ax.set_title(
        f"{edges_in_words(result)}{chr(10) if candidates else ', '}{adjustment_of(result)}"
    )
    ax.figure.colorbar(colours, ax=ax, label=strength_name(result), shrink=0.7)
    _explain(ax, nodes, colours)
    return ax


def is_circle(layout: Layout) -> bool:
    """Whether names stand round a circle."""
    return isinstance(layout, str) and layout == "circle"


def draw_network(
    ax: Axes,
    strength: Array,
    names: tuple[str, ...],
    colours: Any,
    *,
    places: Array,
    nodes: NodeColours | None = None,
    truth: Array | None = None,
    dotted: bool = False,
    strong: Mask | None = None,
    round_circle: bool = False,
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
    places : ndarray of shape (p, 2)
        Places of the variables.
    nodes : NodeColours, optional
        Groups of the variables.
    truth : ndarray of shape (p, p), optional
    dotted : bool
    strong : ndarray of bool of shape (p, p), optional
        Edges in full colour; the others are faint and grey. All have their colour when absent.
    round_circle : bool
        Whether places are on the unit circle, with chords between them and names around it.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    j, k = np.nonzero(np.triu(strength, 1))
    weight = strength[j, k]
    share = np.abs(weight) / colours.norm.vmax if colours else np.full(len(weight), ALIKE)
    clear = np.ones(len(j), dtype=bool) if strong is None else strong[j, k]
    # Strong edges come last and lie on top.
    order = np.lexsort((np.abs(weight), clear))
    j, k, weight, share, clear = j[order], k[order], weight[order], share[order], clear[order]
    styles: Any = DOTTED if dotted else "solid"
    if truth is not None and not dotted:
        styles = ["solid" if true else DOTTED for true in truth[j, k] != 0.0]
    inks = np.array(colours.to_rgba(weight) if colours else [to_rgba(INK)] * len(j)).reshape(-1, 4)
    inks[:, 3] = FAINTEST + (1.0 - FAINTEST) * share if colours else 1.0
    inks[~clear] = to_rgba(FAINT, FAINTEST)
    start, end = places[j], places[k]
    ax.add_collection(
        LineCollection(
            list(chords(start, end) if round_circle else np.stack([start, end], axis=1)),
            colors=inks,
            linewidths=np.where(clear, line_width(share), THINNEST),
            linestyles=styles,
            zorder=1,
        )
    )
    total = np.abs(strength).sum(axis=1)
    inside = names_inside(names) and not round_circle
    size = 260.0 if inside else np.clip(900.0 / max(len(names), 1), 8.0, 60.0)
    ax.scatter(
        places[:, 0],
        places[:, 1],
        s=size * (0.75 + 0.5 * total / (total.max() or 1.0)),
        color="white" if inside and nodes is None else INK if nodes is None else nodes.fills(),
        edgecolor="white"
        if nodes is None and not inside
        else INK
        if nodes is None
        else nodes.outlines(),
        linewidth=1.1,
        zorder=2,
    )
    reach = MARGIN
    if round_circle:
        reach = _write_names(ax, places, names)
    else:
        write_names_beside(ax, places, names, total)
        reach *= float(np.abs(places).max(initial=1.0))
    ax.set_aspect("equal")
    ax.set_xlim(-reach, reach, auto=True)
    ax.set_ylim(-reach, reach, auto=True)
    ax.set_axis_off()


def line_width(share: Any) -> Any:
    """Width in points of an edge whose strength is this share of the largest."""
    return THINNEST + (WIDEST - THINNEST) * share


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


def _explain(ax: Axes, nodes: NodeColours | None, colours: Any) -> None:
    """A legend of groups and of widths below the picture."""
    from matplotlib.lines import Line2D

    handles: list[Any] = []
    if nodes is not None:
        shown = NodeColours(np.arange(min(len(nodes.titles), MOST_GROUPS)), nodes.titles)
        handles += [
            Line2D(
                [],
                [],
                linestyle="none",
                marker="o",
                markerfacecolor=fill,
                markeredgecolor=line,
                label=label_text(shortened(title, 3 * LONGEST_NAME)),
            )
            for fill, line, title in zip(
                shown.fills(), shown.outlines(), nodes.titles, strict=False
            )
        ]
    longest = 0 if nodes is None else max(map(len, nodes.titles))
    limit = colours.norm.vmax
    handles += [
        Line2D(
            [],
            [],
            color=INK,
            linewidth=THINNEST + (WIDEST - THINNEST) * part,
            label=f"{part * limit:.2g}",
        )
        for part in (0.25, 1.0)
    ]
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.01),
        ncols=1 if longest > 2 * LONGEST_NAME else 2 if longest > LONGEST_NAME else 4,
        fontsize=7,
        frameon=False,
    )


def _write_names(ax: Axes, points: Array, names: tuple[str, ...]) -> float:
    """Write the names round the circle; returns how far from its centre they reach."""
    shown = thinned(names, MOST_NAMES)
    if len(shown) > 1 and len(names) - shown[-1] < shown[1]:
        # Round the circle the last name would crowd the first.
        shown.pop()
    longest = max(len(names[k]) for k in shown)
    size = 9 if longest <= LONG_NAME and len(shown) <= MOST_NAMES // 2 else 7
    letter = LETTER * size / 72.0 / (PANEL / 2.0)
    words = [shortened(names[k], int((1.0 - NAME_AT / FARTHEST) / letter)) for k in shown]
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
            in_layout=False,
        )
    return NAME_AT / (1.0 - max(map(len, words)) * letter)
