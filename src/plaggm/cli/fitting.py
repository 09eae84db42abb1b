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
        None without a confounder.
    after : GraphResult
    """

    before: GraphResult | None
    after: GraphResult


def fit_unadjusted(samples: Samples, settings: FitSettings) -> GraphResult:
    """Fit the network without adjustment, with its penalty chosen by the same criterion."""
    return plain_model(samples, settings).to_result()


def plain_model(samples: Samples, settings: FitSettings) -> PLAGGMCV:
    """Fit the model without confounder."""
    model = PLAGGMCV(
        **_declared(settings),
        criterion=settings.criterion,
        one_se=settings.one_se,
        random_state=settings.seed,
        n_jobs=settings.cores,
    )
    return model.fit(samples.x, runs=samples.runs)


def fit_adjusted(samples: Samples, settings: FitSettings) -> PLAGGMCV:
    """Fit the model with the confounders, or without if there are none."""
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
    """The estimator's parameter ``missing``; rows are dropped, or cells imputed, before the fit."""
    return "em" if settings.missing == "em" else "refuse"


def with_stability(
    model: PLAGGMCV,
    samples: Samples,
    settings: FitSettings,
    show: Callable[[float], None] = lambda share: None,
) -> GraphResult:
    """The result with the share of random half-samples in which the penalty keeps each pair.

    Every half-sample is fitted with the penalty, threshold and bandwidth of the full sample. The penalty of
    the spline is chosen anew in each half-sample unless the settings give one. See
    :class:`plaggm.selection.HalfSamples`.

    Parameters
    ----------
    model : PLAGGMCV
        Model that was fitted to the samples.
    samples : Samples
    settings : FitSettings
        ``stability`` half-samples are drawn with the seed ``seed``.
    show : callable
        Called with the share of half-samples that are finished, from 0 to 1.

    Returns
    -------
    GraphResult
    """
    result = model.to_result(moderation=True)
    if not settings.stability:
        return result
    confounder = _entering(samples, settings)[0]
    chosen = {"bandwidth": model.bandwidth_, "threshold": model.threshold_}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    fixed = PLAGGM(
        model.alpha_,
        categorical=list(model.levels_) or None,
        family=positional(family_choice(settings.family), list(samples.x)),
        missing=_missing(settings),
        # Half-samples are fitted in parallel, each in one thread.
        n_jobs=1,
        **_scaling(settings),
        **{**_smoothing(settings), **chosen},
    )
    # Half-samples of time series are drawn from the whitened rows.
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
    # A reference near the end of the range may lie outside the range of a half-sample.
    inside = {
        name: value
        if isinstance(value, str)
        else float(np.clip(value, rows[name].min(), rows[name].max()))
        for name, value in reference.items()
    }
    # The fit to all samples has warned already. Half-samples may be fitted in threads.
    with collected_warnings():
        confounders = rows if confounder.shape[1] else None
        return (
            clone(model)
            .set_params(reference=inside or "auto")
            .fit(x[half], confounder=confounders)
            .adjacency_
        )


def _kinds(confounder: pd.DataFrame, settings: FitSettings) -> dict[str, Any]:
    """The estimator's parameters ``categorical`` and ``reference``."""
    factors = [name for name in confounder if not pd.api.types.is_numeric_dtype(confounder[name])]
    return {
        "reference": reference_of(settings, confounder),
        "categorical": factors or None,
    }
