"""The text at the top of the page: findings and their certainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.report.cautions import cautions
from plaggm.report.certainty import certainty
from plaggm.report.changes import Changes, Edge, compare, edges_of
from plaggm.report.declared import candidates, change_sentences, declared_sentences
from plaggm.report.encoding import upper_triangle
from plaggm.report.headline import Headline, headline
from plaggm.report.moderation import moderation_sentences
from plaggm.report.phrases import (
    MOST_NAMED,
    chance,
    confounders_of,
    joined,
    nothing_learnt,
    sample_counts,
    share,
)
from plaggm.report.references import amounts, reference_sentences
from plaggm.report.truth import Truth
from plaggm.result import GraphResult
from plaggm.wording import counted

# Largest number of edges under each heading.
NAMED = 5


@dataclass(frozen=True, slots=True)
class Tile:
    """A key number shown in large type, with its label."""

    number: str
    label: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class EdgeList:
    """A list of edges.

    Attributes
    ----------
    heading : str
    kind : str
        Style of the list on the page.
    count : int
        Number of all edges of this kind.
    strongest : tuple of Edge
        The first few of them.
    notes : tuple of str
        A note about each of these; may be empty.
    """

    heading: str
    kind: str
    count: int
    strongest: tuple[Edge, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Words:
    """The text at the top of the page.

    Attributes
    ----------
    opening : Headline
        Title, and the network that the words describe and the page opens with.
    paragraphs : tuple of tuple of str
        Sentences on the results of the tests, the data, the edges and, if known, the truth.
    tiles : tuple of Tile
    lists : tuple of EdgeList
    certainty : tuple of str
        Sentences on the certainty of the edges.
    cautions : tuple of str
        Warnings about problems that undermine the result, for the top of the page.
    """

    opening: Headline
    paragraphs: tuple[tuple[str, ...], ...]
    tiles: tuple[Tile, ...]
    lists: tuple[EdgeList, ...]
    certainty: tuple[str, ...]
    cautions: tuple[str, ...] = ()


def summarise(
    result: GraphResult, unadjusted: GraphResult | None = None, truth: Truth | None = None
) -> Words:
    """Describe a result in words.

    Parameters
    ----------
    result : GraphResult
    unadjusted : GraphResult, optional
        The network of the same variables without the confounder.
    truth : Truth, optional

    Returns
    -------
    Words
    """
    opening = headline(result, unadjusted)
    drawn = unadjusted if opening.lead == "unadjusted" else None
    shown = result if drawn is None else drawn
    changes = None if unadjusted is None else compare(unadjusted, result)
    edge_words = _edge_sentences if shown.fdr is None else declared_sentences
    return Words(
        opening=opening,
        paragraphs=tuple(
            tuple(sentences)
            for sentences in (
                opening.evidence,
                opening.drawn,
                _data_sentences(result, adjusted=drawn is None),
                edge_words(shown, changes),
                moderation_sentences(result),
                _truth_sentences(shown, truth),
            )
            if sentences
        ),
        tiles=_tiles(result, shown, changes, opening),
        lists=tuple(listed for listed in _lists(result, shown, changes) if listed.count),
        certainty=certainty(result, drawn),
        cautions=cautions(result, adjusted=drawn is None),
    )


def _tiles(
    result: GraphResult, shown: GraphResult, changes: Changes | None, opening: Headline
) -> tuple[Tile, ...]:
    """Key numbers: samples, edges of the network that is shown, and changes by adjusting."""
    n, confounded = sample_counts(result)
    level = "" if shown.fdr is None else f" at q ≤ {shown.fdr:.3g}"
    tiles = [] if n is None else [Tile(f"{n:,}", "samples")]
    if n is not None and confounded is not None and result.confounder_names and shown is result:
        tiles.append(Tile(share(confounded, n), "of them confounded"))
    counts = "edge" if shown.n_edges == 1 else "edges"
    tiles.append(Tile(f"{shown.n_edges:,}", counts + level, "edges"))
    if opening.p_value is not None:
        tiles.append(Tile(chance(opening.p_value), "no sign of an effect", "calm"))
    elif changes is not None and changes.tested and not nothing_learnt(result):
        tiles.append(Tile(f"{len(changes.vanished):,}", "vanish by adjusting", "vanish"))
        tiles.append(Tile(f"{len(changes.appeared):,}", "appear by adjusting", "appear"))
    return tuple(tiles)


def _lists(result: GraphResult, shown: GraphResult, changes: Changes | None) -> list[EdgeList]:
    """Lists of edges: those that change most, the strongest ones if these are few, or candidates."""
    weights = upper_triangle(shown.network)
    edges = edges_of(shown.names, weights, weights != 0.0)
    lists: list[EdgeList] = []
    if changes is not None and not nothing_learnt(result):
        lists = [
            EdgeList(heading, kind, len(found), found[:NAMED])
            for heading, kind, found in (
                ("Vanish once adjusted", "vanish", changes.vanished),
                ("Appear once adjusted", "appear", changes.appeared),
                ("Change their sign", "turn", changes.turned),
                ("Change in strength", "move", changes.moved),
            )
            if found
        ]
    if not edges and shown.fdr is not None:
        n, _ = sample_counts(result)
        named = candidates(shown, n)
        pairs = tuple(edge for edge, _ in named)
        notes = tuple(note for _, note in named)
        lists.insert(0, EdgeList("Strongest candidates", "all", len(pairs), pairs, notes))
    kind = "now" if shown is result else "before"
    if sum(len(one.strongest) for one in lists) <= NAMED and (edges or not lists):
        lists.append(EdgeList("Strongest edges", kind, len(edges), edges[:NAMED]))
    return lists


def _data_sentences(result: GraphResult, *, adjusted: bool) -> list[str]:
    """Sentences on the numbers of samples and variables, and on the reference of an adjusted network."""
    n, confounded = sample_counts(result)
    p = len(result.names)
    rows = f"{counted(n, 'sample')} of {p:,} variables" if n is not None else f"{p:,} variables"
    if not result.confounder_names:
        return [f"{rows}; no confounder was taken into account."]
    if not adjusted:
        return [f"{rows}."]
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
    """Sentences on the number of edges of a penalised network, and on what adjusting changes."""
    p, edges = len(result.names), result.n_edges
    pairs = p * (p - 1) // 2
    found = f"{counted(edges, 'edge')} in the network ({share(edges, pairs)} of all pairs)"
    if not result.confounder_names or nothing_learnt(result):
        return [f"{found}."]
    return [
        f"{found} with {confounders_of(result)} taken out.",
        *change_sentences(result, changes),
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
