"""Means over independent studies, with intervals over these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from plaggm.array_types import Array

LEVEL = 0.95


def study_interval(values: Sequence[Array] | Sequence[float] | Array) -> tuple[Array, Array, Array]:
    """Mean over independent studies with Student's interval."""
    stacked = np.stack([np.asarray(one, dtype=np.float64) for one in values])
    mean, count = stacked.mean(axis=0), len(stacked)
    error = stacked.std(axis=0, ddof=1) / np.sqrt(count)
    reach = stats.t.ppf(0.5 + LEVEL / 2.0, count - 1) * error
    return mean, mean - reach, mean + reach


def student_interval(values: Sequence[float] | Array) -> tuple[float, float, float]:
    """Mean of independent numbers, two or more, with its 95 % interval.

    Examples
    --------
    >>> [round(number, 2) for number in student_interval([0.5, 0.6, 0.7])]
    [0.6, 0.35, 0.85]
    """
    mean, low, high = study_interval(values)
    return float(mean), float(low), float(high)


def auc_interval(values: Sequence[float] | Array) -> tuple[float, float, float]:
    """Mean AUC of independent studies, two or more, with its 95 % interval within 0 and 1.

    Examples
    --------
    >>> auc_interval([0.9, 1.0])[2]
    1.0
    """
    mean, low, high = student_interval(values)
    return mean, max(low, 0.0), min(high, 1.0)
