r"""Normal scores of columns whose location and spread may follow a confounder.

Under a Gaussian copula every column is a monotone function of a latent Gaussian variable,
:math:`x_j = h_j(z_j)`, and the network is that of z. Without confounder
:math:`h_j^{-1} = \Phi^{-1} \circ F_j`, F being the distribution function of the column. Where the
confounder shifts or spreads z, all rows together are a mixture of Gaussians,

.. math:: H_j(z) = \frac{1}{n} \sum_i \Phi\big((z - m_j(g_i)) / s_j(g_i)\big),

and :math:`h_j^{-1} = H_j^{-1} \circ F_j`: scores with a Gaussian distribution over all rows would distort
the effect of the confounder. As m and s are moments of the scores, scores and moments are computed
alternately until they converge. Scores depend on the ranks of a column only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from plaggm.array_types import Array, Index

# Largest number of alternations, and largest change of a score at which they end.
ROUNDS, SETTLED = 50, 1e-3
# Fisher scoring of log variances: largest number of steps, change at which it ends, largest step.
SCORING_ROUNDS, SCORING_SETTLED, LARGEST_STEP = 30, 1e-6, 1.0
# Components of the mixture, points at which its distribution function is evaluated, and extent of these in
# standard deviations.
MIXTURE_ROWS, MIXTURE_POINTS, MIXTURE_EXTENT = 200, 161, 6.5
# Probabilities are clipped to the interval from this value to one minus it.
SMALLEST_SHARE = 1e-14
# Smallest residual variance of scores.
SMALLEST_VARIANCE = 1e-6


@dataclass(frozen=True, slots=True)
class MidDistribution:
    """Distribution function of one column by mid-ranks.

    Attributes
    ----------
    values : ndarray of shape (K,)
        Distinct values, increasing.
    middle : ndarray of shape (K,)
        Share of rows below each value plus half of the share at it.
    upper : ndarray of shape (K,)
        Share of rows below the boundary between each value and the next; one for the last.
    largest_tie : float
        Share of rows at the most frequent value.
    """

    values: Array
    middle: Array
    upper: Array
    largest_tie: float

    @property
    def weights(self) -> Array:
        """Share of rows between the boundaries of each value: shape (K,)."""
        return np.diff(self.upper, prepend=0.0)


def mid_distribution(values: Array, below: Index, at: Index, n: int) -> MidDistribution:
    """Distribution function by mid-ranks from counts.

    Parameters
    ----------
    values : ndarray of shape (K,)
        Distinct values, increasing.
    below, at : ndarray of int of shape (K,)
        Rows whose value is smaller than each value, and equal to it.
    n : int
        Rows.

    Examples
    --------
    >>> found = mid_distribution(np.array([1.0, 2.0]), np.array([0, 3]), np.array([3, 1]), 4)
    >>> found.middle, found.upper
    (array([0.375, 0.875]), array([0.75, 1.  ]))
    """
    # Rows between two values are divided equally among both.
    upper = np.append(0.5 * (below[1:] + (below + at)[:-1]), n) / n
    return MidDistribution(values, (below + 0.5 * at) / n, upper, float(np.max(at)) / n)


@dataclass(frozen=True, slots=True)
class NormalScores:
    """A monotone map of one column to a latent variable with mean zero and variance one.

    Attributes
    ----------
    values : ndarray of shape (K,)
        Values of the column, increasing.
    scores : ndarray of shape (K,)
        Their latent values. The map is linear between two values and constant beyond the ends.
    ends : ndarray of shape (K,)
        Latent value of the boundary between each value and the next; infinite for the last.
    """

    values: Array
    scores: Array
    ends: Array

    def apply(self, x: Array) -> Array:
        """Latent values of a column (n,); NaN for NaN."""
        return np.interp(x, self.values, self.scores)

    def inverse(self, z: Array) -> Array:
        """Elements of ``values`` at latent values (n,)."""
        return np.asarray(self.values[np.searchsorted(self.ends, z)])


def normal_scores(
    x: Array, distributions: Sequence[MidDistribution], functions: Array
) -> tuple[NormalScores, ...]:
    """Latent Gaussian scores of all columns.

    Parameters
    ----------
    x : ndarray of shape (n, p)
        Rows from which moments along the confounder are learnt, ordered along it.
    distributions : sequence of MidDistribution
        Distribution of every column, in these or more rows.
    functions : ndarray of shape (n, 1 + M)
        Functions of the confounder for means and log-variances; the first is one.

    Examples
    --------
    >>> x = np.array([[1.0], [10.0], [100.0]])
    >>> one = mid_distribution(x[:, 0], np.arange(3), np.ones(3, int), 3)
    >>> normal_scores(x, [one], np.ones((3, 1)))[0].scores[[0, 2]].round(3)
    array([-1.225,  1.225])
    """
    solver = np.asarray(np.linalg.pinv(functions), dtype=np.float64)
    rows = np.linspace(0, len(x) - 1, min(MIXTURE_ROWS, len(x))).round().astype(np.intp)
    return tuple(
        _column_scores(column, one, functions, solver, rows)
        for column, one in zip(x.T, distributions, strict=True)
    )


def _column_scores(
    x: Array, distribution: MidDistribution, functions: Array, solver: Array, rows: Index
) -> NormalScores:
    """Scores of one column (n,) with a mixture over some of the rows."""
    values, weights = distribution.values, distribution.weights
    middle, upper = ndtri(_open(distribution.middle)), ndtri(_open(distribution.upper[:-1]))
    scores, ends = _standardised(middle, weights), upper
    if functions.shape[1] > 1:
        for _ in range(ROUNDS):
            known = np.isfinite(x)
            mean, log_variance = score_moments(
                np.interp(x[known], values, scores), functions[known], solver[:, known]
            )
            grid, gauss = _mixture(
                functions[rows] @ mean, np.exp(0.5 * (functions[rows] @ log_variance))
            )
            earlier = scores
            scores = _standardised(np.interp(middle, gauss, grid), weights)
            ends = np.interp(upper, gauss, grid)
            if np.max(np.abs(scores - earlier)) <= SETTLED:
                break
    return NormalScores(values, scores, np.append(ends, np.inf))


def score_moments(z: Array, functions: Array, solver: Array) -> tuple[Array, Array]:
    """Mean and log variance of Gaussian scores along functions: two arrays of shape (1 + M,).

    The mean is estimated by least squares, the log variance by Fisher scoring of the residuals' likelihood.

    Parameters
    ----------
    z : ndarray of shape (n,)
    functions : ndarray of shape (n, 1 + M)
        The first is one.
    solver : ndarray of shape (1 + M, n)
        Pseudo-inverse of the functions.
    """
    mean = solver @ z
    squares = (z - functions @ mean) ** 2
    log_variance = np.zeros(functions.shape[1])
    log_variance[0] = np.log(max(float(squares.mean()), SMALLEST_VARIANCE))
    for _ in range(SCORING_ROUNDS):
        step = solver @ (squares * np.exp(-(functions @ log_variance)) - 1.0)
        size = float(np.max(np.abs(functions @ step)))
        log_variance = log_variance + step * min(1.0, LARGEST_STEP / max(size, LARGEST_STEP))
        if size <= SCORING_SETTLED:
            break
    return mean, log_variance


def _mixture(mean: Array, spread: Array) -> tuple[Array, Array]:
    """Points, and the Gaussian quantiles of the standardised mixture's distribution function at them.

    Parameters
    ----------
    mean, spread : ndarray of shape (k,)
        Means and standard deviations of the components, in any units.
    """
    unit = float(np.sqrt(np.mean(spread**2) + np.var(mean)))
    mean, spread = (mean - mean.mean()) / unit, spread / unit
    low = float(np.min(mean - MIXTURE_EXTENT * spread))
    high = float(np.max(mean + MIXTURE_EXTENT * spread))
    grid = np.linspace(low, high, MIXTURE_POINTS)
    away = (grid[:, None] - mean) / spread
    below, above = ndtr(away).mean(axis=1), ndtr(-away).mean(axis=1)
    # From the nearer tail, to avoid cancellation.
    gauss = np.where(below < 0.5, ndtri(_open(below)), -ndtri(_open(above)))
    return grid, gauss


def _standardised(scores: Array, weights: Array) -> Array:
    """Scores shifted and scaled to weighted mean zero and variance one."""
    centre = float(weights @ scores)
    return (scores - centre) / float(np.sqrt(weights @ (scores - centre) ** 2))


def _open(share: Array) -> Array:
    """Probabilities clipped to the interior of the unit interval."""
    return np.clip(share, SMALLEST_SHARE, 1.0 - SMALLEST_SHARE)
