"""Loss, penalties and folds of the related methods, and warnings about paths that did not converge."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from plaggm.array_types import Array, Index
from plaggm.core.lasso.path import Symmetry, grid_noise, lambda_grid
from plaggm.parameter_types import Fold, LossName
from plaggm.related.gaussian import GaussianLoss
from plaggm.related.tasks import Statistics
from plaggm.selection import Loss, LossPath, PenaltySpec, PseudoLoss
from plaggm.user_warnings import warn_user

# Default tolerance and largest number of iterations. Proximal steps of the graphical lasso are cheap, and
# many are needed if samples are few.
GLASSO_DEFAULTS = (1e-6, 5000)
PSEUDO_DEFAULTS = (1e-6, 1000)


def make_loss(
    name: LossName, symmetry: Symmetry, tol: float | None, max_iter: int | None
) -> GaussianLoss | PseudoLoss:
    """The loss of a related method; see :class:`plaggm.related.RelatedEstimator`."""
    usual_tol, usual_iterations = GLASSO_DEFAULTS if name == "glasso" else PSEUDO_DEFAULTS
    tol = usual_tol if tol is None else float(tol)
    max_iter = usual_iterations if max_iter is None else int(max_iter)
    if name == "glasso":
        return GaussianLoss(tol, max_iter)
    return PseudoLoss(symmetry, tol, max_iter)


def penalty_grid(statistics: Sequence[Statistics], loss: Loss, alphas: int | Array) -> Array:
    """The given penalties, or a grid with the given number of penalties: shape (n_alphas,)."""
    if not isinstance(alphas, int):
        return alphas
    grams = [part.grams for part in statistics]
    largest = loss.largest_penalty(grams)
    fewest = min(grams, key=lambda one: one.n)
    noise = grid_noise(fewest) if isinstance(loss, PseudoLoss) else None
    return lambda_grid(largest, alphas, fewest.n, fewest.p, noise=noise)


def used_folds(
    penalties: PenaltySpec, n: int, rows: Index, groups: Index | None, runs: Index | None = None
) -> list[Fold]:
    """Folds, as positions among the used rows.

    Parameters
    ----------
    penalties : PenaltySpec
        If ``cv`` is not a number, it divides all rows of X.
    n : int
        Number of rows of X.
    rows : ndarray of int
        Used rows of X.
    groups, runs : ndarray of int of shape (n,), optional
        Group and run of every row. A number of folds divides groups, or time series into contiguous folds.
    """
    if penalties.criterion != "cv" or isinstance(penalties.cv, Integral):
        owners, series = (None if part is None else part[rows] for part in (groups, runs))
        return penalties.folds(len(rows), owners, series)
    folds = [
        (np.flatnonzero(np.isin(rows, train)), np.flatnonzero(np.isin(rows, test)))
        for train, test in penalties.folds(n, groups)
    ]
    usable = [(train, test) for train, test in folds if len(train) and len(test)]
    if not usable:
        raise ValueError(
            f"No fold of cv has training and test rows among the {len(rows)} used samples."
        )
    return usable


def warn_of_gaps(loss: Loss, paths: Sequence[LossPath]) -> None:
    """Warn of penalties at which the lasso of the pseudo-likelihood has not converged."""
    if not isinstance(loss, PseudoLoss):
        return
    for path in paths:
        missed = int(np.count_nonzero(path.gaps > loss.tol))
        if missed:
            warn_user(
                f"The lasso did not reach tol={loss.tol:g} at {missed} of {len(path.gaps)} penalties "
                f"(largest duality gap {path.gaps.max():.2g}): raise max_iter or tol, or leave the "
                "smallest penalties out.",
                ConvergenceWarning,
            )
