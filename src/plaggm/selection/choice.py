"""The interface of selections and their result; a given penalty and information criteria."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from plaggm.array_types import Array
from plaggm.selection.criteria import Criterion
from plaggm.selection.problem import PathFit, Problem


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen penalty, with the criterion that chose it.

    Attributes
    ----------
    step : int
        Position of the chosen penalty on the grid.
    criterion : ndarray of shape (n_alphas,), optional
        Criterion that was minimised, or the instability of StARS; NaN for steps that failed. None if the
        penalty was given.
    loss : ndarray of shape (n_alphas, n_folds), optional
        Held-out loss of every fold.
    standard_error : ndarray of shape (n_alphas,), optional
        Standard error of the mean held-out loss.
    edge_stability : ndarray of shape (p, p), optional
        Share of the subsamples in which each pair is an edge at the chosen penalty.
    failures : dict
        Reasons by the number of the step, for steps without a network of all rows, a fold or a subsample.
    """

    step: int
    criterion: Array | None = field(default=None, repr=False)
    loss: Array | None = field(default=None, repr=False)
    standard_error: Array | None = field(default=None, repr=False)
    edge_stability: Array | None = field(default=None, repr=False)
    failures: dict[int, str] = field(default_factory=dict)


class Selection(Protocol):
    """A rule that chooses the penalty of any :class:`plaggm.selection.Problem`."""

    def describe(self, problem: Problem) -> str:
        """Describe the selection in a few words, for progress messages."""
        ...

    def choose(
        self, problem: Problem, fit: PathFit, *, n_jobs: int | None = None, verbose: int = 0
    ) -> Choice:
        """Choose among the penalties of a path that was fitted to all rows.

        Parameters
        ----------
        problem : Problem
        fit : PathFit
        n_jobs, verbose
            Passed to joblib.
        """
        ...


@dataclass(frozen=True, slots=True)
class GivenPenalty:
    """The first penalty of the grid, usually its only one."""

    def describe(self, problem: Problem) -> str:
        """See :class:`Selection`."""
        return "the penalty is given"

    def choose(
        self, problem: Problem, fit: PathFit, *, n_jobs: int | None = None, verbose: int = 0
    ) -> Choice:
        """See :class:`Selection`."""
        without_failures(np.zeros(len(fit.alphas)), fit.failures, fit.alphas)
        return Choice(0, failures=fit.failures)


@dataclass(frozen=True, slots=True)
class InformationCriterion:
    """Choose the penalty with the smallest AIC, BIC or EBIC.

    Attributes
    ----------
    criterion : {"aic", "bic", "ebic"}
    gamma : float
        EBIC's weight of the number of possible networks.
    """

    criterion: Criterion
    gamma: float = 0.5

    def describe(self, problem: Problem) -> str:
        """See :class:`Selection`."""
        return f"choosing the penalty by {self.criterion.upper()}"

    def choose(
        self, problem: Problem, fit: PathFit, *, n_jobs: int | None = None, verbose: int = 0
    ) -> Choice:
        """See :class:`Selection`."""
        values = [
            problem.loss.information(grams, path, self.criterion, self.gamma)
            for grams, path in zip(fit.grams, fit.paths, strict=True)
        ]
        criterion = problem.criterion_weights @ np.stack(values)
        criterion = without_failures(criterion, fit.failures, fit.alphas)
        return Choice(int(np.nanargmin(criterion)), criterion, failures=fit.failures)


def without_failures(criterion: Array, failures: dict[int, str], alphas: Array) -> Array:
    """The criterion with NaN at the steps that failed; raises ValueError if all failed."""
    left = criterion.copy()
    left[list(failures)] = np.nan
    if np.isnan(left).all():
        reason = next(iter(failures.values()), "no reason was given")
        raise ValueError(
            f"The estimate converged at none of the {len(alphas)} penalties between "
            f"{alphas[0]:.3g} and {alphas[-1]:.3g} ({reason}). Use larger penalties, raise max_iter or "
            "tol, or take loss='pseudo'."
        )
    return left
