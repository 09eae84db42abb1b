"""Ranking of the pairs by a network: curves and the areas under them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn import metrics as sk

from plaggm.metrics.pairs import check_two_classes, checked_path, sizes_and_edges, true_values


class RocCurve(NamedTuple):
    """False and true positive rates as the threshold on abs(score) falls.

    Examples
    --------
    >>> curve = roc_curve_edges(
    ...     [[0, 0.2, 0], [0.2, 0, 0.1], [0, 0.1, 0]], [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    ... )
    >>> curve.fpr, curve.tpr
    (array([0. , 0. , 0.5, 1. ]), array([0., 1., 1., 1.]))
    """

    fpr: np.ndarray
    tpr: np.ndarray
    thresholds: np.ndarray


class PrecisionRecallCurve(NamedTuple):
    """Precision and recall as the threshold on abs(score) rises.

    Examples
    --------
    >>> truth = [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    >>> curve = precision_recall_curve_edges([[0, 0.2, 0], [0.2, 0, 0.1], [0, 0.1, 0]], truth)
    >>> curve.precision
    array([0.33333333, 0.5       , 1.        , 1.        ])
    """

    precision: np.ndarray
    recall: np.ndarray
    thresholds: np.ndarray


def edge_auc(score: ArrayLike, truth: ArrayLike) -> float:
    """Area under the ROC curve when the pairs are ranked by the size of their score.

    The probability that a random edge has a larger abs(score) than a random non-edge, ties
    counting one half.

    Parameters
    ----------
    score : array_like of shape (p, p)
        Any edge score: an estimated Ω, partial correlations, selection frequencies.
    truth : array_like of shape (p, p)
        Its non-zero entries are the true edges.

    Returns
    -------
    float
        NaN if the truth has no edge, or no pair without one.

    Examples
    --------
    >>> truth = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> edge_auc([[1.0, -0.4, 0.3], [-0.4, 1.0, 0.2], [0.3, 0.2, 1.0]], truth)
    0.5
    """
    size, edge = sizes_and_edges(score, truth)
    if edge.all() or not edge.any():
        return float("nan")
    return float(sk.roc_auc_score(edge, size))


def roc_curve_edges(score: ArrayLike, truth: ArrayLike) -> RocCurve:
    """The ROC curve whose area is `edge_auc`.

    Parameters
    ----------
    score, truth : array_like of shape (p, p)
        The truth must have an edge and a pair without one.

    Returns
    -------
    RocCurve
        Arrays of one length, from (0, 0) to (1, 1).

    Examples
    --------
    >>> truth = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> score = [[1.0, -0.4, 0.3], [-0.4, 1.0, 0.2], [0.3, 0.2, 1.0]]
    >>> roc_curve_edges(score, truth).tpr
    array([0. , 0.5, 0.5, 1. ])
    """
    size, edge = sizes_and_edges(score, truth)
    check_two_classes(edge)
    return RocCurve(*sk.roc_curve(edge, size, drop_intermediate=False))


def path_rates(omega_path: ArrayLike, truth: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """False and true positive rate of the support at each point of a regularisation path.

    Parameters
    ----------
    omega_path : array_like of shape (n_alphas, p, p)
    truth : array_like of shape (p, p)
        Must have an edge and a pair without one.

    Returns
    -------
    fpr, tpr : ndarray of shape (n_alphas,)

    Examples
    --------
    >>> truth = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> fpr, tpr = path_rates([np.zeros((3, 3)), 0.1 * truth, np.ones((3, 3))], truth)
    >>> fpr, tpr
    (array([0., 0., 1.]), array([0., 1., 1.]))
    """
    path = checked_path(omega_path)
    edge = true_values(truth, path.shape[-1]) != 0.0
    check_two_classes(edge)
    rows, columns = np.triu_indices(path.shape[-1], k=1)
    chosen = path[:, rows, columns] != 0.0
    return chosen[:, ~edge].mean(axis=1), chosen[:, edge].mean(axis=1)


def path_auc(omega_path: ArrayLike, truth: ArrayLike) -> float:
    """Area under the ROC points that the supports along a regularisation path trace.

    Every alpha gives one point (false positive rate, true positive rate) of its support, whatever
    the sizes of the entries. To these (0, 0) and (1, 1) are added; the points are sorted by false,
    then by true positive rate, joined by straight lines, and the area below is taken with the
    trapezoidal rule. No convex hull or upper envelope is formed, so a path that drops a true edge
    loses area. Beyond the densest support the curve goes straight to (1, 1), as if the remaining
    pairs were ranked at random.

    Parameters
    ----------
    omega_path : array_like of shape (n_alphas, p, p)
        Estimates in any order of alpha.
    truth : array_like of shape (p, p)

    Returns
    -------
    float
        NaN if the truth has no edge, or no pair without one.

    Examples
    --------
    >>> truth = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> path_auc([np.zeros((3, 3)), 0.1 * truth, np.ones((3, 3))], truth)
    1.0
    """
    edge = true_values(truth, checked_path(omega_path).shape[-1]) != 0.0
    if edge.all() or not edge.any():
        return float("nan")
    fpr, tpr = path_rates(omega_path, truth)
    fpr, tpr = np.r_[0.0, fpr, 1.0], np.r_[0.0, tpr, 1.0]
    order = np.lexsort((tpr, fpr))
    return float(sk.auc(fpr[order], tpr[order]))


def best_path_auc(omega_path: ArrayLike, truth: ArrayLike) -> float:
    """The largest `edge_auc` over a path, that is, at the alpha that the truth would choose.

    Parameters
    ----------
    omega_path, truth : array_like
        See :func:`path_auc`.

    Returns
    -------
    float
        NaN if the truth has no edge, or no pair without one.

    Examples
    --------
    >>> truth = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> best_path_auc([np.zeros((3, 3)), 0.1 * truth], truth)
    1.0
    """
    return max(edge_auc(omega, truth) for omega in checked_path(omega_path))


def precision_recall_curve_edges(score: ArrayLike, truth: ArrayLike) -> PrecisionRecallCurve:
    """Precision against recall when the pairs are ranked by abs(score).

    Parameters
    ----------
    score, truth : array_like of shape (p, p)
        The truth must have an edge and a pair without one.

    Examples
    --------
    >>> truth = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> score = [[1.0, -0.4, 0.3], [-0.4, 1.0, 0.2], [0.3, 0.2, 1.0]]
    >>> precision_recall_curve_edges(score, truth).recall
    array([1. , 0.5, 0.5, 0. ])
    """
    size, edge = sizes_and_edges(score, truth)
    check_two_classes(edge)
    return PrecisionRecallCurve(*sk.precision_recall_curve(edge, size))


def average_precision(score: ArrayLike, truth: ArrayLike) -> float:
    """Mean precision over the recalls that the ranking by abs(score) steps through.

    Parameters
    ----------
    score, truth : array_like of shape (p, p)

    Returns
    -------
    float
        NaN if the truth has no edge.

    Examples
    --------
    >>> truth = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> score = [[1.0, -0.4, 0.3], [-0.4, 1.0, 0.2], [0.3, 0.2, 1.0]]
    >>> average_precision(score, truth)
    0.83...
    """
    size, edge = sizes_and_edges(score, truth)
    return float(sk.average_precision_score(edge, size)) if edge.any() else float("nan")
