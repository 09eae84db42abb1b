"""The prior of the nuisance, learnt from all pairs of variables at once.

In the mixed model of node j the coefficients of pair (j, k) are Gaussian over the M functions,

    Gamma_jk ~ N(0, s_j^2 Sigma),     s_j^2 the node's noise,

and Sigma, one M x M matrix for all pairs, describes the size and smoothness of the nuisance and whether
both sides of zero change together. It is estimated by the EM algorithm for the restricted likelihood
(Dempster, Laird and Rubin, 1977): the next Sigma is the mean over the pairs of the posterior second moments
under the current one. Functions of different confounders are independent; for the exchangeable levels of a
factor Sigma is a known matrix times one variance. The number of steps is fixed, so that the result is a
smooth function of the data.

Only the nuisance in the direction of mu, the functions' means, biases the baseline network of pooled
samples. The prior given mu'Gamma = 0 is Sigma - v v' / (mu'v) with v = Sigma mu. Other priors retain a
share of the variance in this direction.

The penalty equivalent to the prior is Sigma^{-1} / n for each sample, which is diagonal in the eigenvectors
of Sigma.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.nuisance.node_regressions import moments
from plaggm.core.numerics.symmetric_inverse import symmetric_inverse
from plaggm.core.profile.spline import MEAN_RIDGE, deletion_blocks, node_rows
from plaggm.core.spline.basis import SplineBasis
from plaggm.core.spline.system import ROUGHEST, SplineSystem

STEPS = 25
# Penalty equivalent to the prior at the first step.
START_TAU = 0.3
# Smallest share of the variance in the direction of the means, so that a prior is invertible.
LEAST_SHARE = 1e-3
# Mean of a function of unit mean square below which it counts as zero.
NO_MEAN = 1e-6


@dataclass(frozen=True, slots=True)
class PriorForm:
    """The constrained form of the covariance of the coefficients.

    Attributes
    ----------
    confounders : ndarray of int of shape (M,)
        The confounder that each function belongs to; those of different confounders are independent.
    shapes : tuple of (ndarray of int of shape (k,), ndarray of shape (k, k))
        Functions whose covariance is a known matrix times one variance, and that matrix.
    """

    confounders: Index
    shapes: tuple[tuple[Index, Array], ...] = ()

    @property
    def learnt(self) -> int:
        """Number of functions with a learnt covariance, each exchangeable set counted once."""
        return int(self.learnt_of_each().sum())

    def learnt_of_each(self) -> Index:
        """Number of such functions of every confounder, in increasing order: shape (confounders,)."""
        present, counts = np.unique(self.confounders, return_counts=True)
        for index, _ in self.shapes:
            counts[present == self.confounders[index[0]]] -= len(index) - 1
        return counts

    def constrained(self, moments: Array) -> Array:
        """The most likely covariance of this form given second moments of coefficients: shape (M, M)."""
        together = self.confounders[:, None] == self.confounders[None, :]
        covariance = np.where(together, moments, 0.0)
        for index, shape in self.shapes:
            block = np.ix_(index, index)
            covariance[block] = (
                np.trace(np.linalg.solve(shape, moments[block])) / len(index) * shape
            )
        return covariance


def prior_form(basis: SplineBasis, rotation: Array) -> PriorForm:
    """The form of the prior in rotated functions (functions of the basis @ rotation, shape (M, M))."""
    shapes = []
    for term, part in zip(basis.terms, basis.slices(), strict=True):
        known = term.exchangeable()
        if known is not None:
            back = np.linalg.inv(rotation[part, part])
            shapes.append((np.arange(part.start, part.stop), back @ known @ back.T))
    return PriorForm(basis.confounders, tuple(shapes))


def prior_covariance(system: SplineSystem, form: PriorForm, steps: int = STEPS) -> Array:
    """Sigma, in the system's functions and in units of a node's noise variance.

    Parameters
    ----------
    system : SplineSystem
        Moments of more rows than variables.
    form : PriorForm
    steps : int
        Steps of the EM algorithm.

    Returns
    -------
    ndarray of shape (M, M)
    """
    covariance = form.constrained(np.eye(system.functions) / (START_TAU * system.n))
    for _ in range(steps):
        covariance = form.constrained(_posterior_moments(system, covariance))
    return covariance


def retain_share(covariance: Array, mean: Array, share: float) -> Array:
    """The prior with a share of its variance in the direction of the functions' means.

    Parameters
    ----------
    covariance : ndarray of shape (M, M)
    mean : ndarray of shape (M,)
        Means of the functions.
    share : float
        Retained share; 0 pools the samples, 1 returns the prior itself, and more than 1 enlarges it.

    Returns
    -------
    ndarray of shape (M, M)

    Examples
    --------
    >>> retain_share(np.eye(2), np.array([1.0, 0.0]), 0.5)
    array([[0.5, 0. ],
           [0. , 1. ]])
    """
    along = covariance @ mean
    size = float(mean @ along)
    # The means are zero: no function biases the baseline of pooled samples.
    if size <= NO_MEAN**2 * float(np.trace(covariance)):
        return covariance
    return np.asarray(covariance - (1.0 - max(share, LEAST_SHARE)) * np.outer(along, along) / size)


def diagonal_penalty(covariance: Array, n: int) -> tuple[Array, Array]:
    """The penalty equivalent to a prior, and the rotation of the functions in which it is diagonal.

    Parameters
    ----------
    covariance : ndarray of shape (M, M)
    n : int
        Samples.

    Returns
    -------
    rotation : ndarray of shape (M, M)
    penalty : ndarray of shape (M,)
        Penalties of the rotated functions, largest first.

    Examples
    --------
    >>> diagonal_penalty(np.diag([0.5, 0.1]), 10)[1]
    array([1. , 0.2])
    """
    variances, rotation = np.linalg.eigh(covariance)
    return rotation, 1.0 / (n * np.maximum(variances, variances.max(initial=0.0) / ROUGHEST))


def _posterior_moments(system: SplineSystem, covariance: Array) -> Array:
    """Mean over the pairs of E[Gamma Gamma'] / s_j^2 given the data, under a prior: shape (M, M)."""
    n, p, q, size = system.n, system.p, system.q, system.functions
    augmented = moments(system).reshape(1 + size, q, 1 + size, q)
    precision = np.linalg.inv(covariance) / n
    variables, blocks = np.arange(p), np.arange(1, 1 + size)
    augmented[1:, variables, 1:, variables] += precision
    augmented[blocks, p, blocks, p] += MEAN_RIDGE
    inverse = symmetric_inverse(augmented.reshape((1 + size) * q, (1 + size) * q))
    schur = np.asarray(np.linalg.inv(deletion_blocks(inverse, q)), dtype=np.float64)
    return second_moments(inverse, schur, schur[:, 0, 0] * n / (n - p), n, 1)


def second_moments(inverse: Array, schur: Array, noise: Array, n: int, first: int) -> Array:
    """Mean over the pairs of the posterior second moments of a pair's effects, in units of the noise.

    Parameters
    ----------
    inverse : ndarray of shape ((1 + M) q, (1 + M) q)
        F, the inverse of the moments of all columns with the prior's precision added.
    schur : ndarray of shape (p, 1 + M, 1 + M)
        Inverses of the blocks of F that belong to each node's own columns.
    noise : ndarray of shape (p,)
        Residual variances.
    n : int
    first : {0, 1}
        Zero for the effects in the baseline and in all functions, one for those in the functions.

    Returns
    -------
    ndarray of shape (1 + M - first, 1 + M - first)
    """
    p, size, _ = schur.shape
    q, count = p + 1, size - first
    rows = node_rows(inverse, q)
    solved = np.matmul(schur, rows)
    means = -solved[:, 0].reshape(p, size, q)[:, first:, :p]
    nodes = np.arange(p)
    means[nodes, :, nodes] = 0.0
    explained = np.matmul(means / noise[:, None, None], means.transpose(0, 2, 1)).sum(axis=0)
    blocks = inverse.reshape(size, q, size, q)[first:, :p, first:, :p]
    left, right = (
        part.reshape(p, size, size, q)[:, :, first:, :p].transpose(2, 0, 1, 3).reshape(count, -1)
        for part in (rows, solved)
    )
    total = explained + (p * np.einsum("akbk->ab", blocks) - left @ right.T) / n
    return np.asarray(0.5 * (total + total.T) / (p * (p - 1)), dtype=np.float64)
