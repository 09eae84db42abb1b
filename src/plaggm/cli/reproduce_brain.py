"""``plaggm reproduce connectivity`` and ``diagnosis``: the paper's Section 6.2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from plaggm.cli.libraries import need_libraries
from plaggm.cli.messages import InputError, UsablePath, warnings_as_lines
from plaggm.cli.options import (
    Command,
    jobs_option,
    methods_option,
    output_option,
    quiet_option,
    seed_option,
)
from plaggm.cli.study_run import claimed, counting, input_errors, use_one_thread_each

# The keys of plaggm.reproduce.diagnosis.SCENARIOS, repeated so that help need not load the library.
SCENARIOS = ("matched", "confounded", "null", "confounded null")
# That of plaggm.reproduce.connectivity, on and after which nothing was settled.
FIRST_SEED = 31
# Those of plaggm.fmri.treatments.METHODS that need no further settings.
METHODS = ("pla", "lr", "lr-glasso", "scrub", "raw", "pla-own", "paper")


def motion_option(words: str) -> Callable[[Command], Command]:
    """``--motion``, a file with measured motion; ``words`` is its help."""
    return click.option(
        "--motion",
        "motion_file",
        type=UsablePath(path_type=Path),
        metavar="FILE",
        help=f"{words} [default: motion like COBRE's]",
    )


def seeds_option(words: str) -> Callable[[Command], Command]:
    """``--seeds``, the number of simulated studies or data sets; ``words`` is its help."""
    return click.option(
        "--seeds", type=click.IntRange(min=1), help=f"{words} [default: 5, or 1 with --quick]"
    )


def need_file(path: Path | None) -> None:
    """Raise for a file or folder of an option that does not exist."""
    if path is not None and not path.exists():
        raise InputError(f"There is no {path}.")


def _options(default: str) -> Callable[[Command], Command]:
    """The options that both experiments have."""

    def add(command: Command) -> Command:
        for option in (
            quiet_option,
            output_option(
                "tables, pictures and page; an interrupted run is resumed from it", default
            ),
            seed_option("simulated data and of folds; the first of several", FIRST_SEED),
            seeds_option("Number of simulated studies of each kind."),
            jobs_option(-1, "Subjects"),
            click.option("--quick", is_flag=True, help="A small version, in a few minutes."),
            click.option(
                "--confounder",
                "confounders",
                multiple=True,
                metavar="COLUMN",
                help="Column or set of columns to adjust for, as in plaggm study; repeat it for several. "
                "[default: motion7, the paper's seven]",
            ),
            motion_option(
                "Measured motion for a semi-synthetic study: an .npz with motion (subjects × volumes × "
                "columns), subject and column."
            ),
            click.option(
                "--data",
                "data_folder",
                type=UsablePath(path_type=Path),
                metavar="FOLDER",
                help="The COBRE release; an atlas.nii.gz in it is used. [default: semi-synthetic]",
            ),
        ):
            command = option(command)
        return command

    return add


@click.command(epilog="Example:  plaggm reproduce connectivity --quick --output connectivity")
@_options("plaggm-connectivity")
def connectivity(**options: Any) -> None:
    """Networks of patients and controls with PLA-GGM and LR-GGM (Section 6.2, glass brains).

    On the COBRE release, or on signals simulated on top of head motion, whose true networks are known.
    """
    from plaggm.reproduce import connectivity as experiment

    _run(experiment.run, **options)


@click.command(epilog="Example:  plaggm reproduce diagnosis --quick --scenario matched")
@click.option(
    "--scenario",
    "scenarios",
    type=click.Choice(SCENARIOS),
    multiple=True,
    help="Only this semi-synthetic study; repeat it for several. [default: all]",
)
@click.option(
    "--sensitivity/--no-sensitivity",
    default=True,
    help="Compare the Supplement's indicator functions.",
)
@click.option(
    "--null-seeds",
    type=click.IntRange(min=1),
    help="Number of studies of the confounded null. [default: twice --seeds, or 1 with --quick]",
)
@click.option(
    "--people",
    type=click.IntRange(min=2),
    help="People in each group of a simulated study. [default: 40, or 24 with --quick]",
)
@click.option(
    "--permutations",
    type=click.IntRange(min=0),
    help="Permutations of the labels for p-values. [default: 100 for a single study (20 with --quick), "
    "none for several]",
)
@methods_option(
    "Only these, as in plaggm study, with commas between them. [default: pla, lr, lr-glasso and paper]",
    choices=METHODS,
)
@_options("plaggm-diagnosis")
def diagnosis(scenarios: tuple[str, ...], **options: Any) -> None:
    """Tell patients from controls by their networks (Section 6.2 and the Supplement).

    Reports AUC with bands for every method, beside that of motion alone, with motion as a feature and with
    features that are freed of it, and how much motion is left in the networks.
    """
    from plaggm.reproduce import diagnosis as experiment

    if scenarios and options["data_folder"] is not None:
        raise InputError("--scenario is for semi-synthetic studies; leave it out with --data.")
    _run(experiment.run, scenarios=scenarios or SCENARIOS, **options)


@click.command(
    epilog="Example:  plaggm reproduce benchmark-motion --motion motion.npz --series folder"
)
@quiet_option
@output_option(
    "table, figure and page; an interrupted run is resumed from it", "plaggm-benchmark-motion"
)
@seed_option("artefacts and of simulated data; the first of several")
@seeds_option("Number of seeds.")
@click.option("--quick", is_flag=True, help="A small version, in less than a minute.")
@click.option(
    "--series",
    "series_file",
    type=UsablePath(path_type=Path),
    metavar="PATH",
    help="Region series that are taken as free of motion: a folder with a TSV, CSV or NPY file for each "
    "person, or an .npz with series (people × volumes × regions). [default: simulated]",
)
@motion_option(
    "Measured motion: an .npz with motion (subjects × volumes × columns), subject and column."
)
def benchmark_motion(output: Path, quiet: bool, **options: Any) -> None:
    """Add motion artefacts to clean region series and compare ways to remove them.

    Reports agreement with the clean networks, edges that correlate with motion, how well
    networks predict who moves more, and how well people are recognised, for every method.
    """
    from plaggm.reproduce import benchmark_motion as experiment

    _experiment(experiment.run, output, quiet, ("series_file", "motion_file"), options)


def _run(experiment: Callable[..., str], *, output: Path, quiet: bool, **options: Any) -> None:
    if options["data_folder"] is not None and options["motion_file"] is not None:
        raise InputError("--data brings its own motion; leave --motion out.")
    confounders = options.pop("confounders")
    if confounders:
        options["confounders"] = confounders
    _experiment(experiment, output, quiet, ("data_folder", "motion_file"), options)


def _experiment(
    experiment: Callable[..., str],
    output: Path,
    quiet: bool,
    files: tuple[str, ...],
    options: dict[str, Any],
) -> None:
    need_libraries("plaggm reproduce", "matplotlib", "jinja2")
    for name in files:
        need_file(options[name])
    use_one_thread_each()
    with input_errors(), warnings_as_lines(), counting(quiet=quiet) as progress, claimed(output):
        said = experiment(output, progress=progress, **options)
    click.echo(f"{said} Page: {output / 'report.html'}")
