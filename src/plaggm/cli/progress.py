"""A progress bar over a few steps of known length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text


class TimeLeft(ProgressColumn):
    """Counts down to the time at which the task expects to end, its field ``due``."""

    def render(self, task: Task) -> Text:
        """The time left as h:mm:ss."""
        left = max(float(task.fields["due"]) - task.get_time(), 0.0)
        return Text(f"{timedelta(seconds=round(left))} left", style="progress.remaining")


@contextmanager
def steps(seconds: Mapping[str, float], *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Show the step at work, a bar and the time left; nothing if stderr is no terminal.

    Parameters
    ----------
    seconds : mapping of str to float
        Each step in its order, with its usual time. What is left is scaled by how long the steps so far
        have taken.
    quiet : bool

    Yields
    ------
    callable
        To be called with the name of a step when it begins.
    """
    console = Console(stderr=True)
    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeLeft(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )
    names, total = list(seconds), sum(seconds.values())
    with progress:
        start = progress.get_time()
        task = progress.add_task("", total=total, due=start + total)

        def begin(name: str) -> None:
            done = sum(seconds[earlier] for earlier in names[: names.index(name)])
            now = progress.get_time()
            pace = (now - start) / done if done else 1.0
            due = now + pace * (total - done)
            progress.update(task, completed=done, description=name, due=due)

        yield begin
