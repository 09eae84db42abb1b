"""What adjusting for the confounder did to the edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Mask
from plaggm.report.encoding import upper_triangle
from plaggm.result import GraphResult


def signed(weight: float) -> str:
    """A weight with its sign, and as many digits as a faint one needs.

    Examples
    --------
    >>> signed(-0.2345), signed(0.0123), signed(-0.00012)
    ('−0.23', '+0.012', '−1e−4')
    """
    size = abs(weight)
    digits = ".0e" if size < 0.0005 else ".3f" if size < 0.095 else ".2f"
    return format(weight, f"+{digits}").replace("e-0", "e-").replace("-", "−")


@dataclass(frozen=True, slots=True)
class Edge:
    """A pair of variables by name, with its partial correlation."""

    source: str
    target: str
    weight: float

    @property
    def written(self) -> str:
        """The weight with its sign, and as many digits as a faint edge needs.

        Examples
        --------
        >>> Edge("a", "b", -0.2345).written, Edge("a", "b", 0.0123).written
        ('−0.23', '+0.012')
        """
        return signed(self.weight)


@dataclass(frozen=True, slots=True)
class ChangeTests:
    """Tests of what adjusting changes, pair by pair.

    Attributes
    ----------
    tested : int
        Number of pairs; zero if none was tested.
    passed : int
        Pairs that adjusting changes at the false discovery rate of the result.
    undecided : int
        Edges of one network only, or of another sign in each, whose change does not pass.
    """

    tested: int
    passed: int
    undecided: int


@dataclass(frozen=True, slots=True)
class Changes:
    """Edges of two networks of the same variables, by what became of them.

    Where tests declare the edges of the adjusted network, only those edges vanish, appear or turn whose
    change passes its own test; else the two networks are compared as they are.

    Attributes
    ----------
    vanished : tuple of Edge
        Only in the network that was not adjusted, with their weight there; strongest first.
    appeared : tuple of Edge
        Only in the adjusted network, with their weight there; strongest first.
    kept : int
        Number of edges in both.
    turned : tuple of Edge
        Those of both whose sign differs, with the adjusted weight.
    tests : ChangeTests or None
        None if the networks are compared as they are.
    """

    vanished: tuple[Edge, ...]
    appeared: tuple[Edge, ...]
    kept: int
    turned: tuple[Edge, ...]
    tests: ChangeTests | None = None


def compare(before: GraphResult, after: GraphResult) -> Changes:
    """Sort the edges of two results into those that vanish, appear and stay.

    Parameters
    ----------
    before, after : GraphResult
        Results for the same variables, without and with the confounder.

    Returns
    -------
    Changes
    """
    old, new = (upper_triangle(one.network) for one in (before, after))
    both = (old != 0.0) & (new != 0.0)
    vanished, appeared = (old != 0.0) & (new == 0.0), (old == 0.0) & (new != 0.0)
    turned = both & (np.sign(old) != np.sign(new))
    passed, tests = np.ones(len(new), dtype=bool), None
    if after.deciding_tests is not None and after.fdr is not None:
        changed = after.deciding_tests.changed(after.fdr)
        passed = np.zeros(len(new), dtype=bool) if changed is None else changed
        tests = ChangeTests(
            tested=0 if changed is None else len(new),
            passed=int(np.count_nonzero(passed)),
            undecided=int(np.count_nonzero((vanished | appeared | turned) & ~passed)),
        )
    return Changes(
        vanished=edges_of(after.names, old, vanished & passed),
        appeared=edges_of(after.names, new, appeared & passed),
        kept=int(np.count_nonzero(both)),
        turned=edges_of(after.names, new, turned & passed),
        tests=tests,
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
