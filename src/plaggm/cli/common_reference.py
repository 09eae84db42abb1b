"""A common threshold or reference of the confounders for the networks of all levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from plaggm.cli.samples import Samples
from plaggm.cli.settings import FitSettings
from plaggm.estimators import PLAGGM
from plaggm.parameter_types import Threshold
from plaggm.user_warnings import collected_warnings

# Difference of a level's mean from that of all rows, in standard deviations, from which levels are unlike;
# chance is allowed for beside it.
UNLIKE = 0.1
# Share of a level's rows that must lie on either side of a common reference value.
BESIDE = 0.05
# Rows that a level needs on either side of a common threshold.
FEWEST_BESIDE = 5
# Penalty of the fit that chooses the threshold, at which no network is left to be learnt.
NO_EDGES = 1e3


class CommonMeaning(NamedTuple):
    """Settings that all levels share, and notes for readers of the comparison."""

    settings: FitSettings
    notes: tuple[str, ...]


def common_meaning(parts: Sequence[tuple[str, Samples]], settings: FitSettings) -> CommonMeaning:
    """Choose threshold and references from the rows of all levels together.

    An amount such as motion has one threshold, chosen on all rows. The average over each level's own rows
    is comparable only if the levels have the same distribution of the confounder; if not, the mean of all
    rows is the reference, provided that every level has values on both sides of it, and otherwise a note
    says so.

    Parameters
    ----------
    parts : sequence of (str, Samples)
        Levels with their samples.
    settings : FitSettings

    Returns
    -------
    CommonMeaning
    """
    samples = [part for _, part in parts]
    names = list(samples[0].confounder)
    if not names or settings.smoother != "spline" or len(parts) < 2:
        return CommonMeaning(settings, ())
    together = pd.concat([part.confounder for part in samples])
    asked = settings.reference
    chosen = {} if asked else _chosen(samples, together, settings)
    notes: list[str] = []
    references: list[str] = list(asked)
    for name, (kind, threshold) in chosen.items():
        values = [part.confounder[name] for part in samples]
        if kind == "zero":
            if threshold is not None and isinstance(settings.threshold, str):
                notes += _one_sided(name, threshold, parts)
            references.append(f"{name}=zero")
        elif not pd.api.types.is_numeric_dtype(together[name]):
            if _unlike_shares(values, together[name]):
                notes.append(
                    f"The levels have unlike shares of {name}, and each network is an average over its own "
                    f"samples: part of a difference may be one of {name}."
                )
            references.append(f"{name}=average")
        elif not _unlike_means(values, together[name]):
            references.append(f"{name}=average")
        else:
            references.append(_value_reference(name, values, together[name], notes))
    thresholds = [threshold for kind, threshold in chosen.values() if kind == "zero"]
    numeric = [name for name in names if pd.api.types.is_numeric_dtype(together[name])]
    if len(thresholds) == len(numeric) and thresholds and not notes and None not in thresholds:
        settings = replace(settings, threshold=tuple(float(limit or 0.0) for limit in thresholds))
    return CommonMeaning(replace(settings, reference=tuple(references)), tuple(notes))


def _chosen(
    samples: Sequence[Samples], together: pd.DataFrame, settings: FitSettings
) -> dict[str, tuple[str, float | None]]:
    """The reference of every confounder and its threshold, as a fit to all rows chooses them."""
    x = pd.concat([part.x for part in samples])
    known = x.notna().all(axis=1).to_numpy()
    factors = [name for name in together if not pd.api.types.is_numeric_dtype(together[name])]
    given = settings.threshold
    threshold: Threshold = given
    if not isinstance(given, str):
        threshold = given[0] if len(given) == 1 else list(given)
    model = PLAGGM(NO_EDGES, threshold=threshold, categorical=factors or None, n_jobs=1)
    # What there is to say about the samples is said of each level.
    with collected_warnings():
        model.fit(
            x[known].reset_index(drop=True), confounder=together[known].reset_index(drop=True)
        )
    limits = np.full(len(together.columns), np.nan)
    if model.threshold_ is not None:
        limits = np.broadcast_to(np.atleast_1d(model.threshold_), limits.shape)
    return {
        name: (
            reference if isinstance(reference, str) else "value",
            None if np.isnan(limit) else float(limit),
        )
        for (name, reference), limit in zip(model.reference_.items(), limits, strict=True)
    }


def _one_sided(name: str, threshold: float, parts: Sequence[tuple[str, Samples]]) -> list[str]:
    """A note on levels that lie on one side of a threshold, which is then chosen for each."""
    for level, part in parts:
        below = int(np.count_nonzero(np.abs(part.confounder[name].to_numpy()) <= threshold))
        if min(below, len(part.confounder) - below) < FEWEST_BESIDE:
            return [
                f"Level {level} has {below} of {len(part.confounder)} samples with {name} of at most "
                f"{threshold:.4g}, the threshold of all samples: each level has its own threshold instead."
            ]
    return []


def _unlike_means(values: Sequence[pd.Series], together: pd.Series) -> bool:
    spread, mean = float(together.std()) or 1.0, float(together.mean())
    return any(
        abs(float(part.mean()) - mean) / spread > UNLIKE + 2.0 / np.sqrt(len(part))
        for part in values
    )


def _unlike_shares(values: Sequence[pd.Series], together: pd.Series) -> bool:
    overall = together.value_counts(normalize=True)
    return any(
        float(
            (part.value_counts(normalize=True).reindex(overall.index, fill_value=0.0) - overall)
            .abs()
            .max()
        )
        > UNLIKE + 1.0 / np.sqrt(len(part))
        for part in values
    )


def _value_reference(
    name: str, values: Sequence[pd.Series], together: pd.Series, notes: list[str]
) -> str:
    """The mean of all rows where every level reaches it, else the average with a note."""
    mean = float(f"{together.mean():.6g}")
    reached = all(
        float(part.quantile(BESIDE)) < mean < float(part.quantile(1.0 - BESIDE)) for part in values
    )
    if reached:
        notes.append(
            f"The levels are unlike in {name}: all networks refer to its mean over all samples, {mean:.4g}."
        )
        return f"{name}={mean!r}"
    low, high = (float(end([part.mean() for part in values])) for end in (min, max))
    notes.append(
        f"The levels hardly overlap in {name} (means from {low:.4g} to {high:.4g}), and each network is an "
        f"average over its own samples: part of a difference may be one of {name}."
    )
    return f"{name}=average"
