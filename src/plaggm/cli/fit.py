"""``plaggm fit``: from a table to the network without the confounder, and its result folder."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from plaggm.cli.completion import complete_columns
from plaggm.cli.layout import ENTRIES, REPORT
from plaggm.cli.messages import (
    InputError,
    UsablePath,
    check_path,
    library_errors,
    warnings_as_lines,
)
from plaggm.cli.progress import steps
from plaggm.cli.settings import (
    CRITERIA,
    DECLARED_BY,
    HALVES,
    JOBS,
    MISSING,
    SEED,
    SMOOTHERS,
    Checked,
    FitSettings,
    as_rate,
    as_tau,
    as_threshold,
    read_settings,
    refuse_unused,
    with_options,
)
from plaggm.cli.staging import staged_folder

READ = "reading the table"
# Bytes of a table that are read in a second.
READING = 2e7

EPILOG = """\b
Examples:
  plaggm fit prices.csv --confounder volatility
  plaggm fit scan.tsv --confounder 'motion_*' --columns 'roi_*' --threshold 0.5
  plaggm fit all.parquet --confounder fd --group-by subject --output networks
  plaggm fit --config prices-network/settings.toml --fdr 0.1 --output again
"""


@click.command(epilog=EPILOG)
@click.argument("data", required=False, type=UsablePath())
@click.option(
    "--confounder",
    multiple=True,
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
    "--group-by",
    metavar="COL",
    shell_complete=complete_columns,
    help="Fit one network for each level of this column.",
)
@click.option(
    "--threshold",
    type=Checked("threshold", as_threshold),
    metavar="auto|NUMBERS",
    help="Size up to which the confounder does no harm, in its own units; with commas for several. "
    "[default: auto]",
)
@click.option(
    "--smoother",
    type=click.Choice(SMOOTHERS),
    help="How the distortion is learnt: a penalised spline, or the paper's kernel. [default: spline]",
)
@click.option(
    "--tau",
    type=Checked("tau", as_tau),
    metavar="focused|reml|NUMBER",
    help="Penalty of the spline. [default: focused]",
)
@click.option(
    "--edges",
    type=click.Choice(DECLARED_BY),
    help="Which pairs are edges: those that pass a test, or those that the penalty keeps. [default: fdr]",
)
@click.option(
    "--fdr",
    type=Checked("rate", as_rate),
    metavar="RATE",
    help="Expected share of false edges among those that pass, between 0 and 1. [default: 0.05]",
)
@click.option(
    "--criterion",
    type=click.Choice(CRITERIA),
    help="What chooses the penalty, which ranks the pairs: cv predicts and ranks best, but with --edges "
    "penalty keeps faint edges; bic, ebic and refit keep few false ones. [default: cv]",
)
@click.option(
    "--missing",
    type=click.Choice(MISSING),
    help="What to do about missing values: refuse them, drop their rows, or impute them from the other "
    "columns. [default: refuse]",
)
@click.option(
    "--stability",
    type=HALVES,
    metavar="N",
    help="Half-samples for the stability of the edges; 0 for none. [default: 20]",
)
@click.option("--sheet", metavar="NAME", help="Sheet of an Excel file. [default: the first]")
@click.option(
    "--truth",
    type=UsablePath(),
    metavar="FILE",
    help="The truth.json of simulated data, to show beside the estimate.",
)
@click.option("--seed", type=SEED, help="Of folds and half-samples. [default: 0]")
@click.option("--jobs", type=JOBS, metavar="N", help="Cores to use. [default: -1, all]")
@click.option(
    "--config",
    type=UsablePath(path_type=Path),
    metavar="FILE",
    help="Settings of an earlier run; what is given on the command line comes first.",
)
@click.option(
    "--output",
    type=UsablePath(path_type=Path),
    metavar="FOLDER",
    help="Where the result goes. [default: named after the table]",
)
@click.option("--force", is_flag=True, help="Replace what an earlier run wrote to the folder.")
@click.option("--quiet", is_flag=True, help="Print the last line only.")
@click.option("--verbose", is_flag=True, help="Print every step with its time.")
def fit(
    config: Path | None,
    output: Path | None,
    force: bool,
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> None:
    """Find the network of a table without its confounder.

    DATA is a table with one row for each sample and named columns: CSV, TSV, Parquet, Feather, Excel
    (.xlsx) or NumPy (.npy, .npz). The result is a folder with edges, matrices, pictures and a page,
    report.html; the network without adjustment is in it too, to compare with.
    """
    settings, known = (FitSettings(), {}) if config is None else read_settings(config)
    settings = with_options(settings, options)
    _check(settings)
    _check_libraries()
    source = Path(settings.data)
    place = Path(f"{source.stem}-network") if output is None else output
    with staged_folder(place, ENTRIES, force=force) as folder, warnings_as_lines():
        # Imported here so that help and options need not wait for the numerical libraries.
        from plaggm.cli.fit_run import read_run

        usual = {READ: 1.0 + _size(source) / READING}
        with steps(usual, quiet=quiet, verbose=verbose) as begin, library_errors():
            begin(READ)
            work = read_run(settings, known)
        with steps(work.seconds(), quiet=quiet, verbose=verbose) as begin:
            learnt = work.run(folder, begin)
    if not quiet:
        click.echo(learnt.summary)
    click.echo(f"{learnt.lesson} Page: {place / REPORT}")


def _check(settings: FitSettings) -> None:
    """Raise for settings that do not go together."""
    if not settings.data:
        raise InputError("Name the table: plaggm fit DATA --confounder COL")
    for path in (settings.data, settings.truth or ""):
        check_path(Path(path))
    refuse_unused(settings)
    if settings.truth is not None and settings.group_by is not None:
        raise InputError("--truth is about one network; --group-by fits several.")
    if settings.jobs == 0:
        raise InputError("--jobs must not be 0; use -1 for all cores.")


def _check_libraries() -> None:
    """Say what is missing before any work is done."""
    missing = [name for name in ("matplotlib", "jinja2", "tomli_w") if find_spec(name) is None]
    if missing:
        raise InputError(f"plaggm fit needs {', '.join(missing)}: pip install 'plaggm[cli,plot]'")


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
