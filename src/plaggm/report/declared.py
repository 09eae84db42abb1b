"""Sentences on declared edges, and on tested changes by adjusting."""

from __future__ import annotations

import math

import numpy as np

from plaggm.edge_table import POWER
from plaggm.evidence import WORTH_REPORTING
from plaggm.report.changes import Changes, Edge
from plaggm.report.phrases import (
    change_rate,
    confounders_of,
    declaring_tests,
    joined,
    nothing_learnt,
    percent,
    sample_counts,
    share,
)
from plaggm.result import GraphResult
from plaggm.wording import counted

# Largest number of candidates in a sentence; the page lists more.
NAMED = 3


def declared_sentences(result: GraphResult, changes: Changes | None) -> list[str]:
    """Sentences on the declared edges, or on the pairs that come closest, and on what adjusting changes.

    Parameters
    ----------
    result : GraphResult
        Result whose edges are declared by tests.
    changes : Changes or None

    Returns
    -------
    list of str
    """
    tests, fdr = declaring_tests(result)
    pairs = len(tests.q_value)
    tested = _tested_pairs(pairs, len(tests.unobserved()))
    plain = not result.confounder_names or nothing_learnt(result)
    out = "" if plain else f" with {confounders_of(result)} taken out"
    rate = f"at a false discovery rate of {percent(fdr)}"
    if result.n_edges:
        verb = "passes" if result.n_edges == 1 else "pass"
        found = f"{counted(result.n_edges, 'edge')} ({share(result.n_edges, pairs)}) {verb} {rate}"
        said = [f"{tested}{out}: {found}."]
    else:
        said = [
            f"No edge passes {rate}: {tested[0].lower()}{tested[1:]}{out}, and none differs enough from "
            "zero.",
            *_candidate_sentences(result),
        ]
    return said if plain else said + change_sentences(result, changes)


def _tested_pairs(pairs: int, unobserved: int) -> str:
    """How many pairs were tested, which is not possible where no row observes both variables.

    Examples
    --------
    >>> _tested_pairs(45, 0), _tested_pairs(45, 1), _tested_pairs(3, 2)
    ('Each of the 45 pairs was tested', '44 of 45 pairs were tested', '1 of 3 pairs was tested')
    """
    if not unobserved:
        return f"{'The only pair' if pairs == 1 else f'Each of the {pairs:,} pairs'} was tested"
    tested = pairs - unobserved
    return f"{tested:,} of {counted(pairs, 'pair')} {'was' if tested == 1 else 'were'} tested"


def candidates(result: GraphResult, n: int | None) -> list[tuple[Edge, str]]:
    """The pairs that come closest to being declared, and how many samples each would need.

    Parameters
    ----------
    result : GraphResult
        Result whose edges are declared by tests.
    n : int or None
        Number of samples; None if it is not known.

    Returns
    -------
    list of Edge and str
        Each with the number of samples in words, empty if no number would suffice.
    """
    tests, fdr = declaring_tests(result)
    rows, columns = np.triu_indices(len(result.names), 1)
    found = []
    for pair in tests.candidates():
        edge = Edge(
            result.names[rows[pair]], result.names[columns[pair]], float(tests.estimate[pair])
        )
        found.append((edge, _needed(tests.samples_needed(int(pair), n or 1, fdr), n)))
    return found


def _needed(samples: float, n: int | None) -> str:
    """A number of samples, or of times as many, with two digits.

    Examples
    --------
    >>> _needed(1234.0, 400), _needed(3.21, None), _needed(float("inf"), 400)
    ('about 1,300 samples', 'about 3.3 times as many samples', '')
    """
    if not math.isfinite(samples):
        return ""
    unit = 10.0 ** (math.floor(math.log10(samples)) - 1)
    rounded = math.ceil(samples / unit) * unit
    return (
        f"about {rounded:.2g} times as many samples"
        if n is None
        else f"about {rounded:,.0f} samples"
    )


def _candidate_sentences(result: GraphResult) -> list[str]:
    n, _ = sample_counts(result)
    named = [
        f"{edge.source} – {edge.target} ({edge.written}{f', {need}' if need else ''})"
        for edge, need in candidates(result, n)[:NAMED]
    ]
    there = "" if n is None else f" instead of the {n:,} there are"
    return [
        f"The strongest candidates are {', '.join(named)}.",
        f"With so many samples{there} each would pass with a probability of {percent(POWER)}, if its "
        "estimate is right and further samples are like these.",
    ]


def change_sentences(result: GraphResult, changes: Changes | None) -> list[str]:
    """Sentences on the tested changes by adjusting.

    Parameters
    ----------
    result : GraphResult
        The adjusted network.
    changes : Changes or None
        Against the network without adjustment, where that is known.

    Returns
    -------
    list of str
    """
    if changes is None:
        return [*_passing(result), "The network without adjustment is not part of this result."]
    undecided = counted(changes.undecided, "edge")
    differ = f"{'differs' if changes.undecided == 1 else 'differ'} between the two networks"
    if not changes.tested:
        return [
            "Whether adjusting changes an edge was not tested"
            + (f"; {undecided} {differ}." if changes.undecided else ".")
        ]
    said = [f"What adjusting changes was tested for each pair too: {_counts(changes)}."]
    if changes.undecided:
        more = "more " if changes.count else ""
        edge = undecided.replace(" ", f" {more}", 1)
        said.append(f"{edge} {differ}, but not by enough to rule out chance.")
    return said


def _passing(result: GraphResult) -> list[str]:
    """A sentence on the number of changes that pass their tests, if only the adjusted network is known."""
    changed = None if result.edge_table is None else result.edge_table.changed(change_rate(result))
    if changed is None:
        return []
    count = int(np.count_nonzero(changed))
    verb = "passes" if count <= 1 else "pass"
    return [
        "What adjusting changes was tested for each pair too: "
        f"{f'{count:,}' if count else 'none'} of {len(changed):,} {verb}."
    ]


def _counts(changes: Changes) -> str:
    """Changes that pass their tests, by kind, and those too small to report."""
    found = [
        f"{number:,} {'edge' if number == 1 else 'edges'} {one if number == 1 else many}"
        for number, one, many in (
            (len(changes.vanished), "vanishes", "vanish"),
            (len(changes.appeared), "appears", "appear"),
            (len(changes.turned), "changes its sign", "change their sign"),
        )
        if number
    ]
    if changes.moved:
        many = len(changes.moved)
        found.append(f"{counted(many, 'pair')} change{'s' if many == 1 else ''} in strength only")
    if changes.slight:
        many = changes.slight
        more = "more " if found else ""
        pairs = f"{counted(many, 'pair').replace(' ', f' {more}', 1)}"
        found.append(
            f"{pairs} change{'s' if many == 1 else ''} by less than {WORTH_REPORTING:g}, which is not "
            "listed"
        )
    return joined(tuple(found)) if found else f"none of {changes.tested:,} passes"
