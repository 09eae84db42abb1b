"""The baseline network averaged over uncertainty about the prior of the nuisance.

The learnt prior Sigma of `plaggm.core.nuisance.prior` is uncertain in the direction in which the nuisance
biases the baseline of pooled samples, on which only the comparison of unconfounded with other samples has
information. Too large a variance there costs power, too small a variance makes tests invalid. So tests
average over priors:

- pooling, a prior that is nearly zero;
- Sigma with a share of its variance in the direction of the functions' means (`SHARES`).

The weight of pooling follows from the restricted likelihood of the leading direction of Sigma alone, minus
a price for having learnt it; the shares are weighted by their likelihoods. Each confounder has a leading
direction and a price, so that a confounder without effect does not hide that of another. Since every pair
is in two regressions, the sum of the nodes' log-likelihoods is halved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, softmax

from plaggm.array_types import Array
from plaggm.core.inference.pair_statistics import PairEstimates, both, pair_variances
from plaggm.core.nuisance.focused import restricted_deviance
from plaggm.core.nuisance.node_regressions import (
    NodeRegressions,
    coefficient_covariance,
    node_regressions,
)
from plaggm.core.nuisance.prior import (
    PriorForm,
    diagonal_penalty,
    prior_covariance,
    retain_share,
)
from plaggm.core.numerics.symmetric_inverse import symmetric_inverse
from plaggm.core.spline.statistics import SplineStatistics
from plaggm.core.spline.system import SplineSystem, rotated, spline_system

# Shares of the learnt variance in the direction of the means, and their prior weights.
SHARES = (1e-3, 0.1, 0.3, 1.0, 3.0)
SHARE_WEIGHTS = (5.0, 1.0, 1.0, 1.0, 1.0)
# Variance of the pooling prior, and of all directions except the leading one, in units of 1 / n.
POOLING, BESIDE = 1e-3, 1e-2
# Price for learning the leading direction, in log-likelihood for each function.
PRICE = 0.25


@dataclass(frozen=True, slots=True)
class NuisanceAverage:
    """Priors of the nuisance with their posterior weights, and the estimates of all pairs under each.

    Attributes
    ----------
    system : SplineSystem
        Moments in units of the conditional deviations.
    units : ndarray of shape (q,)
        Units by which the columns of [Z, 1] were divided.
    priors : ndarray of shape (components, M, M)
    weights : ndarray of shape (components,)
        Sum to one; pooling comes first.
    pairs : tuple of PairEstimates
        One for each prior.
    degrees : int
        Residual degrees of freedom of every node's regression.
    """

    system: SplineSystem
    units: Array
    priors: Array
    weights: Array
    pairs: tuple[PairEstimates, ...]
    degrees: int

    @property
    def typical_prior(self) -> Array:
        """Mean of the priors: shape (M, M)."""
        return np.asarray(np.tensordot(self.weights, self.priors, 1))


@dataclass(frozen=True, slots=True)
class NodePosterior:
    """Every node's regression under one prior.

    Attributes
    ----------
    system : SplineSystem
        Moments in the functions in which the prior is diagonal.
    penalty : ndarray of shape (M,)
        The prior as a penalty of these functions.
    regressions : NodeRegressions
    noise : ndarray of shape (p,)
        Residual variances.
    log_likelihood : float
        Restricted log-likelihood of the pairs, up to a constant.
    """

    system: SplineSystem
    penalty: Array
    regressions: NodeRegressions
    noise: Array
    log_likelihood: float

    def units(self) -> Array:
        """Factors that make every node's coefficients partial correlations: shape (p, p)."""
        deviation = np.sqrt(self.noise)
        return np.asarray(deviation[None, :] / deviation[:, None])

    def pairs(self) -> PairEstimates:
        """Partial correlations with their posterior and sampling variances."""
        noise, units = self.noise[:, None] / self.system.n, self.units()
        sampling = coefficient_covariance(self.regressions, self.regressions).variances()
        return PairEstimates(
            both(self.regressions.coefficients[:, :-1] * units),
            pair_variances(noise * self.regressions.posterior_variances(), units),
            pair_variances(noise * sampling, units),
        )


def average_nuisance(system: SplineSystem, form: PriorForm) -> NuisanceAverage:
    """Weights of the priors of the nuisance and the estimates of all pairs under each.

    Parameters
    ----------
    system : SplineSystem
        Moments in functions that belong to one confounder each, of as many rows as
        :func:`plaggm.core.inference.edge_tests.enough_rows` requires.
    form : PriorForm
        Form of the prior in the system's functions.

    Returns
    -------
    NuisanceAverage
    """
    n, size = system.n, system.functions
    system, units = conditional_units(system)
    degrees = residual_degrees(system)
    unit = np.eye(size) / n
    pairs = [node_posterior(system, POOLING * unit).pairs()]
    if not size:
        return NuisanceAverage(system, units, unit[None], np.ones(1), tuple(pairs), degrees)
    learnt = prior_covariance(system, form)
    priors = [POOLING * unit]
    likelihood = []
    for share in SHARES:
        priors.append(retain_share(learnt, system.function_means, share))
        posterior = node_posterior(system, priors[-1])
        pairs.append(posterior.pairs())
        likelihood.append(posterior.log_likelihood)
    leading, beside = leading_priors(learnt, form, n)
    without = node_posterior(system, beside).log_likelihood
    evidence = (
        np.array([node_posterior(system, prior).log_likelihood for prior in leading]) - without
    )
    weights = prior_weights(likelihood, evidence - PRICE * form.learnt_of_each())
    return NuisanceAverage(system, units, np.array(priors), weights, tuple(pairs), degrees)


def node_posterior(system: SplineSystem, prior: Array) -> NodePosterior:
    """Regress every node under a prior of shape (M, M), in units of the noise."""
    rotation, penalty = diagonal_penalty(prior, system.n)
    own = rotated(system, rotation)
    regressions = node_regressions(own, penalty)
    noise = regressions.residual * system.n / residual_degrees(system)
    # Every pair is in two regressions.
    likelihood = -0.25 * restricted_deviance(own, penalty, regressions)
    return NodePosterior(own, penalty, regressions, noise, likelihood)


def residual_degrees(system: SplineSystem) -> int:
    """Number of rows minus the number of a node's coefficients without a prior."""
    return system.n - system.p - system.functions


def conditional_units(system: SplineSystem) -> tuple[SplineSystem, Array]:
    """The system with columns divided by their conditional standard deviations, and these units.

    In these units the two coefficients of a pair are equal, so that all pairs can share a prior.
    """
    unit = np.append(1.0 / np.sqrt(np.diagonal(symmetric_inverse(system.bb))[:-1]), 1.0)
    return in_units(system, unit), unit


def systems_of(
    parts: Iterable[SplineStatistics], rotation: Array, unit: Array
) -> Iterator[SplineSystem]:
    """Systems of several subsets of rows, one at a time, in given functions and units.

    Parameters
    ----------
    parts : iterable of SplineStatistics
    rotation : ndarray of shape (M, M)
    unit : ndarray of shape (q,)
        See :func:`in_units`.
    """
    return (in_units(spline_system(part, rotation), unit) for part in parts)


def in_units(system: SplineSystem, unit: Array) -> SplineSystem:
    """The system of the columns of [Z, 1] divided by ``unit`` (shape (q,))."""
    repeated = np.tile(unit, system.functions)
    return replace(
        system,
        bb=system.bb / np.outer(unit, unit),
        c=system.c / np.outer(repeated, unit),
        h=system.h / np.outer(repeated, repeated),
    )


def prior_weights(
    likelihood: Sequence[float], evidence: Array, share_weights: Sequence[float] = SHARE_WEIGHTS
) -> Array:
    """Posterior weights of pooling and of the priors that retain each of ``SHARES``, in this order.

    Pooling means that no confounder has an effect; beforehand each is as likely to have one as not.

    Parameters
    ----------
    likelihood : sequence of float
        Log-likelihoods of the priors that retain each share.
    evidence : ndarray of shape (confounders,)
        Log-likelihood ratio of the leading direction of every confounder to no nuisance, less its price.
    share_weights : sequence of float
        Prior weights of the shares.

    Examples
    --------
    >>> float(prior_weights([0.0] * 5, np.array([-2.0, 9.0]))[0].round(4))
    0.0001
    """
    pooling = float(np.prod(expit(-evidence)))
    return np.append(pooling, (1.0 - pooling) * softmax(np.log(share_weights) + likelihood))


def leading_priors(learnt: Array, form: PriorForm, n: int) -> tuple[Array, Array]:
    """Prior of the leading direction of every confounder alone, and a prior that is nearly zero.

    Exchangeable levels of a factor have no leading direction; all of their prior is included.

    Parameters
    ----------
    learnt : ndarray of shape (M, M)
    form : PriorForm
    n : int
        Samples.

    Returns
    -------
    leading : ndarray of shape (confounders, M, M)
    beside : ndarray of shape (M, M)
    """
    beside = BESIDE / n * np.eye(len(learnt))
    exchangeable = [index[0] for index, _ in form.shapes]
    leading = []
    for confounder in np.unique(form.confounders):
        own = np.flatnonzero(form.confounders == confounder)
        block = np.ix_(own, own)
        prior = beside.copy()
        if own[0] in exchangeable:
            prior[block] += learnt[block]
        else:
            variances, directions = np.linalg.eigh(learnt[block])
            prior[block] += variances[-1] * np.outer(directions[:, -1], directions[:, -1])
        leading.append(prior)
    return np.array(leading), beside
