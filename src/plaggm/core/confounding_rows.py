"""What the test of confounding compares: functions of the confounders, and rows freed of mean and scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from plaggm.array_types import Array
from plaggm.core.spline_basis import spline_basis
from plaggm.core.spline_system import demmler_reinsch

NETWORK_FUNCTIONS = 3
MEAN_FUNCTIONS = 4
DEGREE = 2
# Rows for each function of the mean, below which functions are given up.
ROWS_PER_FUNCTION = 8
# Rows for each of them, below which there is no test.
FEWEST_ROWS = 3
# Eigenvalue of the functions' correlations, below which confounders are too alike to be told apart.
LEAST_APART = 0.05
# Confounders with at most so many values get a mean of their own at each.
LEVELS = 12
# Share of a row's noise that the mean leaves in it, below which its residual is not enlarged any further.
LEAST_LEFT = 0.05
# Mean square of a standardised row to which rows farther out are pulled back: heavy tails must not decide.
FARTHEST = 2.0
# Prior precision of the slopes of the log-variance, in samples.
SHRINKAGE = 5.0
NEWTON_STEPS = 25


class UntestableError(ValueError):
    """Too few samples, in all or beyond the threshold, for a test."""


@dataclass(frozen=True, slots=True)
class RowFunctions:
    """Functions of the confounders that means and variances follow.

    Attributes
    ----------
    design : ndarray of shape (n, k)
        Functions of the logarithmic variances, the constant first.
    products : ndarray of shape (n, k (k + 1) / 2)
        Products of every two of them.
    moving : ndarray of shape (n, q)
        Functions of the means.
    basis : ndarray of shape (n, q)
        Orthonormal basis of these.
    """

    design: Array
    products: Array
    moving: Array
    basis: Array


def row_functions(confounder: Array, threshold: Array, functions: Array) -> RowFunctions:
    """What :func:`standardized_rows` needs to know about the confounders.

    Parameters
    ----------
    confounder : ndarray of shape (n, m)
    threshold : ndarray of shape (m,)
    functions : ndarray of shape (n, M)
        The test's own functions, which logarithmic variances follow beside ramps in the confounder's units.
    """
    n = len(confounder)
    ramps = spline_basis(confounder, threshold, functions=2, degree=1).evaluate(confounder)
    design = np.column_stack([np.ones(n), functions, ramps])
    moving = mean_functions(confounder, threshold)
    if FEWEST_ROWS * moving.shape[1] > n:
        raise UntestableError(
            f"{n} samples are too few to test {confounder.shape[1]} confounder(s): their "
            f"{moving.shape[1]} functions need {FEWEST_ROWS} times as many."
        )
    return RowFunctions(design, _products(design), moving, np.linalg.qr(moving)[0])


def standardized_rows(
    z: Array, known: RowFunctions, farthest: float = FARTHEST
) -> tuple[Array, Array]:
    """Free every column of its mean and its scale along the confounders.

    What the functions of the variances miss costs nothing but power, since influences have mean zero
    whatever the scale. Rows whose mean square exceeds ``farthest`` are pulled back to it.

    Returns
    -------
    standard : ndarray of shape (n, p)
        Columns of unit mean square.
    projection : ndarray of shape (n, k)
        See :func:`plaggm.core.confounding_test.projection_offset`.
    """
    root, basis = np.ones((len(z), 1)), known.basis
    # Noisy rows would spread their noise over all residuals: the second mean is a weighted one.
    for again in range(2):
        if again:
            basis = np.linalg.qr(known.moving / root)[0]
        kept = np.sqrt(np.maximum(1.0 - np.sum(basis**2, axis=1), LEAST_LEFT))[:, None]
        weighted = z / root
        residual = (weighted - basis @ (basis.T @ weighted)) / kept
        variances = _variances(known.design, known.products, residual**2)
        common = np.mean(np.log(variances), axis=1, keepdims=True)
        root = root * np.exp(0.5 * (common - common.mean()))
    standard = residual / np.sqrt(variances)
    size = np.mean(standard**2, axis=1, keepdims=True)
    standard = standard / np.sqrt(np.maximum(size / farthest, 1.0))
    spread = np.sqrt(np.mean(standard**2, axis=0))
    return standard / np.maximum(spread, np.finfo(float).tiny), basis / kept


def functions_to_test(confounder: Array, threshold: Array) -> Array:
    """Functions along which correlations may change; raises where there are none: shape (n, M)."""
    functions = network_functions(confounder, threshold)
    if not functions.shape[1]:
        raise UntestableError(
            f"No confounder exceeds its threshold ({threshold.tolist()}) in enough samples to test "
            "its effect; use a smaller threshold."
        )
    return functions


def network_functions(confounder: Array, threshold: Array) -> Array:
    """Centred functions of the confounders beyond the threshold, rough ones with less weight.

    They are splines of ranks: a few samples far out in the confounder would otherwise decide alone.

    Returns
    -------
    ndarray of shape (n, M)
    """
    ranks = signed_ranks(confounder, threshold)
    size = _bearable(ranks, NETWORK_FUNCTIONS)
    basis = spline_basis(ranks, np.zeros(ranks.shape[1]), functions=size, degree=DEGREE)
    raw = basis.evaluate(ranks)
    rotation, roughness = demmler_reinsch(basis, raw.T @ raw / len(raw))
    functions = raw @ rotation
    functions = functions - functions.mean(axis=0)
    spread = np.sqrt(np.mean(functions**2, axis=0))
    # A function of all samples alike, where none is within the threshold, tells nothing.
    varies = spread > np.sqrt(np.finfo(float).eps)
    functions = functions[:, varies] / spread[varies]
    # Centred, the functions of two sides are no longer orthogonal, and their sum, along which an even R
    # would move, would count less than their difference.
    values, vectors = np.linalg.eigh(functions.T @ functions / len(functions))
    root = vectors / np.sqrt(np.maximum(values, LEAST_APART)) @ vectors.T
    orthogonal: Array = functions @ root / np.sqrt(1.0 + roughness[varies])
    return orthogonal


def mean_functions(confounder: Array, threshold: Array) -> Array:
    """Functions that a mean may follow, the constant first: shape (n, k).

    Smooth ones of the ranks, of all samples and not only beyond the threshold, and ramps in the
    confounder's own units; for a confounder with few values one for each value.
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
    """Ranks of the excess over the threshold within each side, in (0, 1] with its sign; else zero.

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
    """Number of functions for each side: as many as the rows can bear, at most those asked for."""
    sides = int(np.sum(confounder.max(axis=0) > 0.0) + np.sum(confounder.min(axis=0) < 0.0))
    bearable = len(confounder) / (ROWS_PER_FUNCTION * max(sides, 1)) - 2.0
    return int(np.clip(bearable, 1, functions))


def column_variances(design: Array, energy: Array) -> Array:
    """Gamma regressions with logarithmic link of every column's squares on the same functions.

    Parameters
    ----------
    design : ndarray of shape (n, k)
        The constant first.
    energy : ndarray of shape (n, p)

    Returns
    -------
    ndarray of shape (n, p)
        Fitted variances.
    """
    return _variances(design, _products(design), energy)


def _products(design: Array) -> Array:
    first, second = np.triu_indices(design.shape[1])
    return np.asarray(design[:, first] * design[:, second])


def _variances(design: Array, products: Array, energy: Array) -> Array:
    size = design.shape[1]
    energy = np.maximum(energy, np.finfo(float).tiny)
    first, second = np.triu_indices(size)
    shrink = np.full(size, SHRINKAGE)
    shrink[0] = 0.0
    slopes = np.zeros((size, energy.shape[1]))
    slopes[0] = np.log(energy.mean(axis=0))
    hessian = np.empty((energy.shape[1], size, size))
    for _ in range(NEWTON_STEPS):
        ratio = energy * np.exp(-design @ slopes)
        gradient = design.T @ (1.0 - ratio) + shrink[:, None] * slopes
        upper = ratio.T @ products
        hessian[:, first, second] = upper
        hessian[:, second, first] = upper
        step = np.linalg.solve(hessian + np.diag(shrink), gradient.T[:, :, None])[:, :, 0].T
        # A step of more than one unit of log-variance is cut: far from the optimum Newton overshoots.
        slopes -= step / np.maximum(1.0, np.abs(step).max(axis=0))
        if np.abs(step).max() < 1e-6:
            break
    return np.asarray(np.exp(design @ slopes), dtype=np.float64)
