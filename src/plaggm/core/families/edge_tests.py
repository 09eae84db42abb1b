"""Tests of every pair of the baseline network, for variables of several families.

These are the tests of `plaggm.core.inference.edge_tests` on the quadratic models of `plaggm.core.families.posterior`:
estimates and posterior variances without lasso, averaged over the uncertainty of the prior of the nuisance
and over both regressions of a pair. Sampling variances of binary columns follow from the model. Those of
counts and Gaussian columns come from leaving out one row at a time, and those of rows in groups from
leaving out one group at a time (`plaggm.core.families.influence`), under the mean prior; under every other
prior the model's sampling variance is multiplied by the same ratio.

Counts contain little information on R, and pooling biases tests if R is too small to be detected. With
counts there is no price for R, and the shares of the prior have equal weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.families.influence import left_out
from plaggm.core.families.posterior import NodeSystems, UnpenalisedFit, fit_nodes
from plaggm.core.inference.edge_tests import ROWS_PER_COEFFICIENT, check_several, warn_of_few_groups
from plaggm.core.inference.nuisance_average import (
    POOLING,
    PRICE,
    SHARE_WEIGHTS,
    SHARES,
    leading_priors,
    prior_weights,
)
from plaggm.core.inference.pair_statistics import (
    EdgeTests,
    both,
    jackknife_variance,
    mixture_tests,
    pair_variances,
)
from plaggm.core.nuisance.prior import retain_share

# Price of R for each function, and weights of the shares, in networks with counts.
COUNT_PRICE, COUNT_SHARE_WEIGHTS = 0.0, (1.0, 1.0, 1.0, 1.0, 1.0)
# Ratio of a coefficient's posterior variance to that of the weak prior above which categories are
# separated.
UNKNOWN = 0.05


@dataclass(frozen=True, slots=True)
class PriorFits:
    """Estimates of every pair under one prior, from both of its regressions.

    Attributes
    ----------
    coefficients : ndarray of shape (p, p)
        Row j is node j's regression.
    posterior, sampling : ndarray of shape (p, p)
        Variances of the coefficients.
    log_likelihood : float
        Half the sum over the nodes: every pair is in two regressions.
    """

    coefficients: Array
    posterior: Array
    sampling: Array
    log_likelihood: float


def family_edge_tests(
    fit: UnpenalisedFit, *, groups: Index | None = None
) -> tuple[EdgeTests, Index]:
    """Test every pair of the baseline network, in the common units of `plaggm.core.families.columns`.

    Parameters
    ----------
    fit : UnpenalisedFit
    groups : ndarray of int of shape (n,), optional
        Group of every row, where rows of a group depend on each other.

    Returns
    -------
    tests : EdgeTests
    separated : ndarray of int
        Numbers of binary variables with an edge that is known from the weak prior only, since other
        variables separate their categories.

    Raises
    ------
    ValueError
        With a single group.
    """
    systems, p = fit.systems, fit.systems.p
    if groups is not None:
        count = int(groups.max()) + 1
        check_several(count)
        warn_of_few_groups(count)
    fits, weights, typical = _averaged(fit)
    variances = np.array([pair_variances(one.posterior) for one in fits])
    estimates = np.array([both(one.coefficients) for one in fits])
    residual = _residual_variances(fit, typical, groups)
    degrees = float(systems.n - p - systems.functions)
    if residual is not None:
        sampling = np.array([pair_variances(one.sampling) for one in fits])
        squared_bias = np.maximum(variances - sampling, 0.0)
        if groups is None:
            expected = pair_variances(fit_all(systems, typical).sampling)
            residual = sampling * (residual / np.maximum(expected, np.finfo(float).tiny))
        variances = squared_bias + residual
    method = "mixed model" if len(weights) > 1 else "maximum likelihood"
    if groups is not None:
        degrees, method = count - 1.0, f"{method}, cluster jackknife"
    tests = mixture_tests(
        estimates,
        variances,
        weights,
        p,
        degrees=degrees,
        method=method,
        wide=groups is not None,
        bounded=False,
    )
    binary = fit.rows.columns.of("binomial")
    # Variances of the pooled fit in units of those of the weak prior.
    unknown = np.max(fits[0].posterior * systems.n * systems.ridge[:, None], axis=1)
    return tests, binary[unknown[binary] > UNKNOWN]


def check_enough_rows(n: int, p: int, functions: int, what: str) -> None:
    """Raise if there are too few rows for regressions without lasso.

    Parameters
    ----------
    n, p, functions : int
        Numbers of rows, variables and functions of the confounders.
    what : str
        The tested property, for the message.
    """
    needed = ROWS_PER_COEFFICIENT * (p + functions)
    if n < needed:
        raise ValueError(
            f"{n} samples are too few to test {what} of {p} variables that are not all Gaussian: a "
            f"test needs {needed}. Use edges='penalty', or fewer variables."
        )


def _averaged(fit: UnpenalisedFit) -> tuple[list[PriorFits], Array, Array]:
    """Fits under every prior, their weights, and the mean prior; see `plaggm.core.inference.nuisance_average`."""
    systems, form, learnt = fit.systems, fit.form, fit.prior
    n, size = systems.n, systems.functions
    if not size:
        return [fit_all(systems, learnt)], np.ones(1), learnt
    pooling = POOLING / n * np.eye(size)
    priors = [pooling, *(retain_share(learnt, fit.means, share) for share in SHARES)]
    fits = [fit_all(systems, prior) for prior in priors]
    price, share_weights = PRICE, SHARE_WEIGHTS
    if len(fit.rows.columns.of("poisson")):
        price, share_weights = COUNT_PRICE, COUNT_SHARE_WEIGHTS
    leading, beside = leading_priors(learnt, form, n)
    without = fit_all(systems, beside).log_likelihood
    evidence = np.array([fit_all(systems, prior).log_likelihood for prior in leading]) - without
    likelihood = [one.log_likelihood for one in fits[1:]]
    weights = prior_weights(likelihood, evidence - price * form.learnt_of_each(), share_weights)
    return fits, weights, np.tensordot(weights, np.array(priors), 1)


def fit_all(systems: NodeSystems, prior: Array) -> PriorFits:
    """Regress every node under a prior."""
    p = systems.p
    found = fit_nodes(systems, prior)
    noise = systems.dispersion[:, None] / systems.n
    return PriorFits(
        np.array([one.coefficients[:p] for one in found]),
        noise * np.array([one.posterior(p) for one in found]),
        noise * np.array([one.sampling for one in found]),
        0.5 * sum(one.log_likelihood for one in found),
    )


def _residual_variances(fit: UnpenalisedFit, prior: Array, groups: Index | None) -> Array | None:
    """Sampling variances of all pairs by leaving out rows or groups: shape (p (p - 1) / 2,).

    None if all columns are binary and rows are independent.
    """
    systems, p = fit.systems, fit.systems.p
    dispersed = fit.rows.columns.dispersed() > 0.0
    if groups is None and not dispersed.any():
        return None
    fits = fit_nodes(systems, prior)
    moves = (part[:, :, :p] for part in left_out(fit.rows, fit.eta, systems, fits, groups))
    if groups is not None:
        return jackknife_variance(both(np.concatenate(list(moves))))
    variances = sum((np.sum(one**2, axis=0) for one in moves), np.zeros((p, p)))
    known = np.array([one.sampling for one in fits]) / systems.n
    return pair_variances(np.where(dispersed[:, None], variances, known))
