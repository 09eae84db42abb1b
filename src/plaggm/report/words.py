"""The top of the page: what was found, in words, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.report.cautions import cautions
from plaggm.report.certainty import certainty
from plaggm.report.changes import Changes, Edge, edges_of
from plaggm.report.declared import candidates, declared_sentences
from plaggm.report.encoding import upper_triangle
from plaggm.report.moderation import moderation_sentences
from plaggm.report.phrases import (
    MOST_NAMED,
    confounders_of,
    joined,
    nothing_learnt,
    sample_counts,
    share,
)
from plaggm.report.references import amounts, reference_sentences, without_or_adjusted
from plaggm.report.truth import Truth
from plaggm.result import GraphResult
from plaggm.wording import counted

# Edges named under each heading.
NAMED = 5


@dataclass(frozen=True, slots=True)
class Tile:
    """A number worth a large letter, with what it counts."""

    number: str
    label: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class EdgeList:
    """Edges under a heading; ``strongest`` are the first few of ``count``, ``notes`` words about each."""

    heading: str
    kind: str
    count: int
    strongest: tuple[Edge, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Words:
    """What the top of the page says.

    Attributes
    ----------
    title : str
        How the title begins, before the confounders.
    confounders : tuple of str
        Names for the title; empty if there was none, or nothing was learnt about it.
    paragraphs : tuple of tuple of str
        Sentences about the data, the edges and, where it is known, the truth.
    tiles : tuple of Tile
    lists : tuple of EdgeList
    certainty : tuple of str
        How sure, sentence by sentence.
    cautions : tuple of str
        What undermines the result, for the top.
    """

    title: str
    confounders: tuple[str, ...]
    paragraphs: tuple[tuple[str, ...], ...]
    tiles: tuple[Tile, ...]
    lists: tuple[EdgeList, ...]
    certainty: tuple[str, ...]
    cautions: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """All paragraphs in one."""
        return tuple(sentence for paragraph in self.paragraphs for sentence in paragraph)


def summarise(result: GraphResult, changes: Changes | None, truth: Truth | None) -> Words:
    """Put a result into words.

    Parameters
    ----------
    result : GraphResult
    changes : Changes or None
        Against the network that was not adjusted, where that is known.
    truth : Truth or None

    Returns
    -------
    Words
    """
    n, confounded = sample_counts(result)
    weights = upper_triangle(result.network)
    edges = edges_of(result.names, weights, weights != 0.0)
    counts = "edge" if len(edges) == 1 else "edges"
    level = "" if result.fdr is None else f" at q ≤ {result.fdr:.3g}"
    tiles = [Tile(f"{len(edges):,}", counts + level, "edges")]
    if n is not None:
        tiles.insert(0, Tile(f"{n:,}", "samples"))
        if confounded is not None and result.confounder_names:
            tiles.insert(1, Tile(share(confounded, n), "of them confounded"))
    lists: list[EdgeList] = []
    if changes is not None and not nothing_learnt(result):
        tiles.append(Tile(f"{len(changes.vanished):,}", "vanish by adjusting", "vanish"))
        tiles.append(Tile(f"{len(changes.appeared):,}", "appear by adjusting", "appear"))
        lists = [
            EdgeList(heading, kind, len(found), found[:NAMED])
            for heading, kind, found in (
                ("Vanish once adjusted", "vanish", changes.vanished),
                ("Appear once adjusted", "appear", changes.appeared),
                ("Change their sign", "turn", changes.turned),
            )
            if found
        ]
    if not edges and result.fdr is not None:
        named = candidates(result, n)
        shown = tuple(edge for edge, _ in named)
        notes = tuple(note for _, note in named)
        lists.insert(0, EdgeList("Strongest candidates", "all", len(shown), shown, notes))
    if not lists:
        lists = [EdgeList("Strongest edges", "now", len(edges), edges[:NAMED])]
    return Words(
        title=without_or_adjusted(result),
        confounders=() if nothing_learnt(result) else result.confounder_names,
        paragraphs=tuple(
            tuple(sentences)
            for sentences in (
                _data_sentences(result, n, confounded),
                _edge_sentences(result, changes)
                if result.fdr is None
                else declared_sentences(result, changes),
                moderation_sentences(result),
                _truth_sentences(result, truth),
            )
            if sentences
        ),
        tiles=tuple(tiles),
        lists=tuple(listed for listed in lists if listed.count),
        certainty=certainty(result),
        cautions=cautions(result),
    )


def _data_sentences(result: GraphResult, n: int | None, confounded: int | None) -> list[str]:
    p = len(result.names)
    rows = f"{counted(n, 'sample')} of {p:,} variables" if n is not None else f"{p:,} variables"
    if not result.confounder_names:
        return [f"{rows}; no confounder was taken into account."]
    found, others = amounts(result), reference_sentences(result)
    if not found:
        return [f"{rows}, adjusted for {confounders_of(result)}.", *others]
    limits = "every confounder is at most its threshold"
    if len(found) <= MOST_NAMED:
        limits = joined(tuple(f"|{name}| is at most {limit:.4g}" for name, limit in found.items()))
    free = f"Samples in which {limits} are taken as free of confounding"
    if nothing_learnt(result):
        beyond = "Too few samples lie beyond"
        if confounded is not None:
            verb = "lies" if confounded == 1 else "lie"
            beyond = f"Only {counted(confounded, 'sample')} {verb} beyond, too few"
        return [
            f"{rows}.",
            f"{free}.",
            f"{beyond} to learn what the confounder does: nothing was taken out, and this is the plain "
            "network of all samples.",
        ]
    if n is None or confounded is None:
        return [f"{rows}.", f"{free}.", *others]
    return [
        f"{rows}.",
        f"{free}; the other {confounded:,} ({share(confounded, n)}) are confounded, and are used "
        "once the confounder's part is taken out.",
        *others,
    ]


def _edge_sentences(result: GraphResult, changes: Changes | None) -> list[str]:
    p, edges = len(result.names), result.n_edges
    pairs = p * (p - 1) // 2
    found = f"{counted(edges, 'edge')} in the network ({share(edges, pairs)} of all pairs)"
    if not result.confounder_names or nothing_learnt(result):
        return [f"{found}."]
    if changes is None:
        return [
            f"{found} with {confounders_of(result)} taken out.",
            "The network without adjustment is not part of this result, so what vanishes and what "
            "appears is not known.",
        ]
    turned = f", {len(changes.turned):,} of them with the opposite sign" if changes.turned else ""
    return [
        f"{found} with {confounders_of(result)} taken out: {changes.kept:,} also show "
        f"without adjustment{turned}, {len(changes.appeared):,} "
        f"{'appears' if len(changes.appeared) == 1 else 'appear'} only with it.",
        f"{counted(len(changes.vanished), 'edge')} of the network without adjustment "
        f"{'vanishes' if len(changes.vanished) == 1 else 'vanish'}.",
    ]


def _truth_sentences(result: GraphResult, truth: Truth | None) -> list[str]:
    if truth is None:
        return []
    true = upper_triangle(truth.omega) != 0.0
    found = upper_triangle(result.network) != 0.0
    hits, wrong = (int(np.count_nonzero(found & kind)) for kind in (true, ~true))
    return [
        "These data are simulated and their truth is known: "
        f"{hits:,} of {counted(int(true.sum()), 'true edge')} found, {counted(wrong, 'false edge')}."
    ]
