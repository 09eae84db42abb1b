"""A progress bar over a few steps of known length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text


class TimeLeft(ProgressColumn):
    """Time left until the expected end of a task, its field ``due``."""

    def render(self, task: Task) -> Text:
        """The time left as h:mm:ss, until it is over."""
        left = float(task.fields["due"]) - task.get_time()
        if left <= 0.0:
            return Text("takes longer than usual", style="progress.remaining")
        return Text(f"{timedelta(seconds=round(left))} left", style="progress.remaining")


class Begin(Protocol):
    """Function to call when a step begins, and again as parts of it are done."""

    def __call__(self, name: str, share: float = 0.0) -> None:
        """Show the step ``name``, of which ``share`` (from 0 to 1) is done."""
        ...


@contextmanager
def steps(
    seconds: Mapping[str, float], *, quiet: bool = False, verbose: bool = False
) -> Iterator[Begin]:
    """Show the current step, a progress bar and the time left; nothing if stderr is not a terminal.

    Parameters
    ----------
    seconds : mapping of str to float
        Usual time of each step, in the order of the steps. The time left is scaled by the time that the
        earlier steps have taken.
    quiet : bool
        Show nothing.
    verbose : bool
        Also write each step on a line of its own as it begins, with the seconds since the start.

    Yields
    ------
    Begin
        Function to call with the name of a step when it begins.
    """
    console = Console(stderr=True)
    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeLeft(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )
    names, total = list(seconds), sum(seconds.values())
    current = ""
    # Before rich 14.3, one that is disabled ends with an empty line.
    with nullcontext() if progress.disable else progress:
        start = progress.get_time()
        task = progress.add_task("", total=total, due=start + total)

        def begin(name: str, share: float = 0.0) -> None:
            nonlocal current
            done = sum(seconds[earlier] for earlier in names[: names.index(name)])
            done += share * seconds[name]
            now = progress.get_time()
            pace = (now - start) / done if done else 1.0
            due = now + pace * (total - done)
            progress.update(task, completed=done, description=name, due=due)
            if verbose and name != current:
                console.print(f"{now - start:7.1f} s  {name}", markup=False, highlight=False)
            current = name

        yield begin
