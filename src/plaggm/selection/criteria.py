"""AIC, BIC and EBIC of the pseudo-likelihood."""

from __future__ import annotations

from typing import Literal

import numpy as np

from plaggm.array_types import Array
from plaggm.core.grams.node_grams import GramMatrices, path_residuals
from plaggm.core.variance.conditional import log_losses

Criterion = Literal["aic", "bic", "ebic"]


def information_criterion(
    node_grams: GramMatrices,
    omega_path: Array,
    criterion: Criterion,
    *,
    known_variance: bool,
    gamma: float = 0.5,
) -> Array:
    """Criterion of every estimate of a path; smaller is better.

    Minus twice the log pseudo-likelihood (sum of squares for a known unit variance, otherwise the sum over
    nodes of the log residual variance times the samples that the smoother leaves) plus, for each non-zero
    pair, each intercept and each degree of freedom of the smoother, 2 (AIC) or log n (BIC); EBIC adds
    4 gamma log p for each pair. The term of the smoother is constant along a path and does not affect the
    choice.

    Parameters
    ----------
    node_grams : GramMatrices
    omega_path : ndarray of shape (n_alphas, p, p)
    criterion : {"aic", "bic", "ebic"}
    known_variance : bool
        Whether the conditional variances are known to be one.
    gamma : float
        EBIC's weight of the number of possible networks.

    Returns
    -------
    ndarray of shape (n_alphas,)
    """
    n = node_grams.n
    spent = float(np.sum(node_grams.smoother_trace))
    if known_variance:
        fit = n * path_residuals(node_grams, omega_path).sum(axis=1)
    else:
        fit = log_losses(node_grams, omega_path)
    return priced(fit, omega_path, n, criterion, gamma, spent)


def priced(
    fit: Array, omega_path: Array, n: int, criterion: Criterion, gamma: float, spent: float
) -> Array:
    """An information criterion from minus twice the log pseudo-likelihood of every step.

    Parameters
    ----------
    fit : ndarray of shape (n_alphas,)
    omega_path : ndarray of shape (n_alphas, p, p)
    n : int
        Rows.
    criterion, gamma
        See :func:`information_criterion`.
    spent : float
        Degrees of freedom of the smoother.

    Returns
    -------
    ndarray of shape (n_alphas,)
    """
    p = omega_path.shape[1]
    edges = np.count_nonzero(np.triu(omega_path, 1), axis=(1, 2))
    price = 2.0 if criterion == "aic" else np.log(n)
    values: Array = fit + price * (edges + p + spent)
    if criterion == "ebic":
        values += 4.0 * gamma * np.log(p) * edges
    return values
