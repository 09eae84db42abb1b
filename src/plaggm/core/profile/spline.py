"""The nuisance as a penalised spline, profiled out of every node.

For node j, y = X Omega_j + D Gamma + noise with D = [phi_a(g) b]_a without the node's own columns
S = {j, q+j, ...}. With Gamma penalised by P and minimised out (the mixed-model, or generalised least
squares, form), the Gram matrix of [X, y] is

    G_j = B'B - C' N_j C,     C = D'B,   N_j = K^{-1} without S,   K = D'D + P

and N_j = M - M[:, S] M[S, S]^{-1} M[S, :] with M = K^{-1}, so that all nodes need only one inverse:

    G_j = B'B - C'V + V[S]' R_j,     V = M C,   R_j = M[S, S]^{-1} V[S]

P is diagonal: one penalty for each function, the same for all pairs of variables, and none for the function
times the constant, which shifts the mean. Functions are those of :mod:`plaggm.core.spline.system`, or a
rotation of them, in which the penalty is diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.grams.factored_grams import FactoredGrams, LowRankGrams
from plaggm.core.grams.node_grams import GramMatrices, NodeGrams, residual_coefficients
from plaggm.core.numerics.symmetric_inverse import symmetric_inverse
from plaggm.core.spline.system import SplineSystem

# Ridge of the shifts of the mean, which have no other penalty.
MEAN_RIDGE = 1e-8
# Numbers of the matrices that are formed together, which should fit into the cache.
BATCH_NUMBERS = 2**18
# Number of variables from which on node Grams are factored.
FACTORED_FROM = 120


@dataclass(frozen=True, slots=True)
class ProfiledSpline:
    """The nuisance profiled out under one penalty.

    Attributes
    ----------
    penalty : ndarray of shape (M,)
        Penalty of every function, for each sample.
    inverse : ndarray of shape (M q, M q)
        M = K^{-1}.
    applied : ndarray of shape (M q, q)
        V = M C.
    corrections : ndarray of shape (p, M, q)
        R_j of every node.
    """

    penalty: Array
    inverse: Array
    applied: Array
    corrections: Array


def smoothing_penalty(roughness: Array, tau: float, smoothness: float = 0.0) -> Array:
    """Penalty tau (1 + smoothness * roughness) of every function: shape (M,).

    Examples
    --------
    >>> smoothing_penalty(np.array([0.0, 1.0]), 0.5, 3.0)
    array([0.5, 2. ])
    """
    return np.asarray(tau * (1.0 + smoothness * roughness))


def column_penalty(penalty: Array, q: int) -> Array:
    """Penalty of every column of D, nearly zero for shifts of the mean: shape (M q,) from (M,)."""
    columns = np.repeat(penalty, q)
    columns[q - 1 :: q] = MEAN_RIDGE
    return columns


def profile_spline(system: SplineSystem, penalty: Array) -> ProfiledSpline:
    """Profile the nuisance out under a penalty.

    Parameters
    ----------
    system : SplineSystem
    penalty : ndarray of shape (M,)
        Penalty of every function, for each sample; a large one removes the function from the network.
    """
    q, size = system.q, system.functions
    inverse = np.zeros((0, 0))
    if size:
        inverse = symmetric_inverse(system.h + np.diag(column_penalty(penalty, q)))
    applied = inverse @ system.c
    corrections = node_rows(applied, q)
    if size:
        solved = np.linalg.solve(deletion_blocks(inverse, q), corrections)
        corrections = np.asarray(solved, dtype=np.float64)
    return ProfiledSpline(penalty, inverse, applied, corrections)


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


def spline_node_grams(system: SplineSystem, fit: ProfiledSpline) -> GramMatrices:
    """Node Grams of the profiled problem; a single matrix without functions, factors for many variables."""
    if not system.functions:
        return NodeGrams(system.bb[None], system.n, np.zeros(system.p))
    if system.p >= FACTORED_FROM:
        return factored_node_grams(system, fit)
    return formed_node_grams(system, fit)


def factored_node_grams(system: SplineSystem, fit: ProfiledSpline) -> FactoredGrams:
    """Node Grams in factored form: the shared B'B - C'V, V[S] and R_j."""
    common = system.bb - system.c.T @ fit.applied
    factors = LowRankGrams(
        0.5 * (common + common.T), node_rows(fit.applied, system.q), fit.corrections
    )
    return FactoredGrams(factors, system.n, effective_degrees(fit, system.q))


def formed_node_grams(system: SplineSystem, fit: ProfiledSpline) -> NodeGrams:
    """Node Grams as p matrices."""
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
    """Degrees of freedom of every node's nuisance, tr(D N_j D').

    With M = K^{-1}, tr(N_j D'D) = tr(1 - M P) - tr(1 - M[S, S]^{-1} (M P M)[S, S]).

    Parameters
    ----------
    fit : ProfiledSpline
    q : int
        Columns of [Z, 1].

    Returns
    -------
    ndarray of shape (p,)
        Between the number of functions, whose shifts of the mean are free, and p times as many.
    """
    size = len(fit.penalty)
    if not size:
        return np.zeros(q - 1)
    penalty = column_penalty(fit.penalty, q)
    rows = node_rows(fit.inverse, q)
    middle = np.matmul(rows * penalty, rows.transpose(0, 2, 1))
    lost = np.linalg.solve(deletion_blocks(fit.inverse, q), middle)
    shared = size * q - np.sum(penalty * np.diagonal(fit.inverse))
    return np.asarray(shared - (size - np.einsum("jaa->j", lost)), dtype=np.float64)


def held_out_node_grams(fit: ProfiledSpline, held_out: SplineSystem) -> FactoredGrams:
    """Node Grams of the residuals that a fit leaves in other rows.

    Row i of node j becomes b_i - D_i V_j with V_j = N_j C from the fit's data. Since V_j = V - M[:, S] R_j,
    its Gram matrix is a matrix common to all nodes plus R_j'Y_j + Y_j'R_j.
    """
    q, h = held_out.q, held_out.h
    product = h @ fit.applied
    explained = held_out.c.T @ fit.applied
    shared = held_out.bb - explained - explained.T + fit.applied.T @ product
    crossed = node_rows(fit.inverse @ (held_out.c - product), q)
    blocks = deletion_blocks(fit.inverse @ h @ fit.inverse, q)
    other = crossed + 0.5 * np.matmul(blocks, fit.corrections)
    factors = LowRankGrams(
        shared,
        np.concatenate([fit.corrections, other], axis=1),
        np.concatenate([other, fit.corrections], axis=1),
    )
    return FactoredGrams(factors, held_out.n, np.zeros(q - 1))


def spline_coefficients(fit: ProfiledSpline, omega: Array) -> Array:
    """Gamma of every node given its baseline: N_j C [1, -Omega_j].

    Parameters
    ----------
    fit : ProfiledSpline
    omega : ndarray of shape (p, p)
        Intercepts on the diagonal.

    Returns
    -------
    ndarray of shape (M, p, p)
        Coefficients of the system's functions; column j is node j's, its shift of the mean on the diagonal.
    """
    p = len(omega)
    q = p + 1
    residual = residual_coefficients(omega)
    applied = fit.applied @ residual
    size = len(applied) // q
    reduced = np.einsum("jac,cj->ja", fit.corrections, residual)
    blocks = fit.inverse.reshape(size * q, size, q)[:, :, :p]
    gamma = applied - np.einsum("raj,ja->rj", blocks, reduced)
    gamma = gamma.reshape(size, q, p)
    out: Array = gamma[:, :p].copy()
    index = np.arange(p)
    out[:, index, index] = gamma[:, p]
    return out
