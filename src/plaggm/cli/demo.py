"""``plaggm demo``: the main job on simulated data whose true network is known."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from plaggm.cli.messages import InputError, warnings_as_lines
from plaggm.cli.progress import steps
from plaggm.cli.staging import staged_folder, write_errors

PICTURE, RESULT, TABLE = "network.png", "result", "scores.csv"

SIMULATE, IGNORE, ADJUST, DRAW = (
    "simulating",
    "fitting without adjustment (the first run also compiles)",
    "fitting with adjustment",
    "drawing",
)
# Usual seconds of each step in a first run.
STEPS = {SIMULATE: 3.0, IGNORE: 23.0, ADJUST: 2.0, DRAW: 2.0}


@click.command(epilog="Example:  plaggm demo --seed 1 --output my-demo")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the data."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("plaggm-demo"),
    show_default=True,
    help="Folder for the picture, the scores and the result.",
)
@click.option("--force", is_flag=True, help="Replace what an earlier run wrote to the folder.")
@click.option("--quiet", is_flag=True, help="Print the last line only.")
def demo(seed: int, output: Path, force: bool, quiet: bool) -> None:
    """Recover a known network from confounded data, with and without adjustment.

    Simulates samples whose network is distorted by a confounder, fits the model once without and once
    with the confounder, and compares both to the truth.
    """
    _use_files_only()
    with (
        staged_folder(output, (PICTURE, RESULT, TABLE), force=force) as folder,
        warnings_as_lines(),
        steps(STEPS, quiet=quiet) as begin,
    ):
        begin(SIMULATE)
        # Imported here so that help and errors need not wait for the numerical libraries.
        import pandas as pd

        from plaggm.cli import known_network

        data = known_network.simulate(seed)
        begin(IGNORE)
        before = known_network.fit(data, adjust=False)
        begin(ADJUST)
        after = known_network.fit(data, adjust=True)
        begin(DRAW)
        scores = {
            "not adjusted": known_network.recovery(before, data),
            "adjusted": known_network.recovery(after, data),
        }
        with write_errors(output):
            known_network.draw(before, after, data, folder / PICTURE)
            after.save(folder / RESULT)
            pd.DataFrame(scores).T.to_csv(folder / TABLE, index_label="fit")
    if not quiet:
        Console().print(known_network.score_table(data, scores))
    click.echo(f"{known_network.lesson(*scores.values())} Picture: {output / PICTURE}")


def _use_files_only() -> None:
    """Draw without a window, or say what is missing before any work is done."""
    try:
        import matplotlib
    except ImportError:
        raise InputError("The demo draws a picture: pip install 'plaggm[cli,plot]'") from None
    matplotlib.use("Agg")
