"""The pictures of a result folder, as PNG and SVG."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from plaggm import plotting
from plaggm.network_matrices import grid_rows
from plaggm.result import GraphResult

DPI = 150
# Ids in SVG files are derived from this, so that the same network gives the same file.
REPRODUCIBLE: Any = {"svg.hashsalt": "plaggm"}


def draw_figures(
    folder: Path,
    after: GraphResult,
    before: GraphResult | None,
    groups: Mapping[str, str] | None = None,
) -> None:
    """Draw all pictures for which a result has data.

    Parameters
    ----------
    folder : Path
        Existing empty folder.
    after, before : GraphResult
        Results with and without adjustment; ``before`` is None without a confounder.
    groups : mapping of str, optional
        Group of every variable, by which variables are coloured; by default communities of the network.
    """
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    with warnings.catch_warnings(), mpl.rc_context(REPRODUCIBLE):
        # A character that the font lacks is drawn as a box; page and tables contain it.
        warnings.filterwarnings("ignore", message="Glyph")
        for name, draw in _drawings(after, before, groups).items():
            drawn = draw()
            figure = drawn if hasattr(drawn, "savefig") else drawn.figure
            figure.savefig(folder / f"{name}.png", dpi=DPI)
            # The SVG reuses the layout of the PNG, since computing it takes longer than drawing.
            figure.set_layout_engine("none")
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
            plt.close(figure)


def _drawings(
    after: GraphResult, before: GraphResult | None, groups: Mapping[str, str] | None
) -> dict[str, Callable[[], Any]]:
    coloured: Any = "communities" if groups is None else groups
    drawings: dict[str, Callable[[], Any]] = {
        "network": lambda: plotting.plot_network(after, groups=coloured),
        "centrality": lambda: plotting.plot_centrality(after, groups),
        "matrix": lambda: plotting.plot_matrix(after),
    }
    if before is not None:
        drawings["before_after"] = lambda: plotting.plot_before_after(
            before, after, groups=coloured
        )
    if after.edge_table is not None:
        drawings["forest"] = lambda: plotting.plot_forest(after)
    if after.omega_path is not None:
        drawings["path"] = lambda: plotting.plot_path(after)
        if after.criterion_path is not None:
            drawings["selection"] = lambda: plotting.plot_selection(after)
    if after.nuisance is not None and after.confounder_grid is not None:
        j, k, confounder = most_distorted(after)
        if after.moderation_table is not None:
            drawings["moderation"] = lambda: plotting.plot_moderation(after)
        drawings["edge"] = lambda: plotting.plot_edge(after, j, k, confounder=confounder)
    return drawings


def most_distorted(result: GraphResult) -> tuple[int, int, str]:
    """The pair whose strength changes most along a confounder, and that confounder.

    Parameters
    ----------
    result : GraphResult
        Result with a nuisance on a grid of confounders.

    Returns
    -------
    tuple of int, int and str
    """
    if result.nuisance is None or result.confounder_grid is None:
        raise ValueError("The result has no nuisance on a grid of confounders.")
    size = np.abs(result.nuisance)
    index = np.arange(len(result.names))
    size[:, index, index] = -1.0
    row, j, k = np.unravel_index(int(np.argmax(size)), size.shape)
    # In each row of the grid one confounder varies, while the others are zero or missing.
    columns = range(len(result.confounder_names))
    varies = [row in grid_rows(result.confounder_grid, column) for column in columns]
    column = varies.index(True) if True in varies else 0
    return int(j), int(k), result.confounder_names[column]
