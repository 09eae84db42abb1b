"""``plaggm demo``: fits to simulated data whose true network is known."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from plaggm.cli.layout import ENTRIES, REPORT
from plaggm.cli.libraries import need_libraries
from plaggm.cli.messages import warnings_as_lines
from plaggm.cli.options import (
    force_option,
    output_option,
    quiet_option,
    seed_option,
    verbose_option,
)
from plaggm.cli.progress import steps
from plaggm.cli.staging import staged_folder

DATA, SCORES = "data.csv", "scores.csv"

SIMULATE, IGNORE, ADJUST, DRAW, PAGE = (
    "simulating",
    "fitting without adjustment (the first run also compiles)",
    "fitting with adjustment, to all samples and to halves of them",
    "drawing",
    "writing the page",
)
# Usual seconds of each step in a first run.
STEPS = {SIMULATE: 3.0, IGNORE: 23.0, ADJUST: 4.0, DRAW: 6.0, PAGE: 1.0}


@click.command(epilog="Example:  plaggm demo --seed 1 --output my-demo")
@seed_option("the data")
@output_option("the data, the result and its page", "plaggm-demo")
@force_option
@quiet_option
@verbose_option
def demo(seed: int, output: Path, force: bool, quiet: bool, verbose: bool) -> None:
    """Recover a known network from confounded data, with and without adjustment.

    Simulates samples whose network is distorted by motion, fits the model without and with motion as a
    confounder, and compares both networks with the truth. The folder also has the data, on which you can
    try plaggm fit.
    """
    need_libraries("plaggm demo", "matplotlib", "jinja2", "tomli_w")
    with (
        staged_folder(output, (*ENTRIES, DATA, SCORES), force=force) as folder,
        warnings_as_lines(),
        steps(STEPS, quiet=quiet, verbose=verbose) as begin,
    ):
        begin(SIMULATE)
        # Imported here so that help and errors need not wait for the numerical libraries.
        import pandas as pd

        from plaggm.cli import known_network
        from plaggm.report import write_report

        data = known_network.simulate(seed)
        table = known_network.table_of(data)
        begin(IGNORE)
        before = known_network.fit_before(table, seed)
        begin(ADJUST)
        after = known_network.fit_after(table, seed, lambda share: begin(ADJUST, share))
        scores = {
            "not adjusted": known_network.recovery(before, data),
            "adjusted": known_network.recovery(after, data),
        }
        begin(DRAW)
        truth = known_network.truth_of(data, after)
        known_network.write_folder(folder, before, after, table, truth, seed)
        pd.DataFrame(scores).T.to_csv(folder / SCORES, index_label="fit")
        begin(PAGE)
        write_report(folder)
    if not quiet:
        Console().print(known_network.score_table(data, scores))
    click.echo(f"{known_network.conclusion(*scores.values())} Page: {output / REPORT}")
