"""Output folder, errors and progress of the commands on many scans."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
)
from rich.text import Text

from plaggm.atomic_files import write_file
from plaggm.cli.messages import InputError
from plaggm.cli.staging import is_empty, output_folder, refuse_file

if TYPE_CHECKING:
    from plaggm.fmri.subjects import Progress as ReportProgress

MARK = "study.json"
# Time between two lines of progress if stderr is not a terminal.
EVERY_SECONDS = 30.0
RESUME_ADVICE = (
    "Finished parts are kept there: correct this and run the same command again to resume."
)


def use_one_thread_each() -> None:
    """Limit BLAS to one thread unless the user has set a number, since subjects run in parallel."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


@contextmanager
def claimed(output: Path) -> Iterator[None]:
    """Lock the folder of a study while it is written; refuse a folder that holds something else.

    A new folder is removed again if nothing was stored in it.
    """
    with output_folder(output, RESUME_ADVICE, below=True):
        refuse_file(output)
        ours = (output / MARK).is_file()
        if output.is_dir() and not ours and not is_empty(output):
            raise InputError(
                f"{output} is not empty and holds no study. Choose another folder with --output."
            )
        made = not output.exists()
        output.mkdir(exist_ok=True)
        if not ours:
            text = json.dumps({"format": "plaggm-study", "finished": False})
            write_file(output / MARK, text)
        try:
            yield
        except KeyboardInterrupt:
            if is_empty(output, but=MARK):
                raise KeyboardInterrupt(
                    "No part was finished yet: the same command starts from the beginning."
                ) from None
            raise KeyboardInterrupt(
                f"Finished parts are kept in {output}; run the same command again to resume."
            ) from None
        finally:
            if not ours and is_empty(output, but=MARK):
                (output / MARK).unlink(missing_ok=True)
                if made:
                    with suppress(OSError):
                        output.rmdir()


@contextmanager
def input_errors() -> Iterator[None]:
    """Turn errors of a study into one message."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("nilearn", "nibabel"):
            raise InputError("Reading scans needs nilearn: pip install 'plaggm[fmri]'") from error
        if missing in ("matplotlib", "jinja2"):
            raise InputError("The report needs more: pip install 'plaggm[cli,plot]'") from error
        raise
    except ValueError as error:
        raise InputError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Pace:
    """Progress and speed of a step.

    Attributes
    ----------
    done, total, before : int
        Number of finished items, number of all items, and number of finished items when the step began.
    since, last : float
        Times in seconds at which the step began, and at which an item was last finished.
    """

    done: int
    total: int
    before: int
    since: float
    last: float

    @classmethod
    def begun(cls, done: int, total: int, now: float) -> Pace:
        """The pace of a step that begins now."""
        return cls(done, total, done, now, now)

    def after(self, done: int, total: int, now: float) -> Pace:
        """The pace of the step with updated numbers."""
        last = self.last if done == self.done else now
        return Pace(done, total, self.before, self.since, last)

    def left(self, now: float) -> float | None:
        """Seconds left at the current speed; None if unknown, negative if overdue.

        Counted from the last finished item, since an item at work for long says nothing about the others.
        """
        if not self.before < self.done < self.total:
            return None
        each = (self.last - self.since) / (self.done - self.before)
        return self.last + each * (self.total - self.done) - now


def left_words(left: float | None) -> str:
    """The time left in words; empty where it is not known.

    Examples
    --------
    >>> left_words(180.0), left_words(-3.0), left_words(None)
    ('about 0:03:00 left', 'longer than expected', '')
    """
    if left is None:
        return ""
    return f"about {timedelta(seconds=round(left))} left" if left > 0.0 else "longer than expected"


class TimeLeft(ProgressColumn):
    """Time left until the expected end of a step, from the task's field ``pace``."""

    def render(self, task: Task) -> Text:
        """The time left in words."""
        return Text(left_words(task.fields["pace"].left(time.monotonic())), "progress.remaining")


@contextmanager
def counting(*, quiet: bool) -> Iterator[ReportProgress]:
    """Show a progress bar with a count and the time left, for one task after the other.

    If stderr is not a terminal, a line is printed every half minute instead.
    """
    console = Console(stderr=True)
    if not quiet and not console.is_terminal:
        with _lines() as tell:
            yield tell
        return
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeLeft(),
        console=console,
        transient=True,
        disable=quiet,
    )
    # Before rich 14.3, one that is disabled ends with an empty line.
    with nullcontext() if bar.disable else bar:
        tasks: dict[str, tuple[TaskID, Pace]] = {}

        def update(description: str, done: int, total: int) -> None:
            now = time.monotonic()
            if description in tasks:
                task, earlier = tasks[description]
                pace = earlier.after(done, total, now)
            else:
                for other, _ in tasks.values():
                    bar.update(other, visible=False)
                pace = Pace.begun(done, total, now)
                task = bar.add_task(description, total=total, pace=pace)
            tasks[description] = task, pace
            bar.update(task, completed=done, total=total, pace=pace)

        yield update


@contextmanager
def _lines() -> Iterator[ReportProgress]:
    """Print progress on stderr every half minute, from a thread, so that long items do not delay it."""
    started = time.monotonic()
    # Name and pace of the current step; empty before the first.
    state: list[tuple[str, Pace]] = []
    finished = threading.Event()

    def update(description: str, done: int, total: int) -> None:
        now = time.monotonic()
        if state and state[0][0] == description:
            pace = state[0][1].after(done, total, now)
        else:
            pace = Pace.begun(done, total, now)
        state[:] = [(description, pace)]

    def write() -> None:
        while not finished.wait(EVERY_SECONDS):
            if state:
                click.echo(progress_line(time.monotonic(), started, *state[0]), err=True)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield update
    finally:
        finished.set()
        writer.join()


def progress_line(now: float, started: float, description: str, pace: Pace) -> str:
    """A line with the progress of a step and the time left at its current speed.

    Parameters
    ----------
    now, started : float
        Times in seconds: now, and when the command began.
    description : str
    pace : Pace

    Examples
    --------
    >>> pace = Pace.begun(0, 80, 30.0).after(20, 80, 90.0)
    >>> progress_line(100.0, 0.0, "reading scans", pace)
    '0:01:40  reading scans: 20 of 80, about 0:02:50 left'
    """
    told = f"{timedelta(seconds=round(now - started))}  {description}: {pace.done} of {pace.total}"
    left = left_words(pace.left(now))
    return f"{told}, {left}" if left else told
