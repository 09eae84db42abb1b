"""``plaggm reproduce``: the paper's experiments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plaggm.cli.libraries import need_libraries
from plaggm.cli.messages import InputError, library_errors, warnings_as_lines
from plaggm.cli.options import (
    Command,
    jobs_option,
    methods_option,
    output_option,
    quiet_option,
    verbose_option,
)
from plaggm.cli.progress import steps
from plaggm.cli.reproduce_brain import (
    benchmark_motion,
    connectivity,
    diagnosis,
    motion_option,
    need_file,
)
from plaggm.cli.staging import is_empty, output_folder, refuse_file

if TYPE_CHECKING:
    from plaggm.cli.experiments import Work

# Folder of the finished cells, by which the output folder of an experiment is recognised.
CELLS = "cells"

# The keys of plaggm.reproduce.DESIGNS, repeated so that help need not load the library.
DESIGNS = ("odd", "printed", "even", "even-wide", "even-large", "even-strong", "definite")

RUN, WRITE = "fitting", "writing tables, figure and page"


@click.group(epilog="Example:  plaggm reproduce recovery --quick --output recovery")
def reproduce() -> None:
    """Repeat the paper's experiments, on simulated data or on scans."""


reproduce.add_command(connectivity)
reproduce.add_command(diagnosis)
reproduce.add_command(benchmark_motion, "benchmark-motion")


def _options(default: str, quick: str = "in less than two minutes") -> Callable[[Command], Command]:
    """The options that these experiments share."""

    def add(command: Command) -> Command:
        for option in (
            verbose_option,
            quiet_option,
            click.option(
                "--restart", is_flag=True, help="Repeat cells that an earlier run has finished."
            ),
            output_option(
                "tables, figure and page; an interrupted run is resumed from it", default
            ),
            jobs_option(1, "Fits"),
            click.option("--quick", is_flag=True, help=f"A small version, {quick}."),
        ):
            command = option(command)
        return command

    return add


@reproduce.command(epilog="Example:  plaggm reproduce recovery --jobs -1 --output recovery")
@click.option(
    "--p",
    "sizes",
    type=click.IntRange(min=2),
    multiple=True,
    help="Only this number of variables; repeat it for several. [default: 10, 20, 50 and 100]",
)
@methods_option("Only these, with commas between them. [default: all]")
@click.option(
    "--design",
    "designs",
    type=click.Choice(DESIGNS),
    multiple=True,
    help="Only this reading of the simulation; repeat it for several. [default: all]",
)
@_options("plaggm-recovery")
def recovery(
    sizes: tuple[int, ...],
    designs: tuple[str, ...],
    methods: tuple[str, ...],
    quick: bool,
    **options: Any,
) -> None:
    """Recover the paper's simulated networks with all methods (Figure 1).

    Writes the area under the ROC curve of every fit (cells.csv), its means (summary.csv), a figure and a
    page that states every choice the paper left open.
    """
    _run(lambda found: found.recovery_work(quick, sizes, methods, designs), **options)


@reproduce.command(epilog="Example:  plaggm reproduce rates --jobs -1 --output rates")
@_options("plaggm-rates")
def rates(quick: bool, **options: Any) -> None:
    """Measure how fast the error falls with the number of samples (Theorem 1).

    Writes the error of every fit for n from 400 to 50,000 (cells.csv), the fitted slopes (slopes.csv), a
    figure on log axes and a page.
    """
    _run(lambda found: found.rates_work(quick), **options)


@reproduce.command(epilog="Example:  plaggm reproduce sparsistency --jobs -1 --output sparsistency")
@_options("plaggm-sparsistency")
def sparsistency(quick: bool, **options: Any) -> None:
    """Measure how often exactly the true edges are found (Theorem 1).

    Writes frequency and largest error against n / log p for p = 10 to 80 (structure.csv), a figure and a
    page.
    """
    _run(lambda found: found.structure_work(quick), **options)


@reproduce.command("all", epilog="Example:  plaggm reproduce all --jobs -1 --motion motion.npz")
@motion_option("Measured motion for the brain experiments, see plaggm reproduce connectivity.")
@_options("plaggm-replication", "in some ten minutes")
@click.pass_context
def everything(
    context: click.Context,
    motion_file: Path | None,
    quick: bool,
    jobs: int,
    output: Path,
    restart: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Run every experiment, each in a folder of its own.

    An interrupted run is resumed, and an experiment that cannot be run is reported at the end. Each page
    names its command, the version of the package and a digest of its settings.
    """
    refuse_file(output)
    need_file(motion_file)
    shared = {"quick": quick, "jobs": jobs, "quiet": quiet}
    cells = {**shared, "restart": restart, "verbose": verbose}
    brain = {**shared, "motion_file": motion_file}
    failed = []
    for command, settings in (
        (rates, cells),
        (recovery, cells),
        (sparsistency, cells),
        (connectivity, brain),
        (diagnosis, brain),
    ):
        name = str(command.name)
        click.echo(f"{name}:", err=True)
        try:
            context.invoke(command, output=output / name, **settings)
        except click.ClickException as error:
            failed.append(f"{name}: {error.format_message()}")
    if failed:
        raise InputError("The other experiments are complete, but not these. " + " ".join(failed))


def _run(
    choose: Callable[[Any], Work],
    *,
    output: Path,
    jobs: int,
    restart: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Run an experiment, write its page and print the last line.

    Parameters
    ----------
    choose : callable
        Returns the experiment, given the module ``plaggm.cli.experiments``, which is imported here so that
        help need not wait for the numerical libraries.
    output, jobs, restart, quiet, verbose
        The shared options.
    """
    need_libraries("plaggm reproduce", "matplotlib")
    with warnings_as_lines():
        from plaggm.cli import experiments

        with library_errors():
            work = choose(experiments)
        seconds = {RUN: experiments.usual_seconds(work, jobs), WRITE: 5.0}
        with (
            output_folder(output, below=True),
            steps(seconds, quiet=quiet, verbose=verbose) as begin,
        ):
            _check_output(output)
            begin(RUN)
            try:
                records = experiments.run_work(
                    work,
                    output,
                    jobs=jobs,
                    restart=restart,
                    progress=lambda share: begin(RUN, share),
                )
            except KeyboardInterrupt:
                # The group of commands prints these words.
                kept = f"Finished parts are kept in {output}; the same command resumes from there."
                raise KeyboardInterrupt(kept) from None
            begin(WRITE)
            work.write(output, records)
    click.echo(f"{work.conclusion(records)} Page: {output / work.page}")


def _check_output(output: Path) -> None:
    """An output folder is new, empty or that of an earlier run."""
    refuse_file(output)
    if output.is_dir() and not is_empty(output) and not (output / CELLS).is_dir():
        raise InputError(
            f"{output} holds other files and no earlier run. Choose another folder with --output."
        )
