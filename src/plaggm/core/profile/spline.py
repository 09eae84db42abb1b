"""The nuisance as a penalised spline, profiled out of every node exactly.

For node j, y = X Omega_j + D Gamma + noise with D = [phi_a(g) b]_a without the node's own columns
S = {j, q+j, ...}. With Gamma penalised by tau P and minimised out (the mixed-model, or generalised least
squares, form), the Gram matrix of [X, y] is

    G_j = B'B - C' N_j C,     C = D'B,   N_j = K^{-1} without S,   K = D'D + tau P

and by the deletion identity N_j = M - M[:, S] M[S, S]^{-1} M[S, :] with M = K^{-1}, so that one inverse
serves all nodes:

    G_j = B'B - C'V + V[S]' R_j,     V = M C,   R_j = M[S, S]^{-1} V[S]

The functions are rotated, side by side, to those that are orthogonal over the data and ordered by
roughness (Demmler and Reinsch): the first is close to linear. P gives function a the weight
1 + smoothness * roughness_a, and the constant, which shifts the mean, none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from plaggm.core.node_grams import NodeGrams
from plaggm.core.spline_basis import SplineBasis
from plaggm.core.spline_statistics import SplineStatistics

Array = NDArray[np.float64]

# Keeps the unpenalised mean functions apart where they are nearly dependent.
MEAN_RIDGE = 1e-8
ROUGHEST = 1e6
# Numbers of all matrices of a batch of nodes: what stays in the cache, and no second copy of all.
BATCH_NUMBERS = 2**18


@dataclass(frozen=True, slots=True)
class SplineSystem:
    """Statistics in the rotated functions, ready for any penalty.

    Attributes
    ----------
    n : int
    bb : ndarray of shape (q, q)
    c : ndarray of shape (M q, q)
        D'B / n.
    h : ndarray of shape (M q, M q)
        D'D / n.
    roughness : ndarray of shape (M,)
        Relative to the second function of each side; zero for the first. In functions that a prior was
        learnt for (`plaggm.core.nuisance_prior`), how much rarer each is.
    rotation : ndarray of shape (M, M)
        Rotated functions = functions @ rotation.
    free_mean : bool
        Whether shifts of the mean escape the penalty.
    """

    n: int
    bb: Array
    c: Array
    h: Array
    roughness: Array
    rotation: Array
    free_mean: bool

    @property
    def q(self) -> int:
        """Number of columns of [Z, 1]."""
        return len(self.bb)

    @property
    def p(self) -> int:
        """Number of nodes."""
        return len(self.bb) - 1

    @property
    def functions(self) -> int:
        """Number of functions M."""
        return len(self.roughness)


@dataclass(frozen=True, slots=True)
class ProfiledSpline:
    """The nuisance profiled out under one penalty.

    Attributes
    ----------
    tau, smoothness : float
    penalty : ndarray of shape (M q,)
        Diagonal of tau P.
    inverse : ndarray of shape (M q, M q)
        M = K^{-1}.
    applied : ndarray of shape (M q, q)
        V = M C.
    corrections : ndarray of shape (p, M, q)
        R_j of every node.
    """

    tau: float
    smoothness: float
    penalty: Array
    inverse: Array
    applied: Array
    corrections: Array


def demmler_reinsch(basis: SplineBasis, second_moments: Array) -> tuple[Array, Array]:
    """Rotate each side's functions to orthogonal ones of unit mean square, smooth ones first.

    Parameters
    ----------
    basis : SplineBasis
    second_moments : ndarray of shape (M, M)
        Mean of phi phi' over the data.

    Returns
    -------
    rotation : ndarray of shape (M, M)
    roughness : ndarray of shape (M,)
    """
    rotation = np.zeros_like(second_moments)
    roughness = np.zeros(len(second_moments))
    for side, part in zip(basis.sides, basis.slices(), strict=True):
        moments = second_moments[part, part]
        moments = moments + 1e-10 * np.trace(moments) * np.eye(len(moments))
        values, vectors = eigh(side.roughness(), moments)
        rotation[part, part] = vectors
        if len(values) > 1 and values[1] > 0.0:
            roughness[part] = np.clip(values / values[1], 0.0, ROUGHEST)
        roughness[part.start] = 0.0
    return rotation, roughness


def spline_system(
    statistics: SplineStatistics,
    basis: SplineBasis,
    *,
    rotation: tuple[Array, Array] | None = None,
    free_mean: bool = True,
) -> SplineSystem:
    """Lay out statistics for profiling.

    Parameters
    ----------
    statistics : SplineStatistics
    basis : SplineBasis
    rotation : tuple of (rotation, roughness), optional
        Of other data, for example all of them when these are a fold; from the statistics when absent.
    free_mean : bool

    Returns
    -------
    SplineSystem
    """
    bb, db, dd = statistics.matrices()
    q, size = len(bb), statistics.functions
    turn, roughness = demmler_reinsch(basis, dd[:, :, -1, -1]) if rotation is None else rotation
    c = np.einsum("ab,aij->bij", turn, db).reshape(size * q, q)
    return SplineSystem(statistics.n, bb, c, _turned(turn, dd), roughness, turn, free_mean)


def _turned(turn: Array, dd: Array) -> Array:
    """D'D in other functions: shape (M q, M q) from (M, M, q, q)."""
    size = dd.shape[0] * dd.shape[2]
    return np.einsum("ab,cd,acij->bidj", turn, turn, dd, optimize=True).reshape(size, size)


def turned_system(system: SplineSystem, turn: Array, roughness: Array) -> SplineSystem:
    """The same system in other functions, functions @ turn, with a roughness of their own.

    Parameters
    ----------
    system : SplineSystem
    turn : ndarray of shape (M, M)
    roughness : ndarray of shape (M,)
    """
    q, size = system.q, system.functions
    c = np.einsum("ab,aij->bij", turn, system.c.reshape(size, q, q)).reshape(size * q, q)
    h = _turned(turn, system.h.reshape(size, q, size, q).transpose(0, 2, 1, 3))
    return replace(system, c=c, h=h, roughness=roughness, rotation=system.rotation @ turn)


def profile_spline(system: SplineSystem, tau: float, smoothness: float) -> ProfiledSpline:
    """Profile the nuisance out under one penalty.

    Parameters
    ----------
    system : SplineSystem
    tau : float
        Penalty of the network's functions, for each sample; a large one removes them.
    smoothness : float
        Additional penalty of rough functions.
    """
    penalty = penalty_weights(system, tau, smoothness)
    return profile_penalty(system, penalty, tau, smoothness)


def penalty_weights(system: SplineSystem, tau: float, smoothness: float) -> Array:
    """Diagonal of tau P: shape (M q,)."""
    q = system.q
    penalty = np.repeat(tau * (1.0 + smoothness * system.roughness), q)
    if system.free_mean:
        penalty[q - 1 :: q] = MEAN_RIDGE
    return penalty


def profile_penalty(
    system: SplineSystem, penalty: Array, tau: float = np.nan, smoothness: float = np.nan
) -> ProfiledSpline:
    """Profile the nuisance out under a penalty of its own for every column of D.

    Parameters
    ----------
    system : SplineSystem
    penalty : ndarray of shape (M q,)
    tau, smoothness : float
        What the penalty was made of, if it was made of these.
    """
    q, size = system.q, system.functions
    inverse = np.zeros((0, 0))
    if size:
        inverse = np.asarray(np.linalg.inv(system.h + np.diag(penalty)), dtype=np.float64)
    applied = inverse @ system.c
    corrections = node_rows(applied, q)
    if size:
        solved = np.linalg.solve(deletion_blocks(inverse, q), corrections)
        corrections = np.asarray(solved, dtype=np.float64)
    return ProfiledSpline(tau, smoothness, penalty, inverse, applied, corrections)


def deletion_blocks(matrix: Array, q: int) -> Array:
    """matrix[S, S] of every node, S its columns in all k blocks: shape (p, k, k) from (k q, k q)."""
    size = len(matrix) // q
    diagonal = np.einsum("ajbj->jab", matrix.reshape(size, q, size, q))
    return np.ascontiguousarray(diagonal[: q - 1])


def node_rows(matrix: Array, q: int) -> Array:
    """matrix[S, :] of every node: shape (p, k, columns) from (k q, columns)."""
    size = len(matrix) // q
    rows = matrix.reshape(size, q, matrix.shape[1])
    return np.ascontiguousarray(rows.transpose(1, 0, 2)[: q - 1])


def spline_node_grams(system: SplineSystem, fit: ProfiledSpline) -> NodeGrams:
    """Node Grams of the profiled problem."""
    p, q = system.p, system.q
    common = system.bb - system.c.T @ fit.applied
    rows = node_rows(fit.applied, q).transpose(0, 2, 1)
    grams = np.empty((p, q, q))
    few = max(1, BATCH_NUMBERS // q**2)
    for start in range(0, p, few):
        batch = slice(start, start + few)
        product = common + np.matmul(rows[batch], fit.corrections[batch])
        np.add(product, product.transpose(0, 2, 1), out=grams[batch])
        grams[batch] *= 0.5
    return NodeGrams(grams, system.n, effective_degrees(fit, q))


def effective_degrees(fit: ProfiledSpline, q: int) -> Array:
    """Degrees of freedom that the nuisance of every node spends: tr(D N_j D') of its smoother.

    With M = K^{-1} and Q = tau P, tr(N_j D'D) = tr(1 - M Q) - tr(1 - M[S, S]^{-1} (M Q M)[S, S]).

    Parameters
    ----------
    fit : ProfiledSpline
    q : int
        Columns of [Z, 1].

    Returns
    -------
    ndarray of shape (p,)
        Between the number of functions, which shift the mean freely, and p times as many.
    """
    if not len(fit.penalty):
        return np.zeros(q - 1)
    size = len(fit.penalty) // q
    rows = node_rows(fit.inverse, q)
    middle = np.matmul(rows * fit.penalty, rows.transpose(0, 2, 1))
    lost = np.linalg.solve(deletion_blocks(fit.inverse, q), middle)
    shared = len(fit.penalty) - np.sum(fit.penalty * np.diagonal(fit.inverse))
    return np.asarray(shared - (size - np.einsum("jaa->j", lost)), dtype=np.float64)


def quadratic_forms(h: Array, first: ProfiledSpline, second: ProfiledSpline, q: int) -> Array:
    """V_j' H V_j of every node for two penalties, V_j = N_j C.

    Parameters
    ----------
    h : ndarray of shape (M q, M q)
        Symmetric.
    first, second : ProfiledSpline
    q : int

    Returns
    -------
    ndarray of shape (p, q, q)
    """
    right = h @ second.applied
    common = first.applied.T @ right
    left_rows = node_rows(first.inverse @ right, q)
    turned = h @ second.inverse
    right_rows = node_rows((first.applied.T @ turned).T, q)
    blocks = deletion_blocks(first.inverse @ turned, q)
    left = first.corrections.transpose(0, 2, 1)
    return (
        common
        - np.matmul(left, left_rows)
        - np.matmul(right_rows.transpose(0, 2, 1), second.corrections)
        + np.matmul(left, np.matmul(blocks, second.corrections))
    )


def held_out_node_grams(fit: ProfiledSpline, held_out: SplineSystem) -> NodeGrams:
    """Node Grams of the residuals that a fit leaves in other rows.

    Row i of node j becomes b_i - D_i N_j C with N_j C from the fit's own data.
    """
    q = held_out.q
    explained = held_out.c.T @ fit.applied - np.matmul(
        node_rows((held_out.c.T @ fit.inverse).T, q).transpose(0, 2, 1), fit.corrections
    )
    grams = (
        held_out.bb
        - explained
        - explained.transpose(0, 2, 1)
        + quadratic_forms(held_out.h, fit, fit, q)
    )
    return NodeGrams(np.ascontiguousarray(grams), held_out.n, np.zeros(q - 1))


def spline_coefficients(fit: ProfiledSpline, omega: Array) -> Array:
    """Gamma of every node given its target: N_j C [1, -Omega_j].

    Parameters
    ----------
    fit : ProfiledSpline
    omega : ndarray of shape (p, p)
        Intercepts on the diagonal.

    Returns
    -------
    ndarray of shape (M, p, p)
        In the rotated functions; column j is node j's, its shift of the mean on the diagonal.
    """
    p = len(omega)
    q = p + 1
    residual = np.empty((q, p))
    residual[:p] = -omega
    residual[p] = -np.diagonal(omega)
    residual[np.arange(p), np.arange(p)] = 1.0
    applied = fit.applied @ residual
    size = len(applied) // q
    turned = np.einsum("jac,cj->ja", fit.corrections, residual)
    blocks = fit.inverse.reshape(size * q, size, q)[:, :, :p]
    gamma = applied - np.einsum("raj,ja->rj", blocks, turned)
    gamma = gamma.reshape(size, q, p)
    out = gamma[:, :p].copy()
    index = np.arange(p)
    out[:, index, index] = gamma[:, p]
    return out
