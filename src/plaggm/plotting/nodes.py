"""Variables in a picture of a network: positions, colours and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from plaggm.arguments import real_array
from plaggm.array_types import Array, Index
from plaggm.centrality_table import group_labels
from plaggm.core.graphs.communities import find_communities
from plaggm.core.graphs.force_layout import circle, force_layout
from plaggm.plotting.figure import INK, label_text, shortened
from plaggm.wording import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Where variables are: by forces along the edges, on a circle, or at given places (p, 2).
Layout: TypeAlias = Literal["force", "circle"] | ArrayLike
# What colours the variables: communities of the network, groups by name, or nothing.
Groups: TypeAlias = Literal["communities"] | Mapping[str, Any] | None

# Fills that neither edges of any sign nor each other resemble; after them the same as rings.
PALETTE = (
    "#3aa79b",
    "#9a7bcb",
    "#dcb23c",
    "#7bb661",
    "#d07fa6",
    "#a1825a",
    "#7c9bb3",
    "#b3b3b3",
)
ALONE = "#e3e3e3"
# Names of variables by which a community is called, and letters of each.
NAMED, LONGEST_MEMBER = 3, 12
# Longest name that is written inside its node, and most variables with names inside.
INSIDE, MOST_INSIDE = 4, 40
# Names beside their nodes; of more variables those of the strongest.
MOST_BESIDE = 45
# Letters of a name beside its node.
LONGEST_BESIDE = 18


@dataclass(frozen=True, slots=True)
class NodeColours:
    """The group of every variable, and the names of the groups.

    Attributes
    ----------
    labels : ndarray of int of shape (p,)
        Number of the group; -1 for none.
    titles : tuple of str
        One for each group.
    """

    labels: Index
    titles: tuple[str, ...]

    def fills(self) -> list[str]:
        """Colour inside every variable; white for rings."""
        rounds = self.labels // len(PALETTE)
        return [
            "white" if turn % 2 and label >= 0 else colour
            for turn, label, colour in zip(rounds, self.labels, self.outlines(), strict=True)
        ]

    def outlines(self) -> list[str]:
        """Colour of every variable's group."""
        return [ALONE if k < 0 else PALETTE[k % len(PALETTE)] for k in self.labels]


def node_places(layout: Layout, *networks: Array) -> Array:
    """Places of the variables, common to all the networks: shape (p, 2).

    Parameters
    ----------
    layout : {"force", "circle"} or array of shape (p, 2)
    *networks : ndarray of shape (p, p)
        Networks whose edges attract, each as strong as the others.

    Examples
    --------
    >>> node_places("circle", np.zeros((2, 2))).round(6).tolist()
    [[0.0, 1.0], [0.0, -1.0]]
    """
    p = len(networks[0])
    if isinstance(layout, str):
        if layout == "circle":
            return circle(p)
        if layout == "force":
            return force_layout(np.mean([np.abs(network) for network in networks], axis=0))
        raise ValueError(
            f"layout must be 'force', 'circle' or places of shape ({p}, 2); got {shown(layout)}."
        )
    places = real_array(layout, "layout")
    if places.shape != (p, 2):
        raise ValueError(
            f"layout must be 'force', 'circle' or places of shape ({p}, 2); got shape {places.shape}."
        )
    return places


def node_colours(groups: Groups, names: Sequence[str], network: Array) -> NodeColours | None:
    """The group of every variable; None where nothing is to be coloured.

    Parameters
    ----------
    groups : "communities", mapping of str, or None
        See :func:`plaggm.plotting.plot_network`.
    names : sequence of p str
    network : ndarray of shape (p, p)
        Network whose communities are found.
    """
    if groups is None:
        return None
    if isinstance(groups, str):
        if groups != "communities":
            raise ValueError(
                "groups must be 'communities', a mapping of variables to groups, or None; got "
                f"{shown(groups)}."
            )
        labels = find_communities(network)
        if labels.max() < 1:
            # One community says nothing.
            return None
        strength = np.abs(network).sum(axis=1)
        titles = []
        for label in range(labels.max() + 1):
            members = np.flatnonzero(labels == label)
            first = members[np.argsort(-strength[members], kind="stable")][:NAMED]
            more = f" and {len(members) - NAMED} more" if len(members) > NAMED else ""
            titles.append(", ".join(shortened(names[k], LONGEST_MEMBER) for k in first) + more)
        return NodeColours(labels, tuple(titles))
    found = group_labels(tuple(names), groups)
    titles = list(dict.fromkeys(found))
    return NodeColours(np.array([titles.index(one) for one in found]), tuple(titles))


def names_inside(names: Sequence[str]) -> bool:
    """Whether names are short and few enough to stand inside their nodes."""
    return len(names) <= MOST_INSIDE and max(map(len, names), default=0) <= INSIDE


def write_names_beside(ax: Axes, places: Array, names: Sequence[str], strength: Array) -> None:
    """Write names below their nodes, with a halo; of many variables those of the strongest.

    Parameters
    ----------
    ax : Axes
    places : ndarray of shape (p, 2)
    names : sequence of p str
    strength : ndarray of shape (p,)
        By which the names are chosen.
    """
    from matplotlib.patheffects import withStroke

    inside = names_inside(names)
    order = np.argsort(-strength, kind="stable")[: MOST_INSIDE if inside else MOST_BESIDE]
    size = 8 if len(names) <= MOST_BESIDE // 2 else 7
    for k in sorted(order):
        ax.annotate(
            label_text(shortened(names[k], LONGEST_BESIDE)),
            places[k],
            xytext=(0, 0) if inside else (0, -5 - 0.4 * size),
            textcoords="offset points",
            ha="center",
            va="center" if inside else "top",
            fontsize=size,
            color="black" if inside else INK,
            path_effects=[] if inside else [withStroke(linewidth=2.2, foreground="white")],
            zorder=4,
            # A long name must not take the room of the picture.
            in_layout=False,
        )
