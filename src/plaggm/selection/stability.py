"""StARS: the densest network whose edges still agree between subsamples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from plaggm.core.path import Symmetry, solve_path
from plaggm.core.profile.profilers import Profiler
from plaggm.selection.parallel import inner_threads, run_parallel

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Stability:
    """Agreement of edges between subsamples along a path.

    Attributes
    ----------
    frequency : ndarray of shape (n_alphas, p, p)
        Part of the subsamples in which each pair is an edge.
    instability : ndarray of shape (n_alphas,)
        Mean over the pairs of 2 f (1 - f), made non-decreasing along the path.
    """

    frequency: Array
    instability: Array

    def best(self, limit: float) -> int:
        """Index of the smallest penalty whose instability does not exceed the limit, else the first."""
        return max(int(np.count_nonzero(self.instability <= limit)) - 1, 0)


def subsample_size(n: int) -> int:
    """Rows of a subsample: 10 sqrt(n), or four fifths of fewer than 145 rows (Liu et al. 2010)."""
    return int(10.0 * np.sqrt(n)) if n > 144 else int(0.8 * n)


def stability_path(
    profiler: Profiler,
    alphas: Array,
    *,
    scale: Array,
    symmetry: Symmetry,
    tol: float,
    max_iter: int,
    n_subsamples: int,
    size: int,
    random_state: np.random.RandomState,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Stability:
    """Fit the path on random subsamples and compare their edges.

    Parameters
    ----------
    profiler : Profiler
    alphas : ndarray of shape (n_alphas,)
        Decreasing.
    scale : ndarray of shape (p,)
    symmetry, tol, max_iter
        As for :func:`plaggm.core.path.solve_path`.
    n_subsamples : int
    size : int
        Rows of each subsample.
    random_state : numpy RandomState
    n_jobs, verbose
        As for joblib.

    Returns
    -------
    Stability
    """
    subsamples = [np.sort(random_state.permutation(profiler.n)[:size]) for _ in range(n_subsamples)]
    work = partial(
        _edges,
        profiler=profiler.with_threads(inner_threads(n_jobs)),
        alphas=alphas,
        scale=scale,
        symmetry=symmetry,
        tol=tol,
        max_iter=max_iter,
    )
    found = run_parallel(work, subsamples, n_jobs=n_jobs, verbose=verbose)
    frequency = np.stack(found).mean(axis=0, dtype=np.float64)
    upper = np.triu_indices(frequency.shape[1], 1)
    each = 2.0 * frequency * (1.0 - frequency)
    instability = np.maximum.accumulate(each[:, upper[0], upper[1]].mean(axis=1))
    return Stability(frequency, instability)


def _edges(
    index: NDArray[np.intp],
    *,
    profiler: Profiler,
    alphas: Array,
    scale: Array,
    symmetry: Symmetry,
    tol: float,
    max_iter: int,
) -> NDArray[np.bool_]:
    path = solve_path(
        profiler.fitted(index).rescaled(scale),
        alphas,
        symmetry=symmetry,
        tol=tol,
        max_iter=max_iter,
        n_threads=1,
    )
    edges = path.omega != 0.0
    diagonal = np.arange(edges.shape[1])
    edges[:, diagonal, diagonal] = False
    return edges
