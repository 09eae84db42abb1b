"""The problem on which every selection works: a network whose penalty is to be chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plaggm.array_types import Array, Index, Mask
from plaggm.core.grams.node_grams import GramMatrices
from plaggm.core.profile.kernel import SingularLocalSystemError
from plaggm.core.profile.profilers import Profiler
from plaggm.parameter_types import Fold
from plaggm.selection.losses import Loss, LossPath


@dataclass(frozen=True, slots=True)
class Problem:
    """Profilers, which turn rows into Gram matrices, and the loss that networks minimise.

    PLA-GGM has one profiler; a related method may average the networks of several.

    Attributes
    ----------
    profilers : sequence of Profiler
        Profilers of the same rows.
    scales : sequence of ndarray of shape (q,)
        Divisors of the columns, for each profiler.
    loss : Loss
    weights : ndarray of shape (n_profilers,)
        Weights of the networks in their average.
    criterion_weights : ndarray of shape (n_profilers,)
        Weights of the profilers in the choice of the penalty.
    p : int
        Number of variables. The edges of further columns of a joint model do not count.
    """

    profilers: Sequence[Profiler]
    scales: Sequence[Array]
    loss: Loss
    weights: Array
    criterion_weights: Array
    p: int

    @classmethod
    def single(cls, profiler: Profiler, scale: Array, loss: Loss) -> Problem:
        """A problem with one profiler."""
        return cls((profiler,), (scale,), loss, np.ones(1), np.ones(1), len(scale))

    @property
    def n(self) -> int:
        """Number of rows, or of subsets of rows if the profiler has only these."""
        return self.profilers[0].n

    def with_threads(self, n_threads: int) -> Problem:
        """The problem with profilers that use this many threads."""
        return replace(
            self, profilers=[profiler.with_threads(n_threads) for profiler in self.profilers]
        )

    def held_out(self, fold: Fold, alphas: Array, *, whole: bool = True) -> Array:
        """Loss of a fold's held-out rows at every penalty, with everything learnt from the training rows.

        Parameters
        ----------
        fold : (train, test)
        alphas : ndarray of shape (n_alphas,)
        whole : bool
            Whether to evaluate all penalties, even if the loss has clearly risen.

        Returns
        -------
        ndarray of shape (n_alphas,), or fewer unless ``whole``
            NaN where a step failed.
        """
        train, test = [], []
        for profiler, scale in zip(self.profilers, self.scales, strict=True):
            try:
                fitted, judged = profiler.split(*fold)
            except SingularLocalSystemError as error:
                raise SingularLocalSystemError(
                    f"In a fold of the cross-validation, which learns from {len(fold[0])} of "
                    f"{profiler.n} rows: {error} More folds leave more rows to learn from."
                ) from error
            train.append(fitted.rescaled(scale))
            test.append(judged.rescaled(scale))
        return self.loss.held_out(train, test, self.criterion_weights, alphas, whole=whole)

    def edges(self, index: Index, alphas: Array) -> tuple[Mask, Mask]:
        """Edges at every penalty of the networks estimated from some of the rows.

        Returns
        -------
        edges : ndarray of bool of shape (n_alphas, p, p)
        failed : ndarray of bool of shape (n_alphas,)
            Steps without a network.
        """
        grams = [
            profiler.fitted(index).rescaled(scale)
            for profiler, scale in zip(self.profilers, self.scales, strict=True)
        ]
        omega = average_omega(self.loss.paths(grams, alphas, n_threads=1), self.weights)
        failed = np.asarray(np.isnan(omega).any(axis=(1, 2)))
        edges = omega[:, : self.p, : self.p] != 0.0
        diagonal = np.arange(self.p)
        edges[:, diagonal, diagonal] = False
        return edges, failed


@dataclass(frozen=True, slots=True)
class PathFit:
    """The networks of all rows along a decreasing grid of penalties.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
    grams : sequence of GramMatrices
        Gram matrices of each profiler, columns divided by its scale.
    paths : sequence of LossPath
    """

    alphas: Array
    grams: Sequence[GramMatrices]
    paths: Sequence[LossPath]

    @property
    def failures(self) -> dict[int, str]:
        """Reasons by the number of the step, for steps at which some network could not be estimated."""
        return {step: reason for path in self.paths for step, reason in path.failures.items()}


def average_omega(paths: Sequence[LossPath], weights: Array) -> Array:
    """Weighted mean of the networks at every penalty: shape (n_alphas, q, q); NaN where one failed."""
    average: Array = np.einsum("w,wkij->kij", weights, np.stack([path.omega for path in paths]))
    return average
