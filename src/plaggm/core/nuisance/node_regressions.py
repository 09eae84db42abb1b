"""Least-squares regressions of all nodes under a penalty of the nuisance, from one inverse.

With W = [B, D], K = W'W / n + diag(0, P) and F = K^{-1}, node j's regression has all columns but its
own, T = {j, q+j, ...}. The inverse of K without T, zero on T, is

    F_j = F - F[:, T] Q_j F[T, :],     Q_j = F[T, T]^{-1}

so that with E the columns of B the coefficients are -(Q_j F[T, E])[0], their residual mean square is
Q_j[0, 0], and their covariance under two penalties divided by the noise (F1_j (W'W / n) F2_j)[E, E]. Each
is a matrix common to all nodes plus a correction of rank 1 + M: all nodes cost a few inverses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.numerics.symmetric_inverse import symmetric_inverse
from plaggm.core.profile.spline import ProfiledSpline, column_penalty, deletion_blocks, node_rows
from plaggm.core.spline.system import SplineSystem

# Ridge relative to the mean square of a column, for dependent columns and for fewer samples than variables.
RIDGE = 1e-12


@dataclass(frozen=True, slots=True)
class NodeRegressions:
    """Unpenalised regressions of all nodes on the others, with the nuisance profiled out.

    Attributes
    ----------
    penalty : ndarray of shape ((1 + M) q,)
        Diagonal of K - W'W / n; its first q entries are the ridge.
    inverse : ndarray of shape ((1 + M) q, (1 + M) q)
        F.
    schur : ndarray of shape (p, 1 + M, 1 + M)
        Q_j of every node.
    corrections : ndarray of shape (p, 1 + M, q)
        Q_j F[T, E].
    """

    penalty: Array
    inverse: Array
    schur: Array
    corrections: Array

    @property
    def coefficients(self) -> Array:
        """Coefficients of node j in row j, zero for itself, intercept last: shape (p, q)."""
        found = -self.corrections[:, 0]
        index = np.arange(len(found))
        found[index, index] = 0.0
        return found

    @property
    def residual(self) -> Array:
        """Residual mean square of each regression, including the penalty term: shape (p,)."""
        return np.maximum(self.schur[:, 0, 0], 0.0)

    def residual_directions(self) -> Array:
        """Vectors F[:, T] Q_j e_0 whose products with W are the residuals: shape ((1 + M) q, p).

        Column j is one for node j itself and minus its coefficients elsewhere.
        """
        rows = node_rows(self.inverse, len(self.schur) + 1)
        return np.asarray(np.einsum("jt,jtd->dj", self.schur[:, :, 0], rows))

    def posterior_variances(self) -> Array:
        """Diagonal of F_j in the variables' columns, in row j: shape (p, p).

        Times noise / n it is the posterior variance of a coefficient in the mixed model, which includes the
        expected squared bias. That of the node's own column is zero.
        """
        p = len(self.schur)
        rows = node_rows(self.inverse[:, :p], p + 1)
        return np.asarray(
            np.diagonal(self.inverse)[:p] - np.sum(rows * self.corrections[:, :, :p], axis=1)
        )

    def log_determinants(self) -> Array:
        """log det of K without the columns of each node: shape (p,)."""
        whole = -np.linalg.slogdet(self.inverse)[1]
        return np.asarray(whole - np.linalg.slogdet(self.schur)[1])


def node_regressions(
    system: SplineSystem,
    penalty: Array,
    ridge: float = 0.0,
    profiled: ProfiledSpline | None = None,
) -> NodeRegressions:
    """Regressions of all nodes under a penalty of the nuisance.

    Parameters
    ----------
    system : SplineSystem
    penalty : ndarray of shape (M,)
        Penalty of every function.
    ridge : float
        Penalty of the baseline network without intercepts, for each sample.
    profiled : ProfiledSpline, optional
        Fit of the system under this penalty, which saves the inversion.
    """
    q = system.q
    trace = RIDGE * np.trace(system.bb) / q
    added = np.append(np.full(q, trace), column_penalty(penalty, q))
    added[: q - 1] += ridge
    if profiled is None:
        inverse = symmetric_inverse(moments(system) + np.diag(added))
    else:
        inverse = bordered_inverse(system, profiled, added[:q])
    rows = node_rows(inverse, q)
    schur = np.asarray(np.linalg.inv(deletion_blocks(inverse, q)), dtype=np.float64)
    return NodeRegressions(added, inverse, schur, np.matmul(schur, rows[:, :, :q]))


def bordered_inverse(system: SplineSystem, fit: ProfiledSpline, added: Array) -> Array:
    """Inverse of W'W / n + diag(added, P) from the inverse of its block D'D / n + P.

    With V = (D'D + P)^{-1} D'B and S = B'B + diag(added) - (D'B)'V it is
    [[S^{-1}, -S^{-1} V'], [-V S^{-1}, (D'D + P)^{-1} + V S^{-1} V']].

    Parameters
    ----------
    system : SplineSystem
    fit : ProfiledSpline
        Fit of this system.
    added : ndarray of shape (q,)
        Penalty of the columns of B.

    Returns
    -------
    ndarray of shape ((1 + M) q, (1 + M) q)
    """
    q = system.q
    left = system.bb + np.diag(added) - system.c.T @ fit.applied
    corner = symmetric_inverse(0.5 * (left + left.T))
    side = -fit.applied @ corner
    inverse = np.empty((q + len(side), q + len(side)))
    inverse[:q, :q] = corner
    inverse[q:, :q] = side
    inverse[:q, q:] = side.T
    inverse[q:, q:] = fit.inverse - side @ fit.applied.T
    return inverse


def moments(system: SplineSystem) -> Array:
    """W'W / n: shape ((1 + M) q, (1 + M) q)."""
    q, whole = system.q, system.q + len(system.h)
    # Much faster than np.block for small matrices.
    found = np.empty((whole, whole))
    found[:q, :q], found[:q, q:] = system.bb, system.c.T
    found[q:, :q], found[q:, q:] = system.c, system.h
    return found


@dataclass(frozen=True, slots=True)
class CoefficientCovariance:
    """Covariance of every node's coefficients under two penalties, divided by noise / n.

    With X = F1 (W'W / n) F2, node j's is

        X[E, E] - R1_j' X[T, E] - X[E, T] R2_j + R1_j' X[T, T] R2_j,     R_j = Q_j F[T, E]

    without the intercepts. The matrices of the nodes are never formed.

    Attributes
    ----------
    shared : ndarray of shape (p, p)
        X[E, E].
    left, right : ndarray of shape (p, 1 + M, p)
        R1_j and R2_j.
    rows, columns : ndarray of shape (p, 1 + M, p)
        X[T, E] and X[E, T]' of every node.
    own : ndarray of shape (p, 1 + M, 1 + M)
        X[T, T].
    """

    shared: Array
    left: Array
    right: Array
    rows: Array
    columns: Array
    own: Array

    def variances(self) -> Array:
        """Variances of node j's coefficients in row j: shape (p, p)."""
        product = np.matmul(self.own, self.right)
        lost = self.left * (self.rows - product) + self.columns * self.right
        return np.asarray(np.diagonal(self.shared) - lost.sum(axis=1))

    def traces(self) -> Array:
        """Sum of each node's variances: shape (p,)."""
        return np.asarray(self.variances().sum(axis=1))

    def total(self, weights: Array) -> Array:
        """Weighted sum of the nodes' covariance matrices: shape (p, p)."""
        p = len(self.shared)
        product = np.matmul(self.own, self.right)
        factor = weights[:, None, None]
        lost = _flat(factor * self.left).T @ _flat(self.rows - product)
        lost += _flat(factor * self.columns).T @ _flat(self.right)
        return np.asarray(weights.sum() * self.shared - lost.reshape(p, p))


def coefficient_covariance(
    first: NodeRegressions, second: NodeRegressions
) -> CoefficientCovariance:
    """Covariance of the coefficients of one system under two penalties.

    W'W / n = K1 - P1 with P1 the first penalty, hence X = F2 - F1 P1 F2.
    """
    p, q = len(first.schur), first.corrections.shape[2]
    f, other = first.inverse, second.inverse
    penalised = first.penalty[:, None] * other
    columns = other[:, :p] - f @ penalised[:, :p]
    rows = columns.T if first is second else other[:p] - f[:p] @ penalised
    own = deletion_blocks(other, q) - np.matmul(
        node_rows(f, q), node_rows(np.ascontiguousarray(penalised.T), q).transpose(0, 2, 1)
    )
    return CoefficientCovariance(
        np.ascontiguousarray(columns[:p]),
        np.ascontiguousarray(first.corrections[:, :, :p]),
        np.ascontiguousarray(second.corrections[:, :, :p]),
        node_rows(columns, q),
        node_rows(np.ascontiguousarray(rows.T), q),
        own,
    )


def least_squares_network(
    system: SplineSystem,
    penalty: Array,
    ridge: float = 0.0,
    profiled: ProfiledSpline | None = None,
) -> tuple[Array, Array]:
    """Coefficients and residual variance of every node without lasso, with the nuisance profiled out.

    Parameters
    ----------
    system, penalty, ridge, profiled
        See :func:`node_regressions`.

    Returns
    -------
    omega : ndarray of shape (p, p)
        Column j is node j's, not symmetric; intercepts on the diagonal.
    variance : ndarray of shape (p,)
    """
    found = node_regressions(system, penalty, ridge, profiled)
    coefficients = found.coefficients
    omega = coefficients[:, :-1].T.copy()
    np.fill_diagonal(omega, coefficients[:, -1])
    # The ridge was also added to the node's own column.
    return omega, np.maximum(found.residual - ridge, 0.0)


def _flat(stack: Array) -> Array:
    return stack.reshape(-1, stack.shape[2])
