"""How well a network was recovered: scores over the pairs of variables j < k.

The diagonal never counts: in this package it holds intercepts, not edges. A ``truth`` is either a
Boolean adjacency matrix or a matrix such as Ω0 whose non-zero entries are the edges. Matrices are
taken to be symmetric, and only their upper triangle is read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn import metrics as sk

from plaggm.arguments import real_array

__all__ = [
    "PrecisionRecall",
    "PrecisionRecallCurve",
    "RocCurve",
    "average_precision",
    "best_path_auc",
    "edge_auc",
    "f1",
    "frobenius_error",
    "hamming",
    "mcc",
    "path_auc",
    "path_rates",
    "precision_recall",
    "precision_recall_curve_edges",
    "recovery_report",
    "roc_curve_edges",
    "sign_accuracy",
    "sup_error",
]


class RocCurve(NamedTuple):
    """False and true positive rates as the threshold on abs(score) falls."""

    fpr: np.ndarray
    tpr: np.ndarray
    thresholds: np.ndarray


class PrecisionRecall(NamedTuple):
    """Precision and recall of one estimated graph."""

    precision: float
    recall: float


class PrecisionRecallCurve(NamedTuple):
    """Precision and recall as the threshold on abs(score) rises."""

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
    size, edge = _sizes_and_edges(score, truth)
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
    """
    size, edge = _sizes_and_edges(score, truth)
    _check_two_classes(edge)
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
    """
    path = _path(omega_path)
    edge = _values(truth, path.shape[-1]) != 0.0
    _check_two_classes(edge)
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
    edge = _values(truth, _path(omega_path).shape[-1]) != 0.0
    if edge.all() or not edge.any():
        return float("nan")
    fpr, tpr = path_rates(omega_path, truth)
    fpr, tpr = np.r_[0.0, fpr, 1.0], np.r_[0.0, tpr, 1.0]
    order = np.lexsort((tpr, fpr))
    return float(sk.auc(fpr[order], tpr[order]))


def best_path_auc(omega_path: ArrayLike, truth: ArrayLike) -> float:
    """The largest `edge_auc` over a path; alpha is chosen by the truth, so it is what could be reached.

    Parameters
    ----------
    omega_path, truth : array_like
        See :func:`path_auc`.

    Returns
    -------
    float
        NaN if the truth has no edge, or no pair without one.
    """
    return max(edge_auc(omega, truth) for omega in _path(omega_path))


def precision_recall_curve_edges(score: ArrayLike, truth: ArrayLike) -> PrecisionRecallCurve:
    """Precision against recall when the pairs are ranked by abs(score).

    Parameters
    ----------
    score, truth : array_like of shape (p, p)
        The truth must have an edge and a pair without one.
    """
    size, edge = _sizes_and_edges(score, truth)
    _check_two_classes(edge)
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
    """
    size, edge = _sizes_and_edges(score, truth)
    return float(sk.average_precision_score(edge, size)) if edge.any() else float("nan")


def precision_recall(omega: ArrayLike, truth: ArrayLike) -> PrecisionRecall:
    """Share of estimated edges that are true, and share of true edges that were found.

    Parameters
    ----------
    omega : array_like of shape (p, p)
        Its non-zero entries are the estimated edges.
    truth : array_like of shape (p, p)

    Returns
    -------
    PrecisionRecall
        Precision is 0 if no edge was estimated, recall is 0 if there is none to find.
    """
    estimated, edge = _two_graphs(omega, truth)
    return PrecisionRecall(
        float(sk.precision_score(edge, estimated, zero_division=0.0)),
        float(sk.recall_score(edge, estimated, zero_division=0.0)),
    )


def f1(omega: ArrayLike, truth: ArrayLike) -> float:
    """Harmonic mean of precision and recall; 0 if neither graph has an edge."""
    estimated, edge = _two_graphs(omega, truth)
    return float(sk.f1_score(edge, estimated, zero_division=0.0))


def mcc(omega: ArrayLike, truth: ArrayLike) -> float:
    """Matthews' correlation of the two graphs' edges; 0 if one is empty or complete."""
    estimated, edge = _two_graphs(omega, truth)
    if estimated.min() == estimated.max() or edge.min() == edge.max():
        return 0.0
    return float(sk.matthews_corrcoef(edge, estimated))


def hamming(omega: ArrayLike, truth: ArrayLike) -> float:
    """Number of pairs that are joined in one graph and not in the other."""
    estimated, edge = _two_graphs(omega, truth)
    return float(np.count_nonzero(estimated != edge))


def frobenius_error(omega: ArrayLike, truth: ArrayLike) -> float:
    """Root of the summed squared errors of all off-diagonal entries (each pair counts twice).

    Parameters
    ----------
    omega, truth : array_like of shape (p, p)
        Here the truth is Ω0 with its values.
    """
    errors = _errors(omega, truth)
    largest = np.max(np.abs(errors))
    if largest == 0.0 or np.isinf(largest):
        return float(largest)
    # In units of the largest, since squares leave the range of floats long before errors do.
    return float(largest * np.sqrt(2.0 * np.sum((errors / largest) ** 2)))


def sup_error(omega: ArrayLike, truth: ArrayLike) -> float:
    """Largest absolute error of an off-diagonal entry; the truth is Ω0 with its values."""
    return float(np.max(np.abs(_errors(omega, truth))))


def sign_accuracy(omega: ArrayLike, truth: ArrayLike) -> float:
    """Share of the true edges whose estimate has the right sign; an estimate of 0 has not.

    Parameters
    ----------
    omega, truth : array_like of shape (p, p)
        Here the truth is Ω0 with its signs.

    Returns
    -------
    float
        NaN if the truth has no edge.
    """
    estimate, value = _two_values(omega, truth)
    edge = value != 0.0
    agrees = np.sign(estimate[edge]) == np.sign(value[edge])
    return float(np.mean(agrees)) if edge.any() else float("nan")


def recovery_report(omega: ArrayLike, truth: ArrayLike) -> dict[str, float]:
    """All scores of one estimate.

    Parameters
    ----------
    omega : array_like of shape (p, p)
        An estimated Ω0.
    truth : array_like of shape (p, p)
        The true Ω0. With a Boolean truth the scores that need values are left out.

    Returns
    -------
    dict
        ``n_edges``, ``n_true_edges``, ``auc``, ``average_precision``, ``precision``, ``recall``,
        ``f1``, ``mcc``, ``hamming``, and from the values ``sign_accuracy``, ``frobenius_error``
        and ``sup_error``.

    Examples
    --------
    >>> truth = np.array([[0, 0.4, 0], [0.4, 0, -0.2], [0, -0.2, 0]])
    >>> report = recovery_report(np.where(truth > 0, truth, 0), truth)
    >>> report["precision"], report["recall"], report["sup_error"]
    (1.0, 0.5, 0.2)
    """
    estimated, edge = _two_graphs(omega, truth)
    precision, recall = precision_recall(omega, truth)
    report = {
        "n_edges": float(estimated.sum()),
        "n_true_edges": float(edge.sum()),
        "auc": edge_auc(omega, truth),
        "average_precision": average_precision(omega, truth),
        "precision": precision,
        "recall": recall,
        "f1": f1(omega, truth),
        "mcc": mcc(omega, truth),
        "hamming": hamming(omega, truth),
    }
    if np.asarray(truth).dtype != np.bool_:
        report["sign_accuracy"] = sign_accuracy(omega, truth)
        report["frobenius_error"] = frobenius_error(omega, truth)
        report["sup_error"] = sup_error(omega, truth)
    return report


def _pairs(matrix: ArrayLike, name: str) -> np.ndarray:
    """The entries j < k of a finite square matrix, of shape (p (p - 1) / 2,)."""
    values = real_array(matrix, name)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or len(values) < 2:
        raise ValueError(
            f"{name} must be a square matrix over at least 2 variables; got shape {values.shape}."
        )
    pairs = values[np.triu_indices(len(values), k=1)]
    if not np.all(np.isfinite(pairs)):
        raise ValueError(
            f"{name} must be finite off the diagonal; "
            f"{np.count_nonzero(~np.isfinite(pairs))} pairs are NaN or infinite."
        )
    return pairs


def _path(omega_path: ArrayLike) -> np.ndarray:
    path = real_array(omega_path, "omega_path")
    if path.ndim != 3 or path.shape[1] != path.shape[2] or path.shape[0] == 0:
        raise ValueError(
            f"omega_path must have shape (n_alphas, p, p) with at least one alpha; got {path.shape}."
        )
    return path


def _values(truth: ArrayLike, p: int) -> np.ndarray:
    pairs = _pairs(truth, "truth")
    if pairs.size != p * (p - 1) // 2:
        raise ValueError(
            f"truth must be over the same {p} variables as the estimate; got shape {np.shape(truth)}."
        )
    return pairs


def _sizes_and_edges(score: ArrayLike, truth: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    values, true = _two_values(score, truth, "score")
    return np.abs(values), true != 0.0


def _two_graphs(omega: ArrayLike, truth: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    estimate, value = _two_values(omega, truth)
    return estimate != 0.0, value != 0.0


def _two_values(
    estimate: ArrayLike, truth: ArrayLike, name: str = "omega"
) -> tuple[np.ndarray, np.ndarray]:
    return _pairs(estimate, name), _values(truth, len(np.asarray(estimate)))


def _errors(omega: ArrayLike, truth: ArrayLike) -> np.ndarray:
    estimate, value = _two_values(omega, truth)
    with np.errstate(over="ignore"):
        return estimate - value


def _check_two_classes(edge: np.ndarray) -> None:
    if edge.all() or not edge.any():
        raise ValueError(
            f"truth must have an edge and a pair without one for a curve; "
            f"{int(edge.sum())} of its {edge.size} pairs are edges."
        )
