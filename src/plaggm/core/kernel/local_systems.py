"""The local linear system at one confounder value, shared by all nodes.

With s = 1 + m blocks, A (sq x sq) and C (sq x q) hold the moments of `plaggm.core.kernel.moments`. Node j's
D'WD is A without the rows and columns S = {j, q+j, ...}, and deleting S from the inverse M of A gives

    N_j = M - M[:, S] M[S, S]^{-1} M[S, :]

whose rows and columns S vanish. So for a row b, with V = M C and e = [b, 0],

    S_ij [X_j, y_j] = e' N_j C = e'V - a_j' V[S, :],    a_j = M[S, S]^{-1} (M e)[S]

which costs O(q) for each node, given M and V.
"""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.numerics.compiled import compiled
from plaggm.core.numerics.spd_inverse import spd_inverse

# Reciprocal condition number (1-norm, unit diagonal) below which a local system counts as singular.
SINGULAR = 1e-12
# Diagonal entries below this count as zero.
NO_SPREAD = 1e-280


@compiled()
def _unpack(packed: Array, out: Array, row: int, column: int) -> None:
    """Write a packed symmetric matrix into a block of ``out`` and its mirror block."""
    q = int((np.sqrt(8.0 * packed.shape[0] + 1.0) - 1.0) / 2.0 + 0.5)
    position = 0
    for a in range(q):
        for b in range(a, q):
            value = packed[position]
            position += 1
            out[row + a, column + b] = value
            out[row + b, column + a] = value


@compiled()
def _norm1(a: Array) -> float:
    best = 0.0
    totals = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            totals[j] += abs(a[i, j])
    for j in range(a.shape[1]):
        if not totals[j] <= best:
            best = totals[j]
    return best


@compiled()
def invert_local_system(squared: Array, linear: Array, ridge: float) -> tuple[Array, Array, float]:
    """M = (A + ridge diag A)^{-1}, V = M C and the reciprocal condition number.

    Parameters
    ----------
    squared : ndarray of shape ((m+1)(m+2)/2, q(q+1)/2)
    linear : ndarray of shape (m+1, q(q+1)/2)
    ridge : float

    Returns
    -------
    inverse : ndarray of shape (sq, sq)
    applied : ndarray of shape (sq, q)
        V = M C.
    rcond : float
        Reciprocal condition number of the system scaled to unit diagonal; NaN or tiny if it is singular,
        infinite if the window contains no weight (M and V are then zero).
    """
    blocks = linear.shape[0]
    q = int((np.sqrt(8.0 * linear.shape[1] + 1.0) - 1.0) / 2.0 + 0.5)
    size = blocks * q
    a = np.empty((size, size))
    c = np.empty((size, q))
    slot = 0
    for t in range(blocks):
        _unpack(squared[t], a, 0, t * q)
        if t > 0:
            _unpack(squared[t], a, t * q, 0)
        _unpack(linear[t], c, t * q, 0)
    slot = blocks
    for s in range(1, blocks):
        for t in range(s, blocks):
            _unpack(squared[slot], a, s * q, t * q)
            if t > s:
                _unpack(squared[slot], a, t * q, s * q)
            slot += 1
    weight = 0.0
    for i in range(size):
        weight = max(weight, a[i, i])
    if weight == 0.0:
        return np.zeros((size, size)), np.zeros((size, q)), np.inf
    root = np.empty(size)
    for i in range(size):
        if a[i, i] < NO_SPREAD and ridge > 0.0:
            # A slope without spread in the window is zero under any ridge.
            a[i, i] = 1.0
        root[i] = 1.0 / np.sqrt(a[i, i])
    for i in range(size):
        for j in range(size):
            a[i, j] *= root[i] * root[j]
        a[i, i] = 1.0 + ridge
    inverse = spd_inverse(a)
    rcond = 1.0 / (_norm1(a) * _norm1(inverse))
    for i in range(size):
        if not inverse[i, i] > 0.0:
            rcond = 0.0
    for i in range(size):
        for j in range(size):
            inverse[i, j] *= root[i] * root[j]
    return inverse, np.dot(inverse, c), rcond


@compiled()
def deletion_weights(inverse: Array, moved: Array, q: int, j: int) -> Array:
    """a_j = M[S, S]^{-1} moved[S] for S = {j, q+j, ...}, by Cholesky; NaN without a factor."""
    blocks = inverse.shape[0] // q
    factor = np.empty((blocks, blocks))
    out = np.empty(blocks)
    for s in range(blocks):
        for t in range(s + 1):
            total = inverse[s * q + j, t * q + j]
            for r in range(t):
                total -= factor[s, r] * factor[t, r]
            if s == t:
                factor[s, s] = np.sqrt(total)
            else:
                factor[s, t] = total / factor[t, t]
    for s in range(blocks):
        total = moved[s * q + j]
        for r in range(s):
            total -= factor[s, r] * out[r]
        out[s] = total / factor[s, s]
    for back in range(blocks):
        s = blocks - 1 - back
        total = out[s]
        for r in range(s + 1, blocks):
            total -= factor[r, s] * out[r]
        out[s] = total / factor[s, s]
    return out


@compiled()
def transform_rows(
    squared: Array,
    linear: Array,
    first: Index,
    count: Index,
    b: Array,
    row_factor: Array,
    self_weight: Array,
    ridge: float,
    transformed: Array,
    trace: Array,
    rcond: Array,
) -> None:
    """Transform the rows of some evaluation points.

    Parameters
    ----------
    squared : ndarray of shape ((m+1)(m+2)/2, k, q(q+1)/2)
    linear : ndarray of shape (m+1, k, q(q+1)/2)
    first, count : ndarray of shape (k,)
        Rows first[i], ..., first[i] + count[i] - 1 of ``b`` share point i.
    b : ndarray of shape (rows, q)
    row_factor : ndarray of shape (rows,)
        Factor of x_ij in S_ij: one, or I(g_i) in the supplement's form.
    self_weight : ndarray of shape (rows,)
        psi(0) I(g_i) for rows of the smoother's data, else zero.
    ridge : float
    transformed : ndarray of shape (p, rows, q)
        Output: T_j of every node.
    trace : ndarray of shape (p, rows)
        Output: entry i of S_ij.
    rcond : ndarray of shape (k,)
        Output: reciprocal condition number of each point's system; zero if the system of a node, without
        its own rows and columns, is singular.
    """
    blocks = linear.shape[0]
    q = b.shape[1]
    p = q - 1
    for i in range(squared.shape[1]):
        inverse, applied, rcond[i] = invert_local_system(squared[:, i], linear[:, i], ridge)
        if rcond[i] == np.inf:
            for r in range(first[i], first[i] + count[i]):
                for j in range(p):
                    transformed[j, r] = b[r]
                    trace[j, r] = 0.0
            continue
        if not rcond[i] > SINGULAR:
            continue
        for r in range(first[i], first[i] + count[i]):
            row = b[r] * row_factor[r]
            moved = np.dot(row, inverse[:q])
            base = b[r] - np.dot(row, applied[:q])
            leverage = np.dot(moved[:q], row)
            for j in range(p):
                weights = deletion_weights(inverse, moved, q, j)
                if not np.isfinite(weights[0]):
                    rcond[i] = 0.0
                written = transformed[j, r]
                own = leverage
                for c in range(q):
                    written[c] = base[c]
                for s in range(blocks):
                    w = weights[s]
                    own -= w * moved[s * q + j]
                    source = applied[s * q + j]
                    for c in range(q):
                        written[c] += w * source[c]
                trace[j, r] = self_weight[r] * own / row_factor[r]
