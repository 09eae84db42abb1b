"""Smooth functions of the confounder in the means of the variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.spline.basis import SplineBasis
from plaggm.data import Confounder
from plaggm.estimators.design import DEGREE, FUNCTIONS, quantile_threshold, reference_basis

# Variables (n, p) and confounders (n, m) of rows, chunk by chunk.
Chunks: TypeAlias = Iterable[tuple[Array, Array]]

# Rows for each function of the means; means are constant if there are fewer rows.
ROWS_PER_FUNCTION = 10


def mean_functions(
    confounder: Confounder | None, n: int, p: int, rows_each: int = ROWS_PER_FUNCTION
) -> SplineBasis:
    """Functions of the confounders for the means, as many as the number of rows supports."""
    if confounder is None:
        return SplineBasis(())
    limits = quantile_threshold(confounder, p + 1)
    for functions in range(FUNCTIONS, 0, -1):
        basis = reference_basis(
            confounder.values, limits, confounder.all_references, functions=functions, degree=DEGREE
        )
        if basis.size * rows_each <= n:
            return basis
    return SplineBasis(())


def with_constant(basis: SplineBasis, confounder: Array) -> Array:
    """The constant and the functions: shape (n, 1 + M)."""
    return np.column_stack([np.ones(len(confounder)), basis.evaluate(confounder)])


def column_means(chunks: Chunks, basis: SplineBasis, p: int) -> tuple[Array, Array]:
    """Regression of p variables on the functions, and the transform that decorrelates its residuals.

    Returns
    -------
    means : ndarray of shape (1 + M, p)
    root : ndarray of shape (p, p)
        Its product with the residuals has a covariance close to the identity; directions that are poorly
        estimated from few rows are shrunk.
    """
    n, k, origin = 0, 1 + basis.size, np.zeros(p)
    inner, outer, square = np.zeros((k, k)), np.zeros((k, p)), np.zeros((p, p))
    for x, confounder in chunks:
        if not n:
            # Sums of squares about a distant origin would lose precision.
            origin = x.mean(axis=0)
        f, centred = with_constant(basis, confounder), x - origin
        n += len(x)
        inner += f.T @ f
        outer += f.T @ centred
        square += centred.T @ centred
    means = np.linalg.pinv(inner, hermitian=True) @ outer
    covariance = (square - outer.T @ means) / n
    means[0] += origin
    spread = np.sqrt(np.maximum(np.diagonal(covariance), np.finfo(float).tiny))
    share = min(p / n, 1.0)
    correlation = (1.0 - share) * covariance / np.outer(spread, spread)
    correlation[np.diag_indices_from(correlation)] = 1.0
    values, vectors = np.linalg.eigh(correlation)
    root = vectors / np.sqrt(np.maximum(values, np.sqrt(np.finfo(float).eps)))
    return means, root / spread[:, None]


def random_rows(n: int, most: int) -> Index:
    """Numbers of at most ``most`` of n rows, drawn at random and increasing."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))
