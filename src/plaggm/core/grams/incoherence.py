"""Assumption 4 of the paper, the incoherence condition for pairs without an edge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from plaggm.array_types import Array
from plaggm.core.grams.node_grams import GramMatrices, profile_intercepts


@dataclass(frozen=True, slots=True)
class Incoherence:
    r"""Assumption 4 evaluated for a network and a design.

    With H the Hessian of the loss over pairs, E the pairs with an edge and N those without:

    Attributes
    ----------
    norm : float
        :math:`\lVert H_{NE} H_{EE}^{-1} \rVert_\infty`; the assumption requires less than one. Zero if no
        pair or every pair is an edge, infinite if :math:`H_{EE}` is singular.
    with_signs : float
        :math:`\lVert H_{NE} H_{EE}^{-1} \mathrm{sign}(\Omega_E) \rVert_\infty`, never more than ``norm``.
        Without noise the lasso recovers exactly these edges and signs at some small penalty only if it is
        at most one.
    inverse_norm : float
        :math:`\lVert H_{EE}^{-1} \rVert_\infty`, the constant C2 of Theorem 1.
    smallest_edge : float
        Smallest absolute value of an edge.
    n_edges : int
    """

    norm: float
    with_signs: float
    inverse_norm: float
    smallest_edge: float
    n_edges: int

    @property
    def coefficient(self) -> float:
        """The paper's α: one minus the norm. Assumption 4 holds where it is positive."""
        return 1.0 - self.norm

    @property
    def holds(self) -> bool:
        """Whether Assumption 4 holds."""
        return self.norm < 1.0

    def __str__(self) -> str:
        """The result in plain language."""
        if not self.n_edges:
            return (
                "The network has no edges, so that there is nothing a pair could be mistaken for."
            )
        if np.isinf(self.norm):
            return (
                "Assumption 4 cannot be judged: the edges cannot be told from each other, since nothing or "
                "too little is left of some variables."
            )
        if self.holds:
            return (
                f"Assumption 4 holds with α = {self.coefficient:.2f}: no pair without edge resembles the "
                f"edges so much ({self.norm:.2f}, where less than 1 is asked for) that the lasso would "
                "have to take it for one. With enough samples it can find exactly the true edges."
            )
        if self.with_signs <= 1.0:
            return (
                f"Assumption 4 does not hold: some pair without edge resembles the edges too much "
                f"({self.norm:.2f}, where less than 1 is asked for). With the signs of these edges "
                f"({self.with_signs:.2f}, at most 1) the lasso can still find exactly the true edges."
            )
        return (
            f"Assumption 4 does not hold ({self.norm:.2f}, where less than 1 is asked for), nor does what "
            f"the signs of these edges need ({self.with_signs:.2f}, at most 1): some pair without edge so "
            "much resembles the edges that the lasso takes it for one at any number of samples, or loses "
            "an edge. Tests of edges do not depend on this."
        )


def pair_hessian(node_grams: GramMatrices) -> Array:
    """Hessian of the loss over the pairs j < k, with the intercepts minimised out.

    H[(j, k), (j, l)] = G_j[k, l], and the diagonal entry of a pair is the sum of those of both nodes.

    Returns
    -------
    ndarray of shape (P, P), P = p (p - 1) / 2
        Pairs in the order of ``numpy.triu_indices``.
    """
    p = node_grams.p
    centred = profile_intercepts(node_grams)
    number = np.zeros((p, p), dtype=np.intp)
    rows, columns = np.triu_indices(p, 1)
    number[rows, columns] = number[columns, rows] = np.arange(len(rows))
    hessian = np.zeros((len(rows), len(rows)))
    for j in range(p):
        others = np.delete(np.arange(p), j)
        pairs = number[j, others]
        hessian[np.ix_(pairs, pairs)] += centred.block(j, others)
    return hessian


def incoherence_of(node_grams: GramMatrices, omega: Array) -> Incoherence:
    r"""Assumption 4 for a network and the Gram matrices of the transformed data.

    The paper's S also contains the intercepts. They are not penalised, so that their columns of
    :math:`H_{NS} H_{SS}^{-1}` are multiplied by zero; the other columns do not change when intercepts are
    minimised out.

    Parameters
    ----------
    node_grams : GramMatrices
    omega : ndarray of shape (p, p)
        Network whose non-zero pairs are the edges; the diagonal is not read.

    Returns
    -------
    Incoherence
    """
    values = omega[np.triu_indices(node_grams.p, 1)]
    edge = values != 0.0
    smallest = float(np.abs(values[edge]).min()) if edge.any() else 0.0
    hessian = pair_hessian(node_grams)
    n_edges = int(np.count_nonzero(edge))
    if not n_edges:
        return Incoherence(0.0, 0.0, 0.0, smallest, n_edges)
    try:
        factor = cho_factor(hessian[np.ix_(edge, edge)])
    except LinAlgError:
        return Incoherence(np.inf, np.inf, np.inf, smallest, n_edges)
    inverse = cho_solve(factor, np.eye(n_edges))
    inverse_norm = float(np.abs(inverse).sum(axis=1).max())
    if edge.all():
        return Incoherence(0.0, 0.0, inverse_norm, smallest, n_edges)
    moved = cho_solve(factor, hessian[np.ix_(edge, ~edge)]).T
    return Incoherence(
        float(np.abs(moved).sum(axis=1).max()),
        float(np.abs(moved @ np.sign(values[edge])).max()),
        inverse_norm,
        smallest,
        n_edges,
    )
