"""Axes, the colour scale of signed strengths, and labels, shared by all pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from plaggm.array_types import Array
from plaggm.atomic_files import new_file
from plaggm.result import GraphResult
from plaggm.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# ColorBrewer's red-blue scale can be told apart with every common colour vision deficiency.
DIVERGING = "RdBu_r"
# Part of that scale on either side of zero that lines leave out: white lines could not be seen.
PALE = 0.15
# Colours for curves, from Okabe and Ito's palette for colour-blind readers.
LINE, ACCENT = "#0072B2", "#D55E00"
FAINT = "0.75"
INK = "0.25"
# Inches of a picture with curves.
WIDE = (6.6, 4.4)
# Longer names are cut in the middle.
LONGEST_NAME = 18
# How an edge is drawn that is not in the truth, or that was not declared.
DOTTED = (0, (1.2, 1.2))
# Confounders that a title names.
MOST_NAMED = 3


def pyplot() -> Any:
    """The module ``matplotlib.pyplot``, or an ImportError that says how to get it."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'plaggm[plot]'") from error
    return plt


def save_figure(figure: Any, path: Path, **options: Any) -> None:
    """Write a figure to a file, whole or not at all, and close it.

    Parameters
    ----------
    figure : matplotlib Figure
    path : Path
        Its ending is the format.
    **options
        Passed to :meth:`matplotlib.figure.Figure.savefig`.
    """
    try:
        with new_file(path) as file:
            figure.savefig(file, format=path.suffix[1:], **options)
    finally:
        pyplot().close(figure)


def axes_or_new(ax: Axes | None, figsize: tuple[float, float]) -> Axes:
    """The Axes given, or those of a new figure."""
    plt = pyplot()
    return plt.subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax


def open_frame(ax: Axes) -> None:
    """Remove the top and right sides of the frame."""
    ax.spines[["top", "right"]].set_visible(False)


@runtime_checkable
class FittedEstimator(Protocol):
    """An estimator after its fit."""

    def to_result(self) -> GraphResult:
        """The fit as a result."""
        ...


# What pictures are made of.
Drawable: TypeAlias = GraphResult | FittedEstimator


def as_result(result: Drawable, argument: str = "result") -> GraphResult:
    """A :class:`GraphResult` as it is, or that of a fitted estimator."""
    if isinstance(result, GraphResult):
        return result
    if isinstance(result, FittedEstimator):
        return result.to_result()
    raise TypeError(
        f"{argument} must be a GraphResult or a fitted PLAGGM or PLAGGMCV; "
        f"got {type(result).__name__}."
    )


def drawn_network(result: GraphResult) -> tuple[Array, bool]:
    """The network for a picture or, if tests declare no edge, the strongest candidates.

    Parameters
    ----------
    result : GraphResult

    Returns
    -------
    strength : ndarray of shape (p, p)
        Zero where nothing is drawn, and on the diagonal.
    candidates : bool
        Whether these are candidates, and no edges.
    """
    network = result.network
    if result.deciding_tests is None or network.any():
        return network, False
    return result.deciding_tests.candidate_network(), True


def edges_in_words(result: GraphResult) -> str:
    """Number of edges for a title, with the false discovery rate at which they were declared."""
    if result.fdr is None:
        return counted(result.n_edges, "edge")
    if not result.n_edges:
        return f"no edge at q ≤ {result.fdr:.3g}; dotted: strongest candidates"
    return f"{counted(result.n_edges, 'edge')} at q ≤ {result.fdr:.3g}"


def off_diagonal(matrix: Array) -> Array:
    """A copy with zeros on the diagonal."""
    out = np.array(matrix, dtype=np.float64)
    np.fill_diagonal(out, 0.0)
    return out


def colour_limit(*matrices: Array) -> float:
    """Largest absolute strength, so that zero is the middle of the colours; 1 if all are zero.

    Examples
    --------
    >>> colour_limit(np.array([[0.0, -0.3], [-0.3, 0.0]]), np.zeros((2, 2)))
    0.3
    """
    return max(float(np.abs(matrix).max(initial=0.0)) for matrix in matrices) or 1.0


def strength_colours(limit: float, *, lines: bool = False) -> Any:
    """A ScalarMappable with the diverging colours from -limit to limit.

    Parameters
    ----------
    limit : float
    lines : bool
        Leave out the palest colours, so that the faintest edge differs from no edge.
    """
    plt = pyplot()
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    colours = plt.get_cmap(DIVERGING)
    if lines:
        negative, positive = np.linspace(0.0, 0.5 - PALE, 128), np.linspace(0.5 + PALE, 1.0, 128)
        colours = ListedColormap(colours(np.concatenate([negative, positive])))
    return ScalarMappable(Normalize(-limit, limit), colours)


def thinned(names: Sequence[str], most: int) -> list[int]:
    """Evenly spaced positions of at most ``most`` names, from the first on.

    Examples
    --------
    >>> thinned(["a", "b", "c", "d", "e"], 3)
    [0, 2, 4]
    """
    step = -(-len(names) // most)
    return list(range(0, len(names), step))


def label_text(name: str) -> str:
    r"""A name with dollar signs escaped, which matplotlib would take for formulas.

    Examples
    --------
    >>> print(label_text("US$ per €"))
    US\$ per €
    """
    return name.replace("$", r"\$")


def shortened(name: str, most: int) -> str:
    """A name of at most ``most`` letters, cut in the middle.

    Examples
    --------
    >>> shortened("superior frontal gyrus 14", 18)
    'superior …gyrus 14'
    """
    if len(name) <= most:
        return name
    kept = most - 1
    return f"{name[: kept - kept // 2]}…{name[len(name) - kept // 2 :]}"


def short_label(name: str) -> str:
    """A name shortened for use beside a picture."""
    return label_text(shortened(name, LONGEST_NAME))


def adjustment_of(result: GraphResult) -> str:
    """Whether, and for what, a result was adjusted, in words."""
    names = result.confounder_names
    if not names:
        return "not adjusted"
    if len(names) > MOST_NAMED:
        return f"adjusted for {len(names)} confounders"
    return f"adjusted for {', '.join(map(short_label, names))}"
