"""Run all areas, or a part of them, on several processes, and list what was found.

A worker that does not answer is ended and replaced: what it was doing is a finding.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from fuzz.case import LIMIT, Finding, run_case

# Seconds beyond the limit of a case after which its process is ended: code that holds the interpreter
# lock does not see the alarm.
GRACE = 60.0
# Bytes of memory that a worker may take besides what it starts with; no case needs a tenth of it.
MEMORY = 3 * 2**30
SHOWN = 100
# Cases of each area that are run once before the others; most that is compiled is compiled by them.
WARM_UP = 8


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments ask for; 1 if there are findings."""
    options = _options(arguments)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    os.environ["MPLBACKEND"] = "Agg"
    from fuzz.areas import AREAS

    unknown = set(options.area) - set(AREAS)
    if unknown:
        print(f"There is no area {', '.join(unknown)}; choose among {', '.join(AREAS)}.")
        return 2
    chosen = [AREAS[name] for name in options.area] or list(AREAS.values())
    if options.case is not None:
        return _show(chosen, options)
    cases = [
        (area.name, number)
        for area in chosen
        for number in range(max(1, round(area.cases * options.share)))
    ]
    # Areas take turns, so that an interrupted run has seen something of each.
    cases.sort(key=lambda case: case[1])
    started = time.perf_counter()
    findings, seconds = _run(cases, options.seed, options.jobs)
    _report(findings, seconds, len(cases), time.perf_counter() - started, options.seed)
    return 1 if findings else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--area", action="append", default=[], help="only this one; repeat for several"
    )
    parser.add_argument("--case", type=int, help="run one case and show what becomes of it")
    parser.add_argument(
        "--share", type=float, default=1.0, help="part of the usual number of cases"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    return parser.parse_args(arguments)


def _show(chosen: list[Any], options: argparse.Namespace) -> int:
    """Run one case of each chosen area and print everything about it."""
    found = 0
    for area in chosen:
        outcome = run_case(area, options.seed, options.case)
        print(f"{area.name} {options.case}: {outcome.what}\n\n{outcome.told}\n")
        for finding in outcome.findings:
            print(f"FINDING {finding.kind}: {finding.detail}")
        found += len(outcome.findings)
    return 1 if found else 0


@dataclass
class _Worker:
    process: Any
    connection: Connection
    doing: tuple[str, int] | None = None
    since: float = 0.0


def _run(
    cases: list[tuple[str, int]], seed: int, jobs: int
) -> tuple[list[Finding], dict[tuple[str, int], float]]:
    """Hand out cases one by one; findings, and the seconds of each case."""
    _warm_up()
    waiting = cases[::-1]
    findings: list[Finding] = []
    seconds: dict[tuple[str, int], float] = {}
    workers = [_start(seed) for _ in range(min(jobs, len(cases)))]
    done = 0
    while workers:
        ready = set(wait([worker.connection for worker in workers], timeout=1.0))
        for worker in list(workers):
            if worker.connection in ready:
                done += _answer(worker, findings, seconds)
                lost = not worker.process.is_alive() and worker.doing is not None
            else:
                lost = worker.doing is not None and time.monotonic() - worker.since > LIMIT + GRACE
                if lost:
                    findings.append(_lost(worker, "no end", "its process had to be ended"))
            if lost:
                worker.process.kill()
                worker.process.join()
                worker.connection.close()
                workers.remove(worker)
                done += 1
                workers.append(worker := _start(seed))
            if worker.doing is None and worker in workers:
                if waiting:
                    worker.doing, worker.since = waiting.pop(), time.monotonic()
                    worker.connection.send(worker.doing)
                else:
                    worker.connection.send(None)
                    worker.process.join()
                    workers.remove(worker)
        if sys.stderr.isatty():
            print(
                f"\r{done} of {len(cases)} cases, {len(findings)} findings ",
                end="",
                file=sys.stderr,
            )
    return findings, seconds


def _answer(worker: _Worker, findings: list[Finding], seconds: dict[tuple[str, int], float]) -> int:
    """Take what a worker sends; how many cases it has finished."""
    try:
        found = worker.connection.recv()
    except EOFError:
        worker.process.join()
        if worker.doing is not None:
            detail = f"the process ended with status {worker.process.exitcode}"
            findings.append(_lost(worker, "end of the process", detail))
        return 0
    findings += found
    assert worker.doing is not None
    seconds[worker.doing] = time.monotonic() - worker.since
    worker.doing = None
    return 1


def _lost(worker: _Worker, kind: str, detail: str) -> Finding:
    assert worker.doing is not None
    return Finding(*worker.doing, "", kind, detail)


def _start(seed: int) -> _Worker:
    # Forked workers have all that is compiled already; elsewhere each compiles on its own.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, seed), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _work(connection: Connection, seed: int) -> None:
    """Run cases as they are handed over, until there are no more."""
    from fuzz.areas import AREAS

    _limit_memory()
    while (case := connection.recv()) is not None:
        name, number = case
        connection.send(run_case(AREAS[name], seed, number).findings)


def _limit_memory() -> None:
    """Let an allocation of absurd size fail instead of taking the machine with it; on Linux."""
    if sys.platform != "linux":
        return
    import resource

    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))


def _warm_up() -> None:
    """Compile and load what cases need, so that no case waits for it."""
    from fuzz.areas import AREAS

    for area in AREAS.values():
        for number in range(WARM_UP):
            run_case(area, 0, number, limit=600.0)


def _report(
    findings: list[Finding],
    seconds: dict[tuple[str, int], float],
    cases: int,
    whole: float,
    seed: int,
) -> None:
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.kind, finding.area, _shape(finding.detail)), []).append(finding)
    ordered = sorted(groups.values(), key=len, reverse=True)
    for same in ordered[:SHOWN]:
        first = same[0]
        others = f" ({len(same)} cases)" if len(same) > 1 else ""
        print(f"\n{first.kind} in {first.area}{others}: {first.detail}")
        print(f"  {first.what}")
        print(f"  python -m fuzz --seed {seed} --area {first.area} --case {first.number}")
    if len(ordered) > SHOWN:
        print(f"\nand {len(ordered) - SHOWN} more kinds of findings")
    print()
    for area in dict.fromkeys(name for name, _ in seconds):
        spent = {number: each for (name, number), each in seconds.items() if name == area}
        slowest = max(spent, key=lambda number: spent[number])
        print(
            f"{area:16} {len(spent):5} cases {sum(spent.values()):7.1f} s, "
            f"longest {spent[slowest]:5.1f} s (case {slowest})"
        )
    print(
        f"{cases} cases in {whole:.0f} s ({cases / whole:.1f} a second), {len(findings)} findings"
    )


def _shape(detail: str) -> str:
    """What findings of the same cause have in common: where it was raised, or the words without numbers."""
    if detail.endswith("]") and "[" in detail:
        return detail[detail.rindex("[") :]
    return "".join(letter for letter in detail if not letter.isdigit())[:60]
