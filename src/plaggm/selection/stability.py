"""Agreement of edges between random subsets of the rows: StARS and half-samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from joblib import delayed
from sklearn.utils import check_random_state

from plaggm.array_types import Array, Index, Mask
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.parameter_types import Seed, Subsample
from plaggm.selection.choice import Choice, without_failures
from plaggm.selection.parallel import in_turn, inner_threads, run_parallel
from plaggm.selection.problem import PathFit, Problem

# Rows that a subsample must have.
FEWEST_ROWS = 3


@dataclass(frozen=True, slots=True)
class Stability:
    """Agreement of edges between subsamples along a path.

    Attributes
    ----------
    frequency : ndarray of shape (n_alphas, p, p)
        Share of the subsamples in which each pair is an edge.
    instability : ndarray of shape (n_alphas,)
        Mean over the pairs of 2 f (1 - f), made non-decreasing along the path. NaN from the first step at
        which some subsample has no network.
    failed : ndarray of int of shape (n_alphas,)
        Number of subsamples without a network.
    """

    frequency: Array
    instability: Array
    failed: Index

    def best(self, limit: float) -> int:
        """Index of the smallest penalty whose instability does not exceed the limit, else the first."""
        return max(int(np.count_nonzero(self.instability <= limit)) - 1, 0)


@dataclass(frozen=True, slots=True)
class Stars:
    """Choose the densest network whose edges still agree between subsamples (Liu et al. 2010).

    Attributes
    ----------
    n_subsamples : int
    subsample : "auto" or float
        Share of the rows in a subsample; ``"auto"`` is :func:`subsample_size`.
    limit : float
        Largest accepted instability.
    random_state : int, RandomState or None
    """

    n_subsamples: int
    subsample: Subsample
    limit: float
    random_state: Seed

    def describe(self, problem: Problem) -> str:
        """See :class:`plaggm.selection.Selection`."""
        return f"StARS with {self.n_subsamples} subsamples of {self._size(problem.n)} rows"

    def evaluate(
        self, problem: Problem, alphas: Array, *, n_jobs: int | None = None, verbose: int = 0
    ) -> Stability:
        """Fit the path to random subsamples and compare their edges."""
        random = check_random_state(self.random_state)
        subsamples = draw_subsets(random, problem.n, self._size(problem.n), self.n_subsamples)
        threaded = problem.with_threads(inner_threads(n_jobs, self.n_subsamples))
        work = partial(threaded.edges, alphas=alphas)
        found = run_parallel(work, subsamples, n_jobs=n_jobs, verbose=verbose)
        frequency = np.stack([edges for edges, _ in found]).mean(axis=0, dtype=np.float64)
        failed = np.sum([failed for _, failed in found], axis=0)
        upper = np.triu_indices(problem.p, 1)
        each = (2.0 * frequency * (1.0 - frequency))[:, upper[0], upper[1]].mean(axis=1)
        each[failed > 0] = np.nan
        return Stability(frequency, np.maximum.accumulate(each), failed)

    def choose(
        self, problem: Problem, fit: PathFit, *, n_jobs: int | None = None, verbose: int = 0
    ) -> Choice:
        """See :class:`plaggm.selection.Selection`."""
        found = self.evaluate(problem, fit.alphas, n_jobs=n_jobs, verbose=verbose)
        failures = fit.failures
        for step in np.flatnonzero(found.failed):
            failures.setdefault(int(step), "did not converge in some subsamples")
        # Makes all smaller penalties NaN as well, so that they are not chosen.
        instability = np.maximum.accumulate(
            without_failures(found.instability, failures, fit.alphas)
        )
        chosen = Stability(found.frequency, instability, found.failed).best(self.limit)
        return Choice(
            chosen, instability, edge_stability=found.frequency[chosen], failures=failures
        )

    def _size(self, n: int) -> int:
        size = subsample_size(n) if isinstance(self.subsample, str) else int(self.subsample * n)
        if size < FEWEST_ROWS:
            raise ValueError(
                f"subsample={self.subsample} of {n} rows leaves {size}; at least {FEWEST_ROWS} are "
                "needed."
            )
        return size


@dataclass(frozen=True, slots=True)
class HalfSamples:
    """Frequencies of edges in random halves of the rows (Meinshausen and Bühlmann 2010).

    Attributes
    ----------
    count : int
        Number of halves.
    seed : int
    """

    count: int
    seed: int

    def frequency(
        self,
        edges_of: Callable[[Index], Mask],
        n: int,
        *,
        n_jobs: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Array:
        """Share of the halves in which each pair is an edge.

        Parameters
        ----------
        edges_of : callable
            Maps the rows of a half, in increasing order, to its edges of shape (..., p, p).
        n : int
            Number of rows.
        n_jobs : int, optional
            Number of parallel fits, each on one thread.
        progress : callable, optional
            Called with the share of the halves that are done.

        Returns
        -------
        ndarray of shape (..., p, p)
        """
        halves = draw_subsets(np.random.default_rng(self.seed), n, n // 2, self.count)
        found: float | Array = 0.0
        with single_threaded_blas():
            work = in_turn(n_jobs)(delayed(edges_of)(half) for half in halves)
            for done, edges in enumerate(work, 1):
                found = found + edges
                if progress is not None:
                    progress(done / self.count)
        return np.asarray(found / self.count)


def draw_subsets(
    random: np.random.RandomState | np.random.Generator, n: int, size: int, count: int
) -> list[Index]:
    """Random subsets of ``size`` of n rows, each in increasing order."""
    return [np.sort(random.permutation(n)[:size]) for _ in range(count)]


def subsample_size(n: int) -> int:
    """Rows of a subsample: 10 sqrt(n), or four fifths of fewer than 145 rows (Liu et al. 2010)."""
    return int(10.0 * np.sqrt(n)) if n > 144 else int(0.8 * n)
