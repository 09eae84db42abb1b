r"""Tests of R_jk = 0 for each pair and confounder, for variables of several families.

The test is that of `plaggm.core.inference.moderation_tests`: a quadratic form in the scores of a pair's functions at
zero, averaged over both regressions. The scores are those of `plaggm.core.inference.pair_scores` in the quadratic
models of `plaggm.core.families.posterior`. With E_jk the block of variable k's functions in the inverse of
node j's system and g_jk their coefficients,

    s_jk = E_jk^{-1} g_jk,     covariance of sqrt(n) s_jk under the hypothesis: f_j J_jk,
    J_jk = E_jk^{-1} - P,      f_j the node's dispersion

The covariance of the average is at most the mean of both covariances, which is used for pairs of binary
variables. For pairs with a count or a Gaussian column, and for rows in groups, its sampling part comes from
leaving out rows or groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.families.influence import left_out
from plaggm.core.families.posterior import NodeFit, NodeSystems, UnpenalisedFit, fit_nodes
from plaggm.core.inference.pair_statistics import both, pair_matrices
from plaggm.core.inference.score_tests import (
    ModerationTests,
    check_groups,
    projected,
    tests_by_confounder,
)
from plaggm.core.numerics.threads import single_threaded_blas


def family_moderation_tests(
    fit: UnpenalisedFit, rotation: Array, owners: Index, groups: Index | None = None
) -> ModerationTests:
    """Test whether each pair's coefficient changes with each confounder.

    Parameters
    ----------
    fit : UnpenalisedFit
    rotation : ndarray of shape (M, M)
        Functions of the rows @ rotation are orthonormal over the rows, within each confounder.
    owners : ndarray of int of shape (M,)
        The confounder that each function belongs to.
    groups : ndarray of int of shape (n,), optional
        Group of every row, where rows of a group depend on each other.

    Returns
    -------
    ModerationTests

    Raises
    ------
    ValueError
        With a single group.

    Warns
    -----
    UserWarning
        With fewer than ten groups.
    """
    systems = fit.systems
    count = 0 if groups is None else int(groups.max()) + 1
    check_groups(count)
    with single_threaded_blas():
        scores = family_scores(fit, rotation, groups)
        return tests_by_confounder(
            scores.score,
            scores.information,
            owners,
            lambda project: (projected(project, scores.sampling + scores.prior), 1.0),
            count - 1.0 if count else None,
            float(systems.n - systems.p - systems.functions),
        )


@dataclass(frozen=True, slots=True)
class FamilyScores:
    """Scores of all pairs' functions at zero, times the root of n; pairs as ``numpy.triu_indices(p, 1)``.

    Attributes
    ----------
    score : ndarray of shape (P, M)
    information : ndarray of shape (P, M, M)
        Mean of both regressions' covariances.
    sampling, prior : ndarray of shape (P, M, M)
        Covariances under the hypothesis due to sampling and to the prior of the other pairs' functions.
    """

    score: Array
    information: Array
    sampling: Array
    prior: Array


def family_scores(fit: UnpenalisedFit, rotation: Array, groups: Index | None) -> FamilyScores:
    """Scores of all pairs; see :func:`family_moderation_tests` for the arguments."""
    systems = fit.systems
    fits = fit_nodes(systems, fit.prior)
    relative = np.asarray(np.linalg.solve(systems.systems[0].rotation, rotation), np.float64)
    inverse = np.array([_own_inverses(one, systems) for one in fits])
    penalty = np.linalg.inv(fit.prior) / systems.n
    noise = systems.dispersion[:, None, None, None]
    estimates = np.array([_by_pair(one.coefficients, systems) for one in fits])
    score = np.sqrt(systems.n) * np.matmul(inverse, estimates[..., None])[..., 0]
    information = pair_matrices(noise * (inverse - penalty), relative.T)
    prior = pair_matrices(noise * _prior_parts(fits, systems, penalty, inverse), relative.T)
    sampling = information - prior
    pairs = _dispersed_pairs(fit, groups)
    if pairs.any():
        jackknife = _left_out_covariances(fit, fits, inverse, relative, groups)
        sampling = np.where(pairs[:, None, None], jackknife, sampling)
    return FamilyScores(both(np.moveaxis(score, 2, 0)).T @ relative, information, sampling, prior)


def _dispersed_pairs(fit: UnpenalisedFit, groups: Index | None) -> Array:
    """Pairs whose sampling covariance is estimated by leaving out rows or groups: shape (P,)."""
    first, second = np.triu_indices(fit.systems.p, 1)
    dispersed = fit.rows.columns.dispersed() > 0.0
    return np.asarray(dispersed[first] | dispersed[second] | (groups is not None))


def _by_pair(coefficients: Array, systems: NodeSystems) -> Array:
    """Coefficients of the functions of every variable: shape (p, M) from ((1 + M) q,)."""
    p, size = systems.p, systems.functions
    return coefficients.reshape(1 + size, p + 1)[1:, :p].T


def _own_inverses(fit: NodeFit, systems: NodeSystems) -> Array:
    """E^{-1} of every variable's functions in one node's regression, zero for its own: (p, M, M)."""
    p, size = systems.p, systems.functions
    of_variable = np.einsum("akbk->kab", fit.function_inverse(p))
    others = np.einsum("kaa->k", of_variable) > 0.0
    found = np.zeros((p, size, size))
    found[others] = np.linalg.inv(of_variable[others])
    return found


def _prior_parts(
    fits: Sequence[NodeFit], systems: NodeSystems, penalty: Array, inverse: Array
) -> Array:
    """Contribution of the prior of the other variables' functions to each covariance: (p, p, M, M)."""
    p, size = systems.p, systems.functions
    root = np.linalg.cholesky(penalty)
    found = np.empty((p, p, size, size))
    index = np.arange(p)
    for node, fit in enumerate(fits):
        by_variable = np.einsum("akbl,bc->kacl", fit.function_inverse(p), root)
        # A pair's own penalty is not part of its score's covariance.
        by_variable[index, :, :, index] = 0.0
        flat = by_variable.reshape(p, size, size * p)
        found[node] = np.matmul(flat, flat.transpose(0, 2, 1))
    return np.asarray(np.matmul(inverse, np.matmul(found, inverse)))


def _left_out_covariances(
    fit: UnpenalisedFit,
    fits: Sequence[NodeFit],
    inverse: Array,
    relative: Array,
    groups: Index | None,
) -> Array:
    """Covariances of the scores estimated by leaving out rows or groups: shape (P, M, M)."""
    systems = fit.systems
    p, size = systems.p, systems.functions
    pairs = p * (p - 1) // 2
    total, square, count = np.zeros((pairs, size)), np.zeros((pairs, size, size)), 0
    for moved in left_out(fit.rows, fit.eta, systems, fits, groups):
        of_pair = moved.reshape(len(moved), p, 1 + size, p + 1)[:, :, 1:, :p]
        scores = np.einsum("jkab,ijbk->iajk", inverse, of_pair, optimize=True)
        parts = both(scores).transpose(2, 0, 1) @ relative
        total += parts.sum(axis=1)
        square += np.matmul(parts.transpose(0, 2, 1), parts)
        count += len(moved)
    # Contributions sum to the gradient of the penalty, an equal share of which is subtracted from each.
    square -= total[:, :, None] * total[:, None, :] / count
    return np.asarray(systems.n * square * count / (count - 1.0))
