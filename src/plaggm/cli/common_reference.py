"""A common threshold or reference of the confounders for the networks of all levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from plaggm.checks.missing_values import FEWEST_ROWS as FEWEST_COMPLETE
from plaggm.cli.samples import Samples
from plaggm.cli.settings import FitSettings
from plaggm.estimators import PLAGGM
from plaggm.parameter_types import Threshold
from plaggm.user_warnings import collected_warnings

# Largest difference of a level's mean from that of all rows, in standard deviations beyond sampling error,
# at which distributions count as alike; for factors, of the shares of their levels.
LARGEST_DIFFERENCE = 0.1
# Smallest share of a level's rows on either side of a common reference value.
SMALLEST_SHARE = 0.05
# Smallest number of a level's rows on either side of a common threshold.
FEWEST_ROWS = 5
# Penalty of the fit that chooses the threshold, so large that the network is empty.
EMPTY_PENALTY = 1e3


class CommonReference(NamedTuple):
    """Settings with the common threshold and references, and caveats of the comparison of levels."""

    settings: FitSettings
    notes: tuple[str, ...]


def common_reference(
    levels: Sequence[tuple[str | None, Samples]], settings: FitSettings
) -> CommonReference:
    """Choose threshold and references from the rows of all levels together.

    An amount such as motion has one threshold, chosen on all rows. The average over each level's own rows
    is comparable only if the levels have the same distribution of the confounder; if not, the mean of all
    rows is the reference, provided that every level has values on both sides of it, and otherwise a note
    says so.

    Parameters
    ----------
    levels : sequence of (str, Samples)
        Names of the levels with their samples.
    settings : FitSettings

    Returns
    -------
    CommonReference
    """
    samples = [one for _, one in levels]
    names = list(samples[0].confounder)
    if not names or settings.smoother != "spline" or len(levels) < 2:
        return CommonReference(settings, ())
    together = pd.concat([part.confounder for part in samples])
    asked = settings.reference
    chosen = {} if asked else _chosen(samples, together, settings)
    notes: list[str] = []
    references: list[str] = list(asked)
    for name, (kind, threshold) in chosen.items():
        values = [part.confounder[name] for part in samples]
        if kind == "zero":
            if threshold is not None and isinstance(settings.threshold, str):
                notes += _one_sided(name, threshold, levels)
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
    return CommonReference(replace(settings, reference=tuple(references)), tuple(notes))


def _chosen(
    samples: Sequence[Samples], together: pd.DataFrame, settings: FitSettings
) -> dict[str, tuple[str, float | None]]:
    """The reference of every confounder and its threshold, as a fit to all rows chooses them."""
    x = pd.concat([part.x for part in samples])
    # Incomplete rows are left out, unless so few are complete that missing cells have to be learnt.
    complete = x.notna().all(axis=1).to_numpy()
    few = np.count_nonzero(complete) < FEWEST_COMPLETE
    rows = np.ones_like(complete) if few else complete
    factors = [name for name in together if not pd.api.types.is_numeric_dtype(together[name])]
    given = settings.threshold
    threshold: Threshold = given
    if not isinstance(given, str):
        threshold = given[0] if len(given) == 1 else list(given)
    model = PLAGGM(
        EMPTY_PENALTY,
        threshold=threshold,
        categorical=factors or None,
        missing="em" if few else "refuse",
        n_jobs=1,
    )
    # The fit of each level warns about its own samples.
    with collected_warnings():
        model.fit(x[rows].reset_index(drop=True), confounder=together[rows].reset_index(drop=True))
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


def _one_sided(
    name: str, threshold: float, levels: Sequence[tuple[str | None, Samples]]
) -> list[str]:
    """A note if a level lies on one side of the threshold, which is then chosen for each level."""
    for level, part in levels:
        below = int(np.count_nonzero(np.abs(part.confounder[name].to_numpy()) <= threshold))
        if min(below, len(part.confounder) - below) < FEWEST_ROWS:
            return [
                f"Level {level} has {below} of {len(part.confounder)} samples with {name} of at most "
                f"{threshold:.4g}, the threshold of all samples: each level has its own threshold instead."
            ]
    return []


def _unlike_means(values: Sequence[pd.Series], together: pd.Series) -> bool:
    """Whether the mean of any level differs from that of all rows."""
    spread, mean = float(together.std()) or 1.0, float(together.mean())
    return any(
        abs(float(part.mean()) - mean) / spread > LARGEST_DIFFERENCE + 2.0 / np.sqrt(len(part))
        for part in values
    )


def _unlike_shares(values: Sequence[pd.Series], together: pd.Series) -> bool:
    """Whether the shares of a factor's levels differ between groups and all rows."""
    overall = together.value_counts(normalize=True)
    return any(
        float(
            (part.value_counts(normalize=True).reindex(overall.index, fill_value=0.0) - overall)
            .abs()
            .max()
        )
        > LARGEST_DIFFERENCE + 1.0 / np.sqrt(len(part))
        for part in values
    )


def _value_reference(
    name: str, values: Sequence[pd.Series], together: pd.Series, notes: list[str]
) -> str:
    """The mean of all rows if every level has values on both sides of it, else the average; adds a note."""
    mean = float(f"{together.mean():.6g}")
    reached = all(
        float(part.quantile(SMALLEST_SHARE)) < mean < float(part.quantile(1.0 - SMALLEST_SHARE))
        for part in values
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
