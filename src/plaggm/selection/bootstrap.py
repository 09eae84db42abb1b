"""Frequencies of edges under the bootstrap, of rows or of whole groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.grams.node_grams import GramMatrices
from plaggm.core.lasso.path import PathSolution, Symmetry, solve_path
from plaggm.selection.parallel import run_parallel


class DrawnGroups(Protocol):
    """Groups of rows from any resample of which node Grams can be computed."""

    @property
    def n(self) -> int:
        """Number of groups."""
        ...

    def resampled(self, counts: Index) -> GramMatrices:
        """Node Grams of the data in which group k occurs ``counts[k]`` times."""
        ...


@dataclass(frozen=True, slots=True)
class GroupBootstrap:
    """Estimates from resampled groups, or from resampled rows without groups.

    Attributes
    ----------
    frequency : ndarray of shape (p, p)
        Share of the resamples in which each pair is an edge.
    mean : ndarray of shape (p, p)
        Mean of the estimates of omega, intercepts on the diagonal.
    standard_error : ndarray of shape (p, p)
        Standard deviation of the estimates between resamples. Since the lasso shrinks estimates, it
        measures their stability, not their distance from the truth.
    n_groups : int
        Number of groups, or of rows.
    n_resamples : int
    """

    frequency: Array
    mean: Array
    standard_error: Array
    n_groups: int
    n_resamples: int


def group_bootstrap(
    groups: DrawnGroups,
    alpha: float,
    *,
    scale: Array,
    symmetry: Symmetry,
    tol: float,
    max_iter: int,
    n_resamples: int,
    random_state: np.random.RandomState,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> GroupBootstrap:
    """Estimate the network from groups, or rows, that are drawn with replacement.

    Rows of one person, batch or day depend on each other, so that only whole groups can be drawn as
    independent. The nuisance is learnt anew from each resample, under the penalties and the scaling of all
    rows. Of groups only statistics are used, so that the cost does not depend on the number of rows.

    Parameters
    ----------
    groups : DrawnGroups
        All groups, or all rows.
    alpha : float
    scale : ndarray of shape (p,)
        Conditional standard deviations by which the columns are divided.
    symmetry, tol, max_iter
        See :func:`plaggm.core.lasso.path.solve_path`.
    n_resamples : int
    random_state : numpy RandomState
    n_jobs, verbose
        Passed to joblib.
    """
    size = groups.n
    drawings = random_state.multinomial(size, np.full(size, 1.0 / size), n_resamples)
    solve = partial(
        solve_path,
        alphas=np.array([alpha]),
        symmetry=symmetry,
        tol=tol,
        max_iter=max_iter,
        n_threads=1,
    )
    work = partial(_estimate, groups=groups, scale=scale, solve=solve)
    found = np.stack(run_parallel(work, drawings, n_jobs=n_jobs, verbose=verbose))
    edges = found != 0.0
    diagonal = np.arange(edges.shape[1])
    edges[:, diagonal, diagonal] = False
    return GroupBootstrap(
        edges.mean(axis=0), found.mean(axis=0), found.std(axis=0, ddof=1), size, n_resamples
    )


def _estimate(
    counts: Index,
    *,
    groups: DrawnGroups,
    scale: Array,
    solve: Callable[[GramMatrices], PathSolution],
) -> Array:
    """The network of one resample."""
    omega: Array = solve(groups.resampled(counts).rescaled(scale)).omega[0]
    return omega
