r"""Does the network change with the confounder at all? A test of R = 0 off the diagonal.

Under the null hypothesis the correlations between the variables, and with them their partial correlations,
are the same at every g; means and variances may move with g, each variable's in its own way. So every
column is first freed of its mean and its scale along g. What is left, z, has the correlations r, and

    h_i[jk] = z_ij z_ik - r_jk (z_ij^2 + z_ik^2) / 2        (the influence of row i on r_jk)

has mean zero whatever the scale of row i. With functions f_a of g, centred over the rows, the statistic

    U = sum_a sum_{j<k} (sum_i f_a(g_i) h_i[jk])^2 - sum_i |f(g_i)|^2 |h_i|^2 = sum_{i != l} A_il,
    A_il = (f_i . f_l) (h_i . h_l)

has mean zero and, rows being independent, the cumulants 2 sum A_il^2 and 8 tr(A^3), without the diagonal:
those of a weighted sum of chi-squares, which a shifted gamma variable with the same three cumulants
replaces. None of this asks for Gaussian data, and h_i . h_l costs O(p) by the products of z_i and z_l.

Taking the mean off correlates rows: with Q the projection, E[h_i . h_l] = Q_il^2 E|h|^2 for Gaussian rows.
Estimating r shortens |h_i|^2 by O(1 / n). Both are taken off U; sums over p^2 / 2 pairs would show them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import gamma, norm, rankdata

from plaggm.array_types import Array, Index
from plaggm.core.profile.spline import demmler_reinsch
from plaggm.core.spline_basis import spline_basis
from plaggm.core.threads import single_threaded_blas

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
# Rows from which the cumulants are estimated; the statistic itself is of all rows.
CUMULANT_ROWS = 800
# Part of a row's noise that the mean leaves in it, below which its residual is not enlarged any further.
LEAST_KEPT = 0.05
# Mean square of a standardised row to which rows farther out are pulled back: heavy tails must not decide.
FARTHEST = 2.0
# Prior precision of the slopes of the log-variance, in samples.
SHRINKAGE = 5.0
NEWTON_STEPS = 25
# Skewness below which the null distribution is taken as normal.
SYMMETRIC = 1e-3


class UntestableError(ValueError):
    """Too few samples, in all or beyond the threshold, for a test."""


@dataclass(frozen=True, slots=True)
class ConfoundingTest:
    """Result of a test of no confounding.

    Attributes
    ----------
    statistic : float
        U in standard deviations of its distribution under the null hypothesis.
    p_value : float
    degrees_of_freedom : float
        Degrees of freedom of the chi-square variable whose shape this distribution has; NaN where
        it is that of rearranged confounders.
    method : str
        ``"cumulants"``, ``"permutations"`` or ``"circular shifts"``.
    n_rearranged : int
        Rearranged confounders that the statistic was compared with; zero for cumulants.
    """

    statistic: float
    p_value: float
    degrees_of_freedom: float
    method: str = "cumulants"
    n_rearranged: int = 0


def confounding_test(z: Array, confounder: Array, threshold: Array) -> ConfoundingTest:
    """Test whether the correlations of the variables change with the confounders beyond a threshold.

    Parameters
    ----------
    z : ndarray of shape (n, p)
        Variables, in any units.
    confounder : ndarray of shape (n, m)
    threshold : ndarray of shape (m,)

    Returns
    -------
    ConfoundingTest

    Raises
    ------
    UntestableError
        Where there are too few samples, in all or beyond the threshold.
    """
    with single_threaded_blas():
        functions = testable_functions(confounder, threshold)
        standard, projection = standardized_rows(z, confounder, threshold, functions)
        influence = RowInfluence.of(standard)
        value = energy_excess(influence, projection, functions)
        second, third = null_cumulants(influence, functions)
    return judge(value, second, third)


def energy_excess(influence: RowInfluence, projection: Array, functions: Array) -> float:
    """U: what the squared changes of all correlations along the functions exceed their expectation by.

    Parameters
    ----------
    influence : RowInfluence
        Of standardised rows.
    projection : ndarray of shape (n, k)
        See :func:`projection_offset`.
    functions : ndarray of shape (n, M)
    """
    squares, lost = influence.squares()
    weight = np.sum(functions**2, axis=1)
    # Rows on which the mean leans most matter most, and their influences are the smallest.
    typical = np.average(squares, weights=weight * np.sum(projection**2, axis=1))
    offset = projection_offset(projection, functions) * float(typical)
    own = float(np.sum(weight * (squares + lost)))
    return influence.total_energy(functions) - own - offset


def judge(value: float, second: float, third: float) -> ConfoundingTest:
    """Upper tail of a shifted gamma variable of mean zero with two further cumulants."""
    statistic = value / np.sqrt(second) if second > 0.0 else 0.0
    skewness = third / second**1.5 if second > 0.0 else 0.0
    if skewness < SYMMETRIC:
        return ConfoundingTest(float(statistic), float(norm.sf(statistic)), np.inf)
    shape = 4.0 / skewness**2
    p_value = float(gamma.sf(shape + statistic * np.sqrt(shape), shape))
    return ConfoundingTest(float(statistic), p_value, 2.0 * shape)


@dataclass(frozen=True, slots=True)
class RowInfluence:
    """The influences h_i of some rows, by their products rather than one by one.

    Attributes
    ----------
    z : ndarray of shape (n, p)
        Columns of unit mean square.
    correlation : ndarray of shape (p, p)
        r, zero on the diagonal.
    """

    z: Array
    correlation: Array

    @classmethod
    def of(cls, z: Array) -> RowInfluence:
        """Influences on the correlations of these rows."""
        correlation = z.T @ z / len(z)
        np.fill_diagonal(correlation, 0.0)
        return cls(z, correlation)

    def take(self, index: Index) -> RowInfluence:
        """Of some rows, on the same correlations."""
        return RowInfluence(self.z[index], self.correlation)

    def total_energy(self, functions: Array) -> float:
        """Sum over functions and pairs of (sum_i f_a(g_i) h_i[jk])^2."""
        total = 0.0
        for function in functions.T:
            sums = (self.z * function[:, None]).T @ self.z
            own = np.diagonal(sums)
            sums = sums - 0.5 * self.correlation * (own[:, None] + own)
            total += float(np.sum(np.triu(sums, 1) ** 2))
        return total

    def squares(self) -> tuple[Array, Array]:
        """|h_i|^2 of every row, and what the estimated correlations take off its expectation.

        With r = mean of its influences, h_i[jk] moves by -(q_ij + q_ik) / 2 times that mean (q = z^2), to
        which row i itself contributes h_i[jk] / n: the square loses (q_ij + q_ik) h_i[jk]^2 / n and gains
        (q_ij + q_ik)^2 / 4 times the variance of r_jk.

        Returns
        -------
        squares, lost : ndarray of shape (n,)
        """
        z, energy, n = self.z, self.z**2, len(self.z)
        r, squared = self.correlation, self.correlation**2
        # Sum of h_i[jk]^2 over k for every row and node.
        by_node = energy * (energy.sum(axis=1, keepdims=True) - energy)
        by_node -= z * (energy * (z @ r) + (z * energy) @ r)
        by_node += 0.25 * (
            energy**2 * squared.sum(axis=1)
            + 2.0 * energy * (energy @ squared)
            + energy**2 @ squared
        )
        # The variances of the correlations, times n.
        fourth = np.mean(energy**2, axis=0)
        turned = (z * energy).T @ z / n
        shared = energy.T @ energy / n
        spread = shared - r * (turned + turned.T)
        spread += 0.25 * squared * (fourth[:, None] + fourth + 2.0 * shared)
        np.fill_diagonal(spread, 0.0)
        gain = energy**2 @ spread.sum(axis=1) + np.sum(energy * (energy @ spread), axis=1)
        lost = (np.sum(energy * by_node, axis=1) - 0.25 * gain) / n
        return 0.5 * by_node.sum(axis=1), lost

    def products(self) -> Array:
        """h_i . h_l of all pairs of rows: shape (n, n)."""
        z, energy = self.z, self.z**2
        squared = self.correlation**2
        mixed = energy @ (z * (z @ self.correlation)).T
        shared = (energy * squared.sum(axis=1) + energy @ squared) @ energy.T
        products: Array = (
            0.5 * ((z @ z.T) ** 2 - energy @ energy.T - mixed - mixed.T) + 0.25 * shared
        )
        return products


def null_cumulants(influence: RowInfluence, functions: Array) -> tuple[float, float]:
    """Second and third cumulant of U, from evenly spaced rows where there are many.

    Influences are freed of their own means along the functions first: where the network does change,
    these would be taken for noise and hide the change.
    """
    n = len(functions)
    index = np.unique(np.linspace(0, n - 1, min(n, CUMULANT_ROWS)).round().astype(np.intp))
    some, rows = functions[index], len(index)
    a = centred_products(influence.take(index).products(), some) * (some @ some.T)
    pairs = n * (n - 1) / (rows * (rows - 1))
    triples = pairs * (n - 2) / max(rows - 2, 1)
    return 2.0 * float(np.sum(a * a)) * pairs, 8.0 * float(np.sum((a @ a) * a)) * triples


def centred_products(products: Array, functions: Array) -> Array:
    """Products of different rows, their regression on the constant and some functions taken off.

    Residuals of a regression are correlated, by the rows' own squares. So these are left out before, and
    the products of rows that have no mean keep theirs, zero.

    Parameters
    ----------
    products : ndarray of shape (n, n)
        h_i . h_l.
    functions : ndarray of shape (n, M)

    Returns
    -------
    ndarray of shape (n, n)
        Zero on the diagonal.
    """
    basis, _ = np.linalg.qr(np.column_stack([np.ones(len(functions)), functions]))
    left = products - np.diag(np.diagonal(products))
    left -= basis @ (basis.T @ left)
    left -= (left @ basis) @ basis.T
    # Residuals are too small as well.
    kept = np.sqrt(np.maximum(1.0 - np.sum(basis**2, axis=1), LEAST_KEPT))
    left /= kept[:, None] * kept
    np.fill_diagonal(left, 0.0)
    return left


def projection_offset(projection: Array, functions: Array) -> float:
    """Sum of (f_i . f_l) Q_il^2 over different rows, Q the projection on the mean's functions.

    Parameters
    ----------
    projection : ndarray of shape (n, k)
        Q = projection @ projection.T, rows divided by the root of what the mean leaves of them.
    functions : ndarray of shape (n, M)
    """
    total = sum(
        float(np.sum(((projection * function[:, None]).T @ projection) ** 2))
        for function in functions.T
    )
    leverage = np.sum(projection**2, axis=1)
    return total - float(np.sum(np.sum(functions**2, axis=1) * leverage**2))


def standardized_rows(
    z: Array, confounder: Array, threshold: Array, functions: Array
) -> tuple[Array, Array]:
    """Free every column of its mean and its scale along the confounders.

    The logarithmic variances follow the test's own functions, and ramps in the confounder's units. What
    they miss costs nothing but power, since influences have mean zero whatever the scale.

    Returns
    -------
    standard : ndarray of shape (n, p)
        Columns of unit mean square.
    projection : ndarray of shape (n, k)
        See :func:`projection_offset`.
    """
    ramps = spline_basis(confounder, threshold, functions=2, degree=1).evaluate(confounder)
    design = np.column_stack([np.ones(len(z)), functions, ramps])
    moving = mean_functions(confounder, threshold)
    if FEWEST_ROWS * moving.shape[1] > len(z):
        raise UntestableError(
            f"{len(z)} samples are too few to test {confounder.shape[1]} confounder(s): their "
            f"{moving.shape[1]} functions need {FEWEST_ROWS} times as many."
        )
    root = np.ones((len(z), 1))
    # Noisy rows would spread their noise over all residuals: the second mean is a weighted one.
    for _ in range(2):
        basis, _ = np.linalg.qr(moving / root)
        kept = np.sqrt(np.maximum(1.0 - np.sum(basis**2, axis=1), LEAST_KEPT))[:, None]
        weighted = z / root
        residual = (weighted - basis @ (basis.T @ weighted)) / kept
        variances = column_variances(design, residual**2)
        common = np.mean(np.log(variances), axis=1, keepdims=True)
        root = root * np.exp(0.5 * (common - common.mean()))
    standard = residual / np.sqrt(variances)
    size = np.mean(standard**2, axis=1, keepdims=True)
    standard = standard / np.sqrt(np.maximum(size / FARTHEST, 1.0))
    spread = np.sqrt(np.mean(standard**2, axis=0))
    return standard / np.maximum(spread, np.finfo(float).tiny), basis / kept


def testable_functions(confounder: Array, threshold: Array) -> Array:
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
    """As many functions for each side as the rows can bear, at most those asked for."""
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
    size = design.shape[1]
    energy = np.maximum(energy, np.finfo(float).tiny)
    first, second = np.triu_indices(size)
    products = design[:, first] * design[:, second]
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
