"""The text of ``summary.txt``: what the page says at its top, for the terminal."""

from __future__ import annotations

from textwrap import fill

from plaggm.cli.fitting import Networks
from plaggm.report import Truth
from plaggm.report.changes import Edge, compare, signed
from plaggm.report.phrases import confounders_of, nothing_learnt
from plaggm.report.words import summarise
from plaggm.result import GraphResult
from plaggm.wording import counted

WIDTH = 100
# Edges named in a list on the terminal; the file has all of them.
NAMED = 6
# Edges named with their intervals in the file; edges.csv has all of them.
MOST_EDGES = 20


def summary_text(networks: Networks, truth: Truth | None = None, *, most: int | None = None) -> str:
    """A network and what adjusting did to it, in words.

    Parameters
    ----------
    networks : Networks
    truth : Truth, optional
    most : int, optional
        Name at most so many edges in each list.

    Returns
    -------
    str
        Lines of at most about ``WIDTH`` letters.
    """
    changes = None if networks.before is None else compare(networks.before, networks.after)
    words = summarise(networks.after, changes, truth)
    verb = "is" if _is_single(networks) else "are"
    once = f"once {confounders_of(networks.after)} {verb} taken out"
    paragraphs = [
        *(f"Beware: {caution}" for caution in words.cautions),
        " ".join(words.sentences),
        _strongest(networks.after, most or MOST_EDGES),
    ]
    if changes is not None:
        paragraphs += [
            _list(f"Edges that appear {once}", changes.appeared, most),
            _list(f"Edges that vanish {once}", changes.vanished, most),
            _list("Edges that change their sign", changes.turned, most),
        ]
    paragraphs.append(" ".join(words.certainty))
    return (
        "\n\n".join(fill(text, WIDTH, break_long_words=False) for text in paragraphs if text) + "\n"
    )


def lesson(networks: Networks) -> str:
    """What adjusting did, in one sentence.

    Parameters
    ----------
    networks : Networks

    Returns
    -------
    str
    """
    if networks.before is None:
        rate = "" if networks.after.fdr is None else f" at q ≤ {networks.after.fdr:.3g}"
        return f"{counted(networks.after.n_edges, 'edge')}{rate}, with no confounder taken into account."
    changes = compare(networks.before, networks.after)
    if nothing_learnt(networks.after):
        edges = counted(networks.after.n_edges, "edge")
        verb = "does" if _is_single(networks) else "do"
        return (
            f"{edges}, with nothing taken out: too few samples to learn what "
            f"{confounders_of(networks.after)} {verb}."
        )
    edges = counted(networks.after.n_edges, "edge")
    if changes.tests is not None:
        edges = f"{edges} at q ≤ {networks.after.fdr:.3g}"
    appear, vanish = (counted(len(found), "edge") for found in (changes.appeared, changes.vanished))
    tested = " (by tests)" if changes.tests is not None and changes.tests.tested else ""
    return (
        f"{edges} with {confounders_of(networks.after)} taken out; {vanish} of the network "
        f"without adjustment gone, {appear} new{tested}."
    )


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
