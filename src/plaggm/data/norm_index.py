"""The norm of several confounders, each divided by its scale, as a single confounder.

The paper's smoother and indicator function have one confounder, and the paper does not say how they are
applied to seven motion parameters. With a product of seven kernels every window would contain a single
sample. The norm is suggested by the condition |g| <= g*, and is zero where all confounders are.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from plaggm.array_types import Array
from plaggm.parameter_types import Threshold
from plaggm.wording import listed


def norm_index(
    confounder: pd.DataFrame, threshold: Threshold = "auto"
) -> tuple[pd.DataFrame, Threshold]:
    r"""One column for several: :math:`\sqrt{\sum_m (g_m / s_m)^2}`, and its threshold.

    Parameters
    ----------
    confounder : DataFrame of shape (n, m)
        Confounder values, zero where there is no distortion.
    threshold : "auto", float or array of shape (m,)
        Thresholds of the confounders, which are the scales s_m; with ``"auto"`` these are the root mean
        squares of the columns.

    Returns
    -------
    index : DataFrame of shape (n, 1)
        A single confounder is returned unchanged.
    threshold : "auto" or float
        Threshold of the index: one if thresholds were given, else ``"auto"``.

    Examples
    --------
    >>> moved = pd.DataFrame({"x": [0.0, 3.0], "y": [0.0, 4.0]})
    >>> index, threshold = norm_index(moved, threshold=[1.0, 1.0])
    >>> index
       norm of x, y
    0           0.0
    1           5.0
    >>> threshold
    1.0
    """
    if confounder.shape[1] < 2:
        return confounder, threshold
    factors = [name for name in confounder if not pd.api.types.is_numeric_dtype(confounder[name])]
    if factors:
        raise ValueError(f"{factors[0]!r} is a factor, whose levels have no norm. Leave it out.")
    values = confounder.to_numpy(dtype=np.float64)
    if isinstance(threshold, str):
        scale: Array = np.sqrt(np.mean(values * values, axis=0))
    else:
        scale = np.broadcast_to(np.asarray(threshold, dtype=np.float64), values.shape[1:])
    if not np.all(scale > 0.0):
        zero = str(confounder.columns[int(np.argmin(scale))])
        raise ValueError(
            f"the scale of {zero!r} in the norm of several confounders is zero: it is zero in all samples, "
            "or its threshold is. Leave it out, or give it a positive threshold."
        )
    norm = np.sqrt(np.sum((values / scale) ** 2, axis=1))
    name = f"norm of {listed([str(column) for column in confounder])}"
    index = pd.DataFrame({name: norm}, index=confounder.index)
    return index, "auto" if isinstance(threshold, str) else 1.0
