"""Estimation of a subject's network: a path of networks, and a criterion for each step of it.

One step serves all subjects, so that their networks can be compared. With the shrinkage a person's edges
are modelled as normal around those of all subjects together, with one standard deviation for all edges: a
short scan is shrunk towards the group and not towards zero, and a longer scan is shrunk less. Each person
has conditional standard deviations of their own, so that edges are partial correlations of the person. With
the lasso edges that a scan does not show are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.grams.common_grams import CommonGrams
from plaggm.core.grams.node_grams import GramMatrices, NodeGrams, path_residuals
from plaggm.core.lasso.path import lambda_max, solve_path
from plaggm.core.lasso.symmetric_ridge import ridge_path
from plaggm.fmri.treatments import SubjectProblem
from plaggm.selection import information_criterion

SHRINKAGE = "shrinkage"
LassoCriterion: TypeAlias = Literal["cv", "aic", "bic", "ebic"]
LASSO_CRITERIA: tuple[LassoCriterion, ...] = ("cv", "aic", "bic", "ebic")
CRITERIA = (SHRINKAGE, *LASSO_CRITERIA)
# Penalties of the subjects' lasso, from the largest that matters to this part of it.
SUBJECT_ALPHAS, SUBJECT_RATIO = 24, 0.001
SUBJECT_TOL, SUBJECT_SWEEPS = 1e-4, 200
# Standard deviations of a person's edges round the group's, smallest first.
SPREADS = np.geomspace(0.003, 0.5, 16)
# The one with which a person's conditional standard deviations are found, and the strength of the penalty
# on the group's network, which rests on the volumes of all subjects.
PILOT_SPREAD, GROUP_STRENGTH = 0.05, 1e-3
SHRINKAGE_TOL = 1e-4
# Blocks of neighbouring volumes that are held out in turn; neighbours resemble each other.
BLOCKS = 5
# Subjects whose paths place the common grid of penalties.
GRID_SUBJECTS = 20


class SubjectPath(Protocol):
    """A path of networks that every subject has."""

    @property
    def steps(self) -> Array:
        """Penalties of the lasso, decreasing, or spreads of the shrinkage, increasing: shape (A,)."""
        ...

    def fit(self, problem: SubjectProblem) -> tuple[Array, Array]:
        """One subject's networks (A, pairs) and the criterion at each step (A,), smaller being better."""
        ...

    def network(self, problem: SubjectProblem, step: int) -> Array:
        """One subject's network at one step: shape (pairs,)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class LassoPath:
    """Networks with few edges.

    Attributes
    ----------
    steps : ndarray of shape (A,)
        Penalties, decreasing.
    criterion : {"cv", "aic", "bic", "ebic"}
        Held-out loss for each volume, or an information criterion.
    """

    steps: Array
    criterion: LassoCriterion

    def fit(self, problem: SubjectProblem) -> tuple[Array, Array]:
        """See :class:`SubjectPath`."""
        grams = _formed(problem.grams())
        omega = _lasso(grams, self.steps)
        if self.criterion == "cv":
            return pair_values(omega), held_out_loss(problem, self.steps)
        score = information_criterion(grams, omega, self.criterion, known_variance=False)
        return pair_values(omega), score

    def network(self, problem: SubjectProblem, step: int) -> Array:
        """See :class:`SubjectPath`; the path up to the step is a warm start."""
        return pair_values(_lasso(_formed(problem.grams()), self.steps[: step + 1])[-1])


@dataclass(frozen=True, slots=True, eq=False)
class ShrinkagePath:
    """Networks shrunk towards that of all subjects, the more the less information a scan has.

    Attributes
    ----------
    group : ndarray of shape (p, p)
        Network that is shrunk towards.
    steps : ndarray of shape (A,)
        Standard deviations of a person's edges round it, increasing.
    """

    group: Array = field(repr=False)
    steps: Array = field(default_factory=SPREADS.copy)

    def fit(self, problem: SubjectProblem) -> tuple[Array, Array]:
        """See :class:`SubjectPath`; blocks of volumes are held out, their units those of the others."""
        loss = np.zeros(len(self.steps))
        for train, test in time_blocks(problem.n):
            fitted, held_out = problem.split(train, test)
            own = self._units(fitted)
            path = self._path(fitted.rescaled(own), self.steps)
            loss += len(test) * path_residuals(held_out.rescaled(own), path).sum(axis=1)
        return self._networks(problem, self.steps), loss / problem.n

    def network(self, problem: SubjectProblem, step: int) -> Array:
        """See :class:`SubjectPath`."""
        return self._networks(problem, self.steps[step : step + 1])[0]

    def own_grams(self, problem: SubjectProblem) -> GramMatrices:
        """Node Grams in the subject's own conditional standard deviations."""
        grams = problem.grams()
        return grams.rescaled(self._units(grams))

    def _networks(self, problem: SubjectProblem, spreads: Array) -> Array:
        return pair_values(self._path(self.own_grams(problem), spreads))

    def _path(self, grams: GramMatrices, spreads: Array) -> Array:
        strengths = 1.0 / (2.0 * grams.n * spreads**2)
        return ridge_path(grams, strengths, self.group, tol=SHRINKAGE_TOL)

    def _units(self, grams: GramMatrices) -> Array:
        """Conditional standard deviations of the subject: shape (p,)."""
        pilot = self._path(grams, np.array([PILOT_SPREAD]))
        return np.asarray(np.sqrt(np.maximum(path_residuals(grams, pilot)[0], 1e-8)))


def make_path(
    criterion: str, problems: Sequence[SubjectProblem], *, shared: bool = True
) -> SubjectPath:
    """The path of all subjects' networks.

    Parameters
    ----------
    criterion : {"shrinkage", "cv", "aic", "bic", "ebic"}
        Shrinkage, or the lasso with that choice of its penalty.
    problems : sequence of SubjectProblem
        Those of the subjects that may be learnt from.
    shared : bool
        Whether the shrinkage is towards the network of these subjects; otherwise towards none.
    """
    if criterion != SHRINKAGE:
        return LassoPath(penalty_grid(problems), lasso_criterion(criterion))
    if not problems or not shared:
        p = problems[0].grams().p if problems else 1
        return ShrinkagePath(np.zeros((p, p)))
    path = ShrinkagePath(_group_network([problem.grams() for problem in problems]))
    # Once more, every subject in units of its own.
    return ShrinkagePath(_group_network([path.own_grams(problem) for problem in problems]))


def lasso_criterion(criterion: str) -> LassoCriterion:
    """The criterion, checked to be one for the lasso's penalty."""
    for known in LASSO_CRITERIA:
        if criterion == known:
            return known
    raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}; got {criterion!r}.")


def _group_network(grams: Sequence[GramMatrices]) -> Array:
    """The network of some subjects together, none counting for more than its volumes: shape (p, p)."""
    weights = [one.n for one in grams]
    first = grams[0]
    mean: GramMatrices
    if isinstance(first, CommonGrams):
        parts = [
            np.average([getattr(one, name) for one in grams], axis=0, weights=weights)
            for name in ("columns", "cross", "own")
        ]
        mean = CommonGrams(parts[0], parts[1], parts[2], sum(weights), first.smoother_trace)
    else:
        nodes = [[one.node(j) for j in range(_matrices(one))] for one in grams]
        mean = NodeGrams(
            np.average(nodes, axis=0, weights=weights), sum(weights), first.smoother_trace
        )
    omega = ridge_path(mean, np.array([GROUP_STRENGTH]))[0]
    return omega - np.diag(np.diagonal(omega))


def _matrices(grams: GramMatrices) -> int:
    """How many matrices serve all nodes."""
    return len(grams.grams) if isinstance(grams, NodeGrams) else grams.p


def penalty_grid(problems: Sequence[SubjectProblem]) -> Array:
    """A common grid of the lasso's penalties: from the median subject's empty network down.

    Parameters
    ----------
    problems : sequence of SubjectProblem
        Some of them, evenly spread, are looked at.

    Returns
    -------
    ndarray of shape (SUBJECT_ALPHAS,)
    """
    step = max(1, len(problems) // GRID_SUBJECTS)
    largest = [lambda_max(_formed(problem.grams())) for problem in problems[::step]]
    top = float(np.median(largest)) if largest else 1.0
    return np.geomspace(top, SUBJECT_RATIO * top, SUBJECT_ALPHAS)


def time_blocks(n: int) -> list[tuple[Index, Index]]:
    """Training and test volumes, each block of neighbours held out once."""
    everything = np.arange(n)
    return [
        (np.setdiff1d(everything, block, assume_unique=True), block)
        for block in np.array_split(everything, BLOCKS)
    ]


def held_out_loss(problem: SubjectProblem, alphas: Array) -> Array:
    """Mean squared residual of held-out blocks of volumes, summed over the nodes: shape (A,)."""
    loss = np.zeros(len(alphas))
    for train, test in time_blocks(problem.n):
        fitted, held_out = problem.split(train, test)
        loss += len(test) * path_residuals(held_out, _lasso(_formed(fitted), alphas)).sum(axis=1)
    return loss / problem.n


def pair_values(omega: Array) -> Array:
    """Partial correlations, the upper triangles of (..., p, p), as (..., pairs)."""
    first, second = np.triu_indices(omega.shape[-1], 1)
    return np.clip(omega[..., first, second], -1.0, 1.0)


def _lasso(grams: GramMatrices, alphas: Array) -> Array:
    return solve_path(grams, alphas, tol=SUBJECT_TOL, max_iter=SUBJECT_SWEEPS).omega


def _formed(grams: GramMatrices) -> GramMatrices:
    """Grams as the lasso takes them."""
    return grams.formed() if isinstance(grams, CommonGrams) else grams
