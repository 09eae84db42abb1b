"""The penalty of the nuisance for few samples relative to the number of variables.

The baseline network then has no least-squares estimate, which the focused choice and the restricted
likelihood of `plaggm.core.nuisance.focused` need. The prior of the nuisance can still be learnt if the baseline is a
random effect as well: in the regression of node j

    Omega_jk ~ N(0, s_j^2 v),     Gamma_jk ~ N(0, s_j^2 Sigma),

with v and Sigma shared by all pairs. Variance components can be estimated from fewer samples than effects
(Yang et al., 2010), whether few or many of the effects are zero. Their sizes maximise the restricted
likelihood on a grid; for several functions steps of the EM algorithm follow. All samples are pooled unless
the log-likelihood of the learnt prior exceeds that of none by more than a price. Of several confounders
those without which the likelihood falls by less than their price have no prior, so that a confounder
without effect does not hide that of another.

The retained share of the prior in the direction of the functions' means (`plaggm.core.nuisance.prior`) is
chosen by the same likelihood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index, Mask
from plaggm.core.nuisance.node_regressions import moments
from plaggm.core.nuisance.prior import PriorForm, retain_share, second_moments
from plaggm.core.numerics.symmetric_inverse import symmetric_inverse
from plaggm.core.profile.spline import MEAN_RIDGE, deletion_blocks
from plaggm.core.spline.system import SplineSystem

# Candidates for prior variances in units of 1 / n, the first of which counts as zero, and the starting
# index.
SIZES = (1e-3, 1e-2, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 5.0)
START = 4
# Steps of the EM algorithm for several functions.
STEPS = 10
# Largest number of columns of W; with more the prior is learnt from a subset of the variables.
MOST_COLUMNS = 3000
# Retained shares of the prior variance that biases pooled samples.
SHARES = (1.0, 0.3, 0.1, 0.0)
# Gain in log-likelihood for each function that a learnt prior needs.
PRICE = 3.5


@dataclass(frozen=True, slots=True)
class LearntPrior:
    """A prior of the nuisance learnt together with that of the baseline.

    Attributes
    ----------
    covariance : ndarray of shape (M, M)
        Sigma, or a share of it; in units of a node's noise variance.
    share : float
        Retained share of Sigma in the direction of the functions' means.
    gain : float
        Gain in log-likelihood over no nuisance minus the price; positive if a prior was found.
    """

    covariance: Array
    share: float
    gain: float


def learn_prior(system: SplineSystem, form: PriorForm) -> LearntPrior:
    """Learn the prior of the nuisance from fewer samples than coefficients.

    Parameters
    ----------
    system : SplineSystem
        Moments with at least one function and two variables.
    form : PriorForm
        Form of the prior in the system's functions.
    """
    few = _some_variables(system)
    confounders, prices = np.unique(form.confounders), PRICE * form.learnt_of_each()
    while True:
        found = _learn(few, form, np.isin(form.confounders, confounders))
        if len(confounders) > 1 and found.gain > 0.0:
            losses = [found.gain - found.without(few, form.confounders == c) for c in confounders]
            least = int(np.argmin(losses - prices))
            if losses[least] <= prices[least]:
                confounders, prices = np.delete(confounders, least), np.delete(prices, least)
                continue
        return LearntPrior(found.covariance, found.share, found.gain - float(prices.sum()))


@dataclass(frozen=True, slots=True)
class _Priors:
    """Priors of the baseline and of the nuisance with the largest likelihood.

    Attributes
    ----------
    variance : float
        Prior variance of the baseline.
    covariance : ndarray of shape (M, M)
    share : float
        See :class:`LearntPrior`; zero without nuisance.
    none : float
        Largest log-likelihood without nuisance.
    gain : float
        Log-likelihood beyond it.
    """

    variance: float
    covariance: Array
    share: float
    none: float
    gain: float

    def without(self, system: SplineSystem, functions: Mask) -> float:
        """Log-likelihood beyond that of no nuisance if some functions had no effect."""
        absent = SIZES[0] * np.eye(len(functions)) / system.n
        covariance = np.where(np.logical_or.outer(functions, functions), absent, self.covariance)
        return _Effects.of(system, self.variance, covariance).log_likelihood() - self.none


def _learn(system: SplineSystem, form: PriorForm, functions: Mask) -> _Priors:
    """Learn the priors, that of the nuisance over some functions only (mask of shape (M,))."""
    n, size = system.n, system.functions
    among = np.logical_and.outer(functions, functions)
    unit = form.constrained(np.eye(size)) / n
    absent = np.where(among, 0.0, SIZES[0] * np.eye(size) / n)

    def likelihood(place: tuple[int, int]) -> float:
        covariance = np.where(among, SIZES[place[1]] * unit, absent)
        return _Effects.of(system, SIZES[place[0]] / n, covariance).log_likelihood()

    known: dict[tuple[int, int], float] = {}
    best = climb(likelihood, known, (START, START), (len(SIZES), len(SIZES)))
    none = known[climb(likelihood, known, (best[0], 0), (len(SIZES), 1))]
    variance, covariance = SIZES[best[0]] / n, np.where(among, SIZES[best[1]] * unit, absent)
    if not best[1]:
        return _Priors(variance, covariance, 0.0, none, 0.0)
    # From a multiple of the identity to the sizes and correlations of several functions.
    for _ in range(STEPS if form.learnt > 1 else 0):
        found = _Effects.of(system, variance, covariance).second_moments()
        variance = float(found[0, 0])
        covariance = np.where(among, form.constrained(found[1:, 1:]), absent)
    priors = [retain_share(covariance, system.function_means, share) for share in SHARES]
    values = [_Effects.of(system, variance, prior).log_likelihood() for prior in priors]
    chosen = int(np.argmax(values))
    return _Priors(variance, priors[chosen], SHARES[chosen], none, values[chosen] - none)


def climb(
    value: Callable[[tuple[int, int]], float],
    known: dict[tuple[int, int], float],
    start: tuple[int, int],
    shape: tuple[int, int],
) -> tuple[int, int]:
    """Place on a grid with a larger value than its neighbours, by steps to the best neighbour.

    Parameters
    ----------
    value : callable
        Gives the value at a place.
    known : dict
        Values that are known; those that are computed are added.
    start : (int, int)
    shape : (int, int)
        Numbers of rows and columns of the grid.
    """
    best = start
    while True:
        row, column = best
        around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        inside = [(a, b) for a, b in around if 0 <= a < shape[0] and 0 <= b < shape[1]]
        for place in [best, *inside]:
            if place not in known:
                known[place] = value(place)
        step = max([best, *inside], key=known.__getitem__)
        if known[step] <= known[best]:
            return best
        best = step


def _some_variables(system: SplineSystem) -> SplineSystem:
    """The system of evenly spaced variables whose columns of W number at most ``MOST_COLUMNS``."""
    size, q = 1 + system.functions, system.q
    if size * q <= MOST_COLUMNS:
        return system
    count = MOST_COLUMNS // size - 1
    chosen: Index = np.append(np.linspace(0, q - 2, count).round().astype(np.intp), q - 1)
    wide = (np.arange(system.functions)[:, None] * q + chosen).ravel()
    return SplineSystem(
        system.n,
        system.bb[np.ix_(chosen, chosen)],
        system.c[np.ix_(wide, chosen)],
        system.h[np.ix_(wide, wide)],
        system.rotation,
    )


@dataclass(frozen=True, slots=True)
class _Effects:
    """Posterior of all nodes' random effects under one prior.

    Attributes
    ----------
    system : SplineSystem
    inverse : ndarray of shape ((1 + M) q, (1 + M) q)
        Inverse of the moments with the prior's precision added.
    schur : ndarray of shape (p, 1 + M, 1 + M)
        Inverses of its blocks of every node.
    residual : ndarray of shape (p,)
        Residual mean square of each regression, including the penalty term.
    prior_determinant : float
        Log determinant of a pair's prior covariance, times n^(1 + M).
    """

    system: SplineSystem
    inverse: Array
    schur: Array
    residual: Array
    prior_determinant: float

    @classmethod
    def of(cls, system: SplineSystem, variance: float, covariance: Array) -> _Effects:
        n, p, q, size = system.n, system.p, system.q, 1 + system.functions
        prior = np.zeros((size, size))
        prior[0, 0], prior[1:, 1:] = variance, covariance
        precision = np.linalg.inv(prior) / n
        augmented = moments(system).reshape(size, q, size, q)
        variables, blocks = np.arange(p), np.arange(size)
        augmented[:, variables, :, variables] += precision
        # Intercepts and shifts of the means have no prior.
        augmented[blocks, p, blocks, p] += MEAN_RIDGE
        inverse = symmetric_inverse(augmented.reshape(size * q, size * q))
        schur = np.asarray(np.linalg.inv(deletion_blocks(inverse, q)), dtype=np.float64)
        # The node's own column is the response and has no prior.
        residual = schur[:, 0, 0] - precision[0, 0]
        return cls(system, inverse, schur, residual, -float(np.linalg.slogdet(precision)[1]))

    @property
    def degrees(self) -> int:
        """Number of rows minus the number of coefficients without a prior."""
        return self.system.n - 1 - self.system.functions

    def noise(self) -> Array:
        """Residual variance of every node: shape (p,)."""
        return np.asarray(self.residual * self.system.n / self.degrees)

    def log_likelihood(self) -> float:
        """Restricted log-likelihood of all pairs, up to a constant; each is in two regressions."""
        p = self.system.p
        whole = -np.linalg.slogdet(self.inverse)[1]
        determinants = whole - np.linalg.slogdet(self.schur)[1] + (p - 1) * self.prior_determinant
        fitted = self.degrees * np.log(self.residual)
        return -0.25 * float(np.sum(determinants + fitted))

    def second_moments(self) -> Array:
        """See :func:`plaggm.core.nuisance.prior.second_moments`: shape (1 + M, 1 + M)."""
        return second_moments(self.inverse, self.schur, self.noise(), self.system.n, 0)
