"""Log-likelihoods and slopes of all values in one compiled pass.

The formulas are those of :meth:`plaggm.core.families.columns.FamilyColumns.slopes`.
"""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.families.distributions import LARGEST_LOG_MEAN
from plaggm.core.numerics.compiled import compiled

# Products of factors above this are replaced by their logarithm.
LARGE = 1e250


@compiled()
def weighted_slopes(
    x: Array,
    eta: Array,
    codes: Index,
    location: Array,
    scale: Array,
    counts: Array,
    slopes: Array,
) -> float:
    """Sum of the log-likelihoods up to a constant; slopes times counts are written into ``slopes``.

    Parameters
    ----------
    x, eta : ndarray of shape (n, p)
        Values in their own units, and predictors in common units.
    codes : ndarray of int of shape (p,)
        Families, by :data:`plaggm.core.families.distributions.CODES`.
    location, scale : ndarray of shape (p,)
    counts : ndarray of shape (n,)
        Number of times that each row counts.
    slopes : ndarray of shape (n, p)
        Output.
    """
    total = 0.0
    for i in range(x.shape[0]):
        value = 0.0
        # Product of factors between one and two: one logarithm serves many of them.
        product = 1.0
        for j in range(x.shape[1]):
            if codes[j] == 0:
                residual = (x[i, j] - location[j]) / scale[j] - eta[i, j]
                value -= 0.5 * residual * residual
                slopes[i, j] = counts[i] * residual
            elif codes[j] == 1:
                natural = eta[i, j] / scale[j]
                # log(1 + exp(natural)) = max(natural, 0) + log(1 + small), without overflow.
                small = np.exp(-abs(natural))
                value += x[i, j] * natural - max(natural, 0.0)
                product *= 1.0 + small
                if product > LARGE:
                    value -= np.log(product)
                    product = 1.0
                mean = (1.0 if natural >= 0.0 else small) / (1.0 + small)
                slopes[i, j] = counts[i] * (x[i, j] - mean) / scale[j]
            else:
                natural = eta[i, j] / scale[j]
                mean = np.exp(min(natural, LARGEST_LOG_MEAN))
                value += x[i, j] * natural - mean
                slopes[i, j] = counts[i] * (x[i, j] - mean) / scale[j]
        total += counts[i] * (value - np.log(product))
    return total
