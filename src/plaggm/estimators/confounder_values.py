"""Confounder values at which a fitted network is asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from plaggm.array_types import Array
from plaggm.core.spline_design import SplineDesign
from plaggm.data import check_finite
from plaggm.user_warnings import warn_user
from plaggm.wording import shown


def confounder_points(g: ArrayLike, names: tuple[str, ...]) -> tuple[Array, bool]:
    """Confounder values as (k, m), and whether they were a single one.

    Parameters
    ----------
    g : float or array
    names : tuple of str
        Names of the confounders of a fit.
    """
    if not names:
        raise ValueError("The model was fitted without confounder, so its network does not vary.")
    m = len(names)
    try:
        values = np.asarray(g, dtype=np.float64)
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
    check_finite(points, names, "g")
    return points, single


def warn_of_extrapolation(points: Array, nuisance: Array, design: SplineDesign) -> None:
    """Warn of confounder values beyond those of the data, where the network is not that of the baseline.

    Parameters
    ----------
    points : ndarray of shape (k, m)
    nuisance : ndarray of shape (k, p, p)
        R there.
    design : SplineDesign
        Knows the range of the data.
    """
    low, high, names = design.low, design.high, design.names
    distorted = np.any(nuisance != 0.0, axis=(1, 2))[:, None]
    outside = distorted & ((points < low) | (points > high))
    if outside.any():
        row, column = np.argwhere(outside)[0]
        warn_user(
            f"{names[column]} = {points[row, column]:g} lies beyond the data ({low[column]:g} to "
            f"{high[column]:g}): what the confounder does there is not known but extrapolated."
        )
