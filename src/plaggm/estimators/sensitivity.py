"""Sensitivity of the network to the threshold g*, and tests of thresholds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.base import clone

from plaggm.array_types import Array
from plaggm.core.confounding.confounding_test import confounding_test
from plaggm.core.confounding.rows import UntestableError
from plaggm.core.inference.spline_inference import baseline_disagreement
from plaggm.data import Confounder, ConfounderLike, TableLike, as_confounder, as_positive, as_table
from plaggm.estimators.plaggm import PLAGGM
from plaggm.estimators.plaggm_cv import PLAGGMCV
from plaggm.estimators.spline_model import SplineModel
from plaggm.estimators.threshold_choice import thresholds_fit

QUANTILES = np.arange(0.1, 0.91, 0.1)
# Level of the test of confounding among the samples below a threshold.
LEVEL = 0.05


def threshold_sensitivity(
    X: TableLike,
    confounder: ConfounderLike,
    *,
    thresholds: Sequence[float] | Sequence[Sequence[float]] | Array | None = None,
    estimator: PLAGGM | None = None,
) -> pd.DataFrame:
    r"""Fit the network at several thresholds and compare.

    A threshold below the true g* costs precision, one above it treats confounded samples as unconfounded.
    Two statistics detect the latter: a test of whether the network changes with the confounder among the
    samples below the threshold (``p_value``), and the difference between the estimate from all samples and
    that from these samples alone, in standard errors (``disagreement``). The data do not contradict
    thresholds up to the largest one with ``agrees``.

    Parameters
    ----------
    X : array or DataFrame of shape (n, p)
        Variables, one row for each sample.
    confounder : array, Series or DataFrame of shape (n,) or (n, m)
        Confounders of the same rows.
    thresholds : array of shape (k,) or (k, m), optional
        Thresholds in the confounder's units; by default the deciles of the absolute confounder.
    estimator : PLAGGM or PLAGGMCV, optional
        Estimator to fit, by default ``PLAGGMCV()``, with ``reference="zero"``. The other thresholds are
        compared with its ``threshold``.

    Returns
    -------
    DataFrame
        One row for each threshold, smallest first, with the columns

        - ``threshold`` (with several confounders ``threshold`` and the name of each);
        - ``chosen``: whether it is the estimator's own;
        - ``n_below``, ``share_below``: samples within the threshold;
        - ``edges``: number of edges of the network;
        - ``distance``: Frobenius norm of the difference from the network at the estimator's own threshold,
          relative to the norm of the latter;
        - ``jaccard``: edges in common with that network, as a share of all edges of both;
        - ``disagreement``: root mean square over the pairs of the difference between the estimate from
          all samples and that from the samples below, both without lasso, in standard errors: about one
          where they agree. NaN for the kernel and where the samples below are too few;
        - ``lack_of_fit``: minus twice the restricted log-likelihood, relative to that of the best
          threshold and divided by the dispersion of heavy-tailed rows, by which ``threshold="auto"``
          chooses. NaN for the kernel and if the samples are too few;
        - ``p_value``: of :func:`plaggm.confounding_test` among the samples below; NaN where they are
          too few;
        - ``agrees``: whether the p-value is not below 0.05 here and at all smaller thresholds.

    Examples
    --------
    >>> from plaggm import PLAGGM, threshold_sensitivity
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(5, n=800, seed=0, even=True, threshold=100.0, confounder="uniform")
    >>> table = threshold_sensitivity(
    ...     data.x,
    ...     data.confounder,
    ...     thresholds=[50.0, 350.0],
    ...     estimator=PLAGGM(0.05, threshold=50.0),
    ... )
    >>> table["agrees"].tolist()
    [True, False]
    """
    x, _ = as_table(X)
    checked = as_confounder(confounder, X, len(x))
    model = PLAGGMCV() if estimator is None else estimator
    if not isinstance(model, PLAGGM):
        raise ValueError(
            f"estimator must be a PLAGGM or a PLAGGMCV; got {type(model).__name__}, whose fit has no "
            "threshold to vary."
        )
    if any(checked.factors):
        factor = checked.names[checked.factors.index(True)]
        raise ValueError(f"{factor!r} is a factor, and factors have no threshold to vary.")
    if not (isinstance(model.reference, str) and model.reference in ("auto", "zero")):
        raise ValueError(
            "A threshold is the distance from zero up to which there is no distortion; the estimator "
            f"has reference={model.reference!r}. Use reference='zero'."
        )
    model = clone(model).set_params(reference="zero")
    chosen = clone(model).fit(X, confounder=confounder)
    own = np.atleast_1d(np.asarray(chosen.threshold_, dtype=np.float64))
    limits = _limits(thresholds, checked)
    limits = limits[~np.all(np.isclose(limits, own), axis=1)]
    rows = [_row(x, checked, own, chosen, chosen)]
    for limit in limits:
        fitted = clone(model).set_params(threshold=limit if len(own) > 1 else float(limit[0]))
        fitted.fit(X, confounder=confounder)
        rows.append(_row(x, checked, limit, fitted, chosen))
    if model.smoother == "spline":
        inflation = model.variance == "function"
        every = np.concatenate([own[None], limits])
        fits = thresholds_fit(x, checked, every, variance_function=inflation)
        rows = [row | {"lack_of_fit": fit} for row, fit in zip(rows, fits.tolist(), strict=True)]
    frame = pd.DataFrame(rows).sort_values(["n_below", *_columns(checked)], ignore_index=True)
    frame["agrees"] = (~(frame["p_value"] < LEVEL)).cummin()
    return frame


def _columns(confounder: Confounder) -> list[str]:
    names = confounder.names
    return ["threshold"] if len(names) == 1 else [f"threshold {name}" for name in names]


def _limits(
    thresholds: Sequence[float] | Sequence[Sequence[float]] | Array | None, confounder: Confounder
) -> Array:
    """Thresholds as (k, m), each row checked."""
    if thresholds is None:
        return np.unique(np.quantile(np.abs(confounder.values), QUANTILES, axis=0), axis=0)
    if isinstance(thresholds, str) or np.ndim(thresholds) not in (1, 2) or not len(thresholds):
        raise ValueError(
            "thresholds must be a list of numbers, or of one number for each confounder; got "
            f"{thresholds!r}."
        )
    return np.stack(
        [as_positive(limit, "thresholds", confounder.names, zero=True) for limit in thresholds]
    )


def _row(
    x: Array, confounder: Confounder, limit: Array, fitted: PLAGGM, chosen: PLAGGM
) -> dict[str, object]:
    below = np.all(np.abs(confounder.values) <= limit, axis=1)
    upper = np.triu_indices(x.shape[1], 1)
    found, reference = fitted.omega_[upper], chosen.omega_[upper]
    edges, known = found != 0.0, reference != 0.0
    either = np.count_nonzero(edges | known)
    return {
        **dict(zip(_columns(confounder), limit.tolist(), strict=True)),
        "chosen": fitted is chosen,
        "n_below": int(below.sum()),
        "share_below": float(below.mean()),
        "edges": int(edges.sum()),
        "distance": _relative(found - reference, reference),
        "jaccard": np.count_nonzero(edges & known) / either if either else 1.0,
        "disagreement": _disagreement(x[below], fitted),
        "lack_of_fit": np.nan,
        "p_value": _change_below(x[below], confounder.values[below]),
    }


def _relative(change: Array, reference: Array) -> float:
    moved, size = float(np.linalg.norm(change)), float(np.linalg.norm(reference))
    if size == 0.0:
        return 0.0 if moved == 0.0 else np.inf
    return moved / size


def _disagreement(below: Array, fitted: PLAGGM) -> float:
    problem = fitted._network.problem
    if not isinstance(problem.model, SplineModel):
        return np.nan
    profiler = problem.model.profiler
    return baseline_disagreement(profiler.system, profiler.fit, problem.units.table(below))


def _change_below(below: Array, confounder: Array) -> float:
    """P-value of a change of the network with the confounders among some samples."""
    try:
        return confounding_test(below, confounder, np.zeros(confounder.shape[1])).p_value
    except UntestableError:
        return np.nan
