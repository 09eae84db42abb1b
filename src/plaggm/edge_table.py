"""Tests of all pairs of variables, the declared edges, and the sample sizes that candidates would need."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from plaggm.array_types import Array, Index, Mask

# Number of pairs that are shown as candidates if no edge is declared.
CANDIDATES = 5
# Power at the number of samples that a candidate would need.
POWER = 0.8
# Diagnostic of a result that holds the degrees of freedom of the standard errors.
EDGE_DEGREES = "edge_degrees_of_freedom"


@dataclass(frozen=True, slots=True, eq=False)
class EdgeTable:
    """A test of every pair of p variables.

    All arrays have shape (P,) with P = p (p - 1) / 2: the pairs j < k, row after row.

    Attributes
    ----------
    estimate : ndarray
        Unpenalised partial correlations in the baseline network Ω0; zero where no row observes both
        variables.
    standard_error : ndarray
        Infinite where no row observes both variables.
    low, high : ndarray
        Ends of 95 % intervals.
    z : ndarray
        Test statistics.
    p_value : ndarray
        Two-sided, of no edge.
    q_value : ndarray
        Smallest false discovery rate at which Benjamini and Hochberg's rule declares the edge.
    change_p_value, change_q_value : ndarray, optional
        P- and q-values of the hypothesis of no difference between the estimates without and with
        adjustment.
    dispersion : float
        Factor of the sampling variances because of heavy tails, at least one. Results keep it among their
        diagnostics.
    degrees_of_freedom : float
        Degrees of freedom of the standard errors, which may be infinite. Results keep them among their
        diagnostics.

    Examples
    --------
    >>> numbers = dict(standard_error=0.1, low=-0.1, high=0.5, z=2.0, p_value=0.05, q_value=0.1)
    >>> table = EdgeTable(np.array([0.3]), **{key: np.array([v]) for key, v in numbers.items()})
    >>> table.declared(0.05), table.declared(0.2)
    (array([False]), array([ True]))
    """

    estimate: Array
    standard_error: Array
    low: Array
    high: Array
    z: Array
    p_value: Array
    q_value: Array
    change_p_value: Array | None = None
    change_q_value: Array | None = None
    dispersion: float = 1.0
    degrees_of_freedom: float = float("inf")

    def __post_init__(self) -> None:
        shape = (len(self.estimate),)
        for name, array in self.arrays().items():
            if array.shape != shape:
                raise ValueError(f"{name} must have shape {shape}; got {array.shape}.")
        if (self.change_p_value is None) != (self.change_q_value is None):
            raise ValueError("change_p_value and change_q_value must be given together.")
        if np.any(self.p_value[np.isinf(self.standard_error)] < 1.0):
            raise ValueError("The p-value of a pair with an infinite standard error must be one.")

    def arrays(self) -> dict[str, Array]:
        """The arrays that are not None, by name."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: array for name, array in found.items() if isinstance(array, np.ndarray)}

    def frame(self, names: tuple[str, ...]) -> pd.DataFrame:
        """One row for each pair: source, target and the arrays as columns."""
        j, k = np.triu_indices(len(names), 1)
        labels = np.array(names, dtype=object)
        return pd.DataFrame({"source": labels[j], "target": labels[k], **self.arrays()})

    def declared(self, fdr: float) -> Mask:
        """Which pairs are edges at a false discovery rate: shape (P,)."""
        return self.q_value <= fdr

    def unobserved(self) -> list[tuple[int, int]]:
        """Pairs of variables that no row observes together, so that no test is possible."""
        found = np.argwhere(np.triu(square(np.isinf(self.standard_error))))
        return [(int(j), int(k)) for j, k in found]

    def network(self, fdr: float) -> Array:
        """Estimates of the declared edges, zero elsewhere: shape (p, p)."""
        return square(np.where(self.declared(fdr), self.estimate, 0.0))

    def changed(self, fdr: float) -> Mask | None:
        """Which pairs adjusting changes at a false discovery rate: shape (P,); None if untested."""
        return None if self.change_q_value is None else self.change_q_value <= fdr

    def candidates(self, most: int = CANDIDATES) -> Index:
        """Positions of the pairs with the smallest p-values, smallest first; ties by the size of z."""
        order = np.lexsort((-np.abs(self.estimate), -np.abs(self.z), self.p_value))
        return order[:most]

    def candidate_network(self) -> Array:
        """Estimates of the candidates, zero elsewhere: shape (p, p)."""
        values = np.zeros_like(self.estimate)
        chosen = self.candidates()
        values[chosen] = self.estimate[chosen]
        return square(values)

    def samples_needed(self, pair: int, n: float, fdr: float) -> float:
        """Number of samples with which a pair would be declared an edge, if its estimate were the truth.

        By Benjamini and Hochberg's rule, the r-th of P pairs by p-value is declared if its p-value is at
        most r fdr / P.

        Parameters
        ----------
        pair : int
        n : float
            Number of samples of these tests.
        fdr : float

        Returns
        -------
        float
            See :func:`samples_needed`.
        """
        rank = 1 + int(np.count_nonzero(self.p_value < self.p_value[pair]))
        limit = min(rank * fdr / len(self.p_value), fdr)
        # z rather than estimate and standard error, since it accounts for few degrees of freedom.
        return samples_needed(float(self.z[pair]), 1.0, n, limit)


def edge_frame(
    names: tuple[str, ...],
    network: Array,
    scale: Array,
    tests: EdgeTable | None = None,
    stability: Array | None = None,
    *,
    gaussian: bool = True,
) -> pd.DataFrame:
    """The edges of a network, strongest first; see :meth:`GraphResult.edges`.

    Parameters
    ----------
    names : tuple of p str
    network : ndarray of shape (p, p)
        Partial correlations of the edges, zero elsewhere; the diagonal is not used.
    scale : ndarray of shape (p,)
    tests : EdgeTable, optional
    stability : ndarray of shape (p, p), optional
    gaussian : bool
        Whether all variables are Gaussian; otherwise the table has the coefficient in the natural parameter
        in place of the entry of the precision matrix.
    """
    j, k = np.nonzero(np.triu(network, 1))
    order = np.argsort(-np.abs(network[j, k]), kind="stable")
    j, k = j[order], k[order]
    columns: dict[str, Any] = {
        "source": [names[a] for a in j],
        "target": [names[b] for b in k],
        "partial_correlation": network[j, k],
        "weight": network[j, k],
    }
    natural = network[j, k] / (scale[j] * scale[k])
    columns |= {"precision": -natural} if gaussian else {"coefficient": natural}
    if tests is not None:
        columns |= {name: square(array)[j, k] for name, array in tests.arrays().items()}
    if stability is not None:
        columns["stability"] = stability[j, k]
    return pd.DataFrame(columns)


def samples_needed(estimate: float, standard_error: float, n: float, limit: float) -> float:
    """Number of samples with which a two-sided test at a level would find an estimate.

    With the estimate as the truth and a standard error that falls with the root of n,
    ``n' = n ((u(1 - limit / 2) + u(.8)) standard_error / estimate)²``, u being quantiles of the
    standard normal distribution.

    Parameters
    ----------
    estimate, standard_error : float
        Estimate and standard error from n samples.
    n : float
    limit : float
        Level of the test.

    Returns
    -------
    float
        Number of samples, at least n; infinite for an estimate of zero.

    Examples
    --------
    >>> round(samples_needed(0.1, 0.05, 400, 0.05))
    785
    """
    if estimate == 0.0:
        return float("inf")
    needed = float(-ndtri(0.5 * limit) + ndtri(POWER)) * standard_error / abs(estimate)
    return n * max(needed**2, 1.0)


def square(values: NDArray[Any]) -> NDArray[Any]:
    """A symmetric matrix of pairs, shape (P,) to (p, p), with zeros on the diagonal.

    Examples
    --------
    >>> square(np.array([1.0, 2.0, 3.0]))
    array([[0., 1., 2.],
           [1., 0., 3.],
           [2., 3., 0.]])
    """
    p = round(0.5 + np.sqrt(0.25 + 2.0 * len(values)))
    out = np.zeros((p, p), dtype=values.dtype)
    j, k = np.triu_indices(p, 1)
    out[j, k] = out[k, j] = values
    return out
