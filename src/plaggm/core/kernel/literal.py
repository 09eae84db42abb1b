"""The estimator exactly as printed in Section 3 of the paper, for tests of the fast algorithms.

Its cost is O(n^2 p^3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.kernel.kernels import Kernel, product_weights, scaled_differences
from plaggm.core.kernel.local_systems import NO_SPREAD


@dataclass(frozen=True, slots=True)
class LiteralNode:
    """Node j's data after the transformation.

    Attributes
    ----------
    x : ndarray of shape (k, p)
        x'_ij = x_ij - S_ij X_j; column j belongs to the intercept.
    y : ndarray of shape (k,)
        y'_ij = y_ij - S_ij y_j.
    self_weight : ndarray of shape (k,)
        Entry i of S_ij; zero for rows that are not part of the smoother's data.
    """

    x: Array
    y: Array
    self_weight: Array


def node_design(z: Array, j: int) -> tuple[Array, Array]:
    """X_j (Z with column j replaced by one) and y_j (column j of Z) of Lemma 1."""
    x = z.copy()
    x[:, j] = 1.0
    return x, z[:, j].copy()


def local_design(x: Array, indicator: Array, u: Array) -> Array:
    """D_ij = [I_k x_kj, u_k I_k x_kj]_k, with one slope block for each confounder.

    Returns
    -------
    ndarray of shape (n, (1 + m) p)
    """
    scaled = indicator[:, None] * x
    return np.hstack([scaled] + [u[:, [s]] * scaled for s in range(u.shape[1])])


def add_ridge(system: Array, ridge: float) -> None:
    """Add a multiple of its diagonal to D'WD; a slope without spread, with diagonal zero, stays zero."""
    diagonal = np.diag(system).copy()
    if ridge > 0.0:
        diagonal[diagonal < NO_SPREAD] = 1.0 / ridge
    system += ridge * np.diag(diagonal)


def smoother_row(
    x: Array,
    x_row: Array,
    indicator: Array,
    indicator_row: float,
    u: Array,
    weights: Array,
    form: str,
    ridge: float = 0.0,
) -> Array:
    """S_ij = [x_ij, 0] (D'WD)^{-1} D'W of Lemma 2.

    Parameters
    ----------
    x : ndarray of shape (n, p)
        X_j, the node's design over the smoother's data.
    x_row : ndarray of shape (p,)
        x_ij, the row at which it is evaluated.
    indicator : ndarray of shape (n,)
        I(g_k).
    indicator_row : float
        I(g_i); used by ``form="supplement"``.
    u : ndarray of shape (n, m)
        (g_k - g_i) / h.
    weights : ndarray of shape (n,)
        psi(|u_k|).
    form : {"lemma", "supplement"}
    ridge : float
        Multiple of the diagonal of D'WD that is added to it.

    Returns
    -------
    ndarray of shape (n,)
    """
    n, p = x.shape
    row = x_row if form == "lemma" else indicator_row * x_row
    d = local_design(x, indicator, u)
    dw = d * weights[:, None]
    system = dw.T @ d
    if not np.any(row) or not np.any(system):
        return np.zeros(n)
    add_ridge(system, ridge)
    padded = np.concatenate([row, np.zeros(u.shape[1] * p)])
    return np.linalg.solve(system, padded) @ dw.T


def transform_node(
    z: Array,
    confounder: Array,
    indicator: Array,
    j: int,
    *,
    kernel: Kernel,
    bandwidth: Array,
    form: str,
    ridge: float = 0.0,
    at: tuple[Array, Array, Array] | None = None,
) -> LiteralNode:
    """Remove the nuisance from node j, observation by observation.

    Parameters
    ----------
    z : ndarray of shape (n, p)
    confounder : ndarray of shape (n, m)
    indicator : ndarray of shape (n,)
        I(g_k).
    j : int
        The node.
    kernel : Kernel
    bandwidth : ndarray of shape (m,)
    form : {"lemma", "supplement"}
    ridge : float
    at : tuple of (z, confounder, indicator), optional
        Rows to transform with the smoother of the data; the data themselves if absent.

    Returns
    -------
    LiteralNode
    """
    x, y = node_design(z, j)
    z_at, g_at, i_at = (z, confounder, indicator) if at is None else at
    x_at, y_at = node_design(z_at, j)
    x_new, y_new, own = np.empty_like(x_at), np.empty_like(y_at), np.zeros_like(y_at)
    for i in range(z_at.shape[0]):
        u = scaled_differences(confounder, g_at[i : i + 1], bandwidth)[0]
        s = smoother_row(x, x_at[i], indicator, i_at[i], u, product_weights(kernel, u), form, ridge)
        x_new[i] = x_at[i] - s @ x
        y_new[i] = y_at[i] - s @ y
        if at is None:
            own[i] = s[i]
    return LiteralNode(x_new, y_new, own)


def literal_node_grams(
    z: Array,
    confounder: Array,
    indicator: Array,
    *,
    kernel: Kernel,
    bandwidth: Array,
    form: str,
    ridge: float = 0.0,
    at: tuple[Array, Array, Array] | None = None,
) -> Array:
    """Node Gram matrices T_j'T_j / n in the order [Z, 1] of the columns.

    Node j's own column holds y'_j and the last one the transformed constant.

    Returns
    -------
    ndarray of shape (p, p + 1, p + 1)
    """
    p = z.shape[1]
    grams = np.empty((p, p + 1, p + 1))
    for j in range(p):
        node = transform_node(
            z,
            confounder,
            indicator,
            j,
            kernel=kernel,
            bandwidth=bandwidth,
            form=form,
            ridge=ridge,
            at=at,
        )
        t = np.column_stack([node.x, node.x[:, j]])
        t[:, j] = node.y
        grams[j] = t.T @ t / len(t)
    return grams


def literal_objective(grams: Array, omega: Array, alpha: float) -> float:
    """(1/2n) sum_j ||y'_j - x'_j Omega_j||^2 + alpha sum_{j<k} |Omega_jk|.

    ``omega`` holds the intercepts on its diagonal.
    """
    p = omega.shape[0]
    loss = 0.0
    for j in range(p):
        v = np.append(-omega[:, j], -omega[j, j])
        v[j] = 1.0
        loss += 0.5 * v @ grams[j] @ v
    return float(loss + alpha * np.sum(np.abs(omega[np.triu_indices(p, 1)])))


def literal_nuisance(
    z: Array,
    confounder: Array,
    indicator: Array,
    omega: Array,
    point: Array,
    *,
    kernel: Kernel,
    bandwidth: Array,
    ridge: float = 0.0,
) -> Array:
    """Local linear estimate of R(g): column j is the value part of (D'WD)^{-1} D'W (y_j - X_j Omega_j).

    Returns
    -------
    ndarray of shape (p, p)
        Column j is node j's own estimate, not symmetrised; intercept shifts on the diagonal.
    """
    p = z.shape[1]
    u = scaled_differences(confounder, point[None, :], bandwidth)[0]
    weights = product_weights(kernel, u)
    nuisance = np.empty((p, p))
    for j in range(p):
        x, y = node_design(z, j)
        d = local_design(x, indicator, u)
        dw = d * weights[:, None]
        system = dw.T @ d
        add_ridge(system, ridge)
        nuisance[:, j] = np.linalg.solve(system, dw.T @ (y - x @ omega[:, j]))[:p]
    return nuisance
