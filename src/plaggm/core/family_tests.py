"""Which edges are real among variables of several families: a test of every pair.

As `plaggm.core.edge_tests`, on the quadratic models of `plaggm.core.family_posterior`: estimates and
posterior variances of the coefficients without lasso, averaged over what the data leave open about the
prior of the nuisance, both regressions of a pair taken together. Sampling variances of zeros and ones
follow from their means; those of counts and of Gaussian columns are taken from the residuals, leaving out
one row at a time; those of rows in groups from leaving out one group at a time. In the quadratic model that
is exact: without the rows of a group coefficients move by F W_g' (1 - H_g)^{-1} r_g, H_g the group's block
of the hat matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

from plaggm.array_types import Array, Index
from plaggm.core.edge_tests import ROWS_PER_COEFFICIENT, warn_of_few_groups
from plaggm.core.family_posterior import (
    NodeFit,
    NodeSystems,
    fit_node,
    fit_without_lasso,
    learn_prior,
)
from plaggm.core.family_rows import FamilyRows
from plaggm.core.gram_tests import ONE_GROUP
from plaggm.core.nuisance_average import (
    POOLING,
    PRICE,
    SHARE_WEIGHTS,
    SHARES,
    conditional_units,
    leading_priors,
)
from plaggm.core.nuisance_prior import PriorForm, prior_covariance, retain_share
from plaggm.core.pair_statistics import EdgeTests, both, mixture_tests, pair_variances
from plaggm.core.profile.spline import SplineSystem
from plaggm.core.threads import single_threaded_blas

# Largest leverage of a row or a group that is taken off its residuals.
MOST_LEVERAGE = 0.99
# Part of the weak prior's variance that the data leave of a coefficient where categories are separated.
UNKNOWN = 0.05


@dataclass(frozen=True, slots=True)
class PriorFits:
    """Every pair under one prior, from both of its regressions.

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
    rows: FamilyRows,
    start: Array,
    seen: SplineSystem,
    form: PriorForm,
    *,
    groups: Index | None = None,
) -> tuple[EdgeTests, Index]:
    """Test every pair of the baseline network, in the common units of `plaggm.core.family_columns`.

    Parameters
    ----------
    rows : FamilyRows
    start : ndarray of shape ((1 + M) q, p)
        Coefficients of a fit, from which those without lasso are found.
    seen : SplineSystem
        Unweighted moments of the columns as neighbours see them, in functions that belong to one
        confounder each; the prior is learnt from it first, as if variables were Gaussian.
    form : PriorForm
        Form of the prior in the functions of ``seen``.
    groups : ndarray of int of shape (n,), optional
        Group of every row, where rows of a group depend on each other.

    Returns
    -------
    tests : EdgeTests
    separated : ndarray of int
        Numbers of binary variables with an edge of which the data say little beyond the weak prior: others
        determine them in some rows.

    Raises
    ------
    ValueError
        With too few rows, and with a single group.
    """
    n, coefficients = len(rows.x), rows.p + seen.functions
    if n < ROWS_PER_COEFFICIENT * coefficients:
        raise ValueError(
            f"{n} samples are too few to test the edges of {rows.p} variables that are not all Gaussian: a "
            f"test needs {ROWS_PER_COEFFICIENT * coefficients}. Use edges='penalty', or fewer variables."
        )
    if groups is not None:
        count = int(groups.max()) + 1
        if count == 1:
            raise ValueError(ONE_GROUP)
        warn_of_few_groups(count)
    with single_threaded_blas():
        prior = np.zeros((0, 0))
        if seen.functions:
            prior = prior_covariance(conditional_units(seen)[0], form)
        fitted, systems = fit_without_lasso(rows, start, prior, seen.rotation)
        fits, weights, typical = _averaged(systems, form, prior, _means(seen))
        variances = np.array([pair_variances(one.posterior, _same(rows.p)) for one in fits])
        estimates = np.array([both(one.coefficients) for one in fits])
        eta = rows.predictors(fitted)
        residual = _residual_variances(rows, eta, systems, typical, groups)
        degrees = float(systems.n - systems.p - systems.functions)
        if residual is not None:
            sampling = np.array([pair_variances(one.sampling, _same(rows.p)) for one in fits])
            variances = np.maximum(variances - sampling, 0.0) + residual
    method = "mixed model" if len(weights) > 1 else "maximum likelihood"
    if groups is not None:
        degrees, method = count - 1.0, f"{method}, cluster jackknife"
    tests = mixture_tests(
        estimates,
        variances,
        weights,
        rows.p,
        degrees=degrees,
        method=method,
        wide=groups is not None,
        bounded=False,
    )
    binary = rows.columns.of("binomial")
    # Variances of the pooled fit, as parts of those of the weak prior.
    unknown = np.max(fits[0].posterior * systems.n * systems.ridge[:, None], axis=1)
    return tests, binary[unknown[binary] > UNKNOWN]


def _averaged(
    systems: NodeSystems, form: PriorForm, start: Array, mean: Array
) -> tuple[list[PriorFits], Array, Array]:
    """Fits under every prior, their weights, and the mean prior; see `plaggm.core.nuisance_average`."""
    n, size = systems.n, systems.functions
    if not size:
        return [fit_all(systems, start)], np.ones(1), start
    pooling = POOLING / n * np.eye(size)
    learnt = learn_prior(systems, form, start)
    priors = [pooling, *(retain_share(learnt, mean, share) for share in SHARES)]
    fits = [fit_all(systems, prior) for prior in priors]
    likelihood = np.array([one.log_likelihood for one in fits[1:]])
    among = softmax(likelihood + np.log(SHARE_WEIGHTS))
    leading, beside = (
        fit_all(systems, prior).log_likelihood for prior in leading_priors(learnt, form, n)
    )
    present = expit(leading - beside - PRICE * form.learnt)
    weights = np.append(1.0 - present, present * among)
    return fits, weights, np.tensordot(weights, np.array(priors), 1)


def fit_all(systems: NodeSystems, prior: Array) -> PriorFits:
    """Regress every node under a prior."""
    p = systems.p
    found = [fit_node(systems, node, prior) for node in range(p)]
    noise = systems.dispersion[:, None] / systems.n
    return PriorFits(
        np.array([one.coefficients[:p] for one in found]),
        noise * np.array([one.posterior(p) for one in found]),
        noise * np.array([one.sampling for one in found]),
        0.5 * sum(one.log_likelihood for one in found),
    )


def _means(seen: SplineSystem) -> Array:
    """Means of the functions: shape (M,)."""
    return seen.c.reshape(seen.functions, seen.q, seen.q)[:, -1, -1]


def _same(p: int) -> Array:
    return np.ones((p, p))


def _residual_variances(
    rows: FamilyRows, eta: Array, systems: NodeSystems, prior: Array, groups: Index | None
) -> Array | None:
    """Sampling variances of all pairs from residuals: shape (p (p - 1) / 2,).

    None where all columns are zeros and ones whose rows are independent.
    """
    p, dispersed = rows.p, rows.columns.dispersed() > 0.0
    if groups is None and not dispersed.any():
        return None
    weights, response = rows.working(eta)
    rotation = systems.systems[0].rotation
    table = _table(rows, rotation)
    moved = np.empty((0 if groups is None else int(groups.max()) + 1, p, p))
    variances = np.empty((p, p))
    for node in range(p):
        found = fit_node(systems, node, prior)
        if groups is None and not dispersed[node]:
            variances[node] = found.sampling / systems.n
            continue
        residual = weights[:, node] * (response[:, node] - table @ found.coefficients)
        shifts = _left_out(table, found, residual, weights[:, node], groups, p)
        if groups is None:
            variances[node] = np.sum(shifts**2, axis=0)
        else:
            moved[:, node] = shifts
    if groups is None:
        return pair_variances(variances, _same(p))
    return np.asarray((len(moved) - 1.0) * np.var(both(moved), axis=0))


def _table(rows: FamilyRows, rotation: Array) -> Array:
    """W of all rows in rotated functions: shape (n, (1 + M) q)."""
    functions = np.column_stack([np.ones(len(rows.phi)), rows.phi @ rotation])
    return np.asarray((functions[:, :, None] * rows.b[:, None, :]).reshape(len(rows.b), -1))


def _left_out(
    table: Array, fit: NodeFit, residual: Array, weights: Array, groups: Index | None, p: int
) -> Array:
    """How a node's coefficients of the other variables move without each row or group.

    Parameters
    ----------
    table : ndarray of shape (n, (1 + M) q)
    fit : NodeFit
    residual, weights : ndarray of shape (n,)
        Weighted residuals of the node's regression, and its weights.
    groups : ndarray of int of shape (n,) or None
        Rows are left out one by one when absent.
    p : int

    Returns
    -------
    ndarray of shape (groups or n, p)
    """
    n = len(table)
    spread = table @ fit.inverse
    reach = spread[:, :p] / n
    if groups is None:
        leverage = weights * np.sum(spread * table, axis=1) / n
        corrected = residual / (1.0 - np.minimum(leverage, MOST_LEVERAGE))
        return np.asarray(-reach * corrected[:, None])
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    moved = np.empty((len(parts), p))
    for number, part in enumerate(parts):
        hat = weights[part, None] * (spread[part] @ table[part].T) / n
        corrected = np.linalg.solve(np.eye(len(part)) - hat, residual[part])
        moved[number] = -reach[part].T @ corrected
    return moved
