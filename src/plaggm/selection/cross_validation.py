"""Cross-validation of the penalty, the nuisance learnt anew from every training set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from plaggm.core.node_grams import path_residuals
from plaggm.core.path import Symmetry, solve_path
from plaggm.core.profile.kernel import SingularLocalSystemError
from plaggm.core.profile.profilers import Profiler
from plaggm.selection.parallel import inner_threads, run_parallel
from plaggm.selection.parts import Fold

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """Held-out loss along a path.

    Attributes
    ----------
    loss : ndarray of shape (n_alphas, n_folds)
        Mean over the held-out rows of the squared residuals of all nodes, without their nuisance: see
        :meth:`plaggm.core.profile.profilers.Profiler.split`.
    mean : ndarray of shape (n_alphas,)
        Over all held-out rows.
    standard_error : ndarray of shape (n_alphas,)
        Of the mean, from the spread between folds.
    """

    loss: Array
    mean: Array
    standard_error: Array

    def best(self, *, one_standard_error: bool = False) -> int:
        """Index of the smallest mean loss, or of the largest penalty within one standard error of it."""
        smallest = int(np.argmin(self.mean))
        if not one_standard_error:
            return smallest
        limit = self.mean[smallest] + self.standard_error[smallest]
        return int(np.flatnonzero(self.mean[: smallest + 1] <= limit)[0])


def cross_validate_path(
    profiler: Profiler,
    alphas: Array,
    folds: Sequence[Fold],
    *,
    scale: Array,
    symmetry: Symmetry,
    tol: float,
    max_iter: int,
    sizes: Sequence[int] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CrossValidation:
    """Held-out loss of every penalty.

    For each fold the smoother is learnt from the training rows alone. The kernel's is evaluated at the
    confounder values of the held-out rows; the spline's is a random effect, and the held-out rows are
    judged by their marginal likelihood.

    Parameters
    ----------
    profiler : Profiler
    alphas : ndarray of shape (n_alphas,)
        Decreasing.
    folds : sequence of (train, test) row indices
    scale : ndarray of shape (p,)
        Conditional standard deviations by which the columns are divided.
    symmetry, tol, max_iter
        As for :func:`plaggm.core.path.solve_path`.
    sizes : sequence of int, optional
        Held-out rows of each fold, where the profiler's units are not rows.
    n_jobs, verbose
        As for joblib.

    Returns
    -------
    CrossValidation
    """
    work = partial(
        _fold_loss,
        profiler=profiler.with_threads(inner_threads(n_jobs)),
        alphas=alphas,
        scale=scale,
        symmetry=symmetry,
        tol=tol,
        max_iter=max_iter,
    )
    loss = np.stack(run_parallel(work, folds, n_jobs=n_jobs, verbose=verbose), axis=1)
    held = [len(test) for _, test in folds] if sizes is None else sizes
    size = np.array(held, dtype=np.float64)
    mean = loss @ size / size.sum()
    spread = (loss - mean[:, None]) ** 2 @ size / size.sum()
    return CrossValidation(loss, mean, np.sqrt(spread / max(len(folds) - 1, 1)))


def _fold_loss(
    fold: Fold,
    *,
    profiler: Profiler,
    alphas: Array,
    scale: Array,
    symmetry: Symmetry,
    tol: float,
    max_iter: int,
) -> Array:
    try:
        fitted, held_out = profiler.split(*fold)
    except SingularLocalSystemError as error:
        raise SingularLocalSystemError(
            f"In a fold of the cross-validation, which learns from {len(fold[0])} of {profiler.n} rows: "
            f"{error} More folds leave more rows to learn from."
        ) from error
    path = solve_path(
        fitted.rescaled(scale),
        alphas,
        symmetry=symmetry,
        tol=tol,
        max_iter=max_iter,
        n_threads=1,
    )
    return path_residuals(held_out.rescaled(scale), path.omega).sum(axis=1)
