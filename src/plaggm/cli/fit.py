"""``plaggm fit``: from a table to the network adjusted for confounders, and its result folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plaggm.cli.layout import ENTRIES, REPORT
from plaggm.cli.libraries import need_libraries
from plaggm.cli.messages import (
    InputError,
    UsablePath,
    check_path,
    library_errors,
    warnings_as_lines,
)
from plaggm.cli.options import force_option, output_option, quiet_option, verbose_option
from plaggm.cli.progress import steps
from plaggm.cli.setting_options import (
    as_in_paper,
    refuse_unused,
    setting_options,
    with_options,
)
from plaggm.cli.settings import FitSettings
from plaggm.cli.settings_file import read_settings
from plaggm.cli.staging import staged_folder

READ = "reading the table"
# Settings that are used only with a confounder.
OF_CONFOUNDERS = ("smoother", "threshold", "tau", "reference", "categorical")
NO_CONFOUNDER = (
    "No confounder is named (--confounder COL): this is the plain network of all samples."
)
# Usual number of bytes of a table that are read in a second.
BYTES_PER_SECOND = 2e7

EPILOG = """\b
Examples:
  plaggm fit prices.csv --confounder volatility
  plaggm fit scan.tsv --confounder 'motion_*' --columns 'roi_*' --threshold 0.5
  plaggm fit scan.tsv --confounder fd --columns 'roi_*' --time volume --run session
  plaggm fit prices.csv --confounder volatility --paper
  plaggm fit all.parquet --confounder fd --group-by subject --output networks
  plaggm fit --config prices-network/settings.toml --fdr 0.1 --output again
"""


@click.command(epilog=EPILOG)
@click.argument("data", required=False, type=UsablePath())
@setting_options()
@click.option(
    "--paper",
    is_flag=True,
    help="The paper's estimator: --smoother kernel --indicator soft --form lemma --variance unit --edges "
    "penalty --combine norm, bandwidth by Assumption 1, ten-fold cross-validation.",
)
@click.option(
    "--config",
    type=UsablePath(path_type=Path),
    metavar="FILE",
    help="Settings file of an earlier run; options on the command line override it.",
)
@output_option("the result")
@force_option
@quiet_option
@verbose_option
def fit(
    paper: bool,
    config: Path | None,
    output: Path | None,
    force: bool,
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> None:
    """Estimate the network of a table's variables, adjusted for confounders.

    DATA is a table with one row for each sample and named columns: CSV, TSV, Parquet, Feather, Excel
    (.xlsx) or NumPy (.npy, .npz). The result is a folder with edges, matrices, pictures and a page,
    report.html; it also has the network without adjustment, for comparison. Columns of ids, dates, row
    numbers, texts, constants and copies are left out of the variables, with --run also columns that never
    change within a run, and a message names them; ``plaggm check`` reports more about a table.
    """
    settings, known = (FitSettings(), {}) if config is None else read_settings(config)
    if paper:
        if not (options["confounder"] or settings.confounder):
            raise InputError("--paper is about a confounder: name it with --confounder.")
        settings = as_in_paper(settings, options)
    settings = with_options(settings, options)
    _check(settings)
    need_libraries("plaggm fit", "matplotlib", "jinja2", "tomli_w")
    source = Path(settings.data)
    place = Path(f"{source.stem}-network") if output is None else output
    with staged_folder(place, ENTRIES, force=force) as folder, warnings_as_lines():
        # Imported here so that help and options need not wait for the numerical libraries.
        from plaggm.cli.fit_run import read_run

        usual = {READ: 1.0 + _size(source) / BYTES_PER_SECOND}
        with steps(usual, quiet=quiet, verbose=verbose) as begin, library_errors():
            begin(READ)
            work = read_run(settings, known)
        plain = () if work.settings.confounder else (NO_CONFOUNDER,)
        for line in (*plain, *work.notices.left_out, *work.notices.lines):
            click.echo(line, err=True)
        if (long := work.duration_notice()) is not None and not quiet:
            click.echo(long, err=True)
        with steps(work.seconds(), quiet=quiet, verbose=verbose) as begin:
            outcome = work.run(folder, begin)
    if not quiet:
        click.echo(outcome.summary)
    click.echo(f"{outcome.conclusion} Page: {place / REPORT}")


def _check(settings: FitSettings) -> None:
    """Raise for settings that cannot be combined."""
    if not settings.data:
        raise InputError("Name the table: plaggm fit DATA --confounder COL")
    for path in (settings.data, settings.truth or "", settings.node_groups or ""):
        check_path(Path(path))
    refuse_unused(settings)
    if not settings.confounder:
        plain = FitSettings()
        for name in OF_CONFOUNDERS:
            if getattr(settings, name) != getattr(plain, name):
                raise InputError(f"--{name} is about the confounder: name that with --confounder.")
    if settings.truth is not None and settings.group_by is not None:
        raise InputError("--truth is about one network; --group-by fits several.")


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
