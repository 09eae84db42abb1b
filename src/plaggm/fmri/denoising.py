"""Denoising before any network is estimated, by the names of nilearn's ``load_confounds``.

A strategy is a set of regressors from fMRIPrep's table of confounds and, with scrubbing, volumes that are
dropped. Regressing the mean of a region on them is regressing its voxels and taking the mean, so that ready
series and scans are treated alike. Runs are treated each on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from plaggm.array_types import Array, Mask
from plaggm.core.preparation.dependence import correlations, find_dependence
from plaggm.fmri.confounds import (
    FD,
    SIX,
    ConfoundsError,
    displacement,
    find_column,
    read_confounds,
    select_confounds,
)
from plaggm.fmri.problems import Problems, StudyError
from plaggm.fmri.subjects import StudyData, Subject, standardised
from plaggm.related.series_filter import used_runs
from plaggm.wording import listed

GLOBAL = "+gs"
# Fewest volumes in a row that scrubbing keeps, and standardised DVARS beyond which it drops a volume.
FEWEST_IN_A_ROW, LARGEST_DVARS = 5, 1.5
# Fewest volumes that are left for each region.
FEWEST_PER_REGION = 1.0
TISSUES, WHOLE = ("white_matter", "csf"), "global_signal"
COSINES, COMPONENTS = "cosine", ("a_comp_cor_", "w_comp_cor_", "c_comp_cor_")


@dataclass(frozen=True, slots=True)
class Strategy:
    """A denoising strategy: regressors, and a rule for dropping volumes.

    Attributes
    ----------
    name : str
        As it is written on the command line.
    motion, tissues, whole_tissues, components, drift, global_signal : bool
        Six parameters with their derivatives and the squares of both; white matter and CSF; with
        derivatives and squares, too; anatomical CompCor; cosines; the global signal.
    scrub : float
        Displacement in mm beyond which volumes are dropped.
    """

    name: str
    motion: bool = True
    tissues: bool = False
    whole_tissues: bool = False
    components: bool = False
    drift: bool = True
    global_signal: bool = False
    scrub: float = np.inf


STRATEGIES = {
    one.name: one
    for one in (
        Strategy("24p", drift=False),
        Strategy("simple", tissues=True),
        Strategy("scrubbing.2", tissues=True, whole_tissues=True, scrub=0.2),
        Strategy("scrubbing.5", tissues=True, whole_tissues=True, scrub=0.5),
        Strategy("compcor", components=True),
        Strategy("wm_csf", motion=False, tissues=True, drift=False),
        Strategy("high_pass", motion=False),
    )
}


def parse_strategy(text: str) -> Strategy:
    """A strategy by its name, with the global signal where ``+gs`` follows.

    Examples
    --------
    >>> parse_strategy("simple+gs").global_signal
    True
    """
    name = text.removesuffix(GLOBAL)
    if name not in STRATEGIES:
        raise StudyError(
            f"--denoise must be one of {listed(list(STRATEGIES), 12)}, each also with {GLOBAL} for the "
            f"global signal; got {text!r}."
        )
    return replace(STRATEGIES[name], name=text, global_signal=text.endswith(GLOBAL))


def expanded(columns: Array) -> Array:
    """Columns with their derivatives and the squares of both: (n, 4 k) from (n, k)."""
    change = np.diff(columns, axis=0, prepend=columns[:1])
    both = np.column_stack([columns, change])
    return np.column_stack([both, both**2])


def regressors(table: pd.DataFrame, strategy: Strategy) -> Array:
    """Regressors of a scan from its table of confounds: shape (n, k)."""
    parts = [np.zeros((len(table), 0))]
    if strategy.motion:
        parts.append(expanded(select_confounds(table, SIX)))
    if strategy.tissues:
        tissues = select_confounds(table, TISSUES)
        parts.append(expanded(tissues) if strategy.whole_tissues else tissues)
    if strategy.global_signal:
        parts.append(select_confounds(table, (WHOLE,)))
    names = [str(name) for name in table.columns]
    if strategy.components:
        found = [name for name in names if name.startswith(COMPONENTS)]
        if not found:
            raise ConfoundsError("has no columns of anatomical CompCor (a_comp_cor_00 and so on).")
        parts.append(select_confounds(table, tuple(found)))
    if strategy.drift:
        found = [name for name in names if name.startswith(COSINES)]
        parts.append(select_confounds(table, tuple(found)) if found else np.zeros((len(table), 0)))
    return np.column_stack(parts)


def kept_volumes(table: pd.DataFrame, limit: float) -> Mask:
    """Volumes that scrubbing keeps: shape (n,).

    Those beyond the limit or with large DVARS go, and so do runs of fewer than five between them.
    """
    if not np.isfinite(limit):
        return np.ones(len(table), dtype=bool)
    moved = displacement(table)
    if moved is None:
        raise ConfoundsError(f"lacks the column {FD!r}, which scrubbing needs.")
    bad = moved > limit
    if find_column(table, "std_dvars") is not None:
        bad |= select_confounds(table, ("std_dvars",))[:, 0] > LARGEST_DVARS
    edges = np.flatnonzero(np.diff(np.concatenate([[1], bad.astype(int), [1]])))
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        if last - first < FEWEST_IN_A_ROW:
            bad[first:last] = True
    return np.asarray(~bad)


def denoise_series(series: Array, design: Array, kept: Mask) -> Array:
    """Series (n, p) at the retained volumes, with regressors (n, k) regressed out."""
    x, d = series[kept], design[kept]
    spread = d.std(axis=0)
    full = np.column_stack(
        [np.ones(len(d)), (d - d.mean(axis=0)) / np.where(spread > 0, spread, 1)]
    )
    return standardised(x - full @ np.linalg.lstsq(full, x, rcond=None)[0])


def denoise(data: StudyData, strategy: Strategy, problems: Problems) -> StudyData:
    """Denoised series of all subjects; those with too few volumes or columns left are noted and left out.

    Parameters
    ----------
    data : StudyData
        Subjects know the tables of confounds of their scans.
    strategy : Strategy
    problems : Problems

    Returns
    -------
    StudyData
        Mean displacement stays that of whole scans.
    """
    subjects = []
    for subject in data.subjects:
        try:
            subjects.append(_denoised(subject, strategy))
        except ConfoundsError as error:
            problems.add(subject.name, None, f"--denoise {strategy.name}: {error}")
    if not subjects:
        raise StudyError(f"Nobody is left by --denoise {strategy.name}. {problems}")
    return replace(data, subjects=tuple(subjects))


def _denoised(subject: Subject, strategy: Strategy) -> Subject:
    runs, series, keep, spent = subject.by_run(), [], [], 0.0
    if len(subject.scans) != len(runs):
        raise ConfoundsError("has no table of confounds.")
    for run in runs:
        path = run.scans[0].confounds
        if path is None:
            raise ConfoundsError("has no table of confounds.")
        table = read_confounds(path)
        kept, design = kept_volumes(table, strategy.scrub), regressors(table, strategy)
        if np.count_nonzero(kept) <= design.shape[1] + 1:
            raise ConfoundsError(
                f"keeps {np.count_nonzero(kept)} of {len(kept)} volumes of {path.name}, too few for "
                f"{design.shape[1]} regressors."
            )
        left = denoise_series(run.x, design, kept)
        found = find_dependence(correlations(left), len(left) - design.shape[1])
        if found is not None and found.exact:
            # The mean of all regions as global signal does that.
            raise ConfoundsError(
                f"leaves regions that follow exactly from each other ({path.name}), so that they have no "
                "partial correlations."
            )
        series.append(left)
        keep.append(kept)
        spent += design.shape[1]
    everything = np.concatenate(keep)
    freedom = int(np.count_nonzero(everything)) - spent
    if freedom <= FEWEST_PER_REGION * subject.x.shape[1]:
        raise ConfoundsError(
            f"keeps {freedom:.0f} of {len(everything)} degrees of freedom, too few for "
            f"{subject.x.shape[1]} regions."
        )
    moved, numbers = subject.displacement, subject.run_numbers
    dropped = not everything.all()
    return replace(
        subject,
        x=np.concatenate(series),
        confounder=subject.confounder[everything],
        displacement=None if moved is None else moved[everything],
        runs=None if subject.runs is None else numbers[everything],
        segments=used_runs(numbers, np.flatnonzero(everything)) if dropped else None,
        whole_displacement=subject.mean_displacement,
        spent=spent,
    )


def parse_strategies(names: Sequence[str]) -> tuple[Strategy, ...]:
    """Strategies by their names, each once."""
    return tuple(parse_strategy(name) for name in dict.fromkeys(names))
