"""The Supplement's last figure: diagnosis with the paper's estimator under three indicator functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import delayed
from numpy.typing import ArrayLike

from plaggm.array_types import Array
from plaggm.atomic_files import write_csv
from plaggm.core.lasso.path import solve_path
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.data.norm_index import norm_index
from plaggm.estimators import PLAGGM
from plaggm.fmri.confounds import FD
from plaggm.fmri.diagnosis import classify
from plaggm.fmri.fold_networks import FoldFeatures, splits
from plaggm.fmri.subject_paths import (
    SUBJECT_SWEEPS,
    SUBJECT_TOL,
    held_out_loss,
    pair_values,
    penalty_grid,
)
from plaggm.fmri.subjects import Progress, StudyData, Subject
from plaggm.fmri.treatments import OwnNuisance
from plaggm.plotting import brain
from plaggm.report.sections import Picture, Section, frame_table
from plaggm.resume import Store, versioned_key
from plaggm.selection import information_criterion
from plaggm.selection.parallel import in_turn

# The Supplement's k of 1 - exp(-k g^2) / 2.
INDICATORS = (100, 144, 150)
# I(g) reaches one in double precision where k g^2 = 33.4.
REACHES_ONE = 33.4
# The paper does not say on which scale its g is. Only displacement has a natural one.
SCALES = ("part of the largest", "mm")
# AIC that counts edges alone, AIC that counts the smoother too, and held-out blocks of volumes.
CRITERIA = ("AIC of the edges", "AIC of edges and smoother", "CV")
# Local systems of one scan hold more coefficients than a window has volumes.
KERNEL_RIDGE = 1e-2
# I(g) beyond which a volume counts as fully confounded.
NEARLY_ONE = 0.99
OTHER_INDICATORS = "Other indicator functions"
WORDS = (
    "The paper's kernel estimator on every scan alone, with the indicator 1 - exp(-k g²)/2 of the "
    "Supplement. The paper does not say on which scale g is; here it is {names}, as a part of the "
    "largest in the study (g* = {parts} of it){other}.",
    "The local fits of one scan take up {trace:.0f} degrees of freedom in the median, which the usual AIC "
    "does not count. The smaller the part of the regressors' mean square that the smoother leaves, the "
    "less there is to find edges by. Where few volumes have I(g) near one, the estimator hardly adjusts, "
    "which is what the paper says of a large g*.",
)
SMOOTHER_COLUMNS = ["smoother_trace", "regressors_left", "volumes_beyond"]
# Of each scale.
MEDIANS = (
    "With g {scale} {beyond:.0%} of the volumes have I(g) above 0.99, {left:.2g} of the regressors' mean "
    "square is left, and the median network has {edges} edges."
)


def on_scale(data: StudyData, scale: str) -> StudyData | None:
    """A study with the confounders that one scale suits; None if there are none.

    In millimetres this is displacement alone: rotations have another unit, and no volume of a scan may have
    all seven parameters near zero.
    """
    if scale == SCALES[0]:
        return data
    if FD not in data.confounder_names:
        return None
    place = [data.confounder_names.index(FD)]
    subjects = tuple(replace(one, confounder=one.confounder[:, place]) for one in data.subjects)
    return replace(data, subjects=subjects, confounder_names=(FD,))


def indicator_treatment(k: float, data: StudyData, scale: str = SCALES[0]) -> OwnNuisance:
    """The paper's estimator on every scan alone, with the Supplement's indicator function.

    Parameters
    ----------
    k : float
        The k of 1 - exp(-k g^2) / 2.
    data : StudyData
        From :func:`on_scale`.
    scale : {"part of the largest", "mm"}
        Scale of g: the confounder divided by its largest value, or unscaled. Several enter by their norm.

    Returns
    -------
    OwnNuisance
    """
    sizes = [np.abs(subject.confounder).max(axis=0) for subject in data.subjects]
    unit = np.max(sizes, axis=0) if scale == SCALES[0] else np.ones(len(sizes[0]))
    threshold = np.sqrt(REACHES_ONE / k) * unit
    estimator = PLAGGM(
        smoother="kernel",
        indicator="soft",
        variance="conditional",
        threshold=threshold if len(threshold) > 1 else float(threshold[0]),
        ridge=KERNEL_RIDGE,
        n_jobs=1,
    )
    return OwnNuisance(estimator, data.confounder_names, "pla-own", norm_index)


def confounded_share(data: StudyData, threshold: ArrayLike) -> float:
    """Part of all volumes whose I(g) is nearly one."""
    g = np.concatenate([subject.confounder for subject in data.subjects])
    g = g / np.asarray(threshold, dtype=np.float64)
    indicator = 1.0 - np.exp(-REACHES_ONE * np.sum(g**2, axis=1)) / 2.0
    return float(np.mean(indicator > NEARLY_ONE))


def subject_choices(treatment: OwnNuisance, subject: Subject) -> dict[str, Array]:
    """One subject's network by each criterion, and diagnostics of the smoother.

    Returns
    -------
    dict
        ``values`` of shape (len(CRITERIA), pairs); ``trace``, degrees of freedom of the smoother in the
        mean over nodes; ``left``, mean square of the regressors after it, that of the series being one.
    """
    with single_threaded_blas():
        problem = treatment.problem(subject)
        grams = problem.grams()
        alphas = penalty_grid([problem])
        omega = solve_path(grams, alphas, tol=SUBJECT_TOL, max_iter=SUBJECT_SWEEPS).omega
        uncharged = grams.with_trace(np.zeros(grams.p))
        scores = (
            information_criterion(uncharged, omega, "aic", known_variance=False),
            information_criterion(grams, omega, "aic", known_variance=False),
            held_out_loss(problem, alphas),
        )
        values = pair_values(omega)
    squares = grams.diagonals()[:, :-1] * problem.data.sigma**2
    others = ~np.eye(grams.p, dtype=bool)
    return {
        "values": np.stack([values[int(np.argmin(score))] for score in scores]),
        "trace": np.asarray(grams.smoother_trace.mean()),
        "left": np.asarray(squares[others].mean()),
    }


def indicator_sensitivity(
    data: StudyData,
    *,
    store: Store,
    indicators: Sequence[float] = INDICATORS,
    jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Diagnosis under every indicator function, scale and criterion.

    In millimetres it is by displacement alone, and left out where displacement is no confounder.

    Parameters
    ----------
    data : StudyData
    store : Store
        Finished subjects are kept there and taken from there.
    indicators : sequence of float
        Values of k.
    jobs, seed : int
    progress : callable, optional

    Returns
    -------
    DataFrame
        One row for each: AUC with its interval, median number of edges, degrees of freedom of the
        smoother and mean square of the transformed regressors (medians over subjects), and the share
        of volumes whose I(g) is nearly one.
    """
    y = data.membership
    folds = splits(y, 1, seed)
    rows = []
    for scale in SCALES:
        scaled = on_scale(data, scale)
        if scaled is None:
            continue
        for k in indicators:
            treatment = indicator_treatment(k, scaled, scale)
            confounded = confounded_share(scaled, treatment.estimator.threshold)

            def work(
                subject: Subject, treatment: OwnNuisance = treatment, name: str = f"{k}-{scale}"
            ) -> dict[str, Array]:
                key = versioned_key(treatment.estimator.threshold, subject.x, subject.confounder)
                known = store.get("indicators", f"{subject.name}-{name}", key)
                if known is None:
                    known = subject_choices(treatment, subject)
                    store.put("indicators", f"{subject.name}-{name}", key, **known)
                return known

            found = []
            results = in_turn(jobs, prefer="processes")(
                delayed(work)(subject) for subject in scaled.subjects
            )
            for done, result in enumerate(results, 1):
                found.append(result)
                if progress is not None:
                    progress(f"indicator k = {k:g}, {scale}", done, len(data.subjects))
            for place, criterion in enumerate(CRITERIA):
                values = np.stack([one["values"][place] for one in found])
                features = [FoldFeatures(train, test, values, np.nan) for train, test in folds]
                one = classify(
                    treatment.name,
                    features,
                    y,
                    kind="values",
                    criterion=criterion,
                    seed=seed,
                    store=Store(store.folder / f"{k}-{scale}-{place}".replace(" ", "-")),
                    n_jobs=jobs,
                )
                rows.append(
                    {
                        "scale": scale,
                        "k": k,
                        "criterion": criterion,
                        "auc": one.auc,
                        "low": one.low,
                        "high": one.high,
                        "median_edges": float(np.median(np.count_nonzero(values, axis=1))),
                        "smoother_trace": float(np.median([one["trace"] for one in found])),
                        "regressors_left": float(np.median([one["left"] for one in found])),
                        "volumes_beyond": confounded,
                    }
                )
    return pd.DataFrame(rows)


def sensitivity_section(output: Path, table: pd.DataFrame, names: Sequence[str] = (FD,)) -> Section:
    """Write the table and the figure, and return their section of the page.

    Parameters
    ----------
    output : Path
    table : DataFrame
        Result of :func:`indicator_sensitivity`.
    names : sequence of str
        Names of the confounders.
    """
    write_csv(output / "sensitivity.csv", table, index=False)
    path = output / "sensitivity.png"
    brain.sensitivity_plot(path, table)
    means = table.groupby("scale", sort=False)[SMOOTHER_COLUMNS].median()
    parts = ", ".join(f"{np.sqrt(REACHES_ONE / k):.3g}" for k in table["k"].unique())
    told = [name.replace("_", " ") for name in names]
    alone = "" if len(names) == 1 else f"{FD.replace('_', ' ')} alone, "
    words = [
        part.format(
            names=told[0]
            if len(told) == 1
            else f"the norm of {', '.join(told)}, each scaled by itself",
            parts=parts,
            other=f"; or {alone}in millimetres (as many)" if SCALES[1] in means.index else "",
            trace=means.loc[SCALES[0], "smoother_trace"],
        )
        for part in WORDS
    ]
    for scale, row in means.iterrows():
        edges = (
            table[table["scale"] == scale].groupby("criterion", sort=False)["median_edges"].median()
        )
        words.append(
            MEDIANS.format(
                scale="in mm" if scale == SCALES[1] else "as a part of the largest",
                beyond=row.volumes_beyond,
                left=row.regressors_left,
                edges=", ".join(f"{count:.0f} (by {name})" for name, count in edges.items()),
            )
        )
    return Section(
        OTHER_INDICATORS,
        tuple(words),
        (Picture(path, "AUC by indicator function, scale of g and criterion of the penalty."),),
        (frame_table(table, "sensitivity.csv"),),
    )
