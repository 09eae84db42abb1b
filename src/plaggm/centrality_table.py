"""The centrality of all variables as a table, optionally with groups of variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t

from plaggm.array_types import Array, Index
from plaggm.core.graphs.centrality import Centrality, centrality
from plaggm.core.inference.pair_statistics import fisher_scale
from plaggm.edge_table import EdgeTable, square
from plaggm.wording import listed, shown

LEVEL = 0.95
# Standard error on the Fisher scale from which a pair counts as unknown.
UNKNOWN = 1e3
# Names of centralities from all edges, and from edges between groups.
PLAIN, BRIDGE = ("strength", "expected_influence"), ("bridge_strength", "bridge_expected_influence")


def centrality_frame(
    names: tuple[str, ...],
    network: Array,
    tests: EdgeTable | None = None,
    groups: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Centrality of every variable, the strongest first; see :meth:`plaggm.GraphResult.centrality`.

    Parameters
    ----------
    names : tuple of p str
    network : ndarray of shape (p, p)
        Weights of the edges, zero elsewhere and on the diagonal.
    tests : EdgeTable, optional
        Tests that declare the edges; without them there are no intervals.
    groups : mapping of str, optional
        Group of every variable.
    """
    columns: dict[str, Any] = {"variable": pd.Series(names, dtype=object)}
    of_group = None if groups is None else group_labels(names, groups)
    kinds: list[tuple[tuple[str, str], Index | None]] = [(PLAIN, None)]
    if of_group is not None:
        columns["group"] = list(of_group)
        kinds.append((BRIDGE, np.unique(of_group, return_inverse=True)[1]))
    columns["degree"] = np.count_nonzero(network, axis=1)
    for titles, numbers in kinds:
        if tests is None:
            columns |= _sums(titles, network, numbers)
        else:
            found = centrality(square(tests.estimate), square(edge_errors(tests)), numbers)
            reach = t.ppf(0.5 + LEVEL / 2.0, tests.degrees_of_freedom)
            columns |= _intervals(titles, found, float(reach))
    frame = pd.DataFrame(columns)
    order = np.argsort(-frame["strength"].to_numpy(), kind="stable")
    return frame.iloc[order].reset_index(drop=True)


def edge_errors(tests: EdgeTable) -> Array:
    """Standard errors of the partial correlations, from those on the Fisher scale: shape (P,)."""
    inside = 1.0 - np.clip(tests.estimate, -1.0, 1.0) ** 2
    scale = fisher_scale(tests.estimate, tests.standard_error)
    return np.where(scale < UNKNOWN, inside * scale, np.inf)


def group_labels(names: tuple[str, ...], groups: Mapping[str, Any]) -> tuple[str, ...]:
    """The group of every variable, in their order.

    Parameters
    ----------
    names : tuple of p str
    groups : mapping of str
        Group of every variable by its name.

    Raises
    ------
    ValueError
        If a variable has no group.
    """
    if not isinstance(groups, Mapping):
        raise TypeError(
            f"groups must be a mapping of variables' names to groups; got {shown(groups)}."
        )
    missing = [name for name in names if name not in groups]
    if missing:
        raise ValueError(
            f"groups has no group for {len(missing)} of {len(names)} variables: "
            f"{listed(map(repr, missing))}."
        )
    return tuple(str(groups[name]) for name in names)


def _sums(titles: tuple[str, str], network: Array, groups: Index | None) -> dict[str, Array]:
    """Sums over the edges of a network that the penalty has declared."""
    weights = np.array(network)
    np.fill_diagonal(weights, 0.0)
    if groups is not None:
        weights[groups[:, None] == groups[None, :]] = 0.0
    return dict(zip(titles, (np.abs(weights).sum(axis=1), weights.sum(axis=1)), strict=True))


def _intervals(titles: tuple[str, str], found: Centrality, reach: float) -> dict[str, Array]:
    strength, influence = titles
    wide, far = reach * found.strength_error, reach * found.influence_error
    return {
        strength: found.strength,
        f"{strength}_low": np.maximum(found.strength - wide, 0.0),
        f"{strength}_high": found.strength + wide,
        influence: found.influence,
        f"{influence}_low": found.influence - far,
        f"{influence}_high": found.influence + far,
    }
