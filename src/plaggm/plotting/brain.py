"""Pictures of brains and of studies: glass brains, differences, curves of diagnosis and residual motion."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plaggm.array_types import Array
from plaggm.fmri.atlas import Atlas
from plaggm.fmri.comparison import FAMILY_WISE
from plaggm.fmri.diagnosis import Diagnosis
from plaggm.fmri.motion import ResidualMotion, no_edge_varies
from plaggm.fmri.treatments import METHODS
from plaggm.plotting.figure import (
    FAINT,
    INK,
    colour_limit,
    label_text,
    off_diagonal,
    pyplot,
    save_figure,
)
from plaggm.wording import counted

# Left, back, right and top: nilearn's letters for all angles at once. An atlas whose regions cover both
# hemispheres is drawn on the left half alone.
ANGLES, LEFT_ANGLES = "lyrz", "ortho"
DPI = 110
# Panels of residual motion side by side: more of them could not be read.
PANELS_IN_A_ROW = 3
# Edges drawn in a glass brain; weaker ones would only cover them.
MOST_EDGES = 150
# Okabe and Ito's colours for colour-blind readers.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
SHOWN_REGIONS = 12
# Regions named in the three-dimensional view.
MOST_NAMES = 8
# Instead of the letters with which HTML begins and ends.
HARMLESS = str.maketrans("<>", "‹›")


def figures() -> Any:
    """``matplotlib.pyplot`` drawing to files only."""
    import matplotlib

    matplotlib.use("Agg")
    return pyplot()


def density(matrix: Array) -> float:
    """Part of the pairs that are edges."""
    p = len(matrix)
    return float(np.count_nonzero(np.triu(matrix, 1)) / (p * (p - 1) / 2))


def strongest(matrix: Array) -> Array:
    """The strongest edges of a network, the others set to zero: shape (p, p)."""
    # By rounding alone a matrix may differ from its transpose, and nilearn would draw arrows.
    edges = off_diagonal((matrix + matrix.T) / 2.0)
    size = np.abs(edges[np.triu_indices(len(edges), 1)])
    if np.count_nonzero(size) > MOST_EDGES:
        edges[np.abs(edges) < np.partition(size, -MOST_EDGES)[-MOST_EDGES]] = 0.0
    return edges


def one_sided(atlas: Atlas) -> bool:
    """Whether all regions of an atlas with coordinates are drawn on the left half of the brain.

    nilearn's ``find_parcellation_cut_coords`` gives a region that covers both hemispheres the place of its
    left half.
    """
    return atlas.coordinates is not None and bool(np.all(atlas.coordinates[:, 0] <= 0.0))


def glass_brains(
    path: Path,
    networks: dict[str, Array],
    atlas: Atlas,
) -> None:
    """One row of glass brains for each network, from several sides, with a common colour scale.

    Parameters
    ----------
    path : Path
        PNG.
    networks : dict of str to ndarray of shape (p, p)
        Networks by the title of their row.
    atlas : Atlas
        An atlas that has coordinates.
    """
    from nilearn.plotting import plot_connectome

    plt = figures()
    if atlas.coordinates is None:
        raise ValueError("Glass brains need the coordinates of the regions.")
    shown = {name: strongest(matrix) for name, matrix in networks.items()}
    top = colour_limit(*shown.values())
    figure, axes = plt.subplots(
        len(shown), 1, figsize=(10.5, 2.9 * len(shown) + 0.3), squeeze=False
    )
    for ax, (name, matrix) in zip(axes[:, 0], shown.items(), strict=True):
        plot_connectome(
            matrix,
            atlas.coordinates,
            node_color=_node_colours(len(matrix)),
            node_size=18,
            edge_cmap="RdBu_r",
            edge_vmin=-top,
            edge_vmax=top,
            display_mode=LEFT_ANGLES if one_sided(atlas) else ANGLES,
            axes=ax,
            figure=figure,
            alpha=0.6,
            # nilearn has no colour bar for a network without edges.
            colorbar=bool(np.any(matrix)),
            edge_kwargs={"linewidth": 1.6},
        )
        ax.set_title(
            f"{label_text(name)}: {edge_note(networks[name], MOST_EDGES)}",
            fontsize=11,
            color=INK,
        )
    save_figure(figure, path, dpi=DPI, bbox_inches="tight")


def edge_note(matrix: Array, most: float = np.inf) -> str:
    """How many edges a network has, for the title of a picture that shows so many at most."""
    edges = int(np.count_nonzero(np.triu(off_diagonal(matrix), 1)))
    note = f", {most} strongest shown" if edges > most else ""
    share = density(matrix)
    part = f"{share:.0%}" if share >= 0.01 or not share else "under 1%"
    return f"{counted(edges, 'edge')} ({part} of all pairs{note})"


def _node_colours(count: int) -> list[Any]:
    from matplotlib import colormaps

    return [colormaps["viridis"](k / max(count - 1, 1)) for k in range(count)]


def interactive_view(matrix: Array, atlas: Atlas, title: str) -> str:
    """The network in three dimensions, to be turned with the mouse: an HTML page by nilearn.

    nilearn puts names into a script as they are, so none of them may hold what ends it.

    Parameters
    ----------
    matrix : ndarray of shape (p, p)
    atlas : Atlas
        An atlas that has coordinates.
    title : str

    Returns
    -------
    str
        Empty if there are no edges.
    """
    from nilearn.plotting import view_connectome

    edges = strongest(matrix)
    top = float(np.abs(edges).max())
    if top == 0.0:
        # nilearn cannot draw a network without edges.
        return ""
    view = view_connectome(
        edges,
        atlas.coordinates,
        edge_cmap="RdBu_r",
        symmetric_cmap=True,
        linewidth=4.0,
        node_size=5.0,
        title=title.translate(HARMLESS),
        title_fontsize=14,
        colorbar_fontsize=12,
        node_labels=[name.translate(HARMLESS) for name in _few_names(edges, atlas.names)],
    )
    return str(view.html)


def _few_names(edges: Array, names: tuple[str, ...]) -> list[str]:
    """Names of the most connected regions, empty for the others to avoid overlaps."""
    order = np.argsort(-np.abs(edges).sum(axis=1), kind="stable")
    shown = set(order[:MOST_NAMES].tolist())
    return [name if k in shown else "" for k, name in enumerate(names)]


def matrices(path: Path, networks: dict[str, Array]) -> None:
    """The networks as matrices side by side, on one colour scale; see :func:`glass_brains`."""
    plt = figures()
    top = colour_limit(*map(off_diagonal, networks.values()))
    figure, axes = plt.subplots(
        1,
        len(networks),
        figsize=(3.3 * len(networks) + 0.8, 3.6),
        squeeze=False,
        layout="constrained",
    )
    for ax, (name, matrix) in zip(axes[0], networks.items(), strict=True):
        drawn = ax.imshow(off_diagonal(matrix), cmap="RdBu_r", vmin=-top, vmax=top)
        note = edge_note(matrix)
        ax.set_title(f"{label_text(name)}\n{note}", fontsize=9, color=INK)
        ax.set_xticks([])
        ax.set_yticks([])
    figure.colorbar(drawn, ax=axes[0].tolist(), label="partial correlation", shrink=0.8)
    save_figure(figure, path, dpi=DPI)


def different_regions(
    path: Path, names: tuple[str, ...], statistic: Array, p_family: Array
) -> None:
    """The regions by how much their edges differ between the groups, with family-wise p-values.

    Parameters
    ----------
    path : Path
        PNG.
    names : tuple of p str
    statistic, p_family : ndarray of shape (p,)
    """
    plt = figures()
    shown = np.argsort(-statistic, kind="stable")[:SHOWN_REGIONS][::-1]
    figure, ax = plt.subplots(figsize=(7.5, 0.32 * len(shown) + 1.2), layout="constrained")
    ax.barh(
        [label_text(names[k]) for k in shown],
        statistic[shown],
        color=[COLOURS[1] if p_family[k] < FAMILY_WISE else FAINT for k in shown],
    )
    for y, k in enumerate(shown):
        ax.text(statistic[k], y, f" p = {p_family[k]:.2g}", va="center", fontsize=8, color=INK)
    ax.set_xlabel("mean squared difference of a region's edges between the groups")
    ax.set_xlim(0.0, float(statistic.max()) * 1.15)
    ax.tick_params(axis="y", labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title("p: family-wise over all regions; coloured below 0.05", fontsize=9, color=INK)
    save_figure(figure, path, dpi=DPI)


def diagnosis_curves(
    path: Path, found: Sequence[Diagnosis], motion: tuple[float, float, float] | None
) -> None:
    """AUC along the classifier's path, with bands, for every method and both kinds of features."""
    plt = figures()
    kinds = list(dict.fromkeys(one.features for one in found))
    figure, axes = plt.subplots(
        1,
        len(kinds),
        figsize=(4.8 * len(kinds), 3.9),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    titles = {"values": "strengths and signs of edges", "signs": "signs of edges only"}
    for ax, kind in zip(axes[0], kinds, strict=True):
        ax.axhline(0.5, color=FAINT, linestyle=":")
        if motion is not None:
            ax.axhline(motion[0], color="0.4", linestyle="--", linewidth=1.0)
            ax.text(
                found[0].parts[-1], motion[0], "mean FD alone ", fontsize=8, ha="right", va="bottom"
            )
        own = [one for one in found if one.features == kind]
        for number, one in enumerate(own):
            colour = COLOURS[number % len(COLOURS)]
            ax.plot(
                one.parts,
                one.path_auc,
                color=colour,
                # More methods than colours.
                linestyle="-" if number < len(COLOURS) else "--",
                label=f"{one.title}: {one.auc:.2f}",
                linewidth=1.8,
            )
            ax.fill_between(
                one.parts, one.path_low, one.path_high, color=colour, alpha=0.13, linewidth=0
            )
        ax.set_xscale("log")
        ax.invert_xaxis()
        ax.set_xlabel("penalty of the classifier, as a part of the largest")
        ax.set_title(titles.get(kind, kind), fontsize=10, color=INK)
        ax.legend(frameon=False, fontsize=8, loc="lower right", title="AUC, penalty by inner CV")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("AUC on subjects left out")
    axes[0, 0].set_ylim(0.0, 1.02)
    save_figure(figure, path, dpi=DPI)


def residual_motion_plot(
    path: Path, found: dict[str, ResidualMotion], distances: Array | None
) -> None:
    """Each edge's correlation with mean displacement, against its length."""
    plt = figures()
    columns = min(len(found), PANELS_IN_A_ROW)
    rows = -(-len(found) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(3.4 * columns + 0.4, 3.3 * rows), sharey=True, squeeze=False
    )
    for ax in axes.flat[len(found) :]:
        ax.remove()
    for ax, (method, one) in zip(axes.flat, found.items(), strict=False):
        ax.axhline(0.0, color=FAINT, linewidth=0.8)
        if distances is None:
            ax.hist(
                one.correlation[np.isfinite(one.correlation)],
                bins=40,
                orientation="horizontal",
                color=COLOURS[0],
            )
            ax.set_xlabel("edges")
        else:
            length = distances[np.triu_indices(len(distances), 1)]
            ax.scatter(length, one.correlation, s=3, alpha=0.35, color=COLOURS[0], linewidths=0)
            # Steps of the means of edges that are about as long.
            table = one.lengths
            edges = [*table["from"], *table["to"].tail(1)]
            if len(table):
                ax.stairs(table["mean_correlation"], edges, baseline=None, color=COLOURS[1], lw=2)
            ax.set_xlabel("distance in mm")
        told = (
            "no edge varies across subjects"
            if no_edge_varies(one)
            else f"{one.significant:.1%} of edges below p = 0.05\n(chance: up to {one.chance:.0%})"
        )
        ax.set_title(f"{METHODS.get(method, method)}\n{told}", fontsize=9, color=INK)
        ax.spines[["top", "right"]].set_visible(False)
    for first in axes[:, 0]:
        first.set_ylabel("correlation with mean FD")
    figure.tight_layout()
    save_figure(figure, path, dpi=DPI)


def sensitivity_plot(path: Path, table: pd.DataFrame) -> None:
    """AUC under different indicator functions, one panel for each scale of the confounder.

    Parameters
    ----------
    path : Path
        PNG.
    table : DataFrame
        Table with the columns scale, k, criterion, auc, low and high.
    """
    plt = figures()
    scales = list(dict.fromkeys(table["scale"]))
    criteria = list(dict.fromkeys(table["criterion"]))
    values = list(dict.fromkeys(table["k"]))
    figure, axes = plt.subplots(
        1,
        len(scales),
        figsize=(4.3 * len(scales), 3.9),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for ax, scale in zip(axes[0], scales, strict=True):
        ax.axhline(0.5, color=FAINT, linestyle=":")
        for colour, (place, criterion) in zip(COLOURS, enumerate(criteria), strict=False):
            part = table[(table["scale"] == scale) & (table["criterion"] == criterion)]
            shift = 0.22 * (place - (len(criteria) - 1) / 2.0)
            ax.errorbar(
                [values.index(k) + shift for k in part["k"]],
                part["auc"],
                yerr=[part["auc"] - part["low"], part["high"] - part["auc"]],
                marker="o",
                linestyle="none",
                color=colour,
                label=criterion,
                capsize=2,
            )
        ax.set_xticks(range(len(values)), [f"k = {k:g}" for k in values])
        ax.set_title(f"g: {scale}", fontsize=10, color=INK)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("AUC on subjects left out")
    axes[0, 0].set_ylim(0.0, 1.02)
    axes[0, -1].legend(frameon=False, fontsize=8, loc="upper right", title="networks' penalty by")
    save_figure(figure, path, dpi=DPI)
