"""Share of the information on every pair that the observed cells retain.

Tests that treat expected sums like those of complete rows are anti-conservative. Only rows that observe
both variables inform the score of a pair, a product of two residuals. Missing neighbours, and a
distribution of missing cells that is learnt from the same rows, cost additional information, about the same
factor for all pairs. It is estimated by a jackknife over blocks that repeats the EM algorithm; the mean
variance over all pairs is precise even with few blocks. EM converges geometrically, so that its limit is
extrapolated from the last three of a few steps (Aitken).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.inference.nuisance_average import (
    NodePosterior,
    average_nuisance,
    node_posterior,
    systems_of,
)
from plaggm.core.inference.pair_statistics import both, jackknife_variance
from plaggm.core.nuisance.node_regressions import node_regressions
from plaggm.core.nuisance.prior import prior_form
from plaggm.core.spline.basis import SplineBasis
from plaggm.core.spline.statistics import SplineStatistics
from plaggm.core.spline.system import smooth_system

# Smallest share of the rows that must observe both variables of a pair.
LEAST_SHARE = 0.005
# Larger rates of convergence of EM are clipped.
LARGEST_RATE = 0.9


@dataclass(frozen=True, slots=True)
class RetainedInformation:
    """Share of the information of complete rows that is left.

    Attributes
    ----------
    observed : ndarray of shape (p, p)
        Share of the rows that observe both variables of a pair.
    factor : float
        Additional factor of all pairs' variances.
    group_factor : float
        Additional factor of variances between groups of rows that treat expected sums as observed.
    degrees : float
        Degrees of freedom of the factors.
    seen : SplineStatistics or None
        Weighted sums over the rows with one for an observed cell and zero for a missing one, which tell at
        which confounders each pair is observed. None if this is the same for all pairs.
    """

    observed: Array
    factor: float
    group_factor: float
    degrees: float
    seen: SplineStatistics | None = None

    @property
    def typical(self) -> float:
        """Effective number of complete rows as a share of the number of rows."""
        return typical_share(self.observed)

    def inflation(self) -> Array:
        """Factor of every pair's variance relative to the typical share: shape (p (p - 1) / 2,)."""
        return self.factor * self._unequal()

    def group_inflation(self) -> Array:
        """Factor of every pair's variance between groups: shape (p (p - 1) / 2,).

        Unequal shares enter squared: the expected sums of a group contain less information than complete
        rows, and vary less than complete rows would.
        """
        return np.asarray(self.group_factor * self._unequal() ** 2)

    def errors(self) -> Array:
        """Factor of every standard error of a fit to ``typical`` times as many rows: shape (p, p)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.sqrt(self.factor * self.typical / known_shares(self.observed)))

    def _unequal(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(self.typical / both(known_shares(self.observed)))


def known_shares(observed: Array) -> Array:
    """Shares of the rows that observe a pair, zero if below ``LEAST_SHARE``: shape (p, p)."""
    return np.where(observed < LEAST_SHARE, 0.0, observed)


def typical_share(observed: Array) -> float:
    """Mean share of the rows that observe a pair, over the pairs whose share is not zero.

    Examples
    --------
    >>> typical_share(np.array([[0.9, 0.5], [0.5, 0.6]]))
    0.5
    """
    shares = both(known_shares(observed))
    return float(shares[shares > 0.0].mean()) if np.any(shares > 0.0) else LEAST_SHARE


def effective_statistics(statistics: SplineStatistics, share: float) -> SplineStatistics:
    """Statistics with the same means and the number of rows reduced to the effective number."""
    n = max(round(share * statistics.n), 1)
    return SplineStatistics(statistics.sums * (n / statistics.n), n, statistics.functions)


def retained_information(
    statistics: SplineStatistics,
    basis: SplineBasis,
    observed: Array,
    left_out: Sequence[Sequence[SplineStatistics]],
    seen: SplineStatistics | None = None,
) -> RetainedInformation:
    """Retained information, with factors estimated by leaving out blocks of rows.

    Parameters
    ----------
    statistics : SplineStatistics
        Expected sums over all rows, weighted as in the fit.
    basis : SplineBasis
        Functions of the confounders.
    observed : ndarray of shape (p, p)
        Share of the rows that observe both variables of a pair.
    left_out : sequence of sequences of SplineStatistics
        Expected sums without each of some blocks of rows, in the units of ``statistics``, for at least
        three steps of EM: first under the model of all rows, then under models learnt without the block.
    seen : SplineStatistics, optional
        See :class:`RetainedInformation`.

    Returns
    -------
    RetainedInformation
    """
    shares = both(known_shares(observed))
    known = shares > 0.0
    count = len(left_out[0])
    if count < 2 or not known.any():
        return RetainedInformation(observed, 1.0, 1.0, np.inf, seen)
    informative = effective_statistics(statistics, typical_share(observed))
    system, _ = smooth_system(informative, basis)
    average = average_nuisance(system, prior_form(basis, system.rotation))
    typical = node_posterior(average.system, average.typical_prior)
    steps = [
        _estimates(typical, average.units, left_out[step])[:, known] for step in (0, -3, -2, -1)
    ]
    naive, repeated = (
        float(jackknife_variance(estimates).sum()) for estimates in (steps[0], limit(*steps[1:]))
    )
    unequal = typical_share(observed) / shares[known]
    expected = float(np.sum(typical.pairs().sampling[known] * unequal))
    return RetainedInformation(
        observed,
        max(repeated / expected, 1.0),
        max(repeated / naive, 1.0),
        (count - 1.0) * int(known.sum()),
        seen,
    )


def limit(first: Array, second: Array, third: Array) -> Array:
    """Limit of a sequence extrapolated from three successive values with geometrically shrinking steps.

    Examples
    --------
    >>> limit(np.array([1.0]), np.array([1.5]), np.array([1.75]))
    array([2.])
    """
    before, after = second - first, third - second
    size = float(np.sum(before**2))
    rate = min(max(float(np.sum(before * after)) / size, 0.0), LARGEST_RATE) if size else 0.0
    return np.asarray(third + after * rate / (1.0 - rate))


def _estimates(typical: NodePosterior, units: Array, parts: Sequence[SplineStatistics]) -> Array:
    """Estimates of all pairs from sums without each block: shape (blocks, p (p - 1) / 2)."""
    whole, factors = typical.system, typical.units()
    size = sum(part.n for part in parts) / max(len(parts) - 1, 1)
    estimates = []
    for system in systems_of(parts, whole.rotation, units):
        # The prior has the same weight as for all rows.
        penalty = typical.penalty * size / system.n
        found = node_regressions(system, penalty).coefficients
        estimates.append(both(found[:, :-1] * factors))
    return np.array(estimates)
