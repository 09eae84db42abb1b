r"""Scores of the functions of every pair, averaged over both regressions, and their covariances.

In node j's regression let Gamma_jk (M numbers) be the coefficients of variable k's products with the
functions, under the penalty P = Sigma^{-1} / n of a prior. With g_jk their estimate and E_jk their
posterior covariance divided by noise / n (`plaggm.core.inference.spline_inference`),

    s_jk = E_jk^{-1} g_jk,     J_jk = E_jk^{-1} - P

are the score of Gamma_jk at zero and its information in a model in which all other pairs have the prior and
this pair, the baseline and all shifts of means are free. If Gamma_jk = 0, sqrt(n) s_jk has mean zero and
covariance s_j^2 J_jk over noise and prior. J_jk need not be invertible.

In units of the residual deviations both regressions of a pair have nearly the same score: for Gaussian rows
and partial correlation r their correlation is 1 - 2 r^2, and their mean has the covariance (1 - r^2) J. A
change of one node's variance changes them in opposite directions, so that their mean is insensitive to it
to first order.

J is the sum of a prior part, due to the remaining nuisance of the other pairs, and a sampling part, which
can be replaced by an estimate from groups or blocks of rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.inference.cluster_jackknife import first_order_effects, without
from plaggm.core.inference.nuisance_average import NodePosterior
from plaggm.core.inference.pair_statistics import both, pair_matrices
from plaggm.core.inference.spline_inference import blocks_without_nodes
from plaggm.core.nuisance.node_regressions import moments, node_regressions
from plaggm.core.profile.spline import node_rows
from plaggm.core.spline.system import SplineSystem

# Larger absolute partial correlations r are clipped in the factor 1 - r^2.
LARGEST = 0.99


@dataclass(frozen=True, slots=True)
class PairScores:
    """Scores of all pairs at zero, in units of partial correlations and times the root of n.

    Pairs are in the order of ``numpy.triu_indices(p, 1)``; functions are those of the original system, not
    those in which the prior is diagonal.

    Attributes
    ----------
    posterior : NodePosterior
    rotation : ndarray of shape (M, M)
        Orthogonal matrix from the posterior's functions to those of the scores.
    inverse : ndarray of shape (p, p, M, M)
        E_jk^{-1}, in the posterior's functions.
    score : ndarray of shape (P, M)
    information : ndarray of shape (P, M, M)
        J, averaged over both regressions.
    prior_part : ndarray of shape (P, M, M)
        Prior part of the information.
    correlation : ndarray of shape (P,)
        Partial correlations, averaged over the confounder.
    """

    posterior: NodePosterior
    rotation: Array
    inverse: Array
    score: Array
    information: Array
    prior_part: Array
    correlation: Array

    def covariance(self) -> tuple[Array, Array]:
        """Covariances of the scores under the hypothesis: due to sampling, and to the prior.

        Returns
        -------
        sampling, prior : ndarray of shape (P, M, M)
        """
        kept = (1.0 - self.correlation**2)[:, None, None]
        return kept * (self.information - self.prior_part), self.prior_part

    def influences(self, blocks: Iterable[SplineSystem]) -> Array:
        """First-order contributions of every block to the scores, minus its share of the scores.

        Residuals are scaled to the estimated noise, since those of the fit are too small.

        Parameters
        ----------
        blocks : iterable of SplineSystem
            Moments of disjoint blocks of all rows, in the functions and units of the posterior.

        Returns
        -------
        ndarray of shape (blocks, P, M)
            They sum to zero; their sum of squares times count / (count - 1) estimates variances.
        """
        posterior = self.posterior
        residual = posterior.regressions.residual_directions()
        left = np.sum(residual * (moments(posterior.system) @ residual), axis=0)
        enlarged = np.sqrt(posterior.noise / np.maximum(left, np.finfo(float).tiny))
        effects = (first_order_effects(posterior, block) for block in blocks)
        return np.array([self._paired(self._solved(moved * enlarged)) for moved in effects])

    def contributions(self, groups: Iterable[SplineSystem]) -> Array:
        """Contributions of every group to the scores by leaving it out, minus its share of the scores.

        With g the coefficients of all rows, g_(b) those without the group and w its share of the rows, the
        group's score at zero minus w times that of all rows is (1 - w) E^{-1} (g - g_(b)) - w P g_(b), if
        its share of the information is w. Without a penalty this is the jackknife (CRV3).

        Parameters
        ----------
        groups : iterable of SplineSystem
            Moments of disjoint groups of all rows, in the functions and units of the posterior.

        Returns
        -------
        ndarray of shape (groups, P, M)
            See :meth:`influences`.
        """
        whole, penalty = self.posterior.system, self.posterior.penalty
        estimate = -self.posterior.regressions.residual_directions()
        found = []
        for group in groups:
            rest, share = without(whole, group), group.n / whole.n
            regressions = node_regressions(rest, penalty * whole.n / rest.n)
            left = -regressions.residual_directions()
            penalised = _by_pair(left, whole.p) * penalty
            moved = (1.0 - share) * self._solved(estimate - left) - share * penalised
            found.append(self._paired(moved))
        return np.array(found)

    def _solved(self, coefficients: Array) -> Array:
        """E^{-1} times coefficients of shape ((1 + M) q, p): shape (p, p, M)."""
        by_pair = _by_pair(coefficients, self.posterior.system.p)
        return np.asarray(np.matmul(self.inverse, by_pair[..., None])[..., 0])

    def _paired(self, scores: Array) -> Array:
        return paired_scores(self.posterior, scores, self.rotation)


def pair_scores(posterior: NodePosterior, rotation: Array) -> PairScores:
    """Scores of all pairs under a prior.

    Parameters
    ----------
    posterior : NodePosterior
        Regressions of a system with at least one function, in conditional units.
    rotation : ndarray of shape (M, M)
        Orthogonal matrix: functions of the posterior = functions of the scores @ rotation.

    Returns
    -------
    PairScores
    """
    regressions, system = posterior.regressions, posterior.system
    p = system.p
    blocks = blocks_without_nodes(regressions.inverse, p, 1 + system.functions)
    inverse = np.asarray(np.linalg.inv(blocks[:, :, 1:, 1:]), dtype=np.float64)
    noise = posterior.noise[None, :, None, None]
    information = pair_matrices((inverse - np.diag(posterior.penalty)) / noise, rotation)
    estimates = _by_pair(-regressions.residual_directions(), p)
    return PairScores(
        posterior,
        rotation,
        inverse,
        paired_scores(posterior, np.matmul(inverse, estimates[..., None])[..., 0], rotation),
        information,
        pair_matrices(_prior_parts(posterior, inverse) / noise, rotation),
        _average_correlations(posterior),
    )


def paired_scores(posterior: NodePosterior, scores: Array, rotation: Array) -> Array:
    """Mean of both regressions' scores, in units of partial correlations and times the root of n.

    Parameters
    ----------
    posterior : NodePosterior
    scores : ndarray of shape (p, p, M)
        Scores of variable k's functions in node j's regression at [j, k].
    rotation : ndarray of shape (M, M)

    Returns
    -------
    ndarray of shape (P, M)
    """
    deviation = np.sqrt(posterior.noise)
    scale = np.sqrt(posterior.system.n) / (deviation[:, None] * deviation)
    return np.asarray(both(np.moveaxis(scores * scale[:, :, None], 2, 0)).T @ rotation.T)


def _by_pair(coefficients: Array, p: int) -> Array:
    """Coefficients of the functions at [node, variable]: shape (p, p, M) from ((1 + M) q, p)."""
    return np.ascontiguousarray(coefficients.reshape(-1, p + 1, p)[1:, :p].transpose(2, 1, 0))


def _prior_parts(posterior: NodePosterior, inverse: Array) -> Array:
    """Contribution of the prior of the other variables' functions to each covariance: (p, p, M, M).

    With F_j the inverse of node j's system it is E^{-1} (sum_{l != k} F_j[k, l] P F_j[l, k]) E^{-1}.
    """
    regressions, system = posterior.regressions, posterior.system
    p, q, size = system.p, system.q, system.functions
    wanted = _function_columns(p, size)
    shared = regressions.inverse[np.ix_(wanted, wanted)]
    rows = node_rows(regressions.inverse, q)[:, :, wanted]
    root = np.repeat(np.sqrt(posterior.penalty), p)
    found = np.empty((p, p, size, size))
    index = np.arange(p)
    for j in range(p):
        own = (shared - rows[j].T @ (regressions.schur[j] @ rows[j])) * root
        by_variable = own.reshape(size, p, size, p).transpose(1, 0, 2, 3).copy()
        # A pair's own penalty is not part of its score's covariance.
        by_variable[index, :, :, index] = 0.0
        flat = by_variable.reshape(p, size, size * p)
        found[j] = np.matmul(flat, flat.transpose(0, 2, 1))
    return np.asarray(np.matmul(inverse, np.matmul(found, inverse)))


def _function_columns(p: int, size: int) -> Index:
    """Columns of W that are products of a variable with a function, ordered by function."""
    return np.concatenate([(1 + a) * (p + 1) + np.arange(p) for a in range(size)])


def _average_correlations(posterior: NodePosterior) -> Array:
    """Partial correlations of all pairs at the means of the functions: shape (P,)."""
    system = posterior.system
    p, q = system.p, system.q
    mean = system.function_means / system.bb[-1, -1]
    found = -posterior.regressions.residual_directions().reshape(-1, q, p)[:, :p]
    average = np.tensordot(np.append(1.0, mean), found, 1).T
    return np.clip(both(average * posterior.units()), -LARGEST, LARGEST)
