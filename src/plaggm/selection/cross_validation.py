"""Cross-validation of the penalty, the nuisance learnt anew from every training set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from plaggm.array_types import Array
from plaggm.parameter_types import Fold
from plaggm.selection.choice import Choice, without_failures
from plaggm.selection.early_stopping import MEAN, has_risen
from plaggm.selection.parallel import inner_threads, run_parallel
from plaggm.selection.problem import PathFit, Problem


@dataclass(frozen=True, slots=True)
class HeldOutLoss:
    """Held-out loss along a path.

    Attributes
    ----------
    loss : ndarray of shape (n_alphas, n_folds)
        Loss of each fold's held-out rows; see :meth:`plaggm.selection.Problem.held_out`. NaN where a step
        failed, and for penalties after a fold's path was stopped early.
    mean : ndarray of shape (n_alphas,)
        Mean loss over all held-out rows.
    standard_error : ndarray of shape (n_alphas,)
        Standard error of the mean, from the spread between folds.
    reached : int
        Number of penalties at which all folds were fitted. If it is not that of all penalties, the mean had
        clearly risen at the last of them.
    """

    loss: Array
    mean: Array
    standard_error: Array
    reached: int

    def best(self, *, one_standard_error: bool = False) -> int:
        """Index of the smallest mean loss, or of the largest penalty within one standard error of it."""
        smallest = int(np.nanargmin(self.mean))
        if not one_standard_error:
            return smallest
        limit = self.mean[smallest] + self.standard_error[smallest]
        return int(np.flatnonzero(self.mean[: smallest + 1] <= limit)[0])


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """Choose the penalty with the smallest held-out loss.

    For each fold the smoother is learnt from the training rows alone. The kernel smoother is evaluated at
    the confounder values of the held-out rows. The spline is a random effect, and held-out rows are judged
    by their marginal likelihood.

    Attributes
    ----------
    folds : sequence of (train, test)
        Indices of rows, or of subsets of rows if the profiler has only these.
    one_standard_error : bool
        Whether to choose the largest penalty whose loss is within one standard error of the smallest.
    sizes : sequence of int, optional
        Number of held-out rows of each fold, if indices are those of subsets.
    """

    folds: Sequence[Fold] = field(repr=False)
    one_standard_error: bool = False
    sizes: Sequence[int] | None = None

    def describe(self, problem: Problem) -> str:
        """See :class:`plaggm.selection.Selection`."""
        return f"cross-validation with {len(self.folds)} folds"

    def evaluate(
        self, problem: Problem, alphas: Array, *, n_jobs: int | None = None, verbose: int = 0
    ) -> HeldOutLoss:
        """Held-out loss along a decreasing grid, up to the penalties at which it has clearly risen."""
        threaded = problem.with_threads(inner_threads(n_jobs, len(self.folds)))
        for whole in (False, True):
            work = partial(threaded.held_out, alphas=alphas, whole=whole)
            found = run_parallel(work, self.folds, n_jobs=n_jobs, verbose=verbose)
            curve = self._curve(found, len(alphas))
            risen = has_risen(curve.mean[: curve.reached], *MEAN)
            if risen or curve.reached == len(alphas):
                break
        return curve

    def _curve(self, found: list[Array], count: int) -> HeldOutLoss:
        """The losses of all folds, whose paths may have different lengths."""
        loss = np.full((count, len(found)), np.nan)
        for fold, values in enumerate(found):
            loss[: len(values), fold] = values
        held = [len(test) for _, test in self.folds] if self.sizes is None else self.sizes
        size = np.array(held, dtype=np.float64)
        mean = loss @ size / size.sum()
        spread = (loss - mean[:, None]) ** 2 @ size / size.sum()
        error = np.sqrt(spread / max(len(self.folds) - 1, 1))
        return HeldOutLoss(loss, mean, error, min(len(values) for values in found))

    def choose(
        self, problem: Problem, fit: PathFit, *, n_jobs: int | None = None, verbose: int = 0
    ) -> Choice:
        """See :class:`plaggm.selection.Selection`."""
        found = self.evaluate(problem, fit.alphas, n_jobs=n_jobs, verbose=verbose)
        failures = fit.failures
        missing = np.count_nonzero(np.isnan(found.loss[: found.reached]), axis=1)
        for step in np.flatnonzero(missing):
            failures.setdefault(
                int(step), f"did not converge in {missing[step]} of {len(self.folds)} folds"
            )
        # A step may have failed on all rows but not in any fold.
        curve = replace(found, mean=without_failures(found.mean, failures, fit.alphas))
        return Choice(
            curve.best(one_standard_error=self.one_standard_error),
            curve.mean,
            loss=curve.loss,
            standard_error=curve.standard_error,
            failures=failures,
        )
