"""Newton steps of a symmetric lasso with many non-zero pairs, by conjugate gradients.

Within an orthant, where every pair has a sign, the objective is quadratic. The free pairs are those that
are not zero and those whose gradient exceeds the penalty, with the sign that they would take; a step
towards the minimum of the quadratic function over them is cut off where a pair would change its sign, as
in orthant-wise quasi-Newton methods (Andrew and Gao, 2007). The step solves its linear system by
conjugate gradients. An iteration is one product of every node's matrix with its vector: with a matrix
that all nodes share, one product of two p x p matrices. It replaces a sweep that would read two rows for
each of p^2 / 2 pairs.

Were all nodes' matrices the same H and all pairs free, the system would be D H + H D = E, which
eigenvectors of H solve at once. With H the mean of the nodes' matrices this solution, restricted to the
free pairs, preconditions the iterations where most pairs are free; elsewhere the curvatures of the pairs
do.

Iterations run in single precision, which each step then checks by gradients in double precision, so that
any tolerance can be reached.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array, Mask
from plaggm.core.factored_grams import LowRankGrams
from plaggm.core.newton_iterations import iterate
from plaggm.core.pair_state import PairProblem, PairState
from plaggm.core.threads import Threads

Single = NDArray[np.float32]

# Iterations for one step, and the share of the decrease so far below which one more is not worth it.
MOST_ITERATIONS, WORTHWHILE = 200, 0.03
# Times that a step is halved before it is given up.
HALVINGS = 6
# Share to which an approximate step reduces the largest gradient.
REDUCED = 0.1
# Smallest eigenvalue of the mean matrix that scales a step, as a share of the largest.
LEAST_EIGENVALUE = 1e-6
# Share of all pairs from which on the eigenvectors of the mean matrix precondition the iterations.
MOST_PAIRS = 0.95
# Rows that one task multiplies.
BLOCK_ROWS = 256


@dataclass(frozen=True, slots=True)
class SingleGrams:
    """Node Grams in single precision, and the eigenvectors of their mean.

    Attributes
    ----------
    shared : ndarray of float32 of shape (p, p)
    left, right : ndarray of float32 of shape (p, k, p)
        See :class:`plaggm.core.factored_grams.LowRankGrams`.
    vectors : ndarray of float32 of shape (p, p)
        Eigenvectors of the mean of the nodes' matrices, as columns.
    sums : ndarray of float32 of shape (p, p)
        Sums of two of its eigenvalues.
    pool : Threads
    """

    shared: Single
    left: Single
    right: Single
    vectors: Single
    sums: Single
    pool: Threads

    @classmethod
    def of(cls, centred: LowRankGrams, pool: Threads) -> SingleGrams:
        """A copy in single precision."""
        values, vectors = np.linalg.eigh(centred.mean())
        values = np.maximum(values, LEAST_EIGENVALUE * values[-1])
        return cls(
            centred.shared.astype(np.float32),
            centred.left.astype(np.float32),
            centred.right.astype(np.float32),
            vectors.astype(np.float32),
            (values[:, None] + values).astype(np.float32),
            pool,
        )

    def _by_rows(self, out: Single, work: Callable[[slice], Single]) -> Single:
        """Fill blocks of rows, which do not depend on the number of threads."""

        def fill(start: int) -> None:
            rows = slice(start, start + BLOCK_ROWS)
            out[rows] = work(rows)

        self.pool.run(fill, list(range(0, len(out), BLOCK_ROWS)))
        return out

    def products(self, vectors: Single) -> Single:
        """Every node's matrix times its own vector, in row j: shape (p, p)."""

        def work(rows: slice) -> Single:
            some = vectors[rows]
            found = some @ self.shared
            if self.left.shape[1]:
                turned = np.matmul(self.right[rows], some[:, :, None])
                found += np.matmul(turned.transpose(0, 2, 1), self.left[rows])[:, 0]
            return found

        return self._by_rows(np.empty_like(vectors), work)

    def solve(self, right: Single) -> Single:
        """The symmetric D with D H + H D = right, H the mean of the nodes' matrices: shape (p, p)."""
        half = self._by_rows(np.empty_like(right), lambda rows: right[rows] @ self.vectors)
        inside = self._symmetric(self.vectors.T, half)
        inside /= self.sums
        half = self._by_rows(half, lambda rows: inside[rows] @ self.vectors.T)
        return self._symmetric(self.vectors, half)

    def _symmetric(self, first: Single, second: Single) -> Single:
        """A product that is symmetric, of which only blocks above the diagonal are multiplied."""
        out = np.empty_like(second)

        def fill(start: int) -> None:
            rows = slice(start, start + BLOCK_ROWS)
            block = first[rows] @ second[:, start:]
            # Products round differently on the two sides of the diagonal.
            size = len(block)
            block[:, :size] = 0.5 * (block[:, :size] + block[:, :size].T)
            out[rows, start:] = block
            out[start:, rows] = block.T

        self.pool.run(fill, list(range(0, len(out), BLOCK_ROWS)))
        return out


def newton_descent(
    problem: PairProblem,
    single: SingleGrams,
    state: PairState,
    level: float,
    tolerance: float,
    budget: int,
) -> tuple[float, int]:
    """Take Newton steps until the duality gap is small or a step does not lower the objective.

    Parameters
    ----------
    problem : PairProblem
    single : SingleGrams
        Its Grams.
    state : PairState
        Changed in place.
    level : float
        lambda, more than zero.
    tolerance : float
        Largest gap.
    budget : int
        Iterations of conjugate gradients at most.

    Returns
    -------
    gap : float
    iterations : int
    """
    # What the steepest pair exceeds lambda by is, as a share of lambda, a share of the loss in the gap.
    accurate = 0.2 * level * tolerance / max(2.0 * problem.null, tolerance)
    gap = state.gap(problem, level)
    used = 0
    while gap > tolerance and used < budget:
        slopes = state.pair_gradient()
        active = state.omega != 0.0
        free = (active | (np.abs(slopes) > level)) & (problem.curvature > 0.0)
        np.fill_diagonal(free, False)
        signs = np.where(active, np.sign(state.omega), -np.sign(slopes))
        downhill = np.where(free, -(slopes + level * signs), 0.0)
        direction, count = _conjugate_gradients(
            problem, single, downhill.astype(np.float32), free, accurate, budget - used
        )
        used += count
        moved = _line_search(problem, state, np.asarray(direction, np.float64), signs, level)
        if not moved:
            break
        gap = state.gap(problem, level)
    return gap, used


def _conjugate_gradients(
    problem: PairProblem,
    single: SingleGrams,
    downhill: Single,
    free: Mask,
    accurate: float,
    budget: int,
) -> tuple[Single, int]:
    """The step that minimises the quadratic function over the free pairs, nearly."""
    scale = np.where(free, 1.0 / np.where(free, problem.curvature, 1.0), 0.0).astype(np.float32)
    # Products with zeros and ones take half the time of a choice by a mask.
    chosen = free.astype(np.float32)
    most = np.count_nonzero(free) > MOST_PAIRS * free.size
    if len(free) <= BLOCK_ROWS and not most:
        limit = min(MOST_ITERATIONS, budget)
        parts = single.shared, single.left, single.right
        return iterate(*parts, downhill, scale, accurate, WORTHWHILE, REDUCED, limit)
    step = np.zeros_like(downhill)
    residual = downhill.copy()

    def preconditioned() -> Single:
        if most:
            return chosen * single.solve(residual)
        return scale * residual

    scaled = preconditioned()
    direction = scaled.copy()
    energy = float(np.vdot(residual, scaled))
    total, count = 0.0, 0
    start = float(np.abs(downhill).max())
    while count < min(MOST_ITERATIONS, budget):
        count += 1
        rows = single.products(direction)
        curved = rows + rows.T
        curved *= chosen
        along = float(np.vdot(direction, curved))
        if not along > 0.0:
            break
        size = np.float32(energy / along)
        step += size * direction
        residual -= size * curved
        # Every pair is in both triangles.
        gain = 0.25 * float(size) * energy
        total += gain
        steepest = float(np.abs(residual).max())
        if steepest <= accurate or (gain <= WORTHWHILE * total and steepest <= REDUCED * start):
            break
        scaled = preconditioned()
        before, energy = energy, float(np.vdot(residual, scaled))
        direction *= np.float32(energy / before)
        direction += scaled
    return step, count


def _line_search(
    problem: PairProblem, state: PairState, step: Array, signs: Array, level: float
) -> bool:
    """Move along a step, pairs that would change signs being held at zero; false without a decrease."""
    before = state.objective(level)
    size = 1.0
    for _ in range(HALVINGS):
        omega = state.omega + size * step
        omega[omega * signs < 0.0] = 0.0
        candidate = PairState(omega, state.gradient)
        candidate.refresh(problem)
        if candidate.objective(level) < before:
            state.omega, state.gradient = candidate.omega, candidate.gradient
            return True
        size *= 0.5
    return False
