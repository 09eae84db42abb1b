"""What no result may be, whatever the input was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

# Rounding of a matrix product of a few dozen terms.
ROUNDING = 1e-9
SHARES = ("p_value", "q_value", "change_p_value", "change_q_value", "stability")
FINITE = ("location_", "scale_", "omega_", "precision_", "partial_correlation_")
MAYBE = (
    *("alpha_", "threshold_", "bandwidth_", "tau_", "dual_gap_", "dual_gaps_", "nuisance_df_"),
    *("alphas_", "cv_loss_", "cv_standard_error_"),
)


def in_model(model: Any) -> Iterator[str]:
    """What is impossible about a fitted estimator."""
    # Where the graphical lasso fails for some penalties, their losses are missing and reasons are kept.
    further = [
        name for name in MAYBE if not (name.startswith("cv_") and getattr(model, "failures_", {}))
    ]
    known = {name: getattr(model, name, None) for name in (*FINITE, *further)}
    bad = [text for name, value in known.items() for text in not_finite(value, name)]
    if bad:
        yield "; ".join(bad)
        return
    yield from in_network(model.omega_, model.partial_correlation_, model.scale_)
    p = len(model.omega_)
    if (
        np.abs(model.precision_ - model.precision_.T).max()
        > ROUNDING * np.abs(model.precision_).max()
    ):
        yield "precision_ is asymmetric"
    declared = model.adjacency_
    if declared.dtype != np.bool_ or declared.diagonal().any() or (declared != declared.T).any():
        yield "adjacency_ is asymmetric or has a variable beside itself"
    if np.abs(np.diagonal(model.partial_correlation_) - 1.0).max() > ROUNDING:
        yield "the diagonal of partial_correlation_ is not one"
    if model.alpha_ < 0.0:
        yield f"alpha_ is {model.alpha_}"
    stability = getattr(model, "edge_stability_", None)
    if stability is not None:
        yield from in_stability(stability)
    path = getattr(model, "omega_path_", None)
    if path is not None and path.shape[1:] != (p, p):
        yield f"omega_path_ has shape {path.shape}"


def in_network(omega: Any, correlation: Any, scale: Any) -> Iterator[str]:
    """What is impossible about estimates, partial correlations and scales."""
    p = len(omega)
    if omega.shape != (p, p) or correlation.shape != (p, p) or np.shape(scale) != (p,):
        yield f"shapes {omega.shape}, {correlation.shape} and {np.shape(scale)}"
        return
    if not np.abs(omega - omega.T).max() <= ROUNDING * max(1.0, np.abs(omega).max()):
        yield f"omega is asymmetric by {np.abs(omega - omega.T).max():.3g}"
    # Estimates may lie beyond one where variables determine each other, which is warned of.
    if not np.abs(correlation).max() <= 1.0 + ROUNDING:
        yield f"a partial correlation of {np.abs(correlation).max():.6g}"
    if not (np.asarray(scale) > 0.0).all():
        yield f"a scale of {np.min(scale):.3g}"


def in_stability(stability: Any) -> Iterator[str]:
    """What is impossible about shares of resamples."""
    if not ((stability >= 0.0) & (stability <= 1.0)).all():
        yield f"stability between {np.min(stability):.3g} and {np.max(stability):.3g}"


def in_result(result: Any) -> Iterator[str]:
    """What is impossible about a stored result."""
    names = ("omega", "location", "scale", "alpha", "alphas")
    bad = [text for name in names for text in not_finite(getattr(result, name), name)]
    # NaN is the threshold of a confounder that has none.
    if result.threshold is not None and np.isinf(result.threshold).any():
        bad.append("threshold holds infinity")
    if bad:
        yield "; ".join(bad)
        return
    yield from in_network(result.omega, result.partial_correlation, result.scale)
    if result.stability is not None:
        yield from in_stability(result.stability)


def in_edges(edges: pd.DataFrame) -> Iterator[str]:
    """What is impossible about a table of edges."""
    sizes = edges["partial_correlation"].abs()
    if not (sizes <= 1.0 + ROUNDING).all():
        yield f"a partial correlation of {sizes.max():.6g} among the edges"
    yield from in_tests(edges)


def in_tests(table: pd.DataFrame) -> Iterator[str]:
    """What is impossible about tests of pairs; missing values say that there is no test."""
    for column in table.columns.intersection(SHARES):
        if not table[column].dropna().between(0.0, 1.0).all():
            yield f"{column} outside [0, 1]"
    for column in table.columns.intersection(("estimate", "standard_error", "low", "high")):
        infinite = np.isinf(table[column].to_numpy(dtype=np.float64))
        if column == "standard_error" and "p_value" in table:
            # Of a pair that no row observes, which has no test.
            infinite &= table["p_value"].to_numpy() < 1.0
        if infinite.any():
            yield f"{column} holds infinity"
    if "low" in table:
        known = table.dropna(subset=["low", "high", "estimate", "standard_error"])
        if not (known["low"] <= known["high"]).all() or not (known["standard_error"] >= 0.0).all():
            yield "an interval that ends before it begins"
        if not (known["estimate"].abs() <= 1.0 + ROUNDING).all():
            yield f"a tested partial correlation of {known['estimate'].abs().max():.6g}"


def not_finite(value: Any, name: str) -> Iterator[str]:
    """Whether a number or an array holds NaN or infinity; nothing about None."""
    if value is None:
        return
    numbers = np.asarray(value, dtype=np.float64)
    if not np.isfinite(numbers).all():
        yield f"{name} holds {'NaN' if np.isnan(numbers).any() else 'infinity'}"


def differences(first: Any, second: Any, names: tuple[str, ...]) -> Iterator[str]:
    """Attributes in which two results differ."""
    for name in names:
        one, other = getattr(first, name), getattr(second, name)
        same = one is other or (
            one is not None
            and other is not None
            and np.array_equal(np.asarray(one), np.asarray(other), equal_nan=_holds_floats(one))
        )
        if not same:
            yield f"{name} differs from what was saved"


def _holds_floats(value: Any) -> bool:
    return np.asarray(value).dtype.kind == "f"
