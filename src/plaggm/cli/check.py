"""``plaggm check``: problems of a table, found before it is fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plaggm.cli.messages import InputError, UsablePath, library_errors, warnings_as_lines
from plaggm.cli.setting_options import refuse_unused, setting_options, with_options
from plaggm.cli.settings import FitSettings
from plaggm.cli.staging import write_errors

# Formats of --output, by their endings.
FORMATS = (".json", ".csv")

EPILOG = """\b
Examples:
  plaggm check prices.csv
  plaggm check prices.csv --confounder volatility --time day
  plaggm check scan.tsv --columns 'roi_*' --confounder fd --output findings.json
"""


@click.command(epilog=EPILOG)
@click.argument("data", type=UsablePath(path_type=Path))
@setting_options(
    "confounder",
    "columns",
    "exclude",
    "group_by",
    "run",
    "time",
    "temporal",
    "robust",
    "margins",
    "family",
    "na",
    "missing",
    "sheet",
)
@click.option(
    "--output",
    type=UsablePath(path_type=Path),
    metavar="FILE",
    help="Also write the findings to a .json or .csv file.",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def check(data: Path, output: Path | None, force: bool, **options: Any) -> None:
    """Check a table for problems, and show how a fit handles each of them.

    DATA and the options are those of ``plaggm fit``. Reports ids, dates, row numbers, texts, constants,
    copies and sums among the columns, with --run also columns that never change within a run; missing
    values and codes such as -999, outliers and heavy tails, duplicated rows and autocorrelation. The exit
    status is 0 whatever is found.
    """
    settings = with_options(FitSettings(data=str(data)), options)
    refuse_unused(settings)
    if output is not None:
        if output.suffix.lower() not in FORMATS:
            raise InputError(f"--output {output} must end in {' or '.join(FORMATS)}.")
        if output.exists() and not force:
            raise InputError(f"{output} is there already; use --force to replace it.")
        if not output.parent.is_dir():
            raise InputError(f"There is no folder {output.parent} for --output.")
    # Imported here so that help and options need not wait for the numerical libraries.
    from plaggm.cli import checking

    with warnings_as_lines(), library_errors():
        checked = checking.check_table(settings)
        if output is not None:
            with write_errors(output, "Choose another file with --output."):
                checking.write(checked, output)
        checking.show(checked)
