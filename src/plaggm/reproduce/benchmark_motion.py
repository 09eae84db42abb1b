"""Benchmark of treatments of motion: artefacts are added to region series that are free of them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pandas as pd

from plaggm.array_types import Array
from plaggm.atomic_files import write_csv, write_file
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.fmri.confounds import FD
from plaggm.fmri.contaminated import (
    ContaminatedStudy,
    contaminate,
    read_clean_series,
    simulated_series,
)
from plaggm.fmri.diagnosis import classify
from plaggm.fmri.fingerprints import identification, intraclass_correlation
from plaggm.fmri.fold_networks import FoldFeatures, splits
from plaggm.fmri.motion import residual_motion
from plaggm.fmri.problems import StudyError
from plaggm.fmri.study import CACHE
from plaggm.fmri.subject_paths import SHRINKAGE
from plaggm.fmri.subjects import Progress, StudyData
from plaggm.plotting.motion_benchmark import benchmark_figure
from plaggm.report.sections import Page, Picture, Section, frame_table, write_html, write_markdown
from plaggm.reproduce.connectivity import load_motion
from plaggm.reproduce.motion_contenders import (
    Contender,
    Networks,
    by_treatment,
    contenders,
    ledoit_wolf,
)
from plaggm.reproduce.provenance import command_line, made_by, settings_digest
from plaggm.resume import Store, versioned_key

SEEDS, PEOPLE, REGIONS = 5, 80, 48
QUICK_SEEDS, QUICK_PEOPLE, QUICK_REGIONS = 1, 16, 10
REPEATS = 2
# Part of the people who move most.
MOVERS = 1.0 / 3.0
MEASURES = {
    "agreement": "agreement with the clean network (r)",
    "agreement_movers": "the same in the third that moves most",
    "qc_fc": "part of edges that correlate with motion",
    "leak": "AUC of guessing who moves more",
    "identification": "identification from the other half",
    "icc": "intraclass correlation of halves",
}
# Columns that the page shows; the file has all.
SHOWN = (
    "method", "people", "agreement", "agreement_movers", "qc_fc", "chance", "leak", "identification",
    "identified_centred", "icc", "effective_volumes", "seconds",
)  # fmt: skip
SUMMARY = (
    "Region series, taken as free of motion, get the artefacts that measured motion would cause: a common "
    "signal, patterns of neighbours and a drop, all in proportion to displacement and fading over the next "
    "volumes, and a part that is linear in the six parameters; a fifth of each pattern is a person's own. "
    "Their size was set on seeds 1 and 2 so that networks without adjustment suffer as much as in an "
    "earlier trial on real scans; it is not an estimate of how large artefacts are. "
    "Motion is divided at random between people, so that whatever in a network goes with motion is "
    "artefact. Agreement is the correlation of a person's network with that of the clean series by the "
    "same estimator without adjustment. QC-FC is the part of the edges whose correlation with displacement "
    "has p < 0.05; `chance` is what 19 of 20 studies without artefacts stay below. Leak is the AUC with "
    "which networks tell the half that moves more from the other. Identification and intraclass "
    "correlation compare the halves of each scan; artefacts are reliable, too, and raise both. "
    "`identified_centred` correlates what is left once everybody's mean network is taken off."
)


def judge(found: Networks, clean: Array, data: StudyData, seed: int) -> dict[str, float]:
    """All measures of one treatment on one study; see ``SUMMARY``."""
    moved = data.mean_displacement[found.people]
    pairs = zip(found.whole, clean[found.people], strict=True)
    agreement = np.array([np.corrcoef(one, other)[0, 1] for one, other in pairs])
    much = moved >= np.quantile(moved, 1.0 - MOVERS)
    left = residual_motion(found.whole, moved, data.atlas.distances, seed=seed)
    label = (np.argsort(np.argsort(moved)) >= len(moved) // 2).astype(np.intp)
    folds = splits(label, REPEATS, seed)
    features = [FoldFeatures(train, test, found.whole, np.nan) for train, test in folds]
    leak = classify("", features, label, kind="values", criterion=SHRINKAGE, seed=seed)
    nothing = float("nan")
    return {
        "people": float(len(found.people)),
        "agreement": float(agreement.mean()),
        "agreement_movers": float(agreement[much].mean()),
        "qc_fc": nothing if left is None else left.significant,
        "chance": nothing if left is None else left.chance,
        "short_range_excess": nothing if left is None else left.short_range_excess,
        "leak": leak.auc,
        "identification": identification(found.first, found.second),
        "identified_centred": identification(found.first, found.second, centred=True),
        "icc": intraclass_correlation(found.first, found.second),
        "effective_volumes": found.effective,
    }


def run(
    output: Path,
    *,
    series_file: Path | None = None,
    motion_file: Path | None = None,
    quick: bool = False,
    seeds: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> str:
    """Contaminate, estimate, judge and write a table, a figure and a page.

    Parameters
    ----------
    output : Path
    series_file : Path, optional
        See :func:`plaggm.fmri.contaminated.read_clean_series`; simulated where absent.
    motion_file : Path, optional
        See :func:`plaggm.fmri.semisynthetic.measured_motion`; simulated where absent.
    quick : bool
    seeds : int, optional
        Number of divisions of the motion and draws of the artefacts (and of simulated series).
    seed : int
        The first of them.
    progress : callable, optional

    Returns
    -------
    str
        The result in a sentence.
    """
    output.mkdir(parents=True, exist_ok=True)
    count = seeds or (QUICK_SEEDS if quick else SEEDS)
    people, regions = (QUICK_PEOPLE, QUICK_REGIONS) if quick else (PEOPLE, REGIONS)
    motion = load_motion(motion_file, (people + 1) // 2, seed)
    given = None if series_file is None else read_clean_series(series_file)
    store = Store(output / CACHE)
    rows, sources = [], []
    for number in range(seed, seed + count):
        series = given
        if series is None:
            series = simulated_series(people, motion.displacement.shape[1], regions, number)
        study = contaminate(series, motion, seed=number)
        sources = [series.source, motion.source]
        entrants = contenders(motion.parameters is not None)
        for place, one in enumerate(entrants):
            if progress is not None:
                progress(f"seed {number}", place, len(entrants))
            rows.append({"seed": number, "method": one.title, **_cell(one, study, number, store)})
        if progress is not None:
            progress(f"seed {number}", len(entrants), len(entrants))
    table = pd.DataFrame(rows)
    if "agreement" not in table:
        reasons = dict.fromkeys(f"{row['method']}: {row['reason']}" for row in rows)
        raise StudyError(f"No method can be judged on these people. {' '.join(reasons)}")
    write_csv(output / "cells.csv", table, index=False)
    summary = summarise(table)
    write_csv(output / "benchmark.csv", summary, index=False)
    figure = output / "benchmark.png"
    benchmark_figure(figure, table, MEASURES)
    command = command_line("plaggm reproduce benchmark-motion", seed=seed, seeds=seeds, quick=quick)
    settings = settings_digest(
        methods=list(dict.fromkeys(table["method"])),
        people=people,
        regions=regions,
        repeats=REPEATS,
    )
    source = made_by(command, settings, " and ".join(sources))
    _write_pages(output, summary, figure, table, source)
    record = {"format": "plaggm-study", "seeds": count, "seed": seed, "quick": quick}
    write_file(output / "study.json", json.dumps(record, indent=2))
    return conclusion(table)


def conclusion(table: pd.DataFrame) -> str:
    """The means of PLA-GGM and of networks without adjustment in a sentence.

    Parameters
    ----------
    table : DataFrame
        One row for each seed and method; NaN where a method failed, or where no edge varies.
    """
    means = table.groupby("method").mean(numeric_only=True)
    pla, raw = means.loc["PLA-GGM, displacement"], means.loc["no adjustment"]
    if np.isnan([pla["agreement"], raw["agreement"]]).any():
        return "PLA-GGM or networks without adjustment could not be judged; the page says why."
    told = (
        f"Agreement with the clean network {pla['agreement']:.3f} by PLA-GGM, {raw['agreement']:.3f} "
        "without adjustment"
    )
    if np.isnan([pla["qc_fc"], raw["qc_fc"]]).any():
        return f"{told}; edges that correlate with motion could not be counted."
    return f"{told}; edges that correlate with motion {pla['qc_fc']:.1%} and {raw['qc_fc']:.1%}."


def _cell(
    one: Contender, study: ContaminatedStudy, seed: int, store: Store
) -> dict[str, float | str]:
    """Measures of one treatment on one study, from the store if available, or the reason for a failure."""
    key = versioned_key(one.name, seed, *(s.x for s in study.moved.subjects))
    known = store.get("cells", f"{one.name}-{seed}", key)
    if known is not None:
        return {name: float(value) for name, value in known.items()}
    begun = time.process_time()
    try:
        with single_threaded_blas():
            clean = ledoit_wolf if "ledoit-wolf" in one.name else by_treatment("raw", (FD,))
            found = one.networks(study.moved)
            seconds = time.process_time() - begun
            measured = judge(found, clean(study.clean).whole, study.moved, seed)
    except ValueError as error:
        return {"reason": str(error)}
    measured["seconds"] = seconds
    store.put("cells", f"{one.name}-{seed}", key, **{k: np.asarray(v) for k, v in measured.items()})
    return dict(measured)


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, one row for each method, with standard errors of agreement and QC-FC."""
    numbers = [name for name in table.select_dtypes("number") if name != "seed"]
    groups = table.groupby("method", sort=False)
    found = groups[numbers].mean()
    found.insert(0, "seeds", groups["agreement"].count())
    for name in ("agreement", "qc_fc"):
        place = int(np.flatnonzero(found.columns == name)[0]) + 1
        found.insert(place, f"{name}_se", groups[name].sem())
    if "reason" in table:
        found["reason"] = groups["reason"].first().fillna("")
    return found.reset_index()


def _write_pages(
    output: Path, summary: pd.DataFrame, figure: Path, table: pd.DataFrame, source: str
) -> None:
    shown = summary[[name for name in SHOWN if name in summary]]
    seeds = table["seed"].nunique()
    words = [SUMMARY]
    if "reason" in summary:
        words += [f"{row.method}: {row.reason}" for row in summary.itertuples() if str(row.reason)]
    page = Page(
        "Motion added to clean series: which way removes it",
        "benchmark",
        ((str(seeds), "seed" if seeds == 1 else "seeds"), (str(len(summary)), "methods")),
        (source,),
        (
            Section(
                "All methods",
                tuple(words),
                (Picture(figure, "Means over seeds; points are single seeds."),),
                (frame_table(shown, "benchmark.csv"),),
            ),
        ),
    )
    write_html(output / "report.html", page)
    write_markdown(output / "benchmark-motion.md", page)
