"""The paper's pseudo-profile likelihood: local linear smoothing of the nuisance along the confounder.

The result equals that of `plaggm.core.kernel.literal`, with one matrix inversion for each distinct confounder
value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array, Index
from plaggm.core.grams.node_grams import NodeGrams, residual_coefficients
from plaggm.core.kernel.kernels import Kernel, product_weights, scaled_differences
from plaggm.core.kernel.local_systems import (
    SINGULAR,
    deletion_weights,
    invert_local_system,
    transform_rows,
)
from plaggm.core.kernel.moments import MomentSource, Rows, interpolated_moments
from plaggm.core.kernel.prefix_moments import prefix_moments
from plaggm.core.numerics.threads import available_threads, threads

Form = Literal["lemma", "supplement"]

# Evaluation points whose moments are computed together, and largest number of such batches whose
# transformed rows are added to the Gram matrices together.
BATCH_POINTS = 16
BATCHES = 32
# Largest size of these transformed rows.
BLOCK_BYTES = 128 * 2**20


class SingularLocalSystemError(ValueError):
    """A local system has too few samples; the message says where and what to change."""


@dataclass(frozen=True, slots=True)
class KernelSmoother:
    """The smoother of the nuisance, learnt from some rows.

    Attributes
    ----------
    rows : Rows
    kernel : Kernel
    bandwidth : ndarray of shape (m,)
        Bandwidths in the units of the confounder in ``rows``.
    form : {"lemma", "supplement"}
    ridge : float
    source : MomentSource
    """

    rows: Rows
    kernel: Kernel
    bandwidth: Array
    form: Form
    ridge: float
    source: MomentSource


def kernel_smoother(
    rows: Rows, *, kernel: Kernel, bandwidth: Array, form: Form, ridge: float = 0.0
) -> KernelSmoother:
    """The smoother learnt from some rows."""
    source: MomentSource
    if kernel.pieces and rows.confounder.shape[1] == 1:
        source = prefix_moments(rows, kernel, float(bandwidth[0]))
    else:
        source = interpolated_moments(rows, kernel, bandwidth)
    return KernelSmoother(rows, kernel, bandwidth, form, ridge, source)


def effective_samples(smoother: KernelSmoother, point: Array) -> float:
    """Kish's effective number of samples in the window at a point: (sum w)^2 / sum w^2."""
    u = scaled_differences(smoother.rows.confounder, point[None, :], smoother.bandwidth)[0]
    w = product_weights(smoother.kernel, u) * smoother.rows.indicator**2
    total = float(np.sum(w * w))
    return float(np.sum(w)) ** 2 / total if total > 0.0 else 0.0


def profile_kernel(
    smoother: KernelSmoother, rows: Rows | None = None, *, n_threads: int | None = None
) -> NodeGrams:
    """Node Gram matrices of transformed rows.

    Parameters
    ----------
    smoother : KernelSmoother
    rows : Rows, optional
        Rows to transform, for example held-out ones; those of the smoother if absent.
    n_threads : int, optional
        The result does not depend on it.

    Returns
    -------
    NodeGrams

    Raises
    ------
    SingularLocalSystemError
    """
    own = rows is None
    rows = smoother.rows if rows is None else rows
    n, q = rows.b.shape
    p = q - 1
    factor = rows.indicator if smoother.form == "supplement" else np.ones(n)
    grams = np.zeros((p, q, q))
    trace = np.zeros(p)

    untouched = rows.b[factor == 0.0]
    if len(untouched):
        grams += untouched.T @ untouched

    order = _sorted_rows(rows.confounder, factor)
    rows, factor = rows.take(order), factor[order]
    points, first, count = _distinct_points(rows.confounder)
    height = float(product_weights(smoother.kernel, np.zeros((1, smoother.source.m)))[0])
    self_weight = height * rows.indicator if own else np.zeros(len(order))
    rcond = np.full(len(points), np.inf)

    with threads(available_threads() if n_threads is None else n_threads) as pool:
        for block in _blocks(count, p * q * 8):
            start, stop = first[block.start], first[block.stop - 1] + count[block.stop - 1]
            transformed = np.empty((p, stop - start, q))
            block_trace = np.zeros((p, stop - start))

            def transform(
                batch: slice, *, t: Array = transformed, tr: Array = block_trace, r0: int = start
            ) -> None:
                squared, linear = smoother.source.evaluate(points[batch])
                a, b = first[batch.start], first[batch.stop - 1] + count[batch.stop - 1]
                transform_rows(
                    squared,
                    linear,
                    first[batch] - a,
                    count[batch],
                    rows.b[a:b],
                    factor[a:b],
                    self_weight[a:b],
                    smoother.ridge,
                    t[:, a - r0 : b - r0],
                    tr[:, a - r0 : b - r0],
                    rcond[batch],
                )

            def add_nodes(nodes: slice, *, t: Array = transformed) -> None:
                for j in range(nodes.start, nodes.stop):
                    grams[j] += t[j].T @ t[j]

            pool.run(transform, _slices(block.start, block.stop, BATCH_POINTS))
            _check_systems(smoother, points, rcond)
            pool.run(add_nodes, _slices(0, p, -(-p // (4 * pool.count))))
            trace += block_trace.sum(axis=1)

    return NodeGrams(grams / n, n, trace)


def local_nuisance(smoother: KernelSmoother, omega: Array, points: Array) -> Array:
    """Local linear estimate of R(g) at some confounder values, given the baseline network.

    Parameters
    ----------
    smoother : KernelSmoother
    omega : ndarray of shape (p, p)
        Intercepts on the diagonal.
    points : ndarray of shape (k, m)

    Returns
    -------
    ndarray of shape (k, p, p)
        Column j is node j's estimate, with the shift of its intercept on the diagonal; zero if the window
        contains no weight.
    """
    q = smoother.source.q
    p = q - 1
    residual = residual_coefficients(omega)
    out = np.zeros((len(points), p, p))
    rcond = np.full(len(points), np.inf)
    order = np.argsort(points[:, 0], kind="stable")
    for start in range(0, len(points), BATCH_POINTS):
        batch = order[start : start + BATCH_POINTS]
        squared, linear = smoother.source.evaluate(points[batch])
        for i, place in enumerate(batch):
            inverse, applied, rcond[place] = invert_local_system(
                squared[:, i], linear[:, i], smoother.ridge
            )
            if not np.isfinite(rcond[place]):
                continue
            fitted = applied @ residual
            for j in range(p):
                weights = deletion_weights(inverse, fitted[:, j], q, j)
                column = fitted[:q, j] - inverse[:q, j::q] @ weights
                out[place, :, j] = column[:p]
                out[place, j, j] = column[p]
    _check_systems(smoother, points, rcond)
    return out


def _check_systems(smoother: KernelSmoother, points: Array, rcond: Array) -> None:
    bad = np.flatnonzero(~(rcond > SINGULAR))
    if not bad.size:
        return
    samples = [effective_samples(smoother, points[i]) for i in bad]
    worst = int(np.argmin(samples))
    needed = smoother.source.q * (1 + smoother.source.m)
    value = ", ".join(f"{x:.6g}" for x in points[bad[worst]])
    raise SingularLocalSystemError(
        f"The local system at confounder = {value} is singular: about {samples[worst]:.0f} effective "
        f"samples in its window for {needed} unknowns ({bad.size} of {len(points)} confounder values "
        "are affected). Use a larger bandwidth, another threshold, fewer variables, or ridge > 0 (for "
        "example ridge=1e-3)."
    )


def _sorted_rows(confounder: Array, factor: Array) -> Index:
    """Rows that need a system, in the order of their confounders."""
    order = np.lexsort(confounder.T[::-1])
    kept: Index = order[factor[order] != 0.0]
    return kept


def _distinct_points(
    confounder: Array,
) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
    """Distinct values of sorted confounders, the first row and the number of rows of each."""
    n = len(confounder)
    if n == 0:
        return confounder, np.zeros(0, np.int64), np.zeros(0, np.int64)
    change = np.flatnonzero(np.any(confounder[1:] != confounder[:-1], axis=1)) + 1
    first = np.concatenate([[0], change]).astype(np.int64)
    count = np.diff(np.append(first, n)).astype(np.int64)
    return confounder[first], first, count


def _slices(start: int, stop: int, step: int) -> list[slice]:
    return [slice(a, min(a + step, stop)) for a in range(start, stop, step)]


def _blocks(count: NDArray[np.int64], bytes_per_row: int) -> list[slice]:
    """Consecutive batches of points whose transformed rows fit into a block, as slices of points."""
    limit = max(1, BLOCK_BYTES // bytes_per_row)
    blocks, start, rows, batches = [], 0, 0, 0
    for batch in _slices(0, len(count), BATCH_POINTS):
        size = int(count[batch].sum())
        if batches and (rows + size > limit or batches == BATCHES):
            blocks.append(slice(start, batch.start))
            start, rows, batches = batch.start, 0, 0
        rows += size
        batches += 1
    if batches:
        blocks.append(slice(start, len(count)))
    return blocks
