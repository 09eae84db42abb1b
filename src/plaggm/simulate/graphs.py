"""Matrices of a simulation: graph families for Ω0, kinds of W, and their scaling."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

GRAPHS = ("erdos-renyi", "scale-free", "band", "block", "hub")
NUISANCES = ("dense", "rank-one", "sparse")
# Degrees of freedom of a positive definite W for each variable; its condition number is about 30.
DEFINITE_DEGREES = 2


def draw_support(graph: str, p: int, density: float, rng: np.random.Generator) -> np.ndarray:
    """Draw which pairs of variables are joined.

    ``density`` is the share of the p (p - 1) / 2 pairs. "erdos-renyi" joins each pair with that
    probability. The other families are structured, and their degree or number of blocks is chosen to come
    nearest to the density.

    Parameters
    ----------
    graph : one of ``GRAPHS``
        "scale-free" is preferential attachment started from a clique, "band" joins neighbours in
        the order of the variables, "block" is a set of cliques, and in "hub" the first variables
        are joined to every other.
    p : int
        Number of variables.
    density : float in [0, 1]
        Expected share of pairs that are edges.
    rng : Generator
        Source of random numbers.

    Returns
    -------
    ndarray of bool, shape (p, p)
        Symmetric, with a False diagonal.
    """
    upper = np.triu(_FAMILIES[graph](p, density, rng), k=1)
    return upper | upper.T


def draw_weights(support: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Symmetric weights on a support, with magnitudes uniform on [1/2, 1] and random signs.

    Returns
    -------
    ndarray of shape (p, p)
    """
    magnitude = rng.uniform(0.5, 1.0, support.shape)
    sign = rng.choice([-1.0, 1.0], support.shape)
    upper = np.triu(np.where(support, magnitude * sign, 0.0), k=1)
    return upper + upper.T


def draw_nuisance(kind: str, p: int, density: float, rng: np.random.Generator) -> np.ndarray:
    """Draw a matrix W that confounds the network; its diagonal is zero.

    Parameters
    ----------
    kind : one of ``NUISANCES``
        "dense" has independent normal entries, "rank-one" is v v' with normal v, and "sparse" is
        an Erdős-Rényi matrix drawn independently of Ω0.
    p : int
        Number of variables.
    density : float
        Share of non-zero pairs of the "sparse" kind.
    rng : Generator
        Source of random numbers.

    Returns
    -------
    ndarray of shape (p, p)
    """
    if kind == "sparse":
        return draw_weights(draw_support("erdos-renyi", p, density, rng), rng)
    if kind == "rank-one":
        loading = rng.standard_normal(p)
        matrix = np.outer(loading, loading)
    else:
        upper = np.triu(rng.standard_normal((p, p)), k=1)
        matrix = upper + upper.T
    np.fill_diagonal(matrix, 0.0)
    return matrix


def draw_precision(p: int, rng: np.random.Generator) -> np.ndarray:
    """Draw a dense precision matrix: Wishart with mean I and 2 p degrees of freedom.

    Returns
    -------
    ndarray of shape (p, p)
    """
    rows = rng.standard_normal((DEFINITE_DEGREES * p, p))
    return rows.T @ rows / len(rows)


def spectral_radius(matrices: np.ndarray) -> np.ndarray:
    """Largest absolute eigenvalue of symmetric matrices.

    Parameters
    ----------
    matrices : ndarray of shape (..., p, p)

    Returns
    -------
    ndarray of shape (...)
    """
    # One thread: matrices are small.
    with threadpool_limits(1, user_api="blas"):
        return np.max(np.abs(np.linalg.eigvalsh(matrices)), axis=-1)


def scale_factor(radius: float, matrices: np.ndarray) -> np.ndarray:
    """The factor by which each symmetric matrix gets the given spectral radius; 1 for a zero matrix.

    Returns
    -------
    ndarray of shape (...)
    """
    current = spectral_radius(matrices)
    return np.divide(radius, current, out=np.ones_like(current), where=current > 0.0)


def rewire(weights: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Remove a share of the edges and draw as many new ones where there were none.

    Parameters
    ----------
    weights : ndarray of shape (p, p)
        Symmetric matrix with a zero diagonal.
    share : float in [0, 1]
        Share of the edges that are moved.
    rng : Generator
        Source of random numbers.

    Returns
    -------
    ndarray of shape (p, p)
        Matrix in which the other edges have their previous values.
    """
    rows, columns = np.triu_indices(weights.shape[0], k=1)
    joined = weights[rows, columns] != 0.0
    present, absent = np.flatnonzero(joined), np.flatnonzero(~joined)
    n_moved = min(round(share * present.size), absent.size)
    removed = rng.choice(present, n_moved, replace=False)
    added = rng.choice(absent, n_moved, replace=False)
    fresh = draw_weights(np.ones_like(weights, dtype=bool), rng)
    rewired = weights.copy()
    for pairs, values in ((removed, 0.0), (added, fresh[rows[added], columns[added]])):
        rewired[rows[pairs], columns[pairs]] = values
        rewired[columns[pairs], rows[pairs]] = values
    return rewired


def _erdos_renyi(p: int, density: float, rng: np.random.Generator) -> np.ndarray:
    return rng.random((p, p)) < density


def _band(p: int, density: float, rng: np.random.Generator) -> np.ndarray:
    index = np.arange(p)
    return np.abs(index[:, None] - index) <= _nearest_degree(p, density)


def _hub(p: int, density: float, rng: np.random.Generator) -> np.ndarray:
    return np.broadcast_to(np.arange(p)[:, None] < _nearest_degree(p, density), (p, p))


def _block(p: int, density: float, rng: np.random.Generator) -> np.ndarray:
    if density == 0.0:
        return np.zeros((p, p), dtype=bool)
    # k equal cliques hold about 1/k of the pairs.
    n_blocks = int(np.clip(round(1.0 / density), 1, max(1, p // 2)))
    block = np.arange(p) * n_blocks // p
    return block[:, None] == block


def _scale_free(p: int, density: float, rng: np.random.Generator) -> np.ndarray:
    degree = _nearest_degree(p, density)
    joined = np.zeros((p, p), dtype=bool)
    joined[: degree + 1, : degree + 1] = ~np.eye(degree + 1, dtype=bool)
    for node in range(degree + 1, p if degree else 0):
        attraction = joined[:node].sum(axis=1)
        chosen = rng.choice(node, degree, replace=False, p=attraction / attraction.sum())
        joined[node, chosen] = joined[chosen, node] = True
    return joined


def _nearest_degree(p: int, density: float) -> int:
    """The d with a number of edges, d p - d (d + 1) / 2, nearest to the density; at least one.

    A band of half-width d, d hubs, and attachment of d edges to a clique of d + 1 nodes all have
    exactly that number of edges.
    """
    if density == 0.0:
        return 0
    degree = np.arange(1, p)
    n_edges = degree * p - degree * (degree + 1) / 2
    return int(degree[np.argmin(np.abs(n_edges - density * p * (p - 1) / 2))])


_FAMILIES: dict[str, Callable[[int, float, np.random.Generator], np.ndarray]] = {
    "erdos-renyi": _erdos_renyi,
    "scale-free": _scale_free,
    "band": _band,
    "block": _block,
    "hub": _hub,
}
