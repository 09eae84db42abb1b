"""The pairs j < k of matrices over the same variables, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from plaggm.arguments import real_array


def upper_pairs(matrix: ArrayLike, name: str) -> np.ndarray:
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


def checked_path(omega_path: ArrayLike) -> np.ndarray:
    """A path of networks with at least one penalty: shape (n_alphas, p, p)."""
    path = real_array(omega_path, "omega_path")
    if path.ndim != 3 or path.shape[1] != path.shape[2] or path.shape[0] == 0:
        raise ValueError(
            f"omega_path must have shape (n_alphas, p, p) with at least one alpha; got {path.shape}."
        )
    return path


def true_values(truth: ArrayLike, p: int) -> np.ndarray:
    """The pairs of a truth over p variables."""
    pairs = upper_pairs(truth, "truth")
    if pairs.size != p * (p - 1) // 2:
        raise ValueError(
            f"truth must be over the same {p} variables as the estimate; got shape {np.shape(truth)}."
        )
    return pairs


def sizes_and_edges(score: ArrayLike, truth: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Absolute scores of the pairs, and which are edges of the truth."""
    values, true = two_values(score, truth, "score")
    return np.abs(values), true != 0.0


def two_graphs(omega: ArrayLike, truth: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Which pairs are edges of the estimate, and of the truth."""
    estimate, value = two_values(omega, truth)
    return estimate != 0.0, value != 0.0


def two_values(
    estimate: ArrayLike, truth: ArrayLike, name: str = "omega"
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of an estimate and of the truth."""
    return upper_pairs(estimate, name), true_values(truth, len(np.asarray(estimate)))


def errors_of(omega: ArrayLike, truth: ArrayLike) -> np.ndarray:
    """Estimate minus truth, pair by pair."""
    estimate, value = two_values(omega, truth)
    with np.errstate(over="ignore"):
        return estimate - value


def check_two_classes(edge: np.ndarray) -> None:
    """Refuse a truth without edge, or without a pair that is none."""
    if edge.all() or not edge.any():
        raise ValueError(
            f"truth must have an edge and a pair without one for a curve; "
            f"{int(edge.sum())} of its {edge.size} pairs are edges."
        )
