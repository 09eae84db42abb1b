"""Robust location and spread of columns, optionally along functions of a confounder.

The location is Huber's regression on the functions. The logarithm of the spread is a least-squares
regression of log |residual|, on which single outliers have little influence. Both are then shifted so that
standardised values have the median and the median absolute value of a standard normal distribution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array

# Median absolute value of a standard normal.
NORMAL_MEDIAN = 0.6744897501960817
# Huber's constant with an efficiency of 95 % under normality.
HUBER = 1.345
# Largest number of reweighting steps, and the change of the location in spreads at which they end.
ROUNDS, SETTLED = 50, 1e-6
# Smaller residuals, in units of the median absolute residual, are clipped before taking logarithms.
SMALLEST = 0.1


@dataclass(frozen=True, slots=True)
class RobustMoments:
    """Location and log spread of p columns as combinations of functions, the first of them constant.

    Attributes
    ----------
    location : ndarray of shape (1 + M, p)
    log_spread : ndarray of shape (1 + M, p)
        Infinite in the first row for columns without spread, in which more than half of the values are
        equal.
    """

    location: Array
    log_spread: Array

    def standardised(self, x: Array, functions: Array) -> Array:
        """Columns minus their location, in units of their spread: shape (n, p).

        Parameters
        ----------
        x : ndarray of shape (n, p)
        functions : ndarray of shape (n, 1 + M)
        """
        return np.asarray((x - functions @ self.location) / self._spread(functions))

    def pulled_in(self, x: Array, functions: Array, limit: float) -> Array:
        """Columns with values clipped at ``limit`` spreads from their location: shape (n, p)."""
        centre = functions @ self.location
        reach = limit * self._spread(functions)
        return np.clip(x, centre - reach, centre + reach)

    def _spread(self, functions: Array) -> Array:
        lacking = np.isinf(self.log_spread[0])
        spread = np.exp(functions @ np.where(lacking, 0.0, self.log_spread))
        spread[:, lacking] = np.inf
        return np.asarray(spread)


def robust_moments(x: Array, functions: Array) -> RobustMoments:
    """Location and log spread of columns along functions of the confounder.

    Parameters
    ----------
    x : ndarray of shape (n, p)
        Not finite for missing values.
    functions : ndarray of shape (n, 1 + M)
        The first column is one.

    Returns
    -------
    RobustMoments

    Examples
    --------
    >>> x = np.array([[1.0], [2.0], [3.0], [4.0], [1000.0]])
    >>> found = robust_moments(x, np.ones((5, 1)))
    >>> found.location, np.exp(found.log_spread).round(3)
    (array([[3.]]), array([[1.483]]))
    """
    size, p = functions.shape[1], x.shape[1]
    location, log_spread = np.zeros((size, p)), np.zeros((size, p))
    for j in range(p):
        known = np.isfinite(x[:, j])
        location[:, j], log_spread[:, j] = _column_moments(x[known, j], functions[known])
    return RobustMoments(location, log_spread)


def robust_spread(x: Array) -> tuple[Array, Array]:
    """Median of every column and normal-consistent median absolute deviation: two arrays of shape (p,).

    If the latter is zero, because more than half of the values are equal, the spread is the
    normal-consistent mean absolute deviation. Values that are not finite are ignored.
    """
    centre, spread = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    for j, column in enumerate(x.T):
        values = column[np.isfinite(column)]
        if not values.size:
            continue
        centre[j] = np.median(values)
        distance = np.abs(values - centre[j])
        spread[j] = np.median(distance) / NORMAL_MEDIAN
        if spread[j] == 0.0:
            spread[j] = np.sqrt(0.5 * np.pi) * distance.mean()
    return centre, spread


def _column_moments(y: Array, functions: Array) -> tuple[Array, Array]:
    """Coefficients of the location and of the log spread of one column."""
    location = _huber_regression(y, functions)
    residual = y - functions @ location
    typical = np.median(np.abs(residual))
    log_spread = np.zeros(functions.shape[1])
    if typical == 0.0:
        log_spread[0] = np.inf
        return location, log_spread
    if functions.shape[1] > 1:
        sizes = np.log(np.maximum(np.abs(residual), SMALLEST * typical))
        log_spread = np.linalg.lstsq(functions, sizes, rcond=None)[0]
    spread = np.exp(functions @ log_spread)
    centre = np.median(residual / spread)
    left = np.median(np.abs(residual / spread - centre))
    if left == 0.0:
        return location, np.concatenate([[np.inf], np.zeros(functions.shape[1] - 1)])
    location[0] += centre * np.median(spread)
    log_spread[0] += np.log(left / NORMAL_MEDIAN)
    return location, log_spread


def _huber_regression(y: Array, functions: Array) -> Array:
    """Coefficients of Huber's regression, whose loss is linear beyond ``HUBER`` spreads."""
    coefficients = np.zeros(functions.shape[1])
    coefficients[0] = np.median(y)
    if functions.shape[1] == 1:
        return coefficients
    for _ in range(ROUNDS):
        residual = y - functions @ coefficients
        spread = np.median(np.abs(residual)) / NORMAL_MEDIAN
        if spread == 0.0:
            break
        weight = np.sqrt(HUBER / np.maximum(np.abs(residual) / spread, HUBER))
        step = np.linalg.lstsq(functions * weight[:, None], residual * weight, rcond=None)[0]
        coefficients = coefficients + step
        if np.max(np.abs(functions @ step)) <= SETTLED * spread:
            break
    return coefficients
