"""Checks of confounder values passed by the user: points of evaluation, and the range of later rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from plaggm.array_types import Array, Labels
from plaggm.core.spline.design import SplineDesign
from plaggm.data import Confounder, check_finite, column_numbers
from plaggm.data.factors import Levels, encode
from plaggm.user_warnings import warn_user
from plaggm.wording import listed, shown


def confounder_points(
    g: ArrayLike, names: tuple[str, ...], levels: tuple[Levels, ...]
) -> tuple[Array, bool]:
    """Confounder values as an array of shape (k, m), and whether there was a single one.

    Parameters
    ----------
    g : float, str, array or DataFrame
        Values, and names of levels for factors.
    names : tuple of str
        Names of the fitted confounders.
    levels : tuple of (tuple of str or None)
        Levels of the factors, None for numbers.
    """
    if not names:
        raise ValueError("The model was fitted without confounder, so its network does not vary.")
    m = len(names)
    if isinstance(g, pd.DataFrame) and set(map(str, g.columns)) == set(names):
        g = g.rename(columns=str)[list(names)]
    try:
        values = np.asarray(g, dtype=np.float64 if not any(levels) else object)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"g must hold numbers, values of {', '.join(names)}; got {shown(g)}."
        ) from error
    single = values.ndim == 0 or (m > 1 and values.ndim == 1)
    if m == 1:
        fits = values.ndim < 2 or values.shape[1:] == (1,)
    else:
        fits = values.ndim in (1, 2) and values.shape[-1] == m
    if not fits:
        shapes = "a number or have shape (k,)" if m == 1 else f"of shape ({m},) or (k, {m})"
        raise ValueError(f"g must be {shapes}; got an array of shape {values.shape}.")
    points = values.reshape(-1, m)
    if any(levels):
        points = _level_numbers(points, names, levels)
    check_finite(points, names, "g")
    return points, single


def _level_numbers(points: Labels, names: tuple[str, ...], levels: tuple[Levels, ...]) -> Array:
    """Confounder values (k, m) with level names replaced by level numbers."""
    found = np.empty(points.shape)
    for place, (name, known) in enumerate(zip(names, levels, strict=True)):
        column = pd.Series(points[:, place], name=name)
        if known is None:
            found[:, place] = column_numbers(column)
            continue
        found[:, place], _ = encode(column, known)
        odd = np.flatnonzero(found[:, place] < 0.0)
        if len(odd):
            raise ValueError(
                f"{name!r} has no level {shown(column[odd[0]])}; its levels are "
                f"{listed(map(repr, known))}."
            )
    return found


def warn_of_extrapolation(points: Array, nuisance: Array, design: SplineDesign) -> None:
    """Warn of confounder values outside the range of the data, unless R is zero there.

    Parameters
    ----------
    points : ndarray of shape (k, m)
    nuisance : ndarray of shape (k, p, p)
        R there.
    design : SplineDesign
        Design with the range of the data.
    """
    low, high, names = design.low, design.high, design.names
    distorted = np.any(nuisance != 0.0, axis=(1, 2))[:, None]
    numbers = np.array([levels is None for levels in design.levels])
    outside = distorted & ((points < low) | (points > high)) & numbers
    if outside.any():
        row, column = np.argwhere(outside)[0]
        warn_user(
            f"{names[column]} = {points[row, column]:g} lies beyond the data ({low[column]:g} to "
            f"{high[column]:g}): what the confounder does there is not known but extrapolated."
        )


def checked_range(
    given: tuple[ArrayLike, ArrayLike], confounder: Confounder
) -> tuple[Array, Array]:
    """Lower and upper bounds of the confounders of later rows: two arrays of shape (m,)."""
    values, names = confounder.values, confounder.names
    m = len(names)
    try:
        low, high = (
            np.broadcast_to(np.asarray(end, dtype=np.float64), (m,)).copy() for end in given
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            "confounder_range must be (low, high), each a number or one for each of the "
            f"{m} confounders; got {shown(given)}."
        ) from error
    factors = np.array(confounder.factors)
    low[factors], high[factors] = values[:, factors].min(axis=0), values[:, factors].max(axis=0)
    if not np.isfinite([low, high]).all():
        raise ValueError(f"confounder_range must be finite; got {shown(given)}.")
    inside = (low <= values.min(axis=0)) & (values.max(axis=0) <= high)
    if not np.all(inside):
        odd = int(np.argmin(inside))
        seen = values[:, odd]
        raise ValueError(
            f"confounder_range of {names[odd]!r} is {low[odd]:g} to {high[odd]:g}, but its "
            f"values go from {seen.min():g} to {seen.max():g}."
        )
    return low, high
