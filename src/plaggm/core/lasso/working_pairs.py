"""The working set of pairs of a lasso of many variables, with the blocks of Gram matrices they need.

Two pairs interact only if they share a node: pairs (j, k) and (j, l) by the entry [k, l] of node j's Gram
matrix. With W_j the other ends of node j's pairs, coordinate descent reads only the blocks G_j[W_j, W_j]
and changes only the gradients of node j in W_j. Pairs in different connected components do not interact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from plaggm.array_types import Array, Index, Mask
from plaggm.core.grams.factored_grams import LowRankGrams
from plaggm.core.lasso.pair_descent import MEMORY
from plaggm.core.numerics.compiled import compiled
from plaggm.core.numerics.coordinate_steps import soft_threshold
from plaggm.core.numerics.threads import Threads

# Growth of the largest squared step above which descent has diverged, because blocks in single precision
# are not positive definite.
DIVERGED = 1e4
# Nodes whose blocks are formed by one task.
TASK_NODES = 64


class WorkingPairs(NamedTuple):
    """Pairs of variables, ordered by connected component, and their blocks.

    A *place* is a position in the list of all nodes' other ends, node after node.

    Attributes
    ----------
    first, second : ndarray of shape (pairs,)
    components : ndarray of shape (components + 1,)
        Pairs of component c are those from ``components[c]`` to ``components[c + 1]``.
    component_places : ndarray of shape (components + 1,)
        First place of each component, in the same way.
    place_first, place_second : ndarray of shape (pairs,)
        Places of k among the ends of node j, and of j among those of k, for the pair (j, k).
    starts, sizes : ndarray of shape (p,)
        First place of every node, and |W_j|.
    nodes, ends : ndarray of shape (places,)
        Node and other end of every place.
    blocks : ndarray of float32 of shape (sum of squared |W_j|,)
        G_j[W_j, W_j], row by row.
    block_starts : ndarray of shape (p,)
    curvature : ndarray of shape (pairs,)
    """

    first: Index
    second: Index
    components: Index
    component_places: Index
    place_first: Index
    place_second: Index
    starts: Index
    sizes: Index
    nodes: Index
    ends: Index
    blocks: NDArray[np.float32]
    block_starts: Index
    curvature: Array


def working_pairs(
    centred: LowRankGrams, curvature: Array, selected: Mask, pool: Threads
) -> WorkingPairs:
    """Some pairs with their blocks.

    Parameters
    ----------
    centred : LowRankGrams
        Node Grams with the intercepts minimised out.
    curvature : ndarray of shape (p, p)
        Curvature of every pair.
    selected : ndarray of bool of shape (p, p)
        Symmetric, false on the diagonal.
    pool : Threads
        The result does not depend on their number.
    """
    p = centred.p
    labels = connected_components(csr_array(selected), directed=False)[1]
    order = np.argsort(labels, kind="stable")
    sizes = np.count_nonzero(selected, axis=1)
    starts = np.empty(p, np.int64)
    starts[order] = np.cumsum(sizes[order]) - sizes[order]
    row, column = np.nonzero(selected)
    place = np.arange(len(row)) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    nodes, ends = np.empty_like(row), np.empty_like(row)
    nodes[place], ends[place] = row, column
    # Sorted by column the entries are the mirrors of those sorted by row.
    mirror = place[np.argsort(column, kind="stable")]
    upper = row < column
    by_component = np.argsort(labels[row[upper]], kind="stable")
    first, second = row[upper][by_component], column[upper][by_component]
    filled = np.flatnonzero(np.bincount(labels, sizes) > 0)
    block_starts = np.cumsum(sizes**2) - sizes**2
    blocks = np.empty(int(np.sum(sizes**2)), np.float32)

    factors = centred.shared, centred.left, centred.right

    def form(start: int) -> None:
        stop = min(start + TASK_NODES, p)
        _form_blocks(*factors, starts, sizes, ends, block_starts, blocks, start, stop)

    pool.run(form, list(range(0, p, TASK_NODES)))
    return WorkingPairs(
        first,
        second,
        np.append(np.searchsorted(labels[first], filled), len(first)),
        np.append(np.searchsorted(labels[nodes], filled), len(nodes)),
        place[upper][by_component],
        mirror[upper][by_component],
        starts,
        sizes,
        nodes,
        ends,
        blocks,
        block_starts,
        curvature[first, second],
    )


@compiled(fastmath=frozenset({"contract", "nsz"}))
def _form_blocks(
    shared: Array,
    left: Array,
    right: Array,
    starts: Index,
    sizes: Index,
    ends: Index,
    block_starts: Index,
    blocks: NDArray[np.float32],
    begin: int,
    stop: int,
) -> None:
    """Write the blocks of the nodes from ``begin`` to ``stop``."""
    rank = left.shape[1]
    for j in range(begin, stop):
        size = sizes[j]
        chosen = ends[starts[j] : starts[j] + size]
        own = np.empty((rank, size))
        other = np.empty((rank, size))
        for r in range(rank):
            for a in range(size):
                own[r, a] = left[j, r, chosen[a]]
                other[r, a] = right[j, r, chosen[a]]
        row = np.empty(size)
        at = block_starts[j]
        for a in range(size):
            for b in range(size):
                row[b] = shared[chosen[a], chosen[b]]
            for r in range(rank):
                factor = own[r, a]
                for b in range(size):
                    row[b] += factor * other[r, b]
            for b in range(size):
                blocks[at + b] = np.float32(row[b])
            at += size


@compiled(fastmath=frozenset({"contract", "nsz"}))
def _sweep(
    pairs: WorkingPairs, value: Array, slope: Array, members: Index, count: int, level: float
) -> float:
    """One pass over some pairs; returns the largest curvature times squared step."""
    largest = 0.0
    for position in range(count):
        pair = members[position]
        a = pairs.curvature[pair]
        if a <= 0.0:
            continue
        u = pairs.place_first[pair]
        v = pairs.place_second[pair]
        old = value[pair]
        new = soft_threshold(a * old - slope[u] - slope[v], level) / a
        if new != old:
            step = new - old
            value[pair] = new
            j = pairs.first[pair]
            begin = pairs.starts[j]
            size = pairs.sizes[j]
            at = pairs.block_starts[j] + (u - begin) * size
            for i in range(size):
                slope[begin + i] += step * np.float64(pairs.blocks[at + i])
            k = pairs.second[pair]
            begin = pairs.starts[k]
            size = pairs.sizes[k]
            at = pairs.block_starts[k] + (v - begin) * size
            for i in range(size):
                slope[begin + i] += step * np.float64(pairs.blocks[at + i])
            largest = max(largest, a * step * step)
    return largest


@compiled()
def _partial_objective(
    pairs: WorkingPairs,
    value: Array,
    slope: Array,
    response: Array,
    start: int,
    stop: int,
    level: float,
) -> float:
    """The part of the objective that depends on a component's pairs."""
    total = 0.0
    for pair in range(start, stop):
        if value[pair] != 0.0:
            u, v = pairs.place_first[pair], pairs.place_second[pair]
            total += 0.5 * value[pair] * (slope[u] + slope[v] - response[u] - response[v])
            total += level * abs(value[pair])
    return total


@compiled()
def _extrapolate(
    pairs: WorkingPairs,
    values: Array,
    slopes: Array,
    value: Array,
    slope: Array,
    response: Array,
    component: int,
    level: float,
) -> None:
    """Anderson extrapolation of a component from its last iterates, if it lowers the objective."""
    last = MEMORY - 1
    start, stop = pairs.components[component], pairs.components[component + 1]
    begin, end = pairs.component_places[component], pairs.component_places[component + 1]
    size, places = stop - start, end - begin
    products = np.zeros((last, last))
    for a in range(last):
        for b in range(a + 1):
            total = 0.0
            for i in range(size):
                total += (values[a + 1, i] - values[a, i]) * (values[b + 1, i] - values[b, i])
            products[a, b] = total
            products[b, a] = total
    trace = np.trace(products)
    if not 0.0 < trace < np.inf:
        return
    for a in range(last):
        products[a, a] += 1e-12 * trace
    weights = np.linalg.solve(products, np.ones(last))
    weights /= weights.sum()
    before = _partial_objective(pairs, value, slope, response, start, stop, level)
    # The first iterate is not needed any more: its place stores the current one.
    values[0, :size] = value[start:stop]
    slopes[0, :places] = slope[begin:end]
    value[start:stop] = 0.0
    slope[begin:end] = 0.0
    for a in range(last):
        for i in range(size):
            value[start + i] += weights[a] * values[a + 1, i]
        for i in range(places):
            slope[begin + i] += weights[a] * slopes[a + 1, i]
    if not _partial_objective(pairs, value, slope, response, start, stop, level) < before:
        value[start:stop] = values[0, :size]
        slope[begin:end] = slopes[0, :places]


@compiled()
def descend_pairs(
    pairs: WorkingPairs,
    value: Array,
    slope: Array,
    response: Array,
    level: float,
    step_tolerance: float,
    budget: int,
) -> int:
    """Coordinate descent over working pairs, one component after another, until steps are small.

    Parameters
    ----------
    pairs : WorkingPairs
    value : ndarray of shape (pairs,)
        Coefficients, changed in place.
    slope : ndarray of shape (places,)
        Gradients of every node at its other ends, changed in place.
    response : ndarray of shape (places,)
        Products of every node's response with its other ends.
    level : float
        lambda.
    step_tolerance : float
        Largest curvature times squared step of the last sweep.
    budget : int
        Largest number of sweeps over a component.

    Returns
    -------
    int
        Largest number of sweeps over a component.
    """
    most = 0
    largest_component = 0
    most_places = 0
    for component in range(pairs.components.shape[0] - 1):
        largest_component = max(
            largest_component, pairs.components[component + 1] - pairs.components[component]
        )
        most_places = max(
            most_places, pairs.component_places[component + 1] - pairs.component_places[component]
        )
    members = np.empty(largest_component, np.int64)
    active = np.empty(largest_component, np.int64)
    values = np.empty((MEMORY, largest_component))
    slopes = np.empty((MEMORY, most_places))
    for component in range(pairs.components.shape[0] - 1):
        start, stop = pairs.components[component], pairs.components[component + 1]
        begin, end = pairs.component_places[component], pairs.component_places[component + 1]
        for pair in range(start, stop):
            members[pair - start] = pair
        sweeps = 0
        limit = np.inf
        while sweeps < budget:
            largest = _sweep(pairs, value, slope, members, stop - start, level)
            sweeps += 1
            if not step_tolerance < largest <= limit:
                break
            limit = min(limit, DIVERGED * largest)
            n_active = 0
            for pair in range(start, stop):
                if value[pair] != 0.0:
                    active[n_active] = pair
                    n_active += 1
            stored = 0
            while sweeps < budget:
                largest = _sweep(pairs, value, slope, active, n_active, level)
                sweeps += 1
                if not step_tolerance < largest <= limit:
                    break
                values[stored, : stop - start] = value[start:stop]
                slopes[stored, : end - begin] = slope[begin:end]
                stored += 1
                if stored == MEMORY:
                    _extrapolate(pairs, values, slopes, value, slope, response, component, level)
                    stored = 0
        most = max(most, sweeps)
    return most
