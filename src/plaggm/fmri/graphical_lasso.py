"""The graphical lasso of single subjects, for LR-GGM as in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.fmri.own_residuals import CovarianceProblem
from plaggm.fmri.subject_paths import (
    SHRINKAGE,
    SUBJECT_ALPHAS,
    LassoCriterion,
    SubjectPath,
    lasso_criterion,
    make_path,
    pair_values,
    time_blocks,
)
from plaggm.fmri.treatments import SubjectProblem
from plaggm.related.gaussian import GaussianLoss

# Smallest penalty as a part of the largest.
RATIO = 0.02
# Largest duality gap, and number of proximal steps at one penalty.
TOL, STEPS = 1e-5, 2000


@dataclass(frozen=True, slots=True, eq=False)
class GraphicalLassoPath:
    """Networks of the graphical lasso; see :class:`plaggm.fmri.subject_paths.SubjectPath`.

    Attributes
    ----------
    steps : ndarray of shape (A,)
        Penalties, decreasing.
    criterion : {"cv", "aic", "bic", "ebic"}
        Held-out likelihood of blocks of volumes, or an information criterion.
    """

    steps: Array
    criterion: LassoCriterion

    def fit(self, problem: SubjectProblem) -> tuple[Array, Array]:
        """See :class:`plaggm.fmri.subject_paths.SubjectPath`; steps that fail are never chosen."""
        loss, grams = GaussianLoss(TOL, STEPS), problem.grams()
        path = loss.paths([grams], self.steps)[0]
        if self.criterion == "cv":
            score = np.zeros(len(self.steps))
            for train, test in time_blocks(problem.n):
                fitted, judged = problem.split(train, test)
                weight = np.array([len(test) / problem.n])
                score += loss.held_out([fitted], [judged], weight, self.steps, whole=False)
        else:
            score = loss.information(grams, path, self.criterion, 0.5)
        failed = np.isnan(path.omega).any(axis=(1, 2)) | np.isnan(score)
        if failed.all():
            raise ValueError("the graphical lasso failed at every penalty.")
        return pair_values(np.nan_to_num(path.omega)), np.where(failed, np.inf, score)

    def network(self, problem: SubjectProblem, step: int) -> Array:
        """See :class:`plaggm.fmri.subject_paths.SubjectPath`."""
        loss = GaussianLoss(TOL, STEPS)
        return pair_values(loss.paths([problem.grams()], self.steps[: step + 1])[0].omega[-1])


def path_of(criterion: str, problems: Sequence[SubjectProblem], *, shared: bool) -> SubjectPath:
    """The path of some subjects' networks: that of the graphical lasso where they are precision matrices.

    Parameters are those of :func:`plaggm.fmri.subject_paths.make_path`. The graphical lasso has no
    shrinkage towards other subjects; held-out volumes choose its penalty there.
    """
    if not problems or not isinstance(problems[0], CovarianceProblem):
        return make_path(criterion, problems, shared=shared)
    loss = GaussianLoss(TOL, STEPS)
    largest = float(np.median([loss.largest_penalty([one.grams()]) for one in problems]))
    steps = np.geomspace(largest, RATIO * largest, SUBJECT_ALPHAS)
    return GraphicalLassoPath(steps, "cv" if criterion == SHRINKAGE else lasso_criterion(criterion))
