"""The result folder of ``plaggm fit``: the saved result, and the files that the command adds."""

from __future__ import annotations

from pathlib import Path

from plaggm.atomic_files import write_csv
from plaggm.cli.figures import draw_figures
from plaggm.cli.fitting import Networks
from plaggm.cli.layout import FIGURES, SETTINGS, SUMMARY, UNADJUSTED
from plaggm.cli.summary import summary_text
from plaggm.report import Truth
from plaggm.report.node_groups import write_node_groups


def write_tables(
    folder: Path,
    networks: Networks,
    settings: str,
    truth: Truth | None,
    groups: dict[str, str] | None = None,
) -> None:
    """Write all files except the pictures and the page.

    Parameters
    ----------
    folder : Path
        Existing empty folder.
    networks : Networks
    settings : str
        Content of the settings file.
    truth : Truth or None
    groups : dict, optional
        Group of every variable.
    """
    networks.after.write_files(folder)
    if networks.before is not None:
        networks.before.save(folder / UNADJUSTED)
    (folder / SETTINGS).write_text(settings, encoding="utf-8")
    (folder / SUMMARY).write_text(summary_text(networks, truth), encoding="utf-8")
    if truth is not None:
        truth.save(folder)
    if groups is not None:
        write_node_groups(folder, groups)
        write_csv(folder / "centrality.csv", networks.after.centrality(groups), index=False)


def write_pictures(folder: Path, networks: Networks, groups: dict[str, str] | None = None) -> None:
    """Draw the figures into their own folder."""
    (folder / FIGURES).mkdir()
    draw_figures(folder / FIGURES, networks.after, networks.before, groups)
