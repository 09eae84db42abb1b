"""Losses: estimation of networks from Gram matrices, and their evaluation on held-out rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array
from plaggm.core.grams.node_grams import GramMatrices, path_residuals
from plaggm.core.lasso.path import (
    PathSolution,
    Symmetry,
    lambda_max,
    many_variables,
    path_steps,
    solve_path,
)
from plaggm.core.variance.conditional import conditional_scale
from plaggm.selection.criteria import Criterion, information_criterion, priced
from plaggm.selection.early_stopping import until_risen


@dataclass(frozen=True, slots=True)
class LossPath:
    """Networks along a decreasing grid of penalties, NaN where a step failed.

    Attributes
    ----------
    omega : ndarray of shape (n_alphas, p, p)
        Partial correlations off the diagonal, intercepts or zeros on it.
    sigma : ndarray of shape (n_alphas, p)
        Conditional standard deviations, in the units of the Gram matrices.
    gaps : ndarray of shape (n_alphas,)
    n_iter : ndarray of shape (n_alphas,)
    failures : dict
        Reasons by the number of the step.
    """

    omega: Array
    sigma: Array
    gaps: Array
    n_iter: NDArray[np.int64]
    failures: dict[int, str]


class Loss(Protocol):
    """The interface between an estimator and a loss.

    Methods take sequences of Gram matrices, such as those at several values of the confounder, since a
    network may be an average over them.
    """

    def scale(self, grams: GramMatrices) -> Array:
        """Return the divisors of standardised columns: shape (p,)."""
        ...

    def largest_penalty(self, grams: Sequence[GramMatrices]) -> float:
        """Return the smallest penalty at which all networks are empty."""
        ...

    def paths(
        self, grams: Sequence[GramMatrices], alphas: Array, *, n_threads: int | None = None
    ) -> list[LossPath]:
        """Estimate every network along a decreasing grid, by default with all threads."""
        ...

    def held_out(
        self,
        train: Sequence[GramMatrices],
        test: Sequence[GramMatrices],
        weights: Array,
        alphas: Array,
        *,
        whole: bool,
    ) -> Array:
        """Return the weighted sum of the losses on held-out Grams at every penalty.

        Shape (n_alphas,), NaN where a step failed. Unless ``whole``, the array may end where the loss has
        clearly risen.
        """
        ...

    def information(
        self, grams: GramMatrices, path: LossPath, criterion: Criterion, gamma: float
    ) -> Array:
        """Return an information criterion of every step: shape (n_alphas,)."""
        ...


@dataclass(frozen=True, slots=True)
class PseudoLoss:
    """The pseudo-likelihood: one lasso regression for each node.

    Attributes
    ----------
    symmetry, tol, max_iter
        See :func:`plaggm.core.lasso.path.solve_path`.
    known_variance : bool
        Whether the conditional variances are known to be one, for information criteria.
    """

    symmetry: Symmetry
    tol: float
    max_iter: int
    known_variance: bool = False

    def scale(self, grams: GramMatrices) -> Array:
        """See :class:`Loss`: the conditional standard deviations."""
        return conditional_scale(grams, self.symmetry, n_threads=1)

    def largest_penalty(self, grams: Sequence[GramMatrices]) -> float:
        """See :class:`Loss`."""
        return max(lambda_max(one, self.symmetry) for one in grams)

    def paths(
        self, grams: Sequence[GramMatrices], alphas: Array, *, n_threads: int | None = None
    ) -> list[LossPath]:
        """See :class:`Loss`."""
        return [pseudo_path(self._solve(one, alphas, n_threads)) for one in grams]

    def held_out(
        self,
        train: Sequence[GramMatrices],
        test: Sequence[GramMatrices],
        weights: Array,
        alphas: Array,
        *,
        whole: bool,
    ) -> Array:
        """See :class:`Loss`: mean squared residuals, summed over the nodes."""
        if self.symmetry == "joint" and all(many_variables(fitted) for fitted in train):
            each = [self._judged_steps(*pair, alphas) for pair in zip(train, test, strict=True)]
            losses = (float(weights @ np.array(step)) for step in zip(*each, strict=True))
            return np.fromiter(losses, np.float64) if whole else until_risen(losses)
        total = np.zeros(len(alphas))
        for weight, fitted, judged in zip(weights, train, test, strict=True):
            omega = self._solve(fitted, alphas, 1).omega
            total += weight * path_residuals(judged, omega).sum(axis=1)
        return total

    def _judged_steps(
        self, train: GramMatrices, test: GramMatrices, alphas: Array
    ) -> Iterator[float]:
        """Yield held-out losses; each network is estimated when its loss is needed."""
        for step in path_steps(train, alphas, tol=self.tol, max_iter=self.max_iter, n_threads=1):
            yield float(path_residuals(test, step.omega[None]).sum())

    def information(
        self, grams: GramMatrices, path: LossPath, criterion: Criterion, gamma: float
    ) -> Array:
        """See :class:`Loss`."""
        return information_criterion(
            grams, path.omega, criterion, known_variance=self.known_variance, gamma=gamma
        )

    def _solve(self, grams: GramMatrices, alphas: Array, n_threads: int | None) -> PathSolution:
        return solve_path(
            grams,
            alphas,
            symmetry=self.symmetry,
            tol=self.tol,
            max_iter=self.max_iter,
            n_threads=n_threads,
        )


@dataclass(frozen=True, slots=True)
class FamilyLoss(PseudoLoss):
    """The pseudo-likelihood of variables of several families.

    Networks of folds and subsamples minimise a quadratic approximation of the loss; information criteria
    use the actual loss of the networks of all rows.

    Attributes
    ----------
    losses : ndarray of shape (n_alphas,)
        Minus the mean log-likelihood of these networks, summed over the nodes.
    """

    losses: Array = field(default_factory=lambda: np.zeros(0))

    def information(
        self, grams: GramMatrices, path: LossPath, criterion: Criterion, gamma: float
    ) -> Array:
        """See :class:`Loss`."""
        spent = float(np.sum(grams.smoother_trace))
        return priced(2.0 * grams.n * self.losses, path.omega, grams.n, criterion, gamma, spent)


def pseudo_path(solution: PathSolution) -> LossPath:
    """A :class:`LossPath` of a solution for Grams in units of the conditional deviations."""
    sigma = np.ones(solution.omega.shape[:2])
    return LossPath(solution.omega, sigma, solution.gaps, solution.n_iter, {})
