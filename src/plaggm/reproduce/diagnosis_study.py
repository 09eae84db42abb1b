"""One study of the diagnosis: every method's networks, classified in several ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from plaggm.array_types import Array
from plaggm.fmri.covariates import displacement_design
from plaggm.fmri.diagnosis import (
    Diagnosis,
    beside_motion,
    classify,
    exchanged_labels,
    motion_auc,
    over_seeds,
)
from plaggm.fmri.fold_networks import FoldFeatures, fold_features, splits
from plaggm.fmri.motion import ResidualMotion, residual_motion
from plaggm.fmri.study_means import auc_interval
from plaggm.fmri.study_plan import StudyPlan
from plaggm.fmri.study_tables import motion_table
from plaggm.fmri.subjects import Progress, StudyData
from plaggm.fmri.treatments import METHODS as TITLES
from plaggm.fmri.treatments import make_treatment
from plaggm.resume import Store

CRITERION = "aic"
FREED, CURVED = "freed of displacement", "freed of displacement and its logarithm"
EXCHANGED = "values, labels exchanged"
# What the classifier sees, which one it is, and what features are freed of inside the folds.
VARIANTS: dict[str, tuple[str, str, str]] = {
    "values": ("values", "lasso", ""),
    "signs": ("signs", "lasso", ""),
    "values, elastic net": ("values", "elastic net", ""),
    f"values {FREED}": ("values", "lasso", FREED),
    f"values {CURVED}": ("values", "lasso", CURVED),
    f"signs {CURVED}": ("signs", "lasso", CURVED),
}


@dataclass(frozen=True, slots=True, eq=False)
class StudyDiagnosis:
    """Diagnoses of one study.

    Attributes
    ----------
    found : tuple of Diagnosis
        One for each method and variant, whose name is in ``features``.
    alone : tuple of float
        AUC of mean displacement alone, with its interval.
    motion : DataFrame
        Motion that is left in the networks, one row for each method.
    left : dict of method to ResidualMotion
        The same edge by edge, of one study.
    skipped : tuple of str
        Methods that are missing, with the reason.
    """

    found: tuple[Diagnosis, ...] = field(repr=False)
    alone: tuple[float, float, float]
    motion: pd.DataFrame = field(repr=False)
    left: dict[str, ResidualMotion] = field(repr=False)
    skipped: tuple[str, ...]


def diagnose_study(
    data: StudyData,
    plan: StudyPlan,
    *,
    repeats: int,
    permutations: int,
    store: Store,
    progress: Progress | None = None,
) -> StudyDiagnosis:
    """Classify the subjects of one study by every method's networks.

    Parameters
    ----------
    data : StudyData
    plan : StudyPlan
        Its methods, estimators, seed and number of jobs are used.
    repeats : int
        Number of times that the subjects are divided into folds.
    permutations : int
        Number of permutations of the labels, for the values with the lasso.
    store : Store
        Store from which finished parts are read, and to which they are written.
    progress : callable, optional
    """
    y, moved = data.membership, data.mean_displacement
    folds = splits(y, repeats, plan.seed)
    shared: dict[str, Any] = dict(
        criterion=CRITERION, store=store, n_jobs=plan.n_jobs, progress=progress
    )
    found: list[Diagnosis] = []
    left: dict[str, ResidualMotion] = {}
    edges: dict[str, float] = {}
    skipped: list[str] = []
    for method in plan.methods:
        treatment = make_treatment(
            method, plan.estimators[method], data.confounder_names, plan.scrub
        )
        try:
            features = fold_features(treatment, data.subjects, folds, **shared)
        except ValueError as error:
            skipped.append(f"{method}: not everybody can be fitted; one subject {error}")
            continue
        networks = tested_networks(features)
        edges[TITLES[method]] = float(np.median(np.count_nonzero(networks, axis=1)))
        motion_left = residual_motion(networks, moved, data.atlas.distances)
        if motion_left is None:
            skipped.append(f"{method}: too few subjects to measure the motion that is left")
        else:
            left[method] = motion_left
        found += classified(
            method, features, data, permutations=permutations, seed=plan.seed, **shared
        )
    motion = motion_table(left)
    if left:
        motion.insert(1, "median_edges", motion["method"].map(edges))
    return StudyDiagnosis(tuple(found), motion_auc(moved, y, folds), motion, left, tuple(skipped))


def classified(
    method: str,
    features: Sequence[FoldFeatures],
    data: StudyData,
    *,
    permutations: int,
    seed: int,
    **shared: Any,
) -> list[Diagnosis]:
    """One method's networks classified in all ``VARIANTS``, and with permuted labels."""
    y, moved = data.membership, data.mean_displacement
    designs = {}
    if np.isfinite(moved).all() and moved.min() > 0.0:
        designs = {
            FREED: displacement_design(moved),
            CURVED: displacement_design(moved, curved=True),
        }
    found = []
    for label, (kind, classifier, freed) in VARIANTS.items():
        if freed and not designs:
            continue
        seen = [replace(part, covariates=designs.get(freed)) for part in features]
        one = beside_motion(
            method,
            seen,
            y,
            None if freed or not designs else moved,
            kind=kind,
            classifier=classifier,
            permutations=permutations if label == "values" else 0,
            seed=seed,
            **shared,
        )
        found.append(replace(one, features=label))
    exchanged = exchanged_labels(y, features, seed)
    nothing = classify(method, features, exchanged, kind="values", seed=seed, **shared)
    return [*found, replace(nothing, features=EXCHANGED)]


def tested_networks(features: Sequence[FoldFeatures]) -> Array:
    """Every subject's network as the fold sees it that tests this subject first: shape (S, pairs)."""
    values = np.full_like(features[0].values, np.nan)
    for part in reversed(features):
        values[part.test] = part.values[part.test]
    return values


def studies_together(studies: Sequence[StudyDiagnosis]) -> StudyDiagnosis:
    """Means over studies of one kind with intervals over them; a single study stays as it is.

    A method that is missing in a study is missing altogether, so that all methods are
    compared on the same studies.
    """
    if len(studies) == 1:
        return studies[0]
    keys = [[(one.method, one.features) for one in study.found] for study in studies]
    common = [key for key in keys[0] if all(key in some for some in keys)]
    found = [
        over_seeds([study.found[own.index(key)] for study, own in zip(studies, keys, strict=True)])
        for key in common
    ]
    alone = np.array([study.alone[0] for study in studies])
    motion = pd.concat([study.motion for study in studies])
    if len(motion):
        motion = motion.groupby("method", sort=False).mean(numeric_only=True).reset_index()
    return StudyDiagnosis(
        tuple(found),
        auc_interval(alone),
        motion,
        studies[0].left,
        tuple(dict.fromkeys(reason for study in studies for reason in study.skipped)),
    )
