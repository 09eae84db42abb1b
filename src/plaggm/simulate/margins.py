"""Non-Gaussian margins: a monotone function applied to each simulated variable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import ndtr, stdtrit

from .paper import Simulated
from .validate import check_choice

# Exponent of skewed variables, which are log-normal with a skewness of about 6.
SKEW = 1.0
# Degrees of freedom of heavy-tailed variables.
HEAVY = 2.0
# Limits between the levels of Likert items, and largest shift of these limits between items.
LIKERT_ENDS, LIKERT_SHIFT = (-1.3, -0.5, 0.3, 1.0), 0.8


def _skewed(z: np.ndarray) -> np.ndarray:
    return np.exp(SKEW * z)


def _heavy_tailed(z: np.ndarray) -> np.ndarray:
    # Quantiles are computed from the nearer tail: probabilities close to one are imprecise.
    return np.asarray(np.where(z < 0.0, stdtrit(HEAVY, ndtr(z)), -stdtrit(HEAVY, ndtr(-z))))


def _likert(z: np.ndarray) -> np.ndarray:
    shift = np.linspace(-LIKERT_SHIFT, LIKERT_SHIFT, z.shape[1])
    return 1.0 + np.searchsorted(LIKERT_ENDS, z + shift)


MARGINS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "gaussian": lambda z: z,
    "skewed": _skewed,
    "heavy-tailed": _heavy_tailed,
    "likert": _likert,
}


def with_margins(data: Simulated, margins: str) -> Simulated:
    """The samples with a monotone function applied to each variable.

    Ω0 and R(g) remain those of the latent Gaussian variables, which ``PLAGGM(margins="rank")`` estimates.

    Parameters
    ----------
    data : Simulated
        Gaussian variables with their truth.
    margins : {"gaussian", "skewed", "heavy-tailed", "likert"}
        Function of the standardised variables: none, the exponential, quantiles of Student's t with two
        degrees of freedom, or a Likert item with levels 1 to 5, the first variables having mostly low
        levels and the last ones mostly high levels.

    Examples
    --------
    >>> from plaggm.simulate import simulate_paper, with_margins
    >>> items = with_margins(simulate_paper(4, n=100, seed=0), "likert")
    >>> np.unique(items.x)
    array([1., 2., 3., 4., 5.])
    """
    if not isinstance(data, Simulated):
        raise TypeError(f"data must come from simulate_paper; got {type(data).__name__}.")
    check_choice("margins", margins, MARGINS)
    if margins == "gaussian":
        return data
    z = (data.x - data.x.mean(axis=0)) / data.x.std(axis=0)
    return replace(data, x=MARGINS[margins](z), settings={**data.settings, "margins": margins})
