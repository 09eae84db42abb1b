"""Do tests of edges hold beside confounders that have no effect?

Groups of people with measured head motion, whose framewise displacement distorts the network. Fits adjust
for displacement alone, for displacement and a column of noise, and for the paper's seven columns. Printed
for each group: the share of the pairs without edge that has p < .05, the standard deviation of their z
statistics, precision and recall.

    python benchmarks/further_confounders.py DATA --seeds 200:203

DATA holds ``cobre_motion.npz`` and ``cobre_participants.csv``. A data set takes about three CPU minutes.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.fmri.confounds import FD, SIX
from plaggm.fmri.pooled_networks import fit_group
from plaggm.fmri.semisynthetic import GROUPS, edge_recovery, measured_motion, semisynthetic_study
from plaggm.fmri.study_plan import StudyPlan
from plaggm.fmri.subjects import StudyData

NOISE = "noise"
CASES = ((FD,), (FD, NOISE), (*SIX, FD))
PER_GROUP = 71


def with_noise(data: StudyData, seed: int) -> StudyData:
    """The study with independent Gaussian numbers as one more confounder."""
    rng = np.random.default_rng([seed, 1])
    subjects = tuple(
        replace(one, confounder=np.column_stack([one.confounder, rng.standard_normal(len(one.x))]))
        for one in data.subjects
    )
    return replace(data, subjects=subjects, confounder_names=(*data.confounder_names, NOISE))


def rows_of(data_folder: Path, case: tuple[str, ...], seed: int) -> list[list[float]]:
    """Share of null pairs with p < .05, deviation of their z, precision and recall of both groups."""
    motion = measured_motion(data_folder / "cobre_motion.npz")
    columns = tuple(name for name in case if name != NOISE)
    data, omega = semisynthetic_study(
        motion, seed=seed, per_group=PER_GROUP, matched=False, confounders=columns
    )
    if NOISE in case:
        data = with_noise(data, seed)
    estimator = StudyPlan(Path(), "diagnosis", case, Path(), methods=("pla",)).estimators["pla"]
    found = []
    for group, truth in zip(GROUPS, omega, strict=True):
        with single_threaded_blas():
            result = fit_group(
                "pla",
                data,
                data.of(group),
                estimator=estimator,
                criterion="bic",
                scrub=0.5,
                label=group,
            )
        absent = truth[np.triu_indices(len(truth), 1)] == 0.0
        tests = result.edge_table
        scores = edge_recovery(data, omega, {("pla", group): result}).iloc[0]
        found.append(
            [
                float(np.mean(tests.p_value[absent] < 0.05)),
                float(np.std((tests.estimate / tests.standard_error)[absent])),
                scores["precision"],
                scores["recall"],
            ]
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", default="200:203", help="first and last but one, as 200:203")
    arguments = parser.parse_args()
    first, last = map(int, arguments.seeds.split(":"))
    together: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    for seed in range(first, last):
        for case in CASES:
            for group, row in zip(GROUPS, rows_of(arguments.data, case, seed), strict=True):
                together[", ".join(case), group].append(row)
                print(seed, ", ".join(case), group, *(f"{one:.3f}" for one in row), flush=True)
    print("\nmeans: null pairs with p < .05, deviation of z, precision, recall")
    for (case, group), values in together.items():
        print(case, group, *(f"{one:.3f}" for one in np.mean(values, axis=0)))


if __name__ == "__main__":
    main()
