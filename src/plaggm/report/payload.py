"""The data of the page as one JSON object with packed arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform

from plaggm.array_types import Array, Index
from plaggm.network_matrices import grid_rows
from plaggm.report.changes import pair_changes
from plaggm.report.encoding import (
    packed_floats,
    packed_integers,
    packed_strengths,
    plain_numbers,
    upper_triangle,
)
from plaggm.report.graph_look import graph_look
from plaggm.report.headline import lead_of
from plaggm.report.moderation import may_change
from plaggm.report.page_pairs import PagePairs, page_pairs
from plaggm.report.phrases import change_rate
from plaggm.report.truth import Truth
from plaggm.result import GraphResult
from plaggm.result_summary import strength_name

# Largest numbers of entries of the path, and of the nuisance with its errors, on a page. With four bytes
# for an entry of the path and two for one of the nuisance, a page of 100 variables stays below 8 MB.
MOST_PATH_ENTRIES = 700_000
MOST_NUISANCE_ENTRIES = 800_000
# Largest number of variables for which the order of the leaves is refined, which takes time of its cube.
MOST_REFINED = 300


def page_payload(
    result: GraphResult,
    unadjusted: GraphResult | None,
    truth: Truth | None,
    groups: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Data for the page's scripts.

    Networks are upper triangles, row after row, of P = p (p - 1) / 2 entries, or of those pairs alone that
    the page holds: see :func:`plaggm.report.page_pairs.page_pairs`.

    Parameters
    ----------
    result : GraphResult
        The adjusted network, which the page is about.
    unadjusted : GraphResult or None
        The network of the same variables without the confounder.
    truth : Truth or None
    groups : mapping of str, optional
        Group of every variable.

    Returns
    -------
    dict
        Content that JSON can represent.
    """
    pairs = page_pairs(result, unadjusted)
    return {
        "names": list(result.names),
        **graph_look(result, unadjusted, groups),
        "strength": strength_name(result),
        "total": pairs.total,
        "listed": len(pairs.listed),
        "pairs": packed_integers(pairs.listed) if pairs.limited else None,
        "order": connected_order(result.network if result.n_edges else result.omega),
        "adjusted": packed_floats(pairs.of(result.network)),
        "unadjusted": None if unadjusted is None else packed_floats(pairs.of(unadjusted.network)),
        "lead": lead_of(result, unadjusted),
        "tests": _tests(result, pairs),
        "changed": None if unadjusted is None else _changed(unadjusted, result, pairs),
        "moderation": _moderation(result, pairs),
        "pooled": None if unadjusted is None else _tests(unadjusted, pairs),
        "truth": None if truth is None else packed_floats(pairs.of(truth.omega)),
        "stability": None
        if result.stability is None
        else packed_floats(pairs.of(result.stability)),
        "path": _path(result, pairs),
        "along": _along(result, truth, pairs),
        "sample": None
        if result.confounder_sample is None
        else [plain_numbers(column) for column in result.confounder_sample.T],
        "confounders": [
            _confounder(result, index, name) for index, name in enumerate(result.confounder_names)
        ],
    }


def _confounder(result: GraphResult, index: int, name: str) -> dict[str, Any]:
    """Data of one confounder: threshold and origin, or the levels of a factor."""
    threshold, reference = None, result.references.get(name, "zero")
    if result.threshold is not None and not np.isnan(result.threshold[index]):
        threshold = float(result.threshold[index])
    levels = result.levels.get(name)
    number = isinstance(reference, int | float)
    return {
        "name": name,
        "threshold": threshold,
        "origin": float(reference) if number else 0.0,
        "average": reference == "average",
        "levels": None if levels is None else list(levels),
        "home": levels.index(reference) if levels and reference in levels else None,
    }


def connected_order(omega: Array) -> list[int]:
    """The variables in an order in which connected ones are neighbours.

    Leaves of the tree of average linkage, whose distance is one minus the absolute strength.

    Examples
    --------
    >>> omega = np.zeros((4, 4))
    >>> omega[0, 2] = omega[2, 0] = omega[1, 3] = omega[3, 1] = 0.5
    >>> order = connected_order(omega)
    >>> sorted(order[:2]) in ([0, 2], [1, 3])
    True
    """
    strength = np.abs(omega)
    distance = 1.0 - strength / (upper_triangle(strength).max() or 1.0)
    np.fill_diagonal(distance, 0.0)
    condensed = squareform(distance, checks=False)
    tree = linkage(condensed, method="average")
    if len(omega) <= MOST_REFINED:
        tree = optimal_leaf_ordering(tree, condensed)
    return [int(leaf) for leaf in leaves_list(tree)]


def chosen_step(result: GraphResult) -> int | None:
    """Position of the chosen penalty on the path, or None if it was given."""
    if result.alphas is None or result.omega_path is None or not len(result.alphas):
        return None
    return int(np.argmin(np.abs(result.alphas - result.alpha)))


def _tests(result: GraphResult, pairs: PagePairs) -> dict[str, Any] | None:
    """The tests that declare the edges, and which pairs come first where none is declared."""
    tests = result.deciding_tests
    if tests is None:
        return None
    return {
        "fdr": result.fdr,
        "candidates": [int(pair) for pair in pairs.positions(tests.candidates())],
        "estimate": packed_floats(tests.estimate[pairs.listed]),
        "low": packed_floats(tests.low[pairs.listed]),
        "high": packed_floats(tests.high[pairs.listed]),
        "p": packed_floats(tests.p_value[pairs.listed]),
        "q": packed_floats(tests.q_value[pairs.listed]),
        "change": None
        if tests.change_q_value is None
        else packed_floats(tests.change_q_value[pairs.listed]),
    }


def _changed(before: GraphResult, after: GraphResult, pairs: PagePairs) -> dict[str, Any] | None:
    """Tested change of each pair by adjusting: 0 not significant, 1 too small to report, 2 reported.

    None where it was not tested.
    """
    found = pair_changes(before, after)
    if found.passed is None:
        return None
    return packed_integers((found.passed.astype(np.intp) + found.shown)[pairs.listed])


def _moderation(result: GraphResult, pairs: PagePairs) -> dict[str, Any] | None:
    """Tests of which pairs change, one entry for each confounder."""
    table = result.moderation_table
    if table is None:
        return None
    columns = {
        "p": table.p_value,
        "q": table.q_value,
        "change": table.largest_change,
        "at": table.largest_at,
    }
    return {
        "fdr": change_rate(result),
        "shown": may_change(result),
        "along": [
            {key: packed_floats(values[place][pairs.listed]) for key, values in columns.items()}
            for place in range(len(result.confounder_names))
        ],
    }


def _path(result: GraphResult, listed: PagePairs) -> dict[str, Any] | None:
    """The path as a sparse matrix: each penalty's edges and their strengths."""
    chosen = chosen_step(result)
    if chosen is None or result.alphas is None or result.omega_path is None:
        return None
    edges = [upper_triangle(step) != 0.0 for step in result.omega_path]
    counts = np.array([np.count_nonzero(step) for step in edges])
    held = np.mean([np.count_nonzero(step[listed.listed]) for step in edges])
    steps = _evenly(len(counts), MOST_PATH_ENTRIES / max(float(held), 1.0), chosen)
    networks = np.clip([listed.of(result.omega_path[step]) for step in steps], -1.0, 1.0)
    which, pairs = np.nonzero(networks)
    starts = np.searchsorted(which, np.arange(len(steps) + 1))
    return {
        "alphas": plain_numbers(result.alphas[steps]),
        "chosen": int(np.flatnonzero(steps == chosen)[0]),
        "fitted": len(result.alphas),
        "counts": [int(count) for count in counts[steps]],
        "starts": packed_integers(starts),
        "pairs": packed_integers(pairs),
        "values": packed_strengths(networks[which, pairs]),
        "criterion": None
        if result.criterion_path is None
        else plain_numbers(result.criterion_path[steps]),
        "error": None
        if result.criterion_error is None
        else plain_numbers(result.criterion_error[steps]),
    }


def _along(result: GraphResult, truth: Truth | None, pairs: PagePairs) -> list[dict[str, Any]]:
    """The nuisance along each confounder, while the others are zero or missing."""
    if result.confounder_grid is None or result.nuisance is None:
        return []
    m = len(result.confounder_names)
    entries = len(pairs.listed) * m * (1 if result.nuisance_error is None else 2)
    parts: list[dict[str, Any]] = []
    for column in range(m):
        rows = grid_rows(result.confounder_grid, column)
        if not len(rows):
            return []
        known = _confounder(result, column, result.confounder_names[column])
        home = known["origin"] if known["home"] is None else known["home"]
        nearest = int(np.argmin(np.abs(result.confounder_grid[rows, column] - home)))
        rows = rows[_evenly(len(rows), MOST_NUISANCE_ENTRIES / entries, nearest)]
        error = result.nuisance_error
        parts.append(
            {
                "grid": plain_numbers(result.confounder_grid[rows, column]),
                "nuisance": packed_strengths(pairs.of(result.nuisance[rows])),
                "error": None if error is None else packed_strengths(pairs.of(error[rows])),
                "truth": _true_along(truth, column, m, pairs),
            }
        )
    return parts


def _true_along(
    truth: Truth | None, column: int, m: int, pairs: PagePairs
) -> dict[str, Any] | None:
    if truth is None or truth.confounder_grid is None or truth.nuisance is None:
        return None
    if truth.confounder_grid.shape[1] != m:
        return None
    rows = grid_rows(truth.confounder_grid, column)
    return {
        "grid": plain_numbers(truth.confounder_grid[rows, column]),
        "nuisance": packed_strengths(pairs.of(truth.nuisance[rows])),
    }


def _evenly(count: int, most: float, always: int) -> Index:
    """About ``most`` of ``count`` positions at most, evenly spread, one of them ``always``."""
    kept = np.linspace(0, count - 1, min(count, max(int(most), 2))).round().astype(np.intp)
    return np.unique(np.append(kept, always))
