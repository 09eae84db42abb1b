"""The network as a matrix of partial correlations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plaggm.plotting.figure import (
    INK,
    Drawable,
    adjustment_of,
    as_result,
    axes_or_new,
    colour_limit,
    drawn_network,
    edges_in_words,
    pyplot,
    short_label,
    strength_colours,
    thinned,
)
from plaggm.result_summary import strength_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Names that fit along one side.
MOST_NAMES = 40
# Names of more than a few variables, or of many letters, stand upright below the matrix.
MOST_LEVEL_NAMES, MOST_LEVEL_LETTERS = 8, 40


def plot_matrix(result: Drawable, ax: Axes | None = None) -> Axes:
    """The network as a coloured matrix of partial correlations, the diagonal left out.

    Where tests declare no edge, the strongest candidates are hatched.

    Parameters
    ----------
    result : GraphResult or fitted estimator
        Network to draw.
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
    >>> plot_matrix(model).get_title()
    '...edge...'
    """
    result = as_result(result)
    ax = axes_or_new(ax, (6.0, 5.2))
    strength, candidates = drawn_network(result)
    colours = strength_colours(colour_limit(strength))
    shown = np.ma.masked_where(np.eye(len(strength), dtype=bool), strength)
    image = ax.imshow(shown, cmap=colours.cmap, norm=colours.norm, interpolation="nearest")
    ax.set_facecolor("0.85")

    ticks = thinned(result.names, MOST_NAMES)
    names = [short_label(result.names[k]) for k in ticks]
    size = 9 if len(ticks) <= MOST_NAMES // 2 else 6
    level = len(names) <= MOST_LEVEL_NAMES and sum(map(len, names)) <= MOST_LEVEL_LETTERS
    ax.set_xticks(ticks, names, rotation=0 if level else 90, fontsize=size)
    ax.set_yticks(ticks, names, fontsize=size)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if candidates:
        for row, column in np.argwhere(strength):
            place = (column - 0.5, row - 0.5)
            ax.add_patch(pyplot().Rectangle(place, 1, 1, fill=False, hatch="///", edgecolor=INK))
    words = edges_in_words(result).replace("dotted", "hatched")
    title = f"{strength_name(result).capitalize()}s, {adjustment_of(result)}"
    ax.set_title(title if result.fdr is None else f"{title}\n{words}")
    ax.figure.colorbar(image, ax=ax, label=strength_name(result), shrink=0.8)
    return ax
