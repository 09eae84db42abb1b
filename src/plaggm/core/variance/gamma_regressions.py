r"""Gamma regressions with logarithmic link of many columns on the same functions.

For the squares e of one column and functions d_i of row i the slopes b minimise

    sum_i (e_i exp(-d_i . b) + d_i . b) + (SHRINKAGE / 2) |b|^2        (the constant is not shrunk)

The expected Hessian D'D + SHRINKAGE is the same for all columns and steps, so that a scoring step costs two
products with D. With few rows or heavy tails the actual Hessian may differ much; columns that have not
converged continue with Newton steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from plaggm.array_types import Array

# Prior precision of the slopes, in samples.
SHRINKAGE = 5.0
# Largest step of a slope at which the regressions end, and largest numbers of scoring and Newton steps.
TOLERANCE = 1e-5
SCORING_STEPS, NEWTON_STEPS = 40, 25


@dataclass(frozen=True, slots=True)
class GammaRegressions:
    """Gamma regressions on the same functions.

    Attributes
    ----------
    design : ndarray of shape (n, k)
        The constant first.
    factor : ndarray of shape (k, k)
        Upper Cholesky factor of the expected Hessian.
    """

    design: Array
    factor: Array

    @classmethod
    def on(cls, design: Array) -> GammaRegressions:
        """Regressions on these functions (n, k), the constant first."""
        hessian = design.T @ design + _penalty(design.shape[1])
        return cls(design, np.asarray(cho_factor(hessian)[0]))

    def slopes(self, energy: Array, start: Array | None = None) -> Array:
        """Slopes of every column.

        Parameters
        ----------
        energy : ndarray of shape (n, p)
            Squares.
        start : ndarray of shape (k, p), optional
            Slopes to start from; if absent, those of constant variances.

        Returns
        -------
        ndarray of shape (k, p)

        Examples
        --------
        >>> rows = np.repeat([[1.0, 0.0], [1.0, 1.0]], 500, axis=0)
        >>> energy = np.repeat([[1.0], [4.0]], 500, axis=0)
        >>> GammaRegressions.on(rows).slopes(energy).ravel().round(2)
        array([0.01, 1.36])
        """
        energy = np.maximum(energy, np.finfo(float).tiny)
        if start is None:
            start = np.zeros((self.design.shape[1], energy.shape[1]))
            start[0] = np.log(energy.mean(axis=0))
        slopes = np.array(start)
        penalty, counts = _penalty(len(slopes)), np.ones(len(energy))
        left = np.arange(energy.shape[1])
        for _ in range(SCORING_STEPS):
            ratio = energy[:, left] * np.exp(-self.design @ slopes[:, left])
            gradient = self.design.T @ (1.0 - ratio) + penalty @ slopes[:, left]
            step = cho_solve((self.factor, False), gradient)
            slopes[:, left] -= _limited(step)
            left = left[np.abs(step).max(axis=0) >= TOLERANCE]
            if not len(left):
                return slopes
        for column in left:
            slopes[:, column] = newton_slopes(
                self.design, energy[:, column], slopes[:, column], penalty, counts, TOLERANCE
            )
        return slopes


def newton_slopes(
    design: Array, energy: Array, slopes: Array, penalty: Array, counts: Array, tolerance: float
) -> Array:
    """Slopes of one column by steps with the actual Hessian: shape (k,).

    Parameters
    ----------
    design : ndarray of shape (n, k)
    energy : ndarray of shape (n,)
        Squares, or means of several squares.
    slopes : ndarray of shape (k,)
        Slopes to begin with.
    penalty : ndarray of shape (k, k)
        Prior precision of the slopes.
    counts : ndarray of shape (n,)
        Number of squares in each mean.
    tolerance : float
        Largest step of a slope at which the regression ends.
    """
    for _ in range(NEWTON_STEPS):
        ratio = energy * np.exp(-design @ slopes)
        gradient = design.T @ (counts * (1.0 - ratio)) + penalty @ slopes
        hessian = (design * (counts * ratio)[:, None]).T @ design + penalty
        step: Array = np.linalg.solve(hessian, gradient).astype(np.float64, copy=False)
        slopes = slopes - _limited(step)
        if np.abs(step).max() < tolerance:
            break
    return slopes


def _penalty(size: int) -> Array:
    """Prior precision of the slopes, none for the constant: shape (size, size)."""
    penalty = SHRINKAGE * np.eye(size)
    penalty[0, 0] = 0.0
    return penalty


def _limited(step: Array) -> Array:
    """A step of at most one unit of log-variance for each column: steps far from the optimum overshoot."""
    return np.asarray(step / np.maximum(1.0, np.abs(step).max(axis=0)))
