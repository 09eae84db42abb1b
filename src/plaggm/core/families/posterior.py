"""Every node's regression without lasso under a prior of the nuisance, for variables of several families.

With losses approximated by quadratic models around the fit (`plaggm.core.families.nodes`; Laplace's
approximation) and a prior N(0, Sigma) of every pair's nuisance, node j's coefficients are Gaussian with
precision

    n K_j,     K_j = [[B'wB + ridge, C'], [C, D'wD + Sigma^{-1}]] / n     without the node's own columns

The ridge is that of `plaggm.core.families.nodes.weak_ridge`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from plaggm.array_types import Array
from plaggm.core.families.covariances import dispersions
from plaggm.core.families.nodes import (
    NuisancePenalty,
    node_statistics,
    other_columns,
    weak_ridge,
)
from plaggm.core.families.rows import FamilyRows, clear_own
from plaggm.core.inference.nuisance_average import conditional_units
from plaggm.core.nuisance.node_regressions import moments
from plaggm.core.nuisance.prior import PriorForm, prior_covariance
from plaggm.core.numerics.symmetric_inverse import inverse_within
from plaggm.core.spline.system import SplineSystem, spline_system

STEPS, HALVINGS = 30, 20
# Largest slope at which the fit without lasso has converged.
TOL = 1e-7
# Steps after which the curvature is recomputed.
RENEW = 5
# Steps of the EM algorithm, which starts from the prior of a Gaussian model.
EM_STEPS = 12


@dataclass(frozen=True, slots=True)
class NodeSystems:
    """Quadratic models of all nodes around a fit, with all their coefficients.

    Attributes
    ----------
    systems : tuple of SplineSystem
        Weighted moments of every node with its working response in its own column.
    ridge : ndarray of shape (p,)
        See :func:`plaggm.core.families.nodes.weak_ridge`.
    dispersion : ndarray of shape (p,)
    """

    systems: tuple[SplineSystem, ...]
    ridge: Array
    dispersion: Array

    @property
    def p(self) -> int:
        """Number of nodes."""
        return len(self.systems)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.systems[0].n

    @property
    def functions(self) -> int:
        """Number of functions."""
        return self.systems[0].functions

    def penalty(self, node: int, precision: Array) -> Array:
        """Penalty matrix of a node under a prior precision divided by n: ((1 + M) q, (1 + M) q)."""
        q, size, ridge = self.p + 1, self.functions, self.ridge[node]
        weak = ridge * np.broadcast_to(np.eye(size), (self.p, size, size))
        whole = np.zeros(((1 + size) * q, (1 + size) * q))
        whole[q:, q:] = NuisancePenalty(precision, np.asarray(weak)).matrix(node, q)
        index = np.arange(self.p)
        whole[index, index] = ridge
        return whole


@dataclass(frozen=True, slots=True)
class NodeFit:
    """One node's regression under one prior.

    Attributes
    ----------
    coefficients : ndarray of shape ((1 + M) q,)
        Zero for the node's own columns.
    inverse : ndarray of shape ((1 + M) q, (1 + M) q)
        K_j^{-1}, zero in the node's own rows and columns.
    sampling : ndarray of shape (p,)
        Sampling variances of the coefficients of the other variables, divided by noise / n.
    log_likelihood : float
        Marginal log-likelihood of the node, up to a constant.
    """

    coefficients: Array
    inverse: Array
    sampling: Array
    log_likelihood: float

    def function_inverse(self, p: int) -> Array:
        """Block of K_j^{-1} for the products of functions and variables: shape (M, p, M, p)."""
        size = len(self.inverse) // (p + 1)
        return self.inverse.reshape(size, p + 1, size, p + 1)[1:, :p, 1:, :p]

    def posterior(self, p: int) -> Array:
        """Posterior variances of the coefficients of the other variables divided by noise / n: (p,)."""
        return np.asarray(np.diagonal(self.inverse)[:p])


def fit_node(systems: NodeSystems, node: int, prior: Array) -> NodeFit:
    """Regress one node under a prior covariance of the nuisance.

    Parameters
    ----------
    systems : NodeSystems
    node : int
    prior : ndarray of shape (M, M)
    """
    p, n, noise = systems.p, systems.n, systems.dispersion[node]
    system = systems.systems[node]
    precision = np.asarray(np.linalg.inv(prior) / n if len(prior) else prior, dtype=np.float64)
    whole, penalty = moments(system), systems.penalty(node, precision)
    others = other_columns(1 + systems.functions, p + 1, node)
    inverse = inverse_within(whole + penalty, others)
    right = np.where(others, whole[:, node], 0.0)
    coefficients = inverse @ right
    residual = whole[node, node] - float(right @ coefficients)
    sampling = np.diagonal(inverse)[:p] - np.sum((inverse[:p] @ penalty) * inverse[:p], axis=1)
    volume = -np.linalg.slogdet(inverse[np.ix_(others, others)])[1]
    if len(prior):
        volume -= (p - 1) * np.linalg.slogdet(precision)[1]
    likelihood = -0.5 * (n * residual / noise + volume)
    return NodeFit(coefficients, inverse, np.maximum(sampling, 0.0), float(likelihood))


def fit_nodes(systems: NodeSystems, prior: Array) -> list[NodeFit]:
    """Regress every node under a prior covariance of the nuisance (M, M)."""
    return [fit_node(systems, node, prior) for node in range(systems.p)]


def prior_step(systems: NodeSystems, form: PriorForm, prior: Array) -> Array:
    """The prior of the nuisance after one step of the EM algorithm over all pairs: shape (M, M)."""
    p, size, n = systems.p, systems.functions, systems.n
    total = np.zeros((size, size))
    for node in range(p):
        found = fit_node(systems, node, prior)
        gamma = found.coefficients.reshape(1 + size, p + 1)[1:, :p]
        spread = np.einsum("akbk->ab", found.function_inverse(p))
        total += gamma @ gamma.T / systems.dispersion[node] + spread / n
    return form.constrained(0.5 * (total + total.T) / (p * (p - 1)))


def learn_prior(systems: NodeSystems, form: PriorForm, start: Array) -> Array:
    """The prior of the nuisance after some EM steps from that of a Gaussian model: shape (M, M)."""
    prior = start
    for _ in range(EM_STEPS):
        prior = prior_step(systems, form, prior)
    return prior


@dataclass(frozen=True, slots=True)
class UnpenalisedFit:
    """All nodes' regressions without lasso and the prior of the nuisance that was learnt from them.

    Attributes
    ----------
    rows : FamilyRows
    eta : ndarray of shape (n, p)
        Predictors of the fit, around which the losses are approximated.
    systems : NodeSystems
    form : PriorForm
    prior : ndarray of shape (M, M)
        Learnt prior covariance, in the systems' functions.
    means : ndarray of shape (M,)
        Means of these functions.
    """

    rows: FamilyRows
    eta: Array
    systems: NodeSystems
    form: PriorForm
    prior: Array
    means: Array


def unpenalised_fit(
    rows: FamilyRows, start: Array, seen: SplineSystem, form: PriorForm
) -> UnpenalisedFit:
    """Fit every node without lasso, and learn the prior of the nuisance.

    Parameters
    ----------
    rows : FamilyRows
    start : ndarray of shape ((1 + M) q, p)
        Coefficients of a fit, from which those without lasso are found.
    seen : SplineSystem
        Unweighted moments of the columns as they enter other predictors, in functions that belong to one
        confounder each. The EM algorithm starts from the prior of a Gaussian model of them.
    form : PriorForm
        Form of the prior in the functions of ``seen``.
    """
    prior = np.zeros((0, 0))
    if seen.functions:
        prior = prior_covariance(conditional_units(seen)[0], form)
    fitted, systems = fit_without_lasso(rows, start, prior, seen.rotation)
    if seen.functions:
        prior = learn_prior(systems, form, prior)
    eta = rows.predictors(fitted)
    return UnpenalisedFit(rows, eta, systems, form, prior, seen.function_means)


def fit_without_lasso(
    rows: FamilyRows, start: Array, prior: Array, rotation: Array
) -> tuple[Array, NodeSystems]:
    """Fit every node without lasso under a prior, and approximate its loss around the fit.

    Parameters
    ----------
    rows : FamilyRows
    start : ndarray of shape ((1 + M) q, p)
        Coefficients to start from, in the rows' functions.
    prior : ndarray of shape (M, M)
        Prior covariance in the rotated functions.
    rotation : ndarray of shape (M, M)
        Rotated functions = functions of the rows @ rotation.

    Returns
    -------
    coefficients : ndarray of shape ((1 + M) q, p)
        In the rows' functions.
    systems : NodeSystems
        In the rotated functions.
    """
    p, q, size = rows.p, rows.b.shape[1], rows.phi.shape[1]
    ridge = weak_ridge(rows.columns, rows.n)
    whole = block_diag(1.0, rotation)

    def combined(matrix: Array, table: Array) -> Array:
        return np.asarray(np.tensordot(matrix, table.reshape(-1, q, p), axes=1).reshape(-1, p))

    coefficients = combined(np.linalg.inv(whole), start)
    eta = rows.predictors(combined(whole, coefficients))
    precision = np.asarray(np.linalg.inv(prior) / rows.n if size else prior, dtype=np.float64)
    for step in range(STEPS):
        if step % RENEW == 0:
            systems = model_nodes(rows, eta, rotation, ridge)
            inverses = [fit_node(systems, node, prior).inverse for node in range(p)]
            penalties = [systems.penalty(node, precision) for node in range(p)]
        pull = np.column_stack([penalties[j] @ coefficients[:, j] for j in range(p)])
        slopes = clear_own(combined(whole.T, rows.gradient(rows.evaluate(eta)[1])) + pull)
        if np.max(np.abs(slopes)) <= TOL:
            break
        move = -np.column_stack([inverses[j] @ slopes[:, j] for j in range(p)])
        along = rows.predictors(combined(whole, move))
        share = _descents(rows, eta, along, coefficients, move, penalties)
        coefficients = coefficients + share * move
        eta = eta + share * along
    return combined(whole, coefficients), model_nodes(rows, eta, rotation, ridge)


def model_nodes(rows: FamilyRows, eta: Array, rotation: Array, ridge: Array) -> NodeSystems:
    """Quadratic models of all nodes around some predictors (n, p)."""
    working = rows.working(eta)
    systems = tuple(
        spline_system(node_statistics(rows, working, node), rotation) for node in range(rows.p)
    )
    return NodeSystems(systems, ridge, dispersions(rows, eta, rows.p + rows.phi.shape[1]))


def _descents(
    rows: FamilyRows,
    eta: Array,
    along: Array,
    coefficients: Array,
    move: Array,
    penalties: Sequence[Array],
) -> Array:
    """Shares of every node's step at which its objective decreases: shape (p,)."""
    p = rows.p

    def objectives(share: Array) -> Array:
        values = coefficients + share * move
        fit = rows.columns.log_likelihood(rows.x, eta + share * along)
        ridge = [0.5 * values[:, j] @ penalties[j] @ values[:, j] for j in range(p)]
        return np.asarray(-(rows.counts @ fit) / rows.n + np.array(ridge))

    before, share = objectives(np.zeros(p)), np.ones(p)
    for _ in range(HALVINGS):
        worse = objectives(share) > before + 1e-12 * np.abs(before)
        if not worse.any():
            break
        share = np.where(worse, 0.5 * share, share)
    return share
