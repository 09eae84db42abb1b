"""EBIC of the supports along a path, each refitted without penalty.

The lasso shrinks the edges it selects, so that information criteria of the penalised fit favour false
edges. Here every distinct support of the path is refitted by least squares: each node is regressed on its
neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index, Mask
from plaggm.core.grams.node_grams import GramMatrices, profile_intercepts
from plaggm.core.variance.conditional import samples_left
from plaggm.selection.choice import Choice, without_failures
from plaggm.selection.problem import PathFit, Problem

# EBIC's weight of the number of possible networks.
GAMMA = 0.25
# Smallest residual variance of a node, as a share of its variance.
LEAST_LEFT = 1e-12


@dataclass(frozen=True, slots=True)
class RefittedSupport:
    """Choose the penalty whose support, refitted without penalty, has the smallest EBIC."""

    def describe(self, problem: Problem) -> str:
        """See :class:`plaggm.selection.Selection`."""
        return "choosing the penalty by EBIC of its support, refitted without penalty"

    def choose(
        self, problem: Problem, fit: PathFit, *, n_jobs: int | None = None, verbose: int = 0
    ) -> Choice:
        """See :class:`plaggm.selection.Selection`."""
        values = [
            refitted_ebic(grams, path.omega != 0.0)
            for grams, path in zip(fit.grams, fit.paths, strict=True)
        ]
        criterion = problem.criterion_weights @ np.stack(values)
        criterion = without_failures(criterion, fit.failures, fit.alphas)
        return Choice(int(np.nanargmin(criterion)), criterion, failures=fit.failures)


def refitted_ebic(node_grams: GramMatrices, supports: Mask) -> Array:
    """EBIC with gamma = 1/4 of least squares on given supports; smaller is better.

    Every pair is in two regressions whose gains nearly coincide, so that half of the pseudo-likelihood is
    used: the sum over nodes of half the samples that the smoother leaves times the log residual variance,
    plus log n + 4 gamma log p for each pair. A support is a candidate only if every node has fewer
    neighbours than samples left.

    Parameters
    ----------
    node_grams : GramMatrices
    supports : ndarray of bool of shape (k, p, p)
        The diagonal is ignored.

    Returns
    -------
    ndarray of shape (k,)
        Infinite for supports that are not candidates.
    """
    n, p = node_grams.n, node_grams.p
    left = samples_left(node_grams)
    neighbours = supports & ~np.eye(p, dtype=bool)
    residuals = refitted_residuals(node_grams, neighbours)
    degrees = neighbours.sum(axis=2)
    edges = np.count_nonzero(np.triu(neighbours, 1), axis=(1, 2))
    values = 0.5 * np.log(residuals) @ left + edges * (np.log(n) + 4.0 * GAMMA * np.log(p))
    return np.where(np.all(degrees < left, axis=1), values, np.inf)


def refitted_residuals(node_grams: GramMatrices, neighbours: Mask) -> Array:
    """Mean squared residual of every node's least-squares regression on its neighbours: shape (k, p).

    Parameters
    ----------
    node_grams : GramMatrices
    neighbours : ndarray of bool of shape (k, p, p)
        Row j marks the neighbours of node j; the diagonal is False.
    """
    centred = profile_intercepts(node_grams)
    residuals = np.empty(neighbours.shape[:2])
    for j in range(centred.p):
        gram = centred.node(j)
        known: dict[bytes, float] = {}
        for step, chosen in enumerate(neighbours[:, j]):
            key = chosen.tobytes()
            if key not in known:
                known[key] = _residual(gram, j, np.flatnonzero(chosen))
            residuals[step, j] = known[key]
    return residuals


def _residual(gram: Array, j: int, columns: Index) -> float:
    explained = 0.0
    if len(columns):
        right = gram[columns, j]
        found = np.linalg.lstsq(gram[np.ix_(columns, columns)], right, rcond=None)[0]
        explained = float(right @ found)
    return max(float(gram[j, j]) - explained, LEAST_LEFT * float(gram[j, j]))
