"""Pictures of edges by the network that each region belongs to: a matrix in blocks, and chords."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.plotting.brain import DPI, MOST_EDGES, edge_note, figures, strongest
from plaggm.plotting.figure import (
    DIVERGING,
    FAINT,
    INK,
    colour_limit,
    label_text,
    off_diagonal,
    save_figure,
    shortened,
    strength_colours,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Part of the circle that is left empty between two networks.
GAP = 0.012
# How far a chord bends towards the centre, from 0 (straight) to 1.
BEND = 0.85
# Longest name of a network, and networks that are named; smaller ones would cover each other.
NAME_LENGTH, SMALLEST_NAMED = 14, 0.02


def by_network(networks: Sequence[str]) -> tuple[Index, list[tuple[str, int, int]]]:
    """Order of the regions by network, and each network with its first and last place in it.

    Parameters
    ----------
    networks : sequence of p str

    Returns
    -------
    order : ndarray of int of shape (p,)
    spans : list of (name, start, stop)

    Examples
    --------
    >>> order, spans = by_network(["Vis", "Default", "Vis"])
    >>> order.tolist(), spans
    ([0, 2, 1], [('Vis', 0, 2), ('Default', 2, 3)])
    """
    names = list(dict.fromkeys(networks))
    number = np.array([names.index(name) for name in networks])
    order = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number, minlength=len(names)))
    starts = [0, *ends[:-1].tolist()]
    return order, list(zip(names, starts, ends.tolist(), strict=True))


def network_pictures(path: Path, drawn: dict[str, Array], networks: Sequence[str]) -> None:
    """A row for each network of edges: its matrix in blocks, and its edges as chords.

    Parameters
    ----------
    path : Path
        PNG.
    drawn : dict of str to ndarray of shape (p, p)
        Edges by the title of their row, zero where there is none.
    networks : sequence of p str
        Network of each region.
    """
    plt = figures()
    order, spans = by_network(networks)
    top = colour_limit(*map(off_diagonal, drawn.values()))
    figure, axes = plt.subplots(
        len(drawn), 2, figsize=(11.0, 5.4 * len(drawn)), squeeze=False, layout="constrained"
    )
    for (left, right), (name, matrix) in zip(axes, drawn.items(), strict=True):
        ordered = off_diagonal(matrix)[np.ix_(order, order)]
        image = left.imshow(ordered, cmap=DIVERGING, vmin=-top, vmax=top, interpolation="nearest")
        _blocks(left, spans, len(order))
        left.set_title(
            f"{label_text(name)}: {edge_note(matrix, MOST_EDGES)}", fontsize=10, color=INK
        )
        figure.colorbar(image, ax=left, label="partial correlation", shrink=0.75)
        chords(right, strongest(ordered), spans, top)
    save_figure(figure, path, dpi=DPI)


def _blocks(ax: Axes, spans: Sequence[tuple[str, int, int]], p: int) -> None:
    """Lines between the networks of a matrix, and their names."""
    for _, start, _ in spans[1:]:
        ax.axhline(start - 0.5, color=FAINT, linewidth=0.8)
        ax.axvline(start - 0.5, color=FAINT, linewidth=0.8)
    named = [span for span in spans if (span[2] - span[1]) / p >= SMALLEST_NAMED]
    places = [(start + stop - 1) / 2.0 for _, start, stop in named]
    names = [label_text(shortened(name, NAME_LENGTH)) for name, _, _ in named]
    ax.set_yticks(places, names, fontsize=8)
    ax.set_xticks(places, names, fontsize=8, rotation=45, ha="right")
    ax.tick_params(length=0)


def chords(ax: Axes, matrix: Array, spans: Sequence[tuple[str, int, int]], top: float) -> None:
    """Regions on a circle, an arc for each network, and a chord for each edge.

    Parameters
    ----------
    ax : matplotlib Axes
    matrix : ndarray of shape (p, p)
        Edges, regions in the order of their networks.
    spans : list of (name, start, stop)
        Places of the networks, see :func:`by_network`.
    top : float
        Strength at which colours end.
    """
    from matplotlib import colormaps
    from matplotlib.patches import PathPatch, Wedge
    from matplotlib.path import Path as Curve

    p = len(matrix)
    part = (1.0 - GAP * len(spans)) / p
    angles = np.empty(p)
    palette = colormaps["tab20"]
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_xlim(-1.6, 1.6)
    ax.set_ylim(-1.45, 1.45)
    for place, (name, start, stop) in enumerate(spans):
        # Clockwise from the top.
        share = np.array([start, stop]) * part + GAP * (place + 0.5)
        first, last = 0.5 * np.pi - 2.0 * np.pi * share
        steps = (np.arange(stop - start) + 0.5) / (stop - start)
        angles[start:stop] = first + steps * (last - first)
        colour = palette(place % palette.N)
        ends = np.degrees([last, first])
        ax.add_patch(Wedge((0.0, 0.0), 1.08, *ends, width=0.06, color=colour, linewidth=0))
        if (stop - start) / p >= SMALLEST_NAMED:
            middle = 0.5 * (first + last)
            x, y = 1.13 * np.cos(middle), 1.13 * np.sin(middle)
            side = "left" if x > 0.0 else "right"
            short = label_text(shortened(name, NAME_LENGTH))
            ax.text(x, y, short, ha=side, va="center", fontsize=9, color=INK)
    spots = np.column_stack([np.cos(angles), np.sin(angles)])
    rows, columns = np.nonzero(np.triu(matrix, 1))
    scale = strength_colours(top, lines=True)
    # The strongest last, on top of the others.
    for k in np.argsort(np.abs(matrix[rows, columns]), kind="stable"):
        value = matrix[rows[k], columns[k]]
        one, other = spots[rows[k]], spots[columns[k]]
        curve = Curve(
            [one, (1.0 - BEND) * 0.5 * (one + other), other],
            [Curve.MOVETO, Curve.CURVE3, Curve.CURVE3],
        )
        ax.add_patch(
            PathPatch(
                curve,
                facecolor="none",
                edgecolor=scale.to_rgba(value),
                linewidth=0.6 + 1.8 * min(abs(value) / top, 1.0),
                alpha=0.8,
            )
        )
