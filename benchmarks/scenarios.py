"""Does the spline recover networks as well as every related method, in every regime? `make scenarios`.

Every cell (scenario, seed, method) is one small file in a cache, so a run that was stopped goes on where
it stopped, and one changed method is run against the related methods that are there already:

    python benchmarks/scenarios.py --data FOLDER                        # everything
    python benchmarks/scenarios.py --methods spline --tag wider-basis   # the spline again, under a label

A label keeps cells of changed code apart: it belongs to the methods named by --methods, or to all. Methods
that are not named are read from the cache (without label) and never run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import scenario_report as report
from joblib import delayed
from scenario_designs import COBRE_FILE, QUICK, SCENARIOS, Scenario
from scenario_methods import METHODS, Method
from threadpoolctl import threadpool_limits

import plaggm
from plaggm.selection.parallel import in_turn

ROOT = Path(__file__).parent.parent
CACHE = ROOT / "build" / "scenarios"
PAGE = ROOT / "docs" / "scenarios.md"
# No constant of any method was chosen at these. With five of them the standard error of many differences
# is larger than the 0.01 of the bar.
FIRST_SEED, SEEDS = 500, 10
FEWEST_SEEDS = 5
# Pairs of a network that so many seeds are enough for; of smaller networks there are more, so that all
# scenarios judge about as many pairs.
PAIRS = 190
ALPHAS, FOLDS = 50, 5


class Cache:
    """Cells as files; a name tells scenario, seed and method, and a digest everything else."""

    def __init__(self, folder: Path, alphas: int, folds: int) -> None:
        self.folder, self.alphas, self.folds = folder, alphas, folds

    def path(self, scenario: Scenario, seed: int, method: Method, tag: str) -> Path:
        """Where a cell lies; another setting of data or method is another cell."""
        identity = [
            scenario.make, dict(scenario.settings), method.estimator, dict(method.settings),
            method.true_threshold, method.adjust, self.alphas, self.folds, list(report.NETWORK_SCORES),
        ]  # fmt: skip
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:10]
        label = f"@{tag}" if tag else ""
        return self.folder / scenario.name / f"{seed}-{method.name}{label}-{digest}.json"

    def read(
        self, scenario: Scenario, seed: int, method: Method, tag: str
    ) -> dict[str, Any] | None:
        """A cell, or None."""
        path = self.path(scenario, seed, method, tag)
        return json.loads(path.read_text()) if path.exists() else None

    def write(
        self, row: dict[str, Any], scenario: Scenario, seed: int, method: Method, tag: str
    ) -> None:
        """Store a cell, whole or not at all."""
        path = self.path(scenario, seed, method, tag)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(row))
        part.replace(path)


def source_state() -> str:
    """A digest of the package's source, kept with every cell."""
    digest = hashlib.sha256()
    for path in sorted(Path(plaggm.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:10]


def run_data_set(
    cache: Cache, scenario: Scenario, seed: int, methods: Sequence[Method], tag: str,
    folder: Path | None, source: str,
) -> None:  # fmt: skip
    """All missing methods on one data set, on one core."""
    with threadpool_limits(1):
        data = scenario.data(seed, folder)
        # Compiled code is loaded by a fit that does not count.
        METHODS["pooled"].fit(data._replace(x=data.x[:, :3], support=data.support[:3, :3]), 2, 2)
        for method in methods:
            row = method.fit(data, cache.alphas, cache.folds)
            row.update(source=source, n=data.x.shape[0], p=data.x.shape[1])
            cache.write(row, scenario, seed, method, tag)


def progress(done: Iterator[Any], total: int) -> None:
    """Say how far the run is: in place on a terminal, else at every tenth part."""
    start, said = time.monotonic(), 0
    terminal = sys.stderr.isatty()
    for count, _ in enumerate(done, start=1):
        left = (time.monotonic() - start) / count * (total - count)
        line = f"{count} of {total} data sets, about {left:.0f} s left"
        if terminal:
            print(f"\r{line:<60}", end="\n" if count == total else "", file=sys.stderr, flush=True)
        elif count * 10 // total > said:
            said = count * 10 // total
            print(line, file=sys.stderr, flush=True)


def choose(names: str | None, known: Sequence[str], usual: Sequence[str], what: str) -> list[str]:
    """Names separated by commas, checked."""
    if names is None:
        return list(usual)
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in chosen if name not in known]
    if unknown or not chosen:
        said = ", ".join(unknown) or "nothing"
        raise SystemExit(f"--{what}: {said} is not known; there are {', '.join(known)}.")
    return [name for name in known if name in chosen]


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenarios", metavar="A,B", help="only these")
    parser.add_argument("--methods", metavar="A,B", help="run only these; others are read")
    parser.add_argument("--seeds", metavar="A,B", help="default 500 to 509, more for p < 20")
    parser.add_argument("--tag", default="", help="label of the cells of the chosen methods")
    parser.add_argument("--fresh", action="store_true", help="run the chosen cells again")
    parser.add_argument("--brief", action="store_true", help="print only gains, bar and cost")
    parser.add_argument("--quick", action="store_true", help="six small scenarios, two seeds")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help=f"holds {COBRE_FILE}")
    parser.add_argument("--cache", type=Path, default=CACHE, help="default build/scenarios")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--output", type=Path, help="write the page here, complete or not")
    options = parser.parse_args(argv)
    try:
        if options.seeds is not None:
            options.seeds = sorted({int(seed) for seed in options.seeds.split(",")})
    except ValueError:
        parser.error(f"--seeds must be whole numbers separated by commas; got {options.seeds!r}.")
    if options.tag and not options.tag.replace("-", "").replace("_", "").isalnum():
        parser.error(f"--tag may hold letters, digits, - and _; got {options.tag!r}.")
    if options.jobs < 1:
        parser.error(f"--jobs must be at least 1; got {options.jobs}.")
    return options


def chosen_scenarios(options: argparse.Namespace) -> list[Scenario]:
    """The scenarios that can be run here."""
    known = [scenario.name for scenario in SCENARIOS]
    names = choose(options.scenarios, known, QUICK if options.quick else known, "scenarios")
    scenarios = [scenario for scenario in SCENARIOS if scenario.name in names]
    present = options.data is not None and (options.data / COBRE_FILE).exists()
    absent = [scenario.name for scenario in scenarios if scenario.needs_files and not present]
    if absent:
        where = "no --data FOLDER was given" if options.data is None else f"not in {options.data}"
        print(f"Skipped {', '.join(absent)}: {COBRE_FILE} is absent ({where}).", file=sys.stderr)
    return [scenario for scenario in scenarios if scenario.name not in absent]


def seeds_of(scenario: Scenario, options: argparse.Namespace) -> list[int]:
    """The seeds of one scenario: those that were asked for, or the usual number."""
    if options.seeds is not None:
        return list(options.seeds)
    p = scenario.settings["p"]
    more = math.ceil(SEEDS * PAIRS / (p * (p - 1) / 2))
    count = 2 if options.quick else max(SEEDS, more)
    return list(range(FIRST_SEED, FIRST_SEED + count))


def pending(
    cache: Cache, scenarios: Sequence[Scenario], seeds: report.Seeds, methods: Sequence[Method],
    tag: str, fresh: bool,
) -> list[tuple[Scenario, int, list[Method]]]:  # fmt: skip
    """Data sets with the methods that are still to be run on them, quick ones first."""
    work = []
    for scenario in scenarios:
        p = scenario.settings["p"]
        fitting = [m for m in methods if m.largest_p is None or p <= m.largest_p]
        for seed in seeds[scenario.name]:
            missing = [m for m in fitting if fresh or cache.read(scenario, seed, m, tag) is None]
            if missing:
                work.append((scenario, seed, missing))
    return sorted(work, key=lambda item: item[0].settings["p"])


def stored(
    cache: Cache, scenarios: Sequence[Scenario], seeds: report.Seeds, tags: Mapping[str, str]
) -> dict[tuple[str, int, str], dict[str, Any]]:
    """The cells that are there, of every method under its label."""
    cells = {}
    for scenario in scenarios:
        for seed in seeds[scenario.name]:
            for name, tag in tags.items():
                row = cache.read(scenario, seed, METHODS[name], tag)
                if row is not None:
                    cells[scenario.name, seed, name] = row
    return cells


def main(argv: Sequence[str] | None = None) -> None:
    """Run what is missing, then print the tables."""
    options = arguments(argv)
    scenarios = chosen_scenarios(options)
    seeds = {scenario.name: seeds_of(scenario, options) for scenario in scenarios}
    usual = [name for name, method in METHODS.items() if method.usual]
    named = choose(options.methods, list(METHODS), usual, "methods")
    cache = Cache(options.cache, ALPHAS, FOLDS)
    source = source_state()
    methods = [METHODS[name] for name in named]
    work = pending(cache, scenarios, seeds, methods, options.tag, options.fresh)
    tasks = (
        delayed(run_data_set)(cache, scenario, seed, missing, options.tag, options.data, source)
        for scenario, seed, missing in work
    )
    progress(in_turn(options.jobs, prefer="processes")(tasks), len(work))

    shown = [name for name in METHODS if name in named or name in usual]
    plain = stored(cache, scenarios, seeds, dict.fromkeys(shown, ""))
    labelled = stored(cache, scenarios, seeds, dict.fromkeys(named, options.tag))
    cells = {**{key: row for key, row in plain.items() if key[2] not in named}, **labelled}
    lines = report.page(cells, scenarios, seeds, ALPHAS, FOLDS)
    print("\n".join(report.summary(cells, scenarios, seeds) if options.brief else lines))
    if options.tag:
        print("\n".join(report.changes(plain, labelled, scenarios, seeds, options.tag)))
    other = {name for (_, _, name), row in cells.items() if row["source"] != source}
    if other:
        print(f"\nSome cells are of another state of the source: {', '.join(sorted(other))}.")
    everything = options.scenarios is None and options.methods is None and not options.quick
    enough = all(len(own) >= FEWEST_SEEDS for own in seeds.values())
    complete = everything and not options.tag and enough
    target = options.output or (PAGE if complete else None)
    if target is not None:
        target.write_text("\n".join(lines) + "\n")
        print(f"\nWritten to {target}.")


if __name__ == "__main__":
    main()
