"""Estimates of the duration of a fit, for messages before it starts.

The formulas approximate times on two cores (docs/scale.md) within a factor of about three: correlated
variables and small penalties take longer.
"""

from __future__ import annotations

from typing import NamedTuple

from plaggm.core.cost.fit_memory import FitSize
from plaggm.core.lasso.path import MANY_VARIABLES
from plaggm.wording import counted

# Seconds of the kernel smoother with ten folds, for each sample and the cube of the number of variables.
KERNEL_PACE = 4e-8


class UsualSeconds(NamedTuple):
    """Typical durations of fits on two cores, in seconds.

    Attributes
    ----------
    plain, adjusted : float
        Fits without and with adjustment, penalties chosen by cross-validation.
    path : float
        A fit with adjustment, the penalty chosen without folds.
    single : float
        A fit with adjustment at one penalty, such as a half-sample.
    """

    plain: float
    adjusted: float
    path: float
    single: float


def usual_seconds(n: int, p: int, *, kernel: bool) -> UsualSeconds:
    """Typical durations of the fits of n rows and p variables.

    Examples
    --------
    >>> round(usual_seconds(300, 20, kernel=False).adjusted, 2)
    0.35
    """
    cube = float(p) ** 3
    many = p >= MANY_VARIABLES
    plain = 3.0 + 1e-7 * cube if many else 0.2 + 3e-6 * cube
    if kernel:
        local = KERNEL_PACE * n * cube
        return UsualSeconds(plain, 2.0 + local, 1.0 + 0.2 * local, 0.5 + 0.1 * local)
    if many:
        folds = 5.0 + 1.5e-7 * cube
        return UsualSeconds(plain, folds, 0.5 * folds, 0.6 + 1e-8 * cube)
    return UsualSeconds(plain, 0.3 + 6e-6 * cube, 0.1 + 1e-6 * cube, 0.05 + 5e-7 * cube)


def fit_seconds(size: FitSize) -> float:
    """Typical duration of one fit of Gaussian variables, in seconds.

    Examples
    --------
    >>> from plaggm.core.cost.fit_memory import PathSize
    >>> ten_folds = PathSize(alphas=100, splits=10)
    >>> fit_seconds(FitSize(1000, 1000, True, ten_folds)) > fit_seconds(FitSize(1000, 1000, True))
    True
    """
    usual = usual_seconds(size.n, size.p, kernel=size.kernel)
    if size.path.alphas == 1:
        return usual.single
    if not size.path.splits:
        return usual.path
    return usual.adjusted if size.confounded else usual.plain


def duration(seconds: float) -> str:
    """A duration in words.

    Examples
    --------
    >>> duration(40.0), duration(300.0), duration(7000.0), duration(400_000.0)
    ('40 seconds', '5 minutes', '2 hours', '5 days')
    """
    for size, unit in ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute")):
        if seconds >= 1.5 * size:
            return counted(round(seconds / size), unit)
    return counted(max(1, round(seconds)), "second")
