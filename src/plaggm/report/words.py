"""The top of the page: what was found, in words, and how sure it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from plaggm.report.changes import Changes, Edge, edges_of
from plaggm.report.encoding import upper_triangle
from plaggm.report.truth import Truth
from plaggm.result import GraphResult

# Share of the resamples from which on an edge is called stable.
STABLE = 0.9
# Below this the test speaks against a network that the confounder leaves alone.
SMALL_P = 0.05
# Unconfounded samples for each variable below which the target leans on the model of the confounder.
FEW_FREE = 10
# Share of all pairs from which on a network is called dense.
DENSE = 0.5
# Confounders that a sentence names.
MOST_NAMED = 3
P_VALUE = "confounding_p_value"
CRITERIA = {
    "cv": "cross-validation",
    "aic": "AIC",
    "bic": "BIC",
    "ebic": "EBIC",
    "stars": "StARS",
}


@dataclass(frozen=True, slots=True)
class Tile:
    """A number worth a large letter, with what it counts."""

    number: str
    label: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class EdgeList:
    """Edges under a heading; ``strongest`` are the first few of ``count``."""

    heading: str
    kind: str
    count: int
    strongest: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """What the top of the page says.

    Attributes
    ----------
    confounders : tuple of str
        For the title; empty if there was none, or nothing was learnt about it.
    paragraphs : tuple of tuple of str
        Sentences about the data, the edges and, where it is known, the truth.
    tiles : tuple of Tile
    lists : tuple of EdgeList
    certainty : tuple of str
        How sure, sentence by sentence.
    """

    confounders: tuple[str, ...]
    paragraphs: tuple[tuple[str, ...], ...]
    tiles: tuple[Tile, ...]
    lists: tuple[EdgeList, ...]
    certainty: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """All paragraphs in one."""
        return tuple(sentence for paragraph in self.paragraphs for sentence in paragraph)


# Edges named under each heading.
NAMED = 5


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
    weights = upper_triangle(result.partial_correlation)
    edges = edges_of(result.names, weights, weights != 0.0)
    tiles = [Tile(f"{len(edges):,}", "edge" if len(edges) == 1 else "edges", "edges")]
    if n is not None:
        tiles.insert(0, Tile(f"{n:,}", "samples"))
        if confounded is not None and result.confounder_names:
            tiles.insert(1, Tile(share(confounded, n), "of them confounded"))
    lists: list[EdgeList] = []
    if changes is not None and not nothing_learnt(result):
        tiles.append(Tile(f"{len(changes.vanished):,}", "vanish by adjusting", "vanish"))
        tiles.append(Tile(f"{len(changes.appeared):,}", "appear by adjusting", "appear"))
        lists = [
            EdgeList(kind, kind, len(found), found[:NAMED])
            for kind, found in (
                ("vanish", changes.vanished),
                ("appear", changes.appeared),
                ("turn", changes.turned),
            )
            if found
        ]
    if not lists:
        lists = [EdgeList("strongest", "edges", len(edges), edges[:NAMED])]
    return Words(
        confounders=() if nothing_learnt(result) else result.confounder_names,
        paragraphs=tuple(
            tuple(sentences)
            for sentences in (
                _data_sentences(result, n, confounded),
                _edge_sentences(result, len(edges), changes),
                _truth_sentences(result, truth),
            )
            if sentences
        ),
        tiles=tuple(tiles),
        lists=tuple(listed for listed in lists if listed.count),
        certainty=_certainty(result, edges),
    )


def sample_counts(result: GraphResult) -> tuple[int | None, int | None]:
    """How many samples there were and how many of them are confounded, where known."""
    n = number_in(result.diagnostics, "n_samples")
    free = number_in(result.diagnostics, "n_unconfounded")
    if n is None or n <= 0:
        return None, None
    return int(n), None if free is None else int(n) - int(free)


def number_in(values: Any, key: str) -> float | None:
    """A finite number under a key of what may be any JSON value; None if there is none."""
    value = values.get(key) if isinstance(values, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def share(part: int, whole: int) -> str:
    """A percentage that says 0 % or 100 % only where it is exact.

    Examples
    --------
    >>> share(1, 1000), share(999, 1000), share(1, 4)
    ('<1%', '>99%', '25%')
    """
    percent = 100.0 * part / whole
    if 0.0 < percent < 1.0:
        return "<1%"
    if 99.0 < percent < 100.0:
        return ">99%"
    return f"{percent:.0f}%"


def joined(words: tuple[str, ...]) -> str:
    """Words with commas and an "and".

    Examples
    --------
    >>> joined(("a", "b", "c"))
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def confounders_of(result: GraphResult) -> str:
    """The confounders by name, or by number where they are many."""
    names = result.confounder_names
    return joined(names) if len(names) <= MOST_NAMED else f"{len(names)} confounders"


def nothing_learnt(result: GraphResult) -> bool:
    """Whether the confounder's part is zero everywhere, so that adjusting changed nothing."""
    return result.nuisance is not None and not np.any(result.nuisance)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _data_sentences(result: GraphResult, n: int | None, confounded: int | None) -> list[str]:
    p = len(result.names)
    rows = f"{_counted(n, 'sample')} of {p:,} variables" if n is not None else f"{p:,} variables"
    if not result.confounder_names:
        return [f"{rows}; no confounder was taken into account."]
    if result.threshold is None:
        return [f"{rows}, adjusted for {confounders_of(result)}."]
    limits = "every confounder is at most its threshold"
    if len(result.confounder_names) <= MOST_NAMED:
        limits = joined(
            tuple(
                f"|{name}| is at most {limit:.4g}"
                for name, limit in zip(result.confounder_names, result.threshold, strict=True)
            )
        )
    free = f"Samples in which {limits} are taken as free of confounding"
    if nothing_learnt(result):
        beyond = "Too few samples lie beyond"
        if confounded is not None:
            verb = "lies" if confounded == 1 else "lie"
            beyond = f"Only {_counted(confounded, 'sample')} {verb} beyond, too few"
        return [
            f"{rows}.",
            f"{free}.",
            f"{beyond} to learn what the confounder does: nothing was taken out, and this is the plain "
            "network of all samples.",
        ]
    if n is None or confounded is None:
        return [f"{rows}.", f"{free}."]
    return [
        f"{rows}.",
        f"{free}; the other {confounded:,} ({share(confounded, n)}) are confounded, and are used "
        "once the confounder's part is taken out.",
    ]


def _edge_sentences(result: GraphResult, edges: int, changes: Changes | None) -> list[str]:
    p = len(result.names)
    pairs = p * (p - 1) // 2
    found = f"{_counted(edges, 'edge')} in the network ({share(edges, pairs)} of all pairs)"
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
        f"{_counted(len(changes.vanished), 'edge')} of the network without adjustment "
        f"{'vanishes' if len(changes.vanished) == 1 else 'vanish'}.",
    ]


def _truth_sentences(result: GraphResult, truth: Truth | None) -> list[str]:
    if truth is None:
        return []
    true = upper_triangle(truth.omega) != 0.0
    found = upper_triangle(result.omega) != 0.0
    hits, wrong = (int(np.count_nonzero(found & kind)) for kind in (true, ~true))
    return [
        "These data are simulated and their truth is known: "
        f"{hits:,} of {_counted(int(true.sum()), 'true edge')} found, {_counted(wrong, 'false edge')}."
    ]


def _certainty(result: GraphResult, edges: tuple[Edge, ...]) -> tuple[str, ...]:
    said = []
    if result.stability is not None and edges:
        kept = upper_triangle(result.stability)[upper_triangle(result.omega) != 0.0]
        stable = int(np.count_nonzero(kept >= STABLE))
        said.append(
            f"{stable:,} of {_counted(len(edges), 'edge')} came back in at least {STABLE:.0%} of the "
            f"resamples; the median edge in {float(np.median(kept)):.0%}."
        )
    p_value = number_in(result.diagnostics, P_VALUE)
    if p_value is not None:
        size = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
        said.append(
            f"The network changes with {_the_confounder(result)}: no change at all is hard to reconcile "
            f"with the data ({size})."
            if p_value < SMALL_P
            else f"The data do not rule out that the network is the same whatever "
            f"{_the_confounder(result)} {_verb(result, 'is', 'are')} ({size})."
        )
    said.append(_chosen(result))
    said += _too_many(result, len(edges))
    n, confounded = sample_counts(result)
    if (
        result.confounder_names
        and n is not None
        and confounded is not None
        and not nothing_learnt(result)
    ):
        free = n - confounded
        if free < FEW_FREE * len(result.names):
            said.append(
                f"Only {_counted(free, 'sample')} for {len(result.names):,} variables "
                f"{'is' if free == 1 else 'are'} free of confounding, so the network rests on how well "
                "the confounder's part is modelled."
            )
    if result.stability is None:
        said.append(
            "How often each edge would come back in other samples was not measured, so take faint "
            "edges as hints."
        )
    return tuple(said)


def curve_words(result: GraphResult) -> tuple[str, str]:
    """What the selection curve shows, and how to read it.

    Parameters
    ----------
    result : GraphResult

    Returns
    -------
    name, explanation : str
    """
    settings = result.settings if isinstance(result.settings, dict) else {}
    criterion = str(settings.get("criterion", "criterion"))
    if criterion == "stars":
        limit = number_in(settings, "instability")
        below = "low" if limit is None else f"at most {limit:g}"
        return "instability", (
            "How much the edges differ between subsamples, at each penalty. The chosen network is the "
            f"densest whose instability stays {below}."
        )
    name = "held-out loss" if criterion == "cv" else CRITERIA.get(criterion, criterion)
    said = f"{name[0].upper()}{name[1:]} at each penalty, smaller is better"
    if result.criterion_error is not None:
        said += "; the band is one standard error on either side"
    if settings.get("one_se") is True:
        said += ". The largest penalty within one standard error of the best was chosen"
    return name, f"{said}."


def _the_confounder(result: GraphResult) -> str:
    return confounders_of(result) if len(result.confounder_names) == 1 else "the confounders"


def _verb(result: GraphResult, singular: str, plural: str) -> str:
    return singular if len(result.confounder_names) <= 1 else plural


def _criterion(result: GraphResult) -> str | None:
    """What the penalty was chosen by; None if it was given."""
    criterion = result.settings.get("criterion") if isinstance(result.settings, dict) else None
    return criterion if result.criterion_path is not None and isinstance(criterion, str) else None


def _too_many(result: GraphResult, edges: int) -> list[str]:
    """What to make of a network in which more pairs are edges than not."""
    p = len(result.names)
    criterion = _criterion(result)
    if criterion is None or edges <= DENSE * p * (p - 1) / 2:
        return []
    remedy = "" if criterion == "ebic" else ", or choose the penalty by EBIC, which keeps few"
    if result.alphas is not None and result.alpha <= np.min(result.alphas):
        return [
            "It is the smallest that was tried: that there is an edge says little here. Look at how "
            f"strong it is{remedy}."
        ]
    if criterion == "cv":
        return [f"It serves prediction and keeps faint edges: look at the strong ones{remedy}."]
    return []


def _chosen(result: GraphResult) -> str:
    criterion = _criterion(result)
    if criterion is None:
        return f"The penalty (λ = {result.alpha:.3g}) was given, not chosen from the data."
    name = CRITERIA.get(criterion, criterion)
    return f"The penalty (λ = {result.alpha:.3g}) was chosen by {name}."
