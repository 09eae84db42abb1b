"""The ROC curve of an estimate whose truth is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from plaggm.metrics import edge_auc, roc_curve_edges
from plaggm.plotting.figure import (
    FAINT,
    Drawable,
    FittedEstimator,
    as_result,
    axes_or_new,
    open_frame,
)
from plaggm.result import GraphResult
from plaggm.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_roc(
    score: Drawable | ArrayLike,
    truth: ArrayLike,
    ax: Axes | None = None,
    *,
    label: str | None = None,
) -> Axes:
    """The ROC curve of pairs ranked by the size of their score, against a known network.

    Several curves can share one Axes.

    Parameters
    ----------
    score : array of shape (p, p), GraphResult or fitted estimator
        Scores of the pairs, or a network whose partial correlations are the scores.
    truth : array of shape (p, p)
        Ω0 or a Boolean matrix of its edges.
    ax : Axes, optional
        Axes to draw on; new ones when absent.
    label : str, optional
        Name of the curve in the legend.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from plaggm import PLAGGMCV
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(5, n=800, seed=0)
    >>> model = PLAGGMCV(cv=3).fit(data.x, confounder=data.confounder)
    >>> ax = plot_roc(model, data.support, label="adjusted")
    >>> ax.get_xlabel()
    'false positive rate'
    """
    if isinstance(score, GraphResult | FittedEstimator):
        score = as_result(score, "score").omega
    curve, area = roc_curve_edges(score, truth), edge_auc(score, truth)
    ax = axes_or_new(ax, (4.8, 4.8))
    n_edges = int(np.count_nonzero(np.triu(np.asarray(truth), 1)))
    if not ax.lines:
        ax.plot([0, 1], [0, 1], color=FAINT, linestyle="--", linewidth=1.2, label="chance")
    words = f"area {area:.2f}"
    ax.plot(curve.fpr, curve.tpr, linewidth=2.0, label=f"{label} ({words})" if label else words)
    ax.set(aspect="equal", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("true positive rate")
    ax.set_title(f"Recovery of {counted(n_edges, 'true edge')}", loc="left")
    open_frame(ax)
    ax.legend(loc="lower right", frameon=False)
    return ax
