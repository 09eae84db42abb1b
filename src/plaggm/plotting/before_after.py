"""Two networks of the same variables side by side, with a panel of their differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from plaggm.arguments import real_array
from plaggm.array_types import Array, Mask
from plaggm.edge_table import square
from plaggm.evidence import WORTH_REPORTING, gather
from plaggm.plotting.figure import (
    DOTTED,
    INK,
    Drawable,
    adjustment_of,
    as_result,
    colour_limit,
    drawn_network,
    edges_in_words,
    off_diagonal,
    pyplot,
    strength_colours,
)
from plaggm.plotting.network import draw_network, is_circle
from plaggm.plotting.nodes import Groups, Layout, node_colours, node_places
from plaggm.result import GraphResult
from plaggm.result_summary import strength_name
from plaggm.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Difference that is drawn as wide as the strongest edge, where all are smaller.
LEAST_SCALE = 0.1


def plot_before_after(
    before: Drawable,
    after: Drawable,
    truth: ArrayLike | None = None,
    *,
    layout: Layout = "force",
    groups: Groups = "communities",
) -> Figure:
    """Two networks of the same variables side by side, and what differs between them.

    Both have the same places and one colour scale. Without a truth a third panel shows the difference of
    the partial correlations: edges whose change passes its test and is at least 0.05 are drawn in full
    colour, all others faintly.

    Parameters
    ----------
    before, after : GraphResult or fitted estimator
        Two results, for instance without and with the confounder.
    truth : array of shape (p, p), optional
        The true network: Ω0, or a Boolean matrix of its edges. It gets a panel of its own, and edges
        that are not in it are dotted in the other two.
    layout, groups
        See :func:`plot_network`. Places are common to all networks; communities are those of ``after``.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from plaggm import PLAGGMCV
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(5, n=800, seed=0)
    >>> model = PLAGGMCV(cv=3).fit(data.x, confounder=data.confounder)
    >>> figure = plot_before_after(PLAGGMCV(cv=3).fit(data.x), model)
    >>> [ax.get_title().splitlines()[0] for ax in figure.axes[:3]]
    ['Not adjusted', 'Adjusted for confounder', 'Difference']
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
    strengths = [*(strength for strength, _ in fits), *known]
    look: dict[str, Any] = {
        "places": node_places(layout, *strengths),
        "nodes": node_colours(groups, names, fits[1][0]),
        "round_circle": is_circle(layout),
    }
    colours = strength_colours(colour_limit(*strengths), lines=True)
    figure, axes = pyplot().subplots(1, 3, figsize=(13.6, 5.2), layout="constrained")
    panels = list(axes)
    beside: dict[str, Any] = {"location": "bottom", "shrink": 0.5, "pad": 0.02, "aspect": 40}
    if true is not None:
        ax = panels.pop(0)
        draw_network(ax, true, names, None if only_edges else colours, **look)
        ax.set_title(f"Truth\n{_edge_count(true)}")
    for ax, result, (strength, candidates) in zip(panels, (before, after), fits, strict=False):
        draw_network(ax, strength, names, colours, truth=true, dotted=candidates, **look)
        words = adjustment_of(result)
        found = "" if candidates else _recovered(strength, true)
        ax.set_title(f"{words[0].upper()}{words[1:]}\n{edges_in_words(result)}{found}")
    if true is None:
        change, tested = network_change(before, after)
        differing = strength_colours(max(colour_limit(change), LEAST_SCALE), lines=True)
        large = None if tested is None else tested & (np.abs(change) >= WORTH_REPORTING)
        draw_network(axes[2], change, names, differing, strong=large, **look)
        axes[2].set_title(f"Difference\n{_changes_in_words(tested, large)}")
        label = f"difference of {strength_name(after)}s"
        # A small difference has long numbers: few of them fit under one panel.
        bar = figure.colorbar(differing, ax=axes[2], label=label, **{**beside, "shrink": 0.9})
        bar.ax.locator_params(axis="x", nbins=4)
    for ax in axes:
        # The layout makes room for titles above the whole panel, not above a square within it.
        ax.set_adjustable("datalim")
    networks = axes if true is not None else axes[:2]
    figure.colorbar(colours, ax=list(networks), label=strength_name(after), **beside)
    if true is not None:
        _explain_lines(figure)
    return figure


def network_change(before: GraphResult, after: GraphResult) -> tuple[Array, Mask | None]:
    """Difference of the partial correlations of all edges of either network, and which are tested.

    Parameters
    ----------
    before, after : GraphResult
        Results for the same variables.

    Returns
    -------
    change : ndarray of shape (p, p)
        After minus before; estimates without penalty where both have tests. Zero for pairs that are an edge
        of neither and whose change passes no test.
    tested : ndarray of bool of shape (p, p) or None
        Pairs whose change passes its test; None where no change was tested.
    """
    passed = None
    if after.deciding_tests is not None and after.fdr is not None:
        changed = after.deciding_tests.changed(after.fdr)
        passed = None if changed is None else square(changed)
        found = gather(after.diagnostics, after.edge_table, after.moderation_table)
        if passed is not None and found.kind == "none":
            passed = np.zeros_like(passed)
    old, new = before.network, after.network
    either = (old != 0.0) | (new != 0.0)
    if before.deciding_tests is not None and after.deciding_tests is not None:
        old, new = square(before.deciding_tests.estimate), square(after.deciding_tests.estimate)
    if passed is not None:
        either |= passed
    return np.where(either, new - old, 0.0), passed


def _changes_in_words(tested: Mask | None, large: Mask | None) -> str:
    """Numbers of significant changes, and of those too small to report."""
    if tested is None or large is None:
        return "not tested"
    count, reported = (int(np.count_nonzero(np.triu(mask, 1))) for mask in (tested, large))
    words = [f"{counted(reported, 'change')} beyond chance"] if reported else []
    if count > reported:
        words.append(f"{count - reported:,} too small to report")
    return ", ".join(words) or "no change beyond chance"


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
