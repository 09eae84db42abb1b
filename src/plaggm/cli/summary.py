"""The text of ``summary.txt`` and of the terminal: the opening words of the page."""

from __future__ import annotations

from textwrap import fill

from plaggm.cli.fitting import Networks
from plaggm.report import Truth
from plaggm.report.changes import Edge, compare, signed
from plaggm.report.headline import headline
from plaggm.report.phrases import chance, confounders_of, nothing_learnt
from plaggm.report.words import summarise
from plaggm.result import GraphResult
from plaggm.wording import counted

WIDTH = 100
# Edges named in a list on the terminal; the file has all of them.
NAMED = 6
# Edges named with their intervals in the file; edges.csv has all of them.
MOST_EDGES = 20


def summary_text(networks: Networks, truth: Truth | None = None, *, most: int | None = None) -> str:
    """Describe a network, and how adjusting changes it, in words.

    Parameters
    ----------
    networks : Networks
    truth : Truth, optional
    most : int, optional
        Largest number of edges in each list; all are named if absent.

    Returns
    -------
    str
        Lines of at most about ``WIDTH`` letters.
    """
    words = summarise(networks.after, networks.before, truth)
    unadjusted = networks.before if words.opening.lead == "unadjusted" else None
    shown = networks.after if unadjusted is None else unadjusted
    paragraphs = [
        f"{words.opening.title} {confounders_of(networks.after)}."
        if words.opening.confounders
        else "",
        *(f"Beware: {caution}" for caution in words.cautions),
        *map(" ".join, words.paragraphs),
        _strongest(shown, most or MOST_EDGES),
    ]
    if networks.before is not None:
        changes = compare(networks.before, networks.after)
        verb = "is" if _is_single(networks) else "are"
        once = f"once {confounders_of(networks.after)} {verb} taken out"
        paragraphs += [
            _list(f"Edges that vanish {once}", changes.vanished, most),
            _list(f"Edges that appear {once}", changes.appeared, most),
            _list("Edges that change their sign", changes.turned, most),
            _list("Pairs that change in strength", changes.moved, most),
        ]
    paragraphs.append(" ".join(words.certainty))
    return (
        "\n\n".join(fill(text, WIDTH, break_long_words=False) for text in paragraphs if text) + "\n"
    )


def conclusion(networks: Networks) -> str:
    """The finding in one sentence.

    Parameters
    ----------
    networks : Networks

    Returns
    -------
    str
    """
    after = networks.after
    if networks.before is None:
        return f"{_edges(after)}, with no confounder taken into account."
    said = confounders_of(after)
    if nothing_learnt(after):
        verb = "does" if _is_single(networks) else "do"
        return (
            f"{counted(after.n_edges, 'edge')}, with nothing taken out: too few samples to learn what "
            f"{said} {verb}."
        )
    opening = headline(after, networks.before)
    if opening.p_value is not None:
        return (
            f"{opening.title} {said} ({chance(opening.p_value)}): {_edges(networks.before)} in the network "
            "of all samples."
        )
    changes = compare(networks.before, after)
    if not changes.tested:
        return f"{_edges(after)} with {said} taken out; what that changes was not tested."
    appear, vanish = (counted(len(found), "edge") for found in (changes.appeared, changes.vanished))
    return (
        f"{_edges(after)} with {said} taken out; {vanish} of the network without adjustment gone, "
        f"{appear} new (by tests)."
    )


def _edges(result: GraphResult) -> str:
    """Number of edges, and the false discovery rate at which they are declared."""
    rate = "" if result.fdr is None else f" at q ≤ {result.fdr:.3g}"
    return f"{counted(result.n_edges, 'edge')}{rate}"


def _is_single(networks: Networks) -> bool:
    return len(networks.after.confounder_names) == 1


def _strongest(result: GraphResult, most: int) -> str:
    """Declared edges with their intervals."""
    if result.fdr is None or not result.n_edges:
        return ""
    named = [
        f"{row.source} – {row.target} ({signed(row.estimate)}, {signed(row.low)} to {signed(row.high)})"
        for row in result.edges().head(most).itertuples()
    ]
    return f"Strongest edges with 95% intervals: {', '.join(named)}."


def _list(heading: str, edges: tuple[Edge, ...], most: int | None) -> str:
    if not edges:
        return ""
    shown = edges if most is None else edges[:most]
    named = [f"{edge.source} – {edge.target} ({edge.written})" for edge in shown]
    if len(shown) < len(edges):
        named.append(f"and {len(edges) - len(shown)} more")
    return f"{heading} ({len(edges)}): {', '.join(named)}."
