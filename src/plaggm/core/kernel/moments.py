"""Kernel-weighted moments of the rows, for every evaluation point, without an n x n matrix.

With b_k = (z_k, 1), u_k = (g_k - g) / h, u_0 = 1 and w_k = psi(|u_k|), the local systems at g need

    squared[s, t] = sum_k w_k I_k^2 u_ks u_kt b_k b_k'      (s <= t)
    linear[s]     = sum_k w_k I_k u_ks b_k b_k'

A *moment source* evaluates these sums at any g. Symmetric matrices b b' are packed: their upper triangle,
row by row, q(q+1)/2 numbers.

`InterpolatedMoments` replaces the rows by few nodes: for the gaussian kernel Chebyshev nodes of panels of
the confounder's range (the kernel, as a function of g_k, is interpolated to machine precision), otherwise
the distinct confounder values. `plaggm.core.kernel.prefix_moments.PrefixMoments` uses that compact kernels are
piecewise polynomials.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.kernel.kernels import Kernel, product_weights, scaled_differences

# Gaussian weights beyond this number of bandwidths are below 1e-16 of the maximum.
GAUSSIAN_REACH = 8.7
# The error of interpolation is about 1e-15 of the kernel's maximum for ``CROWD_ROWS`` rows. Sums whose
# total weight is less than this share of the maximum are computed directly instead.
THIN_WEIGHT = 1e-3
CROWD_ROWS = 1000
# Numbers of panels that are compared.
PANEL_CHOICES = 40
# Rows whose products are formed at a time.
CHUNK_ROWS = 512


class MomentSource(Protocol):
    """Anything that evaluates the local moments."""

    @property
    def q(self) -> int:
        """Number of columns of [Z, 1]."""
        ...

    @property
    def m(self) -> int:
        """Number of confounders."""
        ...

    def evaluate(self, points: Array) -> tuple[Array, Array]:
        """Moments at each point.

        Parameters
        ----------
        points : ndarray of shape (k, m)
            Sorted by their first column.

        Returns
        -------
        squared : ndarray of shape ((m+1)(m+2)/2, k, q(q+1)/2)
        linear : ndarray of shape (m+1, k, q(q+1)/2)
        """
        ...


@dataclass(frozen=True, slots=True)
class Rows:
    """The data of a smoother.

    Attributes
    ----------
    b : ndarray of shape (n, q)
        [Z, 1].
    confounder : ndarray of shape (n, m)
    indicator : ndarray of shape (n,)
        I(g_k).
    """

    b: Array
    confounder: Array
    indicator: Array

    def take(self, index: Index | slice) -> Rows:
        """The rows of an index or slice."""
        return Rows(self.b[index], self.confounder[index], self.indicator[index])


def packed_products(b: Array) -> Array:
    """Upper triangles of b_k b_k', one row for each k.

    Returns
    -------
    ndarray of shape (n, q(q+1)/2)
    """
    n, q = b.shape
    out = np.empty((n, q * (q + 1) // 2))
    start = 0
    for a in range(q):
        stop = start + q - a
        np.multiply(b[:, a : a + 1], b[:, a:], out=out[:, start:stop])
        start = stop
    return out


def moment_weights(kernel: Kernel, u: Array) -> tuple[Array, Array]:
    """Kernel weights times the monomials of the local linear design.

    Parameters
    ----------
    kernel : Kernel
    u : ndarray of shape (k, n, m)

    Returns
    -------
    squared : ndarray of shape ((m+1)(m+2)/2, k, n)
        w u_s u_t for s <= t, with u_0 = 1.
    linear : ndarray of shape (m+1, k, n)
        w u_s. It is the first m + 1 slices of ``squared``.
    """
    k, n, m = u.shape
    squared = np.empty(((m + 1) * (m + 2) // 2, k, n))
    squared[0] = product_weights(kernel, u)
    for s in range(m):
        np.multiply(squared[0], u[:, :, s], out=squared[1 + s])
    slot = m + 1
    for s in range(m):
        for t in range(s, m):
            np.multiply(squared[1 + s], u[:, :, t], out=squared[slot])
            slot += 1
    return squared, squared[: m + 1]


def direct_moments(
    rows: Rows, kernel: Kernel, bandwidth: Array, points: Array
) -> tuple[Array, Array]:
    """The moments by their definition, from chunks of rows.

    Returns
    -------
    As :meth:`MomentSource.evaluate`.
    """
    n, q = rows.b.shape
    k, m = points.shape
    size = q * (q + 1) // 2
    squared = np.zeros(((m + 1) * (m + 2) // 2, k, size))
    linear = np.zeros((m + 1, k, size))
    for start in range(0, n, CHUNK_ROWS):
        part = rows.take(slice(start, start + CHUNK_ROWS))
        u = scaled_differences(part.confounder, points, bandwidth)
        add_weighted_products(squared, linear, part, *moment_weights(kernel, u))
    return squared, linear


def add_weighted_products(
    squared: Array, linear: Array, rows: Rows, weights: Array, weights_linear: Array
) -> None:
    """Add the weighted products of some rows to moments, in place."""
    products = packed_products(rows.b)
    squared += apply_weights(weights * rows.indicator**2, products)
    linear += apply_weights(weights_linear * rows.indicator, products)


def apply_weights(weights: Array, products: Array) -> Array:
    """(F, k, n) weights times (n, size) products as one matrix product."""
    f, k, n = weights.shape
    return (weights.reshape(f * k, n) @ products).reshape(f, k, products.shape[1])


@dataclass(frozen=True, slots=True)
class InterpolatedMoments:
    """Moments from few nodes that replace the rows.

    Attributes
    ----------
    rows : Rows
        The data, for points with little total weight.
    kernel : Kernel
    bandwidth : ndarray of shape (m,)
    nodes : ndarray of shape (r, m)
        Sorted by the first column.
    squared, linear : ndarray of shape (r, q(q+1)/2)
        Products at the nodes, weighted by I^2 and by I.
    reach : float
        Nodes further than this many bandwidths from a point are left out; infinite where the nodes are the
        confounder values themselves.
    """

    rows: Rows
    kernel: Kernel
    bandwidth: Array
    nodes: Array
    squared: Array
    linear: Array
    reach: float

    @property
    def exact(self) -> bool:
        """Whether the nodes are the confounder values themselves."""
        return bool(np.isinf(self.reach))

    @property
    def q(self) -> int:
        """Number of columns of [Z, 1]."""
        return int(self.rows.b.shape[1])

    @property
    def m(self) -> int:
        """Number of confounders."""
        return int(self.nodes.shape[1])

    def evaluate(self, points: Array) -> tuple[Array, Array]:
        """Moments at each point; see :class:`MomentSource`."""
        far = self.reach * self.bandwidth[0]
        first = np.searchsorted(self.nodes[:, 0], points[0, 0] - far)
        last = np.searchsorted(self.nodes[:, 0], points[-1, 0] + far, side="right")
        u = scaled_differences(self.nodes[first:last], points, self.bandwidth)
        weights, weights_linear = moment_weights(self.kernel, u)
        squared = apply_weights(weights, self.squared[first:last])
        linear = apply_weights(weights_linear, self.linear[first:last])
        if not self.exact:
            height = float(self.kernel.evaluate(np.zeros(1))[0])
            # The last packed entries are the sums of w and of w u^2.
            weight = np.minimum(squared[0, :, -1], squared[2, :, -1])
            crowd = max(1.0, len(self.rows.b) / CROWD_ROWS)
            thin = np.flatnonzero(weight < THIN_WEIGHT * height * crowd)
            if thin.size:
                squared[:, thin], linear[:, thin] = direct_moments(
                    self.rows, self.kernel, self.bandwidth, points[thin]
                )
        return squared, linear


def chebyshev_order(half_width: float) -> int:
    """Number of nodes that interpolate the gaussian kernel (times 1, u, u^2) to 1e-14 of its maximum.

    The formula holds for half-widths of 0.25 to 20 bandwidths.
    """
    return int(np.ceil(15.0 + 7.9 * half_width))


def panel_interpolation(values: Array, low: float, high: float, order: int) -> tuple[Array, Array]:
    """Chebyshev nodes of a panel and the barycentric weights of each value on them.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Points within [low, high].
    low, high : float
    order : int
        Number of nodes.

    Returns
    -------
    nodes : ndarray of shape (order,)
        Increasing.
    weights : ndarray of shape (order, n)
        Lagrange polynomials at the values.
    """
    k = np.arange(order)
    nodes = 0.5 * (low + high) - 0.5 * (high - low) * np.cos(np.pi * k / (order - 1))
    sign = np.where(k % 2 == 0, 1.0, -1.0)
    sign[[0, -1]] *= 0.5
    gap = values[None, :] - nodes[:, None]
    hit = gap == 0.0
    gap[hit] = 1.0
    weights = sign[:, None] / gap
    weights /= weights.sum(axis=0)
    on_node = hit.any(axis=0)
    weights[:, on_node] = hit[:, on_node]
    return nodes, weights


def choose_panels(span: float, bandwidth: float, distinct: int) -> int:
    """Number of panels with the least work; zero if the distinct values are better nodes.

    Work is counted in multiply-adds for each packed entry and row: two for each node of the row's panel to
    form the sums, five for each node within reach to evaluate them.
    """
    if span <= 0.0:
        return 0
    reach = GAUSSIAN_REACH * bandwidth
    best, best_cost = 0, 2.0 + 5.0 * distinct * min(1.0, 2.0 * reach / span)
    most = max(1.0, min(span / bandwidth, float(distinct)))
    for panels in np.unique(np.geomspace(1.0, most, PANEL_CHOICES).astype(int)).tolist():
        width = span / panels
        order = chebyshev_order(0.5 * width / bandwidth)
        nodes_read = order * min(panels, 2.0 * reach / width + 1.0)
        cost = 2.0 * order + 5.0 * nodes_read
        if order * panels < distinct and cost < best_cost:
            best, best_cost = panels, cost
    return best


def interpolated_moments(rows: Rows, kernel: Kernel, bandwidth: Array) -> InterpolatedMoments:
    """Replace the rows by Chebyshev nodes or by their distinct confounder values.

    Only the gaussian kernel with one confounder is interpolated; distinct values are exact for any kernel
    and any number of confounders.
    """
    distinct, group = np.unique(rows.confounder, axis=0, return_inverse=True)
    group = group.ravel()
    span = float(distinct[-1, 0] - distinct[0, 0])
    panels = 0
    if kernel.name == "gaussian" and rows.confounder.shape[1] == 1:
        panels = choose_panels(span, float(bandwidth[0]), len(distinct))
    if panels == 0:
        nodes = distinct
        squared, linear = _sum_groups(rows, group, len(distinct))
        reach = np.inf
    else:
        nodes, squared, linear = _fill_panels(rows, panels, span, float(bandwidth[0]))
        reach = GAUSSIAN_REACH
    return InterpolatedMoments(rows, kernel, bandwidth, nodes, squared, linear, reach)


def _sum_groups(rows: Rows, group: Index, count: int) -> tuple[Array, Array]:
    q = rows.b.shape[1]
    squared = np.zeros((count, q * (q + 1) // 2))
    linear = np.zeros_like(squared)
    for start in range(0, len(group), CHUNK_ROWS):
        stop = start + CHUNK_ROWS
        part = rows.take(slice(start, stop))
        products = packed_products(part.b) * part.indicator[:, None]
        np.add.at(linear, group[start:stop], products)
        products *= part.indicator[:, None]
        np.add.at(squared, group[start:stop], products)
    return squared, linear


def _fill_panels(
    rows: Rows, panels: int, span: float, bandwidth: float
) -> tuple[Array, Array, Array]:
    q = rows.b.shape[1]
    g = rows.confounder[:, 0]
    low, width = float(g.min()), span / panels
    order = chebyshev_order(0.5 * width / bandwidth)
    panel = np.minimum(((g - low) / width).astype(np.intp), panels - 1)
    nodes, squared, linear = [], [], []
    for number in np.unique(panel):
        left = low + number * width
        members = np.flatnonzero(panel == number)
        sums = np.zeros((2, order, q * (q + 1) // 2))
        for start in range(0, len(members), CHUNK_ROWS):
            part = rows.take(members[start : start + CHUNK_ROWS])
            at, weights = panel_interpolation(part.confounder[:, 0], left, left + width, order)
            weights = weights * part.indicator
            powers = np.stack([weights * part.indicator, weights])
            sums += apply_weights(powers, packed_products(part.b))
        nodes.append(at)
        squared.append(sums[0])
        linear.append(sums[1])
    return np.concatenate(nodes)[:, None], np.concatenate(squared), np.concatenate(linear)
