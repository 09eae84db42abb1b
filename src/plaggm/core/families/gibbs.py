r"""Gibbs sampling of networks whose nodes are Gaussian, binary or counts given the others.

Given the others, node j has natural parameter :math:`\theta_j + \sum_k \Omega_{jk} t_k(x_k)`, where t(x) is
the form in which a value enters other predictors (:mod:`plaggm.core.families.distributions`). Means of over-dispersed
counts are multiplied by a gamma variable with mean one. Every row is the last state of a separate chain
with its own seed, so that rows are independent and do not depend on chunks. Random numbers come from
numba's generator, which is seeded in the compiled loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.families.distributions import CODES
from plaggm.core.numerics.compiled import compiled
from plaggm.parameter_types import FamilyName

# Sweeps over all nodes of each chain.
SWEEPS = 100
# Larger logarithms of a count's mean are clipped.
LARGEST_LOG_MEAN = 12.0


def gibbs_rows(
    omega: Array,
    intercepts: Array,
    which: Index,
    families: Sequence[FamilyName],
    centres: Array,
    dispersion: Array,
    seeds: Index,
    sweeps: int = SWEEPS,
) -> Array:
    """Draw one row for each entry of ``which``.

    Parameters
    ----------
    omega : ndarray of shape (k, p, p)
        Couplings of k networks in units of the natural parameter; diagonals are not read.
    intercepts : ndarray of shape (k, p)
    which : ndarray of int of shape (n,)
        Network of every row.
    families : sequence of str
        Family of every node.
    centres : ndarray of shape (p,)
        Centres of the counts (m in :mod:`plaggm.core.families.distributions`), at which chains start.
    dispersion : ndarray of shape (p,)
        Variance of the gamma variable of every count; zero for Poisson counts.
    seeds : ndarray of int of shape (n,)
        Seed of every row, from 0 to 2**32 - 1.
    sweeps : int, default=100

    Returns
    -------
    ndarray of shape (n, p)

    Examples
    --------
    >>> coupled = np.array([[[0.0, 3.0], [3.0, 0.0]]])
    >>> start, rows = np.full((1, 2), -1.5), np.arange(1000)
    >>> half, none = np.full(2, 0.5), np.zeros(2)
    >>> x = gibbs_rows(coupled, start, 0 * rows, ["binomial"] * 2, half, none, rows)
    >>> bool(np.corrcoef(x.T)[0, 1] > 0.5)
    True
    """
    codes = np.array([CODES[name] for name in families], dtype=np.int64)
    out = np.empty((len(which), len(codes)))
    _draw(
        np.ascontiguousarray(omega),
        np.ascontiguousarray(intercepts),
        np.asarray(which, dtype=np.int64),
        codes,
        np.asarray(centres, dtype=np.float64),
        np.asarray(dispersion, dtype=np.float64),
        np.asarray(seeds, dtype=np.int64),
        sweeps,
        out,
    )
    return out


@compiled(inline=True)
def _neighbour(x: float, code: int, centre: float) -> float:
    """A value as it enters other predictors; see :meth:`plaggm.core.families.distributions.Family.neighbour`."""
    if code == 2:
        return float(centre + (1.0 + centre) * (np.log1p(x) - np.log1p(centre)))
    return x


@compiled(inline=True)
def _value(eta: float, code: int, dispersion: float) -> float:
    """A value of a node with natural parameter eta."""
    if code == 1:
        return 1.0 if np.random.random() * (1.0 + np.exp(-eta)) < 1.0 else 0.0  # noqa: NPY002
    if code == 2:
        mean = np.exp(min(eta, LARGEST_LOG_MEAN))
        if dispersion > 0.0:
            mean *= np.random.gamma(1.0 / dispersion, dispersion)  # noqa: NPY002
        return float(np.random.poisson(mean))  # noqa: NPY002
    return eta + np.random.standard_normal()  # noqa: NPY002


@compiled()
def _draw(
    omega: Array,
    intercepts: Array,
    which: Index,
    codes: Index,
    centres: Array,
    dispersion: Array,
    seeds: Index,
    sweeps: int,
    out: Array,
) -> None:
    """Fill ``out`` (n, p) with rows; see :func:`gibbs_rows`."""
    n, p = out.shape
    seen = np.empty(p)
    for i in range(n):
        np.random.seed(seeds[i])  # noqa: NPY002
        network, base = omega[which[i]], intercepts[which[i]]
        for j in range(p):
            seen[j] = centres[j]
        for _ in range(sweeps):
            for j in range(p):
                eta = base[j] - network[j, j] * seen[j]
                for k in range(p):
                    eta += network[j, k] * seen[k]
                out[i, j] = _value(eta, codes[j], dispersion[j])
                seen[j] = _neighbour(out[i, j], codes[j], centres[j])
