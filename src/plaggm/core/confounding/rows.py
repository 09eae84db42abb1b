"""Inputs of the confounding test: functions of the confounders and standardised rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.stats import rankdata

from plaggm.array_types import Array, Index
from plaggm.core.spline.basis import spline_basis
from plaggm.core.spline.system import demmler_reinsch
from plaggm.core.variance.gamma_regressions import GammaRegressions

NETWORK_FUNCTIONS = 3
MEAN_FUNCTIONS = 4
DEGREE = 2
# Largest number of functions of all confounders together along which correlations may change.
MOST_FUNCTIONS = 24
# Rows for each function of the mean, below which there are fewer functions.
ROWS_PER_FUNCTION = 8
# Rows for each of them, below which there is no test.
FEWEST_ROWS = 3
# Smallest eigenvalue of the functions' correlations that is inverted.
LEAST_APART = 0.05
# Largest number of values of a confounder for which the mean is free at each of them.
LEVELS = 12
# Smallest value of one minus the leverage of a row by which its residual is divided.
LEAST_LEFT = 0.05
# Largest mean square of a standardised row: rows farther out are shrunken to it.
FARTHEST = 2.0


class UntestableError(ValueError):
    """Too few samples, in all or beyond the threshold, for a test."""


@dataclass(frozen=True, slots=True)
class RowFunctions:
    """Functions of the confounders that means and variances follow.

    Attributes
    ----------
    variances : GammaRegressions
        Regressions on the functions of the logarithmic variances.
    basis : ndarray of shape (n, q)
        Orthonormal basis of the functions of the means.
    """

    variances: GammaRegressions
    basis: Array


@dataclass(frozen=True, slots=True)
class TestedFunctions:
    """Functions of the confounders along which correlations may change.

    Attributes
    ----------
    values : ndarray of shape (n, M)
        Centred over the rows.
    owners : ndarray of int of shape (M,)
        Column of the confounder of every function.
    confounders : int
        Number of confounders, including those without functions.
    """

    # pytest must not collect this class.
    __test__ = False

    values: Array
    owners: Index
    confounders: int

    def sets(self) -> list[Index]:
        """Functions of every confounder and, where there are several confounders, all functions."""
        found = [np.flatnonzero(self.owners == one) for one in range(self.confounders)]
        return found if len(found) == 1 else [*found, np.arange(len(self.owners))]


def row_functions(confounder: Array, threshold: Array, functions: TestedFunctions) -> RowFunctions:
    """Functions of the confounders on which :func:`standardized_rows` regresses.

    Parameters
    ----------
    confounder : ndarray of shape (n, m)
    threshold : ndarray of shape (m,)
    functions : TestedFunctions
        Functions of the test. Log-variances follow them and piecewise linear functions of the confounders.
    """
    n = len(confounder)
    ramps = spline_basis(confounder, threshold, functions=2, degree=1).evaluate(confounder)
    design = np.column_stack([np.ones(n), functions.values, ramps])
    moving = mean_functions(confounder, threshold)
    if FEWEST_ROWS * moving.shape[1] > n:
        raise UntestableError(
            f"{n} samples are too few to test {confounder.shape[1]} confounder(s): their "
            f"{moving.shape[1]} functions need {FEWEST_ROWS} times as many."
        )
    return RowFunctions(GammaRegressions.on(design), np.linalg.qr(moving)[0])


def standardized_rows(
    z: Array, known: RowFunctions, farthest: float = FARTHEST
) -> tuple[Array, Array]:
    """Columns standardised by their mean and scale along the confounders.

    Misspecified variances only cost power, since influences have mean zero whatever the scale. Rows whose
    mean square exceeds ``farthest`` are shrunken to it.

    Returns
    -------
    standard : ndarray of shape (n, p)
        Columns of unit mean square.
    projection : ndarray of shape (n, k)
        See :func:`plaggm.core.confounding.confounding_test.projection_offset`.
    """
    root, basis, slopes = np.ones((len(z), 1)), known.basis, None
    # The second regression of the means weights the rows, so that noisy rows do not affect all residuals.
    for again in range(2):
        if again:
            basis = _orthonormal(known.basis / root)
        left = np.sqrt(np.maximum(1.0 - np.sum(basis**2, axis=1), LEAST_LEFT))[:, None]
        weighted = z / root
        residual = (weighted - basis @ (basis.T @ weighted)) / left
        slopes = known.variances.slopes(residual**2, slopes)
        logarithms = known.variances.design @ slopes
        variances = np.exp(logarithms)
        # The next slopes start without the log-variance that all columns have in common.
        common = np.mean(logarithms, axis=1, keepdims=True)
        root = root * np.exp(0.5 * (common - common.mean()))
        shared = np.mean(slopes, axis=1, keepdims=True)
        shared[0] -= common.mean()
        slopes = slopes - shared
    standard = residual / np.sqrt(variances)
    size = np.mean(standard**2, axis=1, keepdims=True)
    standard = standard / np.sqrt(np.maximum(size / farthest, 1.0))
    spread = np.sqrt(np.mean(standard**2, axis=0))
    return standard / np.maximum(spread, np.finfo(float).tiny), basis / left


def _orthonormal(columns: Array) -> Array:
    """Orthonormal basis of well-conditioned columns: shape (n, k)."""
    lower = np.linalg.cholesky(columns.T @ columns)
    return np.asarray(solve_triangular(lower, columns.T, lower=True).T)


def functions_to_test(confounder: Array, threshold: Array) -> TestedFunctions:
    """Functions along which correlations may change; raises if there are none."""
    functions = network_functions(confounder, threshold)
    if not len(functions.owners):
        raise UntestableError(
            f"No confounder exceeds its threshold ({threshold.tolist()}) in enough samples to test "
            "its effect; use a smaller threshold."
        )
    return functions


def network_functions(confounder: Array, threshold: Array) -> TestedFunctions:
    """Centred functions of the confounders beyond the threshold, rough ones with less weight.

    They are splines of ranks, so that a few samples with extreme confounders do not dominate. With many
    confounders each has a single function on each side.
    """
    ranks = signed_ranks(confounder, threshold)
    size = _bearable(ranks, NETWORK_FUNCTIONS)
    size = int(np.clip(MOST_FUNCTIONS // max(_sides(ranks), 1), 1, size))
    basis = spline_basis(ranks, np.zeros(ranks.shape[1]), functions=size, degree=DEGREE)
    raw = basis.evaluate(ranks)
    rotation, roughness = demmler_reinsch(basis, raw.T @ raw / len(raw))
    functions = raw @ rotation
    functions = functions - functions.mean(axis=0)
    spread = np.sqrt(np.mean(functions**2, axis=0))
    # A function is constant, and useless, if no sample lies within the threshold.
    varies = spread > np.sqrt(np.finfo(float).eps)
    functions = functions[:, varies] / spread[varies]
    # Centring makes the functions of two sides correlated: without this rotation the sum of both, along
    # which an even R changes, would have less weight than their difference.
    values, vectors = np.linalg.eigh(functions.T @ functions / len(functions))
    root = vectors / np.sqrt(np.maximum(values, LEAST_APART)) @ vectors.T
    orthogonal: Array = functions @ root / np.sqrt(1.0 + roughness[varies])
    return TestedFunctions(orthogonal, basis.confounders[varies], ranks.shape[1])


def mean_functions(confounder: Array, threshold: Array) -> Array:
    """Functions that a mean may follow, the constant first: shape (n, k).

    They are splines of the ranks of all samples and piecewise linear functions beyond the threshold, or
    indicators of the values if these are few.
    """
    parts = [np.ones((len(confounder), 1))]
    for column, limit in zip(confounder.T, threshold, strict=True):
        levels, which = np.unique(column, return_inverse=True)
        if len(levels) <= LEVELS:
            parts.append(np.eye(len(levels))[which][:, 1:])
            continue
        alone = column[:, None]
        ranks = signed_ranks(alone, np.zeros(1))
        size = _bearable(confounder, MEAN_FUNCTIONS)
        smooth = spline_basis(ranks, np.zeros(1), functions=size, degree=DEGREE)
        ramps = spline_basis(alone, np.array([limit]), functions=min(2, size), degree=1)
        parts += [smooth.evaluate(ranks), ramps.evaluate(alone)]
    return np.hstack(parts)


def signed_ranks(confounder: Array, threshold: Array) -> Array:
    """Signed ranks of the excess over the threshold within each side, in (0, 1]; zero within the threshold.

    Examples
    --------
    >>> signed_ranks(np.array([[0.1], [3.0], [-2.0], [9.0]]), np.array([0.5])).ravel()
    array([ 0. ,  0.5, -1. ,  1. ])
    """
    ranks = np.zeros_like(confounder)
    for column in range(confounder.shape[1]):
        for sign in (1.0, -1.0):
            excess = sign * confounder[:, column] - threshold[column]
            beyond = excess > 0.0
            if beyond.any():
                ranks[beyond, column] = sign * rankdata(excess[beyond]) / beyond.sum()
    return ranks


def _bearable(confounder: Array, functions: int) -> int:
    """Number of functions for each side that the rows support, at most the requested number."""
    bearable = len(confounder) / (ROWS_PER_FUNCTION * max(_sides(confounder), 1)) - 2.0
    return int(np.clip(bearable, 1, functions))


def _sides(confounder: Array) -> int:
    """Number of sides of zero with samples, summed over all confounders."""
    return int(np.sum(confounder.max(axis=0) > 0.0) + np.sum(confounder.min(axis=0) < 0.0))
