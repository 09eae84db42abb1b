"""Tables of an atlas's regions: labels, names, networks and places, as TemplateFlow and XCP-D have them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from plaggm.array_types import Array
from plaggm.data import column_numbers
from plaggm.fmri.derivatives import bids_file
from plaggm.fmri.problems import StudyError
from plaggm.fmri.tables import read_table, reading
from plaggm.wording import listed, shown

# Size of a label.
LARGEST_LABEL = 2**31
# Columns that may hold a region's network; after them any that begins with "network".
NETWORK_COLUMNS = ("network", "network_label", "yeo", "community", "system")
# Schaefer's names of regions: 7Networks_LH_Vis_1, 17Networks_RH_DefaultA_PFCd_1.
SCHAEFER = re.compile(r"^(?:(?:7|17)Networks_)?(?:LH|RH)_([A-Za-z]+)_.*\d+$")


@dataclass(frozen=True, slots=True, eq=False)
class LabelTable:
    """Regions of an atlas.

    Attributes
    ----------
    names : dict of int to str
        Names by label.
    networks : dict of int to str
        Network of each region; empty where the table has none.
    places : dict of int to ndarray of shape (3,)
        MNI millimetres; empty where the table has none.
    """

    names: dict[int, str]
    networks: dict[int, str] = field(default_factory=dict)
    places: dict[int, Array] = field(default_factory=dict, repr=False)


def read_label_table(path: Path) -> LabelTable:
    """A table with the columns index and name (or label), or label and name; network, x, y, z if known."""
    with reading(StudyError, f"The labels {path} "):
        table = read_table(path)
    columns = {str(name).lower(): str(name) for name in table.columns}
    number = columns.get("index", columns.get("label"))
    # With an index, a label is a name, as XCP-D has it.
    name = columns.get("name", columns.get("label") if "index" in columns else None)
    if number is None or name is None:
        raise StudyError(
            f"The labels {path} need the columns 'label' (or 'index') and 'name'; they have "
            f"{listed(list(table.columns))}."
        )
    labels = column_numbers(table[number])
    odd = np.flatnonzero(~(np.abs(labels) < LARGEST_LABEL) | (labels != np.floor(labels)))
    if odd.size:
        raise StudyError(
            f"The labels {path} have {shown(table[number].iloc[odd[0]])} as {number}, which is not a whole "
            "number of a region."
        )
    numbers = [int(label) for label in labels]
    network = network_column(table)
    places = {}
    if all(axis in columns for axis in "xyz"):
        values = np.column_stack([column_numbers(table[columns[axis]]) for axis in "xyz"])
        if np.isfinite(values).all():
            places = dict(zip(numbers, values, strict=True))
    return LabelTable(
        dict(zip(numbers, table[name].astype(str), strict=True)),
        {} if network is None else dict(zip(numbers, network, strict=True)),
        places,
    )


def network_column(table: pd.DataFrame) -> list[str] | None:
    """Networks of the regions of a table; None where no column has them."""
    columns = {str(name).lower(): str(name) for name in table.columns}
    found = next((columns[name] for name in NETWORK_COLUMNS if name in columns), None)
    if found is None:
        found = next((name for key, name in columns.items() if key.startswith("network")), None)
    if found is None:
        return None
    return ["none" if pd.isna(value) else str(value) for value in table[found]]


def networks_in_names(names: Sequence[str]) -> tuple[str, ...]:
    """Networks that the names of Schaefer's regions tell; empty for other names.

    Examples
    --------
    >>> networks_in_names(["7Networks_LH_Vis_1", "7Networks_RH_SomMot_3"])
    ('Vis', 'SomMot')
    >>> networks_in_names(["Occipital Pole"])
    ()
    """
    found = [SCHAEFER.match(name) for name in names]
    return tuple(one.group(1) for one in found if one) if all(found) else ()


def table_beside(image: Path) -> Path | None:
    """The label table that TemplateFlow puts beside an image: its name without space and resolution."""
    file = bids_file(image)
    plain = image.name.removesuffix(file.extension)
    without = "_".join(
        part for part in plain.split("_") if part.partition("-")[0] not in ("res", "space", "den")
    )
    for stem in (plain, without):
        path = image.with_name(f"{stem}.tsv")
        if path.is_file():
            return path
    return None


def derivative_labels(folder: Path, label: str) -> Path | None:
    """The label table of an atlas in a folder of derivatives, as XCP-D writes it into ``atlases``."""
    found = [
        path
        for path in sorted((folder / "atlases").rglob("*dseg.tsv"))
        if label in (bids_file(path).atlas, bids_file(path).entities.get("desc"))
    ]
    return found[0] if found else None
