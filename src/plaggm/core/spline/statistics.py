"""Sufficient statistics of the spline estimator: sums over rows.

With b_i = (z_i, 1), spline functions phi(g_i) and row weights w_i, everything follows from

    sum_i w_i b_i b_i',   sum_i w_i phi_a b_i b_i',   sum_i w_i phi_a phi_c b_i b_i'   (a <= c)

so that statistics of subsets of rows can be added and subtracted.

Few B-splines are non-zero in any row. Rows are grouped by their non-zero functions; all sums of such a
group are blocks of one symmetric product K'K, where K has the columns [b, phi_a b, ...] of these functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from plaggm.array_types import Array, Index, Mask
from plaggm.core.numerics.threads import available_threads, threads

# Rows that are multiplied at a time, whose products [b, phi_a b, ...] should fit into the cache.
CHUNK_ROWS = 2048
# Rows of one task of a thread.
TASK_ROWS = 8192
# Smallest number of rows with the same non-zero functions that are multiplied together.
FEWEST_ALIKE = 64
# Number of tasks whose sums are added together, in a fixed order.
WAITING = 32
# Largest number of functions whose combinations are counted in a table.
SMALL_TABLE = 16
# Share of rows with a non-zero factor below which only these rows are multiplied.
SPARSE = 0.6


@dataclass(frozen=True, slots=True)
class SplineStatistics:
    """Weighted sums over rows; symmetric matrices packed as in `plaggm.core.kernel.moments`.

    Attributes
    ----------
    sums : ndarray of shape (1 + M + M(M+1)/2, q(q+1)/2)
        Sums for 1, phi_a and phi_a phi_c with a <= c, in this order.
    n : int
        Number of rows.
    functions : int
        M.
    """

    sums: Array
    n: int
    functions: int

    @property
    def q(self) -> int:
        """Number of columns of [Z, 1]."""
        return int((np.sqrt(8.0 * self.sums.shape[1] + 1.0) - 1.0) / 2.0 + 0.5)

    def __add__(self, other: SplineStatistics) -> SplineStatistics:
        self._check(other)
        return SplineStatistics(self.sums + other.sums, self.n + other.n, self.functions)

    def __sub__(self, other: SplineStatistics) -> SplineStatistics:
        self._check(other)
        return SplineStatistics(self.sums - other.sums, self.n - other.n, self.functions)

    def times(self, factor: float) -> SplineStatistics:
        """The statistics with every weight multiplied by a factor; the number of rows is unchanged."""
        return SplineStatistics(factor * self.sums, self.n, self.functions)

    def repeated(self, times: int) -> SplineStatistics:
        """The statistics of the same rows repeated ``times`` times."""
        return SplineStatistics(times * self.sums, times * self.n, self.functions)

    def recentred(self, shift: Array, scale: Array) -> SplineStatistics:
        """The statistics of the variables (z - shift) / scale.

        Parameters
        ----------
        shift, scale : ndarray of shape (p,)
        """
        q = self.q
        linear = np.diag(np.append(1.0 / scale, 1.0))
        linear[:-1, -1] = -shift / scale
        moved = np.matmul(linear, np.matmul(unpack(self.sums, q), linear.T))
        rows, columns = _upper(q)
        return SplineStatistics(moved[:, rows, columns], self.n, self.functions)

    def _check(self, other: SplineStatistics) -> None:
        if self.sums.shape != other.sums.shape or self.functions != other.functions:
            raise ValueError(
                f"Statistics of {self.functions} functions and {self.q - 1} variables cannot be "
                f"combined with those of {other.functions} functions and {other.q - 1} variables."
            )

    def second_moments(self) -> Array:
        """Weighted mean of phi phi': shape (M, M)."""
        packed = self.sums[None, 1 + self.functions :, -1] / self.n
        return np.asarray(unpack(packed, self.functions)[0])

    def matrices(self) -> tuple[Array, Array, Array]:
        """The sums divided by n as full matrices.

        Returns
        -------
        bb : ndarray of shape (q, q)
        db : ndarray of shape (M, q, q)
        dd : ndarray of shape (M, M, q, q)
        """
        q, size = self.q, self.functions
        full = unpack(self.sums / self.n, q)
        dd = np.empty((size, size, q, q))
        first, second = _upper(size)
        dd[first, second] = full[1 + size :]
        dd[second, first] = full[1 + size :]
        return full[0], full[1 : 1 + size], dd


@dataclass(frozen=True, slots=True)
class ScaledRows:
    """The table [(X - location) / scale, 1], whose rows are formed when they are accessed.

    Attributes
    ----------
    x : ndarray of shape (n, p)
    location, scale : ndarray of shape (p,)
    """

    x: Array
    location: Array
    scale: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.x), self.x.shape[1] + 1

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.x)

    def __getitem__(self, rows: Index | slice) -> Array:
        """Some rows: shape (len(rows), p + 1)."""
        x = self.x[rows]
        b = np.empty((len(x), x.shape[1] + 1))
        np.subtract(x, self.location, out=b[:, :-1])
        b[:, :-1] /= self.scale
        b[:, -1] = 1.0
        return b


@cache
def _upper(size: int) -> tuple[Index, Index]:
    return np.triu_indices(size)


def unpack(packed: Array, q: int) -> Array:
    """Symmetric matrices (k, q, q) from their upper triangles (k, q(q+1)/2)."""
    full = np.empty((len(packed), q, q))
    rows, columns = _upper(q)
    full[:, rows, columns] = packed
    full[:, columns, rows] = packed
    return full


def no_rows(functions: int, q: int) -> SplineStatistics:
    """Statistics of no rows."""
    families = 1 + functions + functions * (functions + 1) // 2
    return SplineStatistics(np.zeros((families, q * (q + 1) // 2)), 0, functions)


def spline_statistics(
    b: Array, phi: Array, weights: Array | None = None, *, n_threads: int | None = None
) -> SplineStatistics:
    """Statistics of all rows.

    Parameters
    ----------
    b : ndarray of shape (n, q)
    phi : ndarray of shape (n, M)
    weights : ndarray of shape (n,), optional
        Zero or more.
    n_threads : int, optional
        The sums do not depend on it.

    Returns
    -------
    SplineStatistics
    """
    labels = np.zeros(len(b), dtype=np.intp)
    return split_statistics(b, phi, labels, 1, weights, n_threads=n_threads)[0]


def split_statistics(
    b: Array | ScaledRows,
    phi: Array,
    labels: Index,
    count: int,
    weights: Array | None = None,
    *,
    n_threads: int | None = None,
) -> tuple[SplineStatistics, ...]:
    """Statistics of several disjoint subsets of rows, in one pass.

    Parameters
    ----------
    b : ndarray of shape (n, q), or ScaledRows
    phi : ndarray of shape (n, M)
    labels : ndarray of int of shape (n,)
        The subset of every row, from 0 to count - 1; negative for rows of no subset.
    count : int
        Number of subsets.
    weights : ndarray of shape (n,), optional
        Zero or more.
    n_threads : int, optional
        The sums do not depend on it.

    Returns
    -------
    tuple of SplineStatistics
    """
    size, q = phi.shape[1], b.shape[1]
    sums = np.zeros((count, 1 + size + size * (size + 1) // 2, q * (q + 1) // 2))
    root = None if weights is None else np.sqrt(weights)
    tasks = list(_tasks(phi, labels))
    found: list[Array] = [np.empty(0)] * len(tasks)

    def work(number: int) -> None:
        found[number] = _products(b, phi, root, tasks[number])

    # Threads inside BLAS do not pay for products of a few hundred columns.
    with threads(available_threads() if n_threads is None else n_threads) as pool:
        for start in range(0, len(tasks), WAITING):
            numbers = list(range(start, min(start + WAITING, len(tasks))))
            pool.run(work, numbers)
            for number in numbers:
                task = tasks[number]
                sums[task.label, task.slots(size)] += found[number]
                found[number] = np.empty(0)
    rows = np.bincount(labels[labels >= 0], minlength=count)
    return tuple(SplineStatistics(part, int(n), size) for part, n in zip(sums, rows, strict=True))


@dataclass(frozen=True, slots=True)
class _Task:
    """Rows of one subset, and the functions that are non-zero in all of them (None if they differ)."""

    label: int
    rows: Index
    nonzero: Index | None

    def slots(self, size: int) -> Index | slice:
        """Positions of the task's sums among all sums."""
        if self.nonzero is None:
            return slice(None)
        place = np.zeros((1 + size, 1 + size), dtype=np.intp)
        first, second = _upper(size)
        place[0, 1:] = 1 + np.arange(size)
        place[1 + first, 1 + second] = 1 + size + np.arange(len(first))
        chosen = np.append(0, 1 + self.nonzero)
        first, second = _upper(len(chosen))
        slots: Index = place[chosen[first], chosen[second]]
        return slots


def _tasks(phi: Array, labels: Index) -> Iterator[_Task]:
    """Rows grouped by subset and by non-zero functions."""
    patterns, kind = _patterns(phi != 0.0)
    key = labels * len(patterns) + kind
    order = np.argsort(key.astype(np.min_scalar_type(int(key.max(initial=0)))), kind="stable")
    order = order[labels[order] >= 0]
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    mixed: dict[int, list[Index]] = {}
    for rows in np.split(order, starts[1:]) if len(order) else []:
        label, pattern = divmod(int(key[rows[0]]), len(patterns))
        if len(rows) < FEWEST_ALIKE:
            mixed.setdefault(label, []).append(rows)
            continue
        for part in _parts(rows):
            yield _Task(label, part, np.flatnonzero(patterns[pattern]))
    for label, several in mixed.items():
        alike = several[0] if len(several) == 1 else None
        if alike is not None:
            pattern = int(key[alike[0]]) % len(patterns)
            yield _Task(label, alike, np.flatnonzero(patterns[pattern]))
            continue
        for part in _parts(np.concatenate(several)):
            yield _Task(label, part, None)


def _patterns(nonzero: Mask) -> tuple[Mask, Index]:
    """Distinct rows of a boolean table, and the number of each row among them."""
    size = nonzero.shape[1]
    if size > SMALL_TABLE:
        packed, kind = np.unique(np.packbits(nonzero, axis=1), axis=0, return_inverse=True)
        return np.unpackbits(packed, axis=1, count=size).astype(bool), kind.ravel()
    code = nonzero @ (1 << np.arange(size)) if size else np.zeros(len(nonzero), dtype=np.intp)
    present = np.flatnonzero(np.bincount(code, minlength=1))
    place = np.zeros(1 << size, dtype=np.intp)
    place[present] = np.arange(len(present))
    return (present[:, None] >> np.arange(size) & 1).astype(bool), place[code]


def _parts(rows: Index) -> Sequence[Index]:
    return [rows[start : start + TASK_ROWS] for start in range(0, len(rows), TASK_ROWS)]


def _products(b: Array | ScaledRows, phi: Array, root: Array | None, task: _Task) -> Array:
    """Packed sums of a task's rows: all of them, or those of its non-zero functions."""
    total: Array | float = 0.0
    for start in range(0, len(task.rows), CHUNK_ROWS):
        rows = task.rows[start : start + CHUNK_ROWS]
        few = b[rows]
        if root is not None:
            few *= root[rows, None]
        if task.nonzero is None:
            total = total + _one_by_one(few, phi[rows])
        else:
            total = total + _all_at_once(few, phi[np.ix_(rows, task.nonzero)])
    return np.asarray(total)


def function_products(b: Array, phi: Array) -> Array:
    """[b, phi_1 b, ...] of every row: shape (n, (1 + M) q) from (n, q) and (n, M)."""
    rows, q = b.shape
    size = 1 + phi.shape[1]
    products = np.empty((rows, size, q))
    products[:, 0] = b
    np.multiply(phi[:, :, None], b[:, None, :], out=products[:, 1:])
    return products.reshape(rows, size * q)


def _all_at_once(b: Array, phi: Array) -> Array:
    """All sums as blocks of one symmetric product."""
    q, size = b.shape[1], 1 + phi.shape[1]
    products = function_products(b, phi)
    gram = (products.T @ products).reshape(size, q, size, q)
    first, second = _upper(size)
    upper = _upper(q)
    packed: Array = gram[first[:, None], upper[0], second[:, None], upper[1]]
    return packed


def _one_by_one(b: Array, phi: Array) -> Array:
    """All sums, one after another, for rows whose non-zero functions differ."""
    first, second = _upper(phi.shape[1])
    upper = _upper(b.shape[1])
    factors = np.concatenate([np.ones((1, len(b))), phi.T, (phi[:, first] * phi[:, second]).T])
    packed = np.empty((len(factors), len(upper[0])))
    for slot, factor in enumerate(factors):
        # Most products of two functions are zero in most rows.
        nonzero = np.flatnonzero(factor)
        if len(nonzero) < SPARSE * len(factor):
            few = b[nonzero]
            product = (few * factor[nonzero, None]).T @ few
        else:
            product = (b * factor[:, None]).T @ b
        packed[slot] = product[upper]
    return packed
