"""The bandwidth rule of Assumption 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar


@dataclass(frozen=True, slots=True)
class BandwidthRule:
    """The bandwidth that minimises c_n(h), for a confounder scaled to [-1, 1].

    Attributes
    ----------
    bandwidth : float
        The minimiser h in (0, 1).
    rate : float
        c_n(h) = sqrt(-log h / (n h)) + h^2 at the minimiser.
    bound : float
        sqrt(log p / n): Assumption 1 asks for rate**2 <= C1 * bound.
    """

    bandwidth: float
    rate: float
    bound: float

    @property
    def satisfied(self) -> bool:
        """Whether Assumption 1 holds with constant one."""
        return self.rate**2 <= self.bound


def smoothing_rate(h: float, n: int) -> float:
    """c_n(h) of Assumption 1."""
    return float(np.sqrt(-np.log(h) / (n * h)) + h * h)


def assumption_bandwidth(n: int, p: int) -> BandwidthRule:
    """Minimise c_n(h) over (0, 1).

    Examples
    --------
    >>> rule = assumption_bandwidth(n=800, p=20)
    >>> round(rule.bandwidth, 3), rule.satisfied
    (0.201, True)
    """
    # c_n has a single minimum, below exp(-1/2).
    found = minimize_scalar(
        smoothing_rate, args=(n,), bounds=(1e-4, 0.6), method="bounded", options={"xatol": 1e-10}
    )
    h = float(found.x)
    return BandwidthRule(h, smoothing_rate(h, n), float(np.sqrt(np.log(p) / n)))
