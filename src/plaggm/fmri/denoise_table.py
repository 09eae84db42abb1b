"""Denoising strategies side by side, each followed by no adjustment, by LR-GGM and by PLA-GGM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from plaggm.fmri.covariates import exchange_labels
from plaggm.fmri.denoising import Strategy, denoise
from plaggm.fmri.motion import residual_motion
from plaggm.fmri.networks import fit_subjects
from plaggm.fmri.problems import WHOLE_STUDY, Problems, StudyError
from plaggm.fmri.study_plan import StudyPlan
from plaggm.fmri.subjects import Progress, StudyData
from plaggm.fmri.treatments import METHODS, make_treatment
from plaggm.resume import Store

# What follows denoising.
AFTER = ("raw", "lr", "pla")
NONE = "none"


def compare_strategies(
    plan: StudyPlan,
    data: StudyData,
    strategies: Sequence[Strategy],
    *,
    store: Store,
    settings: dict[str, Any],
    problems: Problems | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Residual motion of subjects' networks by every strategy and by what follows it.

    Parameters
    ----------
    plan : StudyPlan
    data : StudyData
        Subjects as they were read.
    strategies : sequence of Strategy
        No denoising is compared, too.
    store : Store
    settings : dict
        Settings that the networks depend on, for the keys of the store.
    problems : Problems, optional
        Grows by strategies that leave nobody.
    progress : callable, optional

    Returns
    -------
    DataFrame
        Columns denoising, method, subjects, part_below_0.05, chance_up_to, p_value, short_range_excess,
        effective_volumes; a strategy that leaves nobody has no numbers.
    """
    estimator = replace(plan, methods=("pla",)).estimators["pla"]
    rows: list[dict[str, Any]] = []
    for strategy in (None, *strategies):
        name = NONE if strategy is None else strategy.name
        lost = Problems()
        try:
            left = data if strategy is None else denoise(data, strategy, lost)
        except StudyError:
            if problems is not None:
                first = next(iter(lost))
                told = f"Nobody is left by --denoise {name}; for example {first.subject}: {first.message}"
                problems.add(WHOLE_STUDY, None, told)
            rows.append({"denoising": name, "method": "nobody is left", "subjects": 0})
            continue
        blocks = None if plan.blocks is None else exchange_labels(left, plan.blocks)
        for method in AFTER:
            found = fit_subjects(
                make_treatment(method, estimator, data.confounder_names, plan.scrub),
                left.subjects,
                criterion=plan.subject_criterion,
                # A store holds one network of a subject by a method; the first strategy is the study's.
                store=store
                if strategy is strategies[0]
                else Store(store.folder / f"denoise-{name}"),
                problems=Problems(),
                settings=settings,
                n_jobs=plan.n_jobs,
                progress=progress,
            )
            motion = residual_motion(
                found.values,
                left.mean_displacement,
                data.atlas.distances,
                blocks=blocks,
                seed=plan.seed,
            )
            row: dict[str, Any] = {"denoising": name, "method": METHODS[method]}
            row["subjects"] = int(np.count_nonzero(found.usable))
            if motion is not None:
                row |= {
                    "part_below_0.05": motion.significant,
                    "chance_up_to": motion.chance,
                    "p_value": motion.p_value,
                    "short_range_excess": motion.short_range_excess,
                }
            fitted = found.effective[np.isfinite(found.effective)]
            row["effective_volumes"] = float(fitted.mean()) if len(fitted) else np.nan
            rows.append(row)
    return pd.DataFrame(rows)
