"""The edges that change most along a confounder, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plaggm.moderation_table import USUAL_RATE
from plaggm.plotting.edge_curve import plot_edge
from plaggm.plotting.figure import Drawable, as_result, short_label
from plaggm.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Panels in a row, and in all.
ACROSS, MOST = 3, 6
PANEL = (4.2, 3.2)


def plot_moderation(result: Drawable, *, most: int = MOST) -> Figure:
    """The edges that change most clearly with a confounder, each along it, with bands.

    Where no edge is shown to change, those with the smallest p-values, and the title says so.

    Parameters
    ----------
    result : GraphResult
        Result with tests of which edges change: ``model.to_result(moderation=True)``.
    most : int, default=6
        Number of edges.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from plaggm import PLAGGMCV
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(5, n=800, seed=0)
    >>> model = PLAGGMCV(cv=3).fit(data.x, confounder=data.confounder)
    >>> figure = plot_moderation(model.to_result(moderation=True), most=2)
    >>> len(figure.axes)
    2
    """
    from matplotlib import pyplot as plt

    result = as_result(result)
    table = result.moderation_table
    if table is None:
        raise ValueError(
            "This result holds no tests of which edges change with a confounder. Ask for them with "
            "to_result(moderation=True) of a model that was fitted with one."
        )
    rate = USUAL_RATE if result.fdr is None else result.fdr
    found = table.q_value <= rate
    count = int(np.count_nonzero(found))
    order = np.lexsort((-table.statistic.ravel(), table.p_value.ravel()))
    if count:
        order = order[found.ravel()[order]]
    chosen = order[: max(int(most), 1)]
    rows, columns = np.triu_indices(len(result.names), 1)
    across = min(ACROSS, len(chosen))
    down = -(-len(chosen) // across)
    figure, grid = plt.subplots(
        down, across, figsize=(PANEL[0] * across, PANEL[1] * down + 0.5), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axes in grid.flat[len(chosen) :]:
        axes.set_visible(False)
    for axes, place in zip(grid.flat, chosen, strict=False):
        confounder, pair = divmod(int(place), table.q_value.shape[1])
        j, k = int(rows[pair]), int(columns[pair])
        name = result.confounder_names[confounder]
        plot_edge(result, j, k, axes, confounder=name)
        axes.set_title(
            f"{short_label(result.names[j])} – {short_label(result.names[k])}, "
            f"q = {table.q_value[confounder, pair]:.2g}",
            loc="left",
            fontsize="medium",
        )
        axes.get_legend().remove()
    handles, labels = grid.flat[0].get_legend_handles_labels()
    # The level of the baseline network differs from panel to panel.
    words = ["baseline network" if label.startswith("baseline") else label for label in labels]
    figure.legend(
        handles, words, loc="outside lower center", ncols=3, frameon=False, fontsize="small"
    )
    several = len(result.confounder_names) > 1
    tested = counted(table.q_value.size, "change" if several else "pair")
    figure.suptitle(
        f"{count:,} of {tested} shown at q ≤ {rate:.3g}"
        if several and count
        else f"{count:,} of {tested} shown to change at q ≤ {rate:.3g}"
        if count
        else f"None of {tested} is shown at q ≤ {rate:.3g}; the smallest p-values",
        fontsize="medium",
    )
    return figure
