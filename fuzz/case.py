"""One case: how it is drawn, run within a time limit in a folder of its own, and judged."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import signal
import tempfile
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fuzz.judge import exception_findings, message_findings, warning_findings

# Seconds. The slowest sound case takes about five on an idle machine.
LIMIT = 180.0
# Part of a BIDS derivative: what the validator does not know.
BIDS_IGNORE = ".bidsignore"


class Finding(NamedTuple):
    """Something that must not happen."""

    area: str
    number: int
    what: str
    kind: str
    detail: str


@dataclass(frozen=True)
class Case:
    """A call with hostile input.

    Attributes
    ----------
    what : str
        The input in one line.
    call : callable
        Raises, or returns what is to be checked.
    check : callable
        From what was returned to the impossible things in it, or to pairs of a kind of finding and its
        detail.
    quoted : sequence
        Values that a message may repeat, however they are written.
    refused : callable
        Whether what was returned stands for a failure, after which nothing may be left behind.
    """

    what: str
    call: Callable[[], Any]
    check: Callable[[Any], Iterator[Any]] = lambda _: iter(())
    quoted: Sequence[Any] = ()
    refused: Callable[[Any], bool] = lambda _: False


@dataclass(frozen=True)
class Area:
    """A part of the library.

    Attributes
    ----------
    name : str
    cases : int
        How many are run by default.
    draw : callable
        From a generator and an empty folder, the current one, to a case.
    """

    name: str
    cases: int
    draw: Callable[[np.random.Generator, Path], Case]


class TimeLimitError(BaseException):
    """The case took too long; not an Exception, so that nothing in between takes it for its own."""


@dataclass
class Outcome:
    """What became of a case, for the report on a single one."""

    what: str
    findings: list[Finding] = field(default_factory=list)
    told: str = ""


def run_case(area: Area, seed: int, number: int, limit: float = LIMIT) -> Outcome:
    """Draw a case, run it in a folder of its own and judge what happens."""
    rng = np.random.default_rng([seed, zlib.crc32(area.name.encode()), number])
    home = Path.cwd()
    folder = Path(tempfile.mkdtemp(prefix="plaggm-fuzz-")).resolve()
    try:
        os.chdir(folder)
        try:
            case = area.draw(rng, folder)
        except Exception:
            told = traceback.format_exc()
            mistake = Finding(area.name, number, "", "mistake of the fuzzer", told)
            return Outcome("could not be drawn", [mistake], told)
        outcome = Outcome(case.what)
        for kind, detail in _judged(case, folder, limit, outcome):
            outcome.findings.append(Finding(area.name, number, case.what, kind, detail))
        return outcome
    finally:
        os.chdir(home)
        shutil.rmtree(folder, ignore_errors=True)


def _judged(case: Case, folder: Path, limit: float, outcome: Outcome) -> Iterator[tuple[str, str]]:
    before = _content(folder)
    failed = False
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with (
                _time_limit(limit),
                contextlib.redirect_stdout(printed),
                contextlib.redirect_stderr(printed),
            ):
                found = case.call()
                impossible = list(case.check(found))
            failed = case.refused(found)
            outcome.told = f"returned {_short(found)}"
            for one in impossible:
                yield ("impossible result", one) if isinstance(one, str) else one
        except TimeLimitError:
            failed = True
            outcome.told = "was stopped"
            yield "no end", f"still running after {limit:g} s"
        except Exception as error:
            failed = True
            outcome.told = "".join(traceback.format_exception(error))
            yield from exception_findings(error, case.quoted)
    yield from warning_findings(caught, case.quoted)
    yield from message_findings(printed.getvalue(), case.quoted)
    after = _content(folder)
    if failed and after != before:
        changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
        yield "left behind", f"after a failure: {', '.join(changed[:5])}"
    hidden = sorted(name for name in {*after} - {*before} if _is_temporary(name))
    if hidden and not failed:
        yield "left behind", f"temporary: {', '.join(hidden[:5])}"


def _is_temporary(name: str) -> bool:
    parts = [part for part in Path(name).parts if part != BIDS_IGNORE]
    return any(part.startswith(".") for part in parts)


def _content(folder: Path) -> dict[str, str]:
    """Everything below a folder with a hash of what it holds; links are not followed."""
    found = {}
    for home, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(home) / name
            if path.is_symlink():
                held = f"link to {os.readlink(path)}"
            elif path.is_file():
                held = hashlib.sha256(path.read_bytes()).hexdigest()
            else:
                held = "folder"
            found[str(path.relative_to(folder))] = held
    return found


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeLimitError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _short(found: Any) -> str:
    text = repr(found)
    return text if len(text) < 2000 else f"{text[:2000]} ..."
