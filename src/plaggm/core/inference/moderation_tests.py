r"""Tests of R_jk = 0 for each pair and each confounder.

For pair (j, k) and confounder m the hypothesis is that all coefficients of m's functions vanish. The score
of the pair (`plaggm.core.inference.pair_scores`), less its regression on the scores of the pair's other confounders,
is brought to a common scale, the root of the mean information of all pairs. There u has the covariance C,
near the identity, and the statistic is

    Q = u' A u,     A = 1 + c [mean over the other pairs of u u' - C]_+

with [ ]_+ the positive part of a symmetric matrix. The identity has power in all directions; the second
term adds power in the directions in which other pairs change, which are often the same for all pairs (a
linear trend, a plateau). A pair's A does not depend on its own score.

Under the hypothesis Q is a weighted sum of chi-square variables (`plaggm.core.inference.weighted_chi_squares`). No
matrix is inverted that few rows could make singular, so that factors may have rare levels. Only the span of
the functions of a confounder matters.

Rows in groups: C is the jackknife's covariance. It may have fewer degrees of freedom, G - 1, than there are
functions, so that it has no inverse, which Q / tr(A C) does not need. The distribution of its numerator is
that under the mean covariance of all pairs; its denominator has d (G - 1) degrees of freedom,
d = tr(AC)^2 / tr(ACAC) (Satterthwaite; Brunner, Dette and Munk, 1997). Independent rows with heavy tails: C
is the mean over all pairs of the covariance between blocks of rows, times a factor of each pair.

Rows with missing cells: expected sums contain the estimated R, and no further information, where a pair was
not observed. Let W be the mean of w phi phi' over the rows that observe a pair, divided by that of all rows
and by the share of the rows that observe a typical pair. The estimate has the covariance (W J)^{-1}, so
that W^{1/2} u has the covariance C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.inference.cluster_jackknife import CLEARLY
from plaggm.core.inference.edge_tests import ROWS_PER_COEFFICIENT, enough_rows
from plaggm.core.inference.nuisance_average import (
    conditional_units,
    node_posterior,
    residual_degrees,
    systems_of,
)
from plaggm.core.inference.pair_scores import PairScores, pair_scores
from plaggm.core.inference.score_tests import (
    SAME,
    ModerationTests,
    check_groups,
    projected,
    tests_by_confounder,
)
from plaggm.core.nuisance.prior import prior_covariance, prior_form
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.core.spline.basis import SplineBasis
from plaggm.core.spline.statistics import SplineStatistics, unpack
from plaggm.core.spline.system import SplineSystem, spline_system


@dataclass(frozen=True)
class RowSpread:
    """Contributions of groups or blocks of rows to the scores, computed on first access.

    Attributes
    ----------
    scores : PairScores
    parts : callable
        Gives the systems of all groups or blocks, in the functions and units of the posterior.
    count : int
        Number of groups or blocks.
    """

    scores: PairScores
    parts: Callable[[], Iterator[SplineSystem]]
    count: int

    @cached_property
    def influences(self) -> Array:
        """First-order contributions, scaled so that their squares sum to variances: (count, P, M)."""
        return self._scale * self.scores.influences(self.parts())

    @cached_property
    def contributions(self) -> Array:
        """Contributions by leaving out rows, scaled in the same way: (count, P, M)."""
        return self._scale * self.scores.contributions(self.parts())

    @property
    def _scale(self) -> float:
        return float(np.sqrt(self.count / (self.count - 1.0)))


def moderation_tests(
    statistics: SplineStatistics,
    basis: SplineBasis,
    *,
    groups: Sequence[SplineStatistics] = (),
    blocks: Sequence[SplineStatistics] = (),
    seen: SplineStatistics | None = None,
    share: float = 1.0,
) -> ModerationTests:
    """Test whether each pair's partial correlation changes with each confounder.

    Parameters
    ----------
    statistics : SplineStatistics
        Sums over all rows, weighted as in the fit.
    basis : SplineBasis
        Functions of the confounders, at least one.
    groups : sequence of SplineStatistics
        Sums over the rows of every group, where rows of a group depend on each other; weighted as above.
    blocks : sequence of SplineStatistics
        Sums over disjoint blocks of all rows, to account for heavy tails; not used with groups.
    seen : SplineStatistics, optional
        Sums over all rows with one for an observed cell and zero for a missing one, weighted as above, if
        cells are missing and ``statistics`` are expectations.
    share : float
        Share of the rows that observe a typical pair.

    Returns
    -------
    ModerationTests

    Raises
    ------
    ValueError
        Without any function, with too few rows, or with a single group.

    Warns
    -----
    UserWarning
        With fewer than ten groups.
    """
    if not basis.size:
        raise ValueError(
            "No function of a confounder is in the model, so that nothing can be tested for changing with "
            "it: fit with a confounder that has samples beyond its threshold."
        )
    if not enough_rows(statistics):
        coefficients = statistics.q - 1 + statistics.functions
        raise ValueError(
            f"{statistics.n} samples are too few to test which edges change with the confounder: "
            f"{ROWS_PER_COEFFICIENT} for each of {coefficients} coefficients of a node are needed. Use "
            "more samples, or fewer variables."
        )
    check_groups(len(groups))
    with single_threaded_blas():
        return _tests(statistics, basis, groups, blocks, seen, share)


def _tests(
    statistics: SplineStatistics,
    basis: SplineBasis,
    groups: Sequence[SplineStatistics],
    blocks: Sequence[SplineStatistics],
    seen: SplineStatistics | None,
    share: float,
) -> ModerationTests:
    owners = basis.confounders
    rotation = orthonormal_functions(statistics, owners)
    system, units = conditional_units(spline_system(statistics, rotation))
    posterior = node_posterior(system, prior_covariance(system, prior_form(basis, rotation)))
    relative = np.asarray(np.linalg.solve(rotation, posterior.system.rotation), dtype=np.float64)
    scores = pair_scores(posterior, relative)
    parts = groups or blocks
    systems = partial(systems_of, parts, posterior.system.rotation, units)
    spread = RowSpread(scores, systems, len(parts))

    def covariance(project: Array) -> tuple[Array, float]:
        sampling, prior = (projected(project, part) for part in scores.covariance())
        if groups:
            return outer_sums(project, spread.contributions) + prior, 1.0
        if len(blocks) > 1:
            sampling, factor = dispersed(sampling, project, spread)
            return sampling + prior, factor
        return sampling + prior, 1.0

    score = scores.score
    if seen is not None:
        root = known_part(seen, share, rotation, owners)
        score = np.matmul(root, score[:, :, None])[:, :, 0]
    return tests_by_confounder(
        score,
        scores.information,
        owners,
        covariance,
        len(groups) - 1.0 if groups else None,
        float(residual_degrees(system)),
    )


def orthonormal_functions(statistics: SplineStatistics, owners: Index) -> Array:
    """Rotation to functions that are orthonormal over the rows, within each confounder.

    Parameters
    ----------
    statistics : SplineStatistics
    owners : ndarray of int of shape (M,)
        The confounder that each function belongs to.

    Returns
    -------
    ndarray of shape (M, M)
    """
    second_moments = statistics.second_moments()
    rotation = np.zeros_like(second_moments)
    for confounder in np.unique(owners):
        own = np.ix_(owners == confounder, owners == confounder)
        values, vectors = np.linalg.eigh(second_moments[own])
        values = np.maximum(values, SAME * values.max())
        rotation[own] = vectors / np.sqrt(values) @ vectors.T
    return rotation


def known_part(seen: SplineStatistics, share: float, rotation: Array, owners: Index) -> Array:
    """Square roots of W of every pair: shape (P, M, M).

    Parameters
    ----------
    seen, share
        See :func:`moderation_tests`.
    rotation : ndarray of shape (M, M)
        See :func:`orthonormal_functions`.
    owners : ndarray of int of shape (M,)
    """
    size, p = seen.functions, seen.q - 1
    rows, columns = np.triu_indices(seen.q)
    packed = seen.sums[1 + size :, (rows < columns) & (columns < p)].T / seen.n
    own = owners[:, None] == owners
    moments = np.where(own, rotation.T @ unpack(packed, size) @ rotation, 0.0) / share
    values, vectors = np.linalg.eigh(moments)
    roots = np.sqrt(np.maximum(values, 0.0))[:, None, :] * vectors
    return np.asarray(np.matmul(roots, vectors.transpose(0, 2, 1)))


def outer_sums(project: Array, parts: Array) -> Array:
    """Sums of the outer products of projected scores: shape (P, r, r) from (k, P, M)."""
    projected = np.einsum("xra,gxa->gxr", project, parts, optimize=True)
    return np.asarray(np.einsum("gxr,gxs->xrs", projected, projected, optimize=True))


def dispersed(sampling: Array, project: Array, spread: RowSpread) -> tuple[Array, float]:
    """Sampling covariances estimated from blocks of rows if these differ significantly from the model's.

    Outlying rows are the same for all pairs, and so is the covariance that they cause, up to a factor. Its
    mean over the pairs is precise although there are few blocks.

    Parameters
    ----------
    sampling : ndarray of shape (P, r, r)
        Covariances of independent Gaussian rows.
    project : ndarray of shape (P, r, M)
    spread : RowSpread

    Returns
    -------
    sampling : ndarray of shape (P, r, r)
    factor : float
        Ratio of the traces; one if there is no significant difference.
    """
    pairs, size = sampling.shape[:2]
    expected = sampling.mean(axis=0)
    found = outer_sums(project, spread.influences).mean(axis=0)
    values = np.linalg.eigvals(np.linalg.solve(expected, found)).real
    freedom = (spread.count - 1.0) * pairs
    # Upper edge of the Marchenko-Pastur distribution of the eigenvalues.
    edge = (1.0 + np.sqrt(size / freedom)) ** 2
    clear = CLEARLY * np.sqrt(2.0 / freedom)
    if values.mean() <= 1.0 + clear and values.max() <= edge + clear:
        return sampling, 1.0
    # First-order effects underestimate the covariance, since outlying rows attract the fit.
    found = outer_sums(project, spread.contributions).mean(axis=0)
    factor = float(np.trace(np.linalg.solve(expected, found))) / size
    scale = np.trace(sampling, axis1=1, axis2=2) / np.trace(expected)
    return scale[:, None, None] * found, factor
