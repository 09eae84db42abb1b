"""Rows that are time series: the filter that whitens them, and blocks of neighbouring rows.

Means along the confounder are removed from the variables, which are then filtered by one autoregression
within every run (:mod:`plaggm.core.preparation.autoregression`). The network and R are those of the whitened series at
the confounder of the row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from plaggm.array_types import Array, Index, Labels
from plaggm.core.preparation.autoregression import (
    NO_FILTER,
    Autoregression,
    block_length,
    contiguous_blocks,
    fit_autoregression,
    lag_sums,
    most_order,
    run_positions,
    tapered_correlations,
)
from plaggm.core.spline.basis import SplineBasis
from plaggm.data import Confounder
from plaggm.estimators.smooth_means import Chunks, column_means, mean_functions, with_constant
from plaggm.group_labels import LabelsLike, group_numbers
from plaggm.parameter_types import Temporal
from plaggm.wording import shown

# Smallest and largest number of blocks of the jackknife, and smallest number of rows of a block.
FEWEST_BLOCKS, MOST_BLOCKS, FEWEST_BLOCK_ROWS = 10, 40, 5
# Largest lag of the correlations by which the length of blocks is chosen.
LAGS = 30

NO_RUNS = (
    "runs says where time series begin, and temporal=None takes rows as independent. Set temporal='ar', or "
    "leave runs out."
)


@dataclass(frozen=True, slots=True)
class Whitening:
    """The whitening filter of a time series: its autoregression and the means removed before it.

    Attributes
    ----------
    basis : SplineBasis
        Functions of the confounders in the means.
    means : ndarray of shape (1 + M, p)
        Coefficients of the constant and of the functions.
    autoregression : Autoregression
    """

    basis: SplineBasis
    means: Array
    autoregression: Autoregression

    def residuals(self, x: Array, confounder: Array) -> Array:
        """Rows without their means: shape (n, p)."""
        return x - with_constant(self.basis, confounder) @ self.means

    def mean_effects(self, confounder: Array, position: Index) -> Array:
        """Effect of the confounder on the means of filtered rows: shape (n, p)."""
        return self.autoregression.apply(self.basis.evaluate(confounder) @ self.means[1:], position)

    def whitened(self, chunks: Chunks, position: Index) -> Iterator[tuple[Array, Array]]:
        """Whitened variables and unchanged confounders of every chunk.

        Parameters
        ----------
        chunks : iterable of (x, confounder)
        position : ndarray of int of shape (n,)
            Number of predecessors of every row in its run.
        """
        kept: deque[Array] = deque()

        def residuals() -> Iterator[Array]:
            for x, confounder in chunks:
                kept.append(confounder)
                yield self.residuals(x, confounder)

        for white in _filtered(residuals(), self.autoregression, position):
            yield white, kept.popleft()


@dataclass(frozen=True, slots=True)
class SerialRows:
    """Runs, whitening filter and blocks of rows that are time series.

    Attributes
    ----------
    runs : ndarray of int of shape (n,)
        Number of every row's run.
    whitening : Whitening
    blocks : ndarray of int of shape (n,)
        Number of every row's contiguous block, the groups of the jackknife.
    """

    runs: Index
    whitening: Whitening
    blocks: Index

    @property
    def position(self) -> Index:
        """Number of predecessors of every row in its run: shape (n,)."""
        return run_positions(self.runs)

    def diagnostics(self) -> dict[str, object]:
        """Numbers for a result."""
        n, blocks = len(self.runs), int(self.blocks.max()) + 1
        found = self.whitening.autoregression
        return {
            "ar_order": found.order,
            "lag1_correlation": float(found.correlations[1])
            if len(found.correlations) > 1
            else 0.0,
            "effective_samples": n * found.sample_share(),
            "n_runs": int(np.count_nonzero(self.position == 0)),
            "n_blocks": blocks,
            "block_rows": n / blocks,
        }


def check_temporal(temporal: object) -> None:
    """Raise unless ``temporal`` is "ar" or a whole number of zero or more."""
    whole = isinstance(temporal, Integral) and not isinstance(temporal, bool) and int(temporal) >= 0
    if temporal != "ar" and not whole:
        raise ValueError(
            f"temporal must be None, 'ar' or the order of a filter, a whole number of zero or more; got "
            f"{shown(temporal)}."
        )


def run_numbers(runs: LabelsLike | None, groups: Labels | None, n: int) -> Index:
    """Number of every row's run, which ends where the label of the run or the group changes: shape (n,)."""
    numbers = np.zeros(n, dtype=np.intp)
    for labels in (runs, groups):
        if labels is not None:
            name = "runs" if labels is runs else "groups"
            found, _ = group_numbers(labels, n, fewest=1, name=name)
            numbers = numbers * (int(found.max(initial=0)) + 1) + found
    return np.cumsum(run_positions(numbers) == 0) - 1


def learn_series(
    temporal: Temporal,
    read: Callable[[], Chunks],
    confounder: Confounder | None,
    runs: Index,
    p: int,
) -> SerialRows:
    """Fit the filter to all rows, and divide them into blocks.

    Parameters
    ----------
    temporal : "ar" or int
        Order of the filter; ``"ar"`` chooses it by BIC.
    read : callable
        Returns variables and confounders of all rows, chunk by chunk; called four times.
    confounder : Confounder or None
        Confounders of all rows.
    runs : ndarray of int of shape (n,)
    p : int
        Variables.
    """
    n, position = len(runs), run_positions(runs)
    longest = int(position.max()) + 1
    if not isinstance(temporal, str) and temporal >= longest:
        raise ValueError(
            f"temporal={temporal} predicts a row from {temporal} rows before it, and the longest run has "
            f"{longest} rows. Use a smaller order, temporal='ar', or other runs."
        )
    basis = mean_functions(confounder, n, p)
    means, root = column_means(read(), basis, p)
    plain = Whitening(basis, means, NO_FILTER)
    lags = most_order(n, longest) if isinstance(temporal, str) else int(temporal)
    sums, counts = _lag_sums(
        (plain.residuals(x, g) @ root for x, g in read()), position, max(lags, min(1, longest - 1))
    )
    order = None if isinstance(temporal, str) else int(temporal)
    autoregression = fit_autoregression(sums, counts, order)
    means = means + _filtered_means(read(), plain, autoregression, position)
    whitening = Whitening(basis, means, autoregression)
    left = _lag_sums(
        (x for x, _ in whitening.whitened(read(), position)), position, min(LAGS, longest - 1)
    )
    length = block_length(tapered_correlations(*left), n)
    length = np.clip(length, max(FEWEST_BLOCK_ROWS, n / MOST_BLOCKS), max(n // FEWEST_BLOCKS, 1))
    if not autoregression.order:
        # Without a filter the model of the network estimates the means.
        whitening = Whitening(SplineBasis(()), means[:1], autoregression)
    return SerialRows(runs, whitening, contiguous_blocks(runs, int(np.ceil(length)), MOST_BLOCKS))


def _filtered_means(
    chunks: Chunks, plain: Whitening, autoregression: Autoregression, position: Index
) -> Array:
    """Correction of the means by generalised least squares, given the autoregression.

    Ordinary least squares mistakes slow fluctuations of the variables for effects of the confounder.

    Returns
    -------
    ndarray of shape (1 + M, p)
    """
    k, p = plain.means.shape
    inner, outer = np.zeros((k, k)), np.zeros((k, p))
    both = (
        np.column_stack([with_constant(plain.basis, confounder), plain.residuals(x, confounder)])
        for x, confounder in chunks
    )
    for filtered in _filtered(both, autoregression, position):
        f, series = filtered[:, :k], filtered[:, k:]
        inner += f.T @ f
        outer += f.T @ series
    return np.asarray(np.linalg.pinv(inner, hermitian=True) @ outer)


def _with_predecessors(
    series: Iterable[Array], position: Index, lags: int
) -> Iterator[tuple[Array, Index, int]]:
    """Chunks of a series, each preceded by up to ``lags`` earlier rows.

    Yields
    ------
    rows : ndarray of shape (k, p)
    position : ndarray of int of shape (k,)
        Number of predecessors of these rows in their runs.
    first : int
        Index of the first row of the chunk itself.
    """
    tail: Array | None = None
    start = 0
    for chunk in series:
        tail = chunk[:0] if tail is None else tail
        together = np.concatenate([tail, chunk])
        yield together, position[start - len(tail) : start + len(chunk)], len(tail)
        start += len(chunk)
        tail = together[max(len(together) - lags, 0) :]


def _filtered(
    series: Iterable[Array], autoregression: Autoregression, position: Index
) -> Iterator[Array]:
    """Filtered chunks of a series, the same as those of the filtered whole."""
    for rows, place, first in _with_predecessors(series, position, autoregression.order):
        yield autoregression.apply(rows, place)[first:]


def _lag_sums(series: Iterable[Array], position: Index, lags: int) -> tuple[Array, Array]:
    """Sums of products with preceding rows over all chunks; see :func:`lag_sums`."""
    total: tuple[Array, Array] | None = None
    for rows, place, first in _with_predecessors(series, position, lags):
        found = lag_sums(rows, place, lags, first=first)
        total = found if total is None else (total[0] + found[0], total[1] + found[1])
    assert total is not None
    return total
