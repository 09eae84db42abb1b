"""The de-sparsified node-wise lasso, for few samples relative to the number of variables.

Every node is regressed on the others by the scaled lasso (Sun and Zhang, 2012), whose penalty is lambda t_j
with t_j^2 the residual variance. Let column j of Theta be the negative coefficients, with one in place of
the node, divided by t_j^2, and S the Gram matrix. Then

    T = Theta + Theta' - Theta' S Theta

removes the bias of the lasso, and T_jk has variance (Theta_jj Theta_kk + Theta_jk^2) / n (Jankova and van
de Geer, 2017). Where a nuisance was removed, Gram matrices differ between nodes, and the mean of both
nodes' matrices replaces S.

This variance holds for Gaussian rows. Heavy tails multiply all variances by about the same factor, which is
estimated from blocks of rows: to first order T varies like the mean of (Theta' x)_j (Theta' x)_k over the
rows, whose variance follows from the variance between blocks. Means along the confounder are subtracted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plaggm.array_types import Array
from plaggm.core.grams.node_grams import Centred, GramMatrices, profile_intercepts
from plaggm.core.inference.cluster_jackknife import Dispersion, clear_dispersion
from plaggm.core.inference.pair_statistics import EdgeTests, both, mixture_tests
from plaggm.core.lasso.node_lasso import node_path
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.core.spline.statistics import SplineStatistics, unpack

# Relative change of the residual variance at which the scaled lasso has converged, and maximum of rounds.
SETTLED, ROUNDS = 1e-8, 100
TOL, MAX_SWEEPS = 1e-12, 10_000
# Smallest residual variance relative to the variance of the column.
LEAST_LEFT = 1e-8


def scaled_lasso_level(n: float, p: int) -> float:
    """Penalty lambda = sqrt(2 log(p / sqrt n) / n), at least sqrt(2 log 2 / n).

    Examples
    --------
    >>> round(scaled_lasso_level(100, 200), 4)
    0.2448
    """
    return float(np.sqrt(2.0 * np.log(max(p / np.sqrt(n), 2.0)) / n))


def desparsified_tests(
    node_grams: GramMatrices, blocks: Sequence[SplineStatistics] = ()
) -> EdgeTests:
    """Test every pair by the de-sparsified node-wise scaled lasso.

    Parameters
    ----------
    node_grams : GramMatrices
        Gram matrices in any units; the samples may be fewer than the variables.
    blocks : sequence of SplineStatistics
        Sums over disjoint blocks of all rows, in any units, from which the factor of heavy tails is
        estimated.

    Returns
    -------
    EdgeTests
    """
    p = node_grams.p
    centred = profile_intercepts(node_grams)
    unit = np.sqrt(np.mean(centred.diagonals(), axis=0))
    centred = centred.rescaled(1.0 / unit)
    samples = node_grams.n - 1.0 - node_grams.smoother_trace
    theta = np.empty((p, p))
    responses = centred.responses()
    with single_threaded_blas():
        for j in range(p):
            level = scaled_lasso_level(float(samples[j]), p)
            coefficients, variance = _node_scaled_lasso(centred, responses[j], j, level)
            theta[:, j] = -coefficients / variance
            theta[j, j] = 1.0 / variance
        products = centred.products(np.ascontiguousarray(theta.T)) @ theta
    size = both(np.sqrt(np.outer(np.diagonal(theta), np.diagonal(theta))))
    estimate = (both(products) - 2.0 * both(theta)) / size
    spread = (1.0 + (both(theta) / size) ** 2) / both(np.minimum.outer(samples, samples))
    found = _block_dispersion(theta, blocks, spread)
    return mixture_tests(
        estimate[None],
        found.factor * spread[None],
        np.ones(1),
        p,
        degrees=found.degrees,
        method="de-sparsified lasso",
        dispersion=found.factor,
    )


def _block_dispersion(
    theta: Array, blocks: Sequence[SplineStatistics], spread: Array
) -> Dispersion:
    """Factor of all variances, estimated from the variance between blocks.

    Parameters
    ----------
    theta : ndarray of shape (p, p)
        Theta for columns of unit variance.
    blocks : sequence of SplineStatistics
    spread : ndarray of shape (p (p - 1) / 2,)
        Variances for Gaussian rows.
    """
    if len(blocks) < 2:
        return Dispersion(1.0, np.inf)
    n = sum(block.n for block in blocks)
    firsts, products = zip(*(_mean_columns(block) for block in blocks), strict=True)
    means = np.linalg.pinv(sum(products), hermitian=True) @ sum(firsts)
    crossed = means.T @ sum(firsts)
    total = sum(_products(block) for block in blocks)
    unit = 1.0 / np.sqrt(np.diagonal(total - crossed) / n)
    size = both(np.sqrt(np.outer(np.diagonal(theta), np.diagonal(theta))))
    scaled = theta * unit[:, None]
    shares = np.empty((len(blocks), len(spread)))
    for place, (block, first, product) in enumerate(zip(blocks, firsts, products, strict=True)):
        crossed = means.T @ first
        gram = _products(block) - crossed - crossed.T + means.T @ product @ means
        shares[place] = both(scaled.T @ gram @ scaled) / (n * size)
    weights = np.array([[block.n / n] for block in blocks])
    squared = np.sum((shares - weights * shares.sum(axis=0)) ** 2, axis=0)
    count = len(blocks)
    return clear_dispersion(squared, spread, count, lambda: squared * count / (count - 1.0))


def _products(block: SplineStatistics) -> Array:
    """Z'Z of a block's rows: shape (p, p)."""
    return np.asarray(unpack(block.sums[:1], block.q)[0, :-1, :-1])


def _mean_columns(block: SplineStatistics) -> tuple[Array, Array]:
    """F'Z and F'F with F = [1, phi] the functions that the means of the variables may follow."""
    size = block.functions
    last = np.triu_indices(block.q)[1] == block.q - 1
    first = block.sums[: 1 + size, last]
    product = np.empty((1 + size, 1 + size))
    product[0] = product[:, 0] = first[:, -1]
    product[1:, 1:] = unpack(block.sums[None, 1 + size :, -1], size)[0]
    return first[:, :-1], product


def _node_scaled_lasso(
    centred: Centred, response: Array, j: int, level: float
) -> tuple[Array, float]:
    """Node j's scaled lasso, solved on an active set that grows until it is optimal.

    Parameters
    ----------
    centred : Centred
    response : ndarray of shape (p,)
        Row j of node j's matrix.
    j : int
    level : float

    Returns
    -------
    coefficients, variance
        See :func:`scaled_lasso`.
    """
    coefficients = np.zeros(centred.p)
    active = np.abs(response) > 0.5 * level * np.sqrt(response[j])
    while True:
        active[j] = True
        columns = np.flatnonzero(active)
        place = int(np.searchsorted(columns, j))
        found, variance = scaled_lasso(centred.block(j, columns), place, level)
        coefficients[columns] = found
        gradient = centred.node_product(j, coefficients) - response
        broken = (np.abs(gradient) > level * np.sqrt(variance)) & ~active
        if not broken.any():
            return coefficients, variance
        active |= broken


def scaled_lasso(gram: Array, j: int, level: float) -> tuple[Array, float]:
    """Coefficients of node j's scaled lasso and its residual variance.

    Parameters
    ----------
    gram : ndarray of shape (p, p)
        Row and column j belong to the response.
    j : int
    level : float
        Penalty in units of the residual deviation.

    Returns
    -------
    coefficients : ndarray of shape (p,)
        Zero for the node itself.
    variance : float
    """
    total = gram[j, j]
    variance = total
    for _ in range(ROUNDS):
        steps = np.array([level * np.sqrt(variance)])
        coefficients = node_path(gram, j, steps, 0.0, TOL, MAX_SWEEPS)[0][0]
        residual = -coefficients
        residual[j] = 1.0
        before = variance
        variance = max(float(residual @ gram @ residual), LEAST_LEFT * total)
        if abs(variance - before) <= SETTLED * before:
            break
    return coefficients, variance
