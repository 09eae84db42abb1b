"""``plaggm report``: rewrite the page of a result folder, and export files for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from plaggm.atomic_files import remove_unfinished, write_file
from plaggm.cli.layout import GROUP_TABLE, REPORT
from plaggm.cli.messages import InputError, UsablePath, library_errors
from plaggm.cli.options import quiet_option
from plaggm.cli.progress import steps
from plaggm.cli.staging import output_folder
from plaggm.cli.study_run import MARK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plaggm.report.levels import Level
    from plaggm.result import GraphResult

# The ending that stands for each format; BrainNet Viewer's second file comes along.
FORMATS = {"graphml": ".graphml", "gexf": ".gexf", "brainnet": ".node"}
PLACES = ("name", "x", "y", "z")
LOAD, WRITE = "loading", "writing the page"
STEPS = {LOAD: 2.0, WRITE: 1.0}
REMEDY = "The page is written into the folder itself: copy it to a place where you may write."

EPILOG = """\b
Examples:
  plaggm report prices-network
  plaggm report scan-network --export gexf
  plaggm report scan-network --export brainnet --coordinates regions.csv
"""


@click.command(epilog=EPILOG)
@click.argument("folder", type=UsablePath(path_type=Path))
@click.option(
    "--export",
    "formats",
    multiple=True,
    type=click.Choice(list(FORMATS)),
    help="Also write the network for igraph, networkx and Cytoscape (graphml), Gephi (gexf) or BrainNet "
    "Viewer (brainnet).",
)
@click.option(
    "--coordinates",
    type=UsablePath(path_type=Path),
    metavar="FILE",
    help="Table with the columns name, x, y and z (millimetres) of every variable, for BrainNet Viewer.",
)
@quiet_option
def report(folder: Path, formats: tuple[str, ...], coordinates: Path | None, quiet: bool) -> None:
    """Rewrite the page of a result folder.

    FOLDER was written by plaggm fit, plaggm demo or result.save(), or belongs to one group of plaggm study.
    Nothing in it is executed.
    """
    if coordinates is not None and "brainnet" not in formats:
        raise InputError("--coordinates are for --export brainnet.")
    if not folder.exists():
        raise InputError(f"There is no folder {folder}.")
    if (folder / MARK).is_file():
        raise InputError(
            f"{folder} is the folder of a study, whose page {REPORT} plaggm study writes: run its command "
            "again, finished parts are kept. The folders in its folder groups have pages of their own."
        )
    written: list[Path] = []
    with steps(STEPS, quiet=quiet) as begin, library_errors(), output_folder(folder, REMEDY):
        begin(LOAD)
        # Imported here so that help need not wait for the numerical libraries.
        from plaggm.report import folder_page
        from plaggm.result_reading import read_result

        levels: list[tuple[Path, Level]] = []
        grouped = (folder / GROUP_TABLE).is_file() and not (folder / "result.json").exists()
        if grouped:
            from plaggm.cli.groups import read_levels, write_overview

            levels, group = read_levels(folder)
        results = {home: read_result(home) for home in [home for home, _ in levels] or [folder]}
        places = None
        if coordinates is not None:
            places = _places(coordinates, next(iter(results.values())).names)
        # All that can be wrong is known before the first file is replaced.
        pages = {home: folder_page(home) for home in results}
        begin(WRITE)
        for home, result in results.items():
            remove_unfinished(home)
            write_file(home / REPORT, pages[home])
            written += _export(home, result, formats, places)
        if grouped:
            write_overview(folder, [level for _, level in levels], group)
    if not quiet:
        for path in written:
            click.echo(f"Wrote {path}")
    click.echo(f"Page: {folder / REPORT}")


def _export(
    folder: Path, result: GraphResult, formats: tuple[str, ...], places: NDArray | None
) -> list[Path]:
    written: list[Path] = []
    for name in dict.fromkeys(formats):
        given = places if name == "brainnet" else None
        written += result.export(folder / f"network{FORMATS[name]}", coordinates=given)
    return written


def _places(path: Path, names: tuple[str, ...]) -> NDArray:
    """Coordinates of the variables, in their order."""
    from plaggm.cli.column_roles import find_columns
    from plaggm.cli.samples import numeric_columns
    from plaggm.tables import read_table

    table = read_table(path)
    find_columns(PLACES, list(table.columns), "--coordinates", path)
    places = numeric_columns(table, PLACES[1:], path).set_axis(table["name"].astype(str))
    missing = [name for name in names if name not in places.index]
    if missing:
        raise InputError(
            f"{path} has no row for {len(missing)} of the {len(names)} variables, first {missing[0]!r}."
        )
    if places.index.has_duplicates:
        repeated = places.index[places.index.duplicated()][0]
        raise InputError(f"{path} has several rows for {repeated!r}; one is needed.")
    found = places.loc[list(names)]
    if found.isna().to_numpy().any():
        raise InputError(
            f"{path} has no x, y or z for {found.index[found.isna().any(axis=1)][0]!r}; all three are "
            "needed."
        )
    return found.to_numpy()
