"""Newton steps of a symmetric lasso with many non-zero pairs, by conjugate gradients.

Within an orthant, where the signs of all pairs are fixed, the objective is quadratic. The free pairs are
the non-zero ones and those whose gradient exceeds the penalty, with the sign of their descent direction. A
step moves towards the minimum of the quadratic function over them; pairs that would change their sign are
set to zero, as in orthant-wise quasi-Newton methods (Andrew and Gao, 2007). The linear system of a step is
solved by conjugate gradients, with one product of every node's matrix and a vector in each iteration.

If all nodes had the same matrix H and all pairs were free, the system would be D H + H D = E, which the
eigenvectors of H solve directly. With H the mean of the nodes' matrices, this solution restricted to the
free pairs is the preconditioner if most pairs are free; otherwise the curvatures of the pairs are.

Iterations use single precision. Gradients are computed in double precision after each step, so that any
tolerance can be reached.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array, Mask
from plaggm.core.grams.factored_grams import LowRankGrams
from plaggm.core.lasso.newton_iterations import iterate
from plaggm.core.lasso.pair_state import PairProblem, PairState
from plaggm.core.numerics.threads import Threads

Single = NDArray[np.float32]

# Largest number of iterations of one step. They end if the last decrease is at most a share ``WORTHWHILE``
# of the total decrease, and the largest gradient at most a share ``REDUCED`` of the first one.
MOST_ITERATIONS, WORTHWHILE, REDUCED = 200, 0.03, 0.1
# Largest number of halvings of a step.
HALVINGS = 6
# Smallest eigenvalue of the mean matrix in the preconditioner, relative to the largest.
LEAST_EIGENVALUE = 1e-6
# Share of free pairs above which the eigenvectors of the mean matrix are the preconditioner.
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
        See :class:`plaggm.core.grams.factored_grams.LowRankGrams`.
    vectors : ndarray of float32 of shape (p, p)
        Eigenvectors of the mean of the nodes' matrices, as columns.
    sums : ndarray of float32 of shape (p, p)
        Sums of every two of its eigenvalues.
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
        """Copies in single precision."""
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
        """``out`` filled by blocks of rows, which do not depend on the number of threads."""

        def fill(start: int) -> None:
            rows = slice(start, start + BLOCK_ROWS)
            out[rows] = work(rows)

        self.pool.run(fill, list(range(0, len(out), BLOCK_ROWS)))
        return out

    def products(self, vectors: Single) -> Single:
        """Products of every node's matrix with its vector, node j's in row j: shape (p, p)."""

        def work(rows: slice) -> Single:
            some = vectors[rows]
            found = some @ self.shared
            if self.left.shape[1]:
                reduced = np.matmul(self.right[rows], some[:, :, None])
                found += np.matmul(reduced.transpose(0, 2, 1), self.left[rows])[:, 0]
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
        """A symmetric product, of which only blocks above the diagonal are computed."""
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
        The problem's Grams in single precision.
    state : PairState
        Changed in place.
    level : float
        lambda, positive.
    tolerance : float
        Largest gap.
    budget : int
        Largest number of iterations of conjugate gradients.

    Returns
    -------
    gap : float
    iterations : int
    """
    # A relative excess of the largest gradient over lambda adds the same share of the loss to the gap.
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
    """Approximate minimiser of the quadratic function over the free pairs, and the iterations taken."""
    scale = np.where(free, 1.0 / np.where(free, problem.curvature, 1.0), 0.0).astype(np.float32)
    # Products with zeros and ones are faster than boolean indexing.
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
    """Move along a step with pairs that would change their sign at zero; false without a decrease."""
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
