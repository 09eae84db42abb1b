"""Edges that tests declare, and what adjusting changes by tests, in words."""

from __future__ import annotations

import math

import numpy as np

from plaggm.edge_table import POWER
from plaggm.report.changes import Changes, Edge
from plaggm.report.phrases import (
    confounders_of,
    nothing_learnt,
    percent,
    sample_counts,
    share,
)
from plaggm.result import GraphResult
from plaggm.wording import counted

# Candidates that the words name; the page lists more.
NAMED = 3


def declared_sentences(result: GraphResult, changes: Changes | None) -> list[str]:
    """How many edges pass their tests, or which come closest, and what adjusting changes.

    Parameters
    ----------
    result : GraphResult
        Whose edges are declared by tests.
    changes : Changes or None

    Returns
    -------
    list of str
    """
    tests, fdr = result.deciding_tests, result.fdr
    assert tests is not None
    assert fdr is not None
    pairs = len(tests.q_value)
    plain = not result.confounder_names or nothing_learnt(result)
    out = "" if plain else f" with {confounders_of(result)} taken out"
    rate = f"at a false discovery rate of {percent(fdr)}"
    if result.n_edges:
        verb = "passes" if result.n_edges == 1 else "pass"
        found = f"{counted(result.n_edges, 'edge')} ({share(result.n_edges, pairs)}) {verb} {rate}"
        said = [f"Each of the {pairs:,} pairs was tested{out}: {found}."]
    else:
        said = [
            f"No edge passes {rate}: each of the {pairs:,} pairs was tested{out}, and none differs "
            "enough from zero.",
            *_candidate_sentences(result),
        ]
    return said if plain else said + _change_sentences(result, changes)


def candidates(result: GraphResult, n: int | None) -> list[tuple[Edge, str]]:
    """The pairs that come closest to being declared, and how many samples each would need.

    Parameters
    ----------
    result : GraphResult
        Whose edges are declared by tests.
    n : int or None
        Number of samples; None if it is not known.

    Returns
    -------
    list of Edge and str
        Empty text where no number of samples would do.
    """
    tests, fdr = result.deciding_tests, result.fdr
    assert tests is not None
    assert fdr is not None
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


def _change_sentences(result: GraphResult, changes: Changes | None) -> list[str]:
    tests, fdr = result.deciding_tests, result.fdr
    assert tests is not None
    assert fdr is not None
    changed = tests.changed(fdr)
    if changed is None:
        return ["Whether adjusting changes an edge was not tested."]
    passed = int(np.count_nonzero(changed))
    said = [
        f"What adjusting changes was tested for each pair too: "
        f"{'none' if not passed else f'{passed:,}'} of {len(changed):,} "
        f"{'passes' if passed <= 1 else 'pass'}."
    ]
    if changes is None:
        return [*said, "The network without adjustment is not part of this result."]
    if passed:
        vanished, appeared, turned = map(len, (changes.vanished, changes.appeared, changes.turned))
        said.append(
            f"{counted(vanished, 'edge')} of the network without adjustment "
            f"{'vanishes' if vanished == 1 else 'vanish'}, {appeared:,} "
            f"{'appears' if appeared == 1 else 'appear'} and {turned:,} "
            f"{'changes its' if turned == 1 else 'change their'} sign"
            f"{_strength_only(passed - vanished - appeared - turned)}."
        )
    undecided = 0 if changes.tests is None else changes.tests.undecided
    if undecided:
        more = "more " if passed else ""
        said.append(
            f"{undecided:,} {more}edge{' differs' if undecided == 1 else 's differ'} between the two "
            "networks, but not by enough to rule out chance."
        )
    return said


def _strength_only(pairs: int) -> str:
    """Pairs that change without becoming or ceasing to be edges."""
    return (
        f"; {counted(pairs, 'pair')} change{'s' if pairs == 1 else ''} in strength only"
        if pairs
        else ""
    )
