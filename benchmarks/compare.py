"""Times two revisions alternately on one machine: `make bench-compare REV=main`.

A case is flagged only if the newer revision is slower both by a part of the time and by an amount of it:
small cases vary by parts, large ones by amounts. Revisions take turns, so that what else the machine does
meets both; of each, the quickest round counts. A flagged case makes the exit status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
# A slow-down counts beyond both of these.
RELATIVE = 0.10
ABSOLUTE = 0.02
ROUNDS = 5
HERE_NAME = "working tree"


@dataclass(frozen=True)
class Verdict:
    """One case in both revisions.

    Attributes
    ----------
    case : str
    before, after : float or None
        Seconds of the quickest round; None where a revision cannot run the case.
    slower : bool
    """

    case: str
    before: float | None
    after: float | None
    slower: bool


def judge(
    before: Sequence[dict[str, float | None]],
    after: Sequence[dict[str, float | None]],
    *,
    relative: float = RELATIVE,
    absolute: float = ABSOLUTE,
) -> list[Verdict]:
    """Compare the quickest rounds of every case.

    Parameters
    ----------
    before, after : sequence of dict
        Seconds by case, one dict for each round.
    relative : float
        Part of the time before.
    absolute : float
        In seconds.
    """
    verdicts = []
    for case in dict.fromkeys([*after[0], *before[0]]):
        old, new = (_quickest(rounds, case) for rounds in (before, after))
        slower = (
            old is not None
            and new is not None
            and new - old > absolute
            and new > (1.0 + relative) * old
        )
        verdicts.append(Verdict(case, old, new, slower))
    return verdicts


def _quickest(rounds: Sequence[dict[str, float | None]], case: str) -> float | None:
    known = [seconds for one in rounds if (seconds := one.get(case)) is not None]
    return min(known, default=None)


def unpack(revision: str, folder: Path) -> None:
    """The files of a revision in a folder of their own; the repository stays as it is."""
    ran = subprocess.run(
        ["git", "-C", str(ROOT), "archive", revision, "src"], capture_output=True, check=False
    )
    if ran.returncode:
        raise SystemExit(f"There is no revision {revision!r}: {ran.stderr.decode().strip()}")
    with tarfile.open(fileobj=BytesIO(ran.stdout)) as archive:
        archive.extractall(folder, filter="data")


def time_cases(source: Path, *, quick: bool) -> dict[str, float | None]:
    """All cases with the package in one folder."""
    command = [sys.executable, str(HERE / "compare_cases.py"), *(["--quick"] if quick else [])]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if ran.returncode:
        raise SystemExit(f"The cases fail with {source}:\n{ran.stderr}")
    found = json.loads(ran.stdout)
    if Path(found["package"]).parent.parent != source.resolve():
        raise SystemExit(f"Asked for the package in {source}, but found {found['package']}.")
    seconds: dict[str, float | None] = found["seconds"]
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revision", help="what to compare with")
    parser.add_argument("--with", dest="other", help=f"the newer revision [the {HERE_NAME}]")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--relative", type=float, default=RELATIVE, help="part of the time")
    parser.add_argument("--absolute", type=float, default=ABSOLUTE, help="seconds")
    parser.add_argument("--quick", action="store_true", help="tiny cases, to see that all works")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be 1 or more")
    with tempfile.TemporaryDirectory() as name:
        folders = []
        for revision, part in ((options.revision, "before"), (options.other, "after")):
            folder = Path(name) / part
            if revision is None:
                folders.append(ROOT / "src")
                continue
            unpack(revision, folder)
            folders.append(folder / "src")
        for folder in folders:
            # Compiles, and fills the cache of compiled code.
            time_cases(folder, quick=options.quick)
        before, after = [], []
        for number in range(options.rounds):
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
            before.append(time_cases(folders[0], quick=options.quick))
            after.append(time_cases(folders[1], quick=options.quick))
    limits = dict(relative=options.relative, absolute=options.absolute)
    verdicts = judge(before, after, **limits)
    print(f"{'case':<44}{options.revision[:12]:>14}{(options.other or HERE_NAME)[:12]:>14}   ratio")
    for one in verdicts:
        old, new = ("–" if value is None else f"{value:.4f} s" for value in (one.before, one.after))
        both = one.before is not None and one.after is not None
        ratio = f"{one.after / one.before:.2f}" if both else "–"
        print(f"{one.case:<44}{old:>14}{new:>14}{ratio:>8}{'  SLOWER' if one.slower else ''}")
    slower = [one.case for one in verdicts if one.slower]
    if slower:
        print(
            f"{len(slower)} case(s) slower by more than {options.relative:.0%} and "
            f"{options.absolute:g} s.",
            file=sys.stderr,
        )
        raise SystemExit(1)


if __name__ == "__main__":
    main()
