r"""A test of no confounding, R = 0 off the diagonal.

Under the null hypothesis the correlations between the variables, and hence their partial correlations, are
the same at every g; the mean and the variance of every variable may change with g. So every column is first
standardised by its mean and scale along g. The result, z, has correlations r, and

    h_i[jk] = z_ij z_ik - r_jk (z_ij^2 + z_ik^2) / 2        (the influence of row i on r_jk)

has mean zero whatever the scale of row i. With functions f_a of g, centred over the rows, the statistic

    U = sum_a sum_{j<k} (sum_i f_a(g_i) h_i[jk])^2 - sum_i |f(g_i)|^2 |h_i|^2 = sum_{i != l} A_il,
    A_il = (f_i . f_l) (h_i . h_l)

has mean zero and, for independent rows, the cumulants 2 sum A_il^2 and 8 tr(A^3) of A with a zero diagonal.
They are those of a weighted sum of chi-squares, which is approximated by a shifted gamma distribution with
the same three cumulants. The data need not be Gaussian. Products of z_i and z_l give h_i . h_l in O(p).

Subtracting means correlates the rows: with Q the projection, E[h_i . h_l] = Q_il^2 E|h|^2 for Gaussian
rows. Estimating r reduces |h_i|^2 by O(1 / n). U is corrected for both, since they add up over all pairs.

If only one of several confounders matters, its effect would be lost in the sum over all functions. So U is
also computed for the functions of each confounder alone, and all p-values are combined by the Cauchy
combination (Liu and Xie, 2020), which is valid for dependent tests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import cauchy, gamma, norm

from plaggm.array_types import Array, Index
from plaggm.core.confounding.rows import (
    LEAST_LEFT,
    TestedFunctions,
    functions_to_test,
    row_functions,
    standardized_rows,
)
from plaggm.core.numerics.threads import single_threaded_blas

# Largest numbers of rows from which the cumulants and the offset of the projection are estimated.
CUMULANT_ROWS = 800
OFFSET_ROWS = 2000
# Larger p-values are clipped before they are combined: a p-value of one would outweigh any small one.
LARGEST = 0.99
# Skewness below which the null distribution is approximated by a normal one.
SYMMETRIC = 1e-3


@dataclass(frozen=True, slots=True)
class ConfoundingTest:
    """Result of a test of no confounding.

    Attributes
    ----------
    statistic : float
        U in standard deviations of its null distribution; with several confounders the most significant of
        the statistics of each and of all together.
    p_value : float
    degrees_of_freedom : float
        Degrees of freedom of the chi-square distribution of the same shape; NaN if the null distribution is
        that of rearranged confounders or flipped signs.
    method : str
        ``"cumulants"``, ``"permutations"``, ``"circular shifts"``, ``"exchange between groups"``,
        ``"exchange between runs"``, ``"permutations within groups"`` or, for other families,
        ``"sign flips"``.
    n_rearranged : int
        Number of rearranged confounders, or draws of signs; zero for cumulants.
    leading_row, leading_column : int or None
        The most influential row and its most influential variable, if a few rows dominate the statistic.
    """

    statistic: float
    p_value: float
    degrees_of_freedom: float
    method: str = "cumulants"
    n_rearranged: int = 0
    leading_row: int | None = None
    leading_column: int | None = None


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
        With too few samples in total or beyond the threshold.
    """
    with single_threaded_blas():
        functions = functions_to_test(confounder, threshold)
        known = row_functions(confounder, threshold, functions)
        standard, projection = standardized_rows(z, known)
        influence = RowInfluence.of(standard)
        values = energy_excess(influence, projection, functions)
        found = [
            judge(float(np.sum(values[one])), *cumulants)
            for one, cumulants in zip(
                functions.sets(), null_cumulants(influence, functions), strict=True
            )
            if len(one)
        ]
    least = min(found, key=lambda one: one.p_value)
    return replace(least, p_value=combined_p_value(np.array([one.p_value for one in found])))


def combined_p_value(p_values: Array) -> float:
    """Cauchy combination of the p-values of several tests of the same hypothesis, which may be dependent.

    Examples
    --------
    >>> round(combined_p_value(np.array([0.03])), 6)
    0.03
    >>> round(combined_p_value(np.array([0.001, 0.5, 0.5])), 6)
    0.003
    """
    if len(p_values) == 1:
        return float(p_values[0])
    tiny = np.finfo(float).tiny
    return float(cauchy.sf(np.mean(cauchy.isf(np.clip(p_values, tiny, LARGEST)))))


def energy_excess(influence: RowInfluence, projection: Array, functions: TestedFunctions) -> Array:
    """U of every function: squared changes of the correlations along it minus their null expectation.

    Parameters
    ----------
    influence : RowInfluence
        Influences of standardised rows.
    projection : ndarray of shape (n, k)
        See :func:`projection_offset`.
    functions : TestedFunctions

    Returns
    -------
    ndarray of shape (M,)
    """
    squares, lost = influence.squares()
    weight = functions.values**2
    # The expectation of |h|^2 that multiplies the offset, weighted by the rows' leverages.
    leverage = np.sum(projection**2, axis=1)
    typical = float(np.average(squares, weights=weight.sum(axis=1) * leverage))
    offset = projection_offset(projection, functions.values) * typical
    return influence.energies(functions.values) - (squares + lost) @ weight - offset


def judge(value: float, second: float, third: float) -> ConfoundingTest:
    """Test of a statistic with mean zero and two further cumulants, by a shifted gamma distribution."""
    statistic = value / np.sqrt(second) if second > 0.0 else 0.0
    skewness = third / second**1.5 if second > 0.0 else 0.0
    if skewness < SYMMETRIC:
        return ConfoundingTest(float(statistic), float(norm.sf(statistic)), np.inf)
    shape = 4.0 / skewness**2
    p_value = float(gamma.sf(shape + statistic * np.sqrt(shape), shape))
    return ConfoundingTest(float(statistic), p_value, 2.0 * shape)


@dataclass(frozen=True, slots=True)
class RowInfluence:
    """The influences h_i of some rows, which are never formed.

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
        """Influences of some rows on the same correlations."""
        return RowInfluence(self.z[index], self.correlation)

    def energies(self, functions: Array) -> Array:
        """Sum over pairs of (sum_i f_a(g_i) h_i[jk])^2 for every function: shape (M,)."""
        found = np.empty(functions.shape[1])
        for number, function in enumerate(functions.T):
            sums = (self.z * function[:, None]).T @ self.z
            own = np.diagonal(sums)
            sums = sums - 0.5 * self.correlation * (own[:, None] + own)
            found[number] = np.sum(np.triu(sums, 1) ** 2)
        return found

    def squares(self) -> tuple[Array, Array]:
        """|h_i|^2 of every row, and the reduction of its expectation by estimating the correlations.

        An error of r_jk changes h_i[jk] by -(q_ij + q_ik) / 2 times that error, with q = z^2. Row i
        contributes h_i[jk] / n to the error, so that the square decreases by (q_ij + q_ik) h_i[jk]^2 / n on
        average, and increases by (q_ij + q_ik)^2 / 4 times the variance of r_jk.

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
        cubic = (z * energy).T @ z / n
        shared = energy.T @ energy / n
        spread = shared - r * (cubic + cubic.T)
        spread += 0.25 * squared * (fourth[:, None] + fourth + 2.0 * shared)
        np.fill_diagonal(spread, 0.0)
        gain = energy**2 @ spread.sum(axis=1) + np.sum(energy * (energy @ spread), axis=1)
        lost = (np.sum(energy * by_node, axis=1) - 0.25 * gain) / n
        return 0.5 * by_node.sum(axis=1), lost

    def leading(self) -> tuple[int, int]:
        """Row with the largest influence, and the column that contributes most to it."""
        row = int(np.argmax(self.squares()[0]))
        z = self.z[row]
        influence = np.outer(z, z) - 0.5 * self.correlation * (z[:, None] ** 2 + z**2)
        np.fill_diagonal(influence, 0.0)
        return row, int(np.argmax(np.sum(influence**2, axis=0)))

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


def null_cumulants(
    influence: RowInfluence, functions: TestedFunctions
) -> list[tuple[float, float]]:
    """Second and third cumulant of U, estimated from evenly spaced rows if there are many.

    Means of the influences along the functions are subtracted first: under the alternative they would be
    counted as noise.

    Returns
    -------
    list of (float, float)
        Cumulants of U summed over each of :meth:`TestedFunctions.sets`.
    """
    n = len(functions.values)
    index = evenly_spaced(n, CUMULANT_ROWS)
    some = functions.values[index]
    centred = centred_products(influence.take(index).products(), some)
    return [
        product_cumulants(centred * (some[:, one] @ some[:, one].T), n) for one in functions.sets()
    ]


def product_cumulants(products: Array, n: int) -> tuple[float, float]:
    """Second and third cumulant of the sum of A_il over n rows, estimated from some of the rows.

    Parameters
    ----------
    products : ndarray of shape (k, k)
        A_il of these rows, zero on the diagonal.
    n : int
    """
    k = len(products)
    pairs = n * (n - 1) / (k * (k - 1))
    triples = pairs * (n - 2) / max(k - 2, 1)
    second, third = float(np.sum(products**2)), float(np.sum((products @ products) * products))
    return 2.0 * second * pairs, 8.0 * third * triples


def evenly_spaced(n: int, most: int) -> Index:
    """Numbers of at most ``most`` evenly spaced rows out of n."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))


def centred_products(products: Array, functions: Array) -> Array:
    """Products of different rows after regressing the rows on the constant and some functions.

    The diagonal is set to zero before, so that the squared rows do not enter the products of the residuals.

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
    # Residuals are divided by the root of one minus their leverage.
    root = np.sqrt(np.maximum(1.0 - np.sum(basis**2, axis=1), LEAST_LEFT))
    left /= root[:, None] * root
    np.fill_diagonal(left, 0.0)
    return left


def projection_offset(projection: Array, functions: Array) -> Array:
    """Sum of f_i f_l Q_il^2 over different rows for every function f, from evenly spaced rows if many.

    Parameters
    ----------
    projection : ndarray of shape (n, k)
        Orthonormal basis of the functions of the mean, rows divided by the root of one minus their
        leverage: Q = projection @ projection.T.
    functions : ndarray of shape (n, M)

    Returns
    -------
    ndarray of shape (M,)
    """
    n = len(projection)
    index = evenly_spaced(n, OFFSET_ROWS)
    rows, projection, functions = len(index), projection[index], functions[index]
    total = np.array(
        [np.sum(((projection * one[:, None]).T @ projection) ** 2) for one in functions.T]
    )
    leverage = np.sum(projection**2, axis=1)
    different = total - (leverage**2) @ functions**2
    return np.asarray(different * (n * (n - 1) / (rows * (rows - 1))))
