"""The user-specified function I(g) = 1{|g| >= g*} of Lemma 2.

Every indicator here is a function of the ratio r = |g| / g* (several confounders: the Euclidean norm
of the confounders, each divided by its own threshold), so that r = 1 is the threshold.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from plaggm.array_types import Array

Indicator = Callable[[Array], Array]

# The paper's indicator 1 - exp(-100 g^2) / 2 has the threshold g* = 0.578, at which it is one to fifteen
# digits; the exponent there is 5.78^2.
SOFT_RATE = 5.78**2


def soft(ratio: Array) -> Array:
    """The paper's 1 - exp(-k^2 g^2) / 2 with k = 5.78 / g*: one half at zero, one from g* on."""
    return 1.0 - 0.5 * np.exp(-SOFT_RATE * ratio * ratio)


def ramp(ratio: Array) -> Array:
    """Zero up to g*, rising linearly to one at 2 g*."""
    return np.clip(ratio - 1.0, 0.0, 1.0)


def hard(ratio: Array) -> Array:
    """Zero below g*, one from g* on."""
    return (ratio >= 1.0).astype(np.float64)


INDICATORS: dict[str, Indicator] = {"soft": soft, "ramp": ramp, "hard": hard}


def threshold_ratio(confounder: Array, threshold: Array) -> Array:
    """Distance of each sample from zero in units of the threshold.

    Parameters
    ----------
    confounder : ndarray of shape (n, m)
    threshold : ndarray of shape (m,)

    Returns
    -------
    ndarray of shape (n,)
    """
    scaled = np.divide(
        confounder,
        threshold,
        out=np.where(confounder == 0.0, 0.0, np.inf),
        where=np.broadcast_to(threshold > 0.0, confounder.shape),
    )
    norms: Array = np.sqrt(np.sum(scaled * scaled, axis=1))
    return norms


def evaluate_indicator(indicator: Indicator, confounder: Array, threshold: Array) -> Array:
    """I(g) of every sample; raises unless all are in [0, 1].

    Returns
    -------
    ndarray of shape (n,)
    """
    values = np.asarray(indicator(threshold_ratio(confounder, threshold)), dtype=np.float64)
    if values.shape != (confounder.shape[0],):
        raise ValueError(
            f"indicator returned an array of shape {values.shape}; it must return one value for "
            f"each of the {confounder.shape[0]} samples."
        )
    if not np.all((values >= 0.0) & (values <= 1.0)):
        raise ValueError(
            "indicator returned values outside [0, 1] (or NaN); Lemma 2 of the paper needs 1 beyond "
            "the threshold and at most 1 below it."
        )
    return values
