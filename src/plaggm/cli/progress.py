"""A progress bar over a few steps of known weight."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

# The speed is estimated from all steps so far, in seconds.
WHOLE_RUN = 3600.0


@contextmanager
def steps(weights: Mapping[str, float], *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Show the step at work, a bar and the time left; nothing if stderr is no terminal.

    Parameters
    ----------
    weights : mapping of str to float
        Each step in its order, with its usual share of the time.
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
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
        speed_estimate_period=WHOLE_RUN,
    )
    with progress:
        task = progress.add_task("", total=sum(weights.values()))
        names = list(weights)

        def begin(name: str) -> None:
            done = sum(weights[earlier] for earlier in names[: names.index(name)])
            progress.advance(task, done - progress.tasks[task].completed)
            progress.update(task, description=name)

        yield begin
