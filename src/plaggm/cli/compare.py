"""``plaggm compare``: all methods on a user's own table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from plaggm.cli.completion import complete_columns
from plaggm.cli.libraries import need_libraries
from plaggm.cli.messages import UsablePath, library_errors, warnings_as_lines
from plaggm.cli.options import (
    force_option,
    jobs_option,
    methods_option,
    output_option,
    quiet_option,
    verbose_option,
)
from plaggm.cli.progress import steps
from plaggm.cli.setting_options import OF_KERNEL, refuse_unused, setting_options, with_options
from plaggm.cli.settings import CRITERIA, HALVES, FitSettings
from plaggm.cli.staging import staged_folder

if TYPE_CHECKING:
    from plaggm.parameter_types import Criterion, LossName

PAGE, TABLE, AGREEMENT, EDGES, TESTS, SCORES, PICTURE, SETTINGS = (
    "comparison.html",
    "comparison.csv",
    "agreement.csv",
    "edges.csv",
    "tests.csv",
    "scores.csv",
    "comparison.png",
    "comparison.json",
)
ENTRIES = (PAGE, TABLE, AGREEMENT, EDGES, TESTS, SCORES, PICTURE, SETTINGS)
LOSSES = ("pseudo", "glasso")

READ, WRITE = "reading the table", "writing"


class Effort(NamedTuple):
    """Settings that --quick changes; criterion and resamples have options of their own, too."""

    criterion: Criterion
    penalties: int
    folds: int
    resamples: int


QUICK = Effort(criterion="bic", penalties=25, folds=5, resamples=4)
USUAL = Effort(criterion="cv", penalties=100, folds=10, resamples=10)


@click.command(epilog="Example:  plaggm compare prices.csv --confounder volatility")
@click.argument("data", type=UsablePath(path_type=Path))
@setting_options("confounder", "columns", "exclude", required="confounder")
@click.option(
    "--subject",
    metavar="COL",
    shell_complete=complete_columns,
    help="Column with the subject of each row: resamples and folds keep a subject's rows together.",
)
@setting_options("threshold", "reference", "categorical", "family")
@setting_options(*OF_KERNEL, kernel="--methods kernel")
@setting_options("variance")
@methods_option(
    "Methods to run, separated by commas, or 'all'. [default: all but the slow tv-ggm-average and "
    "tv-ggm-fused, and mrf; with --family: spline, ggm, mrf, mrf-squares and pooled]"
)
@click.option(
    "--loss",
    type=click.Choice(LOSSES),
    default="pseudo",
    help="Loss of the related methods: the pseudo-likelihood, or the graphical lasso.",
)
@click.option(
    "--criterion",
    type=click.Choice(CRITERIA),
    help="Criterion that chooses the penalties. [default: cv]",
)
@setting_options("edges", "fdr")
@click.option(
    "--resamples",
    type=HALVES,
    metavar="N",
    help="Number of resamples for stability and prediction. [default: 10]",
)
@setting_options("temporal", "run", "time", "na", "missing", "sheet")
@click.option(
    "--quick",
    is_flag=True,
    help="Use BIC, fewer penalties and four resamples instead of ten folds and ten resamples.",
)
@jobs_option(-1, "Fits")
@setting_options("seed")
@output_option("page, tables and figure")
@force_option
@quiet_option
@verbose_option
def compare(
    data: Path,
    subject: str | None,
    methods: tuple[str, ...],
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

    DATA is a table as for ``plaggm fit``. For every method the page shows its held-out likelihood, the
    stability of its edges over resamples, their overlap with those of the other methods, their number, and
    the confounder value that its network refers to. A method that cannot be fitted has empty cells, with
    the reason.
    """
    need_libraries("plaggm compare", "matplotlib", "jinja2")
    kernel = {name: options.pop(name) for name in OF_KERNEL}
    settings = with_options(FitSettings(data=str(data)), options)
    refuse_unused(settings)
    effort = QUICK if quick else USUAL
    if criterion is not None:
        effort = effort._replace(criterion=criterion)
    if resamples is not None:
        effort = effort._replace(resamples=resamples)
    place = Path(f"{data.stem}-comparison") if output is None else output
    with staged_folder(place, ENTRIES, force=force) as folder, warnings_as_lines():
        with steps({READ: 3.0}, quiet=quiet, verbose=verbose) as begin, library_errors():
            begin(READ)
            # Imported here so that help and options need not wait for the numerical libraries.
            from plaggm.cli import comparing

            work = comparing.read_work(
                settings,
                kernel=kernel,
                subject=subject,
                methods=methods,
                loss=loss,
                effort=effort,
            )
        for line in work.notices:
            click.echo(line, err=True)
        with (
            steps({**work.steps(jobs), WRITE: 2.0}, quiet=quiet, verbose=verbose) as begin,
            library_errors(),
        ):
            found = work.run(jobs, lambda name, done, of: begin(comparing.step_of(name), done / of))
            begin(WRITE)
            left_out = work.left_out(jobs, found.seconds())
            comparing.write(found, folder, [left_out])
    if not quiet:
        comparing.show(found)
        if left_out:
            click.echo(left_out)
    click.echo(f"{comparing.conclusion(found)} Page: {place / PAGE}")
