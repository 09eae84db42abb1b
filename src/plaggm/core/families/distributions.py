"""Exponential families of a node given the others.

Node j has natural parameter eta and log-likelihood

    y eta - A(eta) + c(y),     mean A'(eta),  variance A''(eta) as a function of the mean

and enters the predictors of its neighbours as t(y), so that Omega_jk multiplies t(x_k) in eta_j and t(x_j)
in eta_k. t is the identity except for counts. A Poisson network in which counts enter as they are cannot
be normalised under positive dependence (Yang, Ravikumar, Allen and Liu, 2013): the mean of one count would
grow exponentially with the other. Counts therefore enter on a logarithmic scale,

    t(x) = m + (1 + m) log((1 + x) / (1 + m)),     m the column's centre,

whose tangent at m is x. So Omega_jk is close to the log rate ratio for each additional count, in both
directions, and the mean of a node is a power of its neighbours' counts. In general no joint distribution
has these conditional ones: fits to counts maximise a pseudo-likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, gammaln, logit

from plaggm.array_types import Array
from plaggm.parameter_types import FamilyName

# Larger natural parameters of counts are clipped, so that products of their means do not overflow.
LARGEST_LOG_MEAN = 50.0


class Family(Protocol):
    """Distribution of a node given the others; arrays in and out, elementwise."""

    @property
    def name(self) -> FamilyName:
        """Name of the family in the parameter ``family``."""
        ...

    @property
    def dispersed(self) -> bool:
        """Whether a dispersion parameter is estimated."""
        ...

    def mean(self, eta: Array) -> Array:
        """Mean given the natural parameter."""
        ...

    def natural(self, mean: Array) -> Array:
        """Natural parameter given the mean: the canonical link."""
        ...

    def variance(self, mean: Array) -> Array:
        """Variance given the mean."""
        ...

    def log_likelihood(self, y: Array, eta: Array) -> Array:
        """Log-density of y at natural parameter eta, with unit dispersion."""
        ...

    def neighbour(self, x: Array, centre: Array | float) -> Array:
        """Values t(x) that enter other nodes' predictors, given the column's centre m."""
        ...


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Values in units of their conditional standard deviation; see :class:`Family`."""

    name: FamilyName = "gaussian"
    dispersed: bool = True

    def mean(self, eta: Array) -> Array:
        """See :class:`Family`."""
        return eta

    def natural(self, mean: Array) -> Array:
        """See :class:`Family`."""
        return mean

    def variance(self, mean: Array) -> Array:
        """See :class:`Family`."""
        return np.ones_like(mean)

    def log_likelihood(self, y: Array, eta: Array) -> Array:
        """See :class:`Family`."""
        return np.asarray(-0.5 * (y - eta) ** 2 - 0.5 * np.log(2.0 * np.pi))

    def neighbour(self, x: Array, centre: Array | float) -> Array:
        """See :class:`Family`: values as they are."""
        return x


@dataclass(frozen=True, slots=True)
class Binomial:
    """Zeros and ones; see :class:`Family`. Omega between two such columns is a log odds ratio.

    Examples
    --------
    >>> Binomial().mean(np.array([0.0, 40.0]))
    array([0.5, 1. ])
    """

    name: FamilyName = "binomial"
    dispersed: bool = False

    def mean(self, eta: Array) -> Array:
        """See :class:`Family`."""
        return np.asarray(expit(eta))

    def natural(self, mean: Array) -> Array:
        """See :class:`Family`."""
        return np.asarray(logit(mean))

    def variance(self, mean: Array) -> Array:
        """See :class:`Family`."""
        return mean * (1.0 - mean)

    def log_likelihood(self, y: Array, eta: Array) -> Array:
        """See :class:`Family`."""
        return np.asarray(y * eta - np.logaddexp(0.0, eta))

    def neighbour(self, x: Array, centre: Array | float) -> Array:
        """See :class:`Family`: zeros and ones as they are."""
        return x


@dataclass(frozen=True, slots=True)
class Poisson:
    """Counts; see :class:`Family`.

    Examples
    --------
    >>> Poisson().neighbour(np.array([2.0, 3.0, 100.0]), 2.0).round(2)
    array([ 2.  ,  2.86, 12.55])
    """

    name: FamilyName = "poisson"
    dispersed: bool = True

    def mean(self, eta: Array) -> Array:
        """See :class:`Family`."""
        return np.asarray(np.exp(np.minimum(eta, LARGEST_LOG_MEAN)))

    def natural(self, mean: Array) -> Array:
        """See :class:`Family`."""
        return np.asarray(np.log(mean))

    def variance(self, mean: Array) -> Array:
        """See :class:`Family`."""
        return mean

    def log_likelihood(self, y: Array, eta: Array) -> Array:
        """See :class:`Family`."""
        return np.asarray(y * eta - self.mean(eta) - gammaln(y + 1.0))

    def neighbour(self, x: Array, centre: Array | float) -> Array:
        """See :class:`Family`: the logarithm whose tangent at the centre is the count itself."""
        return np.asarray(centre + (1.0 + centre) * (np.log1p(x) - np.log1p(centre)))


# Numbers of the families in compiled loops.
CODES: dict[FamilyName, int] = {"gaussian": 0, "binomial": 1, "poisson": 2}
FAMILIES: dict[FamilyName, Family] = {
    "gaussian": Gaussian(),
    "binomial": Binomial(),
    "poisson": Poisson(),
}
