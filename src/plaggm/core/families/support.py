r"""Share of a nuisance prior learnt under a Gaussian model that the binary likelihood supports.

The prior of the nuisance is first learnt as if columns were Gaussian. Products of columns with rare
categories vary more than those of Gaussian columns, and some of this variance is attributed to the
nuisance. With u_jk the mean of both regressions' scores of a pair's functions at a fit without R, and V_jk
their covariance and information, a prior covariance rho Sigma of the coefficients implies

    E[u' Sigma u] = tr(Sigma V) + rho tr(Sigma V Sigma V)

so that rho is estimated by moments over all pairs: one step of Fisher scoring from no nuisance. If it is
below one, the prior covariance is multiplied by it.
"""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.families.nodes import node_statistics, other_columns, weak_ridge
from plaggm.core.families.rows import FamilyRows
from plaggm.core.inference.pair_statistics import both
from plaggm.core.numerics.symmetric_inverse import inverse_within, symmetric_inverse
from plaggm.core.numerics.threads import single_threaded_blas, threads
from plaggm.core.spline.system import SplineSystem, spline_system

STEPS = 25
# Largest slope at which a node has converged.
TOL = 1e-8
# Largest change of a natural parameter in one step: with rare categories Newton steps overshoot.
LARGEST_MOVE = 4.0
# Smallest share, so that the prior has an inverse.
LEAST_SHARE = 0.01


def supported_share(rows: FamilyRows, rotation: Array, penalty: Array, n_threads: int = 1) -> float:
    """Factor rho, at most one, of a prior covariance of the nuisance.

    Parameters
    ----------
    rows : FamilyRows
        Binary variables, and at least one function.
    rotation : ndarray of shape (M, M)
        Functions in which the prior is diagonal = functions of the rows @ rotation.
    penalty : ndarray of shape (M,)
        Penalty of these functions for each sample, one over n times their prior variances.
    n_threads : int
        The result does not depend on it.
    """
    p, size = rows.p, len(penalty)
    scores, covariance = np.zeros((size, p, p)), np.zeros((size, size, p, p))
    with single_threaded_blas():
        working = rows.working(fit_without_nuisance(rows))

        def work(node: int) -> None:
            system = spline_system(node_statistics(rows, working, node), rotation)
            scores[:, node], covariance[:, :, node] = _scores(system, node)

        with threads(n_threads) as pool:
            pool.run(work, list(range(p)))
    root = 1.0 / np.sqrt(penalty)
    u = both(scores) * root[:, None]
    v = both(covariance) * np.multiply.outer(root, root)[:, :, None]
    # Moments are means over rows: u has variance v / n, and the prior variances are 1 / (n penalty).
    excess = rows.n * np.sum(u**2) - np.einsum("aax->", v)
    expected = max(float(np.sum(v**2)), np.finfo(float).tiny)
    return float(np.clip(excess / expected, LEAST_SHARE, 1.0))


def fit_without_nuisance(rows: FamilyRows) -> Array:
    """Predictors of every node's regression on the others and the functions, without R: shape (n, p)."""
    p = rows.p
    design = np.column_stack([rows.b, rows.phi])
    ridge = weak_ridge(rows.columns, rows.n)
    coefficients = np.zeros((design.shape[1], p))
    coefficients[p] = rows.columns.mean_responses(rows.x)
    eta = np.tile(coefficients[p], (len(design), 1))
    unfinished = list(range(p))
    for _ in range(STEPS):
        slopes, weights = rows.columns.slopes(rows.x, eta)
        remaining = []
        for node in unfinished:
            others = np.delete(np.arange(design.shape[1]), node)
            table = design[:, others]
            penalty = np.full(len(others), ridge[node])
            penalty[p - 1] = 0.0  # the intercept has no prior
            gram = table.T @ ((rows.counts * weights[:, node])[:, None] * table) / rows.n
            slope = table.T @ (rows.counts * slopes[:, node]) / rows.n
            slope -= penalty * coefficients[others, node]
            step = symmetric_inverse(gram + np.diag(penalty)) @ slope
            furthest = float(np.max(np.abs(table @ step)))
            limit = LARGEST_MOVE * rows.columns.scale[node]
            coefficients[others, node] += min(1.0, limit / max(furthest, limit)) * step
            eta[:, node] = table @ coefficients[others, node]
            if np.max(np.abs(slope)) > TOL:
                remaining.append(node)
        unfinished = remaining
        if not unfinished:
            break
    return eta


def _scores(system: SplineSystem, node: int) -> tuple[Array, Array]:
    """Scores of one node's functions at zero, and their information given all other coefficients.

    Returns
    -------
    scores : ndarray of shape (M, p)
    information : ndarray of shape (M, M, p)
        Both zero for the node's own column.
    """
    p, q, size = system.p, system.q, system.functions
    table, inner = system.c.reshape(size, q, q), system.h.reshape(size, q, size, q)
    base = np.zeros((q + size, q + size))
    base[:q, :q] = system.bb
    base[q:, :q], base[:q, q:] = table[:, q - 1], table[:, q - 1].T
    base[q:, q:] = inner[:, q - 1, :, q - 1]
    others = np.append(other_columns(1, q, node), np.ones(size, dtype=np.bool_))
    inverse = inverse_within(base, others)
    # Products of every function and variable with [Z, 1, functions].
    beside = np.concatenate([table, inner[:, :, :, q - 1]], axis=2)[:, :p]
    slopes = beside @ inverse
    scores = table[:, :p, node] - slopes @ np.append(system.bb[:, node], table[:, q - 1, node])
    own = np.einsum("akbk->abk", inner[:, :p, :, :p])
    information = own - np.einsum("akd,bkd->abk", slopes, beside)
    scores[:, node], information[:, :, node] = 0.0, 0.0
    return scores, information
