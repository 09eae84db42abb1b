"""One edge along a confounder."""

from __future__ import annotations

from difflib import get_close_matches
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from plaggm.array_types import Array
from plaggm.edge_table import square
from plaggm.network_matrices import grid_rows
from plaggm.plotting.figure import (
    ACCENT,
    FAINT,
    INK,
    LINE,
    WIDE,
    Drawable,
    as_result,
    axes_or_new,
    open_frame,
    short_label,
)
from plaggm.result import GraphResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Standard errors on either side of an estimate.
BAND = 2


def plot_edge(
    result: Drawable,
    source: str | int,
    target: str | int,
    ax: Axes | None = None,
    *,
    confounder: str | None = None,
) -> Axes:
    """How strong one edge is along a confounder: Ω0 + R(g) for the two variables.

    The grey stripe is where the model takes the samples as unconfounded, the dashed line the level of
    the baseline network, with its 95 % interval where tests declare the edges. Where the result keeps
    standard errors of R, a band shows two of them on either side.

    Parameters
    ----------
    result : GraphResult or fitted estimator
        Fitted with a confounder.
    source, target : str or int
        Names of the variables, or their positions.
    ax : Axes, optional
        Axes to draw on; new ones when absent.
    confounder : str, optional
        Along which of several confounders, the others being zero.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from plaggm import PLAGGMCV
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(5, n=800, seed=0)
    >>> model = PLAGGMCV(cv=3).fit(data.x, confounder=data.confounder)
    >>> plot_edge(model, "x0", "x1").get_xlabel()
    'confounder'
    """
    result = as_result(result)
    if not result.confounder_names:
        raise ValueError(
            "This result was fitted without confounder, so its edges do not vary along one. Fit with "
            "confounder=... to see how they do."
        )
    if result.confounder_grid is None or result.nuisance is None:
        raise ValueError(
            "This result keeps no nuisance, so there is nothing to draw along the confounder. Fit "
            "PLAGGM or PLAGGMCV, which estimate it."
        )
    j, k = _position(result, source, "source"), _position(result, target, "target")
    if j == k:
        raise ValueError(f"source and target must differ; both are {result.names[j]!r}.")
    column = _confounder_column(result, confounder)
    rows = grid_rows(result.confounder_grid, column)
    name = short_label(result.confounder_names[column])
    ax = axes_or_new(ax, WIDE)
    grid = result.confounder_grid[rows, column]
    tests = result.deciding_tests
    level = float(result.omega[j, k] if tests is None else square(tests.estimate)[j, k])
    _shade_unconfounded(ax, result, column, grid)
    levels = result.levels.get(result.confounder_names[column])
    ax.axhline(0.0, color=INK, linewidth=0.8, zorder=1)
    ax.axhline(
        level, color=ACCENT, linestyle="--", linewidth=1.6, label=f"baseline network: {level:.2g}"
    )
    if tests is not None:
        ax.axhspan(
            square(tests.low)[j, k],
            square(tests.high)[j, k],
            color=ACCENT,
            alpha=0.15,
            linewidth=0,
            label="its 95% interval",
        )
    strength = level + result.nuisance[rows, j, k]
    if result.nuisance_error is not None:
        reach = BAND * result.nuisance_error[rows, j, k]
        words = f"± {BAND} standard errors"
        if levels is not None:
            ax.errorbar(grid, strength, reach, color=LINE, linestyle="none", alpha=0.5, label=words)
        else:
            band = strength - reach, strength + reach
            ax.fill_between(grid, *band, color=LINE, alpha=0.2, linewidth=0, label=words)
    ax.plot(
        grid,
        strength,
        color=LINE,
        # Levels have no order.
        linewidth=1.8 if levels is None else 0.0,
        marker="o",
        markersize=3 if levels is None else 5,
        label="estimate at each value" if levels is None else "estimate at each level",
    )
    if levels is not None:
        ax.set_xticks(grid, [short_label(levels[int(code)]) for code in grid])
    ax.set_xlabel(name)
    ax.set_ylabel("strength of the edge")
    pair = f"{short_label(result.names[j])} – {short_label(result.names[k])}"
    ax.set_title(f"{pair} along {name}", loc="left")
    ax.margins(x=0.02, y=0.15)
    open_frame(ax)
    ax.legend(frameon=False)
    return ax


def _shade_unconfounded(ax: Axes, result: GraphResult, column: int, grid: Array) -> None:
    """Shade the values below the threshold, if there is one."""
    if result.threshold is None or np.isnan(result.threshold[column]):
        return
    limit = float(result.threshold[column])
    reference = result.references.get(result.confounder_names[column], 0.0)
    origin = float(reference) if isinstance(reference, int | float) else 0.0
    ax.axvspan(
        max(origin - limit, grid[0]),
        min(origin + limit, grid[-1]),
        color=FAINT,
        alpha=0.4,
        linewidth=0,
        label="taken as unconfounded",
        zorder=0,
    )


def _position(result: GraphResult, variable: str | int, argument: str) -> int:
    """Position of a variable given by its name or position."""
    if variable in result.names:
        return result.names.index(str(variable))
    p = len(result.names)
    if isinstance(variable, Integral) and 0 <= variable < p:
        return int(variable)
    near = get_close_matches(str(variable), result.names)
    if near:
        hint = f"Did you mean {', '.join(map(repr, near))}?"
    else:
        hint = f"There are {p}, from {result.names[0]!r} to {result.names[-1]!r}."
    raise ValueError(f"{argument}={variable!r} is not a variable of this result. {hint}")


def _confounder_column(result: GraphResult, confounder: str | None) -> int:
    """Position of a confounder given by its name, which a single one need not be."""
    names = result.confounder_names
    if confounder is None and len(names) == 1:
        return 0
    listed = ", ".join(map(repr, names))
    if confounder is None:
        raise ValueError(f"This result has {len(names)} confounders; choose confounder= {listed}.")
    if confounder not in names:
        raise ValueError(f"confounder={confounder!r} is none of this result; it has {listed}.")
    return names.index(confounder)
