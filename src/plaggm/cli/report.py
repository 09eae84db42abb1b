"""``plaggm report``: the page of a result folder made again, and files for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from plaggm.cli.layout import GROUP_TABLE, REPORT
from plaggm.cli.messages import InputError, UsablePath, library_errors
from plaggm.cli.progress import steps
from plaggm.cli.staging import output_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
@click.option("--quiet", is_flag=True, help="Print the last line only.")
def report(folder: Path, formats: tuple[str, ...], coordinates: Path | None, quiet: bool) -> None:
    """Make the page of a result folder again.

    FOLDER was written by plaggm fit, plaggm demo or result.save(). Nothing in it is executed.
    """
    if coordinates is not None and "brainnet" not in formats:
        raise InputError("--coordinates are for --export brainnet.")
    if not folder.exists():
        raise InputError(f"There is no folder {folder}.")
    written: list[Path] = []
    with steps(STEPS, quiet=quiet) as begin, library_errors(), output_folder(folder, REMEDY):
        begin(LOAD)
        # Imported here so that help need not wait for the numerical libraries.
        from plaggm.report import write_report
        from plaggm.result_reading import read_result

        grouped = (folder / GROUP_TABLE).is_file() and not (folder / "result.json").exists()
        if grouped:
            from plaggm.cli.groups import read_levels, write_overview

            levels, group = read_levels(folder)
            homes = [home for home, _ in levels]
            begin(WRITE)
            for home in homes:
                write_report(home)
            write_overview(folder, [level for _, level in levels], group)
        else:
            homes = [folder]
            read_result(folder)
            begin(WRITE)
            write_report(folder)
        for home in homes:
            written += _export(home, read_result(home), formats, coordinates)
    if not quiet:
        for path in written:
            click.echo(f"Wrote {path}")
    click.echo(f"Page: {folder / REPORT}")


def _export(
    folder: Path, result: GraphResult, formats: tuple[str, ...], coordinates: Path | None
) -> list[Path]:
    written: list[Path] = []
    for name in dict.fromkeys(formats):
        places = None
        if name == "brainnet" and coordinates is not None:
            places = _places(coordinates, result.names)
        written += result.export(folder / f"network{FORMATS[name]}", coordinates=places)
    return written


def _places(path: Path, names: tuple[str, ...]) -> NDArray:
    """Coordinates of the variables, in their order."""
    from plaggm.cli.samples import find_columns, numeric_columns
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
    return places.loc[list(names)].to_numpy()
