"""The fits of ``plaggm fit``: networks with and without adjustment, and the stability of edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from plaggm.array_types import Array, Index, Mask
from plaggm.cli.confounder_kinds import reference_of
from plaggm.cli.option_values import as_numbers
from plaggm.cli.samples import Samples
from plaggm.cli.settings import FitSettings
from plaggm.cli.variable_families import family_choice, positional
from plaggm.data.norm_index import norm_index
from plaggm.estimators import PLAGGM, PLAGGMCV
from plaggm.parameter_types import Missing
from plaggm.result import GraphResult
from plaggm.selection import HalfSamples
from plaggm.user_warnings import collected_warnings


@dataclass(frozen=True, slots=True)
class Networks:
    """The networks of the same samples without and with adjustment.

    Attributes
    ----------
    before : GraphResult or None
        None where there is no confounder to adjust for.
    after : GraphResult
    """

    before: GraphResult | None
    after: GraphResult


def fit_unadjusted(samples: Samples, settings: FitSettings) -> GraphResult:
    """The network without adjustment, its penalty chosen by the same rule."""
    return plain_model(samples, settings).to_result()


def plain_model(samples: Samples, settings: FitSettings) -> PLAGGMCV:
    """The model without confounder."""
    model = PLAGGMCV(
        **_declared(settings),
        criterion=settings.criterion,
        one_se=settings.one_se,
        random_state=settings.seed,
        n_jobs=settings.cores,
    )
    return model.fit(samples.x, runs=samples.runs)


def fit_adjusted(samples: Samples, settings: FitSettings) -> PLAGGMCV:
    """The model with the confounder, where there is one."""
    if samples.confounder.empty:
        return plain_model(samples, settings)
    confounder, threshold = _entering(samples, settings)
    model = PLAGGMCV(
        **_declared(settings),
        criterion=settings.criterion,
        one_se=settings.one_se,
        threshold=threshold,
        **_kinds(confounder, settings),
        **_smoothing(settings),
        random_state=settings.seed,
        n_jobs=settings.cores,
    )
    return model.fit(samples.x, confounder=confounder, runs=samples.runs)


def _entering(samples: Samples, settings: FitSettings) -> tuple[pd.DataFrame, Any]:
    """Confounders as they enter the model, and their thresholds."""
    threshold = as_numbers(settings.threshold)
    if settings.combine == "norm":
        return norm_index(samples.confounder, threshold)
    return samples.confounder, threshold


def _smoothing(settings: FitSettings) -> dict[str, Any]:
    """Parameters of the spline or of the kernel."""
    if settings.smoother == "spline":
        chosen: dict[str, Any] = {} if settings.tau is None else {"tau": settings.tau}
    else:
        chosen = {
            name: getattr(settings, name) for name in ("indicator", "form", "kernel", "ridge")
        }
        chosen["bandwidth"] = as_numbers(settings.bandwidth)
    return {"smoother": settings.smoother, **chosen}


def _scaling(settings: FitSettings) -> dict[str, Any]:
    """Parameters about conditional variances and units, which only the Gaussian family has."""
    if settings.family:
        return {}
    return {"variance": settings.variance, "standardize": settings.standardize == "yes"}


def _declared(settings: FitSettings) -> dict[str, Any]:
    """Parameters of the estimator that apply with and without a confounder."""
    rate = {} if settings.fdr is None else {"fdr": settings.fdr}
    return {
        "edges": settings.edges,
        "temporal": settings.series,
        "robust": settings.robust,
        "margins": settings.margins,
        "family": family_choice(settings.family),
        "missing": _missing(settings),
        **_scaling(settings),
        **rate,
    }


def _missing(settings: FitSettings) -> Missing:
    """The estimator's parameter ``missing``; other treatments are applied before it is called."""
    return "em" if settings.missing == "em" else "refuse"


def with_stability(
    model: PLAGGMCV,
    samples: Samples,
    settings: FitSettings,
    show: Callable[[float], None] = lambda share: None,
) -> GraphResult:
    """The result with the share of random half-samples in which the penalty keeps each pair.

    Every half is fitted at the penalty, threshold and bandwidth of the whole. The penalty of the spline is
    chosen anew in each half unless the settings give one. See :class:`plaggm.selection.HalfSamples`.

    Parameters
    ----------
    model : PLAGGMCV
        Fitted to the samples.
    samples : Samples
    settings : FitSettings
        ``stability`` halves are drawn with ``seed``.
    show : callable
        Told the share of the halves that is done.

    Returns
    -------
    GraphResult
    """
    result = model.to_result(moderation=True)
    if not settings.stability:
        return result
    confounder = _entering(samples, settings)[0]
    settled = {"bandwidth": model.bandwidth_, "threshold": model.threshold_}
    chosen = {name: value for name, value in settled.items() if value is not None}
    fixed = PLAGGM(
        model.alpha_,
        categorical=list(model.levels_) or None,
        family=positional(family_choice(settings.family), list(samples.x)),
        missing=_missing(settings),
        # Halves are fitted side by side, each on one thread.
        n_jobs=1,
        **_scaling(settings),
        **{**_smoothing(settings), **chosen},
    )
    # Halves of time series are drawn from their whitened rows.
    incomplete = samples.x.isna().to_numpy().any()
    x = samples.x.to_numpy() if incomplete else model.whitened_rows()
    stability = HalfSamples(settings.stability, settings.seed).frequency(
        partial(
            _edges_of_half,
            model=fixed,
            x=x,
            confounder=confounder,
            reference=model.reference_,
        ),
        len(x),
        n_jobs=settings.cores,
        progress=show,
    )
    return replace(
        result,
        stability=stability,
        settings={**result.settings, "stability_halves": settings.stability},
    )


def _edges_of_half(
    half: Index,
    *,
    model: PLAGGM,
    x: Array,
    confounder: pd.DataFrame,
    reference: dict[str, str | float],
) -> Mask:
    from sklearn.base import clone

    rows = confounder.iloc[half]
    # A value at the end of the range may lie outside that of a half.
    held = {
        name: value
        if isinstance(value, str)
        else float(np.clip(value, rows[name].min(), rows[name].max()))
        for name, value in reference.items()
    }
    # What the fit to all samples had to say has been said. Halves may be fitted in threads.
    with collected_warnings():
        known = rows if confounder.shape[1] else None
        return (
            clone(model)
            .set_params(reference=held or "auto")
            .fit(x[half], confounder=known)
            .adjacency_
        )


def _kinds(confounder: pd.DataFrame, settings: FitSettings) -> dict[str, Any]:
    """The estimator's parameters ``categorical`` and ``reference``."""
    factors = [name for name in confounder if not pd.api.types.is_numeric_dtype(confounder[name])]
    return {
        "reference": reference_of(settings, confounder),
        "categorical": factors or None,
    }
