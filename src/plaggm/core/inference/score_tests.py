"""Quadratic tests of the scores of all pairs along each confounder.

They are derived in `plaggm.core.inference.moderation_tests` and need the scores of every pair's functions at zero,
their information, which defines a common scale, and their covariance under the hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index, Mask
from plaggm.core.inference.edge_tests import FEW_GROUPS, check_several
from plaggm.core.inference.pair_statistics import adjusted
from plaggm.core.inference.weighted_chi_squares import ratio_tail
from plaggm.user_warnings import warn_user

# Eigenvalues below this share of the largest belong to directions without information. The ridge of the
# means makes them about 1e-8.
SAME = 1e-6
# Weight c of the directions in which other pairs change.
EMPHASIS = 3.0


@dataclass(frozen=True, slots=True)
class ModerationTests:
    """Tests of every pair's change with every confounder.

    All arrays have shape (confounders, P), pairs in the order of ``numpy.triu_indices(p, 1)``.

    Attributes
    ----------
    confounders : ndarray of int of shape (confounders,)
        Columns of the tested confounders, which have functions.
    statistic : ndarray
        Q divided by its expectation under the hypothesis.
    degrees_of_freedom : ndarray
        Degrees of freedom of the scaled chi-square distribution with the first two moments of Q.
    p_value : ndarray
    q_value : ndarray
        Benjamini and Hochberg's q-values over all pairs, separately for each confounder.
    dispersion : float
        Factor of the covariance of the scores for heavy tails or unequal variances; one without.
    """

    confounders: Index
    statistic: Array
    degrees_of_freedom: Array
    p_value: Array
    q_value: Array
    dispersion: float


def check_groups(count: int) -> None:
    """Raise if ``count`` groups are a single one, and warn if they are few; zero is independent rows."""
    check_several(count)
    if 0 < count < FEW_GROUPS:
        warn_user(
            f"Tests of changing edges rest on {count} groups; fewer than {FEW_GROUPS} leave them with "
            "little power.",
        )


def tests_by_confounder(
    score: Array,
    information: Array,
    owners: Index,
    covariance: Callable[[Array], tuple[Array, float]],
    group_degrees: float | None,
    degrees: float,
) -> ModerationTests:
    """Test every pair's scores along each confounder, given the others.

    Parameters
    ----------
    score : ndarray of shape (P, M)
    information : ndarray of shape (P, M, M)
    owners : ndarray of int of shape (M,)
        The confounder that each function belongs to.
    covariance : callable
        Gives the covariance (P, r, r) of scores that are projected by (P, r, M), and its factor for heavy
        tails.
    group_degrees, degrees : float
        See :func:`quadratic_tests`.

    Returns
    -------
    ModerationTests
    """
    confounders = np.unique(owners)
    found, factors = [], [1.0]
    for confounder in confounders:
        project = projections(information, owners == confounder)
        u = np.matmul(project, score[:, :, None])[:, :, 0]
        spread, factor = covariance(project)
        factors.append(factor)
        found.append(quadratic_tests(u, spread, group_degrees, degrees))
    statistic, shape, p_value = (np.array(part) for part in zip(*found, strict=True))
    q_value = np.array([adjusted(row) for row in p_value])
    return ModerationTests(confounders, statistic, shape, p_value, q_value, max(factors))


def projected(project: Array, covariance: Array) -> Array:
    """Covariances (P, M, M) of scores after their projection (P, r, M): shape (P, r, r)."""
    return np.asarray(np.matmul(project, np.matmul(covariance, project.transpose(0, 2, 1))))


def projections(information: Array, own: Mask) -> Array:
    """Projections of each pair's scores to those of one confounder given the others, on a common scale.

    Parameters
    ----------
    information : ndarray of shape (P, M, M)
    own : ndarray of bool of shape (M,)
        Functions of the confounder.

    Returns
    -------
    ndarray of shape (P, r, M)
        The mean information of the projected scores is the identity; r is at most the number of own
        functions.
    """
    pairs, size = information.shape[:2]
    mine, others = np.flatnonzero(own), np.flatnonzero(~own)
    project = np.zeros((pairs, len(mine), size))
    project[:, np.arange(len(mine)), mine] = 1.0
    if len(others):
        inner = np.linalg.pinv(information[:, others[:, None], others], rcond=SAME, hermitian=True)
        project[:, :, others] = -np.matmul(information[:, mine[:, None], others], inner)
    values, vectors = np.linalg.eigh(projected(project, information).mean(axis=0))
    large = values > SAME * max(float(values.max()), np.finfo(float).tiny)
    half = (vectors[:, large] / np.sqrt(values[large])).T
    return np.asarray(np.matmul(half, project))


def quadratic_tests(
    u: Array, covariance: Array, group_degrees: float | None, degrees: float
) -> tuple[Array, Array, Array]:
    """Tests of scores on a common scale.

    Parameters
    ----------
    u : ndarray of shape (P, r)
    covariance : ndarray of shape (P, r, r)
        Covariance of u under the hypothesis.
    group_degrees : float or None
        Degrees of freedom of each covariance if it is estimated from groups.
    degrees : float
        Degrees of freedom of the noise otherwise.

    Returns
    -------
    statistic, degrees_of_freedom, p_value : ndarray of shape (P,)
    """
    pairs, size = u.shape
    if not size:
        return np.zeros(pairs), np.zeros(pairs), np.ones(pairs)
    weights = direction_weights(u, covariance)
    expected = np.einsum("xab,xba->x", weights, covariance)
    statistic = np.einsum("xa,xab,xb->x", u, weights, u) / expected
    shape = (
        covariance
        if group_degrees is None
        else np.broadcast_to(covariance.mean(axis=0), covariance.shape)
    )
    root = np.linalg.cholesky(weights)
    values = np.linalg.eigvalsh(np.matmul(root.transpose(0, 2, 1), np.matmul(shape, root)))
    values = np.maximum(values, 0.0)
    values = values / values.sum(axis=1, keepdims=True)
    freedom = 1.0 / np.sum(values**2, axis=1)
    below = np.full(pairs, degrees) if group_degrees is None else group_degrees * freedom
    return statistic, freedom, ratio_tail(values, statistic, below)


def direction_weights(u: Array, covariance: Array) -> Array:
    """A of every pair: the identity plus the changes of the other pairs beyond their noise.

    Parameters
    ----------
    u : ndarray of shape (P, r)
    covariance : ndarray of shape (P, r, r)

    Returns
    -------
    ndarray of shape (P, r, r)
    """
    pairs, size = u.shape
    identity = np.eye(size)
    if pairs < 2:
        return np.broadcast_to(identity, (pairs, size, size))
    excess = u[:, :, None] * u[:, None, :] - covariance
    of_others = (excess.sum(axis=0) - excess) / (pairs - 1.0)
    values, vectors = np.linalg.eigh(of_others)
    positive = EMPHASIS * np.maximum(values, 0.0)[:, None, :] * vectors
    return np.asarray(identity + np.matmul(positive, vectors.transpose(0, 2, 1)))
