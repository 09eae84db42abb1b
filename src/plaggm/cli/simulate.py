"""``plaggm simulate``: confounded data, written together with the truth."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plaggm.cli.layout import SETTINGS
from plaggm.cli.messages import InputError, library_errors
from plaggm.cli.options import force_option, output_option, quiet_option
from plaggm.cli.progress import steps
from plaggm.cli.setting_options import given_options
from plaggm.cli.staging import staged_folder

if TYPE_CHECKING:
    from plaggm.simulate import Simulated, SimulatedFamily

FORMATS = ("csv", "tsv", "parquet", "feather")
GRAPHS = ("erdos-renyi", "scale-free", "band", "block", "hub")
NUISANCES = ("dense", "rank-one", "sparse")
SHAPES = ("paper", "ramp", "saturating", "bump", "none")
CONFOUNDERS = ("grid", "uniform", "skewed", "heavy-tailed")
MARGINS = ("gaussian", "skewed", "heavy-tailed", "likert")
FAMILIES = ("binomial", "poisson", "mixed")
# Tables of all formats: a run replaces that of an earlier run in another format.
DATA_FILES = tuple(f"data.{kind}" for kind in FORMATS)
TRUTH = "truth"
DRAW, WRITE = "simulating", "writing"
# Numbers that are drawn, or written, in a second.
PACE = 1e6

PAPER_EPILOG = """\b
Example:
  plaggm simulate paper --variables 20 --samples 2000 --even --output simulated
  plaggm fit simulated/data.csv --confounder confounder --truth simulated/truth.json
"""
FAMILY_EPILOG = """\b
Example:
  plaggm simulate family --family binomial --prevalence 0.1 --samples 5000 --output symptoms
  plaggm fit symptoms/data.csv --confounder confounder --family auto --truth symptoms/truth.json
"""
STUDY_EPILOG = """\b
Example:
  plaggm simulate study --subjects 20 --output study
  plaggm fit study/data.csv --confounder 'motion*' --columns 'v*' --group-by group
"""


@click.group(
    epilog="Examples:  plaggm simulate paper --even;  plaggm simulate family --family poisson"
)
def simulate() -> None:
    """Simulate confounded data with a known network."""


def _nuisance_option(*more: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(
        "--nuisance",
        type=click.Choice((*NUISANCES, *more)),
        default="dense",
        help="Structure of the distortion: which pairs change with the confounder, and how."
        + (" definite: W is a precision matrix and is not scaled; with --even." if more else ""),
    )


def _shared(command: Callable[..., None]) -> Callable[..., None]:
    """The options of all designs."""
    options = [
        click.option(
            "--variables", type=click.IntRange(min=2), default=20, help="Number of variables."
        ),
        click.option(
            "--graph",
            type=click.Choice(GRAPHS),
            default="erdos-renyi",
            help="Graph family of the true network.",
        ),
        click.option("--density", type=float, help="Share of the pairs that are edges."),
        click.option(
            "--shape",
            type=click.Choice(SHAPES),
            help="Shape of the distortion along the confounder.",
        ),
        click.option(
            "--threshold", type=float, help="Largest confounder value without distortion."
        ),
        click.option("--target-radius", type=float, help="Spectral radius of the true network."),
        click.option(
            "--nuisance-radius", type=float, help="Spectral radius of the largest distortion."
        ),
        click.option(
            "--mean-shift", type=float, help="Size of the shift of the means by the confounder."
        ),
        click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the data."),
        click.option(
            "--format",
            "kind",
            type=click.Choice(FORMATS),
            default="csv",
            help="Format of the table.",
        ),
        output_option("the data, the truth and the settings", "plaggm-simulated"),
        force_option,
        quiet_option,
    ]
    for option in reversed(options):
        command = option(command)
    return command


inflation_option = click.option(
    "--variance-inflation", type=float, help="Increase of the variances by the confounder."
)


@simulate.command(epilog=PAPER_EPILOG)
@click.option("--samples", type=click.IntRange(min=1), default=800, help="Number of samples.")
@click.option("--even", is_flag=True, help="Use the same distortion on both sides of zero.")
@click.option(
    "--printed", is_flag=True, help="Use the distortion exactly as printed in the supplement."
)
@click.option(
    "--nuisance-density",
    type=float,
    help="Share of the pairs that are distorted; with --nuisance sparse.",
)
@click.option(
    "--confounder",
    type=click.Choice(CONFOUNDERS),
    default="grid",
    help="Distribution of the confounder.",
)
@click.option(
    "--margins",
    type=click.Choice(MARGINS),
    default="gaussian",
    help="Monotone function through which the variables are seen.",
)
@inflation_option
@_nuisance_option("definite")
@_shared
def paper(variables: int, samples: int, margins: str, **options: Any) -> None:
    """The simulation of the paper: one sample at each value of one confounder.

    Writes the table, the true network (truth.csv, and truth.json for plaggm fit --truth) and the
    settings.
    """

    def draw(**given: Any) -> Simulated:
        from plaggm.simulate import simulate_paper, with_margins

        return with_margins(simulate_paper(variables, samples, **given), margins)

    seconds = 1.0 + samples * variables / PACE
    ranks = "" if margins == "gaussian" else " --margins rank"
    _write_network("paper", draw, variables * samples, seconds, ranks, **options)


@simulate.command(epilog=FAMILY_EPILOG)
@click.option("--samples", type=click.IntRange(min=1), default=2000, help="Number of samples.")
@click.option(
    "--family",
    type=click.Choice(FAMILIES),
    default="binomial",
    help="Binary variables, counts, or Gaussian, binary and count variables in turn.",
)
@click.option("--prevalence", type=float, help="Approximate share of ones of binary variables.")
@click.option("--mean-count", type=float, help="Approximate mean of counts.")
@click.option(
    "--overdispersion",
    type=float,
    help="Excess variance of counts, relative to their squared mean.",
)
@click.option("--even", is_flag=True, help="Use the same distortion on both sides of zero.")
@click.option(
    "--confounder",
    type=click.Choice(CONFOUNDERS),
    default="uniform",
    help="Distribution of the confounder.",
)
@_nuisance_option()
@_shared
def family(variables: int, samples: int, **options: Any) -> None:
    """A network of binary variables, counts or both, along one confounder.

    Every sample is the end of a Gibbs chain. Writes the table, the true network (truth.csv with log odds
    ratios and the like, truth.json in units of the variables' standard deviations) and the settings.
    """

    def draw(**given: Any) -> SimulatedFamily:
        from plaggm.simulate import simulate_family

        return simulate_family(variables, samples, **given)

    seconds = 5.0 + samples * variables**2 / PACE
    _write_network("family", draw, variables * samples, seconds, " --family auto", **options)


@simulate.command(epilog=STUDY_EPILOG)
@click.option(
    "--groups",
    default="control,patient",
    metavar="NAMES",
    help="Labels of the groups, separated by commas.",
)
@click.option("--subjects", type=click.IntRange(min=1), default=10, help="Subjects in each group.")
@click.option("--times", type=click.IntRange(min=1), default=150, help="Samples of each subject.")
@click.option("--confounders", type=click.IntRange(min=1), default=3, help="Number of confounders.")
@click.option("--odd", is_flag=True, help="Use opposite distortions on the two sides of zero.")
@click.option(
    "--motion-ratio",
    type=float,
    help="Ratio of the motion of each group to that of the previous one.",
)
@click.option("--difference", type=float, help="Share of the edges in which the groups differ.")
@click.option(
    "--subject-radius",
    type=float,
    help="Spectral radius of the individual part of a subject's network.",
)
@inflation_option
@_nuisance_option()
@_shared
def study(
    variables: int,
    groups: str,
    subjects: int,
    times: int,
    confounders: int,
    odd: bool,
    seed: int,
    kind: str,
    output: Path,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """A study: groups of subjects, measured over time while they move.

    Writes one table of all rows, the true network of each group (truth_GROUP.csv) and the settings.
    """
    from plaggm.cli.naming import folder_names

    data_file = _data_file(kind)
    labels = [label.strip() for label in groups.split(",")]
    if not all(labels) or len(set(labels)) != len(labels):
        raise InputError(f"--groups must be one or more distinct labels; got {groups!r}.")
    truths = [f"{TRUTH}_{name}.csv" for name in folder_names(labels)]
    rows = len(labels) * subjects * times
    usual = {DRAW: 1.0 + rows * variables / PACE, WRITE: 0.5 + rows * variables / PACE}
    with (
        staged_folder(output, (*DATA_FILES, *truths, SETTINGS), force=force) as folder,
        steps(usual, quiet=quiet) as begin,
        library_errors(),
    ):
        begin(DRAW)
        from plaggm.cli.simulating import write_study
        from plaggm.simulate import simulate_study

        data = simulate_study(
            variables,
            seed=seed,
            groups=labels,
            n_subjects=subjects,
            n_times=times,
            n_confounders=confounders,
            even=not odd,
            **given_options(options),
        )
        begin(WRITE)
        write_study(data, folder, data_file, truths)
    _report(
        f"{rows} samples of {variables} variables; subjects in each of {len(labels)} groups: {subjects}.",
        f"plaggm fit {output / data_file} --confounder 'motion*' --columns 'v*' --group-by group",
        output / data_file,
        quiet=quiet,
    )


def _write_network(
    design: str,
    draw: Callable[..., Simulated | SimulatedFamily],
    cells: int,
    seconds: float,
    fit_options: str,
    *,
    kind: str,
    output: Path,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Simulate samples of one network and write them.

    Parameters
    ----------
    design : str
        Name of the command.
    draw : callable
        Simulates, given the options that were not left out.
    cells : int
        Numbers in the table.
    seconds : float
        Usual time of the simulation.
    fit_options : str
        Options of ``plaggm fit`` for such data.
    kind, output, force, quiet
        See the command.
    **options
        Further arguments of the simulation, None where they were left out.
    """
    data_file = _data_file(kind)
    usual = {DRAW: seconds, WRITE: 0.5 + cells / PACE}
    entries = (*DATA_FILES, f"{TRUTH}.csv", f"{TRUTH}.json", SETTINGS)
    with (
        staged_folder(output, entries, force=force) as folder,
        steps(usual, quiet=quiet) as begin,
        library_errors(),
    ):
        begin(DRAW)
        from plaggm.cli.simulating import write_network

        data = draw(**given_options(options))
        begin(WRITE)
        write_network(design, data, folder, data_file)
    n, p = data.x.shape
    _report(
        f"{n} samples of {p} variables with {int(data.support.sum()) // 2} true edges.",
        f"plaggm fit {output / data_file} --confounder confounder{fit_options} "
        f"--truth {output / TRUTH}.json",
        output / data_file,
        quiet=quiet,
    )


def _data_file(kind: str) -> str:
    """Name of the table in a format; raises if the library for it is missing."""
    if kind in {"parquet", "feather"} and find_spec("pyarrow") is None:
        raise InputError(f"--format {kind} needs pyarrow: pip install 'plaggm[cli]'")
    return f"data.{kind}"


def _report(content: str, fit: str, path: Path, *, quiet: bool) -> None:
    """Print what was written and how to fit it."""
    if not quiet:
        click.echo(f"{content}\nTo fit them: {fit}")
    click.echo(f"Data: {path}")
