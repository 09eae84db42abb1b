"""Groups of variables given by the user, such as traits, sectors or brain networks."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from plaggm.atomic_files import original_text, write_csv
from plaggm.centrality_table import group_labels
from plaggm.tables import read_table

NODE_GROUPS_FILE = "node_groups.csv"
COLUMNS = ("variable", "group")


def read_node_groups(path: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Read the group of every variable from a table.

    Parameters
    ----------
    path : Path
        Table with the columns variable and group, or with two columns of any names.
    names : tuple of str
        Variables that need a group; others in the table are left out.

    Returns
    -------
    dict of str to str
        Groups by variable, in the order of ``names``.

    Raises
    ------
    ValueError
        For a table without these columns, with a variable twice, or without one of the variables.
    """
    table = read_table(path)
    if not set(COLUMNS) <= set(table.columns):
        if len(table.columns) != len(COLUMNS):
            raise ValueError(
                f"{path} needs the columns variable and group; it has {', '.join(table.columns)}."
            )
        table = table.set_axis(COLUMNS, axis=1)
    table = table.dropna(subset=list(COLUMNS))
    variables = table["variable"].map(lambda cell: original_text(str(cell)))
    twice = variables[variables.duplicated()]
    if len(twice):
        raise ValueError(f"{path} has several rows for {twice.iloc[0]!r}; one is needed.")
    found = dict(zip(variables, table["group"].map(_group_name), strict=True))
    try:
        return dict(zip(names, group_labels(names, found), strict=True))
    except ValueError as error:
        raise ValueError(f"{path}: {error} Every variable of the network needs one.") from error


def write_node_groups(folder: Path, groups: dict[str, str]) -> None:
    """Write the groups into a result folder, where the page finds them."""
    frame = pd.DataFrame(list(groups.items()), columns=COLUMNS)
    write_csv(folder / NODE_GROUPS_FILE, frame, index=False)


def _group_name(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return original_text(str(value))
