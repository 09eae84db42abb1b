"""Data for drawing networks on the page: positions, communities, groups and centrality."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from plaggm.plotting.centrality import TITLES
from plaggm.plotting.figure import drawn_network
from plaggm.plotting.nodes import Groups, node_colours, node_places
from plaggm.report.encoding import plain_numbers
from plaggm.report.headline import lead_of
from plaggm.result import GraphResult

# Decimals of coordinates, which lie between -1 and 1.
DIGITS = 4


def graph_look(
    result: GraphResult, unadjusted: GraphResult | None, groups: Mapping[str, str] | None
) -> dict[str, Any]:
    """Coordinates of the variables, common to both networks, their groups and their centrality.

    Parameters
    ----------
    result : GraphResult
    unadjusted : GraphResult or None
        Network of the same variables without the confounder.
    groups : mapping of str, optional
        Group of every variable.

    Returns
    -------
    dict
        Content that JSON can represent.
    """
    networks = [drawn_network(one)[0] for one in (result, unadjusted) if one is not None]
    # Communities and centrality are those of the network that the page shows first.
    if unadjusted is not None and lead_of(result, unadjusted) == "unadjusted":
        result = unadjusted
    own = drawn_network(result)[0]
    return {
        "places": np.round(node_places("force", *networks), DIGITS).tolist(),
        "communities": _colours("communities", result.names, own),
        "groups": _colours(groups, result.names, own),
        "centrality": _centrality(result, groups),
    }


def _colours(groups: Groups, names: tuple[str, ...], network: np.ndarray) -> dict[str, Any] | None:
    found = node_colours(groups, names, network)
    if found is None:
        return None
    return {"titles": list(found.titles), "labels": found.labels.tolist()}


def _centrality(result: GraphResult, groups: Mapping[str, str] | None) -> list[dict[str, Any]]:
    """One entry for each kind of centrality, with values in the order of the variables."""
    table = result.centrality(groups)
    place = {name: at for at, name in enumerate(result.names)}
    table["place"] = [place[name] for name in table["variable"]]
    rows = table.set_index("place").sort_index()
    return [
        {
            "title": title,
            "value": plain_numbers(rows[kind].to_numpy()),
            **{
                end: plain_numbers(rows[f"{kind}_{end}"].to_numpy())
                if f"{kind}_{end}" in rows
                else None
                for end in ("low", "high")
            },
        }
        for kind, title in TITLES.items()
        if kind in rows
    ]
