"""Do p-values, intervals and false discovery rates hold what they promise? `make calibration`.

Every data set is one small file in a cache, so a run that was stopped goes on where it stopped:

    python benchmarks/calibration.py --data FOLDER                 # everything, 40 seeds from 5300
    python benchmarks/calibration.py --cases small,strong --seeds 100:120

Constants of the tests were settled on seeds below 500.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import calibration_report as report
import numpy as np
import pandas as pd
from calibration_designs import CASES, QUICK, Case, TestData
from joblib import delayed
from scenario_designs import COBRE_FILE
from scenarios import choose, progress, source_state
from scipy.stats import false_discovery_control
from threadpoolctl import threadpool_limits

from plaggm import PLAGGM
from plaggm.core.inference.gram_tests import least_squares_tests
from plaggm.core.profile.pooled import profile_pooled
from plaggm.selection.parallel import in_turn

ROOT = Path(__file__).parent.parent
CACHE = ROOT / "build" / "calibration"
PAGE = ROOT / "docs" / "calibration.md"
FIRST_SEED, SEEDS, QUICK_SEEDS = 5300, 40, 3
# Beyond, the kernel's local systems take minutes for each data set.
KERNEL_VARIABLES = 20
# Any penalty: tests do not depend on it.
ALPHA = 0.1
METHODS = ("spline", "auto", "kernel", "pooled", "clean")


def tested(data: TestData, method: str) -> pd.DataFrame | None:
    """Estimate, interval and p-value of every pair, or None where a method has no test."""
    if method in ("pooled", "clean"):
        return _textbook(data, method)
    settings: dict[str, Any] = dict(n_jobs=1)
    if data.confounder is not None:
        settings["reference"] = "zero"
        settings["threshold"] = "auto" if method == "auto" else data.threshold
        if method == "kernel":
            settings.update(smoother="kernel", indicator="ramp")
    elif method != "spline":
        return None
    if method == "kernel" and data.x.shape[1] > KERNEL_VARIABLES:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PLAGGM(ALPHA, **settings)
        model.fit(data.x, confounder=data.confounder, groups=data.groups)
        return model.inference()


def _textbook(data: TestData, method: str) -> pd.DataFrame | None:
    """Fisher's z of all samples, or of those below the threshold."""
    x = data.x
    if method == "clean":
        if data.confounder is None:
            return None
        g = np.abs(data.confounder.reshape(len(x), -1))
        x = x[np.all(g <= data.threshold, axis=1)]
    if len(x) < x.shape[1] + 3:
        return None
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    tests = least_squares_tests(profile_pooled(np.column_stack([z, np.ones(len(z))])))
    return pd.DataFrame({name: getattr(tests, name) for name in ("p_value", "low", "high")})


def judged(tests: pd.DataFrame, omega: np.ndarray) -> dict[str, Any]:
    """Shares of one data set."""
    truth = omega[np.triu_indices(len(omega), 1)]
    edge = truth != 0.0
    p_value = tests["p_value"].to_numpy()
    q_value = false_discovery_control(p_value)
    inside = ((tests["low"] <= truth) & (truth <= tests["high"])).to_numpy()
    null = p_value[~edge]
    row: dict[str, Any] = {
        "null_05": float(np.mean(null < 0.05)),
        "null_001": float(np.mean(null < 0.001)),
        "covered": float(inside.mean()),
        "covered_edges": float(inside[edge].mean()) if edge.any() else None,
        "histogram": np.histogram(null, np.linspace(0.0, 1.0, 21))[0].tolist(),
    }
    for rate in report.RATES:
        declared = q_value <= rate
        false = np.count_nonzero(declared & ~edge)
        row[f"fdp_{rate}"] = float(false / max(np.count_nonzero(declared), 1))
        if edge.any():
            row[f"power_{rate}"] = float(np.count_nonzero(declared & edge) / edge.sum())
    declared = q_value <= report.FDR
    both = np.count_nonzero(declared) + np.count_nonzero(edge)
    row["f1"] = float(2.0 * np.count_nonzero(declared & edge) / max(both, 1))
    if "change_p_value" in tests:
        row["changed_05"] = float(np.mean(tests["change_p_value"] < 0.05))
    return row


def cell_path(cache: Path, case: Case, seed: int) -> Path:
    """Where a data set's cell lies; other settings are another cell."""
    identity = [case.scenario.make, dict(case.scenario.settings), case.rows]
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:10]
    return cache / case.name / f"{seed}-{digest}.json"


def run_data_set(
    cache: Path, case: Case, seed: int, methods: Sequence[str], folder: Path | None, source: str
) -> None:
    """Judge some methods on one data set, on one core, and add them to its cell."""
    path = cell_path(cache, case, seed)
    cell = json.loads(path.read_text()) if path.exists() else {}
    with threadpool_limits(1):
        data = case.data(seed, folder)
        for method in methods:
            try:
                found = tested(data, method)
                row = None if found is None else judged(found, data.omega)
            except (ValueError, np.linalg.LinAlgError) as error:
                row = {"failure": str(error)}
            cell[method] = row if row is None else {**row, "source": source}
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(cell))
    part.replace(path)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", metavar="A,B", help="only these")
    parser.add_argument("--methods", metavar="A,B", help=f"of {', '.join(METHODS)}")
    parser.add_argument("--seeds", metavar="FIRST:END", help="default 5300:5340")
    parser.add_argument("--quick", action="store_true", help="a few small cases, three seeds")
    parser.add_argument(
        "--cached", action="store_true", help="tell of the cells there are, run none"
    )
    parser.add_argument("--fresh", action="store_true", help="run the chosen cells again")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help=f"holds {COBRE_FILE}")
    parser.add_argument("--cache", type=Path, default=CACHE, help="default build/calibration")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--output", type=Path, help="write the page here, complete or not")
    options = parser.parse_args(argv)
    count = QUICK_SEEDS if options.quick else SEEDS
    try:
        first, end = (options.seeds or f"{FIRST_SEED}:{FIRST_SEED + count}").split(":")
        options.seeds = range(int(first), int(end))
    except ValueError:
        parser.error(f"--seeds must be two whole numbers FIRST:END; got {options.seeds!r}.")
    if not len(options.seeds) or options.jobs < 1:
        parser.error("--seeds must hold at least one seed, and --jobs be at least 1.")
    return options


def chosen_cases(options: argparse.Namespace) -> list[Case]:
    """The cases that can be run here."""
    known = [case.name for case in CASES]
    names = choose(options.cases, known, QUICK if options.quick else known, "cases")
    present = options.data is not None and (options.data / COBRE_FILE).exists()
    cases = [case for case in CASES if case.name in names]
    absent = [case.name for case in cases if case.needs_files and not present]
    if absent:
        print(f"Skipped {', '.join(absent)}: {COBRE_FILE} is not there.", file=sys.stderr)
    return [case for case in cases if case.name not in absent]


def main(argv: Sequence[str] | None = None) -> None:
    """Run what is missing, then print the tables."""
    options = arguments(argv)
    cases = chosen_cases(options)
    methods = choose(options.methods, METHODS, METHODS, "methods")
    source = source_state()
    work: list[tuple[Case, int, list[str]]] = []
    for case in (
        [] if options.cached else sorted(cases, key=lambda case: case.scenario.settings["p"])
    ):
        for seed in options.seeds:
            path = cell_path(options.cache, case, seed)
            known = json.loads(path.read_text()) if path.exists() and not options.fresh else {}
            missing = [method for method in methods if method not in known]
            if missing:
                work.append((case, seed, missing))
    tasks = (
        delayed(run_data_set)(options.cache, case, seed, missing, options.data, source)
        for case, seed, missing in work
    )
    progress(in_turn(options.jobs, prefer="processes")(tasks), len(work))
    cells = {
        (case.name, seed): json.loads(cell_path(options.cache, case, seed).read_text())
        for case in cases
        for seed in options.seeds
        if cell_path(options.cache, case, seed).exists()
    }
    found = report.summaries(cells, cases)
    lines = report.page(found, cases, options.seeds)
    print("\n".join(lines))
    sources = {row["source"] for cell in cells.values() for row in cell.values() if row}
    if sources != {source}:
        print("\nSome cells are of another state of the source.")
    some = options.cases or options.methods or options.quick or options.cached
    target = options.output or (PAGE if not some and len(options.seeds) >= SEEDS else None)
    if target is not None:
        figure = target.with_suffix(".png")
        report.draw(found, cases, figure)
        target.write_text("\n".join(lines) + "\n")
        print(f"\nWritten to {target} and {figure}.")


if __name__ == "__main__":
    main()
