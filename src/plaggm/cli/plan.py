"""``plaggm plan``: how many samples a study needs, before any are collected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plaggm.cli.libraries import need_libraries
from plaggm.cli.messages import library_errors
from plaggm.cli.options import (
    RATE,
    Checked,
    FiniteRange,
    force_option,
    jobs_option,
    output_option,
    quiet_option,
    seed_option,
    verbose_option,
)
from plaggm.cli.progress import steps
from plaggm.cli.staging import staged_folder
from plaggm.wording import shown

PAGE, TABLE, PICTURE, SETTINGS = "plan.html", "plan.csv", "plan.png", "settings.toml"
ENTRIES = (PAGE, TABLE, PICTURE, SETTINGS)
STRENGTHS = ("none", "weak", "moderate", "strong")
LOAD, SIMULATE, WRITE = "loading", "simulating studies", "writing"
# Usual seconds of a simulated study at one size, and for each pair of variables, on one core.
SECONDS_A_FIT, SECONDS_A_PAIR = 0.35, 0.5e-3
MOST_SETS = 100_000

EPILOG = """\b
Examples:
  plaggm plan --variables 20 --clean 0.4 --strength strong
  plaggm plan --variables 12 --samples 200,400,800 --edge 0.2 --power 0.9
"""


def as_sizes(value: Any) -> tuple[int, ...]:
    """Numbers of samples, from text with commas.

    Examples
    --------
    >>> as_sizes("200, 400")
    (200, 400)
    """
    parts = [part.strip() for part in str(value).split(",") if part.strip()]
    if not parts or not all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts):
        raise ValueError(f"must be numbers of samples with commas; got {shown(value)}.")
    return tuple(map(int, parts))


def as_strength(value: Any) -> str | float:
    """A word, or a number of zero or more.

    Examples
    --------
    >>> as_strength("weak"), as_strength("0.08")
    ('weak', 0.08)
    """
    if value in STRENGTHS:
        return str(value)
    try:
        return float(value)
    except ValueError:
        words = ", ".join(STRENGTHS)
        raise ValueError(f"must be one of {words} or a number; got {shown(value)}.") from None


SHARE = FiniteRange(0.0, 1.0)


@click.command(epilog=EPILOG)
@click.option(
    "--variables",
    "p",
    type=click.IntRange(3, 2000),
    default=20,
    metavar="P",
    help="Number of variables.",
)
@click.option(
    "--samples",
    "n",
    type=Checked("numbers", as_sizes),
    metavar="N,N,...",
    help="Sample sizes to simulate. [default: six around the size that is needed]",
)
@click.option(
    "--clean",
    type=FiniteRange(0.0, 1.0, min_open=True),
    default=0.5,
    metavar="SHARE",
    help="Share of the samples without confounding.",
)
@click.option(
    "--strength",
    type=Checked("strength", as_strength),
    default="moderate",
    metavar="WORD|NUMBER",
    help="Strength of confounding: none, weak (0.05), moderate (0.1), strong (0.15), or the mean change of "
    "an affected partial correlation where the confounder is largest.",
)
@click.option(
    "--affected",
    type=SHARE,
    metavar="SHARE",
    help="Share of the pairs that the confounder affects. [default: six for each variable]",
)
@click.option(
    "--edge",
    type=FiniteRange(0.0, 1.0, min_open=True, max_open=True),
    default=0.15,
    metavar="SIZE",
    help="Mean absolute partial correlation of the edges.",
)
@click.option(
    "--density",
    type=FiniteRange(0.0, 1.0, min_open=True),
    metavar="SHARE",
    help="Share of the pairs that are edges. [default: three for each variable]",
)
@click.option(
    "--power",
    type=RATE,
    default=0.8,
    metavar="SHARE",
    help="Share of the true edges that the study should declare.",
)
@click.option(
    "--fdr", type=RATE, default=0.05, metavar="RATE", help="False discovery rate of the edges."
)
@click.option(
    "--threshold",
    type=click.Choice(("auto", "known")),
    default="auto",
    help="Whether the fit chooses the threshold of the confounder (auto), or is given the true one "
    "(known).",
)
@click.option(
    "--sets",
    type=click.IntRange(2, MOST_SETS),
    default=40,
    metavar="N",
    help="Number of simulated studies.",
)
@jobs_option(-1, "Simulated studies")
@seed_option("the simulations")
@output_option("page, table, picture and settings", "plaggm-plan")
@force_option
@quiet_option
@verbose_option
def plan(
    jobs: int, output: Path, force: bool, quiet: bool, verbose: bool, **assumptions: Any
) -> None:
    """Plan how many samples a study needs: power and false discoveries by simulation.

    Simulates studies under the given assumptions and analyses each at several sample sizes in three ways:
    all samples adjusted for the confounder, unconfounded samples only, and all samples without adjustment.
    Reports the share of true edges that are declared, and of declared edges that are false.
    """
    need_libraries("plaggm plan", "matplotlib", "jinja2", "tomli_w")
    sets, p = assumptions["sets"], assumptions["p"]
    fits = sets * len(assumptions["n"] or range(6))
    seconds = fits * (SECONDS_A_FIT + SECONDS_A_PAIR * p * (p - 1) / 2)
    with staged_folder(output, ENTRIES, force=force) as folder:
        from joblib import effective_n_jobs

        usual = {LOAD: 3.0, SIMULATE: seconds / effective_n_jobs(jobs), WRITE: 1.0}
        with steps(usual, quiet=quiet, verbose=verbose) as begin, library_errors():
            begin(LOAD)
            # Imported here so that help and options need not wait for the numerical libraries.
            from plaggm.cli import planning

            found = planning.run(assumptions, jobs, lambda done, of: begin(SIMULATE, done / of))
            begin(WRITE)
            planning.write(found, folder)
    if not quiet:
        planning.show(found)
    click.echo(f"{planning.answer(found)} Page: {output / PAGE}")
