"""Agreement of an estimated graph with the true one, in its edges and in their values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn import metrics as sk

from plaggm.metrics.pairs import errors_of, two_graphs, two_values
from plaggm.metrics.rankings import average_precision, edge_auc


class PrecisionRecall(NamedTuple):
    """Precision and recall of one estimated graph.

    Examples
    --------
    >>> found = precision_recall([[0, 1], [1, 0]], [[0, 1], [1, 0]])
    >>> found.precision, found.recall
    (1.0, 1.0)
    """

    precision: float
    recall: float


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

    Examples
    --------
    >>> truth = np.array([[0, 0.4, 0], [0.4, 0, -0.2], [0, -0.2, 0]])
    >>> omega = np.where(truth > 0, truth, 0)
    >>> precision_recall(omega, truth)
    PrecisionRecall(precision=1.0, recall=0.5)
    """
    estimated, edge = two_graphs(omega, truth)
    return PrecisionRecall(
        float(sk.precision_score(edge, estimated, zero_division=0.0)),
        float(sk.recall_score(edge, estimated, zero_division=0.0)),
    )


def f1(omega: ArrayLike, truth: ArrayLike) -> float:
    """Harmonic mean of precision and recall; 0 if neither graph has an edge.

    Examples
    --------
    >>> truth = np.array([[0, 0.4, 0], [0.4, 0, -0.2], [0, -0.2, 0]])
    >>> omega = np.where(truth > 0, truth, 0)
    >>> f1(omega, truth)
    0.66...
    """
    estimated, edge = two_graphs(omega, truth)
    return float(sk.f1_score(edge, estimated, zero_division=0.0))


def mcc(omega: ArrayLike, truth: ArrayLike) -> float:
    """Matthews' correlation of the two graphs' edges; 0 if one is empty or complete.

    Examples
    --------
    >>> truth = np.array([[0, 0.4, 0], [0.4, 0, -0.2], [0, -0.2, 0]])
    >>> omega = np.where(truth > 0, truth, 0)
    >>> mcc(omega, truth)
    0.5
    """
    estimated, edge = two_graphs(omega, truth)
    if estimated.min() == estimated.max() or edge.min() == edge.max():
        return 0.0
    return float(sk.matthews_corrcoef(edge, estimated))


def hamming(omega: ArrayLike, truth: ArrayLike) -> float:
    """Number of pairs that are joined in one graph and not in the other.

    Examples
    --------
    >>> truth = np.array([[0, 0.4, 0], [0.4, 0, -0.2], [0, -0.2, 0]])
    >>> omega = np.where(truth > 0, truth, 0)
    >>> hamming(omega, truth)
    1.0
    """
    estimated, edge = two_graphs(omega, truth)
    return float(np.count_nonzero(estimated != edge))


def frobenius_error(omega: ArrayLike, truth: ArrayLike) -> float:
    """Root of the summed squared errors of all off-diagonal entries (each pair counts twice).

    Parameters
    ----------
    omega, truth : array_like of shape (p, p)
        Here the truth is Ω0 with its values.

    Examples
    --------
    >>> truth = np.array([[0, 0.4, 0], [0.4, 0, -0.2], [0, -0.2, 0]])
    >>> omega = np.where(truth > 0, truth, 0)
    >>> frobenius_error(omega, truth)
    0.28...
    """
    errors = errors_of(omega, truth)
    largest = np.max(np.abs(errors))
    if largest == 0.0 or np.isinf(largest):
        return float(largest)
    # In units of the largest, since squares leave the range of floats long before errors do.
    return float(largest * np.sqrt(2.0 * np.sum((errors / largest) ** 2)))


def sup_error(omega: ArrayLike, truth: ArrayLike) -> float:
    """Largest absolute error of an off-diagonal entry; the truth is Ω0 with its values.

    Examples
    --------
    >>> truth = np.array([[0, 0.4, 0], [0.4, 0, -0.2], [0, -0.2, 0]])
    >>> omega = np.where(truth > 0, truth, 0)
    >>> sup_error(omega, truth)
    0.2
    """
    return float(np.max(np.abs(errors_of(omega, truth))))


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

    Examples
    --------
    >>> truth = np.array([[0, 0.4, 0], [0.4, 0, -0.2], [0, -0.2, 0]])
    >>> omega = np.where(truth > 0, truth, 0)
    >>> sign_accuracy(omega, truth)
    0.5
    """
    estimate, value = two_values(omega, truth)
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
    estimated, edge = two_graphs(omega, truth)
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
