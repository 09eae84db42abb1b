"""Scores of the recovery of a network, over the pairs of variables j < k.

The diagonal never counts: in this package it holds intercepts, not edges. A ``truth`` is either a
Boolean adjacency matrix or a matrix such as Ω0 whose non-zero entries are the edges. Matrices are
taken to be symmetric, and only their upper triangle is read.
"""

from __future__ import annotations

from plaggm.metrics.graphs import (
    PrecisionRecall,
    f1,
    frobenius_error,
    hamming,
    mcc,
    precision_recall,
    recovery_report,
    sign_accuracy,
    sup_error,
)
from plaggm.metrics.rankings import (
    PrecisionRecallCurve,
    RocCurve,
    average_precision,
    best_path_auc,
    edge_auc,
    path_auc,
    path_rates,
    precision_recall_curve_edges,
    roc_curve_edges,
)

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
