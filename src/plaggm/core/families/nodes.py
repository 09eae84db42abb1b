"""Quadratic models of the nodes' losses with the nuisance minimised out.

Up to terms of third order node j's loss around given predictors is least squares with the weights w_ij and
the working response of `plaggm.core.families.rows`. With W = [B, D] without the node's own columns and the
penalty P of the nuisance, its curvature is

    H_j = [[B'wB, C'], [C, D'wD + P]] / n

Minimising over the coefficients of D leaves the node Gram G_j = B'wB - C' N_j C, N_j = (D'wD + P)^{-1},
with the working response in the node's own column. Since weights differ between nodes, so do all inverses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Mask
from plaggm.core.families.columns import FamilyColumns
from plaggm.core.families.rows import FamilyRows
from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.numerics.symmetric_inverse import inverse_within
from plaggm.core.numerics.threads import threads
from plaggm.core.profile.spline import MEAN_RIDGE
from plaggm.core.spline.statistics import SplineStatistics, spline_statistics
from plaggm.core.spline.system import SplineSystem, spline_system

# Standard deviation of the weak prior of coefficients, in the natural parameter.
PRIOR_DEVIATION = 5.0


@dataclass(frozen=True, slots=True)
class NuisancePenalty:
    """Penalty of the coefficients of the functions, for each sample.

    Attributes
    ----------
    network : ndarray of shape (M, M)
        Penalty of the functions times another variable: the inverse of the prior covariance over n.
    means : ndarray of shape (p, M, M)
        Penalty of every node's functions times the constant, which shift its mean; nearly zero.
    """

    network: Array
    means: Array

    @property
    def functions(self) -> int:
        """Number of functions."""
        return len(self.network)

    def times(self, factor: float) -> NuisancePenalty:
        """The penalty multiplied by a factor."""
        return NuisancePenalty(factor * self.network, factor * self.means)

    def slopes(self, coefficients: Array) -> Array:
        """Gradient of half the penalty in the coefficients of all nodes: shape ((1 + M) q, p)."""
        p = coefficients.shape[1]
        table = coefficients.reshape(1 + self.functions, p + 1, p)
        out = np.zeros_like(table)
        if self.functions:
            out[1:, :p] = np.tensordot(self.network, table[1:, :p], axes=1)
            out[1:, p] = np.einsum("jab,bj->aj", self.means, table[1:, p])
        return out.reshape(coefficients.shape)

    def value(self, coefficients: Array) -> float:
        """Half the penalty of the coefficients of all nodes."""
        return 0.5 * float(np.sum(coefficients * self.slopes(coefficients)))

    def matrix(self, node: int, q: int) -> Array:
        """The penalty of one node as a matrix over the columns of D: shape (M q, M q)."""
        size = self.functions
        whole = np.zeros((size, q, size, q))
        columns = np.arange(q - 1)
        whole[:, columns, :, columns] = self.network
        whole[:, q - 1, :, q - 1] = self.means[node]
        return whole.reshape(size * q, size * q)


def weak_ridge(columns: FamilyColumns, n: float) -> Array:
    """Ridge for each sample that keeps every node's estimates finite where categories separate: shape (p,).

    It is the precision of a prior with a standard deviation of 5 in the natural parameter; Gaussian nodes
    have next to none.
    """
    ridge = np.full(columns.p, MEAN_RIDGE)
    others = columns.of("binomial", "poisson")
    ridge[others] = 1.0 / (n * (PRIOR_DEVIATION * columns.scale[others]) ** 2)
    return ridge


def nuisance_penalty(
    rotation: Array, penalty: Array, columns: FamilyColumns, n: float
) -> NuisancePenalty:
    """The penalty of the functions from its diagonal in rotated functions.

    Shifts of a mean have the weak prior of :func:`weak_ridge` only: it keeps them finite where a category
    does not occur at all in some range of the confounder.

    Parameters
    ----------
    rotation : ndarray of shape (M, M)
        Functions of unit mean square in which the penalty is diagonal = functions @ rotation.
    penalty : ndarray of shape (M,)
        Penalty of these functions, for each sample.
    columns : FamilyColumns
    n : float
        Samples.
    """
    back = np.asarray(np.linalg.inv(rotation), dtype=np.float64)
    means = weak_ridge(columns, n)[:, None, None] * (back.T @ back)
    return NuisancePenalty(back.T @ (penalty[:, None] * back), means)


@dataclass(frozen=True, slots=True)
class ProfiledNode:
    """The quadratic model of one node with the nuisance minimised out.

    Attributes
    ----------
    gram : ndarray of shape (q, q)
        G_j.
    inverse : ndarray of shape (M q, M q)
        N_j, zero in the node's own rows and columns.
    applied : ndarray of shape (M q, q)
        N_j C.
    spent : float
        Degrees of freedom of the nuisance: the trace of N_j D'wD.
    """

    gram: Array
    inverse: Array
    applied: Array
    spent: float


def profile_node(system: SplineSystem, penalty: NuisancePenalty, node: int) -> ProfiledNode:
    """The quadratic model of one node with the nuisance minimised out.

    Parameters
    ----------
    system : SplineSystem
        Weighted moments with the working response in the node's column, in the functions of the penalty.
    penalty : NuisancePenalty
    node : int
    """
    q, size = system.q, system.functions
    inverse = np.zeros((size * q, size * q))
    if size:
        whole = system.h + penalty.matrix(node, q)
        inverse = inverse_within(whole, other_columns(size, q, node))
    applied = inverse @ system.c
    gram = system.bb - system.c.T @ applied
    return ProfiledNode(0.5 * (gram + gram.T), inverse, applied, float(np.sum(inverse * system.h)))


def other_columns(blocks: int, q: int, node: int) -> Mask:
    """Which columns of some blocks of q columns are not the node's own: shape (blocks q,)."""
    others = np.ones((blocks, q), dtype=np.bool_)
    others[:, node] = False
    return others.ravel()


def node_statistics(rows: FamilyRows, working: tuple[Array, Array], node: int) -> SplineStatistics:
    """Weighted sums of one node with its working response in its own column.

    Parameters
    ----------
    rows : FamilyRows
    working : (ndarray of shape (n, p), ndarray of shape (n, p))
        Weights and working responses; see :meth:`plaggm.core.families.rows.FamilyRows.working`.
    node : int
    """
    weights, responses = working
    b = rows.b.copy()
    b[:, node] = responses[:, node]
    found = spline_statistics(b, rows.phi, weights[:, node], n_threads=1)
    return SplineStatistics(found.sums, round(rows.n), found.functions)


@dataclass(frozen=True, slots=True)
class FamilyNodes:
    """Quadratic models of all nodes.

    Attributes
    ----------
    grams : ndarray of shape (p, q, q)
    inverses : ndarray of shape (p, M q, M q)
    applied : ndarray of shape (p, M q, q)
    spent : ndarray of shape (p,)
        Degrees of freedom of every node's nuisance.
    n : int
    """

    grams: Array
    inverses: Array
    applied: Array
    spent: Array
    n: int

    def node_grams(self) -> NodeGrams:
        """The models as node Grams."""
        return NodeGrams(self.grams, self.n, self.spent)

    def profiled_slopes(self, gradient: Array) -> tuple[Array, Array]:
        """Slopes in the coefficients of B with those of D minimised out, and N_j times the slopes in D.

        Parameters
        ----------
        gradient : ndarray of shape ((1 + M) q, p)

        Returns
        -------
        slopes : ndarray of shape (p, q)
            Row j is node j's.
        pull : ndarray of shape (p, M q)
            N_j times the slopes in the coefficients of D.
        """
        q = self.grams.shape[1]
        below = np.ascontiguousarray(gradient[q:].T)
        pull = np.matmul(self.inverses, below[:, :, None])[:, :, 0]
        slopes = gradient[:q].T - np.matmul(below[:, None, :], self.applied)[:, 0]
        return slopes, pull


def family_nodes(
    rows: FamilyRows, eta: Array, penalty: NuisancePenalty, n_threads: int
) -> FamilyNodes:
    """Quadratic models of all nodes around given predictors.

    Parameters
    ----------
    rows : FamilyRows
    eta : ndarray of shape (n, p)
    penalty : NuisancePenalty
    n_threads : int
        The result does not depend on it.
    """
    p, q, size = rows.p, rows.b.shape[1], rows.phi.shape[1]
    grams, spent = np.empty((p, q, q)), np.zeros(p)
    inverses, applied = np.empty((p, size * q, size * q)), np.empty((p, size * q, q))

    working, unrotated = rows.working(eta), np.eye(size)

    def work(node: int) -> None:
        system = spline_system(node_statistics(rows, working, node), unrotated)
        found = profile_node(system, penalty, node)
        grams[node], inverses[node] = found.gram, found.inverse
        applied[node], spent[node] = found.applied, found.spent

    with threads(n_threads) as pool:
        pool.run(work, list(range(p)))
    return FamilyNodes(grams, inverses, applied, spent, round(rows.n))
