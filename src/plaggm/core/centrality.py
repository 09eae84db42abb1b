r"""How central each variable is in a network, with intervals.

Strength is the sum of the absolute weights of a variable's edges, expected influence (Robinaugh, Millner
and McNally, 2016) that of the weights with their signs; of the *bridge* versions only edges to other
groups of variables count. With the signs of the edges given, each is a sum :math:`\sum_k a_k
\hat\rho_{jk}`, whose variance needs the standard errors of the partial correlations and how these vary
together. Entries of an inverse sample covariance vary together as those of a covariance do, with the
precision matrix K in the place of Σ; so partial correlations of one variable have the covariance of
Pearson and Filon (1898),

    cov(c_jk, c_jl) ∝ c_kl (1 - c_jk² - c_jl²) - c_jk c_jl (1 - c_jk² - c_jl² - c_kl²) / 2,    c = -rho,

of which only the correlation is used: standard errors are those of the tests, whatever they allow for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index


@dataclass(frozen=True, slots=True)
class Centrality:
    """Sums over the edges of every variable, with standard errors.

    All arrays have shape (p,). Errors are NaN where those of the edges are not known.

    Attributes
    ----------
    degree : ndarray of int
        Number of edges.
    strength, strength_error : ndarray
        Sum of the absolute weights.
    influence, influence_error : ndarray
        Sum of the weights.
    """

    degree: Index
    strength: Array
    strength_error: Array
    influence: Array
    influence_error: Array


def centrality(
    network: Array,
    errors: Array | None = None,
    partial: Array | None = None,
    groups: Index | None = None,
) -> Centrality:
    """Strength and expected influence of every variable.

    Parameters
    ----------
    network : ndarray of shape (p, p)
        Weights of the edges, zero elsewhere.
    errors : ndarray of shape (p, p), optional
        Standard errors of the weights.
    partial : ndarray of shape (p, p), optional
        Partial correlations of all pairs, by which the weights' correlations are known; the network when
        absent.
    groups : ndarray of int of shape (p,), optional
        Group of every variable: only edges between groups are summed. All edges when absent.

    Returns
    -------
    Centrality
    """
    weights = np.array(network, dtype=np.float64)
    np.fill_diagonal(weights, 0.0)
    if groups is not None:
        weights[groups[:, None] == groups[None, :]] = 0.0
    known = -np.array(network if partial is None else partial, dtype=np.float64)
    p = len(weights)
    strength_error, influence_error = np.full(p, np.nan), np.full(p, np.nan)
    for j in range(p if errors is not None else 0):
        assert errors is not None
        around = np.flatnonzero(weights[j])
        together = _correlations(known[j, around], known[np.ix_(around, around)])
        for sums, sign in ((strength_error, np.sign(weights[j, around])), (influence_error, 1.0)):
            part = sign * errors[j, around]
            sums[j] = np.sqrt(max(float(part @ together @ part), 0.0))
    return Centrality(
        np.count_nonzero(weights, axis=1),
        np.abs(weights).sum(axis=1),
        strength_error,
        weights.sum(axis=1),
        influence_error,
    )


def _correlations(own: Array, among: Array) -> Array:
    """Sampling correlations of one variable's partial correlations (d,), given those among the others."""
    squares = own**2
    left = 1.0 - squares[:, None] - squares[None, :]
    covariance = among * left - 0.5 * np.outer(own, own) * (left - among**2)
    scale = np.maximum(1.0 - squares, np.finfo(float).tiny)
    found = np.clip(covariance / np.outer(scale, scale), -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)
