"""Implementation of ``plaggm simulate``: write the table, the truth and the settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import tomli_w

from plaggm import __version__
from plaggm.array_types import Array
from plaggm.cli.layout import SETTINGS
from plaggm.cli.simulate import TRUTH
from plaggm.report import Truth
from plaggm.simulate import Simulated, SimulatedFamily, SimulatedStudy
from plaggm.simulate.paper import numbered

# Number of confounder values at which the true distortion is stored.
GRID_POINTS = 41
HEADER = "# Settings of plaggm simulate, and the factors by which it scaled the networks.\n"


def write_network(
    design: str, data: Simulated | SimulatedFamily, folder: Path, data_file: str
) -> None:
    """Write samples of one network, their truth and the settings.

    Parameters
    ----------
    design : str
        Name of the command.
    data : Simulated or SimulatedFamily
    folder : Path
    data_file : str
        Name of the table, whose extension is its format.
    """
    frame = data.to_frame()
    names = [name for name in frame.columns if name != "confounder"]
    _write_table(frame, folder / data_file)
    _write_matrix(data.omega, names, folder / f"{TRUTH}.csv")
    ranks = np.linspace(0, len(data.confounder) - 1, GRID_POINTS).round().astype(int)
    grid = np.unique(np.sort(data.confounder)[ranks])
    # A fit's omega_ is in units of the variables' standard deviations.
    scale = data.scale if isinstance(data, SimulatedFamily) else np.ones(len(names))
    units = np.outer(scale, scale)
    Truth(tuple(names), data.omega * units, grid[:, None], data.nuisance(grid) * units).save(folder)
    _write_settings(design, data.settings, folder)


def write_study(
    data: SimulatedStudy, folder: Path, data_file: str, truth_files: Sequence[str]
) -> None:
    """Write the samples of a study, the network of each group and the settings.

    Parameters
    ----------
    data : SimulatedStudy
    folder : Path
    data_file : str
        Name of the table, whose extension is its format.
    truth_files : sequence of str
        Name of a file for each group.
    """
    _write_table(data.to_frame(), folder / data_file)
    for omega, file in zip(data.omega, truth_files, strict=True):
        _write_matrix(omega, numbered("v", len(omega)), folder / file)
    _write_settings("study", data.settings, folder)


def _write_table(frame: pd.DataFrame, path: Path) -> None:
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".feather":
        frame.to_feather(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


def _write_matrix(omega: Array, names: Sequence[str], path: Path) -> None:
    pd.DataFrame(omega, index=list(names), columns=list(names)).to_csv(path)


def _write_settings(design: str, settings: dict[str, Any], folder: Path) -> None:
    known = {name: value for name, value in settings.items() if value is not None}
    content = {"simulate": {"design": design, **known}, "run": {"plaggm": __version__}}
    (folder / SETTINGS).write_text(HEADER + tomli_w.dumps(content), encoding="utf-8")
