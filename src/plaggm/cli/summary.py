"""The text of ``summary.txt``: what the page says at its top, for the terminal."""

from __future__ import annotations

from textwrap import fill

from plaggm.cli.fitting import Networks
from plaggm.report import Truth
from plaggm.report.changes import Edge, compare
from plaggm.report.words import confounders_of, nothing_learnt, summarise

WIDTH = 100
# Edges named in a list on the terminal; the file has all of them.
NAMED = 6


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
    changes = compare(networks.before, networks.after)
    words = summarise(networks.after, changes, truth)
    verb = "is" if _is_single(networks) else "are"
    once = f"once {confounders_of(networks.after)} {verb} taken out"
    paragraphs = [
        " ".join(words.sentences),
        _list(f"Edges that appear {once}", changes.appeared, most),
        _list(f"Edges that vanish {once}", changes.vanished, most),
        _list("Edges that change their sign", changes.turned, most),
        " ".join(words.certainty),
    ]
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
    changes = compare(networks.before, networks.after)
    if nothing_learnt(networks.after):
        edges = _counted(changes.kept + len(changes.appeared), "edge")
        verb = "does" if _is_single(networks) else "do"
        return (
            f"{edges}, with nothing taken out: too few samples to learn what "
            f"{confounders_of(networks.after)} {verb}."
        )
    edges, appear, vanish = (
        _counted(number, "edge")
        for number in (
            changes.kept + len(changes.appeared),
            len(changes.appeared),
            len(changes.vanished),
        )
    )
    return (
        f"{edges} with {confounders_of(networks.after)} taken out; {vanish} of the network "
        f"without adjustment gone, {appear} new."
    )


def _is_single(networks: Networks) -> bool:
    return len(networks.after.confounder_names) == 1


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _list(heading: str, edges: tuple[Edge, ...], most: int | None) -> str:
    if not edges:
        return ""
    shown = edges if most is None else edges[:most]
    named = [f"{edge.source} – {edge.target} ({edge.written})" for edge in shown]
    if len(shown) < len(edges):
        named.append(f"and {len(edges) - len(shown)} more")
    return f"{heading} ({len(edges)}): {', '.join(named)}."
