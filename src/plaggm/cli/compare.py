"""``plaggm compare``: all methods on a user's own table."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plaggm.cli.completion import complete_columns
from plaggm.cli.messages import InputError, UsablePath, library_errors, warnings_as_lines
from plaggm.cli.progress import steps
from plaggm.cli.settings import (
    CRITERIA,
    DECLARED_BY,
    HALVES,
    JOBS,
    MISSING,
    SEED,
    Checked,
    FitSettings,
    as_rate,
    as_threshold,
    refuse_unused,
)
from plaggm.cli.staging import staged_folder

if TYPE_CHECKING:
    from plaggm.parameter_types import Criterion, LossName

TABLE, AGREEMENT, EDGES, TESTS, SCORES, PICTURE, SETTINGS = (
    "comparison.csv",
    "agreement.csv",
    "edges.csv",
    "tests.csv",
    "scores.csv",
    "comparison.png",
    "comparison.json",
)
ENTRIES = (TABLE, AGREEMENT, EDGES, TESTS, SCORES, PICTURE, SETTINGS)
LOSSES = ("pseudo", "glasso")

READ, FIT, WRITE = "reading the table", "fitting all methods", "writing"
# What --quick means: criterion, penalties, folds and resamples.
QUICK: dict[str, Any] = dict(criterion="bic", penalties=25, folds=5, resamples=4)
USUAL: dict[str, Any] = dict(criterion="cv", penalties=100, folds=10, resamples=10)


@click.command(epilog="Example:  plaggm compare prices.csv --confounder volatility --jobs -1")
@click.argument("data", type=UsablePath(path_type=Path))
@click.option(
    "--confounder",
    multiple=True,
    required=True,
    metavar="COL",
    shell_complete=complete_columns,
    help="Column that distorts the network; repeat it, or use a pattern, for several.",
)
@click.option(
    "--columns",
    multiple=True,
    metavar="COL",
    shell_complete=complete_columns,
    help="Variables of the network: names or patterns such as 'roi_*'. All other columns by default.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="COL",
    shell_complete=complete_columns,
    help="Columns to leave out.",
)
@click.option(
    "--subject",
    metavar="COL",
    shell_complete=complete_columns,
    help="Column that says whose row each is: resamples and folds keep a subject's rows together.",
)
@click.option(
    "--threshold",
    default="auto",
    show_default=True,
    type=Checked("threshold", as_threshold),
    metavar="auto|NUMBERS",
    help="Size up to which the confounder does no harm, in its own units; with commas for several.",
)
@click.option(
    "--methods",
    metavar="NAMES",
    help="Only these, with commas between them. [default: all but tv-ggm-average]",
)
@click.option(
    "--loss",
    type=click.Choice(LOSSES),
    default="pseudo",
    show_default=True,
    help="Of the related methods: the pseudo-likelihood, or the graphical lasso.",
)
@click.option(
    "--criterion", type=click.Choice(CRITERIA), help="What chooses the penalties. [default: cv]"
)
@click.option(
    "--edges",
    type=click.Choice(DECLARED_BY),
    default="fdr",
    show_default=True,
    help="Which pairs are edges: those that a method's test declares, where it has one, or those that the "
    "penalty keeps.",
)
@click.option(
    "--fdr",
    type=Checked("rate", as_rate),
    metavar="RATE",
    help="Expected share of false edges among those that pass. [default: 0.05]",
)
@click.option(
    "--resamples",
    type=HALVES,
    metavar="N",
    help="Random parts of the samples for stability and prediction. [default: 10]",
)
@click.option(
    "--missing",
    type=click.Choice(MISSING),
    default="refuse",
    show_default=True,
    help="What to do about missing values: refuse them, drop their rows, or impute them.",
)
@click.option("--sheet", metavar="NAME", help="Sheet of an Excel file. [default: the first]")
@click.option(
    "--quick",
    is_flag=True,
    help="BIC, fewer penalties and four resamples instead of ten folds and ten resamples.",
)
@click.option(
    "--jobs",
    type=JOBS,
    default=1,
    show_default=True,
    metavar="N",
    help="Processes; -1 for all cores.",
)
@click.option(
    "--seed",
    type=SEED,
    default=0,
    show_default=True,
    help="Of folds and resamples.",
)
@click.option(
    "--output",
    type=UsablePath(path_type=Path),
    metavar="FOLDER",
    help="Where tables and figure go. [default: named after the table]",
)
@click.option("--force", is_flag=True, help="Replace what an earlier run wrote to the folder.")
@click.option("--quiet", is_flag=True, help="Print the last line only.")
@click.option("--verbose", is_flag=True, help="Print every step with its time.")
def compare(
    data: Path,
    subject: str | None,
    methods: str | None,
    loss: LossName,
    criterion: Criterion | None,
    resamples: int | None,
    quick: bool,
    jobs: int,
    output: Path | None,
    force: bool,
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> None:
    """Fit all methods to a table and compare their networks.

    DATA is a table as for ``plaggm fit``. For every method: its edges, how many it shares with each other
    method, how stable they are over resamples, and how well it predicts samples it has not seen. A method
    that cannot be fitted has an empty cell and a reason.
    """
    if jobs == 0:
        raise InputError("--jobs must not be 0; use -1 for all cores.")
    if find_spec("matplotlib") is None:
        raise InputError("plaggm compare draws a figure: pip install 'plaggm[cli,plot]'")
    settings = FitSettings(data=str(data), **options)
    refuse_unused(settings)
    plan = QUICK if quick else USUAL
    place = Path(f"{data.stem}-comparison") if output is None else output
    with staged_folder(place, ENTRIES, force=force) as folder, warnings_as_lines():
        with steps({READ: 3.0}, quiet=quiet, verbose=verbose) as begin, library_errors():
            begin(READ)
            # Imported here so that help and options need not wait for the numerical libraries.
            from plaggm.cli import comparing

            work = comparing.read_work(
                settings,
                subject=subject,
                methods=methods,
                loss=loss,
                criterion=plan["criterion"] if criterion is None else criterion,
                penalties=plan["penalties"],
                folds=plan["folds"],
                resamples=plan["resamples"] if resamples is None else resamples,
            )
        with (
            steps(
                {FIT: work.usual_seconds(jobs), WRITE: 2.0}, quiet=quiet, verbose=verbose
            ) as begin,
            library_errors(),
        ):
            begin(FIT)
            found = work.run(jobs, lambda done, of: begin(FIT, done / of))
            begin(WRITE)
            comparing.write(found, folder)
    if not quiet:
        comparing.show(found)
    click.echo(f"{comparing.lesson(found)} Picture: {place / PICTURE}")
