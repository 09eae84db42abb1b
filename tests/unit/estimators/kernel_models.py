"""The kernel estimator of the paper as the tests of `PLAGGM` and `PLAGGMCV` fit it, and how exact it is."""

from __future__ import annotations

from typing import Any

from plaggm import PLAGGM, PLAGGMCV

# Settings under which the solver stops at a duality gap of about rounding size.
EXACT: dict[str, Any] = dict(tol=1e-13, max_iter=20_000)
# The problem is strongly convex with a smallest curvature of about 0.1 in these data, so a gap of 1e-13
# leaves errors of order sqrt(2e-13 / 0.1) in omega; measured, they are below 1e-8. A path arrives at a
# penalty from the one before it, a single fit from zero.
SAME_OMEGA = 1e-6
# A sum over the samples in another order.
ROUNDING = 1e-10

KERNEL: dict[str, Any] = dict(smoother="kernel", variance="conditional", standardize=True)
THRESHOLD = 60.0


def by_kernel(alpha: float = 0.1, **settings: Any) -> PLAGGM:
    """The estimator whose every part has a literal formula."""
    return PLAGGM(alpha, **{**KERNEL, **settings})


def by_kernel_cv(**settings: Any) -> PLAGGMCV:
    """The same with its penalty chosen from a path."""
    return PLAGGMCV(**{**KERNEL, **settings})
