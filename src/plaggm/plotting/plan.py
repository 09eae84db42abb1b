"""The picture of a plan: power and false discoveries against the number of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plaggm.plotting.figure import ACCENT, FAINT, INK, LINE, open_frame, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from plaggm.planning.plan import PowerAnalysis

# Colour, marker and line of each network: they can be told apart in grey, too.
LOOKS = {
    "adjusted": dict(color=LINE, marker="o", linestyle="-"),
    "clean": dict(color="#009E73", marker="s", linestyle="--"),
    "unadjusted": dict(color=ACCENT, marker="^", linestyle=":"),
}
# Band of two standard errors.
BAND = 2.0


def plot_plan(plan: PowerAnalysis) -> Figure:
    """Power and share of false edges against the number of samples, for each way to analyse a study.

    Bands are two Monte Carlo standard errors. The vertical line is the number of samples at which the
    adjusted network has the wanted power, with its 95 % interval.

    Parameters
    ----------
    plan : PowerAnalysis

    Returns
    -------
    Figure

    Examples
    --------
    >>> from plaggm import plan_study
    >>> len(plot_plan(plan_study(6, [100, 400], edge=0.3, sets=4)).axes)
    2
    """
    # Loaded with any plan; other pictures need no estimators.
    from plaggm.planning.trials import NETWORKS

    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.6, 4.2), layout="constrained")
    table = plan.table()
    for network, words in NETWORKS.items():
        rows = table[table["network"] == network]
        for ax, name, error in (
            (left, "power", "power_error"),
            (right, "false_share", "false_error"),
        ):
            ax.plot(rows["samples"], rows[name], label=words, **LOOKS[network])
            half = BAND * rows[error]
            low, high = np.clip(rows[name] - half, 0.0, 1.0), np.clip(rows[name] + half, 0.0, 1.0)
            ax.fill_between(
                rows["samples"], low, high, color=LOOKS[network]["color"], alpha=0.15, linewidth=0
            )
    left.axhline(plan.wanted, color=FAINT, zorder=0)
    right.axhline(plan.question.fdr, color=FAINT, zorder=0)
    _mark_answer(left, plan)
    left.set_title("Power: share of the true edges that are found", loc="left", fontsize="medium")
    right.set_title("Share of the declared edges that are false", loc="left", fontsize="medium")
    right.legend(frameon=False, fontsize=8, loc="upper left")
    top = max(0.25, 1.25 * float((table["false_share"] + BAND * table["false_error"]).max()))
    left.set_ylim(0.0, 1.03)
    right.set_ylim(0.0, min(1.03, top))
    for ax in (left, right):
        _scale(ax, plan)
        open_frame(ax)
    return figure


def _mark_answer(ax: Axes, plan: PowerAnalysis) -> None:
    answer = plan.samples_for()
    if not plan.sizes[0] < answer.samples <= plan.sizes[-1]:
        return
    ax.axvspan(answer.low, min(answer.high, plan.sizes[-1]), color=FAINT, alpha=0.3, linewidth=0)
    ax.axvline(answer.samples, color=INK, linewidth=1)
    ax.annotate(
        answer.words().replace(" (", "\n("),
        (answer.samples, 0.02),
        xytext=(5, 2),
        textcoords="offset points",
        fontsize=8,
        color=INK,
    )


def _scale(ax: Axes, plan: PowerAnalysis) -> None:
    """Samples on a logarithmic scale, with the sizes that were tried as its ticks."""
    if len(plan.sizes) > 1:
        ax.set_xscale("log")
    ax.set_xticks(plan.sizes, [f"{n:,}" for n in plan.sizes], fontsize=8)
    ax.set_xticks([], minor=True)
    ax.set_xlabel("samples")
