"""Changes of the edges by adjusting for the confounder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Mask
from plaggm.evidence import WORTH_REPORTING
from plaggm.report.encoding import upper_triangle
from plaggm.report.phrases import change_rate, evidence_of
from plaggm.result import GraphResult


def signed(weight: float) -> str:
    """A weight with its sign, and as many digits as a faint one needs.

    Examples
    --------
    >>> signed(-0.2345), signed(0.0123), signed(-0.00012), signed(0.0)
    ('−0.23', '+0.012', '−1e−4', '0')
    """
    if weight == 0.0:
        return "0"
    size = abs(weight)
    digits = ".0e" if size < 0.0005 else ".3f" if size < 0.095 else ".2f"
    return format(weight, f"+{digits}").replace("e-0", "e-").replace("-", "−")


@dataclass(frozen=True, slots=True)
class Edge:
    """A pair of variables by name, with its partial correlation and, of a change, the adjusted one."""

    source: str
    target: str
    weight: float
    adjusted: float | None = None

    @property
    def written(self) -> str:
        """The weight with its sign, and as many digits as a faint edge needs.

        Examples
        --------
        >>> Edge("a", "b", -0.2345).written, Edge("a", "b", 0.4, 0.0123).written
        ('−0.23', '+0.40 → +0.012')
        """
        before = signed(self.weight)
        return before if self.adjusted is None else f"{before} → {signed(self.adjusted)}"


@dataclass(frozen=True, slots=True)
class PairChanges:
    """Every pair without and with adjustment.

    All arrays have shape (P,) with P = p (p - 1) / 2.

    Attributes
    ----------
    before, after : ndarray
        Partial correlations of the edges, zero elsewhere.
    old, new : ndarray
        The same for all pairs, without the shrinkage of a penalty where they were tested.
    passed : ndarray of bool or None
        Whether each change passes its test; nowhere if all tests together show no effect of the confounder.
        None if changes were not tested.
    """

    before: Array
    after: Array
    old: Array
    new: Array
    passed: Mask | None

    @property
    def shown(self) -> Mask:
        """Changes that pass and are worth a report."""
        large = np.abs(self.new - self.old) >= WORTH_REPORTING
        return np.zeros_like(large) if self.passed is None else self.passed & large


@dataclass(frozen=True, slots=True)
class Changes:
    """Tested changes between two networks of the same variables.

    Only edges whose change passes a test of its own and is at least ``WORTH_REPORTING`` vanish, appear,
    turn or change; the largest changes come first.

    Attributes
    ----------
    vanished : tuple of Edge
        Only in the network that was not adjusted.
    appeared : tuple of Edge
        Only in the adjusted network.
    turned : tuple of Edge
        In both networks, with opposite signs.
    moved : tuple of Edge
        Pairs that change in strength only.
    slight : int
        Pairs whose change passes its test and is smaller.
    undecided : int
        Edges of one network only, or of another sign in each, whose change does not pass.
    tested : int
        Number of pairs that were tested; zero if none was.
    """

    vanished: tuple[Edge, ...]
    appeared: tuple[Edge, ...]
    turned: tuple[Edge, ...]
    moved: tuple[Edge, ...]
    slight: int
    undecided: int
    tested: int

    @property
    def count(self) -> int:
        """Number of changes that are named."""
        return len(self.vanished) + len(self.appeared) + len(self.turned) + len(self.moved)


def pair_changes(before: GraphResult, after: GraphResult) -> PairChanges:
    """Partial correlations of every pair without and with adjustment, and tests of their changes."""
    edges = upper_triangle(before.network), upper_triangle(after.network)
    old, new = edges
    if before.deciding_tests is not None and after.deciding_tests is not None:
        old, new = before.deciding_tests.estimate, after.deciding_tests.estimate
    passed = None
    if after.edge_table is not None:
        passed = after.edge_table.changed(change_rate(after))
    if passed is not None and evidence_of(after).kind == "none":
        passed = np.zeros_like(passed)
    return PairChanges(*edges, old, new, passed)


def compare(before: GraphResult, after: GraphResult) -> Changes:
    """Sort the changes between two results into edges that vanish, appear, change their sign or strength.

    Parameters
    ----------
    before, after : GraphResult
        Results for the same variables, without and with the confounder.

    Returns
    -------
    Changes
    """
    pairs = pair_changes(before, after)
    old, new = pairs.before != 0.0, pairs.after != 0.0
    turned = old & new & (np.sign(pairs.before) != np.sign(pairs.after))
    differ = (old != new) | turned
    passed = np.zeros_like(old) if pairs.passed is None else pairs.passed
    unobserved = 0 if after.edge_table is None else len(after.edge_table.unobserved())

    def changed(chosen: Mask) -> tuple[Edge, ...]:
        return changed_edges(after.names, pairs, chosen & pairs.shown)

    return Changes(
        vanished=changed(old & ~new),
        appeared=changed(new & ~old),
        turned=changed(turned),
        moved=changed(~differ),
        slight=int(np.count_nonzero(passed & ~pairs.shown)),
        undecided=int(np.count_nonzero(differ & ~passed)),
        tested=0 if pairs.passed is None else len(old) - unobserved,
    )


def changed_edges(names: tuple[str, ...], pairs: PairChanges, chosen: Mask) -> tuple[Edge, ...]:
    """The chosen pairs with both partial correlations, largest changes first.

    Parameters
    ----------
    names : tuple of p str
    pairs : PairChanges
    chosen : ndarray of bool of shape (P,)

    Returns
    -------
    tuple of Edge
    """
    rows, columns = np.triu_indices(len(names), 1)
    index = np.nonzero(chosen)[0]
    index = index[np.argsort(-np.abs(pairs.new - pairs.old)[index], kind="stable")]
    return tuple(
        Edge(names[rows[i]], names[columns[i]], float(pairs.old[i]), float(pairs.new[i]))
        for i in index
    )


def edges_of(names: tuple[str, ...], weights: Array, chosen: Mask) -> tuple[Edge, ...]:
    """The chosen pairs, strongest first.

    Parameters
    ----------
    names : tuple of p str
    weights : ndarray of shape (p (p - 1) / 2,)
        Upper triangle, row after row.
    chosen : ndarray of bool of the same shape

    Returns
    -------
    tuple of Edge
    """
    rows, columns = np.triu_indices(len(names), 1)
    index = np.nonzero(chosen)[0]
    index = index[np.argsort(-np.abs(weights[index]), kind="stable")]
    return tuple(Edge(names[rows[i]], names[columns[i]], float(weights[i])) for i in index)
