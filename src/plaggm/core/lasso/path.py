"""From node Gram matrices to estimates along a grid of penalties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array
from plaggm.core.grams.factored_grams import LowRankGrams
from plaggm.core.grams.node_grams import (
    Centred,
    CentredGrams,
    GramMatrices,
    NodeGrams,
    fill_intercepts,
    profile_intercepts,
)
from plaggm.core.grams.unexplained_energy import unexplained_energy
from plaggm.core.lasso.node_lasso import node_path
from plaggm.core.lasso.sparse_lasso import PathStep, sparse_path
from plaggm.core.lasso.symmetric_lasso import joint_path
from plaggm.core.numerics.threads import available_threads, threads

Symmetry = Literal["joint", "and", "or"]

# Number of variables from which on the lasso of a matrix common to all nodes works on blocks of it.
MANY_VARIABLES = 120
# Smallest penalty of many variables in units of a pair's noise, if there are fewer rows than ``ROWS_EACH``
# for each variable.
NOISE_END, ROWS_EACH = 0.25, 2.0
# Number of nodes for which the informative directions are counted.
PROBED_NODES = 5


@dataclass(frozen=True, slots=True)
class PathSolution:
    """Estimates along a decreasing grid of penalties.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        Penalties, decreasing.
    omega : ndarray of shape (n_alphas, p, p)
        Symmetric; intercepts on the diagonal.
    gaps : ndarray of shape (n_alphas,)
        Duality gap relative to the loss that networks can explain.
    n_iter : ndarray of shape (n_alphas,)
        Number of sweeps (node-wise: the largest of all nodes).
    """

    alphas: Array
    omega: Array
    gaps: Array
    n_iter: NDArray[np.int64]


def pair_gradient(centred: Centred, omega: Array) -> Array:
    """Gradient gamma_j[k] of every node's loss, as rows.

    Parameters
    ----------
    centred : Centred
        Node Grams with the intercepts profiled out.
    omega : ndarray of shape (p, p)
        Column j holds node j's coefficients; the diagonal is not read.

    Returns
    -------
    ndarray of shape (p, p)
    """
    signed = omega.T.copy()
    np.fill_diagonal(signed, -1.0)
    return centred.products(signed)


def lambda_max(node_grams: GramMatrices, symmetry: Symmetry = "joint") -> float:
    """The smallest penalty with an empty network (node-wise: without any coefficient)."""
    slope = -profile_intercepts(node_grams).responses()
    np.fill_diagonal(slope, 0.0)
    if symmetry == "joint":
        return float(np.max(np.abs(slope + slope.T)))
    return float(2.0 * np.max(np.abs(slope)))


def informative_rows(node_grams: GramMatrices) -> float:
    """Effective number of rows of a node's regression: n, unless some directions have no information.

    Removing the nuisance can leave few informative rows, such as those close to zero confounding with the
    soft indicator. The result is then the number of eigenvalues of at least 1 / n of a node's Gram matrix,
    as a mean over a few nodes; columns have unit conditional variance.
    """
    p = node_grams.p
    counts = []
    for node in np.unique(np.linspace(0, p - 1, PROBED_NODES).round().astype(int)):
        others = np.delete(np.arange(p), node)
        gram = node_grams.node(int(node))[np.ix_(others, others)]
        counts.append(np.count_nonzero(node_grams.n * np.linalg.eigvalsh(gram) >= 1.0))
    found = float(np.mean(counts))
    return found if found < p - 1 else float(node_grams.n)


def pair_noise(node_grams: GramMatrices) -> float:
    """Median standard deviation of the gradient of a pair without edge.

    With columns of unit conditional variance the variance of the gradient would be the curvature over n if
    the two regressions of a pair were independent; it is at most twice as large.
    """
    diagonals = profile_intercepts(node_grams).diagonals()
    curvature = (diagonals + diagonals.T)[np.triu_indices(node_grams.p, 1)]
    return float(np.sqrt(np.median(curvature) / node_grams.n))


def grid_noise(node_grams: GramMatrices) -> float | None:
    """:func:`pair_noise` for many variables; None for few, for which the whole grid is fast."""
    return pair_noise(node_grams) if node_grams.p >= MANY_VARIABLES else None


def lambda_grid(
    largest: float, count: int, n: float, p: int, *, noise: float | None = None
) -> Array:
    """glmnet's grid: evenly spaced logarithms from the largest penalty down.

    It ends at 1e-4 of the largest, or at 1e-2 where the stacked design has fewer rows (n p) than
    coefficients (p (p + 1) / 2). If the noise of a pair is given and n < 2 p, it ends at a quarter of that
    noise instead, between 1e-4 and 0.05 of the largest: networks at smaller penalties are dense and slow.

    Parameters
    ----------
    largest : float
        First penalty of the grid; see :func:`lambda_max`.
    count : int
        Number of penalties.
    n : float
        Rows of a node's regression; see :func:`informative_rows`.
    p : int
        Number of variables.
    noise : float, optional
        See :func:`grid_noise`.

    Returns
    -------
    ndarray of shape (count,)
    """
    if largest <= 0.0:
        # Without any correlation every penalty gives the empty network.
        largest = 1.0
    ratio = 1e-4 if n * p > p * (p + 1) // 2 else 1e-2
    if noise is not None and n < ROWS_EACH * p:
        ratio = float(np.clip(NOISE_END * noise / largest, 1e-4, 5e-2))
    if count == 1:
        return np.array([largest])
    return largest * ratio ** (np.arange(count) / (count - 1))


def solve_path(
    node_grams: GramMatrices,
    alphas: Array,
    *,
    symmetry: Symmetry = "joint",
    tol: float = 1e-8,
    max_iter: int = 10_000,
    n_threads: int | None = None,
) -> PathSolution:
    """Estimate the baseline network at every penalty of a decreasing grid.

    ``symmetry="joint"`` solves the paper's problem over symmetric matrices. ``"and"`` and ``"or"`` solve
    each node separately with half the penalty (so that the objectives agree term by term) and choose the
    coefficient of a pair that is smaller or larger in absolute value.

    Parameters
    ----------
    node_grams : GramMatrices
    alphas : ndarray of shape (n_alphas,)
        Decreasing.
    symmetry : {"joint", "and", "or"}
        How the two regressions of a pair are combined.
    tol : float
        Largest duality gap relative to the loss that networks can explain.
    max_iter : int
        Largest number of sweeps at one penalty.
    n_threads : int, optional
        The result does not depend on it.

    Returns
    -------
    PathSolution
    """
    if symmetry == "joint" and many_variables(node_grams):
        return _stored(
            path_steps(node_grams, alphas, tol=tol, max_iter=max_iter, n_threads=n_threads),
            alphas,
            node_grams.p,
        )
    centred = profile_intercepts(node_grams)
    count = n_threads or available_threads()
    if symmetry == "joint":
        assert isinstance(centred, CentredGrams)
        omega, gaps, sweeps = joint_path(centred, alphas, tol, max_iter, count)
    else:
        omega, gaps, sweeps = _nodewise_path(centred, alphas, symmetry, tol, max_iter, count)
    return PathSolution(alphas, fill_intercepts(node_grams, omega), gaps, sweeps)


def many_variables(node_grams: GramMatrices) -> bool:
    """Whether the lasso works on blocks of a common matrix, one step of a path at a time."""
    if isinstance(node_grams, NodeGrams):
        return len(node_grams.grams) == 1 and node_grams.p >= MANY_VARIABLES
    return True


def path_steps(
    node_grams: GramMatrices,
    alphas: Array,
    *,
    tol: float,
    max_iter: int,
    n_threads: int | None = None,
    start: Array | None = None,
) -> Iterator[PathStep]:
    """Estimate symmetric networks of many variables one penalty at a time, without storing them.

    Parameters
    ----------
    node_grams : GramMatrices
        Grams for which :func:`many_variables` holds.
    alphas, tol, max_iter, n_threads
        See :func:`solve_path`.
    start : ndarray of shape (p, p), optional
        Symmetric network close to the first solution; empty if absent. The diagonal is not read.

    Yields
    ------
    PathStep
        Intercepts on the diagonal; its network is valid until the next step is asked for.
    """
    centred = profile_intercepts(node_grams)
    if isinstance(centred, CentredGrams):
        none = np.zeros((centred.p, 0, centred.p))
        centred = LowRankGrams(centred.grams[0], none, none)
    with threads(n_threads or available_threads()) as pool:
        for step in sparse_path(centred, alphas, tol, max_iter, pool, start):
            yield replace(step, omega=fill_intercepts(node_grams, step.omega))


def _stored(steps: Iterator[PathStep], alphas: Array, p: int) -> PathSolution:
    omega = np.empty((len(alphas), p, p))
    gaps, sweeps = np.empty(len(alphas)), np.empty(len(alphas), np.int64)
    for number, step in enumerate(steps):
        omega[number], gaps[number], sweeps[number] = step.omega, step.gap, step.sweeps
    return PathSolution(alphas, omega, gaps, sweeps)


def _nodewise_path(
    centred: Centred,
    alphas: Array,
    symmetry: Symmetry,
    tol: float,
    max_iter: int,
    n_threads: int,
) -> tuple[Array, Array, NDArray[np.int64]]:
    p = centred.p
    beta = np.zeros((len(alphas), p, p))
    gaps = np.zeros((p, len(alphas)))
    sweeps = np.zeros((p, len(alphas)), np.int64)

    floor = unexplained_energy(centred)

    def solve(j: int) -> None:
        gram = centred.node(j)
        beta[:, :, j], gaps[j], sweeps[j] = node_path(
            gram, j, 0.5 * alphas, floor[j], tol, max_iter
        )

    with threads(n_threads) as pool:
        pool.run(solve, list(range(p)))
    return combine_nodewise(beta, symmetry), gaps.max(axis=0), sweeps.max(axis=0)


def combine_nodewise(beta: Array, symmetry: Symmetry) -> Array:
    """Symmetric matrices from node-wise ones (..., p, p) by the AND or the OR rule."""
    mirrored = np.swapaxes(beta, -1, -2)
    smaller = np.abs(beta) < np.abs(mirrored)
    # Equal absolute values are resolved by the upper triangle.
    tie = np.abs(beta) == np.abs(mirrored)
    upper = np.triu(np.ones(beta.shape[-2:], dtype=bool))
    if symmetry == "and":
        return np.where(tie, np.where(upper, beta, mirrored), np.where(smaller, beta, mirrored))
    return np.where(tie, np.where(upper, beta, mirrored), np.where(smaller, mirrored, beta))
